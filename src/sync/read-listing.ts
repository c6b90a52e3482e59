/**
 * One listing from where the run is with it to its end: each page is judged, finished in the store with its place, and
 * forgotten. A page that fails is asked for again, later and later; a 429 is waited for. What could not be followed to
 * its end is told, and nothing is concluded from it.
 */
import type { Answer } from '../model/answer';
import type { ResourceKind } from '../model/resource';
import type { ListedPage, OpenedListing } from '../model/sync';
import { backoffMs } from '../tools/backoff';
import type { Ask, ItemsPage, PartialEnd, SyncDoors, SyncOptions } from './doors';
import { judgePage, summariesOf } from './judge-page';
import type { Progress } from './progress';

export interface Reading {
  doors: SyncDoors;
  options: SyncOptions;
  progress: Progress;
  run: number;
  signal: AbortSignal;
}

/** A listing whose items are documents. */
export interface DocumentListing {
  kind: ResourceKind;
  opened: OpenedListing;
  /** The store's revision before anything of it was asked for. */
  revision: number;
  connectionId: string;
  of: Ask['of'];
}

export type ReadEnd = { end: 'whole' } | { end: 'partial'; detail: string; answer: Answer | null };

interface Pass {
  from: string | null;
  changeToken: string | null;
  unpaged: boolean;
}

/** So many items are asked for once more at once, when the list changed while it was read. */
const unpagedItemsMax = 1000;
const coolDownWaitsMax = 20;
const coolDownWaitMsMax = 60_000;
const tooLarge = 'body-too-large';

/** Throws what the store throws. */
export async function readListing(reading: Reading, listing: DocumentListing): Promise<ReadEnd> {
  const { opened, of } = listing;
  const { full } = reading.progress.wanted;
  const asked = askedOf(listing);
  // Where tokens are given at all: the equipment API has none.
  const known = full || opened.changeToken?.asked !== asked ? '' : opened.changeToken.token;
  const changeToken = of.what === 'field-operations' ? known : null;
  const pass: Pass = { from: opened.nextAddress, changeToken, unpaged: false };
  const state = { revision: listing.revision, items: 0 };
  for (let failures = 0, waits = 0; ; ) {
    const partial = await readPages(reading, listing, pass, state);
    if (partial === null) return { end: 'whole' };
    if (partial.reason === 'changed-meanwhile') {
      if (pass.unpaged || state.items > unpagedItemsMax) return { end: 'whole' };
      Object.assign(pass, { from: null, changeToken: null, unpaged: true });
      continue;
    }
    const { answer } = partial;
    if (answer?.kind === 'rate-limited' && waits < coolDownWaitsMax) {
      waits += 1;
      await reading.doors.clock.wait(
        Math.min(Math.max(reading.doors.coolDownMs(), 1), coolDownWaitMsMax),
        reading.signal,
      );
    } else if (answer?.kind === 'transient' && answer.code === tooLarge && pass.changeToken === '') {
      Object.assign(pass, { changeToken: null, from: null });
    } else if (answer?.kind === 'gone' && pass.from !== null) {
      // Addresses may have moved since the run was here: it begins anew.
      pass.from = null;
    } else if (answer?.kind === 'transient' && failures < reading.options.repeatsMax) {
      const { backoff, random } = reading.options;
      await reading.doors.clock.wait(backoffMs(failures, backoff, random), reading.signal);
      failures += 1;
    } else return { end: 'partial', detail: partial.detail, answer };
    if (reading.signal.aborted) return { end: 'partial', detail: 'the run was stopped', answer: null };
  }
}

/** A token is the answer to one question of one user. */
function askedOf({ connectionId, of }: DocumentListing): string {
  return `${connectionId} ${of.what === 'equipment' ? of.organizationId : of.address}`;
}

/** null when the listing came to its end; `pass.from` is then, and otherwise, where it stands. */
async function readPages(
  reading: Reading,
  listing: DocumentListing,
  pass: Pass,
  state: { revision: number; items: number },
): Promise<PartialEnd | null> {
  const { doors, progress, signal } = reading;
  const { connectionId, of } = listing;
  const forbidden = doors.forbidden();
  if (forbidden !== null) return { partial: true, reason: 'forbidden', detail: forbidden, answer: null };
  const changesOnly = pass.changeToken !== null && pass.changeToken !== '';
  const pages = doors.provider.listing({ connectionId, of, ...pass }, signal)[Symbol.asyncIterator]();
  try {
    let page = await nextOf(pages);
    while (page !== null && !page.partial) {
      progress.counts.pages += 1;
      progress.counts.calls += 1;
      state.items += page.items.length;
      // Behind the last page there is nothing but what the pages together say.
      const behind = page.next === null ? await nextOf(pages) : null;
      const changed = behind?.partial === true ? behind : null;
      const changeToken =
        page.changeToken === null ? null : { token: page.changeToken, asked: askedOf(listing) };
      const whole = !changesOnly && changed === null;
      await finish(
        reading,
        listing,
        page,
        state,
        page.next === null
          ? { end: true, whole, changeToken: whole || changesOnly ? changeToken : null }
          : { next: page.next },
      );
      pass.from = page.next;
      if (page.next === null) return changed;
      const stop = doors.forbidden();
      if (stop !== null) return { partial: true, reason: 'forbidden', detail: stop, answer: null };
      page = await nextOf(pages);
    }
    if (page === null)
      return { partial: true, reason: 'malformed-page', detail: 'no page came', answer: null };
    if (page.answer !== null) progress.counts.calls += 1;
    if (page.answer?.kind !== 'not-modified') return page;
    progress.counts.pages += 1;
    await finish(reading, listing, null, state, {
      end: true,
      whole: false,
      changeToken: listing.opened.changeToken,
    });
    return null;
  } finally {
    await pages.return?.(undefined);
  }
}

async function nextOf(pages: AsyncIterator<ItemsPage>): Promise<ItemsPage | null> {
  const { done, value } = await pages.next();
  return done === true ? null : value;
}

async function finish(
  { doors, progress, run }: Reading,
  { kind, opened, connectionId }: DocumentListing,
  page: Extract<ItemsPage, { partial: false }> | null,
  state: { revision: number },
  after: ListedPage['after'],
): Promise<void> {
  const { store, judge, clock } = doors;
  const { counts } = progress;
  const { organizationId } = opened;
  let items = page?.items ?? [];
  counts.listed += items.length;
  if (opened.known && !progress.wanted.full && items.length > 0) {
    const { comparable, summaries, others } = summariesOf(items, { kind, organizationId }, judge);
    const places = await store.compareListed(run, opened.id, summaries);
    counts.unchanged += comparable.length - places.length;
    items = [...places.map((place) => comparable[place]!), ...others];
  }
  const observedAt = new Date(clock.nowMs()).toISOString();
  const about = { kind, organizationId, connectionId, mediaType: page?.mediaType ?? '', observedAt };
  const judged = judgePage(items, about, judge);
  const result = await store.finishPage({
    ...{ run, listingId: opened.id, revision: state.revision, connectionId, ...judged, after },
  });
  state.revision = result.revision;
  counts.changed += result.changed;
  counts.unchanged += result.unchanged;
  counts.published += result.published;
  if (result.published > 0) doors.decided();
  if (result.left > 0) doors.due();
}
