/**
 * Claiming: fair between organizations, for all processes together. One claim at a time decides whose turn it is (an
 * advisory lock); it looks at lanes, never at what waits in them, and takes with one look-up a lane. Leases run out by the
 * store's clock. What a newer version has read is left to that one: put off where an older one meets it, and had back by
 * the claims of a newer one, each so much as it may take.
 */
import type { TakenTask } from '../../model/task';
import { divide, type ReadyLane } from '../divide';
import { leftToNewerMax, leftToNewerMs } from '../store-rules';
import { takenTask } from '../task-row';
import type { Context } from './context';
import { isFull } from './lanes';
import { type LookFrom, lookFrom, noteBegun, noteLook, nothingLooked } from './look-from';
import { type ServedLane, saveLanes } from './save-lanes';
import type { Row } from './server/database';

/** What a dead process leaves is freed in pieces. */
const freedMax = 1000;

type Lane = ReadyLane & ServedLane;

/** Of what a dead process left at most 1,000 are freed at once, of what an older version left no more than may be taken. */
export async function take(context: Context, limit: number): Promise<TakenTask[]> {
  const { looked } = context;
  const from = await whereToLook(context);
  const { lanes, inFlight, freed, expired, nowMs } = await readyLanes(context, limit, from);
  const rows: Row[] = [];
  // A lane may hold less than it was granted: what is then left is granted again.
  let left = 0;
  for (let open = lanes; rows.length < limit && open.length > 0 && left < leftToNewerMax; ) {
    const grants = divide(open, limit - rows.length, inFlight + rows.length);
    const { taken, early, newer } = await takeFrom(context, grants, nowMs);
    rows.push(...taken);
    left += newer;
    open = open.filter(({ isExhausted }) => !isExhausted);
    if (taken.length === 0 && early === 0) break;
  }
  await saveLanes(context, lanes, freed, nowMs);
  context.committed.push(() => {
    // Where the clock was set back, or it was time, which is known only now, the next one looks at all.
    if (!from.isWhole && lookFrom(looked, context.nowMs()).isWhole)
      Object.assign(looked, nothingLooked(), { connections: looked.connections });
    else noteLook(looked, from, context.nowMs(), expired >= freedMax);
  });
  return rows.map((row) => {
    const { fence, revision, was_due_at: dueAtMs, taken_epoch: epoch } = row;
    return takenTask(row, { fence, revision, dueAtMs, epoch, takenAtMs: nowMs });
  });
}

/**
 * By the latest time that this process knows, so that the look leaves with the beginning of the transaction. Where that says to
 * look at all, the clock is asked for first.
 */
async function whereToLook({ database, looked, seen, toldMs, nowMs }: Context): Promise<LookFrom> {
  const expected = lookFrom(looked, toldMs ?? seen.furthestMs);
  if (!expected.isWhole) return expected;
  // What leaves with the beginning is answered with it.
  await database.get('SELECT 1');
  const from = lookFrom(looked, nowMs());
  noteBegun(looked, from, nowMs());
  return from;
}

/** The store's clock, read once: a plan takes it for a value that is given. $1 stands for it where it is told, for tests. */
const clock = `
  clock AS MATERIALIZED (
    SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now)`;
const now = '(SELECT now FROM clock)';

/** What an older version put off, of what this one may read; written as the index by lane has it, so that no other serves. */
const isLeftToThis = "due_at IS NOT NULL AND code = 'older-normalizer' AND normalizer_version <= $5";

/**
 * So much of it as may be taken, in the lanes whose turn it is, in turns: more would be due in vain, and an older version
 * beside this one would put it off again. Ordinarily there is none, which one look-up says.
 */
