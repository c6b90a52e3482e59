/**
 * Whether a read may have seen less than what was announced: the provider notifies at once, and its read model may lag.
 * Such a read earns one more. Pure, and the same in every store.
 */
import type { EventDraft, PublishedState } from '../model/event';

/**
 * True when it found nothing changed, or when nothing tells whether the change that it found is the one announced: the
 * kind has no modification time, the resource was never seen before, or several changes were announced since it was last
 * at rest (`crowded`), of which the read may have seen all but the last.
 */
export function mayLag(
  change: string | null,
  previous: PublishedState | null,
  draft: Pick<EventDraft, 'modifiedTime'>,
  crowded: boolean,
): boolean {
  return change === null || draft.modifiedTime === null || previous === null || crowded;
}
