/**
 * From the provider's answer to how the task ends. Pure: the one place that says what each kind of answer means for a
 * task. Documents are judged elsewhere; an `ok` never comes here.
 */
import type { Answer, NoDocument } from '../model/answer';
import { toldIn } from '../model/answer-words';
import type {
  FinishedGone,
  FoundAbsent,
  GivenBack,
  Postponed,
  QuarantinedTask,
  TakenTask,
} from '../model/task';
import { type BackoffBounds, backoffMs } from '../tools/backoff';
import { keptDocument } from './kept-document';

export interface EndingRules {
  goneAfterMs: number;
  /** How long the provider's read model may lag; 0: not at all. */
  settleMs: number;
  goneShareMax: number;
  retryAgeMs: number;
  backoff: BackoffBounds;
  random: () => number;
}

export interface EndingSituation {
  observedAt: string;
  traceparent: string | null;
  /** The failure counts as the item's own. */
  own: boolean;
  /** The organization that a refusal may speak of; null when none is known. */
  organizationId: string | null;
  /** The resource is known to be that organization's, so that its address may be asked again to judge it. */
  proven: boolean;
  /** False once the connection was revoked. */
  isConnected: (connectionId: string) => boolean;
}

export type Ending =
  | { verb: 'finishGone'; ending: FinishedGone }
  | { verb: 'foundAbsent'; ending: FoundAbsent }
  | { verb: 'postpone'; ending: Postponed }
  | { verb: 'giveBack'; ending: GivenBack }
  | { verb: 'quarantineTask'; ending: QuarantinedTask };

/**
 * A failure that is not the item's own is tried again at least so often: of what waits for a provider, something always
 * finds out soon that it is back. What was not even tried waits longer, so that a backlog does not turn over and over.
 */
export const sharedWaitMsMax = 30_000;

/**
 * One failure ages an item by at most this more than the longest wait between two attempts: while we were down ourselves
 * nobody tried it, and that is no failure of its own.
 */
const attemptMsMax = 60_000;

/**
 * How an attempt that brought no document ends for its task: postponed, parked, settled or set aside. Pure; every kind
 * of answer has an ending. A failure that is shared waits at most 30 s; one attempt ages a task by at most 60 s beside
 * its back-off. How old a task is the store's clock says alone, from one attempt's end to the beginning of the next.
 */
