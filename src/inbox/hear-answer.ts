/**
 * What a read tells of the provider as a whole, before it is judged for its task; and whether its origin is to be left
 * alone instead of being asked. What an answer means for the task is decided elsewhere.
 */
import type { Answer, NoDocument } from '../model/answer';
import { unnamedRefusal } from '../model/answer-words';
import type { DueProbe } from '../model/organization';
import type { TakenTask } from '../model/task';
import type { Reading } from './failing';
import { failureWords } from './failure-words';
import type { ProviderHealth } from './provider-health';

export interface AnswerDoors {
  health: ProviderHealth;
  nowMs: number;
  /** The provider refused this token. */
  refuseGrant(connectionId: string, message: string | null, sealedToken: string): Promise<void>;
  /** An outage ended: what waited for it is to be made due. */
  outageEnded(): void;
  /** Something that the client key was refused is answered: what else waits since then is to be made due. */
  clientServed(refusedAtMs: number | null): void;
}

const heldCode = 'provider-held';
/**
 * Waits that were concluded from what the provider did answer: a place that is not shown, a member that is left out of a
 * document, or an address that shows now this and now that, says nothing against the origin.
 */
const answeredCodes = new Set([
  'relocation-incomplete',
  'organization-unlisted',
  'embed-unanswered',
  'address-unsteady',
]);

/** What was asked, or is to be asked. */
export type Asked = Pick<
  TakenTask,
  'address' | 'connectionId' | 'organizationId' | 'hintedOrganizationId' | 'failedAtMs' | 'code'
>;

/** A probe asks the address that was refused, else the last known one; empty when there is neither. */
export function askedBy({ refusedAddress, knownAddress, connectionId, organizationId }: DueProbe): Asked {
  const address = refusedAddress ?? knownAddress ?? '';
  return { address, connectionId, organizationId, hintedOrganizationId: null, failedAtMs: null, code: null };
}

/**
 * How long this is left alone, since what it belongs to only fails; 0: it may be asked, and may be the trial. Origins
 * are remembered of 100 beginnings of addresses.
 */
export function heldMs(asked: Asked, health: ProviderHealth, nowMs: number): number {
  const origin = originOf(asked.address);
  return origin === null ? 0 : health.heldMs(readingOf(asked, origin, asked.connectionId ?? ''), nowMs);
}

/**
 * Whatever was tried of what is left alone comes back when that is over, to be the next trial. A refused request waits in
 * the same way until its refusal is its own: a provider under maintenance refuses everybody.
 */
export function paused(asked: Asked, answer: NoDocument, health: ProviderHealth, nowMs: number): NoDocument {
  if (answer.kind !== 'transient' && answer.kind !== 'refused') return answer;
  const { code, detail, origin, connectionId } = answer;
  const reading = readingOf(asked, origin, connectionId);
  if (answer.kind === 'refused' && health.isOwn(reading)) return answer;
  const asksFor = answer.kind === 'transient' ? (answer.retryAfterMs ?? 0) : 0;
  const retryAfterMs = Math.max(asksFor, health.pauseMs(reading, nowMs));
  if (answer.kind === 'transient') return { ...answer, retryAfterMs };
  return { kind: 'transient', code, detail, origin, connectionId, retryAfterMs };
}

/**
 * The answer of a task that is not tried, since what it belongs to only fails; null: it may be, and may be the trial.
 * Bounds as `heldMs` does.
 */
export function leftAlone(task: TakenTask, health: ProviderHealth, nowMs: number): Answer | null {
  const origin = originOf(task.address);
  const retryAfterMs = heldMs(task, health, nowMs);
  if (origin === null || retryAfterMs === 0) return null;
  return {
    kind: 'transient',
    code: heldCode,
    detail: 'the provider is left alone for a while',
    retryAfterMs,
    origin,
    connectionId: task.connectionId ?? '',
  };
}

/** A failure is the item's own when others succeed; what was left alone did not fail. */
export function isOwnFailure(task: TakenTask, answer: Answer, health: ProviderHealth): boolean {
  if (answer.kind !== 'transient' || answer.code === heldCode) return false;
  return health.isOwn(readingOf(task, answer.origin, answer.connectionId));
}

/** Rejects as `refuseGrant` does: what is made due is waited for by nobody, however much it is. Bounds as `heldMs` does. */
export async function hearAnswer(asked: Asked, answer: Answer, doors: AnswerDoors): Promise<void> {
  const { health, nowMs } = doors;
  switch (answer.kind) {
    case 'transient':
    case 'refused':
      if (answer.code === heldCode) return;
      if (!answeredCodes.has(answer.code)) {
        const reading = readingOf(asked, answer.origin, answer.connectionId);
        return health.failed(reading, failureWords(answer), nowMs);
      }
      break;
    case 'reauthorize':
      if (answer.sealedToken === null) return;
      return doors.refuseGrant(answer.connectionId, answer.message, answer.sealedToken);
    // The pause was heard where it was asked for: what was not asked because of it asks for none.
    case 'rate-limited':
    case 'aborted':
    case 'address-refused':
    case 'no-connection':
      return;
    case 'client-refused':
      health.clientRefused(asked.address, answer.message ?? unnamedRefusal, nowMs, 'due');
      break;
    case 'ok':
    case 'not-modified':
    case 'gone':
      // Which other process was refused it, or this one before a start, is known of the task alone.
      if (health.clientServed(asked.address) || asked.code === 'client-refused')
        doors.clientServed(asked.failedAtMs);
  }
  const read =
    answer.kind === 'ok' ? answer.document : { address: asked.address, connectionId: answer.connectionId };
  const origin = answer.kind === 'transient' ? answer.origin : originOf(read.address);
  if (origin === null) return;
  if (health.succeeded(readingOf(asked, origin, read.connectionId), nowMs)) doors.outageEnded();
}

function readingOf(asked: Asked, origin: string, connectionId: string): Reading {
  const { address, organizationId, hintedOrganizationId, failedAtMs } = asked;
  return {
    origin,
    connectionId,
    organizationId: organizationId ?? hintedOrganizationId,
    address,
    lastAttemptMs: failedAtMs,
  };
}

const originsMax = 100;
/** By how an address begins; the same few come again and again, and parsing an address costs more than finding them. */
const origins = new Map<string, string>();

function originOf(address: string): string | null {
  const beginning = /^https?:\/\/[^/?#@\\]+(?=[/?#])/i.exec(address)?.[0] ?? '';
  const known = origins.get(beginning);
  if (known !== undefined) return known;
  const origin = URL.parse(address)?.origin ?? null;
  if (origin !== null && beginning !== '' && origins.size < originsMax) origins.set(beginning, origin);
  return origin;
}
