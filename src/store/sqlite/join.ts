/**
 * Two addresses of one resource are one task. When a provisional task's read shows a resource that has a task already,
 * the provisional one is joined to it: from then on hints of its address are the other's, and so are those that its
 * read does not cover, as new generations. What its read covers stays with it, and is settled by it. Where its read
 * finds nothing, and its address names a known resource, it is joined to that one's with all that was not decided.
 */
import type { ResourceIdentity } from '../../model/resource';
import type { Ending } from '../../model/task';
import { hintedSince } from '../at-rest';
import { finality, passedOn } from '../covered';
import type { Context } from './context';
import type { Row } from './database';
import { closeEntry } from './quarantine';
import { afterGap, noteRead } from './return-task';

/** True when later hints went on under the other task: then the joined one is done. */
export function joinTask(context: Context, task: Row, resourceTaskId: number, read: Ending): boolean {
  const { database } = context;
  const taskId = Number(task.id);
  database.run(
    // The hints of its address that came while it was joined to another stay there.
    `UPDATE tasks SET joined_before = iif(joined_to <> ?1, joined_to, joined_before), joined_to = ?1 WHERE id = ?2`,
    resourceTaskId,
    taskId,
  );
  if (!hintedSince(task, read)) return false;
  passOn(context, task, resourceTaskId, read.generation);
  return true;
}

/**
 * The joined task is done. What came after this generation is the resource's, which is to be read in any case. How many hints
 * that was.
 */
function passOn(context: Context, task: Row, resourceTaskId: number, after: number): number {
  const { database } = context;
  const taskId = Number(task.id);
  const later = database.all(
    'SELECT generation, delivery_id, element FROM hints WHERE task_id = ? AND generation > ? ORDER BY generation',
    taskId,
    after,
  );
  database.run('DELETE FROM hints WHERE task_id = ? AND generation > ?', taskId, after);
  database.run(
    `UPDATE tasks SET state = 'done', due_at = NULL, generation = ?, settling = 0, first_hint_at = NULL,
       covered_hint_at = NULL, folded = 0 WHERE id = ?`,
    after,
    taskId,
  );
  const target = database.get('SELECT * FROM tasks WHERE id = ?', resourceTaskId)!;
  let generation = Number(target.generation);
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
  const wakes = target.state === 'done' || target.state === 'settling' || target.state === 'quarantined';
  if (target.state === 'quarantined') closeEntry(context, resourceTaskId);
  // The resource may have been read a moment ago, under its other address.
  const dueAt = wakes
    ? afterGap(context, task, afterGap(context, target, context.nowMs()))
    : (target.due_at as number | null);
  // Where nothing moved, what it is due for already stays what it is read for.
  const asker = later.length > 0 ? { ...task, reconciled: 0 } : wakes ? task : target;
  database.run(
    `UPDATE tasks SET generation = ?, state = iif(?, 'due', state), due_at = ?, settling = 0, crowded = 1, reconciled = ?,
       first_hint_at = coalesce(first_hint_at, ?), traceparent = ? WHERE id = ?`,
    generation,
    wakes ? 1 : 0,
    dueAt,
    asker.reconciled as number,
    task.first_hint_at as number | null,
    asker.traceparent as string | null,
    resourceTaskId,
  );
  if (wakes) context.lanes.expect(String(target.lane), dueAt!);
  return later.length;
}

/**
 * What was not found under an address of a known resource, or one that names it, says that this one may be gone: the hints of
 * which nothing was decided for good are that resource's, which is read where it stands, and the address is its own from then
 * on. So it is where the read that joined it came too early; what that read published keeps its line. False where nobody knows
 * what it names, or nothing announced it.
 */
export function joinNamed(context: Context, task: Row, { named }: { named?: ResourceIdentity }): boolean {
  // Of hints that were folded nothing is left that could go on under another task.
  if (task.kind !== null || Number(task.folded) > 0) return false;
  const { database } = context;
  const known = (task.joined_to as number | null) ?? idOf(context, named);
  const taskId = Number(task.id);
  const decided = database.get(
    `SELECT max(generation) AS last FROM reads
     WHERE task_id = ? AND (generation < ? OR finality <> ${finality.open} OR outcome = 'published')`,
    taskId,
    Number(task.generation),
  );
  const generation = Number(decided?.last ?? 0);
  if (known === null || (Number(task.generation) <= generation && task.joined_to === null)) return false;
  context.lanes.widen(String(task.lane));
  database.run('UPDATE tasks SET joined_to = ? WHERE id = ?', known, taskId);
  const first_hint_at = task.covered_hint_at ?? task.first_hint_at ?? firstAfter(context, taskId, generation);
  if (passOn(context, { ...task, first_hint_at } as Row, known, generation) === 0)
    notePassedOn(context, task, generation);
  return true;
}

/** No hint tells then what the resource is read for. */
function notePassedOn(context: Context, { id, fence, reconciled }: Row, generation: number): void {
  const reason = reconciled === 1 ? passedOn.reconciled : null;
  const said = { reason, eventId: null, connectionId: null, switchedFrom: null, settles: false };
  const read = { taskId: Number(id), fence: Number(fence), generation };
  noteRead(context, read, { ...said, outcome: passedOn.outcome });
}

/** When the first hint after this generation came; null where there is none any more. */
function firstAfter({ database }: Context, taskId: number, generation: number): number | null {
  const row = database.get(
    `SELECT min(d.received_at) AS at FROM hints h JOIN deliveries d ON d.id = h.delivery_id
     WHERE h.task_id = ? AND h.generation > ?`,
    taskId,
    generation,
  );
  return (row?.at ?? null) as number | null;
}

function idOf({ database }: Context, named: ResourceIdentity | undefined): number | null {
  if (named === undefined) return null;
  const row = database.get('SELECT id FROM tasks WHERE kind = ? AND resource_id = ?', named.kind, named.id);
  return row === undefined ? null : Number(row.id);
}
