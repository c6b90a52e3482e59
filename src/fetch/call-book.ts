/**
 * Calls of a calendar month in UTC, counted for all processes together and across restarts: they are booked in the store in
 * blocks, before they are sent. Only the first of a process, and those that come faster than blocks are booked, wait for
 * the store; a process that dies has counted at most one block too many.
 */
import { monthOf } from '../model/sandbox';
import type { Syncs } from '../model/store';
import type { Clock } from '../tools/clock';

export interface CallBookDoors {
  store: Pick<Syncs, 'countCalls'>;
  /** A booking failed; it is made again with the next one. */
  failed(error: unknown): void;
  clock: Clock;
}

export interface CallBook {
  /** One call is about to be sent. null: it is booked; otherwise it is when this resolves, or the store is away. */
  called(): Promise<void> | null;
  /** Of this month, by all processes. */
  count(): { used: number; month: string };
  /** Reads what is booked by all. */
  look(): Promise<void>;
  /** Gives back what was booked and not used. */
  end(): Promise<void>;
}

/** So many calls are booked ahead; so many a crash may have counted too many. */
export const blockCalls = 50;
const bookAt = 20;

/** None of its promises rejects: a store that is away is told, and not waited for. */
export function makeCallBook({ store, clock, failed }: CallBookDoors): CallBook {
  let month = monthOf(clock.nowMs());
  /** Booked by all processes, this one's unused block included. */
  let booked = 0;
  /** Booked by this process and not used; negative: used and not booked yet. */
  let ahead = 0;
  let booking: Promise<void> | null = null;
  let isAway = false;

  /**
   * Only one at a time; what is used meanwhile is in the next. Of one that was under way when the month turned nothing
   * is known of the new month.
   */
  function book(calls: number): Promise<void> {
    const bookedOf = month;
    booking ??= store
      .countCalls(bookedOf, calls)
      .then((total) => {
        isAway = false;
        if (bookedOf !== month) return;
        booked = total;
        ahead += calls;
      })
      .catch((error) => {
        isAway = true;
        failed(error);
      })
      .finally(() => {
        booking = null;
      });
    return booking;
  }

  /** Until what is used is booked. Where the store is away it is booked with the next one. */
  async function catchUp(): Promise<void> {
    do await book(blockCalls - ahead);
    while (ahead < 0 && !isAway);
  }

  function turnMonth(): void {
    const today = monthOf(clock.nowMs());
    if (today === month) return;
    month = today;
    booked = 0;
    ahead = 0;
  }

  return {
    called() {
      turnMonth();
      ahead -= 1;
      if (ahead < 0) return catchUp();
      if (ahead < bookAt) void book(blockCalls - ahead);
      return null;
    },
    count() {
      turnMonth();
      return { used: Math.max(0, booked - ahead), month };
    },
    async look() {
      turnMonth();
      // One that is under way may be of the month before.
      await booking;
      await book(0);
    },
    async end() {
      await booking;
      if (ahead !== 0) await book(-ahead);
    },
  };
}
