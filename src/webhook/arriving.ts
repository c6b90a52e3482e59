/**
 * The room of bodies that are still arriving: a budget of its own, so that whoever begins a body and never ends it takes
 * nothing from a delivery that is whole. When it is full, those who make no progress give way. Knows nothing of HTTP.
 */
import type { Clock } from '../tools/clock';

export interface ArrivingBounds {
  /** Bytes that are set aside for all of them together. */
  bytesMax: number;
  /** Whoever needs longer for `progressBytes` gives way where room is needed. */
  progressWithinMs: number;
  progressBytes: number;
}

/** One body. */
export interface Arrival {
  /** Sets bytes aside, and ends slow ones for them; false, with nothing set aside, when even that is not enough. */
  hold(bytes: number): boolean;
  /** So many of its bytes came. */
  came(bytes: number): void;
  /** Frees what it holds; it may be called again. */
  leave(): void;
}

export interface Arriving {
  /** `end` is called at most once, when the arrival has to give way: its room is free by then. */
  begin(end: () => void): Arrival;
}

interface Holder {
  bytes: number;
  progressed: number;
  progressedAtMs: number;
  end(): void;
}

export function makeArriving(bounds: ArrivingBounds, clock: Clock): Arriving {
  const holders = new Set<Holder>();
  let bytesHeld = 0;

  function leave(holder: Holder): void {
    holders.delete(holder);
    bytesHeld -= holder.bytes;
    holder.bytes = 0;
  }

  /** Those that are held up, the longest first. A clock that was set back must not protect anybody. */
  function slowest(): Holder[] {
    const nowMs = clock.nowMs();
    return [...holders]
      .filter(({ progressedAtMs }) => Math.abs(nowMs - progressedAtMs) >= bounds.progressWithinMs)
      .sort((left, right) => left.progressedAtMs - right.progressedAtMs);
  }

  function makeRoom(bytes: number, asking: Holder): boolean {
    let missing = bytesHeld + bytes - bounds.bytesMax;
    if (missing <= 0) return true;
    const giving: Holder[] = [];
    for (const holder of slowest()) {
      if (missing <= 0) break;
      if (holder === asking) continue;
      giving.push(holder);
      missing -= holder.bytes;
    }
    // Nobody is ended for one that cannot be taken all the same.
    if (missing > 0) return false;
    for (const holder of giving) {
      leave(holder);
      holder.end();
    }
    return true;
  }

  return {
    begin(end) {
      const holder: Holder = { bytes: 0, progressed: 0, progressedAtMs: clock.nowMs(), end };
      return {
        hold(bytes) {
          if (!makeRoom(bytes, holder)) return false;
          holders.add(holder);
          holder.bytes += bytes;
          bytesHeld += bytes;
          return true;
        },
        came(bytes) {
          holder.progressed += bytes;
          if (holder.progressed < bounds.progressBytes) return;
          holder.progressed = 0;
          holder.progressedAtMs = clock.nowMs();
        },
        leave: () => leave(holder),
      };
    },
  };
}
