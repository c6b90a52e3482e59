/**
 * Rows of organizations, each with the lane of its work. Whatever is decided from a row is decided under its lock.
 */
import type { Context } from './context';
import { addLanes } from './lanes';
import type { Row } from './server/database';

/** Adds organizations met for the first time, active. */
export async function ensureOrganizations(context: Context, ids: string[]): Promise<void> {
  const wanted = [...new Set(ids)].filter((id) => id !== '');
  if (wanted.length === 0) return;
  const added = await context.database.all(
    `INSERT INTO organizations (id) SELECT n.id FROM unnest($1::text[]) AS n (id)
     WHERE (SELECT true FROM organizations o WHERE o.id = n.id) IS NULL ORDER BY n.id COLLATE "C"
     ON CONFLICT (id) DO NOTHING RETURNING id`,
    wanted,
  );
  if (added.length > 0)
    await addLanes(
      context.database,
      added.map(({ id }) => id),
    );
}

/** The rows of these organizations by id, locked in order until the transaction ends. */
export async function lockOrganizations(context: Context, ids: string[]): Promise<Map<string, Row>> {
  if (ids.length === 0) return new Map();
  const rows = await context.database.all(
    `SELECT id, name, causes, access, epoch, since, was_read, known_address, probe_at, probe_interval_ms, probed_at,
       probe_lease_until, refused_address, connection_id, announced, action_due_at, action_met, gone_at, present_before
     FROM organizations WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
    [...new Set(ids)],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
