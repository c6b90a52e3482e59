/**
 * Webhook subscriptions and the client's one delivery settings, each through the connection that the caller chose: where
 * they stand is found by the catalog's relationships. Nothing is remembered, no secret is looked at.
 */
import type { Connection } from '../model/connection';
import type { RawItem, RawListed, RawRead } from '../model/provider-data';
import type { ListedSubscription, SubscriptionCalls } from '../model/subscription';
import type { Caller, Callers } from './caller';
import { followMoves } from './follow-moves';
import type { Gate } from './gate';
import { linksOf, unreadLinkOf } from './links';
import type { Organizations } from './organizations';
import type { Pages } from './pages';
import { answerOf, faultOf, itemsOf, type Reach } from './reach';
import { asUnanswered, makeWriteDocument, type WriteParts } from './write-document';

export interface SubscriptionParts extends WriteParts {
  gate: Gate;
  callers: Callers;
  pages: Pages;
  organizations: Organizations;
  /** null unless it is valid. */
  connectionOf(connectionId: string): Connection | null;
}

type Relation = 'eventSubscriptions' | 'eventSubscriptionDelivery';

/** Where the two stand for a connection. */
function makePlaces({ callers, timeoutMs, connectionOf }: SubscriptionParts) {
  function reachOf(connectionId: string): RawRead<Reach> {
    const connection = connectionOf(connectionId);
    if (connection !== null) return { value: { connection, organizationId: null } };
    const detail = `no valid connection ${connectionId}`;
    return { fault: faultOf({ kind: 'no-connection', detail }, null, null) };
  }

  async function addressOf(
    relation: Relation,
    { connection }: Reach,
    fresh: boolean,
  ): Promise<RawRead<string>> {
    const result = await callers.alone(timeoutMs).catalog(connection, fresh);
    if ('answer' in result) return { fault: faultOf(result.answer, null, null) };
    const address = result.catalog.links.get(relation);
    if (address !== undefined) return { value: address };
    // A catalog that was kept may be older than the relationship.
    if (!fresh) return addressOf(relation, { connection, organizationId: null }, true);
    const { address: at, unread } = result.catalog;
    const trouble = unreadLinkOf(unread, [relation]) ?? `expected a link \`${relation}\`, got none`;
    return { fault: { answer: null, detail: `the catalog: ${trouble}`, address: at, organizationId: null } };
  }

  /** Once more with a fresh catalog where the address is not there any more. */
  async function at<Value>(
    relation: Relation,
    connectionId: string,
    ask: (address: string, reach: Reach) => Promise<RawRead<Value>>,
  ): Promise<RawRead<Value>> {
    const reached = reachOf(connectionId);
    if ('fault' in reached) return reached;
    const address = await addressOf(relation, reached.value, false);
    if ('fault' in address) return address;
    const result = await ask(address.value, reached.value);
    if (!isGone(result)) return result;
    const again = await addressOf(relation, reached.value, true);
    return 'fault' in again ? again : ask(again.value, reached.value);
  }

  return { reachOf, addressOf, at };
}

export function makeSubscriptionCalls(parts: SubscriptionParts): SubscriptionCalls {
  const { callers, timeoutMs } = parts;
  const { reachOf, addressOf, at } = makePlaces(parts);
  const write = makeWriteDocument(parts);

  async function* listFrom(reach: Reach, fresh: boolean): AsyncGenerator<RawListed> {
    const address = await addressOf('eventSubscriptions', reach, fresh);
    if ('fault' in address) return yield address;
    const caller = callers.alone(timeoutMs);
    yield* itemsOf(parts, { first: address.value, operation: 'subscriptions', reach, caller, embeds: [] });
  }

  async function* list(connectionId: string): AsyncGenerator<ListedSubscription> {
    const reached = reachOf(connectionId);
    if ('fault' in reached) return yield reached;
    for await (const line of followMoves((fresh) => listFrom(reached.value, fresh), isGone)) {
      yield 'fault' in line
        ? line
        : { item: { ...line.item, self: linksOf(line.item.body).get('self') ?? null } };
    }
  }

  const operation = 'subscription-write';
  return {
    list,
    create: (connectionId, body) =>
      at('eventSubscriptions', connectionId, async (address, reach) => {
        const created = await write({ method: 'POST', address, operation, body }, reach);
        if ('fault' in created) return { fault: asUnanswered(created.fault, 'subscriptions list') };
        return { value: { body: created.value.body, address } };
      }),
    async change(connectionId, address, body) {
      const reached = reachOf(connectionId);
      if ('fault' in reached) return reached;
      const changed = await write({ method: 'PUT', address, operation, body }, reached.value);
      return 'fault' in changed ? changed : { value: null };
    },
    delivery: (connectionId) =>
      at('eventSubscriptionDelivery', connectionId, (address, reach) => readOne(parts, address, reach)),
    changeDelivery: async (connectionId, body) => {
      const changed = await at('eventSubscriptionDelivery', connectionId, (address, reach) =>
        write({ method: 'PATCH', address, operation, body }, reach),
      );
      return 'fault' in changed ? changed : { value: null };
    },
  };
}

/** One document at its own address. */
async function readOne(
  { gate, callers, organizations, timeoutMs }: SubscriptionParts,
  address: string,
  reach: Reach,
): Promise<RawRead<RawItem>> {
  const admission = gate.admit(address);
  if (!admission.admitted) {
    const { code, detail } = admission;
    return { fault: faultOf({ kind: 'address-refused', code, detail }, address, null) };
  }
  const { connection } = reach;
  const caller: Caller = callers.alone(timeoutMs);
  const verdict = await caller.call({ url: admission.url, operation: 'subscriptions', connection });
  if (verdict.kind !== 'ok') {
    return { fault: faultOf(await answerOf(verdict, reach, organizations, caller), address, null) };
  }
  const { body, mediaType } = verdict.document;
  return { value: { body, address, mediaType, connectionId: connection.connectionId } };
}

function isGone(read: RawListed | RawRead<unknown>): boolean {
  return 'fault' in read && read.fault.answer?.kind === 'gone';
}
