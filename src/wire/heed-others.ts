/**
 * What other processes of the same store made due or decided is looked at without waiting for the next poll.
 */
import type { Store } from '../model/store';
import type { Pipeline } from '../pipeline';
import type { Loop } from '../tools/clock';

/** Wakes relay, work and probes when another process on the same store says that there is something for them. */
export function heedOthers(store: Store, { work, probes }: Pipeline, relay: Pick<Loop, 'wake'>): void {
  void store.heed((news) => {
    if (news === 'events') return relay.wake();
    work.wake();
    probes.wake();
  });
}
