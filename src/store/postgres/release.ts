/**
 * What an operator orders about a quarantined thing: try it once more, or give it up, on record. Nothing leaves
 * quarantine by being forgotten, and every notification stays in exactly one line of the ledger. A task is locked before
 * its entry, as by whoever sets it aside or hints it; of two orders for one entry the second finds nothing.
 */
import type { Element } from '../../model/notification';
import { freeAtMs } from '../free-at';
import { unpublishedOf } from '../store-rules';
import { hintProbes } from './ask-probes';
import type { Context } from './context';
import { listWhole } from './list-whole';
import { markHints } from './mark-hints';
import { insertReads } from './note-read';
import { ensureOrganizations } from './organization-rows';
import { entryIdOf } from './quarantine';

type Released = 'released' | 'not-found' | 'refused';

/**
 * A released task is read afresh, and so is the resource of a released record, which itself is sent only while it is the
 * newest of its key. Notifications are judged again elsewhere.
 */
export async function releaseQuarantine(context: Context, id: string): Promise<Released> {
  const entryId = entryIdOf(id) ?? -1;
  const entry = await context.database.get(
    `SELECT reason, task_id, outbox_id FROM quarantine WHERE id = $1 AND state = 'waiting'`,
    entryId,
  );
  if (entry === undefined) return 'not-found';
  if (entry.task_id !== null) return releaseTask(context, entryId, entry.task_id, entry.reason);
  if (entry.outbox_id !== null) return releaseRecord(context, entryId, entry.outbox_id);
  return 'refused';
}

/** False when somebody else closed it meanwhile. */
async function close(context: Context, entryId: number, state: 'released' | 'discarded'): Promise<boolean> {
  const closed = await context.database.run(
    `UPDATE quarantine SET state = $2 WHERE id = $1 AND state = 'waiting'`,
    entryId,
    state,
  );
  return closed === 1;
}

async function lockTask(context: Context, taskId: number): Promise<void> {
  await context.database.get('SELECT id FROM tasks WHERE id = $1 FOR NO KEY UPDATE', taskId);
}

/** Of many that went at once, those released may go: the operator has said so. */
async function releaseTask(
  context: Context,
  entryId: number,
  taskId: number,
  reason: string,
): Promise<Released> {
  await lockTask(context, taskId);
  if (!(await close(context, entryId, 'released'))) return 'not-found';
  const nowMs = context.nowMs();
  const task = await context.database.get(
    `UPDATE tasks SET state = 'due', due_at = $2, attempts = 0, aged_ms = 0, failed_at = NULL, gone_allowed = $3
     WHERE id = $1 AND state = 'quarantined' RETURNING lane`,
    taskId,
    nowMs,
    reason === 'mass-disappearance',
  );
  if (task !== undefined) context.lanes.expect(task.lane, nowMs);
  return 'released';
}

/** Its key is locked before it is compared: nobody decides a newer one meanwhile. */
async function releaseRecord(context: Context, entryId: number, outboxId: number): Promise<Released> {
  const { database } = context;
  const record = (await database.get('SELECT key, task_id FROM outbox WHERE id = $1', outboxId))!;
  const task = await database.get(
    `SELECT t.id, t.state, t.lane, t.read_at FROM tasks p JOIN tasks t ON t.id = coalesce(p.joined_to, p.id)
     WHERE p.id = $1 FOR NO KEY UPDATE OF t`,
    record.task_id ?? -1,
  );
  const newest = await database.get(
    'SELECT sequence FROM sequences WHERE key = $1 FOR NO KEY UPDATE',
    record.key,
  );
  if (!(await close(context, entryId, 'released'))) return 'not-found';
  const unsent = await database.run(
    'UPDATE outbox SET state = 0 WHERE id = $1 AND state = 3 AND sequence = $2',
    outboxId,
    newest!.sequence,
  );
  // It is the newest of its key once more.
  if (unsent > 0)
    await database.run(
      'UPDATE sequences SET refused = sequence - 1 WHERE key = $1 AND refused = sequence',
      record.key,
    );
  if (task === undefined || (task.state !== 'done' && task.state !== 'settling')) return 'released';
  const nowMs = context.nowMs();
  const dueAt = Math.max(nowMs, freeAtMs(task.read_at, nowMs, context.settings.readGapMs));
  await database.run(`UPDATE tasks SET state = 'due', due_at = $2 WHERE id = $1`, task.id, dueAt);
  context.lanes.expect(task.lane, dueAt);
  return 'released';
}

