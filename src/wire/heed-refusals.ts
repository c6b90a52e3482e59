/**
 * That what waited since the client key was refused was made due, by whichever process: what is still refused is seen again
 * by whoever reads it, so that what this process remembers from before says nothing any more. The same of listings, for which
 * a sync asks, in one process at a time.
 */
import type { ProviderHealth } from '../inbox/provider-health';
import type { Store } from '../model/store';
import { organizationOf } from '../sync/standing';
import type { Clock } from '../tools/clock';

/** Throws what the store throws. */
export async function heedRefusals(
  { store }: { store: Pick<Store, 'refusedHastenedAgoMs' | 'lastRun' | 'syncStanding'> },
  { health }: { health: Pick<ProviderHealth, 'refusedHastened' | 'refusalsAwaitSync' | 'refusalsSynced'> },
  clock: Pick<Clock, 'nowMs'>,
): Promise<void> {
  const agoMs = await store.refusedHastenedAgoMs();
  if (agoMs !== null) health.refusedHastened(clock.nowMs() - agoMs);
  if (!health.refusalsAwaitSync()) return;
  // Read before: a store that answers late would make the run seem younger than what was refused in it.
  const nowMs = clock.nowMs();
  const last = await store.lastRun();
  if (!last?.ended || last.organizationId !== null) return;
  const unread = ((await store.syncStanding())?.unread ?? []).map(({ scope }) => organizationOf(scope));
  health.refusalsSynced(nowMs - last.agoMs, new Set(unread));
}
