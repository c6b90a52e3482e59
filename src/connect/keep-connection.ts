/**
 * A grant becomes a connection: that of the same user, which keeps its id and all that hangs on it, or a new one. So the
 * method of consent can change under a connection, and nothing is read or published anew for it.
 */
import { randomUUID } from 'node:crypto';
import type { Grant, TokenCalls } from '../model/consent';
import type { Connections } from '../model/store';
import type { Clock } from '../tools/clock';
import type { Sealer } from '../tools/secret';
import type { AuthorizationServer } from './authorization-server';
import { GrantRefusal } from './grant-refusal';
import { sealTokens } from './token-vault';
import { whoseToken } from './whose-token';

export interface KeepDoors {
  store: Pick<Connections, 'listConnections' | 'saveConnection'>;
  sealer: Sealer;
  calls: TokenCalls;
  server: AuthorizationServer | null;
  clock: Pick<Clock, 'wait'>;
}

/**
 * The connection's id, and the organizations that it saw until now. `expected` is who was asked, null when nobody was
 * named; when the provider names another, the grant is given back and `GrantRefusal` says so. Where the provider names
 * its users and could not be asked, nothing is stored, nothing is given back, and `GrantRefusal` says why.
 */
export async function keepConnection(
  { store, sealer, calls, server, clock }: KeepDoors,
  grant: Grant,
  expected: string | null,
): Promise<{ connectionId: string; before: string[] }> {
  const named = await whoseToken({ calls, clock }, grant);
  if (expected !== null && named !== null && named !== expected) {
    if (server !== null && grant.auth === 'oauth2') {
      await server.revoke(grant.refresh ?? grant.token, 'refresh_token').catch(() => false);
    }
    throw new GrantRefusal('other-user', 'somebody else consented than the one who was asked');
  }
  const user = named ?? expected;
  const known = user === null ? undefined : (await store.listConnections()).find((one) => one.user === user);
  const connectionId = known?.connectionId ?? `c-${randomUUID().slice(0, 8)}`;
  await store.saveConnection({
    ...sealTokens(connectionId, grant, sealer),
    connectionId,
    user: user ?? connectionId,
    auth: grant.auth,
    status: 'valid',
    organizations: [],
  });
  return { connectionId, before: known?.organizations ?? [] };
}
