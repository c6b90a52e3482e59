// An organization that must accept terms, blocked for a third of the run while everything goes on being broken; then nothing
// is broken until on-call sees it, and every other that is blocked by then. Whether they were told of, the checker decides.
import { until } from '../support/until';
import { pageOf } from './check-pages';
import type { Load } from './load';
import type { OnCall } from './on-call';

export type HeldBlock = {
  /** To be called while nothing is broken, with the share in [0, 1] of the run that is over. */
  look(share: number): Promise<void>;
  /** While it lasts. */
  isOpen(): boolean;
  /** The longest time that on-call took to see what was blocked, in milliseconds. */
  longestMs(): number;
};

const opensAt = 0.3;
const closesAt = 0.6;

export function makeHeldBlock(load: Load, onCall: Pick<OnCall, 'open'>, patienceMs: number): HeldBlock {
  let state: 'to come' | 'open' | 'over' = 'to come';
  let longestMs = 0;

  /** Waits no longer than it may, whatever is seen. */
  async function waitForPages(): Promise<void> {
    const sinceMs = Date.now();
    load.keepTerms(true);
    const due = load.blocks.filter(({ toMs }) => toMs === null);
    const isSeen = () =>
      due.every((block) => onCall.open().filter((page) => page === pageOf(block)).length === 1);
    await until(isSeen, { withinMs: patienceMs, everyMs: 50 }).catch(() => {});
    longestMs = Math.max(longestMs, Date.now() - sinceMs);
    for (const block of due) block.dueAtMs = Date.now();
    load.keepTerms(false);
  }

  return {
    isOpen: () => state === 'open',
    longestMs: () => longestMs,
    async look(share) {
      if (state === 'to come' && share >= opensAt) {
        state = 'open';
        await load.hold();
      }
      if (state !== 'open' || share < closesAt) return;
      await waitForPages();
      await load.release();
      state = 'over';
    },
  };
}
