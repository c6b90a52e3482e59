/**
 * What a page of a listing says of a resource that is known and at rest, on either store: what is not plain is left to a read
 * that begins after the page. Pure.
 */
import { type Change, changeOf, type EventDraft, type PublishedState } from '../model/event';
import type { ListedHint } from '../model/sync';
import { movedFrom, publishedState } from './task-row';

/** A task by the names of its columns, with numbers or booleans. */
type Row = Readonly<Record<string, unknown>>;

/** What a page came to for a document: `left` to a read. */
export type ListedOutcome = 'changed' | 'unchanged' | 'left';

interface Since {
  /** Was a read of it accepted since the page was asked for? */
  readSince: boolean;
  /** Does it stand in an organization by the topics where this store did not publish it? */
  standsElsewhere(published: PublishedState | null): boolean;
}

/** `left` to a read; `unchanged` and not accepted as a read either; else the change that the page shows, null for none. */
export function judgeListed(
  task: Row,
  draft: EventDraft,
  { readSince, standsElsewhere }: Since,
): 'left' | 'unchanged' | { change: Change | null } {
  const published = publishedState(task);
  const isSame = !task.deleted && task.wire_hash === draft.wireHash;
  if (movedFrom(task, published, draft) !== null || standsElsewhere(published)) return 'left';
  if (readSince && !isSame) return 'left';
  const { change, reason } = changeOf(published, draft);
  // A newer process reads it: what it makes of the same facts it has published already.
  if (reason === 'older-normalizer') return isSame ? 'unchanged' : 'left';
  if (readSince || reason === 'older-than-published') return 'unchanged';
  return { change };
}

/** Is what a listing only names known as it was modified last? */
export function isKnownSince(
  task: Row,
  { organizationId, modifiedTime }: Pick<ListedHint, 'organizationId' | 'modifiedTime'>,
): boolean {
  return (
    modifiedTime !== null &&
    // Else it is to be published anew.
    task.content_hash !== '' &&
    !task.deleted &&
    task.code !== 'absent-once' &&
    task.organization_id === organizationId &&
    Date.parse(String(task.modified_time)) === Date.parse(modifiedTime)
  );
}
