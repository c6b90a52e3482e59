// The subscriptions that clients made: what each is for, where it goes, and the client's one delivery settings.
// Promises that an event reaches exactly the active subscriptions whose filters it meets, with the token of each, and
// bounds: 1,000 that are not ended, the 5,000 newest in all. Verification and sending are done elsewhere.
import { randomUUID } from 'node:crypto';
import type { User } from '../auth/accounts';
import { isObject, type Json, type JsonObject } from '../json';

export type SubscriptionStatus = 'Active' | 'Expired' | 'Terminated';

export interface Filter {
  key: string;
  values: string[];
}

export interface Subscription {
  readonly id: string;
  readonly user: User;
  readonly eventTypeId: string;
  readonly filters: readonly Filter[];
  uri: string;
  status: SubscriptionStatus;
  displayName: string | undefined;
  token: string | undefined;
}

/** One object per client key, not per subscription. */
export interface ClientDelivery {
  status: 'Active' | 'Paused';
  /** Null sends no header. */
  authorizationHeaderValue: string | null;
  concurrentDeliveries: number;
  maxBatchSize: number;
}

const OPEN_MAX = 1_000;
const KEPT_MAX = 5_000;

export class Subscriptions {
  readonly #list = new Map<string, Subscription>();

  constructor(readonly delivery: ClientDelivery) {}

  get list(): Subscription[] {
    return [...this.#list.values()];
  }

  get isFull(): boolean {
    return this.list.filter(({ status }) => status !== 'Terminated').length >= OPEN_MAX;
  }

  find(id: string): Subscription | undefined {
    return this.#list.get(id);
  }

  add(given: Omit<Subscription, 'id' | 'status'>): Subscription {
    const ended = this.list.find(({ status }) => status === 'Terminated');
    if (this.#list.size >= KEPT_MAX && ended) this.#list.delete(ended.id);
    const subscription: Subscription = { id: randomUUID(), status: 'Active', ...given };
    this.#list.set(subscription.id, subscription);
    return subscription;
  }

  /** The active subscriptions that an event reaches. */
  reachedBy(notification: JsonObject, sees: (user: User, organizationId: string) => boolean): Subscription[] {
    const metadata = metadataOf(notification.metadata);
    const organizationId = metadata.get('orgId');
    return this.list.filter(
      ({ eventTypeId, filters, status, user }) =>
        status === 'Active' &&
        eventTypeId === notification.eventTypeId &&
        (organizationId === undefined || sees(user, organizationId)) &&
        filters.every(({ key, values }) => meets(metadata.get(key), values)),
    );
  }

  /** Ends every active subscription of an address that no longer accepts deliveries. */
  expire(uri: string): void {
    for (const subscription of this.#list.values())
      if (subscription.uri === uri && subscription.status === 'Active') subscription.status = 'Expired';
  }
}

function meets(value: string | undefined, values: readonly string[]): boolean {
  return value !== undefined && values.some((one) => one.toLowerCase() === value.toLowerCase());
}

function metadataOf(metadata: Json | undefined): Map<string, string> {
  const entries = Array.isArray(metadata) ? metadata.filter(isObject) : [];
  return new Map(entries.map(({ key, value }) => [String(key), String(value)]));
}
