/**
 * That what waited since the client key was refused was made due, by whichever process: what is still refused is seen again
 * by whoever reads it, so that what this process remembers from before says nothing any more.
 */
import type { ProviderHealth } from '../inbox/provider-health';
import type { Store } from '../model/store';
import type { Clock } from '../tools/clock';

/** Throws what the store throws. */
export async function heedRefusals(
  { store }: { store: Pick<Store, 'refusedHastenedAgoMs'> },
  { health }: { health: Pick<ProviderHealth, 'refusedHastened'> },
  clock: Pick<Clock, 'nowMs'>,
): Promise<void> {
  const agoMs = await store.refusedHastenedAgoMs();
  if (agoMs !== null) health.refusedHastened(clock.nowMs() - agoMs);
}
