/**
 * The machine and implement endpoints before the equipment API: where an organization lists them, and where a record
 * with an id stands, as their relationships and links say it. Read only where the operator has chosen them.
 */
import type { NoDocument } from '../model/answer';
import type { Connection } from '../model/connection';
import type { Clock } from '../tools/clock';
import { type AddressPattern, addressOf, believedForMs, patternOf } from './address-pattern';
import type { Caller } from './caller';
import { oldEquipmentEmbeds, withEmbeds } from './embed';
import type { Gate } from './gate';
import { linksOf, unreadLinkOf } from './links';
import { type OrganizationSeen, type Organizations, organizationsOf } from './organizations';
import { idOf, type Pages } from './pages';
import {
  graver,
  isLocal,
  type Unseen,
  unseenAmong,
  unseenAs,
  unseenBehind,
  unseenIn,
  unseenItem,
  unsharedOf,
} from './unseen';
import { type Way, waitingAnswer } from './waiting-answer';

/** Said where one of their lists is not there: the provider takes them back one day. */
export const mayHaveEnded = 'the older endpoints may have ended: PROVIDER_EQUIPMENT_API=new';

export interface OldEquipment {
  /**
   * First pages of an organization's machines and implements, archived ones too; links to them that may not be followed,
   * as received; and what of them is not shared.
   */
  listings(
    organizationId: string,
    connection: Connection,
    caller: Caller,
  ): Promise<{ addresses: string[]; refused: string[]; unshared: string[] } | { answer: NoDocument }>;
  /**
   * Where a record may stand: among the machines, then among the implements. `kind`: it was one of these when it was last
   * seen; null: that is not known. `fresh`: links have moved since. `unseen`: it may stand elsewhere, where nothing could
   * be read; null where all was.
   */
  places(
    sought: SoughtRecord,
    connection: Connection,
    caller: Caller,
  ): Promise<{ urls: URL[]; unseen: Unseen | null } | { answer: NoDocument }>;
}

export type OldKind = (typeof rels)[number];

export interface SoughtRecord {
  id: string;
  organizationId: string | null;
  kind: OldKind | null;
  fresh: boolean;
}

export interface OldEquipmentParts {
  gate: Gate;
  pages: Pages;
  organizations: Organizations;
  catalogOrigin: string;
  clock: Clock;
}

/** What lists say of where a record stands. */
interface Found {
  patterns: AddressPattern[];
  /** Its own, where it was met itself. */
  urls: URL[];
  unseen: Unseen | null;
}

interface Looking {
  connection: Connection;
  caller: Caller;
  way: Way;
}

interface Learned {
  learnedAtMs: number;
  patterns: AddressPattern[];
}

const rels = ['machines', 'implements'] as const;
const recordPath = /\/(machines|implements)\/[^/]+\/?$/i;

/** True for a record of these endpoints. */
export function isOldRecord(url: URL): boolean {
  return recordPath.test(url.pathname);
}

/** What stands at an address of these endpoints; null for any other. */
export function oldKindOf(url: URL): OldKind | null {
  return (recordPath.exec(url.pathname)?.[1]?.toLowerCase() as OldKind | undefined) ?? null;
}

/** As each page of such a list is asked for, also where a link to it says less; changes and returns the address. */
export function asListed(url: URL): URL {
  withEmbeds(url, oldEquipmentEmbeds);
  if (url.searchParams.get('includeInactive') !== 'true') url.searchParams.set('includeInactive', 'true');
  return url;
}

/** The lists without which nothing is known of a record. */
export function listsOf(kind: OldKind | null): readonly OldKind[] {
  return kind === null ? rels : [kind];
}

interface SharedList {
  rel: OldKind;
  first: string;
  admitted: boolean;
}

/** First pages of what an organization shares: admitted addresses, with what is asked for beside a record; then others. */
function sharedLists(gate: Gate, organization: OrganizationSeen | null): SharedList[] {
  const lists = rels.flatMap((rel): SharedList | [] => {
    const link = organization?.links.get(rel);
    if (link === undefined) return [];
    const admission = gate.admit(link);
    if (!admission.admitted) return { rel, first: link, admitted: false };
    const url = asListed(admission.url);
    return { rel, first: url.href, admitted: true };
  });
  return lists.sort((one, other) => Number(other.admitted) - Number(one.admitted));
}

