/**
 * THE PATH. A delivery is accepted and its tasks are due; a task is taken, read, normalized and finished; the relay
 * sends what was decided; an organization that refuses is asked again. One direction, told here in order. Effects come
 * in as doors; what is pure is called directly. This file makes no part and opens nothing: wire.ts does.
 */
import { decideEnding, type Ending, type EndingRules, heldBy } from './inbox/decide-ending';
import { finishAsKnown } from './inbox/finish-as-known';
import {
  type Asked,
  askedBy,
  hearAnswer,
  heldMs,
  isOwnFailure,
  leftAlone,
  paused,
} from './inbox/hear-answer';
import { keptDocument } from './inbox/kept-document';
import { letGo } from './inbox/let-go';
import { makeProviderHealth, type ProviderHealth } from './inbox/provider-health';
import { makeRun, type Run } from './inbox/run';
import { sightDoubted, unseenDetail } from './inbox/sight-doubted';
import { makeUnwritten, type Unwritten } from './inbox/unwritten';
import { whomRefused } from './inbox/whom-refused';
import type { Answer, ReadCost, ReadDocument } from './model/answer';
import { wordsIn } from './model/answer-words';
import type { Accepted, Delivery } from './model/notification';
import { type DueProbe, leadingCause } from './model/organization';
import { isProblem } from './model/problem';
import type { Connections, Inbox, Organizations } from './model/store';
import type { FinishResult, QuarantinedTask, TakenTask } from './model/task';
import { equipmentNamesOf } from './normalize/equipment-names';
import { documentOf } from './normalize/known-as';
import { normalizeDocument } from './normalize/normalize';
import type { Observer } from './observe/observer';
import {
  acceptanceLine,
  attemptLine,
  type Ended,
  endedAs,
  providerLagMs,
  refusedAs,
} from './observe/path-lines';
import { makeOrganizationAccess, type OrganizationAccess } from './organization/access';
import { draftEvent } from './publish/draft-event';
import { backoffMs } from './tools/backoff';
import type { Clock } from './tools/clock';

type Read = { answer: Answer; cost: ReadCost };

/** Reading through the provider's links: every answer is classified, nothing is thrown. */
export interface ProviderDoor {
  /** `traceparent` is that of the attempt. */
  read(task: TakenTask, signal: AbortSignal, traceparent: string): Promise<Read>;
  probe(probe: DueProbe, signal: AbortSignal): Promise<Answer>;
  /** Does this connection see this organization, as last learned? One that was revoked is connected no more. */
  sees(connectionId: string, organizationId: string): boolean;
  isConnected(connectionId: string): boolean;
  /** null when it was learned since which organizations each connection sees; else after how long to ask again. */
  learnedSince(sinceMs: number): number | null;
  /** Why nobody knows what a connection sees now: its list could not be read; null where that is not so. */
  unlisted(connectionId: string): string | null;
}

export interface PathDoors {
  store: Inbox & Organizations & Connections;
  provider: ProviderDoor;
  observer: Pick<
    Observer,
    | 'startDelivery'
    | 'startAttempt'
    | 'deliveryAccepted'
    | 'attempt'
    | 'probed'
    | 'accessChanged'
    | 'trouble'
    | 'fault'
  >;
  clock: Clock;
  /** A decided event waits in the outbox. */
  decided(): void;
  /** An organization's access changed. */
  accessChanged(): void;
  /** Resolves when it is heeded that a connection was refused, or is taken again. */
  connectionsChanged(): Promise<void>;
}

export interface PathSettings {
  /** Reads in flight. */
  concurrency: number;
  includeOperatorNames: boolean;
  ending: EndingRules;
  /** Of a task, or a probe, that is taken. */
  leaseMs: number;
}

export interface Pipeline {
  /** Resolves when the delivery is on disk. Throws `store.unavailable`, `store.closed`. */
  accept(delivery: Delivery): Promise<Accepted>;
  /** Take → fetch → normalize → finish; `step` does one round, `start` goes on until `stop`. */
  work: Run;
  /** Organizations that refused are asked again; the answer alone changes their access. */
  probes: Run;
  access: OrganizationAccess;
  health: ProviderHealth;
}

const probesAtOnce = 4;

interface Path extends PathDoors {
  settings: PathSettings;
  health: ProviderHealth;
  access: OrganizationAccess;
  unwritten: Unwritten;
  wakeWork(): void;
  wakeProbes(): void;
}

/**
 * Starts nothing until it is run or stepped. What fails while it runs is told to its doors and tried again; a step
 * rejects as the store does.
 */
