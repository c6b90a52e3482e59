/**
 * What waits for an operator: notifications, unreadable deliveries, tasks and records, each with a stable reason.
 * Entries are made, closed and shown here; what an operator orders is done elsewhere.
 */

import type { QuarantineView } from '../../model/inspection';
import type { QuarantineReason, RefusedElement } from '../../model/notification';
import type { QuarantineEntry } from '../quarantine-entry';
import type { Context } from './context';
import type { Row } from './database';
import { readTask } from './read-task';

/** Where nobody is authenticated anybody can send bodies that cannot be read. */
const samplesMax = 1000;

/** False for a sample that is kept already: it is not entered twice. */
export function insertQuarantine(context: Context, entry: QuarantineEntry): boolean {
  const entered = context.database.run(
    `INSERT INTO quarantine (what, reason, path, detail, organization_id, address, delivery_id, element, task_id,
       outbox_id, sample_hash, raw, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (sample_hash) WHERE sample_hash IS NOT NULL DO NOTHING`,
    entry.what,
    entry.reason,
    entry.path,
    entry.detail ?? null,
    entry.organizationId ?? null,
    entry.address ?? null,
    entry.deliveryId ?? null,
    entry.element ?? null,
    entry.taskId ?? null,
    entry.outboxId ?? null,
    entry.sampleHash ?? null,
    entry.raw ?? null,
    context.nowMs(),
  );
  if (entered > 0) context.setAside.push(entry.reason);
  return entered > 0;
}

export function quarantineElement(
  context: Context,
  deliveryId: number,
  element: number,
  refused: RefusedElement,
): void {
  const { reason, path, raw } = refused;
  insertQuarantine(context, { what: 'notification', reason, path, deliveryId, element, raw });
}

/** At most 1,000 samples are kept. */
export function keepSample(
  context: Context,
  sample: { bodyHash: string; detail: string; raw: string },
): boolean {
  const { bodyHash, detail, raw } = sample;
  const reason = 'malformed-body';
  const { kept } = context.database.get(
    `SELECT count(*) AS kept FROM quarantine WHERE state = 'waiting' AND reason = ?`,
    reason,
  )!;
  if (Number(kept) >= samplesMax) return false;
  return insertQuarantine(context, { what: 'delivery', reason, path: '', detail, sampleHash: bodyHash, raw });
}

/**
 * A record is at the address of its resource. A task was set aside by the last delivery that had hinted at it then; one that
 * was only listed, by none.
 */
const viewColumns = `q.id, q.what, q.reason, q.path, q.detail, q.organization_id, q.at, q.state, q.raw,
  coalesce(q.address, (SELECT t.address FROM outbox o JOIN tasks t ON t.id = ${readTask}
    WHERE q.what = 'record' AND o.id = q.outbox_id)) AS address,
  coalesce(q.delivery_id, (SELECT d.id FROM hints h JOIN deliveries d ON d.id = h.delivery_id
    WHERE q.what = 'task' AND h.task_id = q.task_id AND d.received_at <= q.at ORDER BY h.generation DESC LIMIT 1)) AS delivery_id`;

export function listQuarantine(
  context: Context,
  filter: { limit: number; after: string | null },
): QuarantineView[] {
  return context.database
    .all(
      `SELECT ${viewColumns} FROM quarantine q WHERE q.id > ? AND q.state = 'waiting' ORDER BY q.id LIMIT ?`,
      idOf(filter.after) ?? 0,
      filter.limit,
    )
    .map(viewOf);
}

export function showQuarantine(context: Context, id: string): QuarantineView | null {
  const row = context.database.get(`SELECT ${viewColumns} FROM quarantine q WHERE q.id = ?`, idOf(id) ?? -1);
  return row === undefined ? null : viewOf(row);
}

/** Shown as `q12`; null for anything else. */
export function idOf(text: string | null): number | null {
  const digits = /^q(\d{1,15})$/.exec(text ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

function viewOf(row: Row): QuarantineView {
  return {
    id: `q${row.id}`,
    what: row.what as QuarantineView['what'],
    reason: row.reason as QuarantineReason,
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

/** A task that is tried again waits for nobody: it is entered anew when it is set aside again. */
export function closeEntry(context: Context, taskId: number): void {
  context.database.run(
    `UPDATE quarantine SET state = 'released' WHERE task_id = ? AND state = 'waiting'`,
    taskId,
  );
}
