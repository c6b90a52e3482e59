/**
 * Connections with their sealed tokens, and which organizations each sees. Nothing here can open a token.
 */
import type { SealedConnection, SealedTokens } from '../../model/connection';
import type { Observation, Observed, ProbeAsker } from '../../model/organization';
import type { Context } from './context';
import type { Row } from './database';
import { isForgotten } from './is-forgotten';
import { observe, tellUntold } from './observe';
import { hintProbe, probeUnlessGranted } from './probes';
import { releaseUnread } from './release';

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
    write(context, connection, connection.importHash);
  }
}

/** A consent is newer than what the settings name: the hash of what was imported stays. */
export function saveConnection(context: Context, connection: SealedConnection): void {
  write(context, connection, null);
}

function write(context: Context, connection: SealedConnection, importHash: string | null): void {
  context.database.run(
    `INSERT INTO connections (id, user, auth, sealed_token, sealed_token_secret, sealed_refresh, expires_at, status,
       import_hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'valid', coalesce(?8, ''))
     ON CONFLICT (id) DO UPDATE SET user = excluded.user, auth = excluded.auth, sealed_token = excluded.sealed_token,
       sealed_token_secret = excluded.sealed_token_secret, sealed_refresh = excluded.sealed_refresh,
       expires_at = excluded.expires_at, status = 'valid', import_hash = coalesce(?8, import_hash),
       refused_message = NULL`,
    connection.connectionId,
    connection.user,
    connection.auth,
    connection.sealedToken,
    connection.sealedTokenSecret,
    connection.sealedRefresh,
    connection.expiresAt,
    importHash,
  );
  changed(context, connection.connectionId);
}

/** Other processes see that it changed, and those whose grant was refused are asked at once. */
function changed(context: Context, connectionId: string, askedBy: ProbeAsker = 'consent'): void {
  touchConnections(context);
  for (const id of seenThrough(context, connectionId)) probeUnlessGranted(context, id, askedBy);
}

function seenThrough({ database }: Context, connectionId: string): string[] {
  const sights = database.all(
    'SELECT organization_id AS id FROM sights WHERE connection_id = ?',
    connectionId,
  );
  return sights.map(({ id }) => String(id));
}

function isSeen({ database }: Context, connectionId: string, organizationId: string): boolean {
  const sql = 'SELECT 1 FROM sights WHERE connection_id = ? AND organization_id = ?';
  return database.get(sql, connectionId, organizationId) !== undefined;
}

/** Other processes see that something about connections changed. */
export function touchConnections(context: Context): void {
  context.database.run(
    `INSERT INTO meta (name, value) VALUES ('connections', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1`,
  );
}

export function connectionsMark(context: Context): string {
  return String(context.database.get(`SELECT value FROM meta WHERE name = 'connections'`)?.value ?? 0);
}

/** Those that were revoked stay as empty rows, so that the settings do not bring them back. */
export function listConnections(context: Context): SealedConnection[] {
  return context.database
    .all(`SELECT * FROM connections WHERE status <> 'revoked' ORDER BY id`)
    .map((row) => sealedConnection(context, row));
}

export function findConnection(context: Context, connectionId: string): SealedConnection | null {
  const row = context.database.get(
    `SELECT * FROM connections WHERE id = ? AND status <> 'revoked'`,
    connectionId,
  );
  return row === undefined ? null : sealedConnection(context, row);
}

function sealedConnection(context: Context, row: Row): SealedConnection {
  return {
    connectionId: String(row.id),
    user: String(row.user),
    auth: row.auth as SealedConnection['auth'],
    sealedToken: String(row.sealed_token),
    sealedTokenSecret: row.sealed_token_secret as string | null,
    sealedRefresh: row.sealed_refresh as string | null,
    expiresAt: row.expires_at as string | null,
    status: row.status as SealedConnection['status'],
    organizations: context.database
      .all(
        'SELECT organization_id FROM sights WHERE connection_id = ? ORDER BY organization_id',
        String(row.id),
      )
      .map((sight) => String(sight.organization_id)),
  };
}

