/**
 * What a consent on its way holds, and its form in the store: JSON, with the one secret in it sealed and bound to this
 * consent. What opens a step is kept as a hash only.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { ConnectionAuth } from '../model/connection';
import type { ConsentFailure, ConsentStep, StoredConsent } from '../model/consent';
import { type Sealer, Secret } from '../tools/secret';

export interface ConsentRecord {
  auth: ConnectionAuth;
  step: ConsentStep;
  /** True when a command carries the answer, false when the browser brings it to our callback. */
  carried: boolean;
  /** `oauth_callback`, or the redirect address. */
  callback: string;
  /** Who is to consent; null when that is not known. */
  user: string | null;
  /** Seals `Pending`; null outside of `asked`. */
  sealed: string | null;
  /** Hash of what binds it to the browser that opened the link. */
  browser: string | null;
  connectionId: string | null;
  /** Once it is done: what the connection saw before and this token was not shown; null: that was not learned. */
  unseen: string[] | null;
  code: ConsentFailure | null;
  detail: string | null;
}

/** What the answer is checked and redeemed with. */
export interface Pending {
  /** The request token, or the state. */
  token: string;
  /** The request token's secret, or the PKCE verifier. */
  secret: string;
}

/** What opens a step: 256 random bits as text. */
export function randomKey(): string {
  return randomBytes(32).toString('base64url');
}

/** `what` keeps a value of one kind from opening a step of another. */
export function hashOf(what: 'link' | 'answer' | 'carried' | 'browser' | 'cookie', value: string): string {
  return createHash('sha256').update(`${what} ${value}`).digest('hex');
}

/** RFC 7636 section 4.2, S256. */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

export function recordOf({ body }: StoredConsent): ConsentRecord {
  return JSON.parse(body) as ConsentRecord;
}

export function sealPending(consentId: string, pending: Pending, sealer: Sealer): string {
  return sealer.seal(new Secret(JSON.stringify(pending)), `consent/${consentId}`);
}

/** Throws `store.key-missing`. */
export function openPending(consentId: string, sealed: string, sealer: Sealer): Pending {
  return JSON.parse(sealer.unseal(sealed, `consent/${consentId}`).open()) as Pending;
}