export function decideEnding(
  task: TakenTask,
  answer: NoDocument,
  situation: EndingSituation,
  rules: EndingRules,
): Ending {
  const held = heldBy(task);
  const given = { ...held, dueAtMs: task.dueAtMs, agedMs: 0, detail: null };
  const postpone = (dueInMs: number, code: string, detail: string | null, own = false): Ending => ({
    verb: 'postpone',
    ending: { ...held, dueInMs, own, agedMs: own ? sinceFailureMs : 0, code, detail },
  });
  const quarantine = (reason: QuarantinedTask['reason'], detail: string | null, path = ''): Ending => ({
    verb: 'quarantineTask',
    ending: { ...held, reason, path, detail, raw: null },
  });
  const back = () => backoffMs(task.attempts, rules.backoff, rules.random);
  const sinceFailureMs =
    task.failedAtMs === null
      ? 0
      : Math.min(Math.max(0, task.takenAtMs - task.failedAtMs), rules.backoff.maxMs + attemptMsMax);
  const tooOld = task.agedMs + sinceFailureMs >= rules.retryAgeMs;
  switch (answer.kind) {
    case 'gone': {
      const last = lastSeenBy(task).filter(situation.isConnected);
      if (answer.certain || last.length === 0 || last.includes(answer.connectionId))
        return decideGone(task, answer, situation, rules);
      // It may only not be shared with this user.
      const detail = absentToAnother(answer.connectionId, last[0]!);
      return tooOld
        ? quarantine('no-connection', detail)
        : postpone(back(), 'absent-to-another', detail, true);
    }
    case 'action-required':
    case 'not-connected': {
      const { organizationId, proven } = situation;
      const { connectionId } = answer;
      const refusedAddress = proven ? task.address : null;
      const probe = organizationId === null ? null : { organizationId, refusedAddress, connectionId };
      const detail = `it is refused while its organization may be read${toldIn(answer)}`;
      // Nothing was found that would have parked it: so it waits with an end.
      if (tooOld && task.code === answer.kind) return quarantine('no-access', detail);
      const aging = { agedMs: sinceFailureMs, detail };
      return { verb: 'giveBack', ending: { ...given, ...aging, code: answer.kind, probe, dueInMs: back() } };
    }
    case 'reauthorize':
      return { verb: 'giveBack', ending: { ...given, code: answer.kind, probe: null, dueInMs: 0 } };
    case 'refused-unattributed':
      // Nobody to probe and nobody to page while it waits: so it waits with an end.
      return tooOld
        ? quarantine('no-access', answer.message)
        : postpone(back(), answer.kind, answer.message, true);
    case 'aborted':
      return { verb: 'giveBack', ending: { ...given, code: answer.kind, probe: null, dueInMs: 0 } };
    case 'client-refused':
      return postpone(back(), answer.kind, answer.message);
    case 'not-modified':
      return postpone(back(), answer.kind, null);
    case 'no-access':
      return quarantine('no-access', answer.message);
    case 'rate-limited':
      return postpone(answer.retryAfterMs + back(), answer.kind, null);
    case 'refused': {
      const detail = `${answer.code}: ${answer.detail}`;
      if (answer.body === undefined) return quarantine('request-refused', detail);
      // No resource: whatever names it holds are nobody's to publish.
      const raw = keptDocument(answer.body, { includeOperatorNames: false });
      const reason = 'malformed-document';
      return { verb: 'quarantineTask', ending: { ...held, reason, path: '/@type', detail, raw } };
    }
    case 'no-connection':
      return quarantine('no-connection', answer.detail);
    case 'address-refused':
      return quarantine(answer.code, answer.detail);
    case 'transient': {
      if (situation.own && tooOld) {
        return quarantine('never-readable', `${answer.code}: ${answer.detail}`, answer.path);
      }
      const tried = answer.code !== 'provider-held';
      const waitMs = tried && !situation.own ? Math.min(back(), sharedWaitMsMax) : back();
      return postpone(Math.max(waitMs, answer.retryAfterMs ?? 0), answer.code, answer.detail, situation.own);
    }
  }
}

/** The connections by which a known resource was seen last: whose listing has shown it since it was read, and who read it. */
function lastSeenBy({ resource, shownBy, connectionId }: TakenTask): string[] {
  return resource === null ? [] : [shownBy, connectionId].filter((id) => id !== null);
}

function absentToAnother(connectionId: string, last: string): string {
  const wanted = `its user must consent, and see the organization, again`;
  return `not found through connection ${connectionId}, but ${last} saw it last and alone can say that it is gone: ${wanted}`;
}

/** Absent is believed when it was certain, or when it is still so after the time that a lagging provider gets. */
function decideGone(
  task: TakenTask,
  { certain, named }: Extract<Answer, { kind: 'gone' }>,
  situation: EndingSituation,
  rules: EndingRules,
): Ending {
  const held = heldBy(task);
  const about = named === undefined ? {} : { named };
  // By the store's clock alone, whatever that of this host says. A time that is ahead is one from before it was set back.
  const absentForMs = task.absentSinceMs === null ? null : Math.max(0, task.takenAtMs - task.absentSinceMs);
  if (certain || (absentForMs !== null && absentForMs >= rules.goneAfterMs)) {
    const { observedAt, traceparent } = situation;
    const { goneShareMax } = rules;
    // Whatever only stayed away was read twice, so long apart that no read model lags for that time.
    const settleMs = certain ? rules.settleMs : 0;
    return {
      verb: 'finishGone',
      ending: { ...held, observedAt, traceparent, goneShareMax, settleMs, ...about },
    };
  }
  const leftMs = rules.goneAfterMs - (absentForMs ?? 0);
  // What was announced and never seen may have been created just now, and not be shown yet.
  const mayBeNew = task.resource === null && absentForMs === null && rules.settleMs > 0;
  const againInMs = mayBeNew ? Math.min(rules.settleMs, leftMs) : leftMs;
  return { verb: 'foundAbsent', ending: { ...held, againInMs, ...about } };
}

/** What a task is held by: its ending is taken only while all of this still holds. */
export function heldBy(task: TakenTask) {
  const { taskId, fence, generation, revision } = task;
  return { taskId, fence, generation, revision };
}
