/**
 * Whether a subscription has been silent for longer than its heartbeats are apart. Pure.
 */
import type { StoredWebhookSecret } from '../model/subscription';

/** Longer than this no subscription may be silent, however rarely its heartbeats came. */
const silenceMsMax = 86_400_000;
/** One may be lost, and the next may be late. */
const beats = 3;

export interface Silence {
  /** Since when it is silent for too long. */
  sinceMs: number;
  /** null: it was never heard. */
  heardAtMs: number | null;
  beatMs: number | null;
}

export interface SilenceBounds {
  silenceMsMin: number;
  /** What came before could not be heard. */
  listeningSinceMs: number;
  /** Of the other subscriptions, which one whose own distance is not known yet is expected to keep; null: not known. */
  othersBeatMs: number | null;
  nowMs: number;
}

/**
 * null while it is not. One that was never heard is expected from the moment it was made. Nothing may be silent for
 * longer than a day.
 */
export function silenceOf(
  { heardAtMs, beatMs: own, madeAtMs }: Pick<StoredWebhookSecret, 'heardAtMs' | 'beatMs' | 'madeAtMs'>,
  { silenceMsMin, listeningSinceMs, othersBeatMs, nowMs }: SilenceBounds,
): Silence | null {
  const beatMs = own ?? othersBeatMs;
  const usualMs = beatMs === null ? silenceMsMax : beatMs * beats;
  const allowedMs = Math.min(Math.max(usualMs, silenceMsMin), silenceMsMax);
  const sinceMs = Math.max(heardAtMs ?? madeAtMs, listeningSinceMs) + allowedMs;
  return nowMs < sinceMs ? null : { sinceMs, heardAtMs, beatMs };
}
