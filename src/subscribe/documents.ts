/**
 * Subscriptions and delivery settings as the provider sends them: what of them is looked at, and how they are shown,
 * without the secrets in them. Pure; whatever is malformed is absent.
 */
import type { RawFault } from '../model/provider-data';
import type { DeliveryView, SubscriptionView } from '../model/subscription';
import type { Secret } from '../tools/secret';

export interface SeenSubscription {
  id: string;
  connectionId: string;
  /** Where it is changed; null when no link says so. */
  self: string | null;
  status: string | null;
  token: string | null;
  body: Record<string, unknown>;
}

const hidden = '[secret]';

/** null: it has no id that could be used, so nothing can be done with it. */
export function subscriptionOf(item: {
  body: unknown;
  self: string | null;
  connectionId: string;
}): SeenSubscription | null {
  const body = objectOf(item.body);
  const { id, status, token } = body;
  const name = typeof id === 'number' ? String(id) : textOf(id);
  if (name === null) return null;
  return {
    id: name,
    connectionId: item.connectionId,
    self: item.self,
    status: textOf(status),
    token: textOf(token),
    body,
  };
}

export function viewOf({ id, body }: Pick<SeenSubscription, 'id' | 'body'>): SubscriptionView {
  return { ...body, ...(hasSecret(body.token) && { token: hidden }), id };
}

/** Whether it delivers to `target`; also true when either is not known. */
export function deliversTo({ body }: Pick<SeenSubscription, 'body'>, target: string | null): boolean {
  const uri = textOf(objectOf(body.targetEndpoint).uri);
  if (target === null || uri === null) return true;
  return URL.canParse(uri) && URL.canParse(target) && new URL(uri).href === new URL(target).href;
}

export function deliveryViewOf(body: Record<string, unknown>): DeliveryView {
  return hasSecret(body.authorizationHeaderValue) ? { ...body, authorizationHeaderValue: hidden } : body;
}

/** The provider's words about a refusal may repeat what was sent. */
export function withoutSecret(fault: RawFault, { secret }: { secret: Secret }): RawFault {
  const text = secret.open();
  const clean = <Value>(value: Value): Value =>
    (typeof value === 'string' ? value.replaceAll(text, hidden) : value) as Value;
  const answer = fault.answer === null ? null : Object.entries(fault.answer);
  return {
    ...fault,
    detail: clean(fault.detail),
    answer:
      answer === null
        ? null
        : (Object.fromEntries(answer.map(([name, value]) => [name, clean(value)])) as RawFault['answer']),
  };
}

/** True when the provider has not acted upon what was sent, for certain. */
export function isRefusal({ answer }: RawFault): boolean {
  return answer !== null && answer.kind !== 'transient' && answer.kind !== 'aborted';
}

export function objectOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? (body as Record<string, unknown>)
    : {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function hasSecret(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
