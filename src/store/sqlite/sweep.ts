/**
 * Retention: what is settled and older than its bound goes, a bounded amount a call. A key's newest event stays, and so
 * does what waits for an operator. Hints that still wait fold into a count with their first and last time, so that the
 * journal is bounded by the number of resources. Resolved alerts go after a day, when every sink that was offered one was
 * told of its end. Before all that, waits from before the clock was set back come nearer.
 */
import type { Swept } from '../../model/inspection';
import { newestNumber, tellsRecord, walkEnded } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';
import { waitsForLedger } from './ledger';
import { uncount } from './log-size';
import { bringNearer } from './set-back';
import { raiseFloor, sweepEvents } from './sweep-events';
import { timesOf } from './time-behind';

const rowsMax = 1000;
/** Hints and reads of the tasks that the deliveries of one step hinted: each of them is looked at. */
const lookedAtMax = 100_000;
/** What the deliveries of one step said of tasks: each that goes costs as much as so many looks. */
const saidMax = 3000;
const looksOfSaid = 20;
/** Tasks are sought for deliveries with so many notifications at once, or for one: the step may end before the next. */
const soughtMax = 1000;
/** A resolved alert stays for a day, to be looked at. */
const alertMs = 86_400_000;

/**
 * A step takes at most 1,000 rows of a table, and of deliveries one, or those of tasks with at most 100,000 hints and reads
 * that said 3,000 things of these, or more where looking at the tasks costs more.
 */
export function sweep(context: Context): Swept {
  const nearer = bringNearer(context);
  const nowMs = context.nowMs();
  const journalledAfterMs = nowMs - context.settings.journalMs;
  const entries = context.database.run(
    `DELETE FROM quarantine WHERE id IN (
       SELECT id FROM quarantine WHERE state <> 'waiting' AND what <> 'notification' AND at < ?
         AND NOT ${tellsRecord} LIMIT ?)`,
    journalledAfterMs,
    rowsMax,
  );
  const alerts = context.database.run(
    `DELETE FROM alerts WHERE alert ->> 'resolvedAtMs' < ? AND NOT EXISTS (
       SELECT 1 FROM json_each(alert, '$.sent') s WHERE s.value ->> 'state' IS NOT 'resolved')`,
    nowMs - alertMs,
  );
  const replayed = sweepReplayed(context, journalledAfterMs);
  const events = sweepEvents(context, nowMs);
  const journalled = sweepDeliveries(context, journalledAfterMs) + sweepReads(context, journalledAfterMs);
  const aside = sweepAside(context, journalledAfterMs);
  const ended = endRound(context);
  return {
    rows: events + journalled + aside + entries + alerts + replayed,
    more: nearer || !ended || entries === rowsMax || replayed === rowsMax,
  };
}

/** A walk that has come to its end waits for the others: then nothing was left out, and all begin anew. */
function endRound({ swept }: Context): boolean {
  const { position, delivery, readOfTask, aside } = swept;
  if ([position, delivery, readOfTask, aside].some((place) => place !== walkEnded)) return false;
  Object.assign(swept, { position: 0, delivery: 0, readOfTask: 0, readWithFence: 0, aside: 0 });
  return true;
}

function sweepReplayed(context: Context, beforeMs: number): number {
  const rows = context.database.all('SELECT id, at FROM replayed ORDER BY id LIMIT ?', rowsMax);
  const times = timesOf(context, rows, { table: 'replayed', place: 'id', at: 'at' });
  const gone = rows.flatMap(({ id }, nth) => (times[nth]! < beforeMs ? [Number(id)] : []));
  const ids = JSON.stringify(gone);
  return context.database.run('DELETE FROM replayed WHERE id IN (SELECT value FROM json_each(?))', ids);
}

/**
 * Records that Kafka refused or that were set aside, once nobody has to look at them and no read tells of them any more. One
 * that was published before is its key's newest event for as long as there is no other. They are walked from the first, so many
 * rows a call, once the reads that tell of them were: many may wait for an operator, and none of these is looked at each time.
 */
