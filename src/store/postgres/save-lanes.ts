/**
 * What a claim makes of the lanes that it took from, as statements that leave with its commit. Each says to those behind it which
 * lanes are theirs by a setting of the transaction, so that no answer is waited for between them. A statement sees what was
 * committed before it began: a bound is raised by one that began after the lane's row was taken for itself.
 */
import type { Context } from './context';

/** A lane that a claim was granted something of. */
export interface ServedLane {
  id: string;
  turn: number;
  /** Nothing in it was due before; what this claim freed is due now. */
  dueFromMs: number;
  /** Taken from it by this claim. */
  served: number;
  /** It had less than it was granted. */
  isExhausted: boolean;
}

/** Locks the lanes, all of them, and tells those that have nothing due any more. */
const lockServed = `
  SELECT set_config('tramline.emptied', coalesce(array_agg(id) FILTER (WHERE NOT has_due), '{}')::text, true) FROM (
    SELECT l.id, (SELECT true FROM tasks t
      WHERE t.lane = l.id AND t.due_at >= least(l.next_due_at, n.due_from) AND t.due_at <= $2 LIMIT 1) IS NOT NULL AS has_due
    FROM unnest($1::text[], $3::bigint[]) AS n (id, due_from) JOIN lanes l ON l.id = n.id
    WHERE l.id = ANY($1::text[]) ORDER BY l.id FOR NO KEY UPDATE OF l) l`;

/**
 * Takes the rows of those for itself: only when nobody adds to them at this moment, else they keep their bound and are looked
 * at again.
 */
const takeEmptied = `
  SELECT set_config('tramline.raised', ARRAY(
    SELECT id FROM lanes WHERE id = ANY(current_setting('tramline.emptied')::text[]) FOR UPDATE SKIP LOCKED)::text, true)`;

const saveServed = `
  WITH advanced AS (UPDATE meta SET value = $3 WHERE name = 'turn' AND value < $3)
  UPDATE lanes l SET turn = l.turn + n.served,
    next_due_at = CASE WHEN l.id = ANY(current_setting('tramline.raised')::text[]) THEN (
      SELECT due_at FROM tasks t WHERE t.lane = l.id AND t.due_at >= least(l.next_due_at, n.due_from)
      ORDER BY t.due_at LIMIT 1)
    ELSE l.next_due_at END
  FROM unnest($1::text[], $2::bigint[], $4::bigint[]) AS n (id, served, due_from)
  WHERE l.id = n.id AND l.id = ANY($1::text[])`;

/** What was freed in lanes that were not taken from, or not for itself, is due now. */
const expectFreed = `
  SELECT expect_lanes_1(ids, times) FROM (
    SELECT array_agg(id) AS ids, array_agg($2::bigint) AS times FROM unnest($1::text[]) AS n (id)
    WHERE (id = ANY(current_setting('tramline.raised')::text[])) IS NOT TRUE) n
  WHERE ids IS NOT NULL`;

/** Turns rise with what was served, and lanes that have nothing more that is due say from when on they have. */
export async function saveLanes(
  context: Context,
  lanes: ServedLane[],
  freed: string[],
  nowMs: number,
): Promise<void> {
  const { database } = context;
  const touched = lanes.filter(({ served, isExhausted }) => served > 0 || isExhausted);
  if (touched.length === 0) {
    for (const id of freed) context.lanes.expect(id, nowMs);
    return;
  }
  const ids = touched.map(({ id }) => id);
  const dueFromMs = touched.map((lane) => lane.dueFromMs);
  const served = touched.map((lane) => lane.served);
  // Where lanes that are not among these are locked as well, whoever waits for both would have the time of one.
  if (freed.length > 0) await database.all(lockServed, ids, nowMs, dueFromMs);
  else database.last(lockServed, ids, nowMs, dueFromMs);
  database.last(takeEmptied);
  database.last(saveServed, ids, served, lanes[0]!.turn, dueFromMs);
  if (freed.length > 0) database.last(expectFreed, freed, nowMs);
}
