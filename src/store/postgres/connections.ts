/**
 * Connections with their sealed tokens, and which organizations each sees. Nothing here can open a token. Verbs that
 * change who has a valid grant are made one after the other: each must see what the one before it took away.
 */
import type { SealedConnection, SealedTokens } from '../../model/connection';
import type { Observation, Observed, ProbeAsker } from '../../model/organization';
import { probeUnlessGranted } from './ask-probes';
import type { Context } from './context';
import { type ObservedRow, observeAll } from './observe';
import { lockOrganizations } from './organization-rows';
import { forgottenOf } from './organizations';
import { storable } from './quarantine-entries';
import { releaseUnread } from './release';
import type { Row } from './server/database';

type Imported = SealedConnection & { importHash: string };

export async function importConnections(context: Context, connections: Imported[]): Promise<void> {
  const known = await context.database.all(
    'SELECT id, import_hash FROM connections WHERE id = ANY($1::text[])',
    connections.map(({ connectionId }) => connectionId),
  );
  const hashes = new Map(known.map(({ id, import_hash }) => [id, import_hash]));
  for (const connection of connections) {
    if (hashes.get(connection.connectionId) === connection.importHash) continue;
    hashes.set(connection.connectionId, connection.importHash);
    await write(context, connection, connection.importHash);
    await changed(context, connection.connectionId);
  }
}

/** A consent is newer than what the settings name: the hash of what was imported stays. */
export async function saveConnection(context: Context, connection: SealedConnection): Promise<void> {
  await write(context, connection, null);
  await changed(context, connection.connectionId);
}

async function write(
  context: Context,
  connection: SealedConnection,
  importHash: string | null,
): Promise<void> {
  await context.database.run(
    `INSERT INTO connections AS c (id, user_name, auth, sealed_token, sealed_token_secret, sealed_refresh, expires_at,
       status, import_hash) VALUES ($1, $2, $3, $4, $5, $6, $7, 'valid', coalesce($8, ''))
     ON CONFLICT (id) DO UPDATE SET user_name = excluded.user_name, auth = excluded.auth,
       sealed_token = excluded.sealed_token, sealed_token_secret = excluded.sealed_token_secret,
       sealed_refresh = excluded.sealed_refresh, expires_at = excluded.expires_at, status = 'valid',
       import_hash = coalesce($8, c.import_hash), refused_message = NULL`,
    connection.connectionId,
    connection.user,
    connection.auth,
    connection.sealedToken,
    connection.sealedTokenSecret,
    connection.sealedRefresh,
    connection.expiresAt,
    importHash,
  );
}

/** Other processes see that it changed, and those whose grant was refused are asked at once. */
async function changed(
  context: Context,
  connectionId: string,
  askedBy: ProbeAsker = 'consent',
): Promise<void> {
  await touchConnections(context);
  const refused = await context.database.all(
    `SELECT o.id FROM organizations o WHERE o.access = 'reauthorize' AND (
       SELECT true FROM sights s WHERE s.connection_id = $1 AND s.organization_id = o.id)`,
    connectionId,
  );
  const ids = refused.map(({ id }) => id as string);
  await lockOrganizations(context, ids);
  await probeUnlessGranted(context, ids, askedBy);
}

/** A mark that a failover lost is not given again: some process may know by it what was lost as well. */
export async function touchConnections({ database, nowMs }: Context): Promise<void> {
  await database.run(
    `INSERT INTO meta AS m (name, value) VALUES ('connections', $1)
     ON CONFLICT (name) DO UPDATE SET value = greatest(m.value + 1, excluded.value)`,
    nowMs(),
  );
}

export async function connectionsMark({ database }: Context): Promise<string> {
  const row = await database.get(`SELECT value FROM meta WHERE name = 'connections'`);
  return String(row?.value ?? 0);
}

const columns = `id, user_name, auth, sealed_token, sealed_token_secret, sealed_refresh, expires_at, status,
  ARRAY(SELECT s.id FROM (
    SELECT organization_id AS id FROM sights WHERE connection_id = c.id OFFSET 0) s ORDER BY 1) AS organizations`;

