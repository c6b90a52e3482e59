/**
 * Connections with their sealed tokens, and which organizations each sees. Nothing here can open a token.
 */
import type { SealedConnection } from '../../model/connection';
import type { Observation, Transition } from '../../model/organization';
import type { Context } from './context';
import { observe } from './observe';
import { hintProbe, probeUnlessGranted } from './probes';

export function importConnections(
  context: Context,
  connections: (SealedConnection & { importHash: string })[],
): void {
  for (const connection of connections) {
    const known = context.database.get(
      'SELECT import_hash FROM connections WHERE id = ?',
      connection.connectionId,
    );
    if (known?.import_hash === connection.importHash) continue;
    context.database.run(
      `INSERT INTO connections (id, user, auth, sealed_token, sealed_token_secret, sealed_refresh, expires_at, status,
         import_hash) VALUES (?, ?, ?, ?, ?, ?, ?, 'valid', ?)
       ON CONFLICT (id) DO UPDATE SET user = excluded.user, auth = excluded.auth, sealed_token = excluded.sealed_token,
         sealed_token_secret = excluded.sealed_token_secret, sealed_refresh = excluded.sealed_refresh,
         expires_at = excluded.expires_at, status = 'valid', import_hash = excluded.import_hash,
         refused_message = NULL`,
      connection.connectionId,
      connection.user,
      connection.auth,
      connection.sealedToken,
      connection.sealedTokenSecret,
      connection.sealedRefresh,
      connection.expiresAt,
      connection.importHash,
    );
    const sights = context.database.all(
      'SELECT organization_id AS id FROM sights WHERE connection_id = ?',
      connection.connectionId,
    );
    for (const { id } of sights) probeUnlessGranted(context, String(id));
  }
}

export function listConnections(context: Context): SealedConnection[] {
  return context.database.all('SELECT * FROM connections ORDER BY id').map((row) => ({
    connectionId: String(row.id),
    user: String(row.user),
    auth: row.auth as SealedConnection['auth'],
    sealedToken: String(row.sealed_token),
    sealedTokenSecret: row.sealed_token_secret as string | null,
    sealedRefresh: row.sealed_refresh as string | null,
    expiresAt: row.expires_at as string | null,
    status: row.status as SealedConnection['status'],
    organizations: context.database
      .all('SELECT organization_id FROM sights WHERE connection_id = ?', String(row.id))
      .map((sight) => String(sight.organization_id)),
  }));
}

/** The organizations that no other valid connection sees need a new consent: they are blocked in the same transaction. */
export function refuseConnection(
  context: Context,
  connectionId: string,
  message: string | null,
): { observed: { observation: Observation; transition: Transition }[] } {
  const { database } = context;
  database.run(
    `UPDATE connections SET status = 'refused', refused_message = ? WHERE id = ?`,
    message,
    connectionId,
  );
  const alone = database.all(
    `SELECT organization_id AS id FROM sights s WHERE connection_id = ? AND NOT EXISTS (
       SELECT 1 FROM sights o JOIN connections c ON c.id = o.connection_id
       WHERE o.organization_id = s.organization_id AND c.status = 'valid')`,
    connectionId,
  );
  const found = { cause: 'refused-grant', actionUrl: null, message } as const;
  const observed = alone.flatMap(({ id }) => {
    const { access, epoch } = context.organizations.ensure(String(id), database, context.undo);
    if (access === 'reauthorize') return [];
    const observation: Observation = { organizationId: String(id), epoch, found, by: 'grant' };
    return [{ observation, transition: observe(context, observation) }];
  });
  return { observed };
}

/** What a listing showed to a connection: names are kept, unknown organizations start active. */
export function learn(
  context: Context,
  organizations: { id: string; name: string | null; connectionId: string }[],
): void {
  for (const { id, name, connectionId } of organizations) {
    const { access } = context.organizations.ensure(id, context.database, context.undo);
    context.database.run(
      'UPDATE organizations SET name = coalesce(?, name), connection_id = coalesce(connection_id, ?) WHERE id = ?',
      name,
      connectionId,
      id,
    );
    context.database.run(
      `INSERT INTO sights (connection_id, organization_id, seen_at) VALUES (?, ?, ?)
       ON CONFLICT (connection_id, organization_id) DO UPDATE SET seen_at = excluded.seen_at`,
      connectionId,
      id,
      context.nowMs(),
    );
    // Another connection shows it: that one's grant holds.
    if (access === 'reauthorize') hintProbe(context, id, null);
  }
}
