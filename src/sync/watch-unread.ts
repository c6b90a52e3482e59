/**
 * Whether listings go on being left unread by sync after sync, as a state that a person should know: what changed there and
 * was never announced is found by nothing else. How syncs stand is in the store, so each process knows it.
 */
import type { Condition } from '../model/alert';
import type { Syncs } from '../model/store';
import type { UnreadListing } from '../model/sync';
import type { Clock } from '../tools/clock';

export interface UnreadWatch {
  /** Asks the store. Throws what the store throws. */
  look(): Promise<void>;
  conditions(): Condition[];
}

/** One that a run or two did not read may have changed meanwhile, or been away for an hour. */
const runsMin = 3;
const namedMax = 3;

/** One state for all listings that 3 runs in a row left unread; the text names 3 of them. */
export function makeUnreadWatch(
  store: Pick<Syncs, 'syncStanding'>,
  clock: Pick<Clock, 'nowMs'>,
): UnreadWatch {
  let lasting: UnreadListing[] = [];
  return {
    async look() {
      const standing = await store.syncStanding();
      lasting = standing?.unread.filter(({ runs }) => runs >= runsMin) ?? [];
    },
    conditions() {
      if (lasting.length === 0) return [];
      // No later than now, also where the clock was set back since.
      const sinceMs = Math.min(clock.nowMs(), ...lasting.map((one) => one.sinceMs));
      return [{ name: 'listings-unread', sinceMs, detail: sentenceOf(lasting) }];
    },
  };
}

function sentenceOf(lasting: UnreadListing[]): string {
  const named = lasting
    .slice(0, namedMax)
    .map(({ scope, runs, detail }) => `${scope} (${runs} syncs in a row): ${detail}`);
  const more = lasting.length > namedMax ? `; and ${lasting.length - namedMax} more` : '';
  return `Not read to ${lasting.length === 1 ? 'its' : 'their'} end: ${named.join('; ')}${more}.`;
}
