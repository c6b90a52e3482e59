/**
 * What waits for an operator: notifications, unreadable deliveries, tasks and records, each with a stable reason.
 * Entries are made, closed and shown here; what an operator orders is done elsewhere.
 */

import type { QuarantineView } from '../../model/inspection';
import type { RefusedElement } from '../../model/notification';
import type { QuarantineEntry } from '../quarantine-entry';
import { entryIdOf, quarantineView, viewColumnsBy } from '../quarantine-view';
import type { Context } from './context';
import { readTask } from './read-task';

/** Where nobody is authenticated anybody can send bodies that cannot be read. */
const samplesMax = 1000;

/** False for a sample that is kept already: it is not entered twice. */
export function insertEntry(context: Context, entry: QuarantineEntry): boolean {
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
  insertEntry(context, { what: 'notification', reason, path, deliveryId, element, raw });
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
  return insertEntry(context, { what: 'delivery', reason, path: '', detail, sampleHash: bodyHash, raw });
}

const viewColumns = viewColumnsBy(readTask);

export function listQuarantine(
  context: Context,
  filter: { limit: number; after: string | null },
): QuarantineView[] {
  return context.database
    .all(
      `SELECT ${viewColumns} FROM quarantine q WHERE q.id > ? AND q.state = 'waiting' ORDER BY q.id LIMIT ?`,
      entryIdOf(filter.after) ?? 0,
      filter.limit,
    )
    .map(quarantineView);
}

export function showQuarantine(context: Context, id: string): QuarantineView | null {
  const row = context.database.get(
    `SELECT ${viewColumns} FROM quarantine q WHERE q.id = ?`,
    entryIdOf(id) ?? -1,
  );
  return row === undefined ? null : quarantineView(row);
}

/** A task that is tried again waits for nobody: it is entered anew when it is set aside again. */
export function closeEntry(context: Context, taskId: number): void {
  context.database.run(
    `UPDATE quarantine SET state = 'released' WHERE task_id = ? AND state = 'waiting'`,
    taskId,
  );
}

/** Of a record that stands on its topic. */
export function closeRecord({ database }: Context, row: number): void {
  database.run(`UPDATE quarantine SET state = 'released' WHERE outbox_id = ? AND state = 'waiting'`, row);
}