function sweepAside(context: Context, beforeMs: number): number {
  const { database, swept } = context;
  if (swept.aside === walkEnded || swept.delivery !== walkEnded || swept.readOfTask !== walkEnded) return 0;
  const last = database.get(
    'SELECT id FROM outbox WHERE state > 2 AND id > ? ORDER BY id LIMIT 1 OFFSET ?',
    swept.aside,
    rowsMax - 1,
  );
  const gone = database.all(
    `DELETE FROM outbox WHERE id IN (
       SELECT o.id FROM outbox o WHERE o.state > 2 AND o.id > ? AND o.id <= ? AND o.decided_at < ?
         AND NOT EXISTS (SELECT 1 FROM quarantine q WHERE q.outbox_id = o.id AND q.state = 'waiting')
         AND NOT EXISTS (SELECT 1 FROM reads r WHERE r.task_id = o.task_id AND r.event_id = o.event_id)
         AND (o.log_offset IS NULL OR o.sequence < (SELECT ${newestNumber} FROM sequences s WHERE s.key = o.key)))
     RETURNING position, bytes`,
    swept.aside,
    Number(last?.id ?? Number.MAX_SAFE_INTEGER),
    beforeMs,
  );
  swept.aside = Number(last?.id ?? walkEnded);
  const floor = Math.max(0, ...gone.map(({ position }) => Number(position ?? 0)));
  if (floor > 0) raiseFloor(context, floor);
  uncount(context, gone);
  return gone.length;
}

/**
 * Reads of what nobody notified go by their own age, those of deliveries with these. What decided an event that is still in
 * the log stays with it. The table is walked from its beginning, so many rows a call.
 */
function sweepReads({ database, swept }: Context, beforeMs: number): number {
  const { readOfTask, readWithFence } = swept;
  if (readOfTask === walkEnded) return 0;
  const last = database.get(
    `SELECT task_id, fence FROM reads WHERE (task_id, fence) > (?, ?) ORDER BY task_id, fence LIMIT 1 OFFSET ?`,
    readOfTask,
    readWithFence,
    rowsMax - 1,
  );
  const gone = database.run(
    `DELETE FROM reads WHERE (task_id, fence) > (?, ?) AND (task_id, fence) <= (?, ?) AND at < ?
       AND NOT EXISTS (SELECT 1 FROM hints h WHERE h.task_id = reads.task_id AND h.generation <= reads.generation)
       AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = reads.event_id AND o.state < 3)`,
    readOfTask,
    readWithFence,
    Number(last?.task_id ?? Number.MAX_SAFE_INTEGER),
    Number(last?.fence ?? 0),
    beforeMs,
  );
  swept.readOfTask = Number(last?.task_id ?? walkEnded);
  swept.readWithFence = Number(last?.fence ?? 0);
  return gone;
}

function sweepDeliveries(context: Context, beforeMs: number): number {
  const { database, swept } = context;
  if (swept.delivery === walkEnded || waitsForLedger(context)) return 0;
  const rows = database.all(
    `SELECT d.id, d.received_at, d.notifications, EXISTS (
       SELECT 1 FROM quarantine q WHERE q.delivery_id = d.id AND q.state = 'waiting') AS waits
     FROM deliveries d WHERE d.id > ? AND d.id < (SELECT max(id) FROM deliveries) ORDER BY d.id LIMIT ?`,
    swept.delivery,
    rowsMax,
  );
  const times = timesOf(context, rows, { table: 'deliveries', place: 'id', at: 'received_at' });
  const young = times.findIndex((at) => at >= beforeMs);
  const old = young < 0 ? rows : rows.slice(0, young);
  const aged = old.filter(({ waits }) => waits === 0);
  const { byTask, left } = gather(context, aged);
  const gone = aged.map(({ id }) => Number(id)).filter((id) => id < left);
  if (left < Infinity) swept.delivery = left - 1;
  else swept.delivery = old.length < rowsMax ? walkEnded : Number(old.at(-1)!.id);
  for (const [taskId, deliveries] of byTask) {
    const ofPage = deliveries.filter((id) => id < left);
    if (ofPage.length > 0) sweepTask(context, taskId, ofPage, beforeMs);
  }
  const ids = JSON.stringify(gone);
  database.run('DELETE FROM quarantine WHERE delivery_id IN (SELECT value FROM json_each(?))', ids);
  database.run('DELETE FROM deliveries WHERE id IN (SELECT value FROM json_each(?))', ids);
  return gone.length;
}

interface Gathered {
  byTask: Map<number, number[]>;
  /** The first delivery that is left to the next step, some of whose tasks may be in `byTask`; Infinity where none is. */
  left: number;
}

/**
 * What a step takes of the deliveries: the first, and as many after it as keep it short. Each task is counted once. Where
 * all deliveries name the same tasks, small steps would look at all that these have again and again: so what goes may cost
 * as much as looking did.
 */
