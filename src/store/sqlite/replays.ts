/**
 * Sending again what was published. A key's newest event becomes an unsent row again, so that the relay sends it in
 * order with everything else; history is handed out whole. Each page moves its replay's cursor in the same transaction,
 * and leaves a line in the journal for each record.
 */
import type { OutboxRow, RowPlace } from '../../model/event';
import type { ReplayRefusal, ReplayRun, ReplaySelection, ReplayStep, SelectedPage } from '../../model/replay';
import { topicsOfKind } from '../live-topic';
import { outboxRow } from '../readable-rows';
import { isNewestBy, readingOf, refusalsOf, selectedBy, selectedEvent } from '../replay-rows';
import { asAnnounced, nothingReplayed, runsKept } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';
import { leads, rowColumns } from './outbox';
import { closeEntry } from './quarantine';
import { kindOfRow, organizationOf, readTask } from './read-task';
import { countRefused } from './refuse-again';
import { afterGap } from './return-task';

const isNewest = isNewestBy(kindOfRow('o'));

export function beginReplay({ database, nowMs }: Context, asked: string, resumableMs = 0): ReplayRun {
  const beganAt = nowMs();
  const until = Number(database.get('SELECT coalesce(max(id), 0) AS until FROM outbox')!.until);
  // When it was left says the last line of the journal: without one nothing was done.
  const left = database.get(
    `SELECT r.*, l.at FROM (SELECT replay, at FROM replayed ORDER BY id DESC LIMIT 1) l JOIN replays r ON r.id = l.replay
     WHERE r.asked = ? AND r.ended_at IS NULL AND abs(? - l.at) < ?`,
    asked,
    beganAt,
    resumableMs,
  );
  if (left !== undefined) {
    const run = {
      replay: Number(left.id),
      leftAtMs: Number(left.at),
      after: Number(left.after_id),
      until: Math.max(Number(left.until_id), until),
      counts: JSON.parse(String(left.counts)),
    };
    database.run('UPDATE replays SET until_id = ? WHERE id = ?', run.until, run.replay);
    return run;
  }
  database.run('UPDATE replays SET ended_at = ? WHERE ended_at IS NULL', beganAt);
  const counts = nothingReplayed();
  const replay = database.insert(
    'INSERT INTO replays (asked, after_id, until_id, counts, began_at) VALUES (?, 0, ?, ?, ?)',
    asked,
    until,
    JSON.stringify(counts),
    beganAt,
  );
  return { replay, leftAtMs: null, after: 0, until, counts };
}

export function selectReplay(
  { database }: Context,
  { events, keys, organizationId, kind, notSentBy, withReading }: ReplaySelection,
  after: number,
  until: number,
  limit: number,
): SelectedPage {
  const looked = database.get(
    'SELECT count(*) AS rows, max(id) AS last FROM (SELECT id FROM outbox WHERE id > ? AND id <= ? ORDER BY id LIMIT ?)',
    after,
    until,
    limit,
  )!;
  const rows = database.all(
    `SELECT ${selectedBy(isNewest, withReading ? readTask : null)}
     FROM outbox o CROSS JOIN sequences s ON s.key = o.key
     WHERE o.id > ? AND o.id <= ? AND o.state < 3
       AND (? IS NULL OR o.event_id IN (SELECT value FROM json_each(?)))
       AND (? IS NULL OR o.key IN (SELECT value FROM json_each(?)))
       AND (? IS NULL OR ${organizationOf('o')} = ?) AND (? IS NULL OR o.topic LIKE ?)
       AND NOT EXISTS (SELECT 1 FROM replayed r WHERE r.outbox_id = o.id AND r.replay = ?)
     ORDER BY o.id`,
    after,
    looked.last ?? after,
    ...twice(events === null ? null : JSON.stringify(events)),
    ...twice(keys === null ? null : JSON.stringify(keys)),
    ...twice(organizationId),
    ...twice(kind === null ? null : topicsOfKind(kind)),
    notSentBy ?? null,
  );
  return {
    events: rows.map(selectedEvent),
    after: Number(looked.rows) < limit ? null : Number(looked.last),
  };
}

function twice(value: string | null): [string | null, string | null] {
  return [value, value];
}

export function resendNewest(context: Context, step: ReplayStep, rows: number[]): number | null {
  if (!mayMove(context, step)) return null;
  const nowMs = context.nowMs();
  let resent = 0;
  for (const row of newestOf(context, rows)) {
    if (row.state !== 2 || row.log_offset === null) continue;
    context.database.run('UPDATE outbox SET state = 0 WHERE id = ?', row.id as number);
    journal(context, step.replay, row, { at: nowMs, topic: String(row.topic) });
    resent += 1;
  }
  moveOn(context, step, resent);
  return resent;
}

