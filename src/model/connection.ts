/**
 * A connection is one user's consent to our client, with its tokens. Tokens are opened only where a request is signed.
 */
import type { Secret } from '../tools/secret';

export type ConnectionAuth = 'oauth1' | 'oauth2';

export interface Connection {
  connectionId: string;
  user: string;
  auth: ConnectionAuth;
  token: Secret;
  /** OAuth 1 token secret. */
  tokenSecret: Secret | null;
  /** OAuth 2 refresh token. */
  refresh: Secret | null;
  /** ISO 8601; null when the provider named none. */
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