function gather(context: Context, aged: Row[]): Gathered {
  const byTask = new Map<number, number[]>();
  let lookedAt = 0;
  let said = 0;
  for (const sought of soughtTogether(aged)) {
    const found = [...deliveriesByTask(tasksOf(context, sought))].map(([taskId, deliveries]) => ({
      taskId,
      deliveries,
      first: Math.min(...deliveries),
    }));
    found.sort((one, other) => one.first - other.first);
    for (const { taskId, deliveries, first } of found) {
      const known = byTask.get(taskId);
      if (known === undefined) lookedAt += hintsAndReads(context, taskId);
      said += deliveries.length;
      const isLong =
        (known === undefined && lookedAt > lookedAtMax) || said > Math.max(saidMax, lookedAt / looksOfSaid);
      if (isLong && first > Number(aged[0]!.id)) return { byTask, left: first };
      byTask.set(taskId, known === undefined ? deliveries : [...known, ...deliveries]);
    }
  }
  return { byTask, left: Infinity };
}

function* soughtTogether(aged: Row[]): Iterable<number[]> {
  let ids: number[] = [];
  let sum = 0;
  for (const { id, notifications } of aged) {
    if (ids.length > 0 && sum + Number(notifications) > soughtMax) {
      yield ids;
      [ids, sum] = [[], 0];
    }
    ids.push(Number(id));
    sum += Number(notifications);
  }
  if (ids.length > 0) yield ids;
}

function hintsAndReads({ database }: Context, taskId: number): number {
  const { count } = database.get(
    `SELECT (SELECT count(*) FROM hints WHERE task_id = ?1) + (SELECT count(*) FROM reads WHERE task_id = ?1) AS count`,
    taskId,
  )!;
  return Number(count);
}

function deliveriesByTask(pairs: Row[]): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const { id, delivery } of pairs) {
    const deliveries = found.get(Number(id));
    if (deliveries === undefined) found.set(Number(id), [Number(delivery)]);
    else deliveries.push(Number(delivery));
  }
  return found;
}

/**
 * What these deliveries, which go, said of the task. Once for all of them: each look is at every hint and read that the task
 * has, which may be fifty times as many as go. What covers a hint stays until the hint is folded or not.
 */
function sweepTask(context: Context, taskId: number, deliveries: number[], beforeMs: number): void {
  const { database } = context;
  const ids = JSON.stringify(deliveries);
  foldUndecided(context, taskId, ids);
  database.run(
    'DELETE FROM hints WHERE task_id = ? AND delivery_id IN (SELECT value FROM json_each(?))',
    taskId,
    ids,
  );
  database.run(
    `DELETE FROM reads WHERE task_id = ?1 AND at < ?2
       AND coalesce(generation < (SELECT min(generation) FROM hints WHERE task_id = ?1), 1)`,
    taskId,
    beforeMs,
  );
}

/**
 * The tasks that each `delivery` hinted: those of its addresses, and those which these were joined to, now or before. Each pair is
 * there once. Sought in this order: else all that were ever joined are walked.
 */
export function tasksOf(context: Context, deliveries: number[]): Row[] {
  return context.database.all(
    `WITH named AS MATERIALIZED (
       SELECT d.id AS delivery, a.task_id AS id FROM json_each(?) n CROSS JOIN deliveries d ON d.id = n.value
       CROSS JOIN json_each(d.elements) e CROSS JOIN aliases a ON a.address = e.value ->> 'address')
     SELECT id, delivery FROM named
     UNION SELECT t.joined_to, n.delivery FROM named n CROSS JOIN tasks t ON t.id = n.id
       WHERE t.joined_to IS NOT NULL
     UNION SELECT t.joined_before, n.delivery FROM named n CROSS JOIN tasks t ON t.id = n.id
       WHERE t.joined_before IS NOT NULL`,
    JSON.stringify(deliveries),
  );
}

/** Hints that no read covers are counted with their task until one does: what is folded after that is counted anew. */
function foldUndecided({ database }: Context, taskId: number, deliveries: string): void {
  database.run(
    `UPDATE tasks SET folded = folded + f.count,
       folded_first_at = iif(folded > 0, min(folded_first_at, f.first), f.first),
       folded_last_at = iif(folded > 0, max(folded_last_at, f.last), f.last)
     FROM (SELECT count(*) AS count, min(d.received_at) AS first, max(d.received_at) AS last
       FROM hints h CROSS JOIN deliveries d ON d.id = h.delivery_id
       WHERE h.task_id = ?1 AND h.delivery_id IN (SELECT value FROM json_each(?2))
         AND h.generation > (SELECT coalesce(max(generation), -1) FROM reads WHERE task_id = ?1)) f
     WHERE id = ?1 AND f.count > 0`,
    taskId,
    deliveries,
  );
}
