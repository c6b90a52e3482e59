/**
 * Sealing and opening the tokens of a connection. What is sealed is bound to the connection and to its place in it, so
 * that no row can be moved to another. Nothing here stores or sends.
 */
import type { Connection, SealedConnection, SealedTokens } from '../model/connection';
import type { Grant } from '../model/consent';
import type { Sealer, Secret } from '../tools/secret';

/** Throws `store.key-missing`. */
export function unsealConnection(sealed: SealedConnection, sealer: Sealer): Connection {
  const { connectionId, user, auth, expiresAt, status } = sealed;
  const open = (text: string | null, part: string) =>
    text === null ? null : sealer.unseal(text, `${connectionId}/${part}`);
  return {
    connectionId,
    user,
    auth,
    token: sealer.unseal(sealed.sealedToken, `${connectionId}/token`),
    sealedToken: sealed.sealedToken,
    tokenSecret: open(sealed.sealedTokenSecret, 'secret'),
    refresh: open(sealed.sealedRefresh, 'refresh'),
    expiresAt,
    status,
  };
}

export function sealTokens(
  connectionId: string,
  { token, tokenSecret, refresh, expiresAt }: Omit<Grant, 'auth'>,
  sealer: Sealer,
): SealedTokens {
  const close = (value: Secret | null, part: string) =>
    value === null ? null : sealer.seal(value, `${connectionId}/${part}`);
  return {
    sealedToken: sealer.seal(token, `${connectionId}/token`),
    sealedTokenSecret: close(tokenSecret, 'secret'),
    sealedRefresh: close(refresh, 'refresh'),
    expiresAt,
  };
}
