/**
 * What the webhook room is told and what it needs: settings as plain data, secrets through functions so that they may
 * change while the process runs, and the doors through which a delivery leaves. Limits have defaults; nothing here acts.
 */
import type { Accepted, Delivery } from '../model/notification';
import { Problem } from '../model/problem';
import type { Clock } from '../tools/clock';
import type { Secret } from '../tools/secret';
import type { BodyFault } from './read-body';
import type { RefusalReason } from './refusals';

export const deliveryPath = '/webhooks';

export type WebhookAuthKind = 'authorization' | 'token' | 'hmac';

/** A subscription's token, and the user whose subscription carries it; null when that is not known. */
export interface SubscriptionToken {
  token: Secret;
  user: string | null;
  /** Of one that was made by us; null or left out for others. */
  id?: string | null;
}

/** Which event types mean what; exact ids. */
export interface EventTypes {
  requiredAction: readonly string[];
  equipment: readonly string[];
  fieldOperation: readonly string[];
}

export interface WebhookSettings {
  /** All that are named must hold. `none` must be said; an empty list is refused. */
  auth: readonly WebhookAuthKind[] | 'none';
  /** The current values of the Authorization header. */
  authorizationValues(): readonly Secret[];
  /** The current tokens. Where `token` is not required they still tell whose subscription an element is of. */
  tokens(): readonly SubscriptionToken[];
  /** The current Standard Webhooks secrets: base64, with or without `whsec_`. */
  hmacSecrets(): readonly Secret[];
  eventTypes: EventTypes;
  limits?: Partial<WebhookLimits>;
}

export interface WebhookLimits {
  bodyBytesMax: number;
  /** Bytes that are set aside for bodies which are still arriving; never less than one body. */
  bytesArrivingMax: number;
  /** Where that is full, a body of which 16 KiB need longer than this gives way to others. */
  arrivalProgressMs: number;
  /** Bytes of bodies that wait for the store; never less than one body. */
  bytesInFlightMax: number;
  /** Deliveries that wait for the store. */
  deliveriesInFlightMax: number;
  /** An answer is out within this time of the body's last byte. */
  answerWithinMs: number;
  retryAfterSeconds: number;
  headersTimeoutMs: number;
  /** Of the whole request, headers and body. */
  requestTimeoutMs: number;
  /** How often the two timeouts above are looked at: the default of Node, 30 s, would make them meaningless. */
  connectionsCheckMs: number;
  /** Longer than the idle time of common gateways, so that it is they who close an idle connection. */
  keepAliveMs: number;
  connectionsMax: number;
  /** Failed authentications of one address within the window before it is answered 429. */
  failedAuthenticationsMax: number;
  failedAuthenticationWindowMs: number;
}

export const defaultWebhookLimits: Readonly<WebhookLimits> = {
  bodyBytesMax: 4 * 1024 * 1024,
  bytesArrivingMax: 8 * 1024 * 1024,
  arrivalProgressMs: 1000,
  bytesInFlightMax: 8 * 1024 * 1024,
  deliveriesInFlightMax: 2000,
  answerWithinMs: 4000,
  retryAfterSeconds: 5,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  connectionsCheckMs: 500,
  keepAliveMs: 65_000,
  connectionsMax: 4096,
  failedAuthenticationsMax: 20,
  failedAuthenticationWindowMs: 60_000,
};

export interface WebhookDoors {
  /** Resolves when the delivery is on disk; anything it throws is answered 503. */
  accept(delivery: Delivery): Promise<Accepted>;
  clock: Clock;
  /** Told each Authorization value that opened a delivery, as it was given; at once. */
  used?(value: Secret): void;
  /** Told the id of the token that a heartbeat carried; at once. */
  heartbeat?(tokenId: string): void;
  /**
   * Called once for each request that is not answered 204, for a metric and the log. `status` is 0 where no answer could
   * be given; `tookMs` counts from the request's headers, null where there were none; `cause` is what a door threw,
   * never anything of the request.
   */
  refused(reason: RefusalReason, details: { status: number; tookMs: number | null; cause?: unknown }): void;
  /**
   * Keeps an authenticated body that cannot be read, once per hash: the door drops repeats. `raw` is cut at 8 KiB and
   * free of tokens. What it throws is answered 503.
   */
  keepSample(bodyHash: string, fault: BodyFault, raw: Buffer): Promise<void>;
  /** The store found a delivery itself at fault, which is set aside: why. */
  storeRefused?(detail: string): void;
}

/** The limits in force. Throws `settings.invalid` when no kind of authentication is named. */
export function limitsOf(settings: WebhookSettings): WebhookLimits {
  if (settings.auth !== 'none' && settings.auth.length === 0) {
    throw new Problem('settings.invalid', 'no kind of webhook authentication is named; `none` must be said');
  }
  const limits = { ...defaultWebhookLimits, ...settings.limits };
  const atLeastOne = (bytes: number) => Math.max(bytes, limits.bodyBytesMax);
  return {
    ...limits,
    bytesArrivingMax: atLeastOne(limits.bytesArrivingMax),
    bytesInFlightMax: atLeastOne(limits.bytesInFlightMax),
  };
}
