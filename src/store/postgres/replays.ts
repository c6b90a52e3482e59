/**
 * Sending again what was published. A key's newest event becomes an unsent row again, so that the relay sends it in
 * order with everything else: its key stays locked until the commit, so nobody decides a newer one meanwhile. History is
 * handed out whole. Each page moves its replay's cursor, and leaves a line in the journal for each record.
 */
import type { OutboxRow, RowPlace } from '../../model/event';
import type { ReplayRefusal, ReplayRun, ReplaySelection, ReplayStep, SelectedPage } from '../../model/replay';
import { topicsOfKind } from '../live-topic';
import { outboxRow } from '../readable-rows';
import { isNewestBy, readingOf, refusalsOf, selectedBy, selectedEvent } from '../replay-rows';
import { asAnnounced, nothingReplayed, runsKept } from '../store-rules';
import type { Context } from './context';
import { lockOrganizations } from './organization-rows';
import { rowColumns } from './outbox';
import { closeEntries } from './quarantine-entries';
import { kindOfRow, readTask } from './read-task';
import { countRefused } from './refuse-again';
import type { Row } from './server/database';

const isNewest = isNewestBy(kindOfRow('o'));

export async function beginReplay(
  { database, nowMs }: Context,
  asked: string,
  resumableMs = 0,
): Promise<ReplayRun> {
  const beganAt = nowMs();
  // When it was left says the last line of the journal: without one nothing was done.
  const left = await database.get(
    `UPDATE replays r SET until_id = greatest(until_id, (SELECT max(id) FROM outbox))
     FROM (SELECT replay, at FROM replayed ORDER BY id DESC LIMIT 1) l
     WHERE r.id = l.replay AND r.asked = $1 AND r.ended_at IS NULL AND abs($2::bigint - l.at) < $3 RETURNING r.*, l.at`,
    asked,
    beganAt,
    resumableMs,
  );
  if (left !== undefined) {
    const { id, after_id: after, until_id: until, counts, at } = left;
    return { replay: id, leftAtMs: at, after, until, counts: JSON.parse(counts) };
  }
  await database.run('UPDATE replays SET ended_at = $1 WHERE ended_at IS NULL', beganAt);
  const counts = nothingReplayed();
  const begun = (await database.get(
    `INSERT INTO replays (asked, after_id, until_id, counts, began_at)
     SELECT $1, 0, coalesce(max(id), 0), $2, $3 FROM outbox RETURNING id, until_id`,
    asked,
    JSON.stringify(counts),
    beganAt,
  ))!;
  return { replay: begun.id, leftAtMs: null, after: 0, until: begun.until_id, counts };
}

export async function selectReplay(
  { database }: Context,
  { events, keys, organizationId, kind, notSentBy, withReading }: ReplaySelection,
  after: number,
  until: number,
  limit: number,
): Promise<SelectedPage> {
  const looked = (await database.get(
    `SELECT count(*) AS rows, max(id) AS last
     FROM (SELECT id FROM outbox WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) o`,
    after,
    until,
    limit,
  ))!;
  const rows = await database.all(
    `SELECT ${selectedBy(isNewest, withReading ? readTask : null)}
     FROM outbox o CROSS JOIN LATERAL (SELECT * FROM sequences WHERE key = o.key OFFSET 0) s
     WHERE o.id > $1 AND o.id <= $2 AND o.state < 3
       AND ${events === null ? '$3::text[] IS NULL' : 'o.event_id = ANY($3::text[])'} AND ($4::text[] IS NULL OR o.key = ANY($4))
       AND ($5::text IS NULL OR split_part(o.key, '/', 1) = $5) AND ($6::text IS NULL OR o.topic LIKE $6)
       AND ($7::bigint IS NULL OR (
         SELECT true FROM replayed r WHERE r.outbox_id = o.id AND r.replay = $7 LIMIT 1) IS NULL)
     ORDER BY o.id`,
    after,
    looked.last ?? after,
    events,
    keys,
    organizationId,
    kind === null ? null : topicsOfKind(kind),
    notSentBy ?? null,
  );
  return {
    events: rows.map(selectedEvent),
    after: looked.rows < limit ? null : looked.last,
  };
}

