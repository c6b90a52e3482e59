/**
 * Two addresses of one resource are one task. When a provisional task's first read shows a resource that has a task
 * already, the provisional one ends: its address becomes an alias, and hints that its read does not cover go on under
 * the other task as new generations.
 */
import type { Context } from './context';
import type { Row } from './database';

export function joinTask(
  context: Context,
  task: Row,
  resourceTaskId: number,
  read: { generation: number },
): void {
  const { database } = context;
  database.run('UPDATE aliases SET task_id = ? WHERE address = ?', resourceTaskId, String(task.address));
  database.run(
    `UPDATE tasks SET state = 'done', due_at = NULL, joined_to = ?, first_hint_at = NULL WHERE id = ?`,
    resourceTaskId,
    task.id as number,
  );
  const later = database.all(
    'SELECT generation, delivery_id, element FROM hints WHERE task_id = ? AND generation > ? ORDER BY generation',
    task.id as number,
    read.generation,
  );
  if (later.length === 0) return;
  const target = database.get('SELECT * FROM tasks WHERE id = ?', resourceTaskId)!;
  let generation = Number(target.generation);
  database.run('DELETE FROM hints WHERE task_id = ? AND generation > ?', task.id as number, read.generation);
  for (const hint of later) {
    generation += 1;
    database.run(
      'INSERT INTO hints (task_id, generation, delivery_id, element) VALUES (?, ?, ?, ?)',
      resourceTaskId,
      generation,
      hint.delivery_id as number,
      hint.element as number,
    );
  }
  const waits = target.state === 'done' || target.state === 'settling' || target.state === 'quarantined';
  const nowMs = context.nowMs();
  database.run(
    `UPDATE tasks SET generation = ?, state = iif(?, 'due', state), due_at = iif(?, ?, due_at), settling = 0,
       first_hint_at = coalesce(first_hint_at, ?) WHERE id = ?`,
    generation,
    waits ? 1 : 0,
    waits ? 1 : 0,
    nowMs,
    task.first_hint_at as number | null,
    resourceTaskId,
  );
  if (waits) context.lanes.expect(String(target.lane), nowMs);
}
