/**
 * A consent on its way: from a one-time link, or a request made by a command, to a connection. The store keeps it under
 * the hash of what opens its next step and knows nothing of what it holds. Types only.
 */
import type { ConnectionAuth } from './connection';

/** As stored. */
export interface StoredConsent {
  consentId: string;
  /** Hash of the one thing that opens its next step (the link, the state, the request token); null when nothing does. */
  key: string | null;
  /** Milliseconds since the epoch, of the store's clock; what is older is not there any more. */
  expiresAtMs: number;
  /** JSON; whatever is secret in it is sealed. */
  body: string;
}

/** `link`: not opened yet · `asked`: the user is at the provider · `taken`: the answer is being redeemed. */
export type ConsentStep = 'link' | 'asked' | 'taken' | 'done' | 'failed';

/** Why a consent came to nothing. */
export type ConsentFailure =
  /** The user said no. */
  | 'consent-declined'
  /** It was not answered in time. */
  | 'consent-expired'
  /** The provider refuses the verifier, the code or the request itself. */
  | 'consent-refused'
  /** Somebody else consented than the one who was asked. */
  | 'consent-other-user'
  /** The provider gives no answer now, or one that cannot be used. */
  | 'provider-unavailable'
  | 'provider-answer-unusable';

/** A connection as people see it: no token, not even a part of one. */
export interface ConnectionView {
  id: string;
  user: string;
  auth: ConnectionAuth;
  status: 'valid' | 'refused';
  /** Of the access token, or of the whole consent where it cannot be renewed; null when the provider names none. */
  expiresAt: string | null;
  /** Whether it is renewed by itself before it ends. */
  renews: boolean;
  /** Ids of organizations, as last learned. */
  organizations: string[];
}

/** A consent as people see it. */
export interface ConsentView {
  id: string;
  auth: ConnectionAuth;
  step: ConsentStep;
  /** Where a person goes next: our link, or the provider's page where the command carries the answer; else null. */
  address: string | null;
  expiresAt: string;
  code: ConsentFailure | null;
  detail: string | null;
  /** Once it is done. */
  connection: ConnectionView | null;
}
