/**
 * One organization through one connection: its equipment, and its fields with the operations of each. Only where all of
 * one of these was read to its end something may be missing from it; what is missing is read, and only that read decides.
 */
import { toldIn } from '../model/answer-words';
import type { ResourceKind } from '../model/resource';
import type { ListingName, ListingRequest } from '../model/sync';
import type { Item, ItemsPage } from './doors';
import { readListing } from './read-listing';
import {
  endListing,
  hearServed,
  inTurn,
  isPassing,
  leaveUnread,
  mustGoOn,
  open,
  organizationToday,
  type Place,
  type Tries,
  type Walk,
  waitOut,
} from './walk';

/** A list of fields that changed or moved while it was read is begun so often; the last time goes on past what is not found. */
const fieldWalksMax = 3;

/**
 * Throws `RunStopped`, and what the store throws. What could not be read is in the progress. A list of fields that
 * changed meanwhile, or of which something was not found, is begun at most 3 times.
 */
export async function syncOrganization(walk: Walk, place: Place): Promise<void> {
  const { doors, options, run } = walk;
  const { id } = place.organization;
  const own = await open(walk, [{ scope: id, organizationId: id }]);
  const mark = own.listings[0]!;
  const fieldsEnded = () => walk.progress.listings.fieldsEnded(id);
  if (mark.ended) return fieldsEnded();
  const ends = await Promise.all([syncEquipment(walk, place), syncFields(walk, place).finally(fieldsEnded)]);
  // Of what is not shared, or was not read to its end, nothing is known: not that it is gone.
  const kinds: ResourceKind[] = ['equipment', 'field-operation'];
  let absent = 0;
  for (const kind of kinds.filter((_kind, place) => ends[place] === 'whole'))
    absent += await doors.store.hintAbsent(run, id, kind, options.goneShareMax);
  if (absent > 0) doors.due();
  if (ends.some((end) => end !== 'whole')) return;
  await endListing(walk, mark, own.revision, place.connectionId);
}

/** `not-shared`: this user is not shown all of it; another one may be. */
type End = 'whole' | 'partial' | 'not-shared';

async function syncEquipment(walk: Walk, { organization, connectionId }: Place): Promise<End> {
  const { id } = organization;
  const { listings, revision } = await open(walk, [{ scope: `${id}/equipment`, organizationId: id }]);
  const opened = listings[0]!;
  const of = { what: 'equipment', organizationId: id } as const;
  return readOne(walk, { kind: 'equipment', opened, revision, connectionId, of });
}

/** Fields page by page; each page's operations are read before the page counts as done. */
async function syncFields(walk: Walk, place: Place): Promise<End> {
  const { organization, connectionId } = place;
  const { id } = organization;
  const own = await open(walk, [{ scope: `${id}/fields`, organizationId: id }]);
  const opened = own.listings[0]!;
  if (opened.ended) return 'whole';
  let from = opened.nextAddress;
  let { links, unread } = organization;
  const notFound = new Set<string>();
  for (let tries = 1; ; tries += 1) {
    const address = links.get('fields');
    if (address === undefined) return withoutFields(walk, opened, unread);
    const ended = await walkFields(walk, place, {
      listingId: opened.id,
      revision: own.revision,
      address,
      from,
      notFound,
      last: tries >= fieldWalksMax,
    });
    if (ended === 'partial') return 'partial';
    if (ended === 'ended') {
      await endListing(walk, opened, own.revision, connectionId);
      return 'whole';
    }
    // What was not found may have moved: its address of today is with the organization. What was read stays read.
    from = null;
    walk.progress.withdraw(opened.scope);
    walk.progress.listings.beginFields(id);
    const today = await organizationToday(walk, id, connectionId);
    if ('answer' in today || today.organization === null) {
      const answer = 'answer' in today ? today.answer : null;
      const detail = `its address of today was not found${answer === null ? '' : toldIn(answer)}`;
      await leaveUnread(walk, opened, { reason: 'not-found', detail, answer });
      return 'partial';
    }
    ({ links, unread } = today.organization);
  }
}

/** No link leads to its fields: they are not shared, or that link cannot be read. */
async function withoutFields(
  walk: Walk,
  opened: ListingName,
  unread: ReadonlyMap<string, string>,
): Promise<End> {
  const broken = unread.get('fields') ?? unread.get('');
  if (broken === undefined) return notShared(walk, opened, 'it is not shared with this user');
  const detail = `its organization: ${broken} (malformed-entry)`;
  await leaveUnread(walk, opened, { reason: 'malformed-entry', detail, answer: null });
  return 'partial';
}

/** Another user may see it: links depend on what each may do. */
function notShared({ closed, progress }: Walk, { scope, organizationId }: ListingName, detail: string): End {
  closed.add(organizationId);
  progress.refused.delete(scope);
  progress.leavePartial(scope, detail, 'none');
  return 'not-shared';
}

/** An operator let go of it: nothing more of it is asked for, and nothing that it still has is missing. */
function letGo({ refusing, closed, progress }: Walk, { organizationId }: ListingName): 'partial' {
  if (!refusing.has(organizationId)) progress.skip(organizationId, 'forgotten');
  refusing.add(organizationId);
  closed.delete(organizationId);
  progress.withdraw(organizationId);
  return 'partial';
}

