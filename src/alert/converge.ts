/**
 * Brings the alerts as stored to what the signals say now. Pure: it decides what fires, what is held and what ends;
 * who was told is no matter of this file, beyond keeping what is recorded there.
 */
import type { Alert, Signal } from '../model/alert';
import { fingerprintOf, subjectOf } from './fingerprint';
import type { Gathered } from './gather';
import { holdAnnotations, withoutHold } from './held-text';
import { keptWhenOver } from './when-over';

export interface ConvergeOptions {
  /** How long a state must have ended before its alert does: one that comes back meanwhile is the same incident. */
  holdMs: number;
  /** Is it not known whether the state of an alert without a signal is over? Left out: it is over. */
  isUnknown?(alert: Alert): boolean;
}

/** The longest hold, in holds. */
const holdsMax = 16;

/**
 * The alerts after the signals that passed, at `nowMs`, resolved ones included. One that did not change is the same
 * object. A new one starts when its state began, and keeps that; one that fires again after it was resolved starts anew
 * under the same fingerprint. One that a passed signal covers goes on there; one that a held signal covers waits for
 * it, and one of which it is not known whether it is over stays as it is. A hold doubles with each return, up to 16 times `holdMs`.
 */
export function converge(
  { passed, held }: Gathered,
  alerts: Alert[],
  nowMs: number,
  options: ConvergeOptions,
): Alert[] {
  const known = alerts.map((alert) => withoutTimesAhead(alert, nowMs));
  const before = new Map(known.map((alert) => [alert.fingerprint, alert]));
  const after = new Map<string, Alert>();
  const at = { nowMs, holdMs: options.holdMs };
  for (const signal of passed) {
    const fingerprint = fingerprintOf(signal.name, signal.labels);
    const alert = before.get(fingerprint);
    const goesOn = alert?.state === 'firing';
    after.set(fingerprint, goesOn ? goOn(alert, signal) : begin(fingerprint, signal, alert, at));
  }
  const over = known.filter(({ fingerprint }) => !after.has(fingerprint));
  const covering = over.some(({ state }) => state === 'firing') ? [passed, held].map(coveredBy) : [];
  for (const alert of over) {
    const [into, wait] = covering.map((covers) => covers(alert));
    const stays = into === undefined && (wait !== undefined || options.isUnknown?.(alert));
    const next = stays ? alert : calm(alert, into, nowMs, options.holdMs);
    after.set(alert.fingerprint, next);
  }
  return [...after.values()];
}

/** The clock that they were taken by may have been set back since: nothing that was seen lies ahead. */
function withoutTimesAhead(alert: Alert, nowMs: number): Alert {
  const { startsAtMs, quietSinceMs, resolvedAtMs } = alert;
  if (Math.max(startsAtMs, quietSinceMs ?? 0, resolvedAtMs ?? 0) <= nowMs) return alert;
  const past = <Time extends number | null>(ms: Time) => (ms === null ? ms : Math.min(ms, nowMs)) as Time;
  return {
    ...alert,
    startsAtMs: past(startsAtMs),
    quietSinceMs: past(quietSinceMs),
    resolvedAtMs: past(resolvedAtMs),
  };
}

/** Finds the signal that an alert without one of its own goes on in. */
function coveredBy(signals: Signal[]): (alert: Alert) => Signal | undefined {
  const bySubject = new Map<string, Signal[]>();
  for (const signal of signals) {
    for (const subject of signal.covers?.subjects ?? []) {
      const others = bySubject.get(subject);
      if (others === undefined) bySubject.set(subject, [signal]);
      else others.push(signal);
    }
  }
  return ({ name, labels }) =>
    bySubject.get(subjectOf(labels))?.find(({ covers }) => covers?.names.includes(name));
}

/** The alert of a state that holds and had none, or whose `former` one has ended. */
function begin(
  fingerprint: string,
  signal: Signal,
  former: Alert | undefined,
  { nowMs, holdMs }: { nowMs: number; holdMs: number },
): Alert {
  const { name, severity, labels, annotations } = signal;
  return {
    fingerprint,
    name,
    severity,
    state: 'firing',
    labels,
    annotations,
    startsAtMs: startOf(signal, former, nowMs),
    resolvedAtMs: null,
    quietSinceMs: null,
    returns: former === undefined ? 0 : returnsAfterEnd(former, nowMs, holdMs),
    coversUntilMs: signal.covers?.untilMs ?? null,
    sent: former?.sent ?? {},
  };
}

/** The alert of a state that still holds, or came back before it had ended. */
function goOn(alert: Alert, signal: Signal): Alert {
  const { severity } = signal;
  const coversUntilMs = signal.covers?.untilMs ?? null;
  const annotations = keptWhenOver(alert, signal.annotations);
  const wasQuiet = alert.quietSinceMs !== null;
  const same =
    !wasQuiet &&
    alert.severity === severity &&
    alert.coversUntilMs === coversUntilMs &&
    sameRecord(alert.annotations, annotations);
  if (same) return alert;
  const returns = wasQuiet ? alert.returns + 1 : alert.returns;
  return { ...alert, severity, annotations, quietSinceMs: null, returns, coversUntilMs };
}

/** A second incident must not begin inside the first one: receivers would take both for one. */
function startOf(signal: Signal, former: Alert | undefined, nowMs: number): number {
  const endedMs = former?.resolvedAtMs ?? Number.NEGATIVE_INFINITY;
  return signal.sinceMs > endedMs ? Math.min(signal.sinceMs, nowMs) : nowMs;
}

/** The alert of a state that does not hold now, or that `into` tells of from now on: one that stands for many at once. */
function calm(alert: Alert, into: Signal | undefined, nowMs: number, holdMs: number): Alert {
  if (alert.state === 'resolved') return alert;
  const quietSinceMs = alert.quietSinceMs ?? nowMs;
  const closesAtMs = quietSinceMs + holdOf(alert, holdMs);
  const own = withoutHold(alert.annotations);
  if (into?.covers?.untilMs != null || nowMs >= closesAtMs) {
    const annotations = into === undefined ? own : { ...own, folded_into: into.name };
    return { ...alert, annotations, state: 'resolved', resolvedAtMs: nowMs, quietSinceMs: null };
  }
  const hold = { quietSinceMs, closesAtMs, goesOnAs: into?.name ?? null };
  const annotations = { ...own, ...holdAnnotations(hold) };
  const same = alert.quietSinceMs !== null && sameRecord(alert.annotations, annotations);
  return same ? alert : { ...alert, annotations, quietSinceMs };
}

/** It is held for twice as long with each return: what comes and goes is one incident, not a page a minute. */
function holdOf(alert: Alert, holdMs: number): number {
  return holdMs * Math.min(2 ** alert.returns, holdsMax);
}

/** A state that comes back within the longest hold after its alert ended was not over. */
function returnsAfterEnd(alert: Alert, nowMs: number, holdMs: number): number {
  return nowMs - (alert.resolvedAtMs ?? 0) < holdMs * holdsMax ? alert.returns + 1 : 0;
}

function sameRecord(left: Record<string, string>, right: Record<string, string>): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}
