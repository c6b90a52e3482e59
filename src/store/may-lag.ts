/**
 * Whether a read may have seen less than what was announced: the provider notifies at once, and its read model may lag.
 * Such a read earns one more. Pure, and the same in every store.
 */
import type { EventDraft, PublishedState } from '../model/event';

/**
 * True when it found nothing changed, or when nothing tells whether the change that it found is the one announced: the
 * kind has no modification time, the resource was never seen before or is published anew, or several changes were announced that
 * no read has found yet (`crowded`), of which the read may have seen all but the last.
 */
export function mayLag(
  change: string | null,
  previous: PublishedState | null,
  draft: Pick<EventDraft, 'modifiedTime'>,
  crowded: boolean,
): boolean {
  const isKnown = previous !== null && previous.contentHash !== '';
  return change === null || draft.modifiedTime === null || !isKnown || crowded;
}

/** What a decided read means for its task. */
export interface Said {
  /** After how long the provider is asked once more; 0: not for this. */
  settleMs: number;
  /** Did it find a change? */
  found: boolean;
}

/**
 * Is a change still to be found that was announced before this read? Neither it nor the one that it settles found any: the
 * provider lags by more than the two are apart, and the next that is found may be that one rather than the one announced by then.
 */
export function leavesOneToFind(
  state: 'due' | 'settling' | 'done',
  { found }: Pick<Said, 'found'>,
  task: { crowded: boolean; settling: boolean },
): boolean {
  if (state === 'due') return task.crowded;
  return !found && (state === 'settling' || (task.settling && task.crowded));
}
