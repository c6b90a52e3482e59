/**
 * Leases of taken tasks. One process owns the embedded store, so they are kept in memory, and a process that starts frees
 * those of the dead at once.
 */
import type { Context, Lease } from './context';

/** A lease that ran out goes back to the work list; its holder's ending will find another fence. */
export function freeExpired(context: Context, nowMs: number): void {
  const expired: number[] = [];
  for (const [taskId, { untilMs }] of context.leases) if (untilMs <= nowMs) expired.push(taskId);
  expired.sort((left, right) => left - right);
  for (const taskId of expired) freeLease(context, taskId, nowMs);
}

/** Gives one taken task back, due now. Nothing happens when it is not taken. */
export function freeLease(context: Context, taskId: number, nowMs: number): void {
  const lease = context.leases.get(taskId);
  if (lease === undefined) return;
  endLease(context, taskId, lease);
  const task = context.database.get(
    `UPDATE tasks SET state = 'due', due_at = ?, fence = fence + 1 WHERE id = ? AND state = 'taken' RETURNING lane`,
    nowMs,
    taskId,
  );
  // Its resource may have moved to another organization while it was taken.
  if (task !== undefined) context.lanes.expect(String(task.lane), nowMs);
}

/**
 * Forgets a lease in memory, so that the lane has room again. Whoever was told so holds it no longer: where that is lost
 * it has run out.
 */
export function endLease(context: Context, taskId: number, lease: Lease): void {
  context.leases.delete(taskId);
  context.lanes.returned(lease.lane);
  context.undo((answered) => void context.leases.set(taskId, answered ? { ...lease, untilMs: 0 } : lease));
}