/** What waits is read anyway; what was set aside gets one attempt, as by a hint. Nothing is done for who was forgotten. */
export function readAgain(context: Context, step: ReplayStep, rows: number[]): number | null {
  if (!mayMove(context, step)) return null;
  const { database, lanes } = context;
  const nowMs = context.nowMs();
  let read = 0;
  for (const row of newestOf(context, rows)) {
    const task = database.get(
      `SELECT t.id, t.lane, t.read_at, t.state, ${readingOf} AS reading FROM tasks t WHERE t.id = ?`,
      row.task_id as number | null,
    );
    if (task === undefined || task.reading === 'forgotten') continue;
    read += 1;
    journal(context, step.replay, row, { at: nowMs, topic: null });
    if (task.state !== 'done' && task.state !== 'quarantined') continue;
    if (task.state === 'quarantined') closeEntry(context, Number(task.id));
    const dueAt = afterGap(context, task, nowMs);
    database.run(
      `UPDATE tasks SET state = 'due', due_at = ?, settling = 0, ${asAnnounced} WHERE id = ?`,
      dueAt,
      task.id as number,
    );
    lanes.expect(String(task.lane), dueAt);
  }
  moveOn(context, step, read);
  return read;
}

export function readHistory({ database }: Context, rows: number[]): OutboxRow[] {
  return database
    .all(
      `SELECT ${rowColumns} FROM outbox WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`,
      JSON.stringify(rows),
    )
    .map(outboxRow);
}

export function noteHistory(
  context: Context,
  step: ReplayStep,
  topic: string,
  sent: RowPlace[],
  tooLarge: number[] = [],
): number | null {
  if (!mayMove(context, step)) return null;
  const at = context.nowMs();
  for (const { row: id, partition, offset } of sent) {
    journal(context, step.replay, { id, task_id: null }, { at, topic, sentAt: at, partition, offset });
  }
  for (const id of tooLarge) journal(context, step.replay, { id, task_id: null }, { at, topic, sentAt: at });
  countRefused(context, step.replay, 'record-too-large', tooLarge);
  moveOn(context, step, sent.length);
  return sent.length;
}

export function replayPending({ database }: Context, replay: number, first = replay): number {
  return Number(database.get(pending, first, replay)!.pending);
}

/** Of what it has marked and nobody has acknowledged, which is little, rather than of all that is unsent. */
const pending = `SELECT count(*) AS pending FROM replayed r CROSS JOIN outbox o ON o.id = r.outbox_id AND o.state = 0
  WHERE r.replay BETWEEN ? AND ? AND r.sent_at IS NULL AND r.topic IS NOT NULL`;

export function endReplay({ database, nowMs }: Context, replay: number): ReplayRefusal[] {
  const ended = database.get(
    'UPDATE replays SET ended_at = ? WHERE id = ? RETURNING counts',
    nowMs(),
    replay,
  );
  database.run('DELETE FROM replays WHERE id <= ? AND ended_at IS NOT NULL', replay - runsKept);
  return ended === undefined ? [] : refusalsOf(String(ended.counts));
}

/** One thread makes all calls: what is newest now is so until the call ends. */
function newestOf({ database }: Context, rows: number[]): Row[] {
  return database.all(
    `SELECT o.id, o.topic, ${readTask} AS task_id, o.state, o.log_offset FROM json_each(?) j CROSS JOIN outbox o ON o.id = j.value
     JOIN sequences s ON s.key = o.key WHERE ${isNewest} ORDER BY o.id`,
    JSON.stringify(rows),
  );
}

interface Place {
  at: number;
  /** null for a read. */
  topic: string | null;
  partition?: number | null;
  offset?: string | null;
  sentAt?: number;
}

function journal({ database }: Context, replay: number, row: Row, place: Place): void {
  const { at, topic, partition, offset, sentAt } = place;
  database.run(
    `INSERT INTO replayed (replay, outbox_id, task_id, at, topic, partition, log_offset, sent_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    replay,
    row.id as number,
    topic === null ? (row.task_id as number) : null,
    at,
    topic,
    partition ?? null,
    offset ?? null,
    sentAt ?? null,
  );
}

/** Whether the step is the next one: its replay has not ended and stands where it begins, and its lease is held now. */
function mayMove(context: Context, { replay, from, after, lease }: ReplayStep): boolean {
  const next = context.database.get(
    'SELECT 1 FROM replays WHERE id = ? AND ended_at IS NULL AND after_id = ? AND after_id <= ?',
    replay,
    from,
    after,
  );
  return next !== undefined && (lease === undefined || leads(context, lease));
}

/** The counts of the step, and what this page added; what was refused meanwhile stays with them. */
function moveOn({ database }: Context, { replay, after, counts }: ReplayStep, replayed: number): void {
  database.run(
    'UPDATE replays SET after_id = ?, counts = json_patch(counts, ?) WHERE id = ?',
    after,
    JSON.stringify({ ...counts, replayed: counts.replayed + replayed }),
    replay,
  );
}
