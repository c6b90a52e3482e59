/**
 * How a taken task goes back: its lease ends under its fence, and it is done, settles, stays due or is set aside. A hint
 * that came after the read began is never forgotten: whatever the read said, the task is then due again. What the read
 * itself means is decided elsewhere.
 */
import type { QuarantineReason } from '../../model/notification';
import type { Ending } from '../../model/task';
import { afterGapOf, hintedSince, type Rest, restOf } from '../at-rest';
import { finality } from '../covered';
import type { Said } from '../may-lag';
import type { Context } from './context';
import type { Row } from './database';
import { endLease } from './leases';
import { insertEntry } from './quarantine';

/** The task's row when this ending holds its fence, with the lease ended; null when another has it. */
export function endTake(context: Context, ending: Ending): Row | null {
  const lease = context.leases.get(ending.taskId);
  if (lease === undefined || lease.fence !== ending.fence) return null;
  const row = context.database.get(
    `SELECT * FROM tasks WHERE id = ? AND fence = ? AND state = 'taken'`,
    ending.taskId,
    ending.fence,
  );
  if (row === undefined) return null;
  endLease(context, ending.taskId, lease);
  return row;
}

/** Not before `atMs`, nor before the gap after the last read of the task is over. */
export function afterGap(context: Context, task: Row, atMs: number): number {
  return afterGapOf(task, atMs, timesOf(context));
}

/** Now, and how long a task is not read again after a read. */
export function timesOf({ nowMs, settings }: Context): { nowMs: number; readGapMs: number } {
  return { nowMs: nowMs(), readGapMs: settings.readGapMs };
}

/** The task after a decided read. */
export function restAfter(context: Context, task: Row, ending: Ending, said: Said): Rest {
  return restOf(task, ending, said, timesOf(context));
}

/** What a decided read clears in its task, whatever it said. */
export const restColumns = `state = ?, due_at = ?, lane = ?, settling = ?, crowded = ?, attempts = 0,
  aged_ms = 0, failed_at = NULL, own = 0, code = NULL, detail = NULL, covered_hint_at = NULL, gone_allowed = 0, folded = 0`;

/** What those columns hold, in their order. */
export function restValues({ state, dueAt, crowded }: Rest, lane: string) {
  return [state, dueAt, lane, state === 'settling' ? 1 : 0, crowded ? 1 : 0];
}

/** Writes what `restAfter` says; true when it will be read again. */
export function rest(context: Context, task: Row, ending: Ending, said: Said, lane: string): boolean {
  const atRest = restAfter(context, task, ending, said);
  const { dueAt } = atRest;
  const sql = `UPDATE tasks SET ${restColumns} WHERE id = ?`;
  context.database.run(sql, ...restValues(atRest, lane), task.id as number);
  if (dueAt !== null) context.lanes.expect(lane, dueAt);
  return dueAt !== null;
}

/** The read does not count: the task stays due, and is read again after the gap and `waitMs`. */
export function stayDue(context: Context, task: Row, code: string, waitMs = 0): void {
  const dueAt = afterGap(context, task, context.nowMs() + waitMs);
  context.database.run(
    `UPDATE tasks SET state = 'due', due_at = ?, code = ?, detail = NULL WHERE id = ?`,
    dueAt,
    code,
    task.id as number,
  );
  context.lanes.expect(String(task.lane), dueAt);
}

/** Sets the task aside for an operator; false when a later hint keeps it due instead. */
export function refuse(
  context: Context,
  task: Row,
  ending: Ending,
  reason: QuarantineReason,
  found: { path: string; detail: string | null; raw: string | null } = { path: '', detail: null, raw: null },
): boolean {
  const { path, detail, raw } = found;
  if (hintedSince(task, ending)) {
    stayDue(context, task, reason);
    return false;
  }
  // An absence is believed when two reads in a row found it; only that of many at once still stands here.
  context.database.run(
    `UPDATE tasks SET state = 'quarantined', due_at = NULL, settling = 0, code = ?, detail = ?, covered_hint_at = NULL,
       gone_allowed = 0, absent_since = iif(? = 'mass-disappearance', absent_since, NULL) WHERE id = ?`,
    reason,
    detail,
    reason,
    task.id as number,
  );
  insertEntry(context, {
    what: 'task',
    reason,
    path,
    detail,
    organizationId: (task.organization_id ?? task.hinted_organization_id) as string | null,
    address: String(task.address),
    taskId: Number(task.id),
    raw,
  });
  return true;
}

/** What a decided read said about the generations up to its own, or an operator instead of a read. */
export function noteRead(
  context: Context,
  { taskId, fence, generation }: Omit<Ending, 'revision'>,
  said: {
    outcome: string;
    reason: string | null;
    eventId: string | null;
    connectionId: string | null;
    switchedFrom: string | null;
    settles: boolean;
  },
): void {
  const { database } = context;
  const before = database.get(
    'SELECT generation, finality FROM reads WHERE task_id = ? ORDER BY fence DESC LIMIT 1',
    taskId,
  );
  const wasFinal = before?.generation === generation && before.finality !== finality.open;
  database.run(
    `INSERT INTO reads (task_id, fence, generation, outcome, reason, event_id, connection_id, at, finality, switched_from)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    taskId,
    fence,
    generation,
    said.outcome,
    said.reason,
    said.eventId,
    said.connectionId,
    context.nowMs(),
    wasFinal ? finality.late : said.settles ? finality.open : finality.final,
    said.switchedFrom,
  );
}
