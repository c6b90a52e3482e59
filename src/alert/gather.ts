/**
 * Holds new signals back for a moment, so that many of one kind are recognised as one incident before the first of
 * them pages. Keeps only since when; a restart gathers anew.
 */
import type { Alert, Signal } from '../model/alert';
import { fingerprintOf } from './fingerprint';

export interface Gathered {
  passed: Signal[];
  /** New ones that wait: nobody is told of them yet, but what they cover is not over. */
  held: Signal[];
}

export type Gather = (signals: Signal[], alerts: Alert[], nowMs: number) => Gathered;

/** Signals of firing alerts pass; new ones pass together, `gatherMs` after the first of them was seen. */
export function makeGather(gatherMs: number): Gather {
  let sinceMs: number | null = null;
  return (signals, alerts, nowMs) => {
    const open = new Set(alerts.filter(({ state }) => state === 'firing').map((alert) => alert.fingerprint));
    const isOpen = (signal: Signal) => open.has(fingerprintOf(signal.name, signal.labels));
    const passed = signals.filter(isOpen);
    if (signals.length === passed.length) {
      sinceMs = null;
      return { passed, held: [] };
    }
    sinceMs ??= nowMs;
    if (nowMs - sinceMs >= gatherMs) {
      sinceMs = null;
      return { passed: signals, held: [] };
    }
    return { passed, held: signals.filter((signal) => !isOpen(signal)) };
  };
}
