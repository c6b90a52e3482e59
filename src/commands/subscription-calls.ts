/**
 * Webhook subscriptions through the running service. What is wanted goes as a body, so that an Authorization value stands
 * in no address.
 */
import type { Listed } from '../model/provider-data';
import type { SubscriptionsApi, SubscriptionView } from '../model/subscription';

/** Resolves to the parsed answer; throws problems. */
type Ask = <Answer>(method: 'GET' | 'POST', path: string, body?: unknown) => Promise<Answer>;

type List = <Item>(path: string) => AsyncIterable<Listed<Item>>;

export function makeSubscriptionApiCalls(ask: Ask, list: List): SubscriptionsApi {
  const at = (id: string) => `/api/subscriptions/${encodeURIComponent(id)}`;
  return {
    list: () => list<SubscriptionView>('/api/subscriptions'),
    create: (wanted) => ask('POST', '/api/subscriptions', wanted),
    renew: (id) => ask('POST', `${at(id)}/renew`),
    end: (id) => ask('POST', `${at(id)}/end`),
    delivery: () => ask('GET', '/api/delivery'),
    setDelivery: (wanted) => ask('POST', '/api/delivery', wanted),
  };
}
