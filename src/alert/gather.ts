/**
 * Holds new signals back for a moment, so that many of one kind are recognised as one incident before the first of
 * them pages: longer while several come one upon the other, a single one never. Keeps only how the gathering went; a
 * restart gathers anew.
 */
import type { Alert, Signal } from '../model/alert';
import { fingerprintOf } from './fingerprint';

export interface Gathered {
  passed: Signal[];
  /** New ones that wait: nobody is told of them yet, but what they cover is not over. */
  held: Signal[];
}

export type Gather = (signals: Signal[], alerts: Alert[], nowMs: number) => Gathered;

/** More than this many at once may be the beginning of very many. */
const severalAbove = 5;
/** So many moments, at most, while their number grows. */
const momentsMax = 3;

interface Gathering {
  /** When the moment began. */
  sinceMs: number;
  /** How many moments went before, and how many signals were new at the end of the last one. */
  moments: number;
  count: number;
}

/** Signals of firing alerts pass; new ones pass together, `gatherMs` after the first of them was seen, or later. */
export function makeGather(gatherMs: number): Gather {
  let gathering: Gathering | null = null;
  return (signals, alerts, nowMs) => {
    const open = new Set(alerts.filter(({ state }) => state === 'firing').map((alert) => alert.fingerprint));
    const isOpen = (signal: Signal) => open.has(fingerprintOf(signal.name, signal.labels));
    const passed = signals.filter(isOpen);
    const count = signals.length - passed.length;
    if (count === 0) {
      gathering = null;
      return { passed, held: [] };
    }
    gathering ??= { sinceMs: nowMs, moments: 0, count: 0 };
    if (nowMs - gathering.sinceMs >= gatherMs) {
      const moments = gathering.moments + 1;
      const grows = count > severalAbove && count > gathering.count && moments < momentsMax;
      gathering = grows ? { sinceMs: nowMs, moments, count } : null;
    }
    if (gathering === null) return { passed: signals, held: [] };
    return { passed, held: signals.filter((signal) => !isOpen(signal)) };
  };
}
