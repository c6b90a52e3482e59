/**
 * Webhook subscriptions through the running service. What is wanted goes as a body, so that an Authorization value stands
 * in no address.
 */
import type { Listed } from '../model/provider-data';
import type { SubscriptionsApi } from '../model/subscription';
import { type Shape, shapes } from './answer-shapes';

/** Resolves to the answer, which is of this shape; throws problems. */
type Ask = <Answer>(
  shape: Shape<Answer>,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
) => Promise<Answer>;

type List = <Item>(shape: Shape<Item>, path: string) => AsyncIterable<Listed<Item>>;

export function makeSubscriptionApiCalls(ask: Ask, list: List): SubscriptionsApi {
  const at = (id: string) => `/api/subscriptions/${encodeURIComponent(id)}`;
  return {
    list: () => list(shapes.subscription, '/api/subscriptions'),
    create: (wanted) => ask(shapes.subscription, 'POST', '/api/subscriptions', wanted),
    renew: (id) => ask(shapes.subscription, 'POST', `${at(id)}/renew`),
    end: (id) => ask(shapes.subscription, 'POST', `${at(id)}/end`),
    delivery: () => ask(shapes.delivery, 'GET', '/api/delivery'),
    setDelivery: (wanted) => ask(shapes.delivery, 'POST', '/api/delivery', wanted),
  };
}
