/**
 * Whether listings go on being left unread by sync after sync, and whether the client is refused any, as states that a person
 * should know: what changed there and was never announced is found by nothing else. How syncs stand is in the store, so each
 * process knows it; of a run that has not ended, who runs it.
 */

import type { Condition, ConditionName } from '../model/alert';
import { unnamedRefusal } from '../model/answer-words';
import type { Syncs } from '../model/store';
import type { ClientRefusal, UnreadListing } from '../model/sync';
import type { Clock } from '../tools/clock';
import { refusedIn } from './standing';
import type { Sync } from './sync';

export interface UnreadWatch {
  /** Asks the store. Throws what the store throws. */
  look(): Promise<void>;
  conditions(): Condition[];
}

/** One that a run or two did not read may have changed meanwhile, or been away for an hour. */
const runsMin = 3;
const namedMax = 3;
/** So many are known; there may be more. */
const refusedMax = 100;

/**
 * One state for all listings that 3 runs in a row left unread; the text names 3 of them. One for all that the client is refused,
 * which are none of the others, from the first refusal on; 100 of them are known at most.
 */
export function makeUnreadWatch(
  store: Pick<Syncs, 'syncStanding'>,
  sync: Pick<Sync, 'refused'>,
  clock: Pick<Clock, 'nowMs'>,
): UnreadWatch {
  let lasting: UnreadListing[] = [];
  let refused: ReadonlyMap<string, ClientRefusal> = new Map();
  let endedRun = 0;

  function stateOf(name: ConditionName, begunMs: number[], detail: () => string): Condition[] {
    // No later than now, also where the clock was set back since.
    return begunMs.length === 0
      ? []
      : [{ name, sinceMs: Math.min(clock.nowMs(), ...begunMs), detail: detail() }];
  }

  return {
    async look() {
      const standing = await store.syncStanding();
      // One that was left may be gone on with, and end, after those behind it.
      endedRun = Math.max(endedRun, standing?.run ?? 0);
      refused = refusedIn(standing);
      lasting = standing?.unread.filter((one) => one.runs >= runsMin && one.refused === undefined) ?? [];
    },
    conditions() {
      const own = sync.refused();
      const now = own !== null && own.run > endedRun ? own.listings : refused;
      const since = (those: Iterable<{ sinceMs: number }>) => [...those].map(({ sinceMs }) => sinceMs);
      return [
        ...stateOf('client-refused', since(now.values()), () => refusalOf(now)),
        ...stateOf('listings-unread', since(lasting), () => sentenceOf(lasting)),
      ];
    },
  };
}

/** Of at least one. */
function refusalOf(refused: ReadonlyMap<string, ClientRefusal>): string {
  const [[scope, { message }]] = [...refused] as [[string, ClientRefusal]];
  const known = `${refused.size < refusedMax ? '' : 'at least '}${refused.size - 1}`;
  const more = refused.size > 1 ? ` and ${known} more` : '';
  return `${scope}${more}: ${message ?? unnamedRefusal}`;
}

function sentenceOf(lasting: UnreadListing[]): string {
  const named = lasting
    .slice(0, namedMax)
    .map(({ scope, runs, detail }) => `${scope} (${runs} syncs in a row): ${detail}`);
  const more = lasting.length > namedMax ? `; and ${lasting.length - namedMax} more` : '';
  return `Not read to ${lasting.length === 1 ? 'its' : 'their'} end: ${named.join('; ')}${more}.`;
}