/** Looks through lists for where a record stands. */
function makeLookAny({ gate, pages, organizations }: OldEquipmentParts) {
  /** One list, as far as it must be read to say where a record with that id stands among its kind. */
  async function look(first: string, id: string, owner: string, { connection, caller, way }: Looking) {
    const found: Found = { patterns: [], urls: [], unseen: null };
    for await (const page of pages({ first, operation: 'relocation', connection, call: caller.call })) {
      if (page.partial) return { ...found, unseen: found.unseen ?? unseenBehind(page, way) };
      found.unseen ??= unseenAmong(page, way);
      for (const item of page.values) {
        const listedId = idOf(item);
        if (listedId === null) continue;
        const self = linksOf(item).get('self');
        const admission = gate.admit(self);
        const pattern = admission.admitted ? patternOf(self, listedId, [owner]) : null;
        if (pattern !== null) return { ...found, patterns: [pattern], unseen: null };
        if (listedId !== id) continue;
        if (admission.admitted) return { ...found, urls: [admission.url], unseen: null };
        return { ...found, unseen: unseenItem(item, admission.detail, way) };
      }
    }
    return found;
  }

  /** The forms of addresses, one for each kind that an organization has at least one record of. */
  async function lookIn(
    organization: OrganizationSeen,
    { id, kind }: Pick<SoughtRecord, 'id' | 'kind'>,
    looking: Looking,
  ): Promise<Found> {
    const found: Found = { patterns: [], urls: [], unseen: null };
    for (const { rel, first } of sharedLists(gate, organization)) {
      if (listsOf(kind).includes(rel)) add(found, await look(first, id, organization.id, looking));
    }
    found.unseen = graver(found.unseen, unsharedOf(organization, listsOf(kind), looking.way));
    return found;
  }

  async function lookAny(
    sought: Omit<SoughtRecord, 'fresh'>,
    looking: Looking,
  ): Promise<Found | { answer: NoDocument }> {
    const { connection, caller, way } = looking;
    const { organizationId } = sought;
    if (organizationId !== null) {
      const listed = await organizations.find(organizationId, connection, caller);
      if ('answer' in listed) return listed;
      const { organization } = listed;
      const nothing: Found = { patterns: [], urls: [], unseen: null };
      return organization === null ? nothing : lookIn(organization, sought, looking);
    }
    const found: Found = { patterns: [], urls: [], unseen: null };
    for await (const page of organizations.list(connection, caller)) {
      const hidden = page.partial ? unseenBehind(page, way) : unseenAmong(page, way);
      found.unseen = graver(found.unseen, hidden);
      for (const organization of page.partial ? [] : organizationsOf(page)) {
        const inside = await lookIn(organization, sought, looking);
        const failed = inside.unseen?.failed === true && !isLocal(inside.unseen.answer);
        // An organization that is closed to us hides its own, not those of the others.
        if (!failed && inside.unseen !== null) inside.unseen = unseenIn(organization.id, inside.unseen, way);
        add(found, inside);
        // By the form of each kind whatever there is can be asked for.
        if (found.patterns.length === listsOf(sought.kind).length) return { ...found, unseen: null };
        if (found.urls.length > 0 || failed) return found;
      }
    }
    return found;
  }

  return lookAny;
}

/** Neither verb rejects. */
export function makeOldEquipment(parts: OldEquipmentParts): OldEquipment {
  const { gate, organizations, catalogOrigin, clock } = parts;
  const learnedOf = new Map<string, Learned>();
  const lookAny = makeLookAny(parts);

  return {
    async listings(organizationId, connection, caller) {
      const found = await organizations.find(organizationId, connection, caller);
      if ('answer' in found) return found;
      const { organization } = found;
      const unshared = rels.filter((rel) => organization?.links.get(rel) === undefined);
      const unread = unshared.length === 0 ? null : unreadLinkOf(organization?.unread ?? new Map(), unshared);
      if (unread !== null) {
        const { connectionId } = connection;
        const way = { code: 'organization-unavailable', origin: catalogOrigin, connectionId } as const;
        return { answer: waitingAnswer(way, unread) };
      }
      const lists = sharedLists(gate, organization);
      const addressesOf = (kept: boolean) =>
        lists.flatMap(({ first, admitted }) => (admitted === kept ? first : []));
      return { addresses: addressesOf(true), refused: addressesOf(false), unshared };
    },
    async places({ fresh, ...sought }, connection, caller) {
      const { id } = sought;
      const { connectionId } = connection;
      const way: Way = { code: 'relocation-incomplete', origin: catalogOrigin, connectionId };
      const kept = learnedOf.get(connectionId);
      let found: Found = { patterns: kept?.patterns ?? [], urls: [], unseen: null };
      if (fresh || kept === undefined || clock.nowMs() - kept.learnedAtMs >= believedForMs) {
        const result = await lookAny(sought, { connection, caller, way });
        if ('answer' in result) return result;
        found = result;
        // One kind alone may be all that this organization has; another asks again.
        if (found.patterns.length === rels.length) {
          learnedOf.set(connectionId, { learnedAtMs: clock.nowMs(), patterns: found.patterns });
        }
      }
      const { urls, patterns } = found;
      let { unseen } = found;
      for (const pattern of patterns) {
        const admission = gate.admit(addressOf(pattern, id));
        if (admission.admitted) urls.push(admission.url);
        else unseen = graver(unseen, unseenAs(`its address cannot be used: ${admission.detail}`, way));
      }
      return { urls, unseen };
    },
  };
}

/** Each kind has one form. */
function add(found: Found, { patterns, urls, unseen }: Found): void {
  found.patterns = [...new Set([...found.patterns, ...patterns])];
  found.urls.push(...urls);
  found.unseen = graver(found.unseen, unseen);
}
