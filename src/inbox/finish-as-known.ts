/**
 * Ends a read under the name by which the store knows what was read. Most equipment is known as it was, or as it calls
 * itself: the draft is made for that, its names go with the ending, and only where the store knows it otherwise it is drafted
 * anew. Makes no draft itself.
 */
import type { EquipmentNames, KnownEquipment } from '../model/equipment-names';
import type { EventDraft } from '../model/event';
import type { Inbox } from '../model/store';
import type { FinishedRead, FinishResult, TakenTask } from '../model/task';

export interface Named {
  /** null for what is no equipment. */
  names: EquipmentNames | null;
  draftOf(known: KnownEquipment | null): EventDraft;
}

/** `draft`: the one that the store ended the read with. Rejects as the store does. */
export async function finishAsKnown(
  store: Pick<Inbox, 'finish'>,
  { resource }: TakenTask,
  read: Omit<FinishedRead, 'draft' | 'named'>,
  { names, draftOf }: Named,
): Promise<{ result: FinishResult; draft: EventDraft }> {
  let known = names === null ? null : { id: resource?.id ?? names.id, principalId: names.principalId };
  for (;;) {
    const draft = draftOf(known);
    const named = names === null || known === null ? {} : { named: { names, known } };
    const result = await store.finish({ ...read, ...named, draft });
    if (result.outcome !== 'known-otherwise') return { result, draft };
    known = result.known;
  }
}
