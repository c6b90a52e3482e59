/**
 * Loads what had a resource read: hints, lines of replays, the runs of the sync, and what another of its addresses passed
 * on. Rows only, each found by an index.
 */
import { passedOn, type ReadToTell, readColumns } from '../covered';
import { type ReplayToTell, replayColumns } from '../event-steps';
import { type Asked, type HintToTell, type PassedOn, type RunToTell, runsOf } from '../journey';
import { rowsMax } from '../left-out';
import type { Context } from './context';

/** Rows as the statement's columns make them. */
export function rows<Wanted>(
  { database }: Context,
  sql: string,
  ...values: (string | number | null)[]
): Wanted[] {
  return database.all(sql, ...values) as unknown as Wanted[];
}

/**
 * What had it read: the hints that no earlier read covers, what replays asked for since the read before, and what was passed
 * on to it; with that, only the hints that no read before it covers.
 */
export function askedFor(context: Context, read: ReadToTell): Asked {
  const { task_id: task, fence, generation, at } = read;
  const passed = passedOnTo(context, read);
  const hints = rows<HintToTell>(
    context,
    `SELECT h.task_id, h.generation, h.element, d.id, d.received_at FROM hints h JOIN deliveries d ON d.id = h.delivery_id
     WHERE h.task_id = ?1 AND h.generation <= ?3 AND h.generation > coalesce((
       SELECT generation FROM reads WHERE task_id = ?1 AND fence < ?2 AND (generation < ?3 OR at <= ?5)
       ORDER BY fence DESC LIMIT 1), 0)
     ORDER BY h.generation DESC LIMIT ?4`,
    task,
    fence,
    generation,
    rowsMax,
    passed?.read.at ?? null,
  );
  const readAgain = rows<ReplayToTell>(
    context,
    `SELECT ${replayColumns} FROM replayed WHERE task_id = ?1 AND at <= ?3 AND at > coalesce((
       SELECT at FROM reads WHERE task_id = ?1 AND fence < ?2 ORDER BY fence DESC LIMIT 1), 0)
     ORDER BY id DESC LIMIT ?4`,
    task,
    fence,
    at,
    rowsMax,
  );
  return {
    hints: hints.reverse(),
    readAgain: readAgain.reverse(),
    runs: runs(context, task),
    passedOn: passed,
  };
}

/** The last since a read of it that covers less. */
function passedOnTo(context: Context, { task_id: task, fence, generation, at }: ReadToTell): PassedOn | null {
  const [read] = rows<ReadToTell>(
    context,
    `SELECT ${readColumns} FROM reads
     WHERE task_id IN (SELECT id FROM tasks WHERE joined_to = ?1) AND outcome = '${passedOn.outcome}' AND at <= ?4
       AND at > coalesce((
         SELECT at FROM reads WHERE task_id = ?1 AND fence < ?2 AND generation < ?3
         ORDER BY fence DESC LIMIT 1), 0)
     ORDER BY at DESC LIMIT 1`,
    task,
    fence,
    generation,
    at,
  );
  return read === undefined ? null : { read, asked: askedFor(context, read) };
}

/** All that are kept and could list its resource, which are few. */
export function runs(context: Context, taskId: number): RunToTell[] {
  return rows<RunToTell>(context, runsOf('?'), taskId);
}
