/**
 * Which organizations are asked for through which connections, and what a page or an answer that is not a document
 * becomes for whoever asked: a fault with its address. Each organization is asked for once, through one connection.
 */
import type { Answer, NoDocument } from '../model/answer';
import { wordsIn } from '../model/answer-words';
import type { Connection } from '../model/connection';
import { missingConsents, refusedConsent } from '../model/missing-consents';
import type { RawFault, RawListed, RawRead } from '../model/provider-data';
import { withoutAddresses } from '../model/without-addresses';
import { attributeRefusal, type Owner } from './attribute-refusal';
import type { Caller } from './caller';
import { type Claim, chooseConnection } from './choose-connection';
import type { Forbidden } from './classify';
import { withEmbeds } from './embed';
import { linksOf, unreadLinkOf } from './links';
import type { Operation, ProviderDoors } from './options';
import type { OrganizationResult, OrganizationSeen, Organizations } from './organizations';
import { type PageLimits, type Pages, type PartialEnd, partialDetail } from './pages';

export interface Reach {
  connection: Connection;
  /** null: whatever the connection sees. */
  organizationId: string | null;
}

export type Reached = { reach: Reach } | { fault: RawFault };

/**
 * Each organization with the connection that reads it; all that any connection sees when none is named. Those whose every
 * consent was refused are told as such.
 */
export function organizationReaches(doors: ProviderDoors, organizationIds: string[]): Reached[] {
  const connections = doors.connections();
  const valid = connections.filter(({ status }) => status === 'valid');
  const seen = valid.flatMap(({ connectionId }) => [...doors.sees(connectionId)]);
  const lost = lostOrganizations(doors, new Set(seen));
  const wanted = new Set(organizationIds.length > 0 ? organizationIds : [...seen, ...lost.keys()]);
  if (wanted.size === 0 || connections.length === 0)
    return [{ fault: nobody(doors, 'no valid connection sees an organization') }];
  return [...wanted].map((organizationId): Reached => {
    const claim = { connectionId: null, organizationId, hintedUser: null, hintedOrganizationId: null };
    const connection = chooseConnection(claim, connections, doors.sees);
    if (connection !== null) return { reach: { connection, organizationId } };
    const refused = lost.get(organizationId);
    if (refused !== undefined) return { fault: refusedConsent(refused, organizationId) };
    return {
      fault: unreachable(doors, organizationId, `no valid connection sees organization ${organizationId}`),
    };
  });
}

/**
 * Each valid connection, for what is known by its id alone, and after them the consents that were refused and are missed;
 * only the owner's where it is named.
 */
export function connectionReaches(doors: ProviderDoors, organizationId: string | null): Reached[] {
  if (organizationId !== null) return organizationReaches(doors, [organizationId]);
  const valid = doors.connections().filter(({ status }) => status === 'valid');
  if (valid.length === 0) return [{ fault: nobody(doors, 'there is no valid connection') }];
  const seen = new Set(valid.flatMap(({ connectionId }) => [...doors.sees(connectionId)]));
  const missed = new Set(lostOrganizations(doors, seen).values());
  return [
    ...valid.map((connection) => ({ reach: { connection, organizationId: null } })),
    ...[...missed].map((connection) => ({ fault: refusedConsent(connection, null) })),
  ];
}

/**
 * Each valid connection for what its user is shown, and after them each organization, since what a user is shown leaves out
 * without a word what belongs to one that is closed.
 */
export function everyReach(doors: ProviderDoors): Reached[] {
  const users = connectionReaches(doors, null).filter((reached) => 'reach' in reached);
  const organizations = organizationReaches(doors, []);
  // A user who sees no organization may be shown something all the same.
  return users.length === 0
    ? organizations
    : [...users, ...organizations.filter((one) => 'reach' in one || one.fault.organizationId !== null)];
}

/** An organization that can be looked through; why it cannot otherwise. */
export function openedOf(
  found: OrganizationResult,
  { connection, organizationId }: Reach,
): RawRead<OrganizationSeen> {
  const closed = (answer: NoDocument) => ({
    fault: faultOf(answer, null, organizationId),
  });
  if ('answer' in found) return closed(found.answer);
  const { organization } = found;
  if (organization === null) {
    const detail = `organization ${organizationId} is not listed to this user`;
    return closed({ kind: 'no-connection', detail });
  }
  if (!organization.unconnected) return { value: organization };
  const { connectionId } = connection;
  return closed({ kind: 'not-connected', actionUrl: organization.connectUrl, connectionId });
}

/** Organizations that only a refused consent sees, each with that connection. */
function lostOrganizations(doors: ProviderDoors, seen: ReadonlySet<string>): Map<string, Connection> {
  const lost = new Map<string, Connection>();
  for (const connection of doors.connections()) {
    if (connection.status === 'valid') continue;
    for (const id of doors.sees(connection.connectionId)) if (!seen.has(id)) lost.set(id, connection);
  }
  return lost;
}

/** Nothing can be asked: every consent was refused, or there is none. */
function nobody(doors: ProviderDoors, detail: string): RawFault {
  return missingConsents(doors.connections())[0] ?? unreachable(doors, null, detail);
}

/** Where a list could not be read nobody knows what it holds: that is a failure, and no absence. */
function unreachable(doors: ProviderDoors, organizationId: string | null, detail: string): RawFault {
  const unread = unlistedBy(doors);
  const answer = unread === '' ? ({ kind: 'no-connection', detail } as const) : null;
  return { answer, detail: `${detail}${unread}`, address: null, organizationId };
}

