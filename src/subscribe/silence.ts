/**
 * Whether a subscription has been silent for longer than its heartbeats were apart. Pure.
 */
import type { StoredWebhookSecret } from '../model/subscription';

/** Longer than this no subscription may be silent, however rarely its heartbeats came. */
const silenceMsMax = 86_400_000;
/** One may be lost, and the next may be late. */
const beats = 3;

export interface Silence {
  /** Since when it is silent for too long. */
  sinceMs: number;
  heardAtMs: number;
  beatMs: number | null;
}

/**
 * null while it is not. One that never sent a heartbeat is not expected to. `listeningSinceMs`: what came before could
 * not be heard.
 */
export function silenceOf(
  { heardAtMs, beatMs }: Pick<StoredWebhookSecret, 'heardAtMs' | 'beatMs'>,
  bounds: { silenceMsMin: number; listeningSinceMs: number; nowMs: number },
): Silence | null {
  if (heardAtMs === null) return null;
  const usualMs = beatMs === null ? silenceMsMax : beatMs * beats;
  const allowedMs = Math.min(Math.max(usualMs, bounds.silenceMsMin), silenceMsMax);
  const sinceMs = Math.max(heardAtMs, bounds.listeningSinceMs) + allowedMs;
  return bounds.nowMs < sinceMs ? null : { sinceMs, heardAtMs, beatMs };
}
