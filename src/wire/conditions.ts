/**
 * Every state of the platform that holds now and that the process, not the store, knows of: gathered from the parts
 * that know, named for the alerts.
 */
import type { IsOver, IsSettled } from '../alert/relearning';
import type { ConnectionBook } from '../connect/connection-book';
import type { ProviderHealth } from '../inbox/provider-health';
import type { Condition, ConditionName } from '../model/alert';
import type { WatchedStore } from '../store/watch-store';
import type { Clock } from '../tools/clock';

export interface Knowing {
  store: WatchedStore;
  health: ProviderHealth;
  /** Further parts that know of states. */
  others: { conditions(): Condition[]; settled?(): ConditionName[]; isOver?: IsOver }[];
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

/**
 * Whether it is known already that states of a name hold, or that none does, by parts that can say so. A listing tells of
 * what it was shown, hours ago perhaps: what was found since by another process is known when another listing has ended.
 * One is asked for where nobody tells of the name: a page that stands for nothing waits for it. Never throws.
 */
export function isSettledBy(
  { others }: Pick<Knowing, 'others'>,
  { learnedSince }: Pick<ConnectionBook, 'learnedSince'>,
): IsSettled {
  return (name, sinceMs, isTold) =>
    others.some((part) => part.settled?.().includes(name)) &&
    (name !== 'organizations-unlisted' || learnedSince(sinceMs, !isTold) === null);
}

/** Whether a part of this process knows of that very state that it is over. Never throws. */
export function isOverBy({ others }: Pick<Knowing, 'others'>): IsOver {
  return (name, labels) => others.some((part) => part.isOver?.(name, labels));
}
