/**
 * One listing from where the run is with it to its end: each page is judged, finished in the store with its place, and
 * forgotten. A page that fails is asked for again, later and later; a 429 is waited for. What could not be followed to
 * its end is told, and nothing is concluded from it.
 */
import type { Answer } from '../model/answer';
import type { ResourceKind } from '../model/resource';
import { shownAddress } from '../model/shown-address';
import type { ListedPage, ListingRequest, OpenedListing } from '../model/sync';
import type { Item, ItemsPage, PartialEnd, SyncDoors } from './doors';
import { judgePage, summariesOf } from './judge-page';
import { hearServed, inTurn, type RunContext, type Tries, waitOut } from './walk';

/** A listing whose items are documents. */
export interface DocumentListing {
  kind: ResourceKind;
  opened: OpenedListing;
  /** The store's revision before anything of it was asked for. */
  revision: number;
  connectionId: string;
  of: ListingRequest['of'];
}

export type ReadEnd =
  | { end: 'whole' }
  | { end: 'partial'; reason: string; detail: string; answer: Answer | null };

type WholePage = Extract<ItemsPage, { partial: false }>;

interface Pass {
  from: string | null;
  changeToken: string | null;
  unpaged: boolean;
  /** Read from its beginning in one go: only then it holds all there is. */
  whole: boolean;
  /** The change token of its first page. One of a later page is not of the whole list, and younger than what was read. */
  given: string | null;
}

/** What all pages so far came to. */
interface State {
  revision: number;
  items: number;
  /** Why not all that they held can be known. */
  nowhere: PartialEnd | null;
  /** How often it was begun anew, since it had changed, and since a page was not found. */
  changes: number;
  moves: number;
}

/** So many items are asked for once more at once, when the list changed while it was read. */
const unpagedItemsMax = 1000;
const changesMax = 1;
/** Where a later page is not found, the list may have moved; what is found nowhere then is not waited for. */
const movesMax = 3;
const tooLarge = 'body-too-large';

/**
 * Throws what the store throws. A list that changed meanwhile is begun again once, without pages up to 1,000 items; one
 * of which a later page is not found, 3 times.
 */
export async function readListing(context: RunContext, listing: DocumentListing): Promise<ReadEnd> {
  const { opened, of } = listing;
  const { full } = context.progress.wanted;
  const asked = askedOf(context, listing);
  // Where tokens are given at all: the equipment API has none.
  const known = full || opened.changeToken?.asked !== asked ? '' : opened.changeToken.token;
  const changeToken = of.what === 'field-operations' ? known : null;
  const { nextAddress: from } = opened;
  // What changed before the place where a former process left it cannot be known.
  const pass: Pass = { from, changeToken, unpaged: false, whole: from === null, given: null };
  const state: State = { revision: listing.revision, items: 0, nowhere: null, changes: 0, moves: 0 };
  const tries: Tries = { failures: 0, waits: 0 };
  for (;;) {
    const partial = await readPages(context, listing, pass, state);
    if (partial === null) return { end: 'whole' };
    const { answer, reason, detail } = partial;
    const again =
      askOtherwise(partial, pass, state) ||
      (!context.signal.aborted && (await waitOut(context, answer, tries)));
    if (!again) return { end: 'partial', reason, detail, answer };
    if (context.signal.aborted)
      return { end: 'partial', reason, detail: 'the run was stopped', answer: null };
  }
}

/** Begins the list anew where it may come to its end if it is asked for otherwise; false where not. */
function askOtherwise({ answer, reason }: PartialEnd, pass: Pass, state: State): boolean {
  if (reason === 'changed-meanwhile' && state.changes < changesMax) {
    state.changes += 1;
    beginAnew(pass, { changeToken: null, unpaged: state.items <= unpagedItemsMax });
    return true;
  }
  if (answer?.kind === 'transient' && answer.code === tooLarge && isAllAtOnce(pass)) {
    beginAnew(pass, { changeToken: null, unpaged: false });
    return true;
  }
  if (isTokenRefused(answer, pass)) {
    beginAnew(pass, { changeToken: pass.changeToken === '' ? null : '' });
    return true;
  }
  // Addresses may have moved since the run was here.
  if (answer?.kind === 'gone' && pass.from !== null && state.moves < movesMax) {
    state.moves += 1;
    beginAnew(pass, {});
    return true;
  }
  return false;
}

