/**
 * Webhook subscriptions through the running service. What is wanted goes as a body, so that an Authorization value stands
 * in no address.
 */
import type { SubscriptionsApi } from '../model/subscription';

/** Resolves to the parsed answer; throws problems. */
type Ask = <Answer>(method: 'GET' | 'POST', path: string, body?: unknown) => Promise<Answer>;

export function makeSubscriptionApiCalls(ask: Ask): SubscriptionsApi {
  const at = (id: string) => `/api/subscriptions/${encodeURIComponent(id)}`;
  return {
    list: () => ask('GET', '/api/subscriptions'),
    create: (wanted) => ask('POST', '/api/subscriptions', wanted),
    renew: (id) => ask('POST', `${at(id)}/renew`),
    end: (id) => ask('POST', `${at(id)}/end`),
    delivery: () => ask('GET', '/api/delivery'),
    setDelivery: (wanted) => ask('POST', '/api/delivery', wanted),
  };
}
