/**
 * From the items of a page to what the store is told of them: what can be compared, what is finished from the page, what
 * has to be read. Pure: the judgement of a document is handed in, the store is asked elsewhere.
 */
import type { EventDraft } from '../model/event';
import type { ResourceKind } from '../model/resource';
import type { ListedHint, ListedResource } from '../model/sync';
import type { Item, ItemJudge } from './doors';

export interface PageAbout {
  kind: ResourceKind;
  organizationId: string;
  connectionId: string;
  mediaType: string;
  observedAt: string;
  /** What the page does not hold whole is read, also where it was modified at a time that is known. */
  full: boolean;
}

/** The items that can be compared, each with what it is compared by; in the order of the page. */
export function summariesOf(
  items: Item[],
  { kind, organizationId }: Pick<PageAbout, 'kind' | 'organizationId'>,
  judge: ItemJudge,
): { comparable: Item[]; summaries: ListedResource[]; others: Item[] } {
  const comparable: Item[] = [];
  const summaries: ListedResource[] = [];
  const others: Item[] = [];
  for (const item of items) {
    const summary = item.deleted ? null : judge.summaryOf(item, kind, organizationId);
    if (summary === null) others.push(item);
    else {
      comparable.push(item);
      summaries.push(summary);
    }
  }
  return { comparable, summaries, others };
}

/** An item that says neither what it is nor where it stands is in neither list. */
export function judgePage(
  items: Item[],
  about: PageAbout,
  judge: ItemJudge,
): { drafts: EventDraft[]; hints: ListedHint[] } {
  const { kind, organizationId, full } = about;
  const drafts: EventDraft[] = [];
  const hints: ListedHint[] = [];
  for (const item of items) {
    const draft = item.deleted ? null : judge.draftOf(item, about);
    if (draft !== null) {
      drafts.push(draft);
      continue;
    }
    const { address } = item;
    const id = item.known?.id ?? item.id;
    if (address === null && id === null) continue;
    hints.push({
      address,
      organizationId,
      resource: id === null ? null : { kind, id },
      modifiedTime: item.deleted || full ? null : judge.modifiedTimeOf(item, kind),
    });
  }
  return { drafts, hints };
}
