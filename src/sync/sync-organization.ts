/**
 * One organization through one connection: its equipment, and its fields with the operations of each. Only where all of
 * that was read to its end something may be missing from it; what is missing is read, and only that read decides.
 */
import type { ResourceKind } from '../model/resource';
import type { Ask, Item, ItemsPage } from './doors';
import { readListing } from './read-listing';
import {
  count,
  endListing,
  hearRefusal,
  isPassing,
  mustGoOn,
  open,
  type Place,
  type Tries,
  troubleOf,
  type Walk,
  waitOut,
} from './walk';

/** A list of fields that changed or moved while it was read is begun again so often. */
const fieldWalksMax = 3;

/** Throws `RunStopped`, and what the store throws. What could not be read is in the progress. */
export async function syncOrganization(walk: Walk, place: Place): Promise<void> {
  const { doors, options, run } = walk;
  const { id } = place.organization;
  const own = await open(walk, [{ scope: id, organizationId: id }]);
  const mark = own.listings[0]!;
  if (mark.ended) return count(walk);
  const [equipment, fields] = await Promise.all([syncEquipment(walk, place), syncFields(walk, place)]);
  if (!equipment || fields === 'partial') return;
  // Of fields that are not shared nothing is known: not that they are gone.
  const kinds: ResourceKind[] = fields === 'not-shared' ? ['equipment'] : ['equipment', 'field-operation'];
  let absent = 0;
  for (const kind of kinds) absent += await doors.store.hintAbsent(run, id, kind, options.goneShareMax);
  if (absent > 0) doors.due();
  if (fields === 'not-shared') return;
  await endListing(walk, mark.id, own.revision, place.connectionId);
  count(walk);
}

/** True when it was read to its end. */
async function syncEquipment(walk: Walk, { organization, connectionId }: Place): Promise<boolean> {
  const { id } = organization;
  const { listings, revision } = await open(walk, [{ scope: `${id}/equipment`, organizationId: id }]);
  const opened = listings[0]!;
  const of = { what: 'equipment', organizationId: id } as const;
  return readOne(walk, { kind: 'equipment', opened, revision, connectionId, of });
}

/** Fields page by page; each page's operations are read before the page counts as done. */
async function syncFields(walk: Walk, place: Place): Promise<'whole' | 'partial' | 'not-shared'> {
  const { organization, connectionId } = place;
  const { id } = organization;
  const own = await open(walk, [{ scope: `${id}/fields`, organizationId: id }]);
  const opened = own.listings[0]!;
  if (opened.ended) return 'whole';
  let from = opened.nextAddress;
  let { links } = organization;
  for (let tries = 0; ; tries += 1) {
    const address = links.get('fields');
    if (address === undefined) {
      // Another user may see them: links depend on what each may do.
      walk.closed.add(id);
      walk.progress.leavePartial(opened.scope, 'it is not shared with this user', 'none');
      return 'not-shared';
    }
    const ended = await walkFields(walk, place, {
      listingId: opened.id,
      revision: own.revision,
      address,
      from,
    });
    if (ended === 'ended') break;
    if (ended === 'partial') return 'partial';
    if (tries + 1 >= fieldWalksMax) {
      const detail = `${address}: it changed again and again while it was read`;
      walk.progress.leavePartial(opened.scope, detail, 'later');
      return 'partial';
    }
    // What was not found may have moved: its address of today is with the organization. What was read stays read.
    from = null;
    const today = await walk.doors.provider.organization(id, connectionId, walk.signal);
    if ('answer' in today || today.organization === null) {
      const answer = 'answer' in today ? today.answer : null;
      await hearRefusal(walk, id, answer);
      walk.progress.leavePartial(opened.scope, 'its address of today was not found', troubleOf(answer));
      return 'partial';
    }
    links = today.organization.links;
  }
  await endListing(walk, opened.id, own.revision, connectionId);
  count(walk);
  return 'whole';
}

