/**
 * A store that was found behind its topics: an alert for as long as it lasts, and the full sync that ends it. Which
 * process found it does not matter; each looks, and one of them syncs.
 */
import type { Condition } from '../model/alert';
import type { Store } from '../model/store';
import type { Sync } from '../sync/sync';
import type { Clock } from '../tools/clock';

export interface BehindWatch {
  conditions(): Condition[];
  /** Asks the store, and begins the sync where none is under way. Throws what the store throws. */
  look(): Promise<void>;
}

/** After a full sync that ended and left something unread; twice as long after each further one, up to an hour. */
const pauseMs = 60_000;
const pauseMsMax = 3_600_000;

/** Pauses between syncs for at most 1 hour. `mayList`: it is known what connections see, one is valid, and calls are left. */
export function makeBehindWatch(
  store: Pick<Store, 'behindSince' | 'readingOn' | 'lastRun'>,
  sync: Pick<Sync, 'begin' | 'view'>,
  mayList: () => boolean,
  clock: Pick<Clock, 'nowMs' | 'steadyMs'>,
): BehindWatch {
  let sinceMs: number | null = null;
  let foundAtMs: number | null = null;
  /** Full syncs that ended since it was found and did not end it, whichever process began them, and the last that ended. */
  let inVain: { count: number; run: number } | null = null;
  /** When one was begun here, or was seen to have ended. */
  let lastAtMs = Number.NEGATIVE_INFINITY;
  const detail =
    'The topics held events that this store did not know of: it was restored, or is new. Their numbers are taken; ' +
    'a full sync publishes what differs.';
  async function pauseNow(): Promise<number> {
    const run = (await store.lastRun())?.endedFull ?? 0;
    inVain ??= { count: 0, run };
    if (run !== inVain.run) {
      lastAtMs = clock.steadyMs();
      inVain = { count: inVain.count + 1, run };
    }
    return Math.min(pauseMsMax, pauseMs * 2 ** Math.max(0, inVain.count - 1));
  }
  return {
    conditions: () => (sinceMs === null ? [] : [{ name: 'store-behind-topics', sinceMs, detail }]),
    async look() {
      const lastMs = await store.behindSince();
      if (lastMs !== foundAtMs) inVain = null;
      foundAtMs = lastMs;
      // No later than now, also where the clock was set back since.
      sinceMs = lastMs === null ? null : Math.min(sinceMs ?? lastMs, clock.nowMs());
      // What is still to be found would not be judged by a sync that begins now.
      if (sinceMs === null || !mayList() || (await store.readingOn()) || sync.view().state === 'running')
        return;
      const waitMs = await pauseNow();
      // One that is due by itself may have begun since it was asked.
      if (clock.steadyMs() - lastAtMs < waitMs || sync.view().state === 'running') return;
      sync.begin({ organizationId: null, full: true });
      lastAtMs = clock.steadyMs();
    },
  };
}
