/**
 * Holds new signals back for a moment, so that many of one kind are recognised as one incident before the first of
 * them pages. Keeps only when the gathering began; a restart gathers anew.
 */
import type { Alert, Signal } from '../model/alert';
import { fingerprintOf } from './fingerprint';

export type Gather = (signals: Signal[], alerts: Alert[], nowMs: number) => Signal[];

/** Signals of firing alerts pass; new ones pass together, `gatherMs` after the first of them was seen. */
export function makeGather(gatherMs: number): Gather {
  let sinceMs: number | null = null;
  return (signals, alerts, nowMs) => {
    const open = new Set(alerts.filter(({ state }) => state === 'firing').map((alert) => alert.fingerprint));
    const known = signals.filter((signal) => open.has(fingerprintOf(signal.name, signal.labels)));
    const hasNew = known.length < signals.length;
    sinceMs = hasNew ? (sinceMs ?? nowMs) : null;
    if (sinceMs === null || nowMs - sinceMs < gatherMs) return known;
    sinceMs = null;
    return signals;
  };
}
