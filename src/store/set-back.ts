/**
 * What becomes of waits when the store's clock was set back. One that began later than now begins anew, as long as it was;
 * what is due is due; and where it is not known when a wait began it reaches no further than the longest of its kind. Each
 * store looks for them with its retention, and only where its clock stands before what it was when that looked last, or
 * before what a transaction of this process saw since.
 */

/** Where a store keeps what its clock was then. */
export const clockName = 'clock';

/** The furthest time that a transaction of this process had since it was opened, or since waits came nearer. */
export interface Seen {
  furthestMs: number;
}

/** Transactions side by side end in another order than they began in, and clocks are put right by little. */
export const besideMs = 10_000;

/** `notedMs` is what retention noted, null where it never did. */
export function isSetBack(nowMs: number, notedMs: number | null, { furthestMs }: Seen): boolean {
  return (notedMs !== null && notedMs > nowMs) || furthestMs > nowMs + besideMs;
}

/** So many tasks come nearer in one step. */
export const nearerMax = 5000;

/** Claims of an organization wait at most so long for the answer of a probe that a refusal asked for. */
export const heldMsMax = 30_000;

/** No named lease is longer, and nothing that one process tells the others holds for longer. */
export function holdMsMax(leaseMs: number): number {
  return 4 * leaseMs;
}
