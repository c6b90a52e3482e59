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

/** A full sync that ended and left something unread is begun again no sooner. */
const againMs = 60_000;

/** `mayList`: it is known what connections see, one is valid, and calls are left. */
export function makeBehindWatch(
  store: Pick<Store, 'behindSince' | 'readingOn'>,
  sync: Pick<Sync, 'begin' | 'view'>,
  mayList: () => boolean,
  clock: Pick<Clock, 'nowMs' | 'steadyMs'>,
): BehindWatch {
  let sinceMs: number | null = null;
  let begunAtMs = Number.NEGATIVE_INFINITY;
  const detail =
    'The topics held events that this store did not know of: it was restored, or is new. Their numbers are taken; ' +
    'a full sync publishes what differs.';
  return {
    conditions: () => (sinceMs === null ? [] : [{ name: 'store-behind-topics', sinceMs, detail }]),
    async look() {
      const lastMs = await store.behindSince();
      // No later than now, also where the clock was set back since.
      sinceMs = lastMs === null ? null : Math.min(sinceMs ?? lastMs, clock.nowMs());
      // What is still to be found would not be judged by a sync that begins now.
      if (sinceMs === null || !mayList() || sync.view().state === 'running' || (await store.readingOn()))
        return;
      if (clock.steadyMs() - begunAtMs < againMs) return;
      begunAtMs = clock.steadyMs();
      sync.begin({ organizationId: null, full: true });
    },
  };
}