interface FieldsAt {
  listingId: number;
  revision: number;
  address: string;
  from: string | null;
  /** Addresses of operations that this run asked for in vain: shown again they have not moved. As many for each walk as are in hand. */
  notFound: Set<string>;
  /** It is not begun again. */
  last: boolean;
}

async function walkFields(walk: Walk, place: Place, at: FieldsAt): Promise<'ended' | 'again' | 'partial'> {
  const { listingId, revision, address, from, last } = at;
  const { doors, progress, run, signal } = walk;
  const { connectionId } = place;
  const { id } = place.organization;
  const own = { scope: `${id}/fields`, organizationId: id };
  mustGoOn(walk);
  const ask: ListingRequest = {
    connectionId,
    of: { what: 'fields', address },
    from,
    changeToken: null,
    unpaged: false,
  };
  let whole = true;
  let met = 0;
  let asked = from;
  for await (const page of repeated(walk, ask)) {
    if (page.partial) {
      const mayHaveMoved = page.reason === 'changed-meanwhile' || page.answer?.kind === 'gone';
      if (!last && mayHaveMoved) return 'again';
      await leaveUnread(walk, own, page);
      return 'partial';
    }
    progress.counts.pages += 1;
    hearServed(walk, own);
    met += page.items.length;
    const behind = fieldsBehind(page, from === null ? met : null);
    const read = await readOperations(walk, place, page.items, behind, at);
    if (read === 'again') return 'again';
    whole &&= read;
    if (walk.refusing.has(id)) return 'partial';
    if (page.next === null || !whole) continue;
    const held = { from: asked, drafts: [], hints: [], after: { next: page.next } };
    const { forgotten } = await doors.store.finishPage({ run, listingId, revision, connectionId, ...held });
    if (forgotten) return letGo(walk, own);
    asked = page.next;
  }
  return signal.aborted || !whole ? 'partial' : 'ended';
}

/** How many stand behind a page, where all before it were met; null where nothing says so. */
function fieldsBehind({ next, total }: { next: string | null; total: number | null }, met: number | null) {
  if (next === null) return 0;
  return total === null || met === null ? null : Math.max(total - met, 0);
}

/** The operations of a page of fields, several at once; fields without any are done. One that may have moved ends it. */
async function readOperations(
  walk: Walk,
  place: Place,
  fields: Item[],
  behind: number | null,
  { notFound, last }: FieldsAt,
): Promise<boolean | 'again'> {
  const { id } = place.organization;
  const withOperations = fields.filter((field) => field.id !== null && field.operations !== null);
  // One that stands twice on the page has one list, in which two would be in each other's way.
  const listed = [...new Map(withOperations.map((field) => [field.id, field])).values()];
  const names = listed.map((field) => ({ scope: `${id}/fields/${field.id}`, organizationId: id }));
  const { listings, revision } = await open(walk, names);
  walk.progress.listings.fieldsToCome(id, behind);
  const { connectionId } = place;
  let moved = false;
  const results = await Promise.all(
    listings.map((opened, index) =>
      walk.slot(async () => {
        if (moved || walk.refusing.has(id)) return 'partial';
        const address = listed[index]!.operations!;
        const of = { what: 'field-operations', address } as const;
        const listing = { kind: 'field-operation', opened, revision, connectionId, of } as const;
        if (last || notFound.has(address)) return readOne(walk, listing);
        return readOne(walk, listing, () => {
          notFound.add(address);
          moved = true;
        });
      }),
    ),
  );
  return moved ? 'again' : !results.some((end) => end !== 'whole');
}

/** `gone`: what to do when there is no such listing; without it that is one that could not be read. */
async function readOne(
  walk: Walk,
  listing: Parameters<typeof readListing>[1],
  gone?: () => void,
): Promise<End> {
  mustGoOn(walk);
  const { opened } = listing;
  const read = opened.ended ? ({ end: 'whole' } as const) : await readListing(walk, listing);
  if (read.end === 'whole') {
    if (opened.ended) return 'whole';
    walk.unanswered = 0;
    walk.progress.listings.readToEnd(opened);
    return 'whole';
  }
  if (walk.signal.aborted) return 'partial';
  const { answer, reason, detail } = read;
  if (reason === 'forgotten') return letGo(walk, opened);
  if (reason === 'no-listing') return notShared(walk, opened, detail);
  if (answer?.kind === 'gone' && gone !== undefined) {
    gone();
    return 'partial';
  }
  walk.unanswered = isPassing(answer) ? walk.unanswered + 1 : 0;
  await leaveUnread(walk, opened, read);
  mustGoOn(walk);
  return 'partial';
}

/** The pages of a listing of fields; where one fails for the moment it is asked for again. */
async function* repeated(walk: Walk, ask: ListingRequest): AsyncGenerator<ItemsPage, void> {
  const { doors, progress, signal } = walk;
  const tries: Tries = { failures: 0, waits: 0 };
  let from = ask.from;
  for (let again = true; again; ) {
    again = false;
    for await (const page of inTurn(walk, doors.provider.listing({ ...ask, from }, signal))) {
      if (!page.partial || page.answer !== null) progress.counts.calls += 1;
      if (!page.partial) from = page.next;
      else if (!signal.aborted) again = await waitOut(walk, page.answer, tries);
      if (again) break;
      yield page;
    }
  }
}