/** Those that were revoked stay as empty rows, so that the settings do not bring them back. */
export async function listConnections({ database }: Context): Promise<SealedConnection[]> {
  const rows = await database.all(
    `SELECT ${columns} FROM connections c WHERE status <> 'revoked' ORDER BY id`,
  );
  return rows.map(sealedConnection);
}

export async function findConnection(
  { database }: Context,
  connectionId: string,
): Promise<SealedConnection | null> {
  const row = await database.get(
    `SELECT ${columns} FROM connections c WHERE id = $1 AND status <> 'revoked'`,
    storable(connectionId),
  );
  return row === undefined ? null : sealedConnection(row);
}

function sealedConnection(row: Row): SealedConnection {
  return {
    connectionId: row.id,
    user: row.user_name,
    auth: row.auth,
    sealedToken: row.sealed_token,
    sealedTokenSecret: row.sealed_token_secret,
    sealedRefresh: row.sealed_refresh,
    expiresAt: row.expires_at,
    status: row.status,
    organizations: row.organizations,
  };
}

/** The tokens that are replaced are compared in the statement: of two who renew the same ones, one is told false. */
export async function replaceTokens(
  context: Context,
  connectionId: string,
  replaces: string,
  tokens: SealedTokens,
): Promise<boolean> {
  const replaced = await context.database.run(
    `UPDATE connections SET sealed_token = $3, sealed_token_secret = $4, sealed_refresh = $5, expires_at = $6
     WHERE id = $1 AND sealed_token = $2 AND status <> 'revoked'`,
    connectionId,
    replaces,
    tokens.sealedToken,
    tokens.sealedTokenSecret,
    tokens.sealedRefresh,
    tokens.expiresAt,
  );
  if (replaced === 1) await touchConnections(context);
  return replaced === 1;
}

/** The organizations that no other valid connection sees need a new consent: they are blocked in the same transaction. */
export async function refuseConnection(
  context: Context,
  connectionId: string,
  message: string | null,
  sealedToken: string,
): Promise<{ observed: Observed[] }> {
  const refused = await context.database.run(
    `UPDATE connections SET status = 'refused', refused_message = $2
     WHERE id = $1 AND status = 'valid' AND sealed_token = $3`,
    connectionId,
    storable(message),
    sealedToken,
  );
  if (refused === 0) return { observed: [] };
  await touchConnections(context);
  await passOn(context, connectionId, await seenThrough(context, connectionId));
  return { observed: await blockThoseAlone(context, connectionId, message, 'grant') };
}

/** No consent was given: those who are asked now are asked again by themselves. */
export async function acceptConnection(context: Context, connectionId: string): Promise<boolean> {
  const accepted = await context.database.run(
    `UPDATE connections SET status = 'valid', refused_message = NULL WHERE id = $1 AND status = 'refused'`,
    connectionId,
  );
  if (accepted === 1) await changed(context, connectionId, 'schedule');
  return accepted === 1;
}

/** The row stays, empty: what the settings name and was imported once is not imported again. */
export async function revokeConnection(
  context: Context,
  connectionId: string,
): Promise<{ observed: Observed[] } | null> {
  const revoked = await context.database.run(
    `UPDATE connections SET status = 'revoked', user_name = '', sealed_token = '', sealed_token_secret = NULL,
       sealed_refresh = NULL, expires_at = NULL, refused_message = NULL WHERE id = $1 AND status <> 'revoked'`,
    storable(connectionId),
  );
  if (revoked === 0) return null;
  await touchConnections(context);
  await passOn(context, connectionId, await seenThrough(context, connectionId));
  const observed = await blockThoseAlone(context, connectionId, null, 'operator');
  await context.database.run('DELETE FROM sights WHERE connection_id = $1', connectionId);
  return { observed };
}

/** Of a sight that is named so. */
const isValid = (sight: string) =>
  `(SELECT c.status = 'valid' FROM connections c WHERE c.id = ${sight}.connection_id)`;

/** What was listed through this connection, or is lost to it, is listed through another that sees it, and stays with that one. */
async function passOn(context: Context, connectionId: string, among: string[]): Promise<void> {
  await lockOrganizations(context, among);
  await context.database.run(
    `UPDATE organizations o SET connection_id = n.other
     FROM (SELECT s.organization_id AS id, min(s.connection_id) AS other FROM sights s
       WHERE s.organization_id = ANY($2::text[]) AND ${isValid('s')} GROUP BY 1) n
     WHERE o.id = n.id AND o.id = ANY($2::text[]) AND o.connection_id = $1`,
    connectionId,
    among,
  );
}

