/**
 * What the row of a task says, on either store: as what its resource was published, how its deletion is told, and the task
 * as whoever takes it or lists it sees it. Pure: where a store has no booleans, numbers stand for them.
 */
import { deletedValue, type EventDraft, type PublishedState } from '../model/event';
import type { TaskView } from '../model/inspection';
import { keyOf, type ResourceKind } from '../model/resource';
import type { FinishedGone, TakenTask } from '../model/task';
import type { EventToWrite } from './decided-events';
import { causeOf } from './read-fence';

/** By the names of its columns; which of them are there is up to the statement. */
type Row = Readonly<Record<string, unknown>>;

const textOf = (value: unknown) => value as string | null;
const numberOf = (value: unknown) => value as number | null;

/** null where it never was. */
export function publishedState(row: Row): PublishedState | null {
  if (!row.published) return null;
  return {
    contentHash: String(row.content_hash),
    wireHash: String(row.wire_hash),
    normalizerVersion: Number(row.normalizer_version),
    modifiedTime: textOf(row.modified_time),
    archived: Boolean(row.archived),
    deleted: Boolean(row.deleted),
  };
}

/** Whose it was as it is published, where the draft shows it to be another's; null where it did not move. */
export function movedFrom(
  row: Row,
  published: PublishedState | null,
  { organizationId }: Pick<EventDraft, 'organizationId'>,
): string | null {
  if (published === null || published.deleted || row.organization_id === organizationId) return null;
  return textOf(row.organization_id);
}

/** The deletion of its resource, which the row knows. */
export function deletionOf(
  task: Row,
  { taskId, fence, observedAt, traceparent }: FinishedGone,
): EventToWrite {
  const [organizationId, id] = [String(task.organization_id), String(task.resource_id)];
  const kind = task.kind as ResourceKind;
  const place = { address: String(task.address), mediaType: 'application/json', movedTo: null };
  return {
    kind,
    key: keyOf(organizationId, kind, id),
    change: 'deleted',
    contentHash: 'deleted',
    value: deletedValue({ id, organizationId, observedAt, ...place }),
    observedAt,
    traceparent,
    reconciled: Boolean(task.reconciled),
    taskId,
    acceptedAtMs: numberOf(task.covered_hint_at),
    cause: causeOf(taskId, fence),
  };
}

/** The row as it was taken; `take` is what the store made of it then. */
export function takenTask(
  row: Row,
  take: Pick<TakenTask, 'fence' | 'revision' | 'dueAtMs' | 'epoch' | 'takenAtMs'>,
): TakenTask {
  return {
    taskId: Number(row.id),
    ...take,
    generation: Number(row.generation),
    address: String(row.address),
    resource: row.kind === null ? null : { kind: row.kind as ResourceKind, id: String(row.resource_id) },
    organizationId: textOf(row.organization_id),
    hintedOrganizationId: textOf(row.hinted_organization_id),
    hintedUser: textOf(row.hinted_user),
    connectionId: textOf(row.connection_id),
    shownBy: textOf(row.shown_by),
    settling: Boolean(row.settling),
    attempts: Number(row.attempts),
    agedMs: Number(row.aged_ms),
    failedAtMs: numberOf(row.failed_at),
    code: textOf(row.code),
    absentSinceMs: numberOf(row.absent_since),
    acceptedAtMs: numberOf(row.covered_hint_at),
    traceparent: textOf(row.traceparent),
    deliveryId: row.delivery_id === null ? null : `d${row.delivery_id}`,
    reconciled: Boolean(row.reconciled),
  };
}

/** `shown` is its state, or that it is parked. */
export function taskView(row: Row): TaskView {
  return {
    id: Number(row.id),
    state: row.shown as TaskView['state'],
    address: String(row.address),
    organizationId: textOf(row.organization_id ?? row.hinted_organization_id),
    kind: textOf(row.kind),
    resourceId: textOf(row.resource_id),
    generation: Number(row.generation),
    attempts: Number(row.attempts),
    dueAt: row.due_at === null ? null : new Date(Number(row.due_at)).toISOString(),
    code: textOf(row.code),
    detail: textOf(row.detail),
  };
}
