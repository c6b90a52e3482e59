/**
 * Two addresses of one resource are one task. When a provisional task's read shows a resource that has a task already,
 * the provisional one is joined to it: from then on hints of its address are the other's, and so are those that its
 * read does not cover, as new generations. What its read covers stays with it, and is settled by it.
 */
import type { Context } from './context';
import type { Row } from './database';
import { closeEntry } from './quarantine';
import { afterGap, type Ending, hintedSince } from './return-task';

/**
 * True when later hints went on under the other task: then the joined one is done. One that waited for an operator is read
 * once more, since its resource was shown.
 */
export function joinTask(context: Context, task: Row, resourceTaskId: number, read: Ending): boolean {
  const { database } = context;
  const taskId = Number(task.id);
  database.run('UPDATE tasks SET joined_to = ? WHERE id = ?', resourceTaskId, taskId);
  if (!hintedSince(task, read)) {
    wake(context, task, resourceTaskId);
    return false;
  }
  const later = database.all(
    'SELECT generation, delivery_id, element FROM hints WHERE task_id = ? AND generation > ? ORDER BY generation',
    taskId,
    read.generation,
  );
  database.run(
    `UPDATE tasks SET state = 'done', due_at = NULL, generation = ?, settling = 0, first_hint_at = NULL,
       covered_hint_at = NULL, folded = 0 WHERE id = ?`,
    read.generation,
    taskId,
  );
  passHints(context, task, later, resourceTaskId, task.first_hint_at as number | null);
  return true;
}

/** As new generations of the other task, which is due for them. They are of one task, in order. */
export function passHints(
  context: Context,
  task: Row,
  hints: Row[],
  targetId: number,
  firstHintAt: number | null,
): void {
  const { database } = context;
  const target = database.get('SELECT * FROM tasks WHERE id = ?', targetId)!;
  let generation = Number(target.generation);
  for (const hint of hints) {
    database.run(
      'DELETE FROM hints WHERE task_id = ? AND generation = ?',
      task.id as number,
      hint.generation as number,
    );
    generation += 1;
    database.run(
      'INSERT INTO hints (task_id, generation, delivery_id, element) VALUES (?, ?, ?, ?)',
      targetId,
      generation,
      hint.delivery_id as number,
      hint.element as number,
    );
  }
  const wakes = target.state === 'done' || target.state === 'settling' || target.state === 'quarantined';
  if (target.state === 'quarantined') closeEntry(context, targetId);
  // The resource was read a moment ago, under its other address.
  const dueAt = wakes
    ? afterGap(context, task, afterGap(context, target, context.nowMs()))
    : (target.due_at as number | null);
  database.run(
    `UPDATE tasks SET generation = ?, state = iif(?, 'due', state), due_at = ?, settling = 0, crowded = 1, reconciled = 0,
       first_hint_at = coalesce(first_hint_at, ?), traceparent = ? WHERE id = ?`,
    generation,
    wakes ? 1 : 0,
    dueAt,
    firstHintAt,
    task.traceparent as string | null,
    targetId,
  );
  if (wakes) context.lanes.expect(String(target.lane), dueAt!);
}

function wake(context: Context, task: Row, targetId: number): void {
  const target = context.database.get('SELECT id, state, lane, read_at FROM tasks WHERE id = ?', targetId)!;
  if (target.state !== 'quarantined') return;
  const dueAt = afterGap(context, task, afterGap(context, target, context.nowMs()));
  context.database.run(`UPDATE tasks SET state = 'due', due_at = ? WHERE id = ?`, dueAt, targetId);
  closeEntry(context, targetId);
  context.lanes.expect(String(target.lane), dueAt);
}
