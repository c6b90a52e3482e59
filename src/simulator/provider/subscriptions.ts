// Webhook subscriptions: create, list, read, renew, end; and the client's one delivery settings.
// Promises that nothing becomes active before its address has accepted the verification, and no DELETE: one ends a
// subscription with PUT `status: "Terminated"`.
import type { Router } from 'express';
import type { JsonObject } from '../json';
import type { Dispatch } from '../webhooks/dispatch';
import type { Subscription, Subscriptions } from '../webhooks/subscriptions';
import { route, routeLater } from './entry';
import type { Answer, Exchange } from './exchange';
import { answerList } from './listing';
import { type Provider, userWith } from './provider';
import { invalid, type Problem, Refusal } from './refusal';
import { jsonObject } from './request-body';
import { EVENT_TYPES, readChange, readDelivery, readNew } from './subscription-body';

export interface SubscriptionParts {
  provider: Provider;
  subscriptions: Subscriptions;
  dispatch: Dispatch;
}

export function serveSubscriptions(router: Router, parts: SubscriptionParts): void {
  const { provider, subscriptions } = parts;
  const { addresses, coverage } = provider;
  router.post(
    '/eventSubscriptions',
    routeLater((exchange) => create(parts, exchange)),
  );
  router.get(
    '/eventSubscriptions',
    route((exchange) => {
      const user = userWith(provider, exchange, 'ag1');
      coverage.count('subscriptions-list');
      const own = subscriptions.list.filter((one) => one.user === user);
      return answerList(provider, exchange, new URLSearchParams(exchange.query), {
        address: addresses.platform('/eventSubscriptions'),
        entries: (from, to) => own.slice(from, to),
        total: own.length,
        record: (subscription) => subscriptionRecord(provider, subscription),
      });
    }),
  );
  router.get(
    '/eventSubscriptions/:id',
    route((exchange, { id }) => {
      const subscription = ownSubscription(parts, exchange, id!);
      coverage.count('subscription-get');
      return { json: subscriptionRecord(provider, subscription) };
    }),
  );
  router.put(
    '/eventSubscriptions/:id',
    routeLater((exchange, { id }) => change(parts, exchange, id!)),
  );
  router.delete(
    '/eventSubscriptions/:id',
    route((exchange, { id }) => {
      ownSubscription(parts, exchange, id!);
      coverage.count('subscription-delete-refused');
      throw new Refusal(403, 'Access Denied');
    }),
  );
  serveDelivery(router, parts);
}

function serveDelivery(router: Router, { provider, subscriptions, dispatch }: SubscriptionParts): void {
  const { accounts, addresses, coverage } = provider;
  router.get(
    '/eventSubscriptionDelivery',
    route((exchange) => {
      userWith(provider, exchange, 'ag1');
      coverage.count('delivery-get');
      return {
        json: {
          clientKey: accounts.clientKey,
          ...subscriptions.delivery,
          links: [{ rel: 'self', uri: addresses.platform('/eventSubscriptionDelivery') }],
        },
      };
    }),
  );
  router.patch(
    '/eventSubscriptionDelivery',
    route((exchange) => {
      userWith(provider, exchange, 'ag1');
      const problems: Problem[] = [];
      const changed = readDelivery(jsonObject(exchange), subscriptions.delivery, problems);
      if (problems.length > 0) throw invalid(problems);
      coverage.count('delivery-change');
      Object.assign(subscriptions.delivery, changed);
      dispatch.settle();
      return { status: 204 };
    }),
  );
}

async function create(parts: SubscriptionParts, exchange: Exchange): Promise<Answer> {
  const { provider, subscriptions, dispatch } = parts;
  const user = userWith(provider, exchange, 'ag1');
  const problems: Problem[] = [];
  const given = readNew(jsonObject(exchange), problems);
  if (problems.length > 0) throw invalid(problems);
  userWith(provider, exchange, EVENT_TYPES[given.eventTypeId]!.scope);
  for (const { key, values } of given.filters) {
    if (key !== 'orgId') continue;
    for (const id of values) {
      const organization = provider.world.organizations.find(id);
      if (!organization || !provider.accounts.sees(user, organization.index))
        throw new Refusal(403, 'Access Denied');
    }
  }
  if (subscriptions.isFull) throw new Refusal(400, 'There are too many subscriptions.');
  const candidate: Subscription = { id: 'unverified', status: 'Active', user, ...given };
  await verified(dispatch, candidate);
  provider.coverage.count('subscription-create');
  const subscription = subscriptions.add({ user, ...given });
  return {
    status: provider.settings.createdStatus,
    json: subscriptionRecord(provider, subscription),
    headers: { Location: provider.addresses.platform(`/eventSubscriptions/${subscription.id}`) },
  };
}

/** Renewing and a new address are verified; ending is not. */
async function change(parts: SubscriptionParts, exchange: Exchange, id: string): Promise<Answer> {
  const { provider, dispatch } = parts;
  const subscription = ownSubscription(parts, exchange, id);
  const problems: Problem[] = [];
  const changed = readChange(jsonObject(exchange), subscription, problems);
  if (problems.length > 0) throw invalid(problems);
  const renews = changed.status === 'Active' && subscription.status !== 'Active';
  const moves = changed.uri !== subscription.uri;
  if (changed.status === 'Active' && (renews || moves))
    await verified(dispatch, { ...subscription, ...changed });
  if (changed.status === 'Terminated') provider.coverage.count('subscription-end');
  else provider.coverage.count(renews ? 'subscription-renew' : 'subscription-change');
  Object.assign(subscription, changed);
  return { status: 204 };
}

async function verified(dispatch: Dispatch, candidate: Subscription): Promise<void> {
  if (await dispatch.verify(candidate)) return;
  throw new Refusal(400, 'The target endpoint did not accept the verification.', {
    field: 'targetEndpoint.uri',
    value: candidate.uri,
  });
}

/** Subscriptions belong to the user who made them. */
function ownSubscription(
  { provider, subscriptions }: SubscriptionParts,
  exchange: Exchange,
  id: string,
): Subscription {
  const user = userWith(provider, exchange, 'ag1');
  const subscription = subscriptions.find(id);
  if (subscription?.user === user) return subscription;
  throw new Refusal(404, 'The requested resource was not found');
}

function subscriptionRecord({ accounts, addresses }: Provider, subscription: Subscription): JsonObject {
  const { id, eventTypeId, filters, uri, status, displayName, token, user } = subscription;
  return {
    id,
    clientKey: accounts.clientKey,
    eventTypeId,
    filters: filters.map(({ key, values }) => ({ key, values: [...values] })),
    targetEndpoint: { targetType: 'https', uri },
    status,
    ...(displayName === undefined ? {} : { displayName }),
    ...(token === undefined ? {} : { token }),
    links: [
      { rel: 'user', uri: addresses.platform(`/users/${user.name}`) },
      { rel: 'self', uri: addresses.platform(`/eventSubscriptions/${id}`) },
    ],
  };
}
