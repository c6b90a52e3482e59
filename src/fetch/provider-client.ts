/**
 * The provider as a client that follows its links: makes the parts of this room and joins them. Everything it answers
 * is classified; nothing is thrown. It decides nothing about tasks or organizations and stores nothing.
 */
import type { Answer, ReadCost } from '../model/answer';
import type { Connection } from '../model/connection';
import type { DueProbe } from '../model/organization';
import type { ProviderData } from '../model/provider-data';
import type { SubscriptionCalls } from '../model/subscription';
import type { ListingRequest } from '../model/sync';
import { type Line, makeAsk, makeHeardLine, makeLine } from './ask';
import { Attempt, type Pay } from './attempt';
import { makeCallers } from './caller';
import { makeCatalogs } from './catalogs';
import { chooseConnection } from './choose-connection';
import { makeHttpClient } from './client';
import { makeEquipmentAddresses } from './equipment-addresses';
import { makeGate } from './gate';
import { answerOfList, type ListingPage, makeListItems } from './listing';
import { lookAtEquipment } from './look-at-equipment';
import { makeOldEquipment } from './old-equipment';
import type { ProviderDoors, ProviderOptions } from './options';
import { makeOrganizations, type OrganizationSeen, organizationsOf } from './organizations';
import {
  makePages,
  noteUnreadable,
  type Page,
  type PartialReason,
  partialSentence,
  type Unreadable,
  unreadableSentence,
  withoutId,
} from './pages';
import { makePausingLine } from './pausing-line';
import { makeProbeOrganization } from './probe-organization';
import { makeProvenLine, type ShowToken } from './proven-line';
import { makeProviderData } from './provider-data';
import { noConnection } from './reach';
import { makeReadResource } from './read-resource';
import { makeReadThrough, type ReadRequest } from './read-through';
import { makeShowAgain } from './refused-again';
import { makeRelocate } from './relocate';
import { makeRenewingLine } from './renewing-line';
import { makeSigner } from './sign';
import { makeSubscriptionCalls } from './subscriptions';

/** A page of organizations; a partial end comes last and says that the listing was not followed to its end. */
export type OrganizationsPage =
  | { partial: false; organizations: OrganizationSeen[] }
  | {
      partial: true;
      reason: PartialReason;
      detail: string;
      /** What the failed call was answered, where one failed with an answer that has a meaning of its own. */
      answer: Answer | null;
    };

export interface ProviderClient {
  /** One attempt. A field operation and an equipment record are one call each while nothing is amiss. */
  read(request: ReadRequest, signal?: AbortSignal): Promise<{ answer: Answer; cost: ReadCost }>;
  /** One attempt. A success is `ok` or `not-modified`. */
  probe(probe: DueProbe, signal?: AbortSignal): Promise<Answer>;
  /**
   * Shows the provider again what it refused of connections that see nothing but what others read; rarely, however often
   * this is called. True where one counts as valid since.
   */
  showUnprobed(): Promise<boolean>;
  /** null when the complete listing of this connection does not hold it. */
  readOrganization(
    organizationId: string,
    connectionId: string,
    signal?: AbortSignal,
  ): Promise<{ organization: OrganizationSeen | null } | { answer: Answer }>;
  /** Streams the pages, each under a deadline of its own; at most `pagesMax`. */
  organizations(connectionId: string, signal?: AbortSignal): AsyncIterable<OrganizationsPage>;
  /**
   * One call of the equipment API: null where it was answered, else what came. Null as well where its records are read from
   * the older endpoints, to which links lead.
   */
  equipmentTrouble(connectionId: string, signal?: AbortSignal): Promise<string | null>;
  /** Streams the pages of one listing, as `organizations` does. */
  listing(request: ListingRequest, signal?: AbortSignal): AsyncIterable<ListingPage>;
  /** What is read and written on a person's behalf. */
  data: ProviderData;
  /** Webhook subscriptions and how they are delivered. */
  subscriptions: SubscriptionCalls;
  /** Closes every connection; reads under way end as `aborted`. */
  close(): void;
}

