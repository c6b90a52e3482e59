/**
 * Files as the provider lists them to an organization or to a user, and one of them by its id. Their bytes are read next
 * door.
 */
import type { RawFault, RawItem, RawListed, RawRead } from '../model/provider-data';
import { addressOf, patternOf } from './address-pattern';
import type { Caller, Callers } from './caller';
import { followMoves } from './follow-moves';
import type { Admission, Gate } from './gate';
import { linksOf, unreadLinkOf, unreadLinksOf } from './links';
import type { ProviderDoors } from './options';
import type { Organizations } from './organizations';
import { idOf, withoutId } from './pages';
import {
  answerOf,
  connectionReaches,
  everyReach,
  faultOf,
  gravest,
  itemsOf,
  type ListParts,
  openedOf,
  organizationReaches,
  type Reach,
  unlinked,
} from './reach';
import { readAhead } from './read-ahead';

export interface FileParts extends ListParts {
  doors: ProviderDoors;
  gate: Gate;
  callers: Callers;
  timeoutMs: number;
  /** Of several organizations, so many lists are asked for at once. */
  listsAtOnce: number;
}

/** A file's record, and through whom it was read. */
export interface Found {
  item: RawItem;
  reach: Reach;
}

export function makeFiles(parts: FileParts) {
  const { doors, gate, callers, timeoutMs } = parts;
  const alone = () => callers.alone(timeoutMs);
  const { through, list, closures } = makeFileLists(parts);

  /** Through the listing's first link where that shows the form of the addresses, otherwise through the whole listing. */
  async function find(id: string): Promise<RawRead<Found>> {
    const faults: RawFault[] = [];
    for (const reached of connectionReaches(doors, null)) {
      if ('fault' in reached) {
        faults.push(reached.fault);
        continue;
      }
      const found = await findThrough(id, reached.reach, alone());
      if ('value' in found) return found;
      faults.push(found.fault);
    }
    const fault = gravest(faults);
    // Where an address of it could be asked, the provider itself has said that there is none.
    const isUnseen = fault.answer?.kind === 'gone' && fault.address === null;
    if (!isUnseen && fault.answer?.kind !== 'refused-unattributed') return { fault };
    const closed = await closures();
    // At its address, terms would have been named.
    const blamed = isUnseen ? closed : closed.filter(({ answer }) => answer?.kind === 'not-connected');
    return { fault: gravest([fault, ...blamed]) };
  }

  async function findThrough(id: string, reach: Reach, caller: Caller): Promise<RawRead<Found>> {
    const listed = await addressIn(id, reach, caller);
    if ('fault' in listed) return listed;
    const found = await readAt(id, listed.value, reach, caller);
    if (!('fault' in found) || found.fault.answer?.kind !== 'gone') return found;
    // Addresses may have moved since it was listed: it is read where it is listed by now, once.
    const today = await addressIn(id, reach, caller);
    if ('fault' in today) return today;
    return today.value === listed.value ? found : readAt(id, today.value, reach, caller);
  }

  async function addressIn(id: string, reach: Reach, caller: Caller): Promise<RawRead<string>> {
    const { connectionId } = reach.connection;
    let unread: RawFault | null = null;
    for await (const listed of through(reach, caller)) {
      if ('fault' in listed) return listed;
      const place = placeOf(gate, id, listed.item);
      if (place !== null && 'address' in place) return { value: place.address };
      if (place?.sought === true) return place;
      if (place !== null) unread ??= place.fault;
    }
    if (unread !== null) return { fault: unread };
    const detail = `there is no file ${id}`;
    const gone = { kind: 'gone', certain: false, connectionId, origin: '' } as const;
    return { fault: { answer: gone, detail, address: null, organizationId: null } };
  }

  async function readAt(id: string, address: string, reach: Reach, caller: Caller): Promise<RawRead<Found>> {
    const admission = gate.admit(address);
    if (!admission.admitted) return { fault: faultOf(refusalOf(admission)!, address, null) };
    const { connection } = reach;
    const verdict = await caller.call({ url: admission.url, operation: 'file', connection });
    if (verdict.kind === 'ok') {
      const shownId = idOf(verdict.document.body);
      if (shownId === null || shownId === id) return { value: { item: verdict.document, reach } };
      const detail = `expected the record of file ${id}, got that of ${shownId}`;
      return { fault: { answer: null, detail, address, organizationId: null } };
    }
    return { fault: faultOf(await answerOf(verdict, reach, parts.organizations, caller), address, null) };
  }

  async function file(id: string): Promise<RawRead<RawItem>> {
    const found = await find(id);
    return 'fault' in found ? found : { value: found.value.item };
  }

  return { list, find, file };
}