const leftInTurn = `
  SELECT w.id FROM (
    SELECT l.id, l.turn FROM open l
    CROSS JOIN LATERAL (SELECT 1 FROM tasks WHERE lane = l.id AND ${isLeftToThis} LIMIT 1) has
    WHERE EXISTS (
      SELECT 1 FROM tasks WHERE state = 'due' AND code = 'older-normalizer' AND normalizer_version <= $5)
    ORDER BY l.turn, l.id LIMIT $2) l
  CROSS JOIN LATERAL (
    SELECT id, row_number() OVER (ORDER BY due_at, id) AS nth FROM tasks WHERE lane = l.id AND ${isLeftToThis}
    ORDER BY due_at, id LIMIT $2) w
  ORDER BY w.nth, l.turn, l.id LIMIT $2`;

/**
 * The lanes that have something due and are open, least served first; no more than can be served. Leases that ran out go
 * back to the work list, in the lanes named as freed; their holders' endings will find another fence. So does what an
 * older version left to this one.
 */
async function readyLanes(
  context: Context,
  limit: number,
  from: LookFrom,
): Promise<{ lanes: Lane[]; inFlight: number; freed: string[]; expired: number; nowMs: number }> {
  const rows = await context.database.all(
    `WITH ${clock},
     expired AS (
       UPDATE tasks SET state = 'due', due_at = ${now}, fence = fence + 1, lease_until = NULL, taken_lane = NULL,
         taken_epoch = NULL
       WHERE id = ANY(ARRAY(SELECT id FROM tasks WHERE lease_until > $6 AND lease_until <= ${now} LIMIT $3
         FOR NO KEY UPDATE SKIP LOCKED))
       RETURNING lane),
     taken AS MATERIALIZED (
       SELECT taken_lane, count(*) AS in_flight FROM tasks WHERE lease_until > ${now} GROUP BY taken_lane),
     open AS NOT MATERIALIZED (
       SELECT l.turn, l.next_due_at, l.id, l.width FROM lanes l
       WHERE l.open_at <= ${now} AND l.open_at IS NOT NULL AND NOT ${isFull}
         AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'reading-on' OR (name = 'pause-until' AND value > ${now}))),
     left_by_older AS (
       UPDATE tasks SET due_at = greatest(${now}, least(coalesce(read_at, 0), ${now}) + $4), code = NULL
       WHERE id = ANY(ARRAY(
         SELECT id FROM tasks WHERE id = ANY(ARRAY(${leftInTurn})) AND state = 'due'
           AND code IS NOT DISTINCT FROM 'older-normalizer' FOR NO KEY UPDATE SKIP LOCKED))
       RETURNING lane),
     freed AS MATERIALIZED (
       SELECT coalesce(array_agg(DISTINCT lane), '{}') AS lanes
       FROM (SELECT lane FROM expired UNION ALL SELECT lane FROM left_by_older) f)
     SELECT f.lanes AS freed, r.id, r.turn, r.width, (SELECT count(*)::int FROM expired) AS expired, ${now} AS now,
       CASE WHEN $7 THEN 0 ELSE least(r.next_due_at, ${now}) END AS due_from,
       coalesce((SELECT in_flight FROM taken WHERE taken_lane = r.id), 0) AS in_flight,
       (SELECT coalesce(sum(in_flight), 0)::bigint FROM taken) AS in_flight_all
     FROM freed f LEFT JOIN LATERAL (
       SELECT * FROM (
         SELECT * FROM open WHERE next_due_at <= ${now} AND next_due_at IS NOT NULL
         UNION SELECT * FROM open WHERE id = ANY(f.lanes)) l
       ORDER BY l.turn, l.next_due_at, l.id LIMIT $2) r ON true
     ORDER BY r.turn, r.next_due_at, r.id`,
    context.toldMs,
    limit,
    freedMax,
    context.settings.readGapMs,
    context.settings.normalizerVersion,
    from.leasesMs,
    from.isWhole,
  );
  const lanes = rows
    .filter(({ id }) => id !== null)
    .map(({ id, turn, width, in_flight, due_from }) => ({
      id: String(id),
      turn: Number(turn),
      dueFromMs: due_from as number,
      window: width as number | null,
      inFlight: Number(in_flight),
      served: 0,
      isExhausted: false,
    }));
  const { in_flight_all, freed, expired, now: nowMs } = rows[0]!;
  return { lanes, inFlight: Number(in_flight_all), freed, expired, nowMs };
}