export async function resendNewest(
  context: Context,
  step: ReplayStep,
  rows: number[],
): Promise<number | null> {
  if (!(await mayMove(context, step))) return null;
  const newest = (await newestOf(context, rows)).filter(({ log_offset }) => log_offset !== null);
  const resent = await context.database.all(
    'UPDATE outbox SET state = 0 WHERE id = ANY($1::bigint[]) AND state = 2 RETURNING id, topic',
    newest.map(({ id }) => id),
  );
  await context.database.run(
    `INSERT INTO replayed (replay, outbox_id, at, topic)
     SELECT $1, id, $4, topic FROM unnest($2::bigint[], $3::text[]) AS n (id, topic) ORDER BY id`,
    step.replay,
    resent.map(({ id }) => id),
    resent.map(({ topic }) => topic),
    context.nowMs(),
  );
  await moveOn(context, step, resent.length);
  if (resent.length > 0) context.news.add('events');
  return resent.length;
}

/** What waits is read anyway; what was set aside gets one attempt, as by a hint. Nothing is done for who was forgotten. */
export async function readAgain(context: Context, step: ReplayStep, rows: number[]): Promise<number | null> {
  if (!(await mayMove(context, step))) return null;
  const { database, settings } = context;
  const nowMs = context.nowMs();
  const known = await database.all(
    `SELECT t.id, t.lane FROM outbox o CROSS JOIN LATERAL (SELECT id, lane FROM tasks WHERE id = ${readTask} OFFSET 0) t
     WHERE o.id = ANY($1::bigint[])`,
    rows,
  );
  const lanes = known.map(({ lane }) => lane);
  // No organization is forgotten until the commit. What goes to another one before it is locked was read just now.
  await lockOrganizations(context, lanes);
  // Tasks are locked before keys, as by whoever decides about them.
  const tasks = await database.all(
    `SELECT t.id, t.state, ${readingOf} AS reading FROM tasks t
     WHERE t.id = ANY($1::bigint[]) AND t.lane = ANY($2::text[]) ORDER BY t.id FOR NO KEY UPDATE OF t`,
    known.map(({ id }) => id),
    lanes,
  );
  const readable = tasks.filter((task) => task.reading !== 'forgotten');
  const states = new Map(readable.map(({ id, state }) => [id, state]));
  const newest = (await newestOf(context, rows)).filter(({ task_id }) => states.has(task_id));
  const due = await database.all(
    `UPDATE tasks SET state = 'due', due_at = greatest($2, least(coalesce(read_at, 0), $2) + $3), settling = false,
       ${asAnnounced} WHERE id = ANY($1::bigint[]) AND state IN ('done', 'quarantined')
     RETURNING lane, due_at`,
    newest.map(({ task_id }) => task_id),
    nowMs,
    settings.readGapMs,
  );
  for (const { lane, due_at } of due) context.lanes.expect(lane, due_at);
  closeEntries(
    context,
    newest.flatMap(({ task_id }) => (states.get(task_id) === 'quarantined' ? [task_id] : [])),
  );
  await database.run(
    `INSERT INTO replayed (replay, outbox_id, task_id, at)
     SELECT $1, id, task_id, $4 FROM unnest($2::bigint[], $3::bigint[]) AS n (id, task_id) ORDER BY id`,
    step.replay,
    newest.map(({ id }) => id),
    newest.map(({ task_id }) => task_id),
    nowMs,
  );
  await moveOn(context, step, newest.length);
  if (due.length > 0) context.news.add('work');
  return newest.length;
}

export async function readHistory({ database }: Context, rows: number[]): Promise<OutboxRow[]> {
  const found = await database.all(
    `SELECT ${rowColumns} FROM outbox o WHERE o.id = ANY($1::bigint[]) ORDER BY o.id`,
    rows,
  );
  return found.map(outboxRow);
}

