/**
 * Webhook subscriptions through the running service. What is wanted goes as a body, so that an Authorization value stands
 * in no address.
 */
import type { Listed } from '../model/provider-data';
import type { SubscriptionsApi } from '../model/subscription';
import { type Shape, shapes } from './answer-shapes';
import type { Ask } from './call';

type List = <Item>(shape: Shape<Item>, path: string) => AsyncIterable<Listed<Item>>;

export function makeSubscriptionApiCalls(ask: Ask, list: List): SubscriptionsApi {
  const at = (id: string) => `/api/subscriptions/${encodeURIComponent(id)}`;
  return {
    list: () => list(shapes.subscription, '/api/subscriptions'),
    create: (wanted) =>
      ask(shapes.subscription, { method: 'POST', path: '/api/subscriptions', body: wanted }),
    renew: (id) => ask(shapes.subscription, { method: 'POST', path: `${at(id)}/renew` }),
    end: (id) => ask(shapes.subscription, { method: 'POST', path: `${at(id)}/end` }),
    delivery: () => ask(shapes.delivery, { method: 'GET', path: '/api/delivery' }),
    setDelivery: (wanted) => ask(shapes.delivery, { method: 'POST', path: '/api/delivery', body: wanted }),
  };
}