/**
 * Rows that somebody changes at this moment are left for the next claim. What kept its place and was read a moment ago
 * waits until the gap is over. `early` counts all that are put off, `newer` those of them that are left to a newer version.
 */
async function takeFrom(
  context: Context,
  grants: { lane: Lane; limit: number }[],
  nowMs: number,
): Promise<{ taken: Row[]; early: number; newer: number }> {
  if (grants.length === 0) return { taken: [], early: 0, newer: 0 };
  const rows = await context.database.all(
    `WITH due AS (
       SELECT t.id, t.due_at, t.normalizer_version > $6 AS newer, g.nth, CASE WHEN t.normalizer_version > $6 THEN $3 + $7
         WHEN t.due_at < t.read_at AND t.read_at - $5 <= $3 THEN t.read_at + $5 END AS free_at
       FROM unnest($1::text[], $2::bigint[], $8::bigint[]) WITH ORDINALITY AS g (lane, wanted, due_from, nth)
       CROSS JOIN LATERAL (
         SELECT id, due_at, read_at, normalizer_version FROM tasks
         WHERE lane = g.lane AND due_at >= g.due_from AND due_at <= $3 ORDER BY due_at, id LIMIT g.wanted
         FOR NO KEY UPDATE SKIP LOCKED) t),
     early AS (
       UPDATE tasks e SET due_at = due.free_at, state = CASE WHEN due.newer THEN 'due' ELSE e.state END,
         code = CASE WHEN due.newer THEN 'older-normalizer' ELSE e.code END
       FROM due WHERE e.id = due.id AND e.id = ANY(ARRAY(SELECT id FROM due)) AND due.free_at > $3 RETURNING due.newer),
     taken AS (UPDATE tasks t SET state = 'taken', due_at = NULL, fence = greatest(t.fence + 1, $3), read_at = $3,
       covered_hint_at = coalesce(t.covered_hint_at, t.first_hint_at), first_hint_at = NULL, lease_until = $4,
       taken_lane = t.lane, taken_epoch = coalesce((SELECT epoch FROM organizations o WHERE o.id = t.lane), 0)
     FROM due WHERE t.id = due.id AND t.id = ANY(ARRAY(SELECT id FROM due)) AND (due.free_at > $3) IS NOT TRUE
     RETURNING due.nth, due.due_at AS was_due_at, t.id, t.fence, t.generation, (SELECT last_value FROM revision) AS revision,
       t.address, t.kind, t.resource_id, t.organization_id, t.hinted_organization_id, t.hinted_user, t.connection_id, t.shown_by,
       t.taken_epoch, t.settling, t.attempts, t.aged_ms, t.failed_at, t.code, t.absent_since, t.covered_hint_at, t.traceparent,
       t.reconciled, CASE WHEN NOT t.reconciled THEN (SELECT delivery_id FROM hints h WHERE h.task_id = t.id
         AND h.generation = t.generation) END AS delivery_id)
     SELECT e.early, e.newer, taken.* FROM (
       SELECT count(*)::int AS early, count(*) FILTER (WHERE newer)::int AS newer FROM early) e LEFT JOIN taken ON true`,
    grants.map(({ lane }) => lane.id),
    grants.map(({ limit }) => limit),
    nowMs,
    nowMs + context.settings.leaseMs,
    context.settings.readGapMs,
    context.settings.normalizerVersion,
    leftToNewerMs,
    grants.map(({ lane }) => lane.dueFromMs),
  );
  const { early, newer } = rows[0] as { early: number; newer: number };
  const taken = rows.filter(({ id }) => id !== null);
  for (const [index, { lane, limit }] of grants.entries()) {
    const count = taken.filter(({ nth }) => nth === index + 1).length;
    lane.served += count;
    lane.inFlight += count;
    lane.isExhausted = count < limit && early === 0;
  }
  taken.sort(
    (left, right) => left.nth - right.nth || left.was_due_at - right.was_due_at || left.id - right.id,
  );
  return { taken, early, newer };
}