function makeFileLists(parts: FileParts) {
  const { doors, callers, timeoutMs, listsAtOnce } = parts;
  const alone = () => callers.alone(timeoutMs);

  async function* listFrom(reach: Reach, caller: Caller, fresh: boolean): AsyncGenerator<RawListed> {
    const first = await listingOf(parts.organizations, reach, caller, fresh);
    if ('fault' in first) return yield first;
    yield* itemsOf(parts, { first: first.value, operation: 'files', reach, caller, embeds: [] });
  }

  /** By fresh links where it is not there any more. */
  const through = (reach: Reach, caller: Caller): AsyncGenerator<RawListed> =>
    followMoves(
      (fresh) => listFrom(reach, caller, fresh),
      (line) => 'fault' in line && line.fault.answer?.kind === 'gone',
    );

  async function* list(organizationId: string | null): AsyncGenerator<RawListed> {
    const reaches =
      organizationId === null ? everyReach(doors) : organizationReaches(doors, [organizationId]);
    yield* onlyNew(
      readAhead(reaches, listsAtOnce, async function* (reached) {
        if ('fault' in reached) return yield reached;
        const { reach } = reached;
        for await (const line of through(reach, alone())) {
          // What an organization does not share is missed only where it was named.
          if (reach.organizationId === organizationId || !isUnshared(line)) yield line;
        }
      }),
    );
  }

  /** Why what is shown to no user may be there all the same: each organization that is closed. */
  async function closures(): Promise<RawFault[]> {
    const closed = readAhead(organizationReaches(doors, []), listsAtOnce, async function* (reached) {
      for await (const line of 'fault' in reached ? [reached] : through(reached.reach, alone())) {
        if ('fault' in line && !isUnshared(line)) yield line.fault;
        return;
      }
    });
    const faults: RawFault[] = [];
    for await (const fault of closed) faults.push(fault);
    return faults;
  }

  return { through, list, closures };
}

function refusalOf(admission: Admission) {
  if (admission.admitted) return null;
  const { code, detail } = admission;
  return { kind: 'address-refused', code, detail } as const;
}

function isUnshared(line: RawListed): boolean {
  return 'fault' in line && line.fault.answer?.kind === 'no-access';
}

type Place = { address: string } | { sought: boolean; fault: RawFault };

/** What an entry says of where the file with that id stands; null when it is another's and teaches nothing. */
function placeOf(gate: Gate, id: string, { body, address: listedAt }: RawItem): Place | null {
  const self = linksOf(body).get('self');
  const listedId = idOf(body);
  const malformed = (detail: string): RawFault => ({
    answer: null,
    detail: `${detail} (malformed-entry)`,
    address: listedAt,
    organizationId: null,
  });
  if (listedId === id) {
    if (self !== undefined) return { address: self };
    const unread = unreadLinkOf(unreadLinksOf(body), ['self']);
    return { sought: true, fault: malformed(unread ?? 'expected a link `self`, got none') };
  }
  // What names nothing may be the one that is looked for.
  if (listedId === null) return { sought: false, fault: malformed(withoutId(body)) };
  // A link that may not be followed says nothing of where others stand.
  const pattern = gate.admit(self).admitted ? patternOf(self, listedId) : null;
  if (pattern === null) return null;
  const address = addressOf(pattern, id);
  const refused = refusalOf(gate.admit(address));
  return refused === null ? { address } : { sought: true, fault: wrongId(refused) };
}

/** Where the listed file may be asked for and this one not, its id is at fault, and no address of the provider's. */
function wrongId(refused: NonNullable<ReturnType<typeof refusalOf>>): RawFault {
  return { ...faultOf(refused, null, null), detail: `no file has this id: ${refused.detail}` };
}

/** Several users may be shown the same file. */
async function* onlyNew(lines: AsyncGenerator<RawListed>): AsyncGenerator<RawListed> {
  const told = new Set<string>();
  for await (const line of lines) {
    const id = 'fault' in line ? null : idOf(line.item.body);
    if (id !== null && told.has(id)) continue;
    if (id !== null) told.add(id);
    yield line;
  }
}

/** The organization's own relationship, or the user's from the catalog. */
async function listingOf(
  organizations: Organizations,
  { connection, organizationId }: Reach,
  caller: Caller,
  fresh: boolean,
): Promise<RawRead<string>> {
  let links: ReadonlyMap<string, string> | undefined;
  let unread: ReadonlyMap<string, string> | undefined;
  let at: string | null = null;
  if (organizationId === null || fresh) {
    const catalog = await caller.catalog(connection, fresh);
    if ('answer' in catalog) return { fault: faultOf(catalog.answer, null, null) };
    ({ links, unread, address: at } = catalog.catalog);
  }
  if (organizationId !== null) {
    const found = await organizations.find(organizationId, connection, caller);
    const opened = openedOf(found, { connection, organizationId });
    if ('fault' in opened) return opened;
    ({ links, unread } = opened.value);
    at = links.get('self') ?? null;
  }
  const address = links?.get('files');
  if (address !== undefined) return { value: address };
  // A catalog that was kept may be older than the relationship.
  if (organizationId === null && !fresh)
    return listingOf(organizations, { connection, organizationId }, caller, true);
  return { fault: unlinked({ connection, organizationId }, at, ['files'], unread) };
}
