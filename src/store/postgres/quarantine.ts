/**
 * What waits for an operator, shown: notifications, unreadable deliveries, tasks and records, each with a stable reason.
 */
import type { QuarantineView } from '../../model/inspection';
import type { Context } from './context';
import type { Row } from './database';
import { readTask } from './read-task';

/**
 * A record is at the address of its resource. A task was set aside by the last delivery that had hinted at it then; one that
 * was only listed, by none.
 */
const columns = `q.id, q.what, q.reason, q.path, q.detail, q.organization_id, q.at, q.state, q.raw,
  coalesce(q.address, (SELECT t.address FROM outbox o JOIN tasks t ON t.id = ${readTask}
    WHERE q.what = 'record' AND o.id = q.outbox_id)) AS address,
  coalesce(q.delivery_id, (SELECT d.id FROM hints h JOIN deliveries d ON d.id = h.delivery_id
    WHERE q.what = 'task' AND h.task_id = q.task_id AND d.received_at <= q.at ORDER BY h.generation DESC LIMIT 1)) AS delivery_id`;

export async function listQuarantine(
  { database }: Context,
  filter: { limit: number; after: string | null },
): Promise<QuarantineView[]> {
  const rows = await database.all(
    `SELECT ${columns} FROM quarantine q WHERE q.id > $1 AND q.state = 'waiting' ORDER BY q.id LIMIT $2`,
    entryIdOf(filter.after) ?? 0,
    filter.limit,
  );
  return rows.map(viewOf);
}

export async function showTogether(
  { database }: Context,
  calls: [string][],
): Promise<(QuarantineView | null)[]> {
  const ids = calls.map(([id]) => entryIdOf(id) ?? -1);
  const rows = await database.all(`SELECT ${columns} FROM quarantine q WHERE q.id = ANY($1::bigint[])`, ids);
  const views = new Map(rows.map((row) => [Number(row.id), viewOf(row)]));
  return ids.map((id) => views.get(id) ?? null);
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
