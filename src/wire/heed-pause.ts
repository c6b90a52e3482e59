/**
 * The pause that the provider asked for, whichever process it asked and before whichever start: kept in the store, where
 * claiming looks at it anyway; heard of here, so that nothing else is asked meanwhile and on-call is told for how long.
 */
import type { ProviderHealth } from '../inbox/provider-health';
import type { Store } from '../model/store';
import type { Clock } from '../tools/clock';

/** Throws what the store throws. */
export async function heedPause(
  { store }: { store: Pick<Store, 'readingPause'> },
  { health }: { health: Pick<ProviderHealth, 'pauseHeard'> },
  clock: Pick<Clock, 'nowMs'>,
): Promise<void> {
  const pause = await store.readingPause();
  if (pause !== null) health.pauseHeard(pause, clock.nowMs());
}