export function noConnection(
  { organizationId, hintedUser, hintedOrganizationId }: Claim,
  doors: ProviderDoors,
): Answer {
  // What the delivery claims is no reason then: only that user's connections were looked at.
  if (organizationId === null && hintedUser !== null)
    return { kind: 'no-connection', detail: 'the user of its subscription has no valid connection' };
  const owner = organizationId ?? hintedOrganizationId;
  const detail =
    owner === null
      ? 'no owner is known or named'
      : `no valid connection sees organization ${owner}${unlistedBy(doors)}`;
  return { kind: 'no-connection', detail };
}

/** Whose list may hold what nobody sees: the first of those that could not be read. */
function unlistedBy({ connections, unlisted = () => null }: ProviderDoors): string {
  const [first, ...others] = connections().flatMap(({ connectionId, status }) => {
    const why = status === 'valid' ? unlisted(connectionId) : null;
    return why === null ? [] : [`connection ${withoutAddresses(connectionId)}: ${why}`];
  });
  if (first === undefined) return '';
  return `; ${first}${others.length === 0 ? '' : `, and so of ${others.length} more`}`;
}

export interface ListParts {
  pages: Pages;
  organizations: Organizations;
}

export interface Walk {
  first: string;
  operation: Operation;
  reach: Reach;
  caller: Caller;
  embeds: readonly string[];
  /** Of the platform when left out. */
  limits?: PageLimits;
}

/** The items of a listing, page by page, each with its own address; what ends it before its end is its last line. */
export async function* itemsOf({ pages, organizations }: ListParts, walk: Walk): AsyncGenerator<RawListed> {
  const { operation, reach, caller, embeds, limits } = walk;
  const { connection, organizationId } = reach;
  // As it is asked for: a link that leads back to it is known by that.
  const first = withEmbedsOf(walk);
  let asked: string = first;
  const call: Caller['call'] = (question) => {
    const url = embeds.length === 0 ? question.url : withEmbeds(question.url, embeds);
    asked = url.href;
    return caller.call({ ...question, url });
  };
  for await (const page of pages({ first, operation, connection, call, ...(limits && { limits }) })) {
    if (page.partial) {
      const fault = await faultOfPage(page, asked, reach, organizations, caller);
      return yield { fault: { ...fault, organizationId } };
    }
    for (const body of page.values) {
      const address = linksOf(body).get('self') ?? asked;
      const { mediaType } = page;
      yield { item: { body, address, mediaType, connectionId: connection.connectionId } };
    }
  }
}

/** An address that cannot be parsed stays as it is, for the gate to refuse. */
function withEmbedsOf({ first, embeds }: Walk): string {
  const url = embeds.length === 0 ? null : URL.parse(first);
  return url === null ? first : withEmbeds(url, embeds).href;
}

async function faultOfPage(
  page: PartialEnd,
  address: string,
  reach: Reach,
  organizations: Organizations,
  caller: Caller,
): Promise<RawFault> {
  const { verdict } = page;
  const { organizationId } = reach;
  const detail = partialDetail(page);
  // Where it was not asked, only the listing knows which page it is about.
  if (verdict === null) return { answer: null, detail, address: page.address, organizationId };
  const answer = await answerOf(verdict, reach, organizations, caller);
  return { answer, detail, address, organizationId };
}

/** A verdict with a refusal laid where it belongs. */
export async function answerOf(
  verdict: NoDocument | Forbidden,
  { connection, organizationId }: Reach,
  organizations: Organizations,
  caller: Caller,
): Promise<NoDocument> {
  if (verdict.kind !== 'forbidden') return verdict;
  const owner: Owner = { organizationId, certain: organizationId !== null };
  const answer = await attributeRefusal(verdict, owner, connection, organizations, caller);
  return answer;
}

/** A fault in words, from an answer about one address. */
export function faultOf(answer: NoDocument, address: string | null, organizationId: string | null): RawFault {
  return { answer, detail: wordsIn(answer) ?? answer.kind, address, organizationId };
}

/** A relationship that is missing is not shared; one whose link cannot be read is a fault of the document at `address`. */
export function unlinked(
  { connection, organizationId }: Reach,
  address: string | null,
  rels: readonly string[],
  unread: ReadonlyMap<string, string> = new Map(),
): RawFault {
  const detail = unreadLinkOf(unread, rels);
  if (detail !== null)
    return { answer: null, detail: `${detail} (malformed-entry)`, address, organizationId };
  const { connectionId } = connection;
  const message = `there is no relationship \`${rels[0]}\`: none are shared`;
  return faultOf({ kind: 'no-access', connectionId, message }, address, organizationId);
}

/** The one fault that says most: a refusal over an absence, an absence over nothing. */
export function gravest(faults: RawFault[]): RawFault {
  const weights = ['action-required', 'reauthorize', 'not-connected', 'client-refused', 'no-access'];
  const weightOf = ({ answer }: RawFault) => {
    if (answer === null) return weights.length;
    const place = weights.indexOf(answer.kind);
    if (place >= 0) return place;
    return answer.kind === 'gone' || answer.kind === 'no-connection' ? 99 : weights.length;
  };
  return faults.reduce((worst, fault) => (weightOf(fault) < weightOf(worst) ? fault : worst));
}
