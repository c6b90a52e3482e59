/**
 * When something is due next, and making due at once what waits for reasons that are not its own.
 */
import { type HastenedPage, hastenedBy, hastenRest } from '../hastened-page';
import { probeBudgetName, probeBudgetOf } from '../probe-budget';
import type { Context, InTransaction } from './context';
import { isBeingForgotten } from './forgetting';
import { isFull } from './lanes';
import { lookFrom } from './look-from';
import { probeDueAt } from './probes';

/** Milliseconds until a task, or a probe, may be taken; null when nothing waits for time. */
export async function nextDueInMs(context: Context, what: 'task' | 'probe'): Promise<number | null> {
  const { database } = context;
  if (what === 'probe') return nextProbeInMs(context);
  const { leasesMs } = lookFrom(context.looked, context.nowMs());
  const row = await database.get(nextTask, leasesMs);
  const at = row!.at as number | null;
  if (row!.held) return heldLookMs;
  return at === null ? null : Math.max(0, Math.max(at, Number(row!.paused_until ?? 0)) - context.nowMs());
}

/** Not before the budget that all processes share lets one begin. */
async function nextProbeInMs({ database, settings, nowMs }: Context): Promise<number | null> {
  const row = await database.get(nextProbe, probeBudgetName);
  const at = row!.at as number | null;
  if (at === null) return null;
  const now = nowMs();
  const freeAtMs = probeBudgetOf(settings.probesPerMinute).freeAtMs(Number(row!.paid_until), now);
  return Math.max(0, Math.max(at, freeAtMs, Number(row!.paused_until ?? 0)) - now);
}

/** While no task may be taken, whatever is due. */
const heldLookMs = 1000;

/** A lease that runs out makes its task due; one that ran out before $1 is not looked for by the next claim either. */
const nextTask = `
  WITH taken AS MATERIALIZED (
    SELECT taken_lane, count(*) AS in_flight, min(lease_until) AS until FROM tasks WHERE lease_until > $1
    GROUP BY taken_lane)
  SELECT least(
    (SELECT min(until) FROM taken),
    (SELECT min(greatest(l.next_due_at, l.open_at)) FROM lanes l
     WHERE l.open_at IS NOT NULL AND l.next_due_at IS NOT NULL AND NOT ${isFull})) AS at,
    EXISTS (SELECT 1 FROM meta WHERE name = 'reading-on') AS held,
    (SELECT value FROM meta WHERE name = 'pause-until') AS paused_until`;

const nextProbe = `
  SELECT min(${probeDueAt}) AS at,
    coalesce((SELECT value FROM meta WHERE name = $1), 0) AS paid_until,
    (SELECT value FROM meta WHERE name = 'pause-until') AS paused_until
  FROM organizations WHERE (probe_at IS NOT NULL OR probe_lease_until > 0) AND NOT ${isBeingForgotten}`;

const pageTasks = 2000;

/** The number of tasks that became due. */
export async function hasten(inTransaction: InTransaction): Promise<number> {
  const first = await inTransaction((context) => hastenPage(context, 'outage', null));
  return hastenRest(first, (page) => inTransaction((context) => hastenPage(context, page.by, page)));
}

/** It is written with the first page that this was done: where the process dies then, nobody goes on. */
export async function hastenRefused(
  inTransaction: InTransaction,
  refusedAtMs: number | null,
): Promise<number> {
  const first = await inTransaction((context) => hastenOnce(context, refusedAtMs));
  if (first === null) return 0;
  return hastenRest(first, (page) => inTransaction((context) => hastenPage(context, page.by, page)));
}

/** The row of the last time is locked before it is judged: of two processes that come at once the second has nothing to do. */
async function hastenOnce(context: Context, refusedAtMs: number | null): Promise<HastenedPage | null> {
  const { database, nowMs } = context;
  const done = await database.get(
    `INSERT INTO meta (name, value) VALUES ('refused-hastened', $1::bigint)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value
     WHERE meta.value <= coalesce($2::bigint, meta.value) OR meta.value > excluded.value RETURNING value`,
    nowMs(),
    refusedAtMs,
  );
  return done === undefined ? null : hastenPage(context, 'refusal', null);
}

export async function refusedHastenedAgoMs({ database, nowMs }: Context): Promise<number | null> {
  const row = await database.get(`SELECT value FROM meta WHERE name = 'refused-hastened'`);
  return row === undefined ? null : Math.max(0, nowMs() - Number(row.value));
}

/** Bound to failures before the first page: $1 is when that was, $2 is now. One ahead of the clock is from before it was set back. */
const failedBefore = 'coalesce(failed_at, 0) NOT BETWEEN $1::bigint + 1 AND $2::bigint';

/**
 * Looked for in the order of an index, from where the page before it ended: what that one has left behind in it is still to
 * be cleaned up. Locked in the order in which everybody locks; what others changed meanwhile is theirs.
 */
async function hastenPage(
  context: Context,
  by: HastenedPage['by'],
  before: HastenedPage | null,
): Promise<HastenedPage> {
  const { database, settings, lanes } = context;
  const nowMs = context.nowMs();
  const beganMs = before?.beganMs ?? nowMs;
  const found = await database.all(
    `SELECT id, due_at FROM tasks
     WHERE due_at >= $3 AND state = 'postponed' AND ${hastenedBy[by]} AND ${failedBefore}
     ORDER BY due_at LIMIT ${pageTasks}`,
    beganMs,
    nowMs,
    Math.max(nowMs + 1, before?.fromMs ?? 0),
  );
  const rows = await database.all(
    // "Between" where "equal" would do: no index is of that, so that each is looked up by its number.
    `WITH waiting AS (
       SELECT id FROM tasks WHERE id = ANY($3::bigint[]) AND state BETWEEN 'postponed' AND 'postponed'
         AND ${hastenedBy[by]} AND ${failedBefore} ORDER BY id FOR NO KEY UPDATE),
     hastened AS (
       UPDATE tasks t SET due_at = greatest($2, least(coalesce(t.read_at, 0), $2) + $4), state = 'due'
       FROM waiting w WHERE t.id = w.id AND t.id = ANY($3::bigint[]) RETURNING t.lane, t.due_at)
     SELECT lane, count(*) AS count, min(due_at) AS due_at FROM hastened GROUP BY lane`,
    beganMs,
    nowMs,
    found.map(({ id }) => id),
    settings.readGapMs,
  );
  for (const { lane, due_at } of rows) lanes.expect(lane, due_at);
  const count = rows.reduce((sum, row) => sum + Number(row.count), 0);
  // By how many were found: also where others have changed all of them, more may wait behind.
  const isLast = found.length < pageTasks || context.isClosing();
  const fromMs = isLast ? null : Number(found.at(-1)!.due_at);
  return { by, beganMs, count, fromMs };
}