/** A first change token brings the whole list, too, and so does one that the provider does not know any more. */
function isAllAtOnce({ changeToken, unpaged }: Pass): boolean {
  return changeToken !== null || unpaged;
}

/** The list may be answered to who does not say what it knows; one that is gone, not to who knows nothing either. */
function isTokenRefused(answer: Answer | null, { from, changeToken }: Pass): boolean {
  if (from !== null || changeToken === null) return false;
  return answer?.kind === 'refused' || (answer?.kind === 'gone' && changeToken !== '');
}

function beginAnew(pass: Pass, more: Partial<Pass>): void {
  Object.assign(pass, { from: null, whole: true, given: null, ...more });
}

/** A token is the answer to one question of one user; in other units each document is another one. */
function askedOf({ options: { units } }: RunContext, { connectionId, of }: DocumentListing): string {
  return `${connectionId} ${of.what === 'equipment' ? of.organizationId : of.address} ${units}`;
}

/** null when the listing came to its end; `pass.from` is then, and otherwise, where it stands. */
async function readPages(
  context: RunContext,
  listing: DocumentListing,
  pass: Pass,
  state: State,
): Promise<PartialEnd | null> {
  const { doors, signal } = context;
  const { connectionId, of } = listing;
  const forbidden = forbiddenBy(doors);
  if (forbidden !== null) return forbidden;
  const { from, changeToken, unpaged } = pass;
  const request = { connectionId, of, from, changeToken, unpaged };
  const pages = inTurn(context, doors.provider.listing(request, signal));
  try {
    return await finishPages(context, listing, pages, pass, state);
  } finally {
    await pages.return?.(undefined);
  }
}

async function finishPages(
  context: RunContext,
  listing: DocumentListing,
  pages: AsyncIterator<ItemsPage>,
  pass: Pass,
  state: State,
): Promise<PartialEnd | null> {
  const { counts } = context.progress;
  for (;;) {
    const page = await context.ask(() => nextOf(pages));
    if (page === null)
      return { partial: true, reason: 'malformed-page', detail: 'no page came', answer: null };
    if (page.partial) return finishUnread(context, listing, page, state);
    counts.pages += 1;
    counts.calls += 1;
    state.items += page.items.length;
    if (pass.from === null) pass.given = page.changeToken;
    const { next } = page;
    if (next === null) {
      // Behind the last page there is nothing but what the pages together say.
      const behind = await nextOf(pages);
      const changed = behind?.partial === true ? behind : null;
      // With an end that is partial there is none: what is missing would be in no list after the new token.
      const after = changed === null ? endOf(context, listing, pass) : { next };
      const forgotten = await finish(context, listing, state, { page, from: pass.from, after });
      pass.from = null;
      return forgotten ?? changed ?? state.nowhere;
    }
    const forgotten = await finish(context, listing, state, { page, from: pass.from, after: { next } });
    pass.from = next;
    const ended = forgotten ?? forbiddenBy(context.doors);
    if (ended !== null) return ended;
  }
}

/** What no page came for: nothing changed, or why not. */
async function finishUnread(
  context: RunContext,
  listing: DocumentListing,
  page: PartialEnd,
  state: State,
): Promise<PartialEnd | null> {
  const { counts } = context.progress;
  if (page.answer !== null) counts.calls += 1;
  if (page.answer?.kind !== 'not-modified') return page;
  counts.pages += 1;
  const { changeToken } = listing.opened;
  const after = { end: true, whole: false, changeToken } as const;
  return finish(context, listing, state, { page: null, from: null, after });
}

