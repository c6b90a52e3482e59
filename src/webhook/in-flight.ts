/**
 * What is whole and waits for the store. Bounded, so that a stalled store costs a fixed amount of memory; and timed, so
 * that whoever waits is told in time. Knows nothing of HTTP.
 */
import type { Clock } from '../tools/clock';

export interface InFlightBounds {
  bytesMax: number;
  deliveriesMax: number;
  /** Whoever waits is told late within this time, what it waited before `enter` included. */
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
  /** False when there is no room; then nothing was counted. `waitedMs`: how long it may have waited already. */
  enter(waiting: Waiting, waitedMs?: number): boolean;
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
  /** By the time since which they wait, in steps. */
  const groups = new Map<number, Set<Waiting>>();
  const groupOf = new WeakMap<Waiting, Set<Waiting>>();

  function groupSince(waitedMs: number): Set<Waiting> {
    const step = Math.floor((clock.steadyMs() - waitedMs) / spreadMs);
    const known = groups.get(step);
    if (known !== undefined) return known;
    const opened = new Set<Waiting>();
    groups.set(step, opened);
    void clock.wait(tellAfterMs - waitedMs, stopping.signal).then(() => {
      groups.delete(step);
      for (const waiting of opened) waiting.late();
      opened.clear();
    });
    return opened;
  }

  const hasRoom = (bytes: number) =>
    deliveries < bounds.deliveriesMax && bytesHeld + bytes <= bounds.bytesMax;

  return {
    hasRoom,
    enter(waiting, waitedMs = 0) {
      if (!hasRoom(waiting.bytes)) return false;
      deliveries += 1;
      bytesHeld += waiting.bytes;
      const joined = groupSince(waitedMs);
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
