/**
 * THE PATH. A delivery is accepted and its tasks are due; a task is taken, read, normalized and finished; the relay
 * sends what was decided. One direction, told here in order. Effects come in as doors; what is pure is called directly.
 * This file makes no part and opens nothing: wire.ts does.
 */
import { decideEnding, type Ending, type EndingRules, heldBy } from './inbox/decide-ending';
import { makeProviderHealth, type ProviderHealth } from './inbox/provider-health';
import { makeRun, type Run } from './inbox/run';
import type { Answer, ReadCost, ReadDocument } from './model/answer';
import type { NormalizedDocument } from './model/event';
import type { Accepted, Delivery } from './model/notification';
import type { DueProbe, Observation } from './model/organization';
import type { ResourceIdentity } from './model/resource';
import type { Connections, Inbox, Organizations } from './model/store';
import type { FinishResult, TakenTask } from './model/task';
import { normalizeDocument } from './normalize/normalize';
import { draftEvent } from './publish/draft-event';
import type { Clock } from './tools/clock';

/** Reading through the provider's links: every answer is classified, nothing is thrown. */
export interface ProviderDoor {
  read(
    request: {
      address: string;
      resource: ResourceIdentity | null;
      organizationId: string | null;
      hintedOrganizationId: string | null;
      hintedUser: string | null;
      connectionId: string | null;
    },
    signal?: AbortSignal,
  ): Promise<{ answer: Answer; cost: ReadCost }>;
  probe(probe: DueProbe, signal?: AbortSignal): Promise<Answer>;
  /** Does this connection see this organization, as last learned? */
  sees(connectionId: string, organizationId: string): boolean;
  /** Learns anew which organizations each connection sees; false when that was done a moment ago. */
  learnAgain(): Promise<boolean>;
}

/** The two wide lines and the spans around them. */
export interface PathObserver {
  startDelivery(traceparent: string | null): { traceparent: string; end(error: string | null): void };
  startAttempt(traceparent: string | null): { traceparent: string; end(error: string | null): void };
  accepted(delivery: Delivery, accepted: Accepted, tookMs: number): void;
  attempted(attempt: AttemptLine): void;
  probed(organizationId: string, answer: Answer['kind'], access: string | null): void;
  failed(where: string, error: unknown): void;
}

export interface AttemptLine {
  task: TakenTask;
  traceparent: string;
  answer: Answer['kind'];
  /** `published`, `unchanged`, … or the ending's verb. */
  outcome: string;
  reason: string | null;
  eventIds: string[];
  cost: ReadCost;
  tookMs: number;
}

export interface PathDoors {
  store: Inbox & Organizations & Connections;
  provider: ProviderDoor;
  observer: PathObserver;
  clock: Clock;
  /** Called when a decided event waits in the outbox. */
  decided(): void;
  /** Called when an organization's access changed. */
  accessChanged(): void;
}

export interface PathSettings {
  concurrency: number;
  settleMs: number;
  includeOperatorNames: boolean;
  ending: EndingRules;
  probeLeaseMs: number;
  probeRetryMs: number;
}

export interface Pipeline {
  accept(delivery: Delivery): Promise<Accepted>;
  /** Take → fetch → normalize → finish; `step` does one round, `start` goes on until `stop`. */
  work: Run;
  /** Organization access: asks the provider again, which alone changes the state. */
  probes: Run;
  health: ProviderHealth;
}

const probesAtOnce = 4;
/** How long a task waits after the sight of its connections was learned anew. */
const learnedAgainMs = 1000;

