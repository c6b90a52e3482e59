/**
 * When something is due next, and making due at once what waits for reasons that are not its own.
 */
import { probeBudgetName, probeBudgetOf } from '../probe-budget';
import type { Context } from './context';

/** Milliseconds until a task, or a probe, may be taken; null when nothing waits for time. */
export async function nextDueInMs(context: Context, what: 'task' | 'probe'): Promise<number | null> {
  const { database } = context;
  if (what === 'probe') return nextProbeInMs(context);
  const row = await database.get(nextTask);
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

/** A lease that runs out makes its task due. */
const nextTask = `
  WITH taken AS MATERIALIZED (
    SELECT taken_lane, count(*) AS in_flight, min(lease_until) AS until FROM tasks WHERE lease_until IS NOT NULL
    GROUP BY taken_lane)
  SELECT least(
    (SELECT min(until) FROM taken),
    (SELECT min(greatest(l.next_due_at, l.open_at)) FROM lanes l LEFT JOIN taken t ON t.taken_lane = l.id
     WHERE l.open_at IS NOT NULL AND l.next_due_at IS NOT NULL
       AND (l.width IS NULL OR coalesce(t.in_flight, 0) < l.width))) AS at,
    EXISTS (SELECT 1 FROM meta WHERE name = 'reading-on') AS held,
    (SELECT value FROM meta WHERE name = 'pause-until') AS paused_until`;

/** Never while a probe is under way, unless that one's lease ran out. */
const nextProbe = `
  SELECT min(CASE WHEN probe_lease_until = 0 THEN probe_at
    ELSE greatest(coalesce(probe_at, probe_lease_until), probe_lease_until) END) AS at,
    coalesce((SELECT value FROM meta WHERE name = $1), 0) AS paid_until,
    (SELECT value FROM meta WHERE name = 'pause-until') AS paused_until
  FROM organizations WHERE probe_at IS NOT NULL OR probe_lease_until > 0`;

/** The number of tasks that are due now. */
export function hasten(context: Context): Promise<number> {
  return hastenThose(context, 'NOT own');
}

/** The row of the last time is locked before it is judged: of two processes that come at once the second has nothing to do. */
export async function hastenRefused(context: Context, refusedAtMs: number | null): Promise<number> {
  const { database, nowMs } = context;
  const done = await database.get(
    `INSERT INTO meta (name, value) VALUES ('refused-hastened', $1::bigint)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value
     WHERE meta.value <= coalesce($2::bigint, meta.value) OR meta.value > excluded.value RETURNING value`,
    nowMs(),
    refusedAtMs,
  );
  return done === undefined ? 0 : hastenThose(context, "code = 'client-refused'");
}

export async function refusedHastenedAgoMs({ database, nowMs }: Context): Promise<number | null> {
  const row = await database.get(`SELECT value FROM meta WHERE name = 'refused-hastened'`);
  return row === undefined ? null : Math.max(0, nowMs() - Number(row.value));
}

/** `which`: a condition on a postponed task. */
async function hastenThose(context: Context, which: string): Promise<number> {
  const rows = await context.database.all(
    `WITH waiting AS (
       SELECT id FROM tasks WHERE state = 'postponed' AND ${which} AND due_at > $1 ORDER BY id FOR NO KEY UPDATE),
     hastened AS (
       UPDATE tasks t SET due_at = greatest($1, least(coalesce(t.read_at, 0), $1) + $2), state = 'due'
       FROM waiting w WHERE t.id = w.id RETURNING t.lane, t.due_at)
     SELECT lane, count(*) AS count, min(due_at) AS due_at FROM hastened GROUP BY lane`,
    context.nowMs(),
    context.settings.readGapMs,
  );
  for (const { lane, due_at } of rows) context.lanes.expect(lane, due_at);
  return rows.reduce((sum, { count }) => sum + Number(count), 0);
}
