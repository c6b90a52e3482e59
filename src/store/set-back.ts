/**
 * What becomes of waits when the store's clock was set back. One that began later than now begins anew, as long as it was;
 * what is due is due; and where it is not known when a wait began it reaches no further than the longest of its kind. Each
 * store looks for them with its retention, and only where its clock stands before what it was when that looked last.
 */

/** Where a store keeps what its clock was then. */
export const clockName = 'clock';

/** So many tasks come nearer in one step. */
export const nearerMax = 5000;

/** Claims of an organization wait at most so long for the answer of a probe that a refusal asked for. */
export const heldMsMax = 30_000;

/** No named lease is longer, and nothing that one process tells the others holds for longer. */
export function holdMsMax(leaseMs: number): number {
  return 4 * leaseMs;
}