export async function noteHistory(
  context: Context,
  step: ReplayStep,
  topic: string,
  sent: RowPlace[],
  tooLarge: number[] = [],
): Promise<number | null> {
  if (!(await mayMove(context, step))) return null;
  const places = [...sent, ...tooLarge.map((row) => ({ row, partition: null, offset: null }))];
  await context.database.run(
    `INSERT INTO replayed (replay, outbox_id, at, topic, partition, log_offset, sent_at)
     SELECT $1, id, $6, $5, partition, log_offset, $6
     FROM unnest($2::bigint[], $3::int[], $4::text[]) AS n (id, partition, log_offset) ORDER BY id`,
    step.replay,
    places.map(({ row }) => row),
    places.map(({ partition }) => partition),
    places.map(({ offset }) => offset),
    topic,
    context.nowMs(),
  );
  await countRefused(context, step.replay, 'record-too-large', tooLarge);
  await moveOn(context, step, sent.length);
  return sent.length;
}

export async function replayPending({ database }: Context, replay: number, first = replay): Promise<number> {
  return (await database.get(pending, first, replay))!.pending;
}

/**
 * Of what it has marked and nobody has acknowledged, which is little, rather than of all that is unsent. Each row is looked up
 * by its id, whatever the server believes: as a join, a whole page was compared with all that is unsent, for seconds.
 */
const pending = `SELECT count(*) AS pending FROM replayed r
  WHERE r.replay BETWEEN $1 AND $2 AND r.sent_at IS NULL AND r.topic IS NOT NULL
    AND (SELECT o.state FROM outbox o WHERE o.id = r.outbox_id) = 0`;

export async function endReplay({ database, nowMs }: Context, replay: number): Promise<ReplayRefusal[]> {
  const ended = await database.get(
    'UPDATE replays SET ended_at = $2 WHERE id = $1 RETURNING counts',
    replay,
    nowMs(),
  );
  await database.run('DELETE FROM replays WHERE id <= $1 AND ended_at IS NOT NULL', replay - runsKept);
  return ended === undefined ? [] : refusalsOf(ended.counts);
}

/** Their keys stay locked until the end of the transaction. */
async function newestOf({ database }: Context, rows: number[]): Promise<Row[]> {
  // Whoever raises a floor is waited for, and waits.
  await database.run('LOCK TABLE sequences IN ROW EXCLUSIVE MODE');
  await database.all(
    `SELECT key FROM sequences WHERE key = ANY(ARRAY(SELECT key FROM outbox WHERE id = ANY($1::bigint[])))
     ORDER BY key FOR NO KEY UPDATE`,
    rows,
  );
  return database.all(
    `SELECT o.id, o.topic, ${readTask} AS task_id, o.state, o.log_offset FROM outbox o
     CROSS JOIN LATERAL (SELECT * FROM sequences WHERE key = o.key OFFSET 0) s
     WHERE o.id = ANY($1::bigint[]) AND ${isNewest} ORDER BY o.id`,
    rows,
  );
}

/**
 * Whether the step is the next one: its replay has not ended and stands where it begins, and its lease is held now. Said in one
 * statement; the replay stays as it is until the end of the transaction.
 */
async function mayMove(
  { database, nowMs }: Context,
  { replay, from, after, lease }: ReplayStep,
): Promise<boolean> {
  const next = await database.get(
    `SELECT 1 AS there FROM replays WHERE id = $1 AND ended_at IS NULL AND after_id = $6 AND after_id <= $2
       AND ($3::text IS NULL OR EXISTS (SELECT 1 FROM leases l WHERE l.name = $3 AND l.holder = $4 AND l.until > $5))
     FOR NO KEY UPDATE`,
    replay,
    after,
    lease?.name ?? null,
    lease?.holder ?? null,
    nowMs(),
    from,
  );
  return next !== undefined;
}

/** The counts of the step, and what this page added; what was refused meanwhile stays with them. */
async function moveOn(
  { database }: Context,
  { replay, after, counts }: ReplayStep,
  replayed: number,
): Promise<void> {
  await database.run(
    'UPDATE replays SET after_id = $2, counts = (counts::jsonb || $3::jsonb)::text WHERE id = $1',
    replay,
    after,
    JSON.stringify({ ...counts, replayed: counts.replayed + replayed }),
  );
}
