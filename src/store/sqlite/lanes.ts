/**
 * Fairness between organizations, in memory: a lane is the waiting work of one organization. The lane that was served
 * least goes first, and none gets more than its share while others wait. The tables stay the truth: a lane holds only a
 * lower bound of its earliest due time, and is built anew when the store opens.
 */

export interface Lane {
  id: string;
  /** Nothing in the lane is due before; null when nothing waits. */
  nextDueMs: number | null;
  /** Tasks taken from it and not yet given back. */
  inFlight: number;
  /** Virtual time: rises with each task served. */
  turn: number;
  /** Half-open after a block: at most this many in flight; null for no such bound. */
  window: number | null;
}

export interface Grant {
  lane: Lane;
  limit: number;
}

/** A drain that got this far goes on at full speed. */
const windowMax = 64;

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  #turn = 0;

  lane(id: string): Lane {
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = { id, nextDueMs: null, inFlight: 0, turn: this.#turn, window: null };
      this.#lanes.set(id, lane);
    }
    return lane;
  }

  /** Something in the lane falls due at `dueMs`. */
  expect(id: string, dueMs: number): void {
    const lane = this.lane(id);
    if (lane.nextDueMs === null) {
      lane.turn = Math.max(lane.turn, this.#turn);
      lane.nextDueMs = dueMs;
    } else if (dueMs < lane.nextDueMs) lane.nextDueMs = dueMs;
  }

  /** After a block: one task at first, then two, then four. */
  narrow(id: string): void {
    this.lane(id).window = 1;
  }

  /** A read of the lane succeeded. */
  widen(id: string): void {
    const lane = this.#lanes.get(id);
    if (lane === undefined || lane.window === null) return;
    lane.window = lane.window >= windowMax ? null : lane.window * 2;
  }

  served(lane: Lane, count: number): void {
    lane.turn += count;
    lane.inFlight += count;
  }

  returned(id: string): void {
    const lane = this.#lanes.get(id);
    if (lane === undefined) return;
    lane.inFlight = Math.max(0, lane.inFlight - 1);
    if (lane.nextDueMs === null && lane.inFlight === 0 && lane.window === null) this.#lanes.delete(id);
  }

  /**
   * Divides `limit` among the lanes that have something due, least served first. `open` says whether the lane's
   * organization may be read.
   */
  grants(limit: number, nowMs: number, open: (laneId: string) => boolean): Grant[] {
    const ready: Lane[] = [];
    let inFlight = 0;
    for (const lane of this.#lanes.values()) {
      inFlight += lane.inFlight;
      if (lane.nextDueMs === null || lane.nextDueMs > nowMs) continue;
      if (lane.window !== null && lane.inFlight >= lane.window) continue;
      if (open(lane.id)) ready.push(lane);
    }
    if (ready.length === 0) return [];
    ready.sort((left, right) => left.turn - right.turn);
    this.#turn = Math.max(this.#turn, ready[0]!.turn);
    const share = Math.max(1, Math.floor((inFlight + limit) / ready.length));
    const grants = new Map<Lane, Grant>();
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

  /** The earliest due time of any lane whose organization may be read; null when nothing waits. */
  nextDueMs(open: (laneId: string) => boolean): number | null {
    let next: number | null = null;
    for (const lane of this.#lanes.values()) {
      if (lane.nextDueMs === null || !open(lane.id)) continue;
      if (lane.window !== null && lane.inFlight >= lane.window) continue;
      if (next === null || lane.nextDueMs < next) next = lane.nextDueMs;
    }
    return next;
  }
}
