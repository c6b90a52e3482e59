/**
 * What waits for an operator, shown: notifications, unreadable deliveries, tasks and records, each with a stable reason.
 */
import type { QuarantineView } from '../../model/inspection';
import type { Context } from './context';
import type { Row } from './database';

const columns = 'id, what, reason, path, detail, organization_id, address, delivery_id, at, state, raw';

export async function listQuarantine(
  { database }: Context,
  filter: { limit: number; after: string | null },
): Promise<QuarantineView[]> {
  const rows = await database.all(
    `SELECT ${columns} FROM quarantine WHERE id > $1 AND state = 'waiting' ORDER BY id LIMIT $2`,
    entryIdOf(filter.after) ?? 0,
    filter.limit,
  );
  return rows.map(viewOf);
}

export async function showQuarantine({ database }: Context, id: string): Promise<QuarantineView | null> {
  const row = await database.get(`SELECT ${columns} FROM quarantine WHERE id = $1`, entryIdOf(id) ?? -1);
  return row === undefined ? null : viewOf(row);
}

/** Shown as `q12`; null for anything else. */
export function entryIdOf(text: string | null): number | null {
  const digits = /^q(\d{1,15})$/.exec(text ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

function viewOf(row: Row): QuarantineView {
  return {
    id: `q${row.id}`,
    what: row.what,
    reason: row.reason,
    path: row.path,
    detail: row.detail,
    organizationId: row.organization_id,
    address: row.address,
    deliveryId: row.delivery_id === null ? null : `d${row.delivery_id}`,
    at: new Date(row.at).toISOString(),
    state: row.state,
    raw: row.raw,
  };
}
