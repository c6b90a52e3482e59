/**
 * Organizations as the provider lists them to one user, blocked and unconnected ones too: the listing page by page, and
 * one of them by its id. Addresses come from the catalog and from the items' own links.
 */
import type { NoDocument } from '../model/answer';
import type { Connection } from '../model/connection';
import { pageAddress } from '../model/page-address';
import { shownAddress } from '../model/shown-address';
import { type AddressPattern, addressOf, patternOf } from './address-pattern';
import type { Caller } from './caller';
import type { Catalog } from './catalogs';
import { followMoves } from './follow-moves';
import type { Gate } from './gate';
import { linksOf, unreadLinkOf, unreadLinksOf } from './links';
import {
  idOf,
  noteUnreadable,
  type Page,
  type Pages,
  partialSentence,
  type Unreadable,
  unreadableSentence,
  type WholePage,
  withoutId,
} from './pages';
import { makeShownIds } from './shown-ids';
import { answerOnTheWay, type Way, waitingAnswer } from './waiting-answer';

export interface OrganizationSeen {
  id: string;
  name: string | null;
  /** True when the customer has not connected it: it carries a `connections` link. */
  unconnected: boolean;
  /** Where a person connects it; null when it is connected, or the link leads nowhere. */
  connectUrl: string | null;
  /** Where a person looks after its connection; null when it is not connected, or the link leads nowhere. */
  manageUrl: string | null;
  /** Relationship → address, as received. */
  links: ReadonlyMap<string, string>;
  /** Relationship → why its link cannot be read, and where that stood; under `''` where that may be any of them. */
  unread: ReadonlyMap<string, string>;
}

/** `organization` is null when the complete listing does not hold it: this user does not see it. */
export type OrganizationResult = { organization: OrganizationSeen | null } | { answer: NoDocument };

export interface Organizations {
  /**
   * Page after page, none of them twice; a partial end comes last. Where a page is not found, from the beginning with a
   * fresh catalog: once where it is the first, at most 3 times where it is a later one.
   */
  list(connection: Connection, caller: Caller): AsyncGenerator<Page, void>;
  /** One call once the form of the addresses is learned; through the listing otherwise, and where that call fails. */
  find(id: string, connection: Connection, caller: Caller): Promise<OrganizationResult>;
}

export function makeOrganizations(gate: Gate, pages: Pages, catalogOrigin: string): Organizations {
  const patterns = new Map<string, AddressPattern>();

  /** Through the learned form; null when that leads nowhere and the listing must tell. */
  async function findDirectly(
    id: string,
    connection: Connection,
    caller: Caller,
  ): Promise<OrganizationResult | null> {
    const pattern = patterns.get(connection.connectionId);
    const admission = pattern === undefined ? null : gate.admit(addressOf(pattern, id));
    if (!admission?.admitted) return null;
    const verdict = await caller.call({ url: admission.url, operation: 'organization', connection });
    switch (verdict.kind) {
      case 'ok': {
        const organization = organizationOf(verdict.document.body, verdict.document.address);
        return organization?.id === id ? { organization } : null;
      }
      case 'gone':
        patterns.delete(connection.connectionId);
        return null;
      case 'forbidden':
      case 'refused':
        // Its record is refused, but the listing may still show it.
        return null;
      default:
        return { answer: verdict };
    }
  }

  async function findListed(id: string, connection: Connection, caller: Caller): Promise<OrganizationResult> {
    const { connectionId } = connection;
    const way: Way = { code: 'organization-unavailable', origin: catalogOrigin, connectionId };
    let unread: Unreadable | null = null;
    for await (const page of list(connection, caller)) {
      if (page.partial) {
        const { verdict } = page;
        return {
          answer: verdict === null ? waitingAnswer(way, partialSentence(page)) : answerOnTheWay(verdict, way),
        };
      }
      for (const organization of organizationsOf(page)) {
        const self = organization.links.get('self');
        const pattern = gate.admit(self).admitted ? patternOf(self, organization.id) : null;
        if (pattern !== null) patterns.set(connectionId, pattern);
        if (organization.id === id) return { organization };
      }
      unread = noteUnreadable(unread, page, (value) =>
        organizationOf(value, page.address) === null ? withoutId(value) : null,
      );
    }
    // What names nothing may be the one that is looked for.
    return unread === null
      ? { organization: null }
      : { answer: waitingAnswer(way, unreadableSentence(unread)) };
  }

  /** A catalog that was kept may be older than the relationship. */
  async function* listFrom(connection: Connection, caller: Caller, fresh: boolean): AsyncGenerator<Page> {
    const result = await caller.catalog(connection, fresh);
    if ('answer' in result) return yield unlisted('call-failed', 'catalog', result.answer);
    const first = result.catalog.links.get('organizations');
    if (first === undefined && !fresh) return yield* listFrom(connection, caller, true);
    if (first === undefined) return yield unshown(result.catalog);
    yield* pages({ first, operation: 'organizations', connection, call: caller.call });
  }

  async function* list(connection: Connection, caller: Caller): AsyncGenerator<Page, void> {
    const isNew = makeShownIds();
    const isGone = (page: Page) => page.partial && page.verdict?.kind === 'gone';
    for await (const page of followMoves((fresh) => listFrom(connection, caller, fresh), isGone)) {
      yield page.partial ? page : { ...page, values: page.values.filter((value) => isNew(idOf(value))) };
    }
  }

  return {
    list,
    find: async (id, connection, caller) =>
      (await findDirectly(id, connection, caller)) ?? (await findListed(id, connection, caller)),
  };
}

function unshown({ unread, address }: Catalog): Page {
  const trouble = unreadLinkOf(unread, ['organizations']) ?? 'expected a link `organizations`, got none';
  return { ...unlisted('no-listing', `the catalog: ${trouble}`, null), address };
}

/** The organizations of a page; what has no id is left out. */
export function organizationsOf({
  values,
  address,
}: Pick<WholePage, 'values' | 'address'>): OrganizationSeen[] {
  return values.flatMap((value) => organizationOf(value, address) ?? []);
}

/** `address`: where it was read. */
function organizationOf(value: unknown, address: string): OrganizationSeen | null {
  const id = idOf(value);
  if (id === null) return null;
  const { name } = value as { name?: unknown };
  const links = linksOf(value);
  const unread = unreadLinksOf(value);
  const where = shownAddress(links.get('self') ?? address) ?? 'no readable address';
  return {
    id,
    name: typeof name === 'string' ? name : null,
    // Also where its link cannot be read: no other organization has one.
    unconnected: links.has('connections') || unread.has('connections'),
    connectUrl: pageAddress(links.get('connections')),
    manageUrl: pageAddress(links.get('manage_connections')),
    links,
    unread: new Map([...unread].map(([rel, words]) => [rel, `${words} at ${where}`])),
  };
}

function unlisted(reason: 'call-failed' | 'no-listing', detail: string, verdict: NoDocument | null): Page {
  return {
    partial: true,
    reason,
    detail,
    page: 0,
    address: null,
    verdict,
  };
}
