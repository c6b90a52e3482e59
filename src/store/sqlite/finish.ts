/**
 * How a taken task ends. One transaction, fenced by the take and by the resource's accepted revision, decides whether
 * a read is news, gives the next sequence of its key and writes the event's exact bytes. An ending with an old fence
 * changes nothing. A higher generation never refuses a finish: it keeps the task due.
 */
import type { Change, EventDraft, EventRecord } from '../../model/event';
import { changeOf, completeRecord, deletedValue, recordBytes } from '../../model/event';
import { keyOf } from '../../model/resource';
import type { FinishedRead, FinishResult } from '../../model/task';
import type { Context } from './context';
import type { Row } from './database';
import { joinTask } from './join';
import { endLease } from './leases';
import { insertQuarantine } from './quarantine';
import { writeEvent } from './write-event';

export interface Ending {
  taskId: number;
  fence: number;
  generation: number;
  revision: number;
}

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

export function finish(context: Context, read: FinishedRead): FinishResult {
  const task = endTake(context, read);
  if (task === null) return { outcome: 'refused', reason: 'fenced' };
  const { draft } = read;
  const resource = resourceRow(context, task, draft);
  const joined = resource.id !== task.id;
  if (Number(resource.accepted_revision) > read.revision) {
    stayDue(context, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  const previous = publishedState(resource);
  const moved =
    previous !== null && !previous.deleted && resource.organization_id !== draft.organizationId
      ? String(resource.organization_id)
      : null;
  const decision = changeOf(moved === null ? previous : { ...previous!, deleted: true }, draft);
  if (decision.reason === 'older-normalizer') {
    stayDue(context, task, 'older-normalizer');
    return { outcome: 'refused', reason: 'older-normalizer' };
  }
  const records = decideRecords(context, read, decision.change, moved, task);
  if (records === 'too-large') {
    refuse(context, task, 'record-too-large');
    return { outcome: 'refused', reason: 'record-too-large' };
  }
  if (draft.address !== task.address) keepAlias(context, draft.address, Number(resource.id));
  const outcome = decision.change === null ? 'unchanged' : 'published';
  const eventIds = records.map((record) => record.eventId);
  const last = eventIds.at(-1) ?? null;
  noteRead(
    context,
    read,
    Number(task.id),
    read.generation,
    outcome,
    decision.reason,
    last,
    read.connectionId,
  );
  const again = accept(context, read, task, resource, decision);
  if (joined) joinTask(context, task, Number(resource.id), read);
  context.lanes.widen(String(task.lane));
  return outcome === 'published' ? { outcome, eventIds, again } : { outcome, reason: decision.reason, again };
}

/** The row that holds the resource: this task's own, or that of the task which another address of it made. */
function resourceRow(context: Context, task: Row, draft: EventDraft): Row {
  if (task.kind === draft.kind && task.resource_id === draft.id) return task;
  const known = context.database.get(
    'SELECT * FROM tasks WHERE kind = ? AND resource_id = ?',
    draft.kind,
    draft.id,
  );
  return known ?? task;
}

export function publishedState(row: Row) {
  if (row.published !== 1) return null;
  return {
    contentHash: String(row.content_hash),
    wireHash: String(row.wire_hash),
    normalizerVersion: Number(row.normalizer_version),
    modifiedTime: row.modified_time as string | null,
    archived: row.archived === 1,
    deleted: row.deleted === 1,
  };
}

/** Writes the events of one decision to the outbox; nothing when there is no change. */
function decideRecords(
  context: Context,
  read: FinishedRead,
  change: Change | null,
  movedFrom: string | null,
  task: Row,
): EventRecord[] | 'too-large' {
  if (change === null) return [];
  const { draft } = read;
  const parts = { traceparent: read.traceparent, reconciled: read.reconciled, observedAt: draft.observedAt };
  const key = keyOf(draft.organizationId, draft.kind, draft.id);
  const fits = completeRecord(
    {
      ...parts,
      kind: draft.kind,
      key,
      sequence: 0,
      change,
      contentHash: draft.contentHash,
      value: draft.value,
    },
    context.settings.envelope,
  );
  if (recordBytes(fits) > context.settings.envelope.recordBytesMax) return 'too-large';
  const records: EventRecord[] = [];
  const write = (organizationId: string, what: Change, value: string): void => {
    records.push(
      writeEvent(context, {
        kind: draft.kind,
        key: keyOf(organizationId, draft.kind, draft.id),
        change: what,
        contentHash: what === 'deleted' ? 'deleted' : draft.contentHash,
        value,
        ...parts,
        taskId: Number(task.id),
        acceptedAtMs: task.covered_hint_at as number | null,
        cause: `read ${task.id}/${read.fence}`,
      }),
    );
  };
  if (movedFrom !== null) {
    const { id, observedAt, address, mediaType } = draft;
    const movedTo = draft.organizationId;
    write(
      movedFrom,
      'deleted',
      deletedValue({ id, organizationId: movedFrom, observedAt, address, mediaType, movedTo }),
    );
  }
  write(draft.organizationId, change, draft.value);
  return records;
}

/** Writes what this read found as the resource's accepted state, and when the task is due again. */
function accept(
  context: Context,
  read: FinishedRead,
  task: Row,
  resource: Row,
  decision: { change: Change | null; reason: string },
): boolean {
  const { draft } = read;
  const { database } = context;
  const revision = context.nextRevision();
  const older = decision.reason === 'older-than-published';
  const joined = resource.id !== task.id;
  noteReadable(context, draft.organizationId);
  database.run(
    `UPDATE tasks SET accepted_revision = ?, published = 1, deleted = 0, kind = ?, resource_id = ?,
       organization_id = ?, lane = iif(state = 'taken', ?, lane), connection_id = ?,
       archived = iif(?, archived, ?), content_hash = iif(?, content_hash, ?), wire_hash = iif(?, wire_hash, ?),
       normalizer_version = ?, modified_time = iif(?, modified_time, ?), address = ?, absent_since = NULL
     WHERE id = ?`,
    revision,
    draft.kind,
    draft.id,
    draft.organizationId,
    draft.organizationId,
    read.connectionId,
    older ? 1 : 0,
    draft.archived ? 1 : 0,
    older ? 1 : 0,
    draft.contentHash,
    older ? 1 : 0,
    draft.wireHash,
    draft.normalizerVersion,
    older ? 1 : 0,
    draft.modifiedTime,
    draft.address,
    resource.id as number,
  );
  const uncertain = decision.change === null || draft.modifiedTime === null;
  return joined ? false : rest(context, task, read, uncertain ? read.settleMs : 0, draft.organizationId);
}

/** The organization was read: its first time is kept. */
function noteReadable(context: Context, organizationId: string): void {
  const organization = context.organizations.ensure(organizationId, context.database, context.undo);
  if (organization.wasRead) return;
  organization.wasRead = true;
  context.undo(() => {
    organization.wasRead = false;
  });
  context.database.run('UPDATE organizations SET was_read = 1 WHERE id = ?', organizationId);
}

/**
 * The task after a decided read: due again when it was hinted meanwhile; otherwise settling when the provider's read
 * model may have lagged, once; otherwise done. True when it will be read again.
 */
export function rest(context: Context, task: Row, ending: Ending, settleMs: number, lane: string): boolean {
  const nowMs = context.nowMs();
  const hintedSince = Number(task.generation) > ending.generation;
  const settles = !hintedSince && settleMs > 0 && task.settling !== 1;
  const dueAt = hintedSince
    ? Math.max(nowMs, Number(task.read_at) + context.settings.readGapMs)
    : settles
      ? nowMs + settleMs
      : null;
  context.database.run(
    `UPDATE tasks SET state = ?, due_at = ?, lane = ?, settling = ?, attempts = 0, aged_ms = 0, failed_at = NULL,
       own = 0, code = NULL, detail = NULL, covered_hint_at = NULL WHERE id = ?`,
    hintedSince ? 'due' : settles ? 'settling' : 'done',
    dueAt,
    lane,
    settles ? 1 : 0,
    task.id as number,
  );
  if (dueAt !== null) context.lanes.expect(lane, dueAt);
  return dueAt !== null;
}

/** The read does not count: the task stays due, and is read again after the gap. */
export function stayDue(context: Context, task: Row, code: string): void {
  const dueAt = Math.max(context.nowMs(), Number(task.read_at) + context.settings.readGapMs);
  context.database.run(
    `UPDATE tasks SET state = 'due', due_at = ?, code = ? WHERE id = ?`,
    dueAt,
    code,
    task.id as number,
  );
  context.lanes.expect(String(task.lane), dueAt);
}

/** What a decided read said about the generations up to its own. */
export function noteRead(
  context: Context,
  ending: Ending,
  taskId: number,
  generation: number,
  outcome: string,
  reason: string | null,
  eventId: string | null,
  connectionId: string | null,
): void {
  context.database.run(
    `INSERT INTO reads (task_id, fence, generation, outcome, reason, event_id, connection_id, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    taskId,
    ending.fence,
    generation,
    outcome,
    reason,
    eventId,
    connectionId,
    context.nowMs(),
  );
}

function keepAlias(context: Context, address: string, taskId: number): void {
  context.database.run(
    'INSERT INTO aliases (address, task_id) VALUES (?, ?) ON CONFLICT (address) DO NOTHING',
    address,
    taskId,
  );
}

/** Sets the task aside for an operator. */
export function refuse(
  context: Context,
  task: Row,
  reason: Parameters<typeof insertQuarantine>[1]['reason'],
  path = '',
  detail: string | null = null,
): void {
  context.database.run(
    `UPDATE tasks SET state = 'quarantined', due_at = NULL, settling = 0, code = ?, detail = ?, covered_hint_at = NULL
     WHERE id = ?`,
    reason,
    detail,
    task.id as number,
  );
  insertQuarantine(context, {
    what: 'task',
    reason,
    path,
    detail,
    organizationId: (task.organization_id ?? task.hinted_organization_id) as string | null,
    address: String(task.address),
    taskId: Number(task.id),
  });
}
