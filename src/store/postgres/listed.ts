/**
 * What a page of a listing says of one resource. Only a resource at rest is finished from a page, and only by a page that
 * was asked for after its last accepted read; everything else is left to a read that begins after the page, since a change
 * token may tell of it only once. Such an event is marked as reconciled and traces to the run.
 */
import type { Change, EventDraft } from '../../model/event';
import type { ListedHint } from '../../model/sync';
import { eventsOf, leftBy } from '../decided-events';
import { isKnownSince, judgeListed, type ListedOutcome } from '../judge-listed';
import { noteReadable, publishedAs } from './finish';
import { afterGap, isSuperseded } from './return-task';
import type { Slate } from './slate';
import { newTask, type TaskRow } from './task-rows';

export interface Listed {
  run: number;
  listingId: number;
  revision: number;
  connectionId: string;
  /** The task at each address that is known. */
  atAddress: Map<string, TaskRow>;
  /** For tasks that are made. */
  newIds: number[];
}

/**
 * Makes a task at rest due, and one that waits since nothing was found there; what waits otherwise, or for an operator, goes
 * on waiting. A read that is under way may have begun before the page was asked for: it is superseded, so that another one
 * follows.
 */
function makeDue(slate: Slate, task: TaskRow, restsAs: 'done' | 'quarantined' = 'done'): void {
  if (task.state === 'taken') slate.change(task, { accepted_revision: null });
  const isSought = task.state === 'settling' && task.code === 'absent-once';
  if (task.state !== restsAs && !isSought) return;
  const dueAt = afterGap(slate, task, slate.context.nowMs());
  // What a notification announced goes on being read for it, also where it was set aside.
  const begun = task.state === 'done' ? { reconciled: true, traceparent: null } : {};
  slate.change(task, { state: 'due', due_at: dueAt, settling: isSought && task.settling, ...begun });
  slate.context.lanes.expect(task.lane, dueAt);
}

/** A page shows whole and well what was set aside: that earns one attempt, as a hint does. */
function tryAgain(slate: Slate, task: TaskRow, draft: EventDraft): void {
  const read = { draft, traceparent: null, reconciled: true };
  const isLarge = () => eventsOf(read, 'updated', [], slate.context.settings.envelope) === 'too-large';
  if (task.state !== 'quarantined' || isLarge()) return;
  makeDue(slate, task, 'quarantined');
  slate.close(task.id);
}

/** A page is an accepted read of what it shows. */
const accepted = { accepted_revision: null, absent_since: null };

export async function finishDraft(slate: Slate, listed: Listed, draft: EventDraft): Promise<ListedOutcome> {
  const task = slate.resource(draft.kind, draft.id);
  if (task === undefined) return finishNew(slate, listed, draft);
  noteListed(slate, listed, task);
  // The read then goes through who sees it there, and a refusal of it speaks of that organization, not of the one that it left.
  if (!isSuperseded(task, listed) && task.organization_id !== draft.organizationId)
    slate.change(task, { hinted_organization_id: draft.organizationId });
  const isAtRest = task.state === 'done';
  const outcome = isAtRest ? await finishAtRest(slate, listed, draft, task) : 'left';
  if (outcome === 'left') makeDue(slate, task);
  if (!isAtRest) tryAgain(slate, task, draft);
  return outcome;
}

/** What only a read could set aside for an operator is left to one. */
async function finishAtRest(
  slate: Slate,
  listed: Listed,
  draft: EventDraft,
  task: TaskRow,
): Promise<ListedOutcome> {
  const standsElsewhere = () => slate.placesOf(draft).length > 0;
  const judged = judgeListed(task, draft, { readSince: isSuperseded(task, listed), standsElsewhere });
  if (judged === 'unchanged' || judged === 'left') return judged;
  if (!decide(slate, listed, draft, judged.change, task.id)) return 'left';
  if (draft.address !== task.address) slate.keepAlias(draft.address, task.id);
  // Which connection reads it is a read's to change, which journals it.
  const connectionId = task.connection_id ?? listed.connectionId;
  slate.change(task, { ...publishedAs(draft), ...accepted, connection_id: connectionId });
  await noteReadable(slate, draft, listed.connectionId);
  return judged.change === null ? 'unchanged' : 'changed';
}

