/**
 * What a read tells of the provider as a whole, before it is judged for its task; and whether its origin is to be left
 * alone instead of being asked. What an answer means for the task is decided elsewhere.
 */
import type { Answer } from '../model/answer';
import type { TakenTask } from '../model/task';
import { type ProviderHealth, unnamedRefusal } from './provider-health';

export interface AnswerDoors {
  health: ProviderHealth;
  nowMs: number;
  /** The provider refused the token. */
  refuseGrant(connectionId: string, message: string | null): Promise<void>;
  /** An outage ended: what waited for it is to be made due. */
  outageEnded(): Promise<void>;
}

const heldCode = 'provider-held';

/** What was asked, or is to be asked. */
export type Asked = Pick<TakenTask, 'address' | 'connectionId'>;

/** How long what is at this address is left alone, since its origin only fails; 0: it may be asked, and may be the trial. */
export function heldMs(address: string, health: ProviderHealth, nowMs: number): number {
  const origin = originOf(address);
  return origin === null ? 0 : health.heldMs(origin, nowMs);
}

/** The answer of a task that is not tried, since its origin only fails; null: it may be, and may be the trial. */
export function leftAlone(task: TakenTask, health: ProviderHealth, nowMs: number): Answer | null {
  const origin = originOf(task.address);
  const heldMs = origin === null ? 0 : health.heldMs(origin, nowMs);
  if (origin === null || heldMs === 0) return null;
  return {
    kind: 'transient',
    code: heldCode,
    detail: 'the provider is left alone for a while',
    retryAfterMs: heldMs,
    origin,
    connectionId: task.connectionId ?? '',
  };
}

/** A failure is the item's own when others succeed; what was left alone did not fail. */
export function isOwnFailure(task: TakenTask, answer: Answer, health: ProviderHealth): boolean {
  if (answer.kind !== 'transient' || answer.code === heldCode) return false;
  return health.isOwn(answer.origin, answer.connectionId, task.failedAtMs);
}

/** Rejects as its doors do. */
export async function hearAnswer(asked: Asked, answer: Answer, doors: AnswerDoors): Promise<void> {
  const { health, nowMs } = doors;
  switch (answer.kind) {
    case 'rate-limited':
      return health.rateLimited(answer.retryAfterMs, nowMs);
    case 'transient':
      if (answer.code === heldCode) return;
      return health.failed(answer.origin, `${answer.code}: ${answer.detail}`, nowMs);
    case 'reauthorize':
      return doors.refuseGrant(answer.connectionId, answer.message);
    case 'aborted':
    case 'address-refused':
    case 'no-connection':
      return;
    case 'client-refused':
      health.clientRefused(answer.message ?? unnamedRefusal, nowMs);
  }
  const read =
    answer.kind === 'ok' ? answer.document : { address: asked.address, connectionId: answer.connectionId };
  const origin = originOf(read.address);
  if (origin !== null && health.succeeded(origin, read.connectionId, nowMs)) await doors.outageEnded();
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
