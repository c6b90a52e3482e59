/**
 * Ends of what another process may have told the sinks without a record: while the store is away a leader tells what it knows
 * by itself, and who is killed then leaves a page that nobody knows of. So whoever begins to lead tells their ends once,
 * when it knows that they do not hold, and when whoever led before cannot be telling them still. Kept in memory: the next
 * one begins anew.
 */
import type { Alert, Condition, ConditionName, SentState } from '../model/alert';
import { alertOfCondition, type LoneOptions } from './alert-of-condition';
import { conditionRows } from './catalogue';
import { sentAfter, untold } from './due';
import type { PostedAlert } from './lane';
import type { AlertSink } from './sink';

/** `holdMs`: an end is told so long after this process began to lead, at the soonest. */
export interface UnrecordedOptions extends LoneOptions {
  /** Who follows for longer than this follows one that lives. */
  leaseMs: number;
}

export interface Unrecorded {
  /** Another process leads; `own`: what this one knows of. Should it lead again, it begins anew. */
  follow(own: Condition[], nowMs: number): void;
  /**
   * The ends that some sink has not taken yet, while this process leads; none of what fires among `alerts`, nor of the names
   * that it is still to learn.
   */
  ends(alerts: Alert[], unlearned: ReadonlySet<string>, nowMs: number): Alert[];
  /** What the sinks made of posts, whoever they were of. */
  record(answers: PostedAlert[]): void;
}

/**
 * What a process learns without writing to the store and tells under a name alone, so that its end can be told without a
 * record: without the store at all, or from one that is read and takes no writes.
 */
const names: ConditionName[] = [
  'client-refused',
  'clock-off',
  'decryption-failed',
  'delivery-secret-unopened',
  'kafka-unavailable',
  'provider-unavailable',
  'rate-limited',
  'store-log-stuck',
  'store-unavailable',
];

const description =
  'It does not hold any more. Whoever told of it may have been stopped before that was recorded, so its end is told anew.';

/** Who saw the store away within this time has seen what the former leader saw. */
const outageMsMax = 300_000;
/** Who vanished while this process saw the store all along may live on, cut off from it: for so long it may come back. */
const cutOffMsMax = 3_600_000;

/**
 * For sinks where a page stays open until its end is told; a sink that keeps nothing is told of no such end. An outage that
 * was seen at most 5 minutes before counts, and who vanished may come back for 1 h. Never throws.
 */
export function makeUnrecorded(sinks: AlertSink[], options: UnrecordedOptions): Unrecorded {
  const keeping = sinks.filter(({ keeps }) => keeps);
  let endedAt = keeping;
  let followedFromMs: number | null = null;
  let outageAtMs = Number.NEGATIVE_INFINITY;
  let fromMs: number | null = null;
  let pending: ConditionName[] = [];
  let waiting: Alert[] = [];

  function begin(nowMs: number): number {
    const followedMs = nowMs - (followedFromMs ?? nowMs);
    const isCutOff = followedMs > 2 * options.leaseMs && nowMs - outageAtMs > outageMsMax;
    followedFromMs = null;
    pending = names;
    waiting = [];
    // What is not told again ends by itself where it would be repeated; and while its teller lives, its page is true.
    endedAt = isCutOff ? keeping.filter(({ repeats }) => !repeats) : keeping;
    return nowMs + (isCutOff ? Math.max(options.holdMs, cutOffMsMax) : options.holdMs);
  }

  return {
    follow(own, nowMs) {
      followedFromMs ??= nowMs;
      fromMs = null;
      if (own.some(({ name }) => name === 'store-unavailable')) outageAtMs = nowMs;
    },
    ends(alerts, unlearned, nowMs) {
      fromMs ??= begin(nowMs);
      if (nowMs < fromMs || pending.length + waiting.length === 0) return [];
      const known = pending.filter((name) => !unlearned.has(conditionRows[name].name));
      pending = pending.filter((name) => !known.includes(name));
      // What fires here is in the book: its end is told as every other is.
      const firing = new Set(
        alerts.filter(({ state }) => state === 'firing').map(({ fingerprint }) => fingerprint),
      );
      waiting = [...waiting, ...endsAt(known, nowMs, endedAt, options)].filter(
        ({ fingerprint }) => !firing.has(fingerprint),
      );
      return waiting;
    },
    record(answers) {
      if (answers.length === 0) return;
      waiting = waiting.map((end) => after(end, answers)).filter(({ sent }) => isWanting(sent));
    },
  };
}

function endsAt(
  known: ConditionName[],
  nowMs: number,
  sinks: AlertSink[],
  options: UnrecordedOptions,
): Alert[] {
  return known.map((name) => {
    // Each by itself: beside another it might be told as a part of that.
    const alert = alertOfCondition({ name, sinceMs: nowMs, detail: '' }, nowMs, options);
    const { summary = '', owner = '', runbook_url = '' } = alert.annotations;
    return {
      ...alert,
      state: 'resolved',
      annotations: { summary, description, owner, runbook_url },
      resolvedAtMs: nowMs,
      sent: Object.fromEntries(sinks.map((sink) => [sink.name, untold(alert.severity, nowMs)])),
    };
  });
}

function after(end: Alert, answers: PostedAlert[]): Alert {
  const sent = { ...end.sent };
  for (const { fingerprint, sink, posted, outcome, atMs } of answers) {
    if (fingerprint !== end.fingerprint || sent[sink] === undefined) continue;
    sent[sink] = sentAfter(sent[sink], posted, outcome, atMs);
    // Without an entry nothing is told there: an end that was taken is not repeated.
    if (sent[sink].state === 'resolved') delete sent[sink];
  }
  return { ...end, sent };
}

function isWanting(sent: Record<string, SentState>): boolean {
  return Object.keys(sent).length > 0;
}
