/**
 * Every state of the platform that holds now and that the process, not the store, knows of: gathered from the parts
 * that know, named for the alerts.
 */
import type { ProcessWatch } from '../alert/process-watch';
import type { SandboxMeter } from '../fetch/sandbox-meter';
import type { ProviderHealth } from '../inbox/provider-health';
import type { Condition } from '../model/alert';
import type { Relay } from '../publish/relay';
import type { WatchedStore } from '../store/watch-store';
import type { Clock } from '../tools/clock';

export function conditionsOf(
  store: WatchedStore,
  health: ProviderHealth,
  relay: Relay,
  meter: SandboxMeter,
  watch: ProcessWatch,
  clock: Clock,
): () => Condition[] {
  return () => {
    const trouble = store.trouble();
    const ofStore: Condition[] = trouble === null ? [] : [{ name: 'store-unavailable', ...trouble }];
    return [
      ...ofStore,
      ...health.troubles(clock.nowMs()),
      ...relay.conditions(),
      ...meter.conditions(),
      ...watch.conditions(),
    ];
  };
}