/** Throws `settings.invalid` when an address of the options is neither https nor http on a loopback literal. */
export function makeProviderClient(options: ProviderOptions, doors: ProviderDoors): ProviderClient {
  const { timeoutMs } = options;
  const parts = joinParts(options, doors);
  const { catalogs, callers, organizations, probeOrganization, showAgain } = parts;

  const connectionOf = (connectionId: string) => validConnection(doors, connectionId);
  const payOf = makePayOf(doors);
  const read = makeReadThrough({ ...parts, timeoutMs }, doors);

  async function probe(due: DueProbe, signal?: AbortSignal): Promise<Answer> {
    const claim = { ...due, hintedUser: null, hintedOrganizationId: null };
    const pay = payOf(due);
    let connection = chooseConnection(claim, doors.connections(), doors.sees);
    if (connection === null) {
      // Where no connection comes of it, the probe's first call stays unused, and is given back.
      await showAgain.ofProbe(due, async () => doors.payProbeCall?.());
      connection = chooseConnection(claim, doors.connections(), doors.sees);
    }
    if (connection === null) return noConnection(claim, doors);
    const attempt = new Attempt(timeoutMs, signal, pay);
    const result = await catalogs.of(connection, attempt);
    const answer = 'answer' in result ? result.answer : await probeOrganization(due, connection, attempt);
    attempt.end();
    return answer;
  }

  async function readOrganization(organizationId: string, connectionId: string, signal?: AbortSignal) {
    const connection = connectionOf(connectionId);
    if (connection === null) return { answer: unknownConnection(connectionId) };
    const attempt = new Attempt(timeoutMs, signal);
    const result = await organizations.find(organizationId, connection, callers.within(attempt));
    attempt.end();
    return result;
  }

  async function* list(connectionId: string, signal?: AbortSignal): AsyncGenerator<OrganizationsPage, void> {
    const connection = connectionOf(connectionId);
    if (connection === null) {
      const answer = unknownConnection(connectionId);
      return yield { partial: true, reason: 'call-failed', detail: answer.detail, answer };
    }
    yield* shownPages(organizations.list(connection, callers.alone(timeoutMs, signal)));
  }

  async function equipmentTrouble(connectionId: string, signal?: AbortSignal): Promise<string | null> {
    const connection = connectionOf(connectionId);
    if (connection === null || options.equipmentApi === 'old') return null;
    return lookAtEquipment(parts, connection, callers.alone(timeoutMs, signal));
  }

  const listing = (request: ListingRequest, signal?: AbortSignal) =>
    listItemsOf(parts, request, timeoutMs, connectionOf(request.connectionId), signal);
  const close = () => parts.client.close();
  const data = makeProviderData({ options, doors, ...parts });
  const subscriptions = makeSubscriptionCalls({ ...parts, connectionOf, timeoutMs });
  const showUnprobed = showAgain.ofUnprobed;
  const listed = { organizations: list, equipmentTrouble, listing };
  const reading = { read, probe, showUnprobed, readOrganization, ...listed };
  return { ...reading, data, subscriptions, close };
}

/** Without what is no organization: that there was something says the last page. */
async function* shownPages(pages: AsyncIterable<Page>): AsyncGenerator<OrganizationsPage, void> {
  let unreadable: Unreadable | null = null;
  for await (const page of pages) {
    if (page.partial) {
      const { reason, verdict } = page;
      const answer = verdict?.kind === 'forbidden' && !verdict.client ? null : answerOfList(verdict);
      return yield { partial: true, reason, detail: partialSentence(page), answer };
    }
    unreadable = noteUnreadable(unreadable, page, (value) =>
      organizationsOf({ ...page, values: [value] }).length > 0 ? null : withoutId(value),
    );
    yield { partial: false, organizations: organizationsOf(page) };
  }
  if (unreadable === null) return;
  yield { partial: true, reason: 'malformed-entry', detail: unreadableSentence(unreadable), answer: null };
}