async function seenThrough({ database }: Context, connectionId: string): Promise<string[]> {
  const seen = await database.all(
    'SELECT organization_id AS id FROM sights WHERE connection_id = $1 ORDER BY 1',
    connectionId,
  );
  return seen.map(({ id }) => id as string);
}

/** Organizations that this connection sees and no valid one does. */
async function blockThoseAlone(
  context: Context,
  connectionId: string,
  message: string | null,
  by: 'grant' | 'operator',
): Promise<Observed[]> {
  const alone = await context.database.all(
    `SELECT s.organization_id AS id FROM sights s WHERE s.connection_id = $1 AND (
       SELECT true FROM sights o WHERE o.organization_id = s.organization_id AND ${isValid('o')} LIMIT 1) IS NULL
     ORDER BY 1`,
    connectionId,
  );
  const waitsFor = alone.map(({ id }) => [id as string, { connectionId, message }] as const);
  return block(context, new Map(waitsFor), by);
}

/** What one statement writes stays far below the time that it may take. */
const blockedAtOnce = 500;

/** Each waits for its connection's consent from now on, unless it waits for a consent already or is forgotten. */
async function block(
  context: Context,
  waitsFor: ReadonlyMap<string, { connectionId: string; message: string | null }>,
  by: 'grant' | 'operator',
): Promise<Observed[]> {
  const rows = await lockOrganizations(context, [...waitsFor.keys()]);
  const forgotten = await forgottenOf(context, [...rows.keys()]);
  const blocked = [...rows.values()].flatMap((row) => {
    if (row.access === 'reauthorize' || forgotten.has(row.id)) return [];
    const found = { cause: 'refused-grant', actionUrl: null, ...waitsFor.get(row.id)! } as const;
    const observation: Observation = { organizationId: row.id, epoch: row.epoch, found, by };
    return [{ row: row as ObservedRow, observation }];
  });
  const observed: Observed[] = [];
  for (let at = 0; at < blocked.length; at += blockedAtOnce) {
    const some = blocked.slice(at, at + blockedAtOnce);
    const transitions = await observeAll(context, some);
    observed.push(...some.map(({ observation }, nth) => ({ observation, transition: transitions[nth]! })));
  }
  return observed;
}

/** A sight of a refused connection is enough: the organization is not forgotten, and that consent is what it waits for. */
export async function keepSights(
  context: Context,
  connectionId: string,
  organizations: string[],
): Promise<{ observed: Observed[] }> {
  const lost = await context.database.all(
    `DELETE FROM sights s WHERE s.connection_id = $1 AND NOT (s.organization_id = ANY($2::text[]))
       AND (SELECT true FROM sights o WHERE o.organization_id = s.organization_id AND o.connection_id <> $1
         AND (SELECT c.status <> 'revoked' FROM connections c WHERE c.id = o.connection_id) LIMIT 1)
     RETURNING s.organization_id AS id`,
    connectionId,
    organizations,
  );
  const ids = lost.map(({ id }) => id as string);
  if (ids.length > 0) await passOn(context, connectionId, ids);
  const unread = await context.database.all(
    `SELECT DISTINCT ON (s.organization_id) s.organization_id AS id, c.id AS connection_id, c.refused_message AS message
     FROM sights s JOIN connections c ON c.id = s.connection_id AND c.status = 'refused'
     WHERE s.organization_id = ANY($1::text[]) AND (
       SELECT true FROM sights o WHERE o.organization_id = s.organization_id AND ${isValid('o')} LIMIT 1) IS NULL
     ORDER BY 1, 2`,
    ids,
  );
  // Elsewhere it must be known, too, that nothing is asked through this one any more.
  if (unread.length > 0) await touchConnections(context);
  const waitsFor = unread.map(
    (row) => [row.id as string, { connectionId: row.connection_id as string, message: row.message }] as const,
  );
  const observed = await block(context, new Map(waitsFor), 'grant');
  await releaseUnread(context, connectionId);
  return { observed };
}
