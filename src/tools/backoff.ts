/**
 * Full jitter: a random time between zero and an exponentially growing bound, so that many failures spread out.
 */

export interface BackoffBounds {
  baseMs: number;
  maxMs: number;
}

/** Milliseconds to wait before attempt `attempts + 1`; `random` is in [0, 1). Never below 1, never above `maxMs`. */
export function backoffMs(
  attempts: number,
  bounds: BackoffBounds,
  random: () => number = Math.random,
): number {
  const bound = Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.min(attempts, 30));
  return Math.max(1, Math.floor(random() * bound));
}