/** What each call of a probe waits for. Whoever took it has paid for the first. */
function makePayOf({ payProbeCall }: ProviderDoors): (due: DueProbe) => Pay {
  const begun = new WeakSet<DueProbe>();
  return (due) => async () => {
    if (begun.has(due)) await payProbeCall?.();
    else begun.add(due);
  };
}

function validConnection({ connections }: ProviderDoors, connectionId: string): Connection | null {
  const found = connections().find((connection) => connection.connectionId === connectionId);
  return found?.status === 'valid' ? found : null;
}

async function* listItemsOf(
  { listItems, callers }: ReturnType<typeof joinParts>,
  request: ListingRequest,
  timeoutMs: number,
  connection: Connection | null,
  signal?: AbortSignal,
): AsyncGenerator<ListingPage, void> {
  if (connection === null) {
    const answer = unknownConnection(request.connectionId);
    return yield { partial: true, reason: 'call-failed', detail: answer.detail, answer };
  }
  yield* listItems(request, connection, callers.alone(timeoutMs, signal));
}

function joinParts(options: ProviderOptions, doors: ProviderDoors) {
  const { catalogUrl, equipmentUrl, origins, issuer, timeoutMs, pagesMax } = options;
  const { clock } = doors;
  const gate = makeGate([catalogUrl, equipmentUrl, ...origins], issuer);
  const catalogAddress = new URL(catalogUrl);
  const catalogOrigin = catalogAddress.origin;
  const equipment = makeEquipmentAddresses(equipmentUrl);
  const client = makeHttpClient(options);
  const signer = makeSigner({ ...options, clock });
  const sent = makeLine({ options, doors, client, signer, isEquipment: equipment.holds });
  const { renewal, pause } = doors;
  const plain = pause === undefined ? sent : makePausingLine(sent, pause, clock);
  const renewed = (calls: Line, show: ShowToken) =>
    renewal === undefined ? calls : makeRenewingLine(calls, renewal, show, clock);
  const proven = makeProvenLine({ plain, renewed, catalogUrl: catalogAddress, timeoutMs });
  const line = doors.refused === undefined ? proven : makeHeardLine(proven, doors.refused);
  const ask = makeAsk(line);
  const catalogs = makeCatalogs({
    catalogUrl: catalogAddress,
    timeoutMs,
    ask,
    gate,
    connections: doors.connections,
    nowMs: clock.nowMs,
  });
  const pages = makePages(gate, pagesMax);
  const callers = makeCallers(ask, catalogs);
  const organizations = makeOrganizations(gate, pages, catalogOrigin);
  const oldEquipment =
    options.equipmentApi === 'old'
      ? makeOldEquipment({ gate, pages, organizations, catalogOrigin, clock })
      : null;
  const listItems = makeListItems({ vendor: options.vendor, gate, pages, equipment, oldEquipment });
  const relocate = makeRelocate({ gate, pages, organizations, equipment, catalogOrigin, clock });
  const { equipmentRecords = async () => [] } = doors;
  const reading = { ask, callers, organizations, relocate, equipment, equipmentRecords };
  const readResource = makeReadResource({ ...reading, oldEquipment });
  const readWrittenEquipment = makeReadResource({ ...reading, oldEquipment: null });
  const probeOrganization = makeProbeOrganization({
    ask,
    gate,
    callers,
    organizations,
    readResource,
    sees: doors.sees,
  });
  return {
    gate,
    client,
    line,
    catalogs,
    pages,
    callers,
    organizations,
    equipment,
    oldEquipment,
    relocate,
    readResource,
    readWrittenEquipment,
    probeOrganization,
    listItems,
    showAgain: makeShowAgain(options, doors, proven.show),
  };
}

function unknownConnection(connectionId: string) {
  return { kind: 'no-connection', detail: `no valid connection ${connectionId}` } as const;
}
