// The order of all changes to the world, and a place in that order: what "changed since then" means.
// Promises that a place taken after a change lies behind it, also within one millisecond.

export interface Mark {
  /** The number of the last change before it. */
  sequence: number;
  atMs: number;
}

export class Changes {
  #sequence = 0;

  get sequence(): number {
    return this.#sequence;
  }

  /** The number of a new change. */
  next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }
}

/** True where a change came, or came into sight, after the mark. A change that lags counts when it is seen. */
export function isSince(mark: Mark, change: { sequence: number; visibleAtMs: number }): boolean {
  return change.sequence > mark.sequence || change.visibleAtMs > mark.atMs;
}