export function makePipeline(doors: PathDoors, settings: PathSettings): Pipeline {
  const { store, clock } = doors;
  const failed = (error: unknown) => tell(doors, error);
  const pause = (forMs: number) => void store.pauseReading(forMs).catch(failed);
  const health = makeProviderHealth(settings.ending.random, pause);
  const wakeWork = () => work.wake();
  const wakeProbes = () => probes.wake();
  const access = accessOf(doors, health, wakeWork);
  const unwritten = makeUnwritten(() => void store.hasten().then(wakeWork, failed));
  const path: Path = { ...doors, settings, health, access, unwritten, wakeWork, wakeProbes };
  const limit = (wanted: number) => (health.coolDownMs(clock.nowMs()) > 0 ? 0 : wanted);
  const work: Run = makeRun<TakenTask>(
    {
      take: async (wanted) => health.taken(await store.take(wanted), clock.nowMs()),
      attempt: (task, signal, left) => attempt(path, task, signal, left),
      nextDueInMs: () => store.nextDueInMs('task'),
      release: (tasks) => store.releaseLeases(tasks),
      limit,
      failed,
    },
    settings.concurrency,
    clock,
  );
  const probes: Run = makeRun<DueProbe>(
    {
      take: (wanted) => store.takeProbes(wanted, settings.leaseMs),
      attempt: (due, signal) => access.probe(due, signal).catch(failed),
      nextDueInMs: () => store.nextDueInMs('probe'),
      release: async () => {},
      limit,
      failed,
    },
    probesAtOnce,
    clock,
  );
  return { accept: (delivery) => accept(path, delivery), work, probes, access, health };
}

// 1 · A delivery is stored, then answered.

/** Also for a receiver, which has no more of the path than this. Throws as the store does. */
export async function accept(
  path: Pick<Path, 'store' | 'observer' | 'clock' | 'wakeWork' | 'wakeProbes'>,
  delivery: Delivery,
): Promise<Accepted> {
  const { observer, clock } = path;
  const startedMs = clock.nowMs();
  const span = observer.startDelivery(delivery.traceparent);
  try {
    const accepted = await path.store.put({ ...delivery, traceparent: span.traceparent });
    if (accepted.due > 0) path.wakeWork();
    if (accepted.probes) path.wakeProbes();
    const tookMs = clock.nowMs() - startedMs;
    observer.deliveryAccepted(acceptanceLine(delivery, accepted, span.traceparent, tookMs));
    span.end({ status: 204, errorType: null });
    return accepted;
  } catch (error) {
    span.end({ status: 503, errorType: 'store.unavailable' });
    throw error;
  }
}

// 2 · A task that is due is read, judged and finished: one ending, whatever the provider says.

async function attempt(path: Path, task: TakenTask, signal: AbortSignal, left: () => void): Promise<void> {
  const { observer, clock } = path;
  const startedMs = clock.nowMs();
  const span = observer.startAttempt(task.traceparent, task.resource?.kind ?? 'unknown');
  try {
    const read = await fetch(path, task, signal, span.traceparent);
    left();
    await hear(path, task, read.answer);
    const ended = await end(path, task, read.answer, span.traceparent);
    if (read.answer.kind === 'ok') path.unwritten.wrote();
    observer.attempt(attemptLine(task, read, ended, span.traceparent, clock.nowMs() - startedMs));
    span.end({ outcome: ended.outcome, errorType: read.answer.kind === 'ok' ? null : ended.code });
  } catch (error) {
    tell(path, error);
    path.unwritten.failed(error);
    span.end({ outcome: 'failed', errorType: 'failed' });
    const { leaseMs, ending } = path.settings;
    const backMs = backoffMs(task.attempts, ending.backoff, ending.random);
    await letGo(task, error, { leaseMs, backMs, takesAgain: path.unwritten.takesAgain }, path, signal);
  }
}

/** A store that is away, or closed, heals or was meant: anything else is a fault of ours. */
function tell({ observer }: Pick<Path, 'observer'>, error: unknown): void {
  if (!isProblem(error)) observer.fault('pipeline', error);
  else observer.trouble({ place: 'store', code: error.code, detail: error.message });
}

async function fetch(path: Path, task: TakenTask, signal: AbortSignal, traceparent: string): Promise<Read> {
  const answer = leftAlone(task, path.health, path.clock.nowMs());
  if (answer === null) return path.provider.read(task, signal, traceparent);
  return { answer, cost: { calls: 0, resends: 0, bytes: 0, tookMs: 0, status: null } };
}

type Hearing = Pick<Path, 'store' | 'health' | 'access' | 'clock' | 'observer' | 'wakeWork'>;

function hear(path: Hearing, asked: Asked, answer: Answer): Promise<void> {
  const wakeAfter = (due: Promise<number>) => void due.then(path.wakeWork, (error) => tell(path, error));
  return hearAnswer(asked, answer, {
    health: path.health,
    nowMs: path.clock.nowMs(),
    refuseGrant: path.access.refuseGrant,
    outageEnded: () => wakeAfter(path.store.hasten()),
    clientServed: (refusedAtMs) => wakeAfter(path.store.hastenRefused(refusedAtMs)),
  });
}

async function end(path: Path, task: TakenTask, answer: Answer, traceparent: string): Promise<Ended> {
  if (answer.kind === 'ok') return endRead(path, task, answer.document, traceparent);
  const nowMs = path.clock.nowMs();
  const sinceMs = sightDoubted(task, answer, path.provider.sees);
  const waits = await awaitSight(path, task, sinceMs, answer.kind, wordsIn(answer));
  if (waits !== null) return waits;
  const own = isOwnFailure(task, answer, path.health);
  const about = { isConnected: path.provider.isConnected, ...whomRefused(task, answer, path.provider.sees) };
  const situation = { observedAt: new Date(nowMs).toISOString(), traceparent, own, ...about };
  const heard = paused(task, answer, path.health, nowMs);
  return apply(path, decideEnding(task, heard, situation, path.settings.ending));
}

