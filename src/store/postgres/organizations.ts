/**
 * Organizations: what a listing teaches, their access and epochs, and how people see them.
 */
import type { AccessChange, OrganizationView } from '../../model/organization';
import { accessChange, accessView, announcedView, isForgotten, organizationView } from '../organization-row';
import { hintProbes, probeUnlessGranted } from './ask-probes';
import type { Context } from './context';
import { type ObservedRow, tellUntold } from './observe';
import { ensureOrganizations, lockOrganizations } from './organization-rows';
import { storable } from './quarantine-entries';

/** Those of them that an operator let go of, and that nobody has connected again. */
export async function forgottenOf(context: Context, ids: string[]): Promise<ReadonlySet<string>> {
  const sql = `SELECT id FROM organizations o WHERE id = ANY($1::text[]) AND ${isForgotten}`;
  return new Set((await context.database.all(sql, ids)).map(({ id }) => id as string));
}

/**
 * What a listing showed to a connection: names are kept, unknown organizations start active. The provider lists those too
 * that are not connected: the name of one that was forgotten is not learned again before it is back.
 */
export async function learn(
  context: Context,
  organizations: { id: string; name: string | null; connectionId: string }[],
): Promise<void> {
  const ids = [...new Set(organizations.map(({ id }) => id))].sort();
  await ensureOrganizations(context, ids);
  const rows = await lockOrganizations(context, ids);
  const forgotten = await forgottenOf(context, ids);
  const names = new Map<string, string>();
  const connections = new Map<string, string>();
  for (const { id, name, connectionId } of organizations) {
    if (name !== null && !forgotten.has(id)) names.set(id, name);
    if (!connections.has(id)) connections.set(id, connectionId);
  }
  await context.database.run(
    `UPDATE organizations o SET name = coalesce(n.name, o.name),
       connection_id = CASE WHEN ${isTakenOver} THEN n.connection_id ELSE o.connection_id END
     FROM unnest($1::text[], $2::text[], $3::text[]) AS n (id, name, connection_id)
     WHERE o.id = n.id AND o.id = ANY($1::text[]) AND (n.name IS DISTINCT FROM o.name OR ${isTakenOver})`,
    ids,
    ids.map((id) => storable(names.get(id) ?? null)),
    ids.map((id) => connections.get(id)!),
  );
  const shown = [organizations.map(({ connectionId }) => connectionId), organizations.map(({ id }) => id)];
  const shownAnew = await context.database.all(
    `SELECT DISTINCT id FROM unnest($1::text[], $2::text[]) AS n (connection_id, id) WHERE (
       SELECT true FROM sights s WHERE s.connection_id = n.connection_id AND s.organization_id = n.id) IS NULL`,
    ...shown,
  );
  await context.database.run(
    `INSERT INTO sights (connection_id, organization_id, seen_at)
     SELECT DISTINCT connection_id, id, $3::bigint FROM unnest($1::text[], $2::text[]) AS n (connection_id, id)
     ORDER BY 1, 2 ON CONFLICT (connection_id, organization_id) DO UPDATE SET seen_at = excluded.seen_at`,
    ...shown,
    context.nowMs(),
  );
  await tellUntold(context, [...rows.values()] as ObservedRow[]);
  // Another connection shows it: that one's grant holds, and who was forgotten is back. The first time is a consent's.
  const refused = ids.filter((id) => rows.get(id)?.access === 'reauthorize' || forgotten.has(id));
  await hintProbes(
    context,
    refused.map((organizationId) => ({ organizationId, dueAt: null })),
    'listing',
  );
  await probeUnlessGranted(
    context,
    shownAnew.map(({ id }) => id as string),
    'listing',
  );
}

export async function accessHistory(
  { database }: Context,
  organizationId: string,
  limit: number,
): Promise<AccessChange[]> {
  const rows = await database.all(
    `SELECT epoch, at, previous, access, said_by, asked_by, cause, action_url, message FROM organization_history
     WHERE organization_id = $1 ORDER BY epoch DESC LIMIT $2`,
    storable(organizationId),
    limit,
  );
  return rows.reverse().map(accessChange);
}

export async function access(context: Context, organizationId: string) {
  const row = await context.database.get(
    `SELECT access, causes, epoch, connection_id, ${isForgotten} AS forgotten FROM organizations o WHERE id = $1`,
    storable(organizationId),
  );
  return row === undefined ? null : accessView(row);
}

export async function epochs(context: Context): Promise<Map<string, number>> {
  const rows = await context.database.all('SELECT id, epoch FROM organizations');
  return new Map(rows.map(({ id, epoch }) => [id, epoch]));
}

export async function listOrganizations(
  context: Context,
  { limit, after }: { limit: number; after: string | null },
): Promise<OrganizationView[]> {
  const revokedIds = await revokedConnections(context);
  const rows = await context.database.all(
    `SELECT ${organizationColumns} FROM organizations o ${after === null ? '' : 'WHERE o.id > $2'} ORDER BY o.id LIMIT $1`,
    limit,
    ...(after === null ? [] : [storable(after)]),
  );
  return rows.map((row) => organizationView(row, revokedIds));
}

export async function findOrganization(
  context: Context,
  organizationId: string,
): Promise<OrganizationView | null> {
  const row = await context.database.get(
    `SELECT ${organizationColumns}, o.announced, o.action_due_at, o.action_met FROM organizations o WHERE o.id = $1`,
    storable(organizationId),
  );
  if (row === undefined) return null;
  return announcedView(row, await revokedConnections(context));
}

/** The connections that an operator revoked. */
export async function revokedConnections({ database }: Context): Promise<Set<string>> {
  const rows = await database.all(`SELECT id FROM connections WHERE status = 'revoked'`);
  return new Set(rows.map(({ id }) => id));
}

/** Is `o` kept with the connection that `n` names from now on? While it is kept with a valid one that sees it, with none else. */
const isTakenOver = `(o.connection_id IS NULL
  OR (SELECT c.status = 'valid' FROM connections c WHERE c.id = n.connection_id)
    AND ((SELECT c.status = 'valid' FROM connections c WHERE c.id = o.connection_id)
      AND (SELECT true FROM sights s WHERE s.connection_id = o.connection_id AND s.organization_id = o.id)) IS NOT TRUE)`;

/** With how many tasks wait for an organization `o` that is not active. */
const organizationColumns = `${isForgotten} AS forgotten, o.id, o.name, o.access, o.causes, o.connection_id, o.was_read,
  CASE WHEN o.access = 'active' THEN 0::bigint ELSE (
    SELECT count(*) FROM tasks t WHERE t.lane = o.id AND t.due_at IS NOT NULL) END AS parked`;
