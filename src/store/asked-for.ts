/**
 * What the statements say that find what had a resource read, one text for all stores. `value` writes the nth value as the
 * store's statements do: the task and the fence of the read, then what each says.
 */
import { passedOn, readColumns } from './covered';
import { replayColumns } from './event-steps';

export function askedForBy(value: (nth: number) => string) {
  const [task, fence, third, fourth, fifth] = [1, 2, 3, 4, 5].map(value);
  return {
    /**
     * Hints up to this generation (3) that no earlier read covers, the newest first, at most so many (4). A read by this time
     * (5), by which something was passed on, covers its own generation too.
     */
    hints: `SELECT h.task_id, h.generation, h.element, d.id, d.received_at FROM hints h JOIN deliveries d ON d.id = h.delivery_id
      WHERE h.task_id = ${task} AND h.generation <= ${third} AND h.generation > coalesce((
        SELECT generation FROM reads
        WHERE task_id = ${task} AND fence < ${fence} AND (generation < ${third} OR at <= ${fifth})
        ORDER BY fence DESC LIMIT 1), 0)
      ORDER BY h.generation DESC LIMIT ${fourth}`,
    /** Lines of replays since the read before, up to this time (3), the newest first: at most so many (4). */
    readAgain: `SELECT ${replayColumns} FROM replayed WHERE task_id = ${task} AND at <= ${third} AND at > coalesce((
        SELECT at FROM reads WHERE task_id = ${task} AND fence < ${fence} ORDER BY fence DESC LIMIT 1), 0)
      ORDER BY id DESC LIMIT ${fourth}`,
    /** The last that was passed on up to this time (4), since a read of an older generation than this (3). */
    passedOn: `SELECT ${readColumns} FROM reads
      WHERE task_id IN (SELECT id FROM tasks WHERE joined_to = ${task}) AND outcome = '${passedOn.outcome}' AND at <= ${fourth}
        AND at > coalesce((
          SELECT at FROM reads WHERE task_id = ${task} AND fence < ${fence} AND generation < ${third}
          ORDER BY fence DESC LIMIT 1), 0)
      ORDER BY at DESC LIMIT 1`,
    /** The keys of what it decided, by their cause (2); where none is kept, whose the task is. */
    keys: `WITH decided AS (SELECT key FROM outbox WHERE task_id = ${task} AND cause = ${fence})
      SELECT key FROM decided UNION ALL
      SELECT coalesce(organization_id, hinted_organization_id, lane) FROM tasks
      WHERE id = ${task} AND NOT EXISTS (SELECT 1 FROM decided)`,
  };
}
