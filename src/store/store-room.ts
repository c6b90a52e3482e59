/**
 * Whether the store has room for another delivery, where its size is bounded. It is measured now and then, and what was
 * accepted since is added: a store that has grown to its bound takes no more until something was swept, or the bound raised.
 */
import type { Condition } from '../model/alert';
import type { Inspection } from '../model/inspection';
import { Problem } from '../model/problem';
import type { Clock } from '../tools/clock';

export interface StoreRoom {
  /** Resolves when so many bytes may come: the last may reach beyond. Throws `store.unavailable`, what the store throws. */
  admit(bytes: number): Promise<void>;
  /** Measures the store, for the state that a person should know. Throws what the store throws. */
  look(): Promise<void>;
  conditions(): Condition[];
}

/** A measure is trusted for so long; a shorter time where what came since may have filled the rest. */
const trustedMs = 1000;
const trustedNearMs = 100;

/** Neither the disk nor the database is to blame. */
const raiseIt =
  'Raise STORE_BYTES_MAX, or lower JOURNAL_DAYS, EVENT_DAYS or EVENT_BYTES_MAX, and start again: `tramline config` shows them.';

/** `bytesMax` null: there is no bound, and nothing is measured. */
export function makeStoreRoom(
  store: Pick<Inspection, 'storeBytes'>,
  bytesMax: number | null,
  clock: Clock,
): StoreRoom {
  const bound = bytesMax ?? Number.POSITIVE_INFINITY;
  let measured = { bytes: 0, atMs: Number.NEGATIVE_INFINITY };
  let accepted = 0;
  let fullSinceMs: number | null = null;
  let measuring: Promise<void> | null = null;

  async function measure(): Promise<void> {
    const bytes = await store.storeBytes();
    measured = { bytes, atMs: clock.steadyMs() };
    accepted = 0;
    fullSinceMs = bytes < bound ? null : (fullSinceMs ?? clock.nowMs());
  }

  /** One at a time, whoever asks. */
  function look(): Promise<void> {
    if (bytesMax === null) return Promise.resolve();
    measuring ??= measure().finally(() => {
      measuring = null;
    });
    return measuring;
  }

  return {
    look,
    async admit(bytes) {
      if (bytesMax === null) return;
      const ageMs = clock.steadyMs() - measured.atMs;
      const seemsFull = () => measured.bytes + accepted >= bound;
      if (ageMs >= trustedMs || (seemsFull() && ageMs >= trustedNearMs)) await look();
      if (seemsFull())
        throw new Problem('store.unavailable', 'the store is as large as STORE_BYTES_MAX allows');
      accepted += bytes;
    },
    conditions() {
      if (fullSinceMs === null) return [];
      const detail = `The store holds ${measured.bytes} bytes, and STORE_BYTES_MAX allows ${bound}: deliveries are answered 503.`;
      return [{ name: 'store-unavailable', sinceMs: fullSinceMs, detail, firstStep: raiseIt }];
    },
  };
}
