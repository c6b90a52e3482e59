/**
 * Fairness between organizations, in memory: a lane is the waiting work of one organization. The lane that was served
 * least goes first, and none gets more than its share while others wait. The tables stay the truth: a lane holds only a
 * lower bound of its earliest due time, and is built anew when the store opens; only how far it is open is kept.
 */

import { divide } from '../divide';

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
  /** Reads that succeeded since the window was last widened. */
  succeeded: number;
}

export interface Grant {
  lane: Lane;
  limit: number;
}

/** From when on a lane may be served, in milliseconds; null: not before something happens. */
export type OpenAt = (laneId: string) => number | null;

/** Writes a lane's window down; null: it has none any more. */
export type KeepWindow = (laneId: string, window: number | null) => void;

/** A drain that got this far goes on at full speed. */
const windowMax = 64;

/** Of those served equally, the one that waits longest; the order in which they came to be must not matter. */
function byTurn(left: Lane, right: Lane): number {
  return left.turn - right.turn || left.nextDueMs! - right.nextDueMs! || (left.id < right.id ? -1 : 1);
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #undo: (action: () => void) => void;
  readonly #keep: KeepWindow;
  #turn = 0;

  /** Every change tells `undo` how to take it back, exactly, and each of a window goes through `keep`. */
  constructor(undo: (action: () => void) => void, keep: KeepWindow) {
    this.#undo = undo;
    this.#keep = keep;
  }

  /** As wide as it was when the store was left; reads that succeeded since it was last widened count anew. */
  restore(id: string, window: number): void {
    this.lane(id).window = window;
  }

  /** Those in which something waits, as they are at this moment. */
  waiting(): string[] {
    return [...this.#lanes.values()].filter(({ nextDueMs }) => nextDueMs !== null).map(({ id }) => id);
  }

  lane(id: string): Lane {
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = { id, nextDueMs: null, inFlight: 0, turn: this.#turn, window: null, succeeded: 0 };
      this.#lanes.set(id, lane);
      this.#undo(() => this.#lanes.delete(id));
    }
    return lane;
  }

  /** Something in the lane falls due at `dueMs`. */
  expect(id: string, dueMs: number): void {
    const lane = this.lane(id);
    if (lane.nextDueMs !== null && lane.nextDueMs <= dueMs) return;
    this.#remember(lane);
    if (lane.nextDueMs === null) lane.turn = Math.max(lane.turn, this.#turn);
    lane.nextDueMs = dueMs;
  }

  /** After a block: one task at first, then two, then four. */
  narrow(id: string): void {
    const lane = this.lane(id);
    this.#remember(lane);
    lane.window = 1;
    lane.succeeded = 0;
    this.#keep(id, 1);
  }

  /** A read of the lane succeeded: after as many as the window lets through, it doubles. */
  widen(id: string): void {
    const lane = this.#lanes.get(id);
    if (lane === undefined || lane.window === null) return;
    this.#remember(lane);
    lane.succeeded += 1;
    if (lane.succeeded < lane.window) return;
    lane.succeeded = 0;
    lane.window = lane.window >= windowMax ? null : lane.window * 2;
    this.#keep(id, lane.window);
    this.#forgetEmpty(lane);
  }

  /** So many of its tasks were taken; of those that are left the earliest is due at `nextDueMs`. */
  served(lane: Lane, count: number, nextDueMs: number | null): void {
    this.#remember(lane);
    lane.turn += count;
    lane.inFlight += count;
    lane.nextDueMs = nextDueMs;
    this.#forgetEmpty(lane);
  }

  returned(id: string): void {
    const lane = this.#lanes.get(id);
    if (lane === undefined) return;
    this.#remember(lane);
    lane.inFlight = Math.max(0, lane.inFlight - 1);
    this.#forgetEmpty(lane);
  }

  #remember(lane: Lane): void {
    const before = { ...lane };
    this.#undo(() => {
      Object.assign(lane, before);
      this.#lanes.set(lane.id, lane);
    });
  }

  #forgetEmpty(lane: Lane): void {
    if (lane.nextDueMs === null && lane.inFlight === 0 && lane.window === null) this.#lanes.delete(lane.id);
  }

  /** Divides `limit` among the lanes that have something due and are open, least served first. */
  grants(limit: number, nowMs: number, openAt: OpenAt): Grant[] {
    const ready: Lane[] = [];
    let inFlight = 0;
    for (const lane of this.#lanes.values()) {
      inFlight += lane.inFlight;
      if (lane.nextDueMs === null || lane.nextDueMs > nowMs) continue;
      if (lane.window !== null && lane.inFlight >= lane.window) continue;
      const openAtMs = openAt(lane.id);
      if (openAtMs !== null && openAtMs <= nowMs) ready.push(lane);
    }
    if (ready.length === 0) return [];
    ready.sort(byTurn);
    this.#advance(ready[0]!.turn);
    return divide(ready, limit, inFlight);
  }

  #advance(turn: number): void {
    const before = this.#turn;
    if (turn <= before) return;
    this.#turn = turn;
    this.#undo(() => {
      this.#turn = before;
    });
  }

  /** The earliest time at which a lane may be served; null when none waits for time alone. */
  nextDueMs(openAt: OpenAt): number | null {
    let next: number | null = null;
    for (const lane of this.#lanes.values()) {
      if (lane.nextDueMs === null) continue;
      if (lane.window !== null && lane.inFlight >= lane.window) continue;
      const openAtMs = openAt(lane.id);
      if (openAtMs === null) continue;
      const dueMs = Math.max(lane.nextDueMs, openAtMs);
      if (next === null || dueMs < next) next = dueMs;
    }
    return next;
  }
}
