/**
 * What an operator orders about a quarantined thing: try it once more, or give it up, on record. Nothing leaves
 * quarantine by being forgotten, and every notification stays in exactly one line of the ledger.
 */
import type { Delivery, Element } from '../../model/notification';
import { partsOf } from '../../model/resource';
import { entryIdOf } from '../quarantine-view';
import { releasedState, unpublishedOf } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';
import { hint } from './inbox';
import { listWhole } from './list-whole';
import { tellAccess } from './observe';
import { noteAccepted } from './outbox';
import { hintProbe } from './probes';
import { kindOfRow, readTask } from './read-task';
import { afterGap, noteRead } from './return-task';
import { keepUnclaimed } from './unclaimed';

/**
 * A released task is read afresh, and so is the resource of a released record, which itself is sent only while it is the
 * newest of its key and no other life of the store can have had its number. Notifications are judged again elsewhere.
 */
export function releaseQuarantine(context: Context, id: string): 'released' | 'not-found' | 'refused' {
  const { database } = context;
  const row = database.get(
    `SELECT * FROM quarantine WHERE id = ? AND state = 'waiting'`,
    entryIdOf(id) ?? -1,
  );
  if (row === undefined) return 'not-found';
  if (row.task_id !== null) releaseTask(context, Number(row.task_id), String(row.reason));
  else if (row.outbox_id !== null) releaseRecord(context, Number(row.outbox_id));
  else return 'refused';
  database.run(`UPDATE quarantine SET state = 'released' WHERE id = ?`, row.id as number);
  return 'released';
}

/** Of many that went at once, those released may go: the operator has said so. */
function releaseTask(context: Context, taskId: number, reason: string): void {
  const nowMs = context.nowMs();
  const task = context.database.get(
    `UPDATE tasks SET state = 'due', due_at = ?, attempts = 0, aged_ms = 0, failed_at = NULL, gone_allowed = ?
     WHERE id = ? AND state = 'quarantined' RETURNING lane`,
    nowMs,
    reason === 'mass-disappearance' ? 1 : 0,
    taskId,
  );
  if (task !== undefined) context.lanes.expect(String(task.lane), nowMs);
}

/**
 * What was announced to this connection's user while nobody could read for that user, and nobody else is known to see it, and
 * what nobody else can say is gone: now that what the user sees was listed, it is read.
 */
export function releaseUnread(context: Context, connectionId: string): void {
  const { database } = context;
  const unread = database.all(
    `SELECT q.id, q.task_id, q.reason FROM quarantine q JOIN tasks t ON t.id = q.task_id
     JOIN connections c ON c.id = ? AND c.status = 'valid'
     WHERE q.state = 'waiting' AND q.reason = 'no-connection' AND CASE WHEN t.organization_id IS NULL
       THEN t.hinted_user IN (c.user, c.id)
       ELSE c.id IN (t.connection_id, t.shown_by) AND EXISTS (SELECT 1 FROM sights s
         WHERE s.connection_id = c.id AND s.organization_id = t.organization_id) END ORDER BY q.id`,
    connectionId,
  );
  for (const { id, task_id, reason } of unread) {
    releaseTask(context, Number(task_id), String(reason));
    database.run(`UPDATE quarantine SET state = 'released' WHERE id = ?`, Number(id));
  }
}

function releaseRecord(context: Context, outboxId: number): void {
  const { database } = context;
  const record = database.get(
    `UPDATE outbox SET state = iif(sequence = (SELECT s.sequence FROM sequences s WHERE s.key = outbox.key),
       ${releasedState('outbox', kindOfRow('outbox'))}, state)
     WHERE id = ? AND state = 3 RETURNING key, sequence, state`,
    outboxId,
  );
  if (record === undefined) return;
  // It is the newest of its key once more.
  if (record.state === 0) noteAccepted(context, String(record.key), Number(record.sequence));
  if (record.state === 4) tellAbove(context, outboxId, record.key as string);
  const task = database.get(
    `SELECT t.* FROM outbox o JOIN tasks t ON t.id = ${readTask} WHERE o.id = ? AND t.state IN ('done', 'settling')`,
    outboxId,
  );
  if (task === undefined) return;
  const dueAt = afterGap(context, task, context.nowMs());
  database.run(`UPDATE tasks SET state = 'due', due_at = ? WHERE id = ?`, dueAt, task.id as number);
  context.lanes.expect(String(task.lane), dueAt);
}

