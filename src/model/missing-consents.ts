/**
 * Why the provider cannot be asked on anybody's behalf: each consent that it refused, or that no user has given one. The
 * same words wherever somebody is to be told; a user acts then, and nothing is absent. Pure.
 */
import { type Connection, oauth1MayEnd } from './connection';
import type { RawFault } from './provider-data';

type Of = Pick<Connection, 'connectionId' | 'auth'>;

/** `organizationId`: which one is not reached for it; null for whatever its user is shown. */
export function refusedConsent({ connectionId, auth }: Of, organizationId: string | null): RawFault {
  const detail = `connection ${connectionId}${auth === 'oauth1' ? `. ${oauth1MayEnd}` : ''}`;
  const answer = { kind: 'reauthorize', connectionId, message: null, sealedToken: null } as const;
  return { answer, detail, address: null, organizationId };
}

/** Where nobody has given a consent, or each was revoked. */
export const noConsent = 'no user’s consent is known here: tramline connect';

/** Of each refused one; of none at all one as well. Empty where every user's consent holds. */
export function missingConsents(connections: readonly (Of & Pick<Connection, 'status'>)[]): RawFault[] {
  if (connections.length === 0) {
    const answer = { kind: 'no-connection', detail: noConsent, nobody: true } as const;
    return [{ answer, detail: noConsent, address: null, organizationId: null }];
  }
  return connections
    .filter(({ status }) => status === 'refused')
    .map((connection) => refusedConsent(connection, null));
}
