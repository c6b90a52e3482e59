/**
 * The budget of calls for probes that all processes of a store share: how many may be made now, and what is left after
 * some were. A probe that is taken has its first call paid; it pays for each further one before it makes it, and
 * gives the first one back where it asked nobody anything.
 * Pure: each store keeps one number, until when the budget is spent, and reads and writes it with the probes it gives out.
 */

/** Where a store keeps that number among its others. */
export const probeBudgetName = 'probes-paid-until';

export interface ProbeBudget {
  /** Calls that may be made now. */
  free(paidUntilMicros: number, nowMs: number): number;
  /** When the next one may, in milliseconds; not before `nowMs`. */
  freeAtMs(paidUntilMicros: number, nowMs: number): number;
  /** Until when it is spent once `count` are made now, in whole microseconds; below 0: so many that were paid are not made. */
  spend(paidUntilMicros: number, nowMs: number, count: number): number;
}

/**
 * What a budget that was not used for a while gives at once: this part of a minute's. So much of it stays unused where it
 * is spent without a pause, since a minute that begins after a rest must not see more either.
 */
const atOncePart = 20;
const minuteMicros = 60_000_000;

/** A transaction that waited for the budget is so much behind the one that it waited for, at most. */
const lateMicros = 10_000_000;

/**
 * Any 60 seconds see at most `perMinute`: some at once where none began for a while, the others evenly. What is spent
 * further ahead than the budget reaches was spent before the clock was set back: it is as one that was not used for a while.
 */
export function probeBudgetOf(perMinute: number): ProbeBudget {
  const atOnce = Math.max(1, Math.floor(perMinute / atOncePart));
  const eachMicros = Math.ceil(minuteMicros / (perMinute - atOnce + 1));
  const atOnceMicros = atOnce * eachMicros;
  // Who waited for its turn has an earlier time than who was before it; a call that is made anyway is paid in advance.
  const furthestMicros = atOnceMicros + eachMicros + lateMicros;
  const paid = (paidUntilMicros: number, nowMicros: number) =>
    paidUntilMicros > nowMicros + furthestMicros ? nowMicros : Math.max(paidUntilMicros, nowMicros);
  return {
    free(paidUntilMicros, nowMs) {
      const nowMicros = nowMs * 1000;
      const leftMicros = nowMicros + atOnceMicros - paid(paidUntilMicros, nowMicros);
      return Math.max(0, Math.floor(leftMicros / eachMicros));
    },
    freeAtMs(paidUntilMicros, nowMs) {
      const nowMicros = nowMs * 1000;
      const waitMicros = paid(paidUntilMicros, nowMicros) - (atOnce - 1) * eachMicros - nowMicros;
      return nowMs + Math.ceil(Math.max(0, waitMicros) / 1000);
    },
    spend(paidUntilMicros, nowMs, count) {
      const nowMicros = nowMs * 1000;
      const before = paid(paidUntilMicros, nowMicros);
      // So that calls that are made anyway never look like a clock that was set back.
      return Math.min(before + count * eachMicros, Math.max(before, nowMicros + atOnceMicros + eachMicros));
    },
  };
}
