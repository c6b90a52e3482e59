/**
 * Finds out whether states of one cause began so many and so close together that they are one incident. Pure.
 */

export interface StormBounds {
  /** More than this many beginnings … */
  above: number;
  /** … within this time are a storm; a later one this close behind it belongs to it. */
  withinMs: number;
}

export interface Storm {
  sinceMs: number;
  /** Whatever began until then belongs to it. */
  untilMs: number;
}

/**
 * The storm among the times at which states began, or null. `openUntilMs` is where an open incident ended so far: it
 * stays one incident while any of its states lasts, so that a few that remain do not page one by one.
 */
export function findStorm(beganMs: number[], openUntilMs: number | null, bounds: StormBounds): Storm | null {
  const times = beganMs.toSorted((left, right) => left - right);
  let sinceMs: number | null = null;
  let untilMs = openUntilMs;
  times.forEach((time, index) => {
    const first = times[index - bounds.above];
    const crowded = first !== undefined && time - first <= bounds.withinMs;
    if (crowded) sinceMs ??= first;
    const follows = untilMs !== null && time > untilMs && time - untilMs <= bounds.withinMs;
    if (crowded || follows) untilMs = Math.max(untilMs ?? time, time);
  });
  const oldest = times[0];
  if (untilMs === null || oldest === undefined || oldest > untilMs) return null;
  return { sinceMs: sinceMs ?? oldest, untilMs };
}
