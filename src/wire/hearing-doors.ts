/**
 * What a listing tells of the provider as a whole, whoever asked for it: what waited for that is made due in the store, and
 * looked at here without waiting for the next poll.
 */
import type { HearingDoors } from '../inbox/hear-listing';
import type { Store } from '../model/store';
import type { Pipeline } from '../pipeline';
import type { Clock } from '../tools/clock';

/** `failed` hears what the store throws. */
export function hearingDoors(
  store: Pick<Store, 'hasten' | 'hastenRefused'>,
  { health, work }: Pick<Pipeline, 'health' | 'work'>,
  failed: (error: unknown) => void,
  clock: Pick<Clock, 'nowMs'>,
): HearingDoors {
  return {
    health,
    nowMs: clock.nowMs,
    outageEnded: () => void store.hasten().then(work.wake, failed),
    clientServed: () => void store.hastenRefused(null).then(work.wake, failed),
  };
}