/** Not known by its id; a task that waits at its address will find out that it is this one. */
async function finishNew(slate: Slate, listed: Listed, draft: EventDraft): Promise<'changed' | 'left'> {
  const { address, organizationId } = draft;
  const provisional = listed.atAddress.get(address);
  if (provisional !== undefined) keepOwner(slate, provisional, organizationId);
  if (provisional !== undefined && (provisional.state !== 'done' || isSuperseded(provisional, listed))) {
    noteListed(slate, listed, provisional);
    // A read found nothing there since the page was asked for: only another one knows better.
    makeDue(slate, provisional);
    tryAgain(slate, provisional, draft);
    return 'left';
  }
  const task = newTask(listed.newIds.shift()!, address);
  if (!decide(slate, listed, draft, 'created', task.id)) {
    followHint(slate, listed, { address, organizationId, resource: null, modifiedTime: null });
    return 'left';
  }
  const { kind, id } = draft;
  const own = { kind, resource_id: id, connection_id: listed.connectionId };
  Object.assign(task, { ...publishedAs(draft), ...accepted, ...own });
  slate.add(task);
  noteListed(slate, listed, task);
  slate.keepAlias(address, task.id);
  await noteReadable(slate, draft, listed.connectionId);
  return 'changed';
}

/** Whose it is was only claimed, by a delivery whose user may not be able to read it: a listing knows, as a read does. */
function keepOwner(slate: Slate, task: TaskRow, organizationId: string): void {
  if (task.organization_id !== null) return;
  slate.change(task, {
    organization_id: organizationId,
    hinted_organization_id: organizationId,
    lane: organizationId,
  });
  if (task.due_at !== null) slate.context.lanes.expect(organizationId, task.due_at);
}

/** Absent is what the connections that saw it last do not find: where another has shown it, that begins anew. */
function noteListed(slate: Slate, { run, listingId, connectionId }: Listed, task: TaskRow): void {
  const absent_since = task.connection_id === connectionId ? task.absent_since : null;
  slate.change(task, { listed_run: run, listed_in: listingId, shown_by: connectionId, absent_since });
}

/** False when the record would be too large; then nothing was decided. */
function decide(
  slate: Slate,
  { run }: Listed,
  draft: EventDraft,
  change: Change | null,
  taskId: number,
): boolean {
  const read = { draft, traceparent: null, reconciled: true };
  const stood = change === 'created' ? slate.placesOf(draft) : [];
  const events = eventsOf(read, change, leftBy(draft, stood, null), slate.context.settings.envelope);
  if (events === 'too-large') return false;
  for (const organizationId of stood) slate.claim({ kind: draft.kind, id: draft.id, organizationId });
  for (const event of events) {
    slate.decide({ ...event, taskId, acceptedAtMs: null, cause: `sync ${run}` }, []);
  }
  return true;
}

/** A listing names a resource without showing all of it: it is read, unless it is known in this state. */
export function followHint(slate: Slate, listed: Listed, hint: ListedHint): void {
  const { resource, address, organizationId } = hint;
  const known =
    (resource === null ? undefined : slate.resource(resource.kind, resource.id)) ??
    listed.atAddress.get(address ?? '');
  if (known !== undefined) {
    noteListed(slate, listed, known);
    keepOwner(slate, known, organizationId);
    if (!isKnownSince(known, hint)) makeDue(slate, known);
    return;
  }
  if (address === null) return;
  const dueAt = slate.context.nowMs();
  const task = newTask(listed.newIds.shift()!, address);
  Object.assign(task, {
    lane: organizationId,
    hinted_organization_id: organizationId,
    state: 'due',
    due_at: dueAt,
    reconciled: true,
  });
  slate.add(task);
  noteListed(slate, listed, task);
  listed.atAddress.set(address, task);
  slate.keepAlias(address, task.id);
  slate.context.lanes.expect(organizationId, dueAt);
}
