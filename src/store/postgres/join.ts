/**
 * Two addresses of one resource are one task. When a provisional task's read shows a resource that has a task already,
 * the provisional one is joined to it: from then on hints of its address are the other's, and so are those that its
 * read does not cover, as new generations. What its read covers stays with it, and is settled by it.
 */
import { afterGap, type Ending, hintedSince } from './return-task';
import type { Slate } from './slate';
import type { TaskRow } from './task-rows';

/**
 * True when later hints went on under the other task: then the joined one is done. One that waited for an operator is read
 * once more, since its resource was shown.
 */
export async function joinTask(slate: Slate, task: TaskRow, target: TaskRow, read: Ending): Promise<boolean> {
  slate.change(task, { joined_to: target.id });
  if (!hintedSince(task, read)) {
    if (target.state === 'quarantined') wake(slate, task, target);
    return false;
  }
  const later = await slate.context.database.all(
    'SELECT generation FROM hints WHERE task_id = $1 AND generation > $2',
    task.id,
    read.generation,
  );
  const generations = later.map(({ generation }) => generation as number);
  await passHints(slate, task, generations, target, task.first_hint_at);
  slate.change(task, {
    state: 'done',
    due_at: null,
    generation: read.generation,
    settling: false,
    first_hint_at: null,
    covered_hint_at: null,
    folded: 0,
  });
  return true;
}

/** The hints of these generations become new ones of the other task, which is due for them. */
export async function passHints(
  slate: Slate,
  task: TaskRow,
  generations: number[],
  target: TaskRow,
  firstHintAt: number | null,
): Promise<void> {
  const moved = await slate.context.database.run(
    `WITH later AS (
       DELETE FROM hints WHERE task_id = $1 AND generation = ANY($2::bigint[]) RETURNING generation, delivery_id, element)
     INSERT INTO hints (task_id, generation, delivery_id, element)
     SELECT $3, $4 + row_number() OVER (ORDER BY generation), delivery_id, element FROM later`,
    task.id,
    generations,
    target.id,
    target.generation,
  );
  if (['done', 'settling', 'quarantined'].includes(target.state)) wake(slate, task, target);
  slate.change(target, {
    generation: target.generation + moved,
    settling: false,
    crowded: true,
    reconciled: false,
    first_hint_at: target.first_hint_at ?? firstHintAt,
    traceparent: task.traceparent,
  });
}

/** The resource was read a moment ago, under its other address. */
function wake(slate: Slate, task: TaskRow, target: TaskRow): void {
  if (target.state === 'quarantined') slate.close(target.id);
  const dueAt = afterGap(slate, task, afterGap(slate, target, slate.context.nowMs()));
  slate.change(target, { state: 'due', due_at: dueAt });
  slate.context.lanes.expect(target.lane, dueAt);
}
