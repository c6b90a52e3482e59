/**
 * How a taken task goes back: its lease ends under its fence, and it is done, settles, stays due or is set aside. A hint
 * that came after the read began is never forgotten: whatever the read said, the task is then due again. What the read
 * itself means is decided elsewhere.
 */
import type { QuarantineReason } from '../../model/notification';
import type { Ending } from '../../model/task';
import { afterGapOf, hintedSince, restOf } from '../at-rest';
import type { Said } from '../may-lag';
import type { Context } from './context';
import type { Slate } from './slate';
import type { TaskRow } from './task-rows';

/** The task's row when this ending holds its fence, with the lease ended; null when another has it. */
export function endTake(slate: Slate, { taskId, fence }: Pick<Ending, 'taskId' | 'fence'>): TaskRow | null {
  const task = slate.tasks.get(taskId);
  if (task === undefined || task.state !== 'taken' || task.fence !== fence) return null;
  slate.change(task, { lease_until: null, taken_lane: null, taken_epoch: null });
  return task;
}

/** Was another read of the resource accepted since this one began? */
export function isSuperseded(resource: TaskRow, ending: Pick<Ending, 'revision'>): boolean {
  return resource.accepted_revision === null || resource.accepted_revision > ending.revision;
}

/** Not before `atMs`, nor before the gap after the last read of the task is over. */
export function afterGap({ context }: Slate, task: TaskRow, atMs: number): number {
  return afterGapOf(task, atMs, timesOf(context));
}

/** Now, and how long a task is not read again after a read. */
export function timesOf({ nowMs, settings }: Context): { nowMs: number; readGapMs: number } {
  return { nowMs: nowMs(), readGapMs: settings.readGapMs };
}

/** The task after a decided read. True when it will be read again. */
export function rest(slate: Slate, task: TaskRow, ending: Ending, said: Said, lane: string): boolean {
  const { state, dueAt, crowded } = restOf(task, ending, said, timesOf(slate.context));
  slate.change(task, {
    state,
    due_at: dueAt,
    lane,
    settling: state === 'settling',
    crowded,
    attempts: 0,
    aged_ms: 0,
    failed_at: null,
    own: false,
    code: null,
    detail: null,
    covered_hint_at: null,
    gone_allowed: false,
    folded: 0,
  });
  if (dueAt !== null) slate.context.lanes.expect(lane, dueAt);
  return dueAt !== null;
}

/** The read does not count: the task stays due, and is read again after the gap and `waitMs`. */
export function stayDue(slate: Slate, task: TaskRow, code: string, waitMs = 0): void {
  const dueAt = afterGap(slate, task, slate.context.nowMs() + waitMs);
  slate.change(task, { state: 'due', due_at: dueAt, code, detail: null });
  slate.context.lanes.expect(task.lane, dueAt);
}

/** Sets the task aside for an operator; false when a later hint keeps it due instead. */
export function refuse(
  slate: Slate,
  task: TaskRow,
  ending: Ending,
  reason: QuarantineReason,
  found: { path: string; detail: string | null; raw: string | null } = { path: '', detail: null, raw: null },
): boolean {
  if (hintedSince(task, ending)) {
    stayDue(slate, task, reason);
    return false;
  }
  slate.change(task, {
    state: 'quarantined',
    due_at: null,
    settling: false,
    code: reason,
    detail: found.detail,
    covered_hint_at: null,
    gone_allowed: false,
    // An absence is believed when two reads in a row found it; only that of many at once still stands here.
    absent_since: reason === 'mass-disappearance' ? task.absent_since : null,
  });
  slate.setAside({
    what: 'task',
    reason,
    path: found.path,
    detail: found.detail,
    organizationId: task.organization_id ?? task.hinted_organization_id,
    address: task.address,
    taskId: task.id,
    raw: found.raw,
  });
  return true;
}
