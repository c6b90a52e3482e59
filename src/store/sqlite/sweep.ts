/**
 * Retention: what is settled and older than its bound goes, a bounded amount a call. A key's newest event stays, and so
 * does what waits for an operator. Hints that still wait fold into a count with their first and last time, so that the
 * journal is bounded by the number of resources. Resolved alerts go after a day, when every sink that was offered one was
 * told of its end.
 */
import { fenceOf } from '../read-fence';
import { newestNumber } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';

const rowsMax = 1000;
/** A resolved alert stays for a day, to be looked at. */
const alertMs = 86_400_000;

export function sweep(context: Context): number {
  const nowMs = context.nowMs();
  const journalledAfterMs = nowMs - context.settings.journalMs;
  const entries = context.database.run(
    `DELETE FROM quarantine WHERE id IN (
       SELECT id FROM quarantine WHERE state <> 'waiting' AND what <> 'notification' AND at < ? LIMIT ?)`,
    journalledAfterMs,
    rowsMax,
  );
  const alerts = context.database.run(
    `DELETE FROM alerts WHERE alert ->> 'resolvedAtMs' < ? AND NOT EXISTS (
       SELECT 1 FROM json_each(alert, '$.sent') s WHERE s.value ->> 'state' IS NOT 'resolved')`,
    nowMs - alertMs,
  );
  const replayed = context.database.run(
    'DELETE FROM replayed WHERE id IN (SELECT id FROM replayed ORDER BY id LIMIT ?) AND at < ?',
    rowsMax,
    journalledAfterMs,
  );
  const events = sweepEvents(context, nowMs);
  return events + sweepDeliveries(context, journalledAfterMs) + entries + alerts + replayed;
}

/**
 * Positions rise with the time of sending: the log is walked from its beginning, so many rows a call, again and again.
 * What waits to be sent may be refused: until it is not, the event before it may be its key's newest.
 */
function sweepEvents(context: Context, nowMs: number): number {
  const { database, swept } = context;
  const rows = database.all(
    `SELECT o.id, o.position, o.state, o.sent_at, o.event_id, o.task_id, o.cause,
       o.sequence < ${newestNumber} AND NOT EXISTS (
         SELECT 1 FROM outbox u WHERE u.state = 0 AND u.key = o.key AND u.sequence > o.sequence) AS superseded
     FROM outbox o CROSS JOIN sequences s ON s.key = o.key WHERE o.position > ? ORDER BY o.position LIMIT ?`,
    swept.position,
    rowsMax,
  );
  const young = rows.findIndex((row) => Number(row.sent_at) >= nowMs - context.settings.eventMs);
  const old = young < 0 ? rows : rows.slice(0, young);
  swept.position = old.length < rowsMax ? 0 : Number(old.at(-1)!.position);
  const gone = old.filter(({ state, superseded }) => superseded === 1 && (state === 1 || state === 2));
  const last = gone.at(-1);
  if (last === undefined) return 0;
  database.run(
    `UPDATE meta SET value = (SELECT value FROM meta WHERE name = 'floor') WHERE name = 'unmarked'
       AND (SELECT value FROM meta WHERE name = 'floor') > (SELECT value FROM meta WHERE name = 'marked')`,
  );
  for (const event of gone) takeEvent(context, event);
  database.run(
    `UPDATE meta SET value = max(value, ?) WHERE name IN ('floor', 'marked')`,
    Number(last.position),
  );
  return gone.length;
}

/** Its read says that it was taken, so that an event which vanished in any other way can be told from it. */
function takeEvent({ database }: Context, { id, task_id, event_id, cause }: Row): void {
  const fence = fenceOf(String(cause));
  if (fence !== null)
    database.run(
      'UPDATE reads SET swept = 1 WHERE task_id = ? AND fence = ? AND event_id = ?',
      task_id as number,
      fence,
      event_id as string,
    );
  database.run('DELETE FROM outbox WHERE id = ?', id as number);
}

function sweepDeliveries(context: Context, beforeMs: number): number {
  const { database, swept } = context;
  const rows = database.all(
    `SELECT d.id, d.received_at, EXISTS (
       SELECT 1 FROM quarantine q WHERE q.delivery_id = d.id AND q.state = 'waiting') AS waits
     FROM deliveries d WHERE d.id > ? AND d.id < (SELECT max(id) FROM deliveries) ORDER BY d.id LIMIT ?`,
    swept.delivery,
    rowsMax,
  );
  const young = rows.findIndex((row) => Number(row.received_at) >= beforeMs);
  const old = young < 0 ? rows : rows.slice(0, young);
  swept.delivery = old.length < rowsMax ? 0 : Number(old.at(-1)!.id);
  const gone = old.filter(({ waits }) => waits === 0);
  for (const { id } of gone) sweepDelivery(context, Number(id), beforeMs);
  return gone.length;
}

function sweepDelivery(context: Context, deliveryId: number, beforeMs: number): void {
  const { database } = context;
  for (const { id } of tasksOf(context, deliveryId)) {
    const hints = database.all(
      `DELETE FROM hints WHERE task_id = ? AND delivery_id = ? RETURNING generation,
         (SELECT received_at FROM deliveries d WHERE d.id = hints.delivery_id) AS at`,
      id as number,
      deliveryId,
    );
    for (const hint of hints) foldUndecided(context, Number(id), hint);
    database.run(
      `DELETE FROM reads WHERE task_id = ? AND at < ? AND NOT EXISTS (
         SELECT 1 FROM hints h WHERE h.task_id = reads.task_id AND h.generation <= reads.generation)`,
      id as number,
      beforeMs,
    );
  }
  database.run('DELETE FROM quarantine WHERE delivery_id = ?', deliveryId);
  database.run('DELETE FROM deliveries WHERE id = ?', deliveryId);
}

/** The tasks that the delivery hinted: those of its addresses, and those which these were joined to. */
export function tasksOf(context: Context, deliveryId: number): Row[] {
  return context.database.all(
    `WITH named AS (
       SELECT a.task_id AS id FROM json_each((SELECT elements FROM deliveries WHERE id = ?)) e
       JOIN aliases a ON a.address = e.value ->> 'address')
     SELECT id FROM named
     UNION SELECT t.joined_to FROM named n JOIN tasks t ON t.id = n.id WHERE t.joined_to IS NOT NULL`,
    deliveryId,
  );
}

/** A hint that no read covers is counted with its task until one does. */
function foldUndecided(context: Context, taskId: number, hint: Row): void {
  const { generation, at } = hint as { generation: number; at: number };
  const decided = context.database.get(
    'SELECT 1 FROM reads WHERE task_id = ? AND generation >= ? LIMIT 1',
    taskId,
    generation,
  );
  if (decided !== undefined) return;
  context.database.run(
    `UPDATE tasks SET folded = folded + 1, folded_first_at = min(coalesce(folded_first_at, ?), ?),
       folded_last_at = max(coalesce(folded_last_at, ?), ?) WHERE id = ?`,
    at,
    at,
    at,
    at,
    taskId,
  );
}
