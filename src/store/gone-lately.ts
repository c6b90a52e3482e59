/**
 * Many resources of one organization that vanish within an hour are a fault until an operator says otherwise. The share
 * is of those that were there before the twenty-first went: they are counted once, since counting is slow.
 */

/** Of the organization's resources, at least so many may go at once before it is not believed. */
export const goneAtOnceMin = 20;
const goneWindowMs = 3_600_000;

/** Those of the last hour; what went at a time to come, before the clock was set back, went now. */
export function goneLately(goneAtMs: readonly number[], nowMs: number): number[] {
  return goneAtMs.filter((atMs) => atMs > nowMs - goneWindowMs).map((atMs) => Math.min(atMs, nowMs));
}

/** `presentBefore`: how many it had when many of them began to go; null while few did. */
export function isTooMany(
  lately: readonly number[],
  presentBefore: number | null,
  shareMax: number,
): boolean {
  return lately.length >= Math.max(goneAtOnceMin, (presentBefore ?? 0) * shareMax);
}
