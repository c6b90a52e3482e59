/**
 * Every state of the platform that holds now and that the process, not the store, knows of: gathered from the parts
 * that know, named for the alerts.
 */
import type { ProviderHealth } from '../inbox/provider-health';
import type { Condition, ConditionName } from '../model/alert';
import type { WatchedStore } from '../store/watch-store';
import type { Clock } from '../tools/clock';

export interface Knowing {
  store: WatchedStore;
  health: ProviderHealth;
  /** Further parts that know of states. */
  others: { conditions(): Condition[]; settled?(): ConditionName[] }[];
}

/** All that this process knows to be wrong now, read anew each time it is asked. Never throws. */
export function conditionsOf({ store, health, others }: Knowing, clock: Clock): () => Condition[] {
  return () => {
    const trouble = store.trouble();
    const ofStore: Condition[] = trouble === null ? [] : [{ name: 'store-unavailable', ...trouble }];
    const ofOthers = others.flatMap((part) => part.conditions());
    return [...ofStore, ...health.troubles(clock.nowMs()), ...ofOthers];
  };
}

/** Of which states it is known already whether they hold, by parts that can say so. Never throws. */
export function settledOf({ others }: Pick<Knowing, 'others'>): () => ConditionName[] {
  return () => others.flatMap((part) => part.settled?.() ?? []);
}
