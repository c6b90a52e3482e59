/**
 * Retention: what is settled and older than its bound goes, a bounded amount a call, in short transactions. A key's newest
 * event stays, and so does what waits for an operator. Hints that still wait fold into a count with their first and last
 * time, so that the journal is bounded by the number of resources. Resolved alerts go after a day, when every sink that
 * was offered one was told of its end. How far log and journal were walked stands in a row: whichever process sweeps next
 * goes on from there. Before all that, waits from before the clock was set back come nearer.
 */
import type { Swept } from '../../model/inspection';
import { newestNumber, tellsRecord, walkEnded } from '../store-rules';
import type { Context, InTransaction } from './context';
import { uncount } from './log-size';
import { isWaiting } from './quarantine-entries';
import type { Row } from './server/database';
import { bringNearer } from './set-back';
import { raiseFloor, sweepEvents } from './sweep-events';
import { noteSwept, sweptUntil } from './swept-until';
import { timesOf } from './time-behind';

const rowsMax = 1000;
/** Notifications of the deliveries of one step: their tasks are locked until it ends. */
const notificationsMax = 5000;
/** A resolved alert stays for a day, to be looked at. */
const alertMs = 86_400_000;

/** A step takes at most 1,000 rows of a table, and 5,000 notifications. */
export async function sweep(inTransaction: InTransaction): Promise<Swept> {
  const nearer = await inTransaction(bringNearer);
  nearer.done();
  const events = await inTransaction(sweepEvents);
  const deliveries = await inTransaction(sweepDeliveries);
  const reads = await inTransaction(sweepReads);
  const settled = await inTransaction(sweepSettled);
  const ended = await inTransaction(endRound);
  return { rows: events + deliveries + reads + settled.rows, more: nearer.more || settled.more || !ended };
}

/** A walk that has come to its end waits for the others: then nothing was left out, and all begin anew. */
async function endRound(context: Context): Promise<boolean> {
  for (const what of ['events', 'deliveries', 'reads'] as const)
    if ((await sweptUntil(context, what)) !== walkEnded) return false;
  for (const what of ['events', 'deliveries', 'reads', 'reads-fence'] as const)
    await noteSwept(context, what, 0);
  return true;
}

async function sweepSettled(context: Context): Promise<Swept> {
  const { database, settings } = context;
  const entries = await database.run(
    `DELETE FROM quarantine WHERE id = ANY(ARRAY(
       SELECT id FROM quarantine WHERE state <> 'waiting' AND what <> 'notification' AND at < $1
         AND NOT ${tellsRecord} LIMIT $2))`,
    context.nowMs() - settings.journalMs,
    rowsMax,
  );
  const alerts = await database.run(
    // Its own state is resolved: any other that it holds is what a sink still has of it.
    `DELETE FROM alerts WHERE substring(alert FROM '"resolvedAtMs":([0-9]+)')::bigint < $1
       AND alert !~ '"state":(null|"firing")'`,
    context.nowMs() - alertMs,
  );
  const replayed = await sweepReplayed(context);
  const aside = await sweepAside(context);
  const more = [entries, replayed, aside].some((rows) => rows === rowsMax);
  return { rows: entries + alerts + replayed + aside, more };
}

async function sweepReplayed(context: Context): Promise<number> {
  const rows = await context.database.all('SELECT id, at FROM replayed ORDER BY id LIMIT $1', rowsMax);
  const times = await timesOf(context, rows, { table: 'replayed', place: 'id', at: 'at' });
  const beforeMs = context.nowMs() - context.settings.journalMs;
  const gone = rows.flatMap(({ id }, nth) => (times[nth]! < beforeMs ? [id] : []));
  if (gone.length > 0) await context.database.run('DELETE FROM replayed WHERE id = ANY($1::bigint[])', gone);
  return gone.length;
}

/**
 * Records that Kafka refused or that were set aside, once nobody has to look at them and no read tells of them any more. One
 * that was published before is its key's newest event for as long as there is no other.
 */