interface FieldsAt {
  listingId: number;
  revision: number;
  address: string;
  from: string | null;
}

async function walkFields(
  walk: Walk,
  place: Place,
  { listingId, revision, address, from }: FieldsAt,
): Promise<'ended' | 'again' | 'partial'> {
  const { doors, progress, run, signal } = walk;
  const { connectionId } = place;
  const { id } = place.organization;
  mustGoOn(walk);
  const ask: Ask = {
    connectionId,
    of: { what: 'fields', address },
    from,
    changeToken: null,
    unpaged: false,
  };
  let whole = true;
  for await (const page of repeated(walk, ask)) {
    if (page.partial) {
      if (page.reason === 'changed-meanwhile' || page.answer?.kind === 'gone') return 'again';
      await hearRefusal(walk, id, page.answer);
      progress.leavePartial(`${id}/fields`, page.detail, troubleOf(page.answer));
      return 'partial';
    }
    progress.counts.pages += 1;
    const read = await readOperations(walk, place, page.items);
    if (read === 'again') return 'again';
    whole &&= read;
    if (walk.refusing.has(id)) return 'partial';
    if (page.next === null || !whole) continue;
    const after = { next: page.next };
    await doors.store.finishPage({ run, listingId, revision, connectionId, drafts: [], hints: [], after });
  }
  return signal.aborted || !whole ? 'partial' : 'ended';
}

/** The operations of a page of fields, several at once; fields without any are done. */
async function readOperations(walk: Walk, place: Place, fields: Item[]): Promise<boolean | 'again'> {
  const { id } = place.organization;
  const listed = fields.filter((field) => field.id !== null && field.operations !== null);
  if (listed.length === 0) return true;
  const names = listed.map((field) => ({ scope: `${id}/fields/${field.id}`, organizationId: id }));
  const { listings, revision } = await open(walk, names);
  const { connectionId } = place;
  let moved = false;
  const results = await Promise.all(
    listings.map((opened, index) =>
      walk.slot(async () => {
        if (moved || walk.refusing.has(id)) return false;
        const of = { what: 'field-operations', address: listed[index]!.operations! } as const;
        return readOne(walk, { kind: 'field-operation', opened, revision, connectionId, of }, () => {
          moved = true;
        });
      }),
    ),
  );
  return moved ? 'again' : !results.includes(false);
}

/** `gone`: what to do when there is no such listing; without it that is one that could not be read. */
async function readOne(
  walk: Walk,
  listing: Parameters<typeof readListing>[1],
  gone?: () => void,
): Promise<boolean> {
  mustGoOn(walk);
  if (listing.opened.ended) {
    count(walk);
    return true;
  }
  const read = await readListing(walk, listing);
  if (read.end === 'whole') {
    walk.unanswered = 0;
    count(walk);
    return true;
  }
  if (walk.signal.aborted) return false;
  const { answer } = read;
  if (answer?.kind === 'gone' && gone !== undefined) {
    gone();
    return false;
  }
  walk.unanswered = isPassing(answer) ? walk.unanswered + 1 : 0;
  await hearRefusal(walk, listing.opened.organizationId, answer);
  const trouble = read.changing ? 'later' : troubleOf(answer);
  walk.progress.leavePartial(listing.opened.scope, read.detail, trouble);
  mustGoOn(walk);
  return false;
}

/** The pages of a listing of fields; where one fails for the moment it is asked for again. */
async function* repeated(walk: Walk, ask: Ask): AsyncGenerator<ItemsPage, void> {
  const { doors, progress, signal } = walk;
  const tries: Tries = { failures: 0, waits: 0 };
  let from = ask.from;
  for (let again = true; again; ) {
    again = false;
    for await (const page of doors.provider.listing({ ...ask, from }, signal)) {
      if (!page.partial || page.answer !== null) progress.counts.calls += 1;
      if (!page.partial) from = page.next;
      else if (!signal.aborted) again = await waitOut(walk, page.answer, tries);
      if (again) break;
      yield page;
    }
  }
}
