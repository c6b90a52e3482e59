/**
 * A connection as people see it: whose it is, how long it lasts and what it sees. No token leaves here, nor a part of
 * one. Pure.
 */
import type { SealedConnection } from '../model/connection';
import type { ConnectionView } from '../model/consent';

/** `unlisted`: why what it sees could not be listed now, of one that is valid. */
export function viewOf(connection: SealedConnection, unlisted: string | null = null): ConnectionView {
  const { connectionId, user, auth, status, expiresAt, sealedRefresh, organizations } = connection;
  const renews = auth === 'oauth2' && sealedRefresh !== null;
  const view = { id: connectionId, user, auth, status, expiresAt, renews, organizations };
  return unlisted === null || status !== 'valid' ? view : { ...view, unlisted };
}
