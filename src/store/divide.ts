/**
 * How a claim is divided among the lanes that are ready: the one that was served least goes first, and none gets more than
 * its share while others wait. Pure.
 */

export interface ReadyLane {
  /** Tasks taken from it and not yet given back. */
  inFlight: number;
  /** Half-open after a block: at most this many in flight; null for no such bound. */
  window: number | null;
}

/** How many each lane is granted, in the order given; lanes that get nothing are left out. */
export function divide<Lane extends ReadyLane>(
  ready: Lane[],
  limit: number,
  inFlight: number,
): { lane: Lane; limit: number }[] {
  const share = Math.max(1, Math.floor((inFlight + limit) / ready.length));
  const grants = new Map<Lane, { lane: Lane; limit: number }>();
  let left = limit;
  // First each lane up to its share; what is then left goes to whoever can use it.
  for (const bound of [share, Number.MAX_SAFE_INTEGER]) {
    for (const lane of ready) {
      const given = grants.get(lane)?.limit ?? 0;
      const room = Math.min(bound, lane.window ?? Number.MAX_SAFE_INTEGER) - lane.inFlight - given;
      const allowed = Math.min(left, room);
      if (allowed <= 0) continue;
      grants.set(lane, { lane, limit: given + allowed });
      left -= allowed;
    }
  }
  return [...grants.values()];
}
