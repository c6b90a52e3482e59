/**
 * How soon what fails is tried again before a person is told of it. Pure.
 */
import type { BackoffBounds } from '../tools/backoff';

/** So near to each other that what has healed by then is known as healed. */
const untoldMsMax = 2500;

/**
 * As given, but for pauses of at most 2,500 ms while what fails for `lastedMs` is not told yet. Bounds that begin above that are of
 * what somebody must change.
 */
export function boundsUntilTold(bounds: BackoffBounds, lastedMs: number, toldAfterMs: number): BackoffBounds {
  if (lastedMs >= toldAfterMs || bounds.baseMs > untoldMsMax) return bounds;
  return { ...bounds, maxMs: Math.min(bounds.maxMs, untoldMsMax) };
}
