/**
 * One run over all organizations that are wanted: each is listed through the connection that it is kept with, and through
 * another one that sees it when that one is refused. What is not active is skipped and said so. Where a former process
 * stopped the run goes on, since every listing knows how far it was read.
 */
import type { PartialEnd, SeenOrganization } from './doors';
import { eachOf, makeSlots } from './slots';
import { syncOrganization } from './sync-organization';
import {
  hearRefusedToken,
  inTurn,
  isPassing,
  mustGoOn,
  organizationToday,
  type Place,
  type RunContext,
  RunStopped,
  type Tries,
  troubleOf,
  type Walk,
  waitOut,
} from './walk';

interface Tour extends Walk {
  /** Met in a listing, through whichever connection. */
  seen: Set<string>;
  /** Read, or skipped. */
  done: Set<string>;
  /** Through which connections it was tried; of those that were met and are not done. */
  tried: Map<string, Set<string>>;
  /** Why organizations of a connection could not be listed; the provider may answer later. */
  unlisted: string | null;
  /** What each connection whose listing came to its end was known to see before. */
  expected: Map<string, string[]>;
}

const notListed = 'no connection that sees it lists it';

/** Throws `RunStopped`, and what the store throws. True when the wanted organization was seen, or all were wanted. */
export async function runSync(context: RunContext): Promise<boolean> {
  const { doors, options, progress } = context;
  const { organizationId } = progress.wanted;
  const tour: Tour = {
    ...context,
    slot: makeSlots(options.listingsAtOnce),
    unanswered: 0,
    unlisted: null,
    expected: new Map(),
    refusing: new Set(),
    closed: new Set(),
    seen: new Set(),
    done: new Set(),
    tried: new Map(),
  };
  const { known } = progress.organizations;
  const connections = doors.connections();
  const expected = organizationId === null ? connections.flatMap(doors.organizationsSeen) : [organizationId];
  for (const id of expected) known.add(id);
  for (const connectionId of connections) {
    const places = organizationsOf(tour, connectionId);
    await eachOf(places, options.organizationsAtOnce, (organization) =>
      visit(tour, { organization, connectionId }),
    );
    if (organizationId !== null && tour.done.has(organizationId)) break;
  }
  await visitLeft(tour);
  const found = organizationId !== null && tour.done.has(organizationId);
  if (found) progress.withdraw('organizations');
  else if (tour.unlisted !== null) throw new RunStopped(`not listed: ${tour.unlisted}`);
  await tellMissing(tour);
  tellClosed(tour);
  return organizationId === null || tour.seen.has(organizationId);
}

/**
 * Active ones that nobody was shown, though a connection is known to see them and all that see them were listed to the
 * end: nothing is concluded from that but that this run is not whole.
 */
async function tellMissing({ doors, progress, seen, expected }: Tour): Promise<void> {
  if (progress.wanted.organizationId !== null) return;
  for (const id of new Set([...expected.values()].flat())) {
    if (seen.has(id)) continue;
    const known = await doors.store.access(id);
    if (known?.access !== 'active') continue;
    const through = doors.connectionsOf(id, known.connectionId);
    if (through.length > 0 && through.every((connectionId) => expected.has(connectionId)))
      progress.leavePartial(id, notListed, 'unlisted');
  }
}

/** What only those see whose users must consent anew, which no listing of today shows. */
function tellClosed({ doors, progress, seen }: Tour): void {
  const { organizationId } = progress.wanted;
  for (const id of doors.closedOrganizations()) {
    if (seen.has(id) || (organizationId !== null && organizationId !== id)) continue;
    seen.add(id);
    progress.skip(id, 'reauthorize');
  }
  if (doors.connections().length > 0) return;
  progress.leavePartial(
    'organizations',
    'there is no connection whose consent is valid: tramline connect',
    'customer-must-act',
  );
}