export function replaceTokens(
  context: Context,
  connectionId: string,
  replaces: string,
  tokens: SealedTokens,
): boolean {
  const replaced = context.database.run(
    `UPDATE connections SET sealed_token = ?, sealed_token_secret = ?, sealed_refresh = ?, expires_at = ?
     WHERE id = ? AND sealed_token = ? AND status <> 'revoked'`,
    tokens.sealedToken,
    tokens.sealedTokenSecret,
    tokens.sealedRefresh,
    tokens.expiresAt,
    connectionId,
    replaces,
  );
  if (replaced === 1) touchConnections(context);
  return replaced === 1;
}

/** The organizations that no other valid connection sees need a new consent: they are blocked in the same transaction. */
export function refuseConnection(
  context: Context,
  connectionId: string,
  message: string | null,
  sealedToken: string,
): { observed: Observed[] } {
  const { database } = context;
  const refused = database.run(
    `UPDATE connections SET status = 'refused', refused_message = ?
     WHERE id = ? AND status = 'valid' AND sealed_token = ?`,
    message,
    connectionId,
    sealedToken,
  );
  if (refused === 0) return { observed: [] };
  touchConnections(context);
  passOn(context, connectionId, seenThrough(context, connectionId));
  return { observed: blockThoseAlone(context, connectionId, message, 'grant') };
}

/** No consent was given: those who are asked now are asked again by themselves. */
export function acceptConnection(context: Context, connectionId: string): boolean {
  const accepted = context.database.run(
    `UPDATE connections SET status = 'valid', refused_message = NULL WHERE id = ? AND status = 'refused'`,
    connectionId,
  );
  if (accepted === 1) changed(context, connectionId, 'schedule');
  return accepted === 1;
}

/** The row stays, empty: what the settings name and was imported once is not imported again. */
export function revokeConnection(context: Context, connectionId: string): { observed: Observed[] } | null {
  const revoked = context.database.run(
    `UPDATE connections SET status = 'revoked', user = '', sealed_token = '', sealed_token_secret = NULL,
       sealed_refresh = NULL, expires_at = NULL, refused_message = NULL WHERE id = ? AND status <> 'revoked'`,
    connectionId,
  );
  if (revoked === 0) return null;
  touchConnections(context);
  passOn(context, connectionId, seenThrough(context, connectionId));
  const observed = blockThoseAlone(context, connectionId, null, 'operator');
  context.database.run('DELETE FROM sights WHERE connection_id = ?', connectionId);
  return { observed };
}

/** What was listed through this connection, or is lost to it, is listed through another that sees it, and stays with that one. */
function passOn({ database }: Context, connectionId: string, among: string[]): void {
  database.run(
    `UPDATE organizations SET connection_id = o.id
     FROM (SELECT s.organization_id, min(c.id) AS id FROM sights s JOIN connections c ON c.id = s.connection_id
       WHERE c.status = 'valid' AND s.organization_id IN (SELECT value FROM json_each(?)) GROUP BY 1) o
     WHERE o.organization_id = organizations.id AND organizations.connection_id = ?`,
    JSON.stringify(among),
    connectionId,
  );
}

/** Organizations that this connection sees and no valid one does. */
function blockThoseAlone(
  context: Context,
  connectionId: string,
  message: string | null,
  by: 'grant' | 'operator',
): Observed[] {
  const { database } = context;
  const alone = database.all(
    `SELECT organization_id AS id FROM sights s WHERE connection_id = ? AND NOT EXISTS (
       SELECT 1 FROM sights o JOIN connections c ON c.id = o.connection_id
       WHERE o.organization_id = s.organization_id AND c.status = 'valid')`,
    connectionId,
  );
  return alone.flatMap(({ id }) => block(context, String(id), { message, connectionId, by }));
}

