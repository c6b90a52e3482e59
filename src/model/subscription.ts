/**
 * Webhook subscriptions and the client's delivery settings as the provider has them, the secrets that we made for them,
 * and what people can do about both. Shapes only.
 */
import type { Listed, RawFault, RawItem, RawRead } from './provider-data';

export type WebhookSecretKind = 'token' | 'authorization';

/** A token of a subscription, or a value of the Authorization header, as stored: sealed and bound to its id. */
export interface StoredWebhookSecret {
  id: string;
  kind: WebhookSecretKind;
  /**
   * `offered`: accepted, and not confirmed by the provider yet. `active`: confirmed. `retired`: a value of the settings
   * that a later one has replaced; not accepted any more. `given`: a token of the settings, kept so that its subscription
   * can be watched; accepted only while the settings name it.
   */
  state: 'offered' | 'active' | 'retired' | 'given';
  sealed: string;
  /** Of a token: whose subscription it is. */
  user: string | null;
  connectionId: string | null;
  /** null until the provider has said it. */
  subscriptionId: string | null;
  madeAtMs: number;
  /** When its subscription's last heartbeat arrived. */
  heardAtMs: number | null;
  /** The time between heartbeats, as learned; null until several gaps agree. */
  beatMs: number | null;
}

export type SavedWebhookSecret = Omit<StoredWebhookSecret, 'madeAtMs' | 'heardAtMs' | 'beatMs'>;

/** `self`: where it is changed, as its own link says; null when it has none. */
export type ListedSubscription = { item: RawItem & { self: string | null } } | { fault: RawFault };

/** The provider's side, through one connection. Nothing here throws; each write is sent once. */
export interface SubscriptionCalls {
  list(connectionId: string): AsyncIterable<ListedSubscription>;
  /** What it says, and where it was asked; a body of null says nothing. */
  create(connectionId: string, body: unknown): Promise<RawRead<{ body: unknown; address: string }>>;
  /** `address`: of the subscription, as its own link says. */
  change(connectionId: string, address: string, body: unknown): Promise<RawRead<null>>;
  delivery(connectionId: string): Promise<RawRead<RawItem>>;
  changeDelivery(connectionId: string, body: unknown): Promise<RawRead<null>>;
}

/**
 * A document of the provider as it says it, but for secrets: these are `[secret]`. `refusedHere`, where it is true, is ours: no
 * token of it is known here, and its deliveries are refused.
 */
export type SubscriptionView = { id: string; refusedHere?: unknown; [fact: string]: unknown };
/** Of one whose end nobody could ask the provider for: only what was held of it here is no more. */
export type ForgottenSubscription = {
  id: string;
  state: 'forgotten';
  atProvider: false;
  /** Whose consent is missing. */
  user: string | null;
};
export type DeliveryView = { [fact: string]: unknown };

export interface SubscriptionWanted {
  eventTypeId: string;
  filters: { key: string; values: string[] }[];
  displayName: string | null;
  /** Whose subscription it is to be; null: a user that sees the organizations of the filters. */
  user: string | null;
}

/** What is left out stays as it is. */
export interface DeliveryWanted {
  status?: 'Active' | 'Paused' | undefined;
  concurrentDeliveries?: number | undefined;
  maxBatchSize?: number | undefined;
  /** Another value of the Authorization header: one that is made, or this one. */
  authorization?: { generate: true } | { value: string } | undefined;
}

/** Throws as the provider's data does for people. */
export interface SubscriptionsApi {
  /** What one user's refusal hides is a fault; those of the others are listed. */
  list(): AsyncIterable<Listed<SubscriptionView>>;
  /** `provider.malformed`, too, where neither the answer nor the list shows it: it may have been made. */
  create(wanted: SubscriptionWanted): Promise<SubscriptionView>;
  /** Ends nothing that is lost: an `Expired` one is `Active` again. */
  renew(id: string): Promise<SubscriptionView>;
  end(id: string): Promise<SubscriptionView | ForgottenSubscription>;
  delivery(): Promise<DeliveryView>;
  setDelivery(wanted: DeliveryWanted): Promise<DeliveryView>;
}
