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

/** Any 60 seconds see at most `perMinute`: some at once where none began for a while, the others evenly. */
export function probeBudgetOf(perMinute: number): ProbeBudget {
  const atOnce = Math.max(1, Math.floor(perMinute / atOncePart));
  const eachMicros = Math.ceil(minuteMicros / (perMinute - atOnce + 1));
  // A clock that was set back must not close the budget for as long.
  const paid = (paidUntilMicros: number, nowMicros: number) =>
    Math.min(Math.max(paidUntilMicros, nowMicros), nowMicros + atOnce * eachMicros);
  return {
    free(paidUntilMicros, nowMs) {
      const nowMicros = nowMs * 1000;
      return Math.floor((nowMicros + atOnce * eachMicros - paid(paidUntilMicros, nowMicros)) / eachMicros);
    },
    freeAtMs(paidUntilMicros, nowMs) {
      const nowMicros = nowMs * 1000;
      const waitMicros = paid(paidUntilMicros, nowMicros) - (atOnce - 1) * eachMicros - nowMicros;
      return nowMs + Math.ceil(Math.max(0, waitMicros) / 1000);
    },
    spend: (paidUntilMicros, nowMs, count) => paid(paidUntilMicros, nowMs * 1000) + count * eachMicros,
  };
}
