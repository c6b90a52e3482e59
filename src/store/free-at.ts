/**
 * When a resource may be read again: not before the gap after its last read is over. Pure.
 */

/** A time of reading that is ahead of now is one from before the clock was set back: it holds nothing up for longer. */
export function freeAtMs(readAtMs: number | null, nowMs: number, gapMs: number): number {
  return readAtMs === null ? nowMs : Math.min(readAtMs, nowMs) + gapMs;
}
