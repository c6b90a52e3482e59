/**
 * When an organization is probed after it was observed, on either store. Pure.
 */
import { isByAnswer, type Observation, type ProbeAsker, type Transition } from '../model/organization';
import type { StoreRules } from './store-rules';

/** As it was when it was observed. */
export interface ProbeBefore {
  atMs: number | null;
  intervalMs: number | null;
  /** For when it was asked for while it was under way: it is asked after it. */
  askedAtMs: number | null;
  /** The time by which its customer is to act. */
  dueAtMs: number | null;
}

export interface NextProbe {
  atMs: number | null;
  intervalMs: number | null;
  /** null: as it was. */
  askedBy: ProbeAsker | null;
}

type Intervals = Pick<StoreRules, 'probeMs' | 'probeMsMax'>;

/**
 * While it is blocked the probe comes again, later and later; only an answer or a change moves that on: null where it stays as
 * it is. One that may be read is asked at the time by which its customer is to act.
 */
export function nextProbe(
  observation: Observation,
  next: Pick<Transition, 'access' | 'changed'>,
  before: ProbeBefore,
  { nowMs, ...intervals }: Intervals & { nowMs: number },
): NextProbe | null {
  const { atMs, askedAtMs, dueAtMs } = before;
  if (next.access === 'active') {
    const isDue = askedAtMs === null && dueAtMs !== null;
    return { atMs: askedAtMs ?? dueAtMs, intervalMs: null, askedBy: isDue ? 'schedule' : null };
  }
  if (!next.changed && !isByAnswer(observation) && atMs !== null) return null;
  const intervalMs = next.changed ? intervals.probeMs : laterMs(intervals, before.intervalMs);
  const regularMs = nowMs + intervalMs;
  return askedAtMs !== null && askedAtMs <= regularMs
    ? { atMs: askedAtMs, intervalMs, askedBy: null }
    : { atMs: regularMs, intervalMs, askedBy: 'schedule' };
}

/** The time until the next probe doubles, up to its bound, until an answer says that it is active. */
export function laterMs({ probeMs, probeMsMax }: Intervals, intervalMs: number | null): number {
  return Math.min(probeMsMax, intervalMs === null ? probeMs : intervalMs * 2);
}
