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
import { afterGap } from './return-task';
import type { Slate } from './slate';
import type { TaskRow } from './task-rows';

/** What it was joined to, where that is another, is kept: the hints of its address that came meanwhile stay there. */
export function leavingJoined({ joined_to, joined_before }: TaskRow, to: number | null): Partial<TaskRow> {
  return { joined_to: to, joined_before: joined_to === null || joined_to === to ? joined_before : joined_to };
}

/** True when later hints went on under the other task: then the joined one is done. */
export async function joinTask(slate: Slate, task: TaskRow, target: TaskRow, read: Ending): Promise<boolean> {
  slate.change(task, leavingJoined(task, target.id));
  if (!hintedSince(task, read)) return false;
  await passOn(slate, task, target, read.generation);
  return true;
}

/**
 * The joined task is done. What came after this generation is the target's, which is to be read in any case. How many hints
 * that was.
 */
async function passOn(slate: Slate, task: TaskRow, target: TaskRow, generation: number): Promise<number> {
  const { context } = slate;
  const moved = await context.database.run(
    `WITH later AS (DELETE FROM hints WHERE task_id = $1 AND generation > $2 RETURNING generation, delivery_id, element)
     INSERT INTO hints (task_id, generation, delivery_id, element)
     SELECT $3, $4 + row_number() OVER (ORDER BY generation), delivery_id, element FROM later`,
    task.id,
    generation,
    target.id,
    target.generation,
  );
  const firstHintAt = task.first_hint_at;
  slate.change(task, {
    state: 'done',
    due_at: null,
    generation,
    settling: false,
    first_hint_at: null,
    covered_hint_at: null,
    folded: 0,
  });
  const wakes = target.state === 'done' || target.state === 'settling' || target.state === 'quarantined';
  if (target.state === 'quarantined') slate.close(target.id);
  // The resource may have been read a moment ago, under its other address.
  const dueAt = wakes ? afterGap(slate, task, afterGap(slate, target, context.nowMs())) : target.due_at;
  // Where nothing moved, what it is due for already stays what it is read for.
  const asker = moved > 0 ? { ...task, reconciled: false } : wakes ? task : target;
  slate.change(target, {
    generation: target.generation + moved,
    state: wakes ? 'due' : target.state,
    due_at: dueAt,
    settling: false,
    crowded: true,
    reconciled: asker.reconciled,
    first_hint_at: target.first_hint_at ?? firstHintAt,
    traceparent: asker.traceparent,
  });
  if (wakes) context.lanes.expect(target.lane, dueAt!);
  return moved;
}

/**
 * What was not found under an address of a known resource, or one that names it, says that this one may be gone: the hints of
 * which nothing was decided for good are that resource's, which is read where it stands, and the address is its own from then
 * on. So it is where the read that joined it came too early; what that read published keeps its line. False where nobody knows
 * what it names, or nothing announced it.
 */
export async function joinNamed(
  slate: Slate,
  task: TaskRow,
  { named }: { named?: ResourceIdentity },
): Promise<boolean> {
  // Of hints that were folded nothing is left that could go on under another task.
  if (task.kind !== null || task.folded > 0) return false;
  const known =
    task.joined_to === null ? named && slate.resource(named.kind, named.id) : slate.tasks.get(task.joined_to);
  if (known === undefined) return false;
  const { context } = slate;
  const decided = await context.database.get(
    `SELECT max(generation) AS last FROM reads
     WHERE task_id = $1 AND (generation < $2 OR finality <> ${finality.open} OR outcome = 'published')`,
    task.id,
    task.generation,
  );
  const generation = Number(decided?.last ?? 0);
  if (task.generation <= generation && task.joined_to === null) return false;
  context.lanes.widen(task.lane);
  const firstHintAt =
    task.covered_hint_at ?? task.first_hint_at ?? (await firstAfter(slate, task.id, generation));
  slate.change(task, { joined_to: known.id, first_hint_at: firstHintAt });
  if ((await passOn(slate, task, known, generation)) === 0) notePassedOn(slate, task, generation);
  return true;
}

/** No hint tells then what the resource is read for. */
function notePassedOn(slate: Slate, { id, fence, reconciled }: TaskRow, generation: number): void {
  const reason = reconciled ? passedOn.reconciled : null;
  const said = { reason, eventIds: [], connectionId: null, switchedFrom: null, settles: false };
  slate.note({ taskId: id, fence, generation, ...said, outcome: passedOn.outcome });
}

/** When the first hint after this generation came; null where there is none any more. */
async function firstAfter({ context }: Slate, taskId: number, generation: number): Promise<number | null> {
  const row = await context.database.get(
    `SELECT min((SELECT received_at FROM deliveries WHERE id = h.delivery_id)) AS at FROM hints h
     WHERE h.task_id = $1 AND h.generation > $2`,
    taskId,
    generation,
  );
  return row?.at ?? null;
}
