/**
 * What was set aside, as it is shown: from the row of its entry, on either store. Pure.
 */
import type { QuarantineView } from '../model/inspection';

/**
 * Of entries `q`. A record is at the address of its resource; `readTask` is the store's, of its row. A task was set aside by the
 * last delivery that had hinted at it then; one that was only listed, by none.
 */
export const viewColumnsBy = (
  readTask: string,
): string => `q.id, q.what, q.reason, q.path, q.detail, q.organization_id, q.at, q.state, q.raw,
  coalesce(q.address, (SELECT t.address FROM outbox o JOIN tasks t ON t.id = ${readTask}
    WHERE q.what = 'record' AND o.id = q.outbox_id)) AS address,
  coalesce(q.delivery_id, (SELECT d.id FROM hints h JOIN deliveries d ON d.id = h.delivery_id
    WHERE q.what = 'task' AND h.task_id = q.task_id AND d.received_at <= q.at ORDER BY h.generation DESC LIMIT 1)) AS delivery_id`;

/** Shown as `q12`; null for anything else. */
export function entryIdOf(text: string | null): number | null {
  const digits = /^q(\d{1,15})$/.exec(text ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

export function quarantineView(row: Readonly<Record<string, unknown>>): QuarantineView {
  return {
    id: `q${row.id}`,
    what: row.what as QuarantineView['what'],
    reason: row.reason as QuarantineView['reason'],
    path: String(row.path),
    detail: row.detail as string | null,
    organizationId: row.organization_id as string | null,
    address: row.address as string | null,
    deliveryId: row.delivery_id === null ? null : `d${row.delivery_id}`,
    at: new Date(Number(row.at)).toISOString(),
    state: row.state as QuarantineView['state'],
    raw: row.raw as string | null,
  };
}
