/**
 * Retention: what is settled and older than its bound goes, a bounded amount a call. A key's newest event stays, and so
 * does the journal of anything that still waits. Resolved alerts go after a day.
 */
import type { Context } from './context';

const rowsMax = 1000;
/** A resolved alert stays for a day, to be looked at. */
const alertMs = 86_400_000;

export function sweep(context: Context): number {
  const { database } = context;
  const nowMs = context.nowMs();
  const events = database.run(
    `DELETE FROM outbox WHERE id IN (SELECT o.id FROM outbox o JOIN sequences s ON s.key = o.key
       WHERE o.id < (SELECT coalesce(max(id), 0) FROM outbox) AND o.state IN (1, 2) AND o.sent_at < ?
         AND o.sequence < s.sequence ORDER BY o.id LIMIT ?)`,
    nowMs - context.settings.eventMs,
    rowsMax,
  );
  const old = database.all(
    `SELECT d.id FROM deliveries d WHERE d.received_at < ? ORDER BY d.id LIMIT ?`,
    nowMs - context.settings.journalMs,
    rowsMax,
  );
  let deliveries = 0;
  for (const { id } of old) {
    const waiting = database.get(
      `SELECT 1 FROM json_each((SELECT elements FROM deliveries WHERE id = ?)) e
       JOIN aliases a ON a.address = e.value ->> 'address' JOIN tasks t ON t.id = a.task_id
       WHERE t.state <> 'done' LIMIT 1`,
      id as number,
    );
    if (waiting !== undefined) continue;
    database.run(
      `DELETE FROM hints WHERE delivery_id = ? AND task_id IN (SELECT a.task_id
         FROM json_each((SELECT elements FROM deliveries WHERE id = ?)) e
         JOIN aliases a ON a.address = e.value ->> 'address')`,
      id as number,
      id as number,
    );
    deliveries += database.run('DELETE FROM deliveries WHERE id = ?', id as number);
  }
  const alerts = database.run(`DELETE FROM alerts WHERE alert ->> 'resolvedAtMs' < ?`, nowMs - alertMs);
  return events + deliveries + alerts;
}
