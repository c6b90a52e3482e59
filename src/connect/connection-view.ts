/**
 * A connection as people see it: whose it is, how long it lasts and what it sees. No token leaves here, nor a part of
 * one. Pure.
 */
import type { SealedConnection } from '../model/connection';
import type { ConnectionView } from '../model/consent';

export function viewOf(connection: SealedConnection): ConnectionView {
  const { connectionId, user, auth, status, expiresAt, sealedRefresh, organizations } = connection;
  const renews = auth === 'oauth2' && sealedRefresh !== null;
  return { id: connectionId, user, auth, status, expiresAt, renews, organizations };
}
