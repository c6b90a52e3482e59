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

/** As stored: tokens sealed (AES-256-GCM), never opened by the store. */
export interface SealedConnection {
  connectionId: string;
  user: string;
  auth: ConnectionAuth;
  sealedToken: string;
  sealedTokenSecret: string | null;
  sealedRefresh: string | null;
  expiresAt: string | null;
  status: 'valid' | 'refused';
  /** Ids of organizations that it sees, as last learned. */
  organizations: string[];
}