/** Those that are wanted, active, and kept with this connection; where a page fails for the moment, from the beginning. */
async function* organizationsOf(tour: Tour, connectionId: string): AsyncGenerator<SeenOrganization, void> {
  const { doors, progress, signal } = tour;
  const tries: ListTries = { failures: 0, waits: 0, changed: false };
  for (;;) {
    const epochs = await doors.store.epochs();
    const expected = doors.organizationsSeen(connectionId);
    mustGoOn(tour);
    let begun = false;
    let broken: PartialEnd | null = null;
    for await (const page of inTurn(tour, doors.provider.organizations(connectionId, signal))) {
      if (page.partial) {
        broken = page;
        break;
      }
      begun = true;
      progress.counts.calls += 1;
      progress.counts.pages += 1;
      await learn(tour, page.organizations, connectionId);
      for (const organization of page.organizations) {
        const { id, unconnected, connectUrl } = organization;
        if (unconnected) await doors.unconnected(id, connectUrl, epochs.get(id) ?? 1);
        if (await isTurnOf(tour, organization, connectionId)) yield organization;
      }
    }
    if (broken === null) {
      tour.expected.set(connectionId, expected);
      progress.listings.allMet ||= connectionId === doors.connections().at(-1);
      return;
    }
    if (broken.answer !== null) progress.counts.calls += 1;
    if (!(await mayBeginAgain(tour, broken, tries))) return leaveUnlisted(tour, broken, begun);
  }
}

/** How often the list of one connection was begun again; once where it changed meanwhile. */
interface ListTries extends Tries {
  changed: boolean;
}

async function mayBeginAgain(tour: Tour, { answer, reason }: PartialEnd, tries: ListTries): Promise<boolean> {
  if (reason !== 'changed-meanwhile') return !tour.signal.aborted && waitOut(tour, answer, tries);
  if (tries.changed) return false;
  tries.changed = true;
  return true;
}

/** `begun`: pages came before. */
async function leaveUnlisted(
  tour: Tour,
  { answer, reason, detail }: PartialEnd,
  begun: boolean,
): Promise<void> {
  await hearRefusedToken(tour, answer);
  if (isPassing(answer)) tour.unlisted = detail;
  // A list that was there a moment ago has moved, as far as anybody can tell.
  const passes = reason === 'changed-meanwhile' || (begun && answer?.kind === 'gone');
  tour.progress.leavePartial('organizations', detail, passes ? 'later' : troubleOf(answer));
}

async function learn(
  { doors, progress }: Tour,
  organizations: SeenOrganization[],
  connectionId: string,
): Promise<void> {
  await doors.store.learn(organizations.map(({ id, name }) => ({ id, name, connectionId })));
  await doors.learned();
  if (progress.wanted.organizationId !== null) return;
  for (const { id } of organizations) progress.organizations.known.add(id);
}

async function isTurnOf(tour: Tour, { id }: SeenOrganization, connectionId: string): Promise<boolean> {
  const { doors, progress, seen, done, tried } = tour;
  const { organizationId } = progress.wanted;
  if (done.has(id) || (organizationId !== null && organizationId !== id)) return false;
  seen.add(id);
  progress.listings.allMet ||= organizationId === id;
  const known = await doors.store.access(id);
  if (known !== null && known.access !== 'active') {
    progress.skip(id, known.forgotten ? 'forgotten' : known.access);
    done.add(id);
    progress.organizations.done.add(id);
    return false;
  }
  if (!tried.has(id)) tried.set(id, new Set());
  const [chosen] = doors.connectionsOf(id, known?.connectionId ?? null);
  return chosen === connectionId && tried.get(id)?.has(connectionId) === false;
}

/** Done with it, unless only this connection was refused. */
async function visit(tour: Tour, place: Place): Promise<void> {
  const { id } = place.organization;
  tour.tried.get(id)?.add(place.connectionId);
  tour.refusing.delete(id);
  tour.closed.delete(id);
  tour.progress.withdraw(id);
  tour.progress.listings.beginOrganization(id);
  await syncOrganization(tour, place);
  if (tour.closed.has(id)) return;
  tour.tried.delete(id);
  tour.done.add(id);
  tour.progress.organizations.done.add(id);
}

/** Those that the connection they are kept with did not list, or was refused: through the others that see them. */
async function visitLeft(tour: Tour): Promise<void> {
  const { doors, progress, tried } = tour;
  for (const [id, through] of tried) {
    const sticky = (await doors.store.access(id))?.connectionId ?? null;
    for (const connectionId of doors.connectionsOf(id, sticky)) {
      if (through.has(connectionId) || tour.done.has(id)) continue;
      mustGoOn(tour);
      progress.counts.calls += 1;
      const found = await organizationToday(tour, id, connectionId);
      if ('organization' in found && found.organization !== null) {
        const { organization } = found;
        if (!organization.unconnected) await visit(tour, { organization, connectionId });
      } else if ('answer' in found && isPassing(found.answer)) tour.unlisted = `organization ${id}`;
    }
    if (!tour.done.has(id) && through.size === 0) progress.leavePartial(id, notListed, 'later');
  }
}
