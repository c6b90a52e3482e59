/**
 * Which alerts a sink has to be told of, and how its answer is recorded. Only the latest state counts: what came and
 * went while a sink was away is told as it is now. Pure.
 */
import type { Alert, SentState, Severity } from '../model/alert';
import type { AlertSink } from './sink';

export interface DueTimes {
  /** What fires is sent again after this time, to sinks that need it. */
  resendMs: number;
  /** For so long the end of an alert is sent again, at the same pace. */
  resolveRepeatMs: number;
  /** When this process began: what was refused before may be taken now, by other settings. */
  startedAtMs: number;
  /** After this time what fires is told again where its page stays open, since another may have ended it; left out: nobody does. */
  openAgainMs?: number;
}

/** What a sink refused is offered again after this time: nothing changed by itself, but its far side may be mended. */
const refusedAgainMs = 3_600_000;

/** What happened to one alert in a post. */
export type PostOutcome = 'taken' | 'failed' | 'refused';

/**
 * What has to be posted now. When one repetition has fallen due all of them go in the same round, so that rounds stay
 * few however many alerts there are.
 */
export function pickDue(
  sink: Pick<AlertSink, 'name' | 'repeats' | 'keeps'>,
  alerts: Alert[],
  nowMs: number,
  times: DueTimes,
): Alert[] {
  const told = alerts.filter((alert) => !isOverUntaken(alert, alert.sent[sink.name]));
  const news = told.filter((alert) => {
    const sent = alert.sent[sink.name];
    return isNews(alert, sent) && !isRefused(alert, sent, nowMs, times);
  });
  const againMs = sink.repeats ? times.resendMs : sink.keeps ? times.openAgainMs : undefined;
  if (againMs === undefined) return news;
  const repeated = told.filter((alert) => {
    const sent = alert.sent[sink.name];
    return isRepeated(alert, sent, nowMs, times) && (sink.repeats || isOpen(alert, sent));
  });
  // A time that lies far ahead is of a clock that was set back since.
  const isRound = repeated.some((alert) => Math.abs(nowMs - (alert.sent[sink.name]?.atMs ?? 0)) >= againMs);
  return isRound ? [...news, ...repeated] : news;
}

/**
 * Held, and not known there as firing: nobody is woken for what is over. Should it come back, that is news; its end is told
 * as ever, since a post without an answer may have arrived.
 */
export function isOverUntaken({ state, quietSinceMs }: Alert, sent: SentState | undefined): boolean {
  return state === 'firing' && quietSinceMs !== null && sent?.state !== 'firing';
}

function isNews(alert: Alert, sent: SentState | undefined): boolean {
  // What ended before the sink was among the settings is no news to it.
  if (sent === undefined) return alert.state === 'firing';
  return sent.state !== alert.state || (alert.state === 'firing' && sent.severity !== alert.severity);
}

/** Did it take that this fires? */
function isOpen({ state }: Alert, sent: SentState | undefined): boolean {
  return state === 'firing' && sent?.state === 'firing';
}

/** Did the sink refuse just this, so lately that it would again? */
function isRefused(alert: Alert, sent: SentState | undefined, nowMs: number, times: DueTimes): boolean {
  const refused = sent?.refused;
  if (refused === undefined || refused.state !== alert.state) return false;
  if (alert.state === 'firing' && refused.severity !== alert.severity) return false;
  // One that began since is another incident, whatever was said of the former.
  const isOfBefore = refused.atMs < Math.max(times.startedAtMs, alert.startsAtMs);
  return !isOfBefore && Math.abs(nowMs - refused.atMs) < refusedAgainMs;
}

function isRepeated(alert: Alert, sent: SentState | undefined, nowMs: number, times: DueTimes): boolean {
  if (sent === undefined || (isNews(alert, sent) && !isRefused(alert, sent, nowMs, times))) return false;
  return alert.state === 'firing' || nowMs - sent.sinceMs < times.resolveRepeatMs;
}

/**
 * To be saved before the post, and while the sink may not be posted to: whoever ends before the answer is recorded must
 * not forget that the sink may know of the alert, and by which severities, or its end would be told to nobody. The same
 * object when there is nothing to add: it is over, or the sink was offered it under this severity since it began.
 */
export function offeredTo(sink: AlertSink['name'], alert: Alert, nowMs: number): Alert {
  if (alert.state === 'resolved') return alert;
  const sent = alert.sent[sink];
  const offered = withOffer(sent, alert.severity, nowMs);
  return offered === sent ? alert : { ...alert, sent: { ...alert.sent, [sink]: offered } };
}

function withOffer(sent: SentState | undefined, severity: Severity, nowMs: number): SentState {
  if (sent === undefined) return untold(severity, nowMs);
  if (sent.state === 'resolved') return { ...sent, state: null, severity };
  if (severitiesOf(sent).includes(severity)) return sent;
  return { ...sent, offered: [...(sent.offered ?? []), severity] };
}

/** By which severities a sink may know the alert; none when it was offered it never, or took its end. */
export function severitiesOf(sent: SentState | undefined): Severity[] {
  if (sent === undefined || sent.state === 'resolved') return [];
  return [sent.severity, ...(sent.offered ?? [])];
}

/** What the sink has of an alert after it was offered `posted`: what it refused it does not have. */
export function sentAfter(
  before: SentState | undefined,
  posted: Pick<Alert, 'state' | 'severity'>,
  outcome: PostOutcome,
  nowMs: number,
): SentState {
  if (outcome === 'failed') {
    return { ...(before ?? untold(posted.severity, nowMs)), failures: (before?.failures ?? 0) + 1 };
  }
  if (outcome === 'refused') {
    const known = before ?? untold(posted.severity, nowMs);
    const refused = { state: posted.state, severity: posted.severity, atMs: nowMs };
    return { ...known, atMs: nowMs, failures: known.failures + 1, refused };
  }
  // An end is told under the severity that the sink knows the alert by.
  const severity = posted.state === 'resolved' ? (before?.severity ?? posted.severity) : posted.severity;
  const isSame = before?.state === posted.state && before.severity === severity;
  return {
    state: posted.state,
    severity,
    sinceMs: isSame ? before.sinceMs : nowMs,
    atMs: nowMs,
    failures: 0,
  };
}

/** What a sink has that was offered the alert, and is not known to have taken it. */
export function untold(severity: Severity, nowMs: number): SentState {
  return { state: null, severity, sinceMs: nowMs, atMs: nowMs, failures: 0 };
}