/**
 * A quarantined notification whose kept bytes were judged again: it counts as what it is now. What is still bad stays,
 * and what was not authenticated is never released.
 */
export function rejudge(
  context: Context,
  id: string,
  element: Element,
): 'released' | 'not-found' | 'refused' {
  const { database } = context;
  const row = database.get(
    `SELECT q.id, q.reason, q.element, d.id AS delivery_id, d.received_at, d.traceparent
     FROM quarantine q LEFT JOIN deliveries d ON d.id = q.delivery_id
     WHERE q.id = ? AND q.state = 'waiting' AND q.what = 'notification'`,
    entryIdOf(id) ?? -1,
  );
  if (row === undefined || row.delivery_id === null) return 'not-found';
  if (row.reason === 'unauthenticated' || element.line === 'quarantined') return 'refused';
  const deliveryId = Number(row.delivery_id);
  const index = Number(row.element);
  database.run(
    `UPDATE deliveries SET quarantined = quarantined - 1, acted = acted + ?, ignored = ignored + ?,
       elements = json_set(elements, ?, json(?)) WHERE id = ?`,
    element.line === 'acted' ? 1 : 0,
    element.line === 'ignored' ? 1 : 0,
    `$[${index}]`,
    JSON.stringify(element),
    deliveryId,
  );
  database.run(`UPDATE quarantine SET state = 'released' WHERE id = ?`, row.id as number);
  if (element.line === 'hint') hint(context, deliveryOf(row), deliveryId, index, element);
  if (element.line === 'acted' && element.probeOrganizationId !== null) {
    hintProbe(context, element.probeOrganizationId, element.dueAt, 'notification');
  }
  return 'released';
}

function deliveryOf(row: Row): Pick<Delivery, 'receivedAtMs' | 'traceparent'> {
  return { receivedAtMs: Number(row.received_at), traceparent: row.traceparent as string | null };
}

export function discardQuarantine(context: Context, id: string): 'discarded' | 'not-found' {
  const { database } = context;
  const row = database.get(
    `UPDATE quarantine SET state = 'discarded' WHERE id = ? AND state = 'waiting' RETURNING task_id, outbox_id`,
    entryIdOf(id) ?? -1,
  );
  if (row === undefined) return 'not-found';
  if (row.outbox_id !== null) publishLater(context, Number(row.outbox_id));
  const taskId = row.task_id ?? null;
  if (taskId !== null) {
    const task = database.get(
      `UPDATE tasks SET state = 'done', fence = fence + 1, folded = 0 WHERE id = ? AND state = 'quarantined'
       RETURNING fence, generation`,
      taskId,
    );
    if (task !== undefined) {
      const { fence, generation } = task as { fence: number; generation: number };
      const said = {
        outcome: 'discarded',
        reason: null,
        eventId: null,
        connectionId: null,
        switchedFrom: null,
      };
      noteRead(context, { taskId: Number(taskId), fence, generation }, { ...said, settles: false });
    }
  }
  return 'discarded';
}

/** Another life of the store may have given its number. */
function tellAbove(context: Context, outboxId: number, key: string): void {
  const { kind, organizationId } = partsOf(key);
  if (kind === 'organization-access') tellAccess(context, organizationId);
  publishLater(context, outboxId);
}

/**
 * What does not go out is on no topic: the next read of its resource publishes it anew, a deletion as well, that of what moved on
 * included, and the next sync lists it.
 */
function publishLater(context: Context, outboxId: number): void {
  const task = context.database.get(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = 0
     WHERE published = 1 AND id = (${unpublishedOf('?', readTask)}) RETURNING organization_id`,
    outboxId,
  );
  if (task !== undefined) listWhole(context, [String(task.organization_id)]);
  const keys = context.database.all(unpublishedOf('?', 'o.key AS key'), outboxId);
  keepUnclaimed(
    context,
    keys.map(({ key }) => String(key)),
  );
}
