/**
 * The other ways a taken task ends: put off, given back because its organization is blocked, found absent, gone, set
 * aside. Each is refused silently under an old fence: whoever holds the new one decides.
 */
import { deletedValue } from '../../model/event';
import { keyOf, type ResourceKind } from '../../model/resource';
import type {
  FinishedGone,
  FinishResult,
  FoundAbsent,
  GivenBack,
  Postponed,
  QuarantinedTask,
} from '../../model/task';
import type { Context } from './context';
import type { Row } from './database';
import { endTake, noteRead, refuse, rest, stayDue } from './finish';
import { holdForProbe } from './probes';
import { writeEvent } from './write-event';

/** Of the organization's resources, at least so many may go at once before it is not believed. */
const goneAtOnceMin = 20;
const goneWindowMs = 3_600_000;

export function postpone(context: Context, ending: Postponed): void {
  const task = endTake(context, ending);
  if (task === null) return;
  const nowMs = context.nowMs();
  const failedAt = task.failed_at === null ? nowMs : Number(task.failed_at);
  const dueAt = nowMs + Math.max(ending.dueInMs, 0);
  context.database.run(
    `UPDATE tasks SET state = 'postponed', due_at = ?, attempts = attempts + 1, aged_ms = aged_ms + ?, failed_at = ?,
       own = ?, code = ?, detail = ? WHERE id = ?`,
    dueAt,
    ending.own ? Math.max(0, nowMs - failedAt) : 0,
    nowMs,
    ending.own ? 1 : 0,
    ending.code,
    ending.detail,
    ending.taskId,
  );
  context.lanes.expect(String(task.lane), dueAt);
}

export function giveBack(context: Context, ending: GivenBack): void {
  const task = endTake(context, ending);
  if (task === null) return;
  const nowMs = context.nowMs();
  const lane = ending.probe?.organizationId ?? String(task.lane);
  const dueAt = ending.probe === null ? nowMs + ending.dueInMs : nowMs;
  context.database.run(
    `UPDATE tasks SET state = ?, due_at = ?, lane = ?, organization_id = coalesce(organization_id, ?), code = ?
     WHERE id = ?`,
    ending.probe === null ? 'postponed' : 'due',
    dueAt,
    lane,
    ending.probe?.organizationId ?? null,
    ending.code,
    ending.taskId,
  );
  if (ending.probe !== null) holdForProbe(context, ending.probe);
  context.lanes.expect(lane, dueAt);
}

export function foundAbsent(context: Context, ending: FoundAbsent): void {
  const task = endTake(context, ending);
  if (task === null) return;
  if (Number(task.generation) > ending.generation) {
    stayDue(context, task, 'absent-once');
    return;
  }
  const nowMs = context.nowMs();
  const dueAt = nowMs + ending.againInMs;
  context.database.run(
    `UPDATE tasks SET state = 'postponed', due_at = ?, own = 1, absent_since = coalesce(absent_since, ?),
       code = 'absent-once' WHERE id = ?`,
    dueAt,
    nowMs,
    ending.taskId,
  );
  context.lanes.expect(String(task.lane), dueAt);
}

export function finishGone(context: Context, ending: FinishedGone): FinishResult {
  const task = endTake(context, ending);
  if (task === null) return { outcome: 'refused', reason: 'fenced' };
  if (Number(task.accepted_revision) > ending.revision) {
    stayDue(context, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  const present = task.published === 1 && task.deleted !== 1;
  if (present && tooManyGone(context, task, ending.goneShareMax)) {
    refuse(context, task, 'mass-disappearance');
    return { outcome: 'refused', reason: 'mass-disappearance' };
  }
  const eventIds = present ? [writeDeleted(context, task, ending)] : [];
  context.database.run(
    'UPDATE tasks SET accepted_revision = ?, deleted = ?, absent_since = NULL WHERE id = ?',
    context.nextRevision(),
    present ? 1 : Number(task.deleted),
    ending.taskId,
  );
  noteRead(context, ending, ending.taskId, ending.generation, 'gone', null, eventIds[0] ?? null, null);
  const again = rest(context, task, ending, 0, String(task.lane));
  return { outcome: 'gone', eventIds, again };
}

function writeDeleted(context: Context, task: Row, ending: FinishedGone): string {
  const organizationId = String(task.organization_id);
  const id = String(task.resource_id);
  const kind = task.kind as ResourceKind;
  return writeEvent(context, {
    kind,
    key: keyOf(organizationId, kind, id),
    change: 'deleted',
    contentHash: 'deleted',
    value: deletedValue({
      id,
      organizationId,
      observedAt: ending.observedAt,
      address: String(task.address),
      mediaType: 'application/json',
      movedTo: null,
    }),
    observedAt: ending.observedAt,
    traceparent: ending.traceparent,
    reconciled: task.reconciled === 1,
    taskId: ending.taskId,
    acceptedAtMs: task.covered_hint_at as number | null,
    cause: `read ${ending.taskId}/${ending.fence}`,
  }).eventId;
}

/** Many resources of one organization that vanish within an hour are a fault until an operator says otherwise. */
function tooManyGone(context: Context, task: Row, shareMax: number): boolean {
  const organization = context.organizations.get(String(task.organization_id));
  if (organization === undefined) return false;
  const nowMs = context.nowMs();
  const before = organization.goneAtMs;
  organization.goneAtMs = [...before.filter((atMs) => atMs > nowMs - goneWindowMs), nowMs];
  context.undo(() => {
    organization.goneAtMs = before;
  });
  if (organization.goneAtMs.length <= goneAtOnceMin) return false;
  const total = Number(
    context.database.get(
      'SELECT count(*) AS total FROM tasks WHERE organization_id = ? AND published = 1',
      organization.id,
    )!.total,
  );
  return organization.goneAtMs.length > total * shareMax;
}

export function quarantineTask(context: Context, ending: QuarantinedTask): void {
  const task = endTake(context, ending);
  if (task === null) return;
  refuse(context, task, ending.reason, ending.path, ending.detail);
}