async function sweepAside(context: Context): Promise<number> {
  const gone = await context.database.all(
    `DELETE FROM outbox WHERE id = ANY(ARRAY(
       SELECT o.id FROM outbox o WHERE o.state > 2 AND o.decided_at < $1
         AND (SELECT true FROM quarantine q WHERE q.outbox_id = o.id AND ${isWaiting} LIMIT 1) IS NULL
         AND (SELECT true FROM reads r WHERE r.task_id = o.task_id AND r.event_id = o.event_id LIMIT 1) IS NULL
         AND (o.log_offset IS NULL OR o.sequence < (SELECT ${newestNumber} FROM sequences s WHERE s.key = o.key))
       ORDER BY o.id LIMIT $2)) AND state > 2 RETURNING position, bytes`,
    context.nowMs() - context.settings.journalMs,
    rowsMax,
  );
  const floor = Math.max(0, ...gone.map(({ position }) => position ?? 0));
  if (floor > 0) await raiseFloor(context, floor);
  await uncount(context, gone);
  return gone.length;
}

/**
 * Reads of what nobody notified go by their own age, those of deliveries with these. What decided an event that is still in
 * the log stays with it. The table is walked from its beginning, so many rows a call.
 */
async function sweepReads(context: Context): Promise<number> {
  const { database, settings } = context;
  const from = [await sweptUntil(context, 'reads'), await sweptUntil(context, 'reads-fence')];
  if (from[0] === walkEnded) return 0;
  const last = await database.get(
    `SELECT task_id, fence FROM reads WHERE (task_id, fence) > ($1::bigint, $2::bigint) ORDER BY task_id, fence
     LIMIT 1 OFFSET $3`,
    ...from,
    rowsMax - 1,
  );
  const gone = await database.run(
    `DELETE FROM reads r WHERE (task_id, fence) > ($1::bigint, $2::bigint)
       AND (task_id, fence) <= ($3::bigint, $4::bigint) AND at < $5
       AND (SELECT true FROM hints h WHERE h.task_id = r.task_id AND h.generation <= r.generation LIMIT 1) IS NULL
       AND (SELECT true FROM outbox o WHERE o.event_id = r.event_id AND o.state < 3 LIMIT 1) IS NULL`,
    ...from,
    last?.task_id ?? Number.MAX_SAFE_INTEGER,
    last?.fence ?? 0,
    context.nowMs() - settings.journalMs,
  );
  await noteSwept(context, 'reads', last?.task_id ?? walkEnded);
  await noteSwept(context, 'reads-fence', last?.fence ?? 0);
  return gone;
}

async function sweepDeliveries(context: Context): Promise<number> {
  const { database, settings } = context;
  const beforeMs = context.nowMs() - settings.journalMs;
  const after = await sweptUntil(context, 'deliveries');
  if (after === walkEnded) return 0;
  const rows = await database.all(
    `SELECT id, received_at, elements, waits FROM (
       SELECT d.id, d.received_at, d.elements, d.notifications,
         sum(d.notifications) OVER (ORDER BY d.id) AS until, (
           SELECT true FROM quarantine q WHERE q.delivery_id = d.id AND ${isWaiting} LIMIT 1) IS NOT NULL AS waits
       FROM (SELECT id, received_at, elements, notifications FROM deliveries WHERE id > $1 ORDER BY id LIMIT $2) d) p
     WHERE until - notifications < $3 ORDER BY id`,
    after,
    rowsMax,
    notificationsMax,
  );
  const times = await timesOf(context, rows, { table: 'deliveries', place: 'id', at: 'received_at' });
  const young = times.findIndex((at) => at >= beforeMs);
  const old = young < 0 ? rows : rows.slice(0, young);
  const isLast = rows.length === 0 || old.length < rows.length;
  await noteSwept(context, 'deliveries', isLast ? walkEnded : old.at(-1)!.id);
  const gone = old.filter(({ waits }) => !waits);
  if (gone.length === 0) return 0;
  const deliveries = gone.map(({ id }) => id as number);
  const tasks = await lockTasksOf(context, gone);
  await foldHints(context, tasks, deliveries);
  await database.run(
    `DELETE FROM reads r WHERE r.task_id = ANY($1::bigint[]) AND r.at < $2 AND (
       SELECT true FROM hints h WHERE h.task_id = r.task_id AND h.generation <= r.generation LIMIT 1) IS NULL`,
    tasks,
    beforeMs,
  );
  await database.run('DELETE FROM quarantine WHERE delivery_id = ANY($1::bigint[])', deliveries);
  await database.run('DELETE FROM deliveries WHERE id = ANY($1::bigint[])', deliveries);
  return gone.length;
}

