/**
 * One run: organizations → equipment → fields → field operations, through the relationships that each names. What is not
 * active is skipped and said so. Where a former process stopped the run goes on, since every listing knows how far it
 * was read; what an organization's listings do not hold any more is read, and only that read decides.
 */
import type { Answer } from '../model/answer';
import type { ListingName } from '../model/sync';
import type { Item, ItemsPage, SeenOrganization } from './doors';
import { type Reading, readListing } from './read-listing';
import { eachOf, makeSlots } from './slots';

interface Walk extends Reading {
  slot: ReturnType<typeof makeSlots>;
  /** Organizations that refused while they were listed. */
  refusing: Set<string>;
  /** Listings in a row that the provider did not answer. */
  unanswered: number;
}

interface Place {
  organization: SeenOrganization;
  connectionId: string;
}

/** So many unanswered listings in a row are an outage: the rest can wait. */
const unansweredMax = 5;
/** A list of fields that changed or moved while it was read is begun again so often. */
const fieldWalksMax = 3;

/** Ends the run early; the store keeps it for the next one. */
export class RunStopped extends Error {}

/** Throws `RunStopped`, and what the store throws. True when the wanted organization was seen, or all were wanted. */
export async function runSync(reading: Reading): Promise<boolean> {
  const { doors, options, progress } = reading;
  const { organizationId } = progress.wanted;
  const walk: Walk = {
    ...{ ...reading, slot: makeSlots(options.listingsAtOnce) },
    ...{ refusing: new Set<string>(), unanswered: 0 },
  };
  const seen = new Set<string>();
  for (const connectionId of doors.connections()) {
    const places = organizationsOf(walk, connectionId, seen);
    await eachOf(places, options.organizationsAtOnce, (organization) =>
      syncOrganization(walk, { organization, connectionId }),
    );
    if (organizationId !== null && seen.has(organizationId)) break;
  }
  return organizationId === null || seen.has(organizationId);
}

/** Those that are wanted, not yet seen through another connection, and active. */
async function* organizationsOf(
  walk: Walk,
  connectionId: string,
  seen: Set<string>,
): AsyncGenerator<SeenOrganization, void> {
  const { doors, progress, signal } = walk;
  const { store } = doors;
  const epochs = await store.epochs();
  mustGoOn(walk);
  for await (const page of doors.provider.organizations(connectionId, signal)) {
    progress.counts.calls += 1;
    if (page.partial) {
      const { answer, detail } = page;
      if (answer?.kind === 'reauthorize') await doors.refused(connectionId, answer.message);
      return progress.leavePartial('organizations', detail);
    }
    progress.counts.pages += 1;
    await store.learn(page.organizations.map(({ id, name }) => ({ id, name, connectionId })));
    await doors.learned();
    for (const organization of page.organizations) {
      const { id, unconnected, connectUrl } = organization;
      if (unconnected) await doors.unconnected(id, connectUrl, epochs.get(id) ?? 1);
      const { organizationId } = progress.wanted;
      if (seen.has(id) || (organizationId !== null && organizationId !== id)) continue;
      seen.add(id);
      const access = (await store.access(id))?.access ?? 'active';
      if (access !== 'active') progress.skip(id, access);
      else yield organization;
    }
  }
}