export function makePipeline(doors: PathDoors, settings: PathSettings): Pipeline {
  const { store, provider, observer, clock } = doors;
  const health = makeProviderHealth(settings.ending.random);

  // 1 · A delivery is stored, then answered.
  async function accept(delivery: Delivery): Promise<Accepted> {
    const startedMs = clock.nowMs();
    const span = observer.startDelivery(delivery.traceparent);
    try {
      const accepted = await store.put({ ...delivery, traceparent: span.traceparent });
      observer.accepted(delivery, accepted, clock.nowMs() - startedMs);
      if (accepted.due > 0) work.wake();
      if (accepted.probes) probes.wake();
      span.end(null);
      return accepted;
    } catch (error) {
      span.end('store.unavailable');
      throw error;
    }
  }

  // 2 · A task that is due is read, judged and finished.
  async function attempt(task: TakenTask, signal: AbortSignal): Promise<void> {
    const startedMs = clock.nowMs();
    const span = observer.startAttempt(task.traceparent);
    try {
      const { answer, cost } = await read(task, signal);
      const { outcome, reason, eventIds } = await end(task, answer, span.traceparent);
      const tookMs = clock.nowMs() - startedMs;
      observer.attempted({
        task,
        traceparent: span.traceparent,
        answer: answer.kind,
        outcome,
        reason,
        eventIds,
        cost,
        tookMs,
      });
      span.end(outcome === 'published' || outcome === 'unchanged' || outcome === 'gone' ? null : answer.kind);
    } catch (error) {
      // The lease runs out, or the process that starts next frees it: the task is read again.
      observer.failed('attempt', error);
      span.end('failed');
    }
  }

  async function read(task: TakenTask, signal: AbortSignal): Promise<{ answer: Answer; cost: ReadCost }> {
    const origin = originOf(task.address);
    const heldMs = origin === null ? 0 : health.heldMs(origin, clock.nowMs());
    if (heldMs > 0) {
      const detail = 'the provider is left alone for a while';
      const connectionId = task.connectionId ?? '';
      const code = 'provider-held';
      const answer: Answer = {
        kind: 'transient',
        code,
        detail,
        origin: origin!,
        connectionId,
        retryAfterMs: heldMs,
      };
      return { answer, cost: { calls: 0, bytes: 0, tookMs: 0, status: null } };
    }
    const result = await provider.read(task, signal);
    await learn(task, result.answer);
    return result;
  }

  /** What the answer tells about the provider as a whole, before it is judged for the task. */
  async function learn(task: TakenTask, answer: Answer): Promise<void> {
    const nowMs = clock.nowMs();
    switch (answer.kind) {
      case 'rate-limited':
        return health.rateLimited(answer.retryAfterMs, nowMs);
      case 'transient':
        return health.failed(answer.origin, `${answer.code}: ${answer.detail}`, nowMs);
      case 'reauthorize':
        return refuseGrant(answer.connectionId, answer.message);
      case 'aborted':
      case 'address-refused':
      case 'no-connection':
        return;
      default: {
        const origin = originOf(answer.kind === 'ok' ? answer.document.address : task.address);
        const connectionId = answer.kind === 'ok' ? answer.document.connectionId : answer.connectionId;
        if (origin !== null && health.succeeded(origin, connectionId, nowMs)) await store.hasten();
      }
    }
  }

  // 3 · The provider's answer becomes exactly one ending.
  async function end(task: TakenTask, answer: Answer, traceparent: string): Promise<Ended> {
    if (answer.kind === 'ok') return endRead(task, answer.document, traceparent);
    if (answer.kind === 'no-connection' && (await provider.learnAgain())) {
      const held = heldBy(task);
      await store.postpone({
        ...held,
        dueInMs: learnedAgainMs,
        own: false,
        code: answer.kind,
        detail: answer.detail,
      });
      return { outcome: 'postpone', reason: 'learned-again', eventIds: [] };
    }
    const nowMs = clock.nowMs();
    const own =
      answer.kind === 'transient' && health.isOwn(answer.origin, answer.connectionId, task.failedAtMs);
    const organizationId = ownerOf(task, answer);
    const observedAt = new Date(nowMs).toISOString();
    const situation = { nowMs, observedAt, traceparent, own, organizationId };
    return apply(decideEnding(task, answer, situation, settings.ending));
  }

  async function endRead(task: TakenTask, read: ReadDocument, traceparent: string): Promise<Ended> {
    const judged = normalizeDocument(read.body, { includeOperatorNames: settings.includeOperatorNames });
    const held = heldBy(task);
    if (!judged.ok) {
      const { path, code, detail } = judged;
      await store.quarantineTask({
        ...held,
        reason: 'malformed-document',
        path,
        detail: `${code}: ${detail}`,
      });
      return { outcome: 'quarantineTask', reason: 'malformed-document', eventIds: [] };
    }
    const document: NormalizedDocument = judged.document;
    if (!provider.sees(read.connectionId, document.organizationId)) {
      const detail = `the document belongs to organization ${document.organizationId}`;
      await store.quarantineTask({ ...held, reason: 'organization-mismatch', path: '', detail });
      return { outcome: 'quarantineTask', reason: 'organization-mismatch', eventIds: [] };
    }
    const observedAt = new Date(clock.nowMs()).toISOString();
    const draft = draftEvent(document, { address: read.address, mediaType: read.mediaType, observedAt });
    const { connectionId } = read;
    const { reconciled } = task;
    const { settleMs } = settings;
    return finished(await store.finish({ ...held, draft, connectionId, traceparent, reconciled, settleMs }));
  }

  async function apply(ending: Ending): Promise<Ended> {
    switch (ending.verb) {
      case 'finishGone':
        return finished(await store.finishGone(ending.ending));
      case 'foundAbsent':
        await store.foundAbsent(ending.ending);
        return { outcome: ending.verb, reason: null, eventIds: [] };
      case 'postpone':
        await store.postpone(ending.ending);
        return { outcome: ending.verb, reason: ending.ending.code, eventIds: [] };
      case 'giveBack':
        await store.giveBack(ending.ending);
        if (ending.ending.probe !== null) probes.wake();
        return { outcome: ending.verb, reason: ending.ending.code, eventIds: [] };
      case 'quarantineTask':
        await store.quarantineTask(ending.ending);
        return { outcome: ending.verb, reason: ending.ending.reason, eventIds: [] };
    }
  }

  function finished(result: FinishResult): Ended {
    if (result.outcome === 'refused') return { outcome: result.outcome, reason: result.reason, eventIds: [] };
    if (result.outcome === 'unchanged')
      return { outcome: result.outcome, reason: result.reason, eventIds: [] };
    if (result.eventIds.length > 0) doors.decided();
    return { outcome: result.outcome, reason: null, eventIds: result.eventIds };
  }

  /** The organization that a refusal speaks of: the task's owner, else the hinted one if the connection sees it. */
  function ownerOf(task: TakenTask, answer: Answer): string | null {
    if (task.organizationId !== null) return task.organizationId;
    if (task.hintedOrganizationId === null || !('connectionId' in answer)) return null;
    return provider.sees(answer.connectionId, task.hintedOrganizationId) ? task.hintedOrganizationId : null;
  }

  // 4 · An organization that refused is asked again; its answer alone changes the access.
  async function probe(due: DueProbe, signal: AbortSignal): Promise<void> {
    try {
      const answer = await provider.probe(due, signal);
      const found = foundBy(answer);
      if (answer.kind === 'reauthorize') await refuseGrant(answer.connectionId, answer.message);
      else if (answer.kind === 'rate-limited') health.rateLimited(answer.retryAfterMs, clock.nowMs());
      if (found === null) {
        await store.postponeProbe(due.organizationId, settings.probeRetryMs);
        observer.probed(due.organizationId, answer.kind, null);
        return;
      }
      const by = answer.kind === 'not-connected' ? 'connections-link' : 'probe';
      const observation = { organizationId: due.organizationId, epoch: due.epoch, found, by } as const;
      await observe(observation, answer.kind);
    } catch (error) {
      observer.failed('probe', error);
    }
  }

  async function observe(observation: Observation, kind: Answer['kind']): Promise<void> {
    const transition = await store.observe(observation);
    observer.probed(observation.organizationId, kind, transition.applied ? transition.access : null);
    if (transition.changed) {
      doors.decided();
      doors.accessChanged();
    }
    work.wake();
  }

  /** The token was refused: who is seen by no other valid connection needs a new consent. */
  async function refuseGrant(connectionId: string, message: string | null): Promise<void> {
    const { organizations } = await store.refuseConnection(connectionId, message);
    for (const organizationId of organizations) {
      const known = await store.access(organizationId);
      const found = { cause: 'refused-grant', actionUrl: null, message } as const;
      await observe({ organizationId, epoch: known?.epoch ?? 1, found, by: 'grant' }, 'reauthorize');
    }
  }

  const limit = (wanted: number) => (health.coolDownMs(clock.nowMs()) > 0 ? 0 : wanted);
  const work: Run = makeRun<TakenTask>(
    {
      take: (wanted) => store.take(wanted),
      attempt,
      limit,
      nextDueInMs: () => store.nextDueInMs('task'),
      release: (tasks) => store.releaseLeases(tasks),
      failed: (error) => observer.failed('work', error),
    },
    settings.concurrency,
    clock,
  );
  const probes: Run = makeRun<DueProbe>(
    {
      take: (wanted) => store.takeProbes(wanted, settings.probeLeaseMs),
      attempt: probe,
      limit,
      nextDueInMs: () => store.nextDueInMs('probe'),
      release: async () => {},
      failed: (error) => observer.failed('probes', error),
    },
    probesAtOnce,
    clock,
  );
  return { accept, work, probes, health };
}

interface Ended {
  outcome: string;
  reason: string | null;
  eventIds: string[];
}

/** What a probe's answer says about access; null when it says nothing about it. */
function foundBy(answer: Answer): Observation['found'] | null {
  switch (answer.kind) {
    case 'action-required':
      return { cause: answer.cause, actionUrl: answer.actionUrl, message: answer.message };
    case 'not-connected':
      return { cause: 'not-connected', actionUrl: answer.actionUrl, message: null };
    case 'ok':
    case 'not-modified':
    case 'gone':
    case 'no-access':
      return { cause: null };
    default:
      return null;
  }
}

function originOf(address: string): string | null {
  return URL.canParse(address) ? new URL(address).origin : null;
}
