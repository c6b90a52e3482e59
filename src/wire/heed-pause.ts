/**
 * The pause that the provider asked for, whichever process it asked and before whichever start: kept in the store, where
 * claiming looks at it anyway; heard of here, so that nothing else is asked meanwhile and on-call is told for how long.
 */
import type { ClientPause } from '../fetch/options';
import type { ProviderHealth } from '../inbox/provider-health';
import type { Store } from '../model/store';
import { type Clock, type Loop, makeLoop } from '../tools/clock';

const heedMs = 2000;

/** Throws what the store throws. */
export async function heedPause(
  { store }: { store: Pick<Store, 'readingPause'> },
  { health }: { health: Pick<ProviderHealth, 'pauseHeard'> },
  clock: Pick<Clock, 'nowMs'>,
): Promise<void> {
  const pause = await store.readingPause();
  health.pauseHeard(pause, clock.nowMs());
}

/** Heeds it again and again, for what follows nothing else of the store; not started. */
export function pauseLoop(
  doors: Parameters<typeof heedPause>[0],
  heard: Parameters<typeof heedPause>[1],
  clock: Clock,
): Loop {
  // A store that is away is told by whatever needs it.
  return makeLoop(
    () => heedPause(doors, heard, clock).then(() => heedMs),
    clock,
    () => {},
  );
}

/** As every call looks at it, from memory. */
export function clientPauseOf(
  health: () => Pick<ProviderHealth, 'coolDownMs' | 'rateLimited'>,
  clock: Pick<Clock, 'nowMs'>,
): ClientPause {
  return {
    leftMs: () => health().coolDownMs(clock.nowMs()),
    asked: (forMs) => health().rateLimited(forMs, clock.nowMs()),
  };
}