/** Nothing is concluded of what connections see before it was learned anew since then; null when it was, or need not be. */
async function awaitSight(
  path: Path,
  task: TakenTask,
  sinceMs: number | null,
  code: string,
  detail: string | null,
): Promise<Ended | null> {
  const dueInMs = sinceMs === null ? null : path.provider.learnedSince(sinceMs);
  if (dueInMs === null) return null;
  await path.store.postpone({ ...heldBy(task), dueInMs, own: false, agedMs: 0, code, detail });
  return endedAs('postponed', code, detail, { dueInMs });
}

// 3 · What was read becomes a document, and the store decides whether it is news.

async function endRead(path: Path, task: TakenTask, read: ReadDocument, traceparent: string): Promise<Ended> {
  const { includeOperatorNames } = path.settings;
  const { settleMs } = path.settings.ending;
  const held = heldBy(task);
  const judged = normalizeDocument(read.body, { includeOperatorNames });
  if (!judged.ok) {
    const detail = `${judged.code}: ${judged.detail}`;
    return quarantine(path, {
      ...held,
      reason: 'malformed-document',
      path: judged.path,
      detail,
      raw: keptDocument(read.body, path.settings),
    });
  }
  const { organizationId } = judged.document;
  if (!path.provider.sees(read.connectionId, organizationId)) {
    const detail = unseenDetail(organizationId, path.provider.unlisted(read.connectionId));
    const reason = 'organization-mismatch';
    return (
      (await awaitSight(path, task, task.acceptedAtMs ?? 0, reason, detail)) ??
      quarantine(path, { ...held, reason, path: '', detail, raw: keptDocument(read.body, path.settings) })
    );
  }
  const { address, mediaType, connectionId } = read;
  const observedAt = new Date(path.clock.nowMs()).toISOString();
  const ending = { ...held, connectionId, traceparent, reconciled: task.reconciled, settleMs };
  const { result, draft } = await finishAsKnown(path.store, task, ending, {
    names: equipmentNamesOf(read.body),
    draftOf: (known) => draftEvent(documentOf(judged.document, known), { address, mediaType, observedAt }),
  });
  const { unknownFields } = judged.document;
  const ended = { ...finished(path, result), ...(unknownFields.length > 0 && { unknownFields }) };
  if (ended.outcome !== 'published') return ended;
  return { ...ended, providerLagMs: providerLagMs(task, draft.modifiedTime) };
}

function finished(path: Path, result: FinishResult): Ended {
  switch (result.outcome) {
    case 'unchanged':
      return endedAs('unchanged', result.reason, null);
    case 'refused':
      return refusedAs(result.reason);
    default:
      if (result.eventIds.length > 0) path.decided();
      return endedAs(result.outcome, result.outcome, null, { eventIds: result.eventIds });
  }
}

async function apply(path: Path, { verb, ending }: Ending): Promise<Ended> {
  const { store } = path;
  switch (verb) {
    case 'finishGone':
      return finished(path, await store.finishGone(ending));
    case 'foundAbsent':
      await store.foundAbsent(ending);
      return endedAs('absent', 'absent-once', null, { dueInMs: ending.againInMs });
    case 'postpone':
      await store.postpone(ending);
      return endedAs('postponed', ending.code, ending.detail, { dueInMs: ending.dueInMs });
    case 'giveBack':
      await store.giveBack(ending);
      if (ending.probe !== null) path.wakeProbes();
      return endedAs(ending.code === 'aborted' ? 'aborted' : 'given-back', ending.code, null);
    case 'quarantineTask':
      return quarantine(path, ending);
  }
}

async function quarantine(path: Path, task: QuarantinedTask): Promise<Ended> {
  await path.store.quarantineTask(task);
  return endedAs('quarantined', task.reason, task.detail, { quarantine: task.reason });
}

// 4 · An organization that refused is asked again; the answer alone changes its access.

function accessOf(doors: PathDoors, health: ProviderHealth, wakeWork: () => void): OrganizationAccess {
  const { store, provider, observer, clock } = doors;
  const access: OrganizationAccess = makeOrganizationAccess({
    store,
    clock,
    ask: (due, signal) => provider.probe(due, signal),
    heldMs: (due) => heldMs(askedBy(due), health, clock.nowMs()),
    heard: (due, answer) => hear({ ...doors, health, access, wakeWork }, askedBy(due), answer),
    probed: (line) => observer.probed(line),
    changed: ({ organizationId, by }, { previous, access, causes }) => {
      observer.accessChanged({ organizationId, from: previous, to: access, cause: leadingCause(causes), by });
      doors.decided();
      doors.accessChanged();
    },
    connectionsChanged: doors.connectionsChanged,
    answered: wakeWork,
  });
  return access;
}