function endOf(context: RunContext, listing: DocumentListing, pass: Pass): ListedPage['after'] {
  const changesOnly = pass.changeToken !== null && pass.changeToken !== '';
  const changeToken = pass.given === null ? null : { token: pass.given, asked: askedOf(context, listing) };
  return {
    end: true,
    whole: !changesOnly && pass.whole,
    // What could not be read before the place where a former process left it is in no list after a new token.
    changeToken: pass.whole ? changeToken : listing.opened.changeToken,
  };
}

function forbiddenBy(doors: SyncDoors): PartialEnd | null {
  const detail = doors.forbidden();
  return detail === null ? null : { partial: true, reason: 'forbidden', detail, answer: null };
}

async function nextOf(pages: AsyncIterator<ItemsPage>): Promise<ItemsPage | null> {
  const { done, value } = await pages.next();
  return done === true ? null : value;
}

/**
 * `page`: null where nothing changed. `from`: where it was asked for; null for the beginning. Why nothing more is to be asked
 * for, if so.
 */
async function finish(
  context: RunContext,
  listing: DocumentListing,
  state: State,
  { page, from, after }: Pick<ListedPage, 'after'> & { page: WholePage | null; from: string | null },
): Promise<PartialEnd | null> {
  const { doors, progress, run } = context;
  const { opened, connectionId } = listing;
  const { counts } = progress;
  hearServed(context, opened);
  const judged = page === null ? nothing : await judgedOf(context, listing, page, state);
  const result = await doors.store.finishPage({
    run,
    listingId: opened.id,
    revision: state.revision,
    connectionId,
    ...judged,
    from,
    after: 'end' in after && state.nowhere !== null ? { next: null } : after,
  });
  state.revision = result.revision;
  counts.changed += result.changed;
  counts.unchanged += result.unchanged;
  counts.published += result.published;
  counts.left += result.left;
  if (result.published > 0) doors.decided();
  if (result.left > 0) doors.due();
  return result.forgotten ? letGo : null;
}

const letGo: PartialEnd = {
  partial: true,
  reason: 'forgotten',
  detail: 'its organization was forgotten',
  answer: null,
};

const nothing = { drafts: [], hints: [] };

/** Empties the page, so that its documents are not held while what they came to is written and the next is asked for. */
async function judgedOf(
  { doors, progress, run }: RunContext,
  { kind, opened, connectionId }: DocumentListing,
  page: WholePage,
  state: State,
): Promise<ReturnType<typeof judgePage>> {
  const { store, judge, clock } = doors;
  const { counts } = progress;
  const { organizationId } = opened;
  const { full } = progress.wanted;
  let items = await named(page.items.splice(0), kind, doors);
  counts.listed += items.length;
  if (opened.known && !full && items.length > 0) {
    const { comparable, summaries, others } = summariesOf(items, { kind, organizationId }, judge);
    const places = await store.compareListed(run, opened.id, summaries, connectionId);
    counts.unchanged += comparable.length - places.length;
    items = [...places.map((place) => comparable[place]!), ...others];
  }
  state.nowhere ??= nowhereAmong(items, page.address);
  const observedAt = new Date(clock.nowMs()).toISOString();
  const { mediaType } = page;
  return judgePage(items, { kind, organizationId, connectionId, mediaType, observedAt, full }, judge);
}

/** What cannot be judged from a page is read, and what stands nowhere cannot be: no list after a new token holds it. */
function nowhereAmong(items: Item[], address: string): PartialEnd | null {
  const one = items.find((item) => item.address === null);
  if (one === undefined) return null;
  const which = `entry ${one.id ?? 'without an id'} cannot be judged, and no link says where it is read`;
  const detail = `${shownAddress(address) ?? 'no readable address'}: ${which} (malformed-entry)`;
  return { partial: true, reason: 'malformed-entry', detail, answer: null };
}

async function named(items: Item[], kind: ResourceKind, { nameEquipment }: SyncDoors): Promise<Item[]> {
  if (kind !== 'equipment' || items.length === 0) return items;
  const known = await nameEquipment(items.map(({ body }) => body));
  return items.map((item, place) => ({ ...item, known: known[place] ?? null }));
}
