/**
 * Since when deliveries are listened to without a break, over restarts and over several processes. Pure; both stores keep
 * what was noted in two rows of `meta`.
 */

/** What was noted so far. */
export interface Listened {
  sinceMs: number;
  untilMs: number;
}

export const listeningNames = { sinceMs: 'listening-since', untilMs: 'listening-until' } as const;

/** Somebody has listened from `fromMs` until now: what was noted goes on unless it ended more than `lapseMs` before. */
export function listenedSince(noted: Listened | null, fromMs: number, lapseMs: number): number {
  if (noted === null || fromMs - noted.untilMs > lapseMs) return fromMs;
  return Math.min(noted.sinceMs, fromMs);
}

/** null: not both were noted yet. */
export function listenedOf(rows: { name?: unknown; value?: unknown }[]): Listened | null {
  const values = new Map(rows.map(({ name, value }) => [name, Number(value)]));
  const sinceMs = values.get(listeningNames.sinceMs);
  const untilMs = values.get(listeningNames.untilMs);
  return sinceMs === undefined || untilMs === undefined ? null : { sinceMs, untilMs };
}