/** Waits for this connection's consent from now on, unless it waits for a consent already or is forgotten. */
function block(
  context: Context,
  organizationId: string,
  { message, connectionId, by }: { message: string | null; connectionId: string; by: 'grant' | 'operator' },
): Observed[] {
  const { access, epoch } = context.organizations.ensure(organizationId);
  if (access === 'reauthorize' || isForgotten(context, organizationId)) return [];
  const found = { cause: 'refused-grant', actionUrl: null, message, connectionId } as const;
  const observation: Observation = { organizationId, epoch, found, by };
  return [{ observation, transition: observe(context, observation) }];
}

/** A sight of a refused connection is enough: the organization is not forgotten, and that consent is what it waits for. */
export function keepSights(
  context: Context,
  connectionId: string,
  organizations: string[],
): { observed: Observed[] } {
  const { database } = context;
  const lost = database.all(
    `DELETE FROM sights WHERE connection_id = ? AND organization_id NOT IN (SELECT value FROM json_each(?))
       AND EXISTS (SELECT 1 FROM sights o JOIN connections c ON c.id = o.connection_id
         WHERE o.organization_id = sights.organization_id AND c.id <> ? AND c.status <> 'revoked')
     RETURNING organization_id AS id`,
    connectionId,
    JSON.stringify(organizations),
    connectionId,
  );
  const ids = lost.map(({ id }) => String(id));
  if (ids.length > 0) passOn(context, connectionId, ids);
  const unread = database.all(
    `SELECT s.organization_id AS id, c.id AS connection_id, c.refused_message AS message
     FROM sights s JOIN connections c ON c.id = s.connection_id AND c.status = 'refused'
     WHERE s.organization_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
       SELECT 1 FROM sights o JOIN connections v ON v.id = o.connection_id
       WHERE o.organization_id = s.organization_id AND v.status = 'valid') ORDER BY 1, 2`,
    JSON.stringify(ids),
  );
  // Elsewhere it must be known, too, that nothing is asked through this one any more.
  if (unread.length > 0) touchConnections(context);
  const observed = unread.flatMap(({ id, connection_id, message }) =>
    block(context, String(id), {
      message: message as string | null,
      connectionId: String(connection_id),
      by: 'grant',
    }),
  );
  releaseUnread(context, connectionId);
  return { observed };
}

/** Is it kept with connection ?2 from now on? While it is kept with a valid one that sees it, with none else. */
const isTakenOver = `connection_id IS NULL OR EXISTS (SELECT 1 FROM connections WHERE id = ?2 AND status = 'valid')
  AND NOT EXISTS (SELECT 1 FROM sights s JOIN connections c ON c.id = s.connection_id AND c.status = 'valid'
    WHERE s.connection_id = organizations.connection_id AND s.organization_id = organizations.id)`;

/**
 * What a listing showed to a connection: names are kept, unknown organizations start active. The provider lists those too
 * that are not connected: the name of one that was forgotten is not learned again before it is back.
 */
export function learn(
  context: Context,
  organizations: { id: string; name: string | null; connectionId: string }[],
): void {
  for (const { id, name, connectionId } of organizations) {
    const organization = context.organizations.ensure(id);
    const { access } = organization;
    const forgotten = isForgotten(context, id);
    if (!organization.wasShown) {
      context.organizations.remember(organization);
      organization.wasShown = true;
    }
    context.database.run(
      `UPDATE organizations SET name = coalesce(?1, name), connection_id = iif(${isTakenOver}, ?2, connection_id) WHERE id = ?3`,
      forgotten ? null : name,
      connectionId,
      id,
    );
    const isShownAnew = access === 'reauthorize' && !isSeen(context, connectionId, id);
    context.database.run(
      `INSERT INTO sights (connection_id, organization_id, seen_at) VALUES (?, ?, ?)
       ON CONFLICT (connection_id, organization_id) DO UPDATE SET seen_at = excluded.seen_at`,
      connectionId,
      id,
      context.nowMs(),
    );
    // Another connection shows it: that one's grant holds, and who was forgotten is back. The first time is a consent's.
    if (isShownAnew) probeUnlessGranted(context, id, 'listing');
    else if (access === 'reauthorize' || forgotten) hintProbe(context, id, null, 'listing');
  }
  tellUntold(
    context,
    organizations.map(({ id }) => id),
  );
}