/** A hint that no read covers is counted with its task until one does: what is folded after that is counted anew. */
async function foldHints({ database }: Context, tasks: number[], deliveries: number[]): Promise<void> {
  await database.run(
    `WITH gone AS (
       DELETE FROM hints h USING deliveries d
       WHERE d.id = h.delivery_id AND h.delivery_id = ANY($2::bigint[]) AND h.task_id = ANY($1::bigint[])
       RETURNING h.task_id, h.generation, d.received_at),
     decided AS (
       SELECT task_id, max(generation) AS until FROM reads WHERE task_id = ANY($1::bigint[]) GROUP BY task_id),
     folded AS (
       SELECT g.task_id, count(*) AS count, min(g.received_at) AS first, max(g.received_at) AS last FROM gone g
       LEFT JOIN decided d ON d.task_id = g.task_id WHERE d.until IS NULL OR d.until < g.generation
       GROUP BY g.task_id)
     UPDATE tasks t SET folded = t.folded + f.count,
       folded_first_at = least(CASE WHEN t.folded > 0 THEN t.folded_first_at END, f.first),
       folded_last_at = greatest(CASE WHEN t.folded > 0 THEN t.folded_last_at END, f.last)
     FROM folded f WHERE t.id = f.task_id AND t.id = ANY($1::bigint[])`,
    tasks,
    deliveries,
  );
}

/**
 * Those of their addresses, and those which these were joined to, now or before, in the order in which everybody locks: nothing is
 * decided about them meanwhile.
 */
async function lockTasksOf(context: Context, deliveries: Row[]): Promise<number[]> {
  const elements = deliveries.map((row) => row.elements as string);
  const named = new Set(await tasksNamed(context, elements));
  const locked = await lockWithJoined(context, [...named]);
  const ids = new Set(locked.map(({ id }) => id as number));
  // Only what was joined while its lock was waited for.
  const late = locked
    .filter(({ id }) => named.has(id))
    .flatMap(({ joined_to, joined_before }) => [joined_to as number | null, joined_before as number | null])
    .filter((id) => id !== null && !ids.has(id)) as number[];
  await lockWithJoined(context, late);
  return [...ids, ...late];
}

async function lockWithJoined({ database }: Context, ids: number[]): Promise<Row[]> {
  if (ids.length === 0) return [];
  return database.all(
    `SELECT id, joined_to, joined_before FROM tasks
     WHERE id = ANY($1::bigint[] || ARRAY(
       SELECT unnest(ARRAY[joined_to, joined_before]) FROM tasks
       WHERE id = ANY($1::bigint[]) AND (joined_to IS NOT NULL OR joined_before IS NOT NULL)))
     ORDER BY id FOR NO KEY UPDATE`,
    ids,
  );
}

/** The tasks at the addresses that these journalled elements name. */
export async function tasksNamed({ database }: Context, elements: string[]): Promise<number[]> {
  const addresses = elements.flatMap((text) =>
    (JSON.parse(text) as { address?: string | null }[]).flatMap(({ address }) => address ?? []),
  );
  const rows = await database.all(
    'SELECT DISTINCT task_id FROM aliases WHERE address = ANY($1::text[])',
    [...new Set(addresses)].filter((address) => !address.includes('\0')),
  );
  return rows.map(({ task_id }) => task_id);
}
