/**
 * The time between heartbeats, as learned from those that came. Pure; both stores use it.
 */

/**
 * `gapMs` since the one before. Follows the usual gap; one that is much longer was a silence, and moves it only by
 * doubling, so that an outage is no lesson; one that is much shorter was sent twice, and hardly moves it.
 */
export function learnBeat(beatMs: number | null, gapMs: number): number {
  if (beatMs === null) return Math.max(1, gapMs);
  if (gapMs > beatMs * 4) return beatMs * 2;
  if (gapMs < beatMs / 8) return Math.max(1, beatMs - Math.ceil(beatMs / 16));
  return Math.max(1, Math.round((beatMs * 3 + gapMs) / 4));
}