async function syncOrganization(walk: Walk, place: Place): Promise<void> {
  const { doors, options, run } = walk;
  const { id } = place.organization;
  const own = await open(walk, [{ scope: id, organizationId: id }]);
  const mark = own.listings[0]!;
  if (mark.ended) return count(walk);
  const results = await Promise.all([syncEquipment(walk, place), syncFields(walk, place)]);
  if (results.includes(false)) return;
  let absent = 0;
  for (const kind of ['equipment', 'field-operation'] as const) {
    absent += await doors.store.hintAbsent(run, id, kind, options.goneShareMax);
  }
  if (absent > 0) doors.due();
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
async function syncFields(walk: Walk, place: Place): Promise<boolean> {
  const { organization, connectionId } = place;
  const { id } = organization;
  const own = await open(walk, [{ scope: `${id}/fields`, organizationId: id }]);
  const opened = own.listings[0]!;
  if (opened.ended) return true;
  let from = opened.nextAddress;
  let { links } = organization;
  for (let tries = 0; ; tries += 1) {
    const address = links.get('fields');
    if (address === undefined) break;
    const ended = await walkFields(walk, place, {
      listingId: opened.id,
      revision: own.revision,
      address,
      from,
    });
    if (ended === 'ended') break;
    if (ended === 'partial') return false;
    if (tries + 1 >= fieldWalksMax) {
      walk.progress.leavePartial(opened.scope, 'it changed again and again while it was read');
      return false;
    }
    // What was not found may have moved: its address of today is with the organization. What was read stays read.
    from = null;
    const today = await walk.doors.provider.organization(id, connectionId, walk.signal);
    if (today === null) return false;
    links = today.links;
  }
  await endListing(walk, opened.id, own.revision, connectionId);
  count(walk);
  return true;
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
  const ask = {
    connectionId,
    of: { what: 'fields', address },
    from,
    changeToken: null,
    unpaged: false,
  } as const;
  let whole = true;
  for await (const page of repeated(walk, ask)) {
    if (page.partial) {
      if (page.reason === 'changed-meanwhile' || page.answer?.kind === 'gone') return 'again';
      await hearRefusal(walk, id, page.answer);
      progress.leavePartial(`${id}/fields`, page.detail);
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
  if (read.answer?.kind === 'gone' && gone !== undefined) {
    gone();
    return false;
  }
  walk.unanswered = isPassing(read.answer) ? walk.unanswered + 1 : 0;
  await hearRefusal(walk, listing.opened.organizationId, read.answer);
  walk.progress.leavePartial(listing.opened.scope, read.detail);
  mustGoOn(walk);
  return false;
}

/** A refusal is a hint to probe; only a probe's answer changes an organization's access. */
async function hearRefusal(
  { doors, refusing }: Walk,
  organizationId: string,
  answer: Answer | null,
): Promise<void> {
  if (answer?.kind === 'action-required' || answer?.kind === 'not-connected') {
    refusing.add(organizationId);
    await doors.store.requestProbe(organizationId, false);
    doors.due();
  }
  if (answer?.kind === 'reauthorize') {
    refusing.add(organizationId);
    await doors.refused(answer.connectionId, answer.message);
  }
}

/** The pages of a listing of fields; where one fails for the moment it is asked for again. */
async function* repeated(
  walk: Walk,
  ask: Parameters<Walk['doors']['provider']['listing']>[0],
): AsyncGenerator<ItemsPage, void> {
  const { doors, options, progress, signal } = walk;
  let from = ask.from;
  for (let failures = 0; ; ) {
    let failed: ItemsPage | null = null;
    for await (const page of doors.provider.listing({ ...ask, from }, signal)) {
      if (!page.partial || page.answer !== null) progress.counts.calls += 1;
      failed = page.partial ? page : null;
      if (!page.partial) from = page.next;
      const again = page.partial && isPassing(page.answer) && failures < options.repeatsMax;
      if (!again) yield page;
      if (page.partial && !again) return;
    }
    if (failed === null || signal.aborted) return;
    failures += 1;
    const waitMs = Math.max(doors.coolDownMs(), options.backoff.baseMs * failures);
    await doors.clock.wait(waitMs, signal);
  }
}

function isPassing(answer: Answer | null): boolean {
  return answer?.kind === 'transient' || answer?.kind === 'rate-limited';
}

function open({ doors, progress, run }: Walk, names: ListingName[]) {
  progress.listings.known += names.length;
  return doors.store.openListings(run, names);
}

function count({ progress }: Walk): void {
  progress.listings.done += 1;
}

function endListing(
  { doors, run }: Walk,
  listingId: number,
  revision: number,
  connectionId: string,
): Promise<unknown> {
  const after = { end: true, whole: true, changeToken: null } as const;
  return doors.store.finishPage({ run, listingId, revision, connectionId, drafts: [], hints: [], after });
}

function mustGoOn({ doors, signal, unanswered }: Walk): void {
  if (signal.aborted) throw new RunStopped('the process stops');
  if (unanswered >= unansweredMax) throw new RunStopped('the provider does not answer');
  const forbidden = doors.forbidden();
  if (forbidden !== null) throw new RunStopped(forbidden);
}
