/**
 * What is whole and waits for the store. Bounded, so that a stalled store costs a fixed amount of memory; and timed, so
 * that whoever waits is told in time. Knows nothing of HTTP.
 */
import type { Clock } from '../tools/clock';

export interface InFlightBounds {
  bytesMax: number;
  deliveriesMax: number;
  /** Whoever waits is told late within this time of `enter`. */
  answerWithinMs: number;
}

/** Somebody who waits for the store; `late` is called at most once, unless `leave` came first. */
export interface Waiting {
  bytes: number;
  late(): void;
}

export interface InFlight {
  /** True while a delivery of so many bytes could enter: its body may begin to arrive. */
  hasRoom(bytes: number): boolean;
  /** False when there is no room; then nothing was counted. */
  enter(waiting: Waiting): boolean;
  /** The store has answered, in time or not: its bytes are free again. */
  leave(waiting: Waiting): void;
  /** Tells all who wait, and all who come after, at once. */
  stop(): void;
}

/** Those who came within one fortieth of the time share a timer, so that a busy server has few of them. */
const sharesPerDeadline = 40;

export function makeInFlight(bounds: InFlightBounds, clock: Clock): InFlight {
  const stopping = new AbortController();
  const spreadMs = bounds.answerWithinMs / sharesPerDeadline;
  // A quarter is kept for waking up on a machine that others keep busy, for writing the answers of all who wait, and for
  // the way there and back, which is the sender’s time too.
  const tellAfterMs = bounds.answerWithinMs * 0.75;
  let bytesHeld = 0;
  let deliveries = 0;
  let group = new Set<Waiting>();
  let groupSinceMs = Number.NEGATIVE_INFINITY;
  const groupOf = new WeakMap<Waiting, Set<Waiting>>();

  function currentGroup(): Set<Waiting> {
    const ageMs = clock.nowMs() - groupSinceMs;
    // A clock that was set back must not keep a group open.
    if (ageMs >= 0 && ageMs < spreadMs) return group;
    const opened = new Set<Waiting>();
    group = opened;
    groupSinceMs = clock.nowMs();
    void clock.wait(tellAfterMs, stopping.signal).then(() => {
      if (group === opened) groupSinceMs = Number.NEGATIVE_INFINITY;
      for (const waiting of opened) waiting.late();
      opened.clear();
    });
    return opened;
  }

  const hasRoom = (bytes: number) =>
    deliveries < bounds.deliveriesMax && bytesHeld + bytes <= bounds.bytesMax;

  return {
    hasRoom,
    enter(waiting) {
      if (!hasRoom(waiting.bytes)) return false;
      deliveries += 1;
      bytesHeld += waiting.bytes;
      const joined = currentGroup();
      joined.add(waiting);
      groupOf.set(waiting, joined);
      return true;
    },
    leave(waiting) {
      const joined = groupOf.get(waiting);
      if (joined === undefined) return;
      groupOf.delete(waiting);
      joined.delete(waiting);
      deliveries -= 1;
      bytesHeld -= waiting.bytes;
    },
    stop: () => stopping.abort(),
  };
}
