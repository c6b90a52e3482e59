/**
 * A connection is one user's consent to our client, with its tokens. Tokens are opened only where a request is signed.
 */
import type { Secret } from '../tools/secret';

export type ConnectionAuth = 'oauth1' | 'oauth2';

/** The provider's own dates, and the way on. */
const switchOver =
  '(tokens after 2021-07-01; OAuth 2 is required from 2022-05-01): ' +
  'set PROVIDER_AUTH=oauth2 and PROVIDER_ISSUER, restart, and switch over with ' +
  '`tramline connect --auth oauth2 --user NAME`, NAME as `tramline connections list` shows it.';

/** What a person should know where OAuth 1 is refused whoever asks. */
export const oauth1Ending = `The provider ends OAuth 1 ${switchOver}`;

/** The same where nobody asked whether it is the token alone. */
export const oauth1MayEnd = `It may be that the provider has ended OAuth 1 ${switchOver}`;

/** The contract: an OAuth 1 token is valid for up to one year. */
export const oauth1LifeMsMax = 365 * 86_400_000;

/** A token as the settings name it. */
export interface NamedToken {
  connection: string;
  user: string;
  auth: ConnectionAuth;
  token: Secret;
  /** OAuth 1 token secret. */
  secret: Secret | null;
  refresh: Secret | null;
  expiresAt: string | null;
}

export interface Connection {
  connectionId: string;
  user: string;
  auth: ConnectionAuth;
  token: Secret;
  /** The token as stored, by which a refusal names it; null of one that is no connection's yet. */
  sealedToken: string | null;
  /** OAuth 1 token secret. */
  tokenSecret: Secret | null;
  /** OAuth 2 refresh token. */
  refresh: Secret | null;
  /** ISO 8601; of OAuth 1 the latest that it can be; null when the provider named none. */
  expiresAt: string | null;
  /** `valid`, or `refused` since the provider refused its token. */
  status: 'valid' | 'refused';
}

/** Tokens sealed (AES-256-GCM, bound to their connection), never opened by the store. */
export interface SealedTokens {
  sealedToken: string;
  sealedTokenSecret: string | null;
  sealedRefresh: string | null;
  expiresAt: string | null;
}

/** As stored. */
export interface SealedConnection extends SealedTokens {
  connectionId: string;
  user: string;
  auth: ConnectionAuth;
  status: 'valid' | 'refused';
  /** Ids of organizations that it sees, as last learned. */
  organizations: string[];
}