/**
 * A quarantined notification whose kept bytes were judged again: it counts as what it is now. What is still bad stays,
 * and what was not authenticated is never released.
 */
export async function rejudge(context: Context, id: string, element: Element): Promise<Released> {
  const { database } = context;
  const entryId = entryIdOf(id) ?? -1;
  const entry = await database.get(
    `SELECT reason, element, delivery_id FROM quarantine
     WHERE id = $1 AND state = 'waiting' AND what = 'notification'`,
    entryId,
  );
  if (entry === undefined) return 'not-found';
  if (entry.reason === 'unauthenticated' || element.line === 'quarantined') return 'refused';
  const delivery = await database.get(
    'SELECT id, received_at, traceparent, elements FROM deliveries WHERE id = $1 FOR NO KEY UPDATE',
    entry.delivery_id,
  );
  if (delivery === undefined || !(await close(context, entryId, 'released'))) return 'not-found';
  const elements = JSON.parse(delivery.elements) as unknown[];
  elements[entry.element] = element;
  await database.run(
    `UPDATE deliveries SET quarantined = quarantined - 1, acted = acted + $2, ignored = ignored + $3, elements = $4
     WHERE id = $1`,
    delivery.id,
    element.line === 'acted' ? 1 : 0,
    element.line === 'ignored' ? 1 : 0,
    JSON.stringify(elements),
  );
  if (element.line === 'acted' && element.probeOrganizationId !== null) {
    await hintProbes(
      context,
      [{ organizationId: element.probeOrganizationId, dueAt: element.dueAt }],
      'notification',
    );
  } else if (element.line === 'hint') {
    await ensureOrganizations(context, element.organizationId === null ? [] : [element.organizationId]);
    const { id: deliveryId, received_at: receivedAtMs, traceparent } = delivery;
    await markHints(context, [
      { deliveryId, element: entry.element, receivedAtMs, traceparent, hint: element },
    ]);
  }
  return 'released';
}

export async function discardQuarantine(context: Context, id: string): Promise<'discarded' | 'not-found'> {
  const { database } = context;
  const entryId = entryIdOf(id) ?? -1;
  const entry = await database.get('SELECT task_id, outbox_id FROM quarantine WHERE id = $1', entryId);
  if (entry === undefined) return 'not-found';
  if (entry.task_id !== null) await lockTask(context, entry.task_id);
  if (!(await close(context, entryId, 'discarded'))) return 'not-found';
  if (entry.outbox_id !== null) await publishLater(context, entry.outbox_id);
  if (entry.task_id === null) return 'discarded';
  const given = await database.get(
    `UPDATE tasks SET state = 'done', fence = fence + 1, folded = 0 WHERE id = $1 AND state = 'quarantined'
     RETURNING id, fence, generation`,
    entry.task_id,
  );
  if (given === undefined) return 'discarded';
  const { id: taskId, fence, generation } = given;
  const said = { outcome: 'discarded', reason: null, eventIds: [], connectionId: null, switchedFrom: null };
  await insertReads(context, [{ taskId, fence, generation, ...said, settles: false }]);
  return 'discarded';
}

/**
 * What was given up is on no topic: the next read of its resource publishes it anew, a deletion as well, and the next sync
 * lists it.
 */
async function publishLater(context: Context, outboxId: number): Promise<void> {
  const task = await context.database.get(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = false
     WHERE published AND id = (${unpublishedOf('$1')}) RETURNING organization_id`,
    outboxId,
  );
  if (task !== undefined) await listWhole(context, [task.organization_id]);
}
