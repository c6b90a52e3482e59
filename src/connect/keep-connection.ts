/**
 * A grant becomes a connection: that of the same user, which keeps its id and all that hangs on it, or a new one. So the
 * method of consent can change under a connection, and nothing is read or published anew for it.
 */

import { randomUUID } from 'node:crypto';
import type { SealedConnection } from '../model/connection';
import type { Grant, TokenCalls } from '../model/consent';
import { shellWord } from '../model/shell-word';
import type { Connections } from '../model/store';
import type { Sealer } from '../tools/secret';
import type { AuthorizationServer } from './authorization-server';
import { GrantRefusal } from './grant-refusal';
import type { Patience } from './patience';
import { sealTokens } from './token-vault';
import { whoseToken } from './whose-token';

export interface KeepDoors {
  store: Pick<Connections, 'listConnections' | 'saveConnection'>;
  sealer: Sealer;
  calls: TokenCalls;
  server: AuthorizationServer | null;
}

/**
 * The connection's id, and the organizations that it saw until now. `expected` is who was asked, by name or by the id of a
 * connection, null when nobody was named. Throws `GrantRefusal`: `other-user` when the provider names another, and the grant
 * is given back; why it could not be asked, where it names its users, and then nothing is stored and nothing given back.
 * Also what the store throws.
 */
export async function keepConnection(
  doors: KeepDoors,
  grant: Grant,
  expected: string | null,
  patience: Patience,
): Promise<{ connectionId: string; before: string[] }> {
  const { store, sealer } = doors;
  const named = await whoseToken(doors.calls, grant, patience);
  const all = await store.listConnections();
  const asked =
    all.find(({ user }) => user === expected) ?? all.find(({ connectionId }) => connectionId === expected);
  const ofUser = named === null ? undefined : all.find(({ user }) => user === named);
  const refusal = otherUser(asked, ofUser, named, expected);
  if (refusal !== null) {
    await giveBack(doors.server, grant);
    throw refusal;
  }
  const known = asked ?? ofUser ?? (expected === null ? switchedOver(all, grant) : undefined);
  const connectionId = known?.connectionId ?? `c-${randomUUID().slice(0, 8)}`;
  await store.saveConnection({
    ...sealTokens(connectionId, grant, sealer),
    connectionId,
    user: named ?? known?.user ?? expected ?? connectionId,
    auth: grant.auth,
    status: 'valid',
    organizations: [],
  });
  return { connectionId, before: known?.organizations ?? [] };
}

/** Of whom neither the provider nor an operator ever said a name. */
function isNameless({ user, connectionId }: Pick<SealedConnection, 'user' | 'connectionId'>): boolean {
  return user === connectionId;
}

/** null: whoever consented may be the one who was asked. */
function otherUser(
  asked: SealedConnection | undefined,
  ofUser: SealedConnection | undefined,
  named: string | null,
  expected: string | null,
): GrantRefusal | null {
  if (named === null || expected === null) return null;
  if (asked === undefined || !isNameless(asked)) {
    if (named === (asked?.user ?? expected)) return null;
    return new GrantRefusal('other-user', 'somebody else consented than the one who was asked');
  }
  if (ofUser === undefined || ofUser === asked) return null;
  return new GrantRefusal(
    'other-user',
    `who consented has connection ${ofUser.connectionId} already: where both are of one user, end the other by ` +
      `\`tramline connections revoke ${shellWord(asked.connectionId)}\``,
  );
}

async function giveBack(server: AuthorizationServer | null, grant: Grant): Promise<void> {
  if (server === null || grant.auth !== 'oauth2') return;
  await server.revoke(grant.refresh ?? grant.token, 'refresh_token').catch(() => false);
}

/** The only connection that there is, where OAuth 1 named nobody: an OAuth 2 consent that names nobody to ask is its next. */
function switchedOver(all: SealedConnection[], { auth }: Grant): SealedConnection | undefined {
  const [only, ...others] = all;
  if (only === undefined || others.length > 0 || !isNameless(only)) return undefined;
  return only.auth === 'oauth1' && auth === 'oauth2' ? only : undefined;
}
