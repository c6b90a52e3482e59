/**
 * How a read that succeeded ends. Fenced by the take and by the resource's accepted revision, it is news or not; its
 * events are decided here and get their sequences when the group is written. A higher generation never refuses a finish:
 * it keeps the task due.
 */
import { changeOf, type EventDraft, type PublishedState } from '../../model/event';
import type { FinishedRead, FinishResult } from '../../model/task';
import { settles } from '../at-rest';
import { eventsOf, leftBy } from '../decided-events';
import { mayLag } from '../may-lag';
import { causeOf } from '../read-fence';
import { leftToNewerMs } from '../store-rules';
import { switchedFrom } from '../switch-step';
import { movedFrom, publishedState } from '../task-row';
import { joinTask, leavingJoined } from './join';
import { endTake, isSuperseded, refuse, rest, stayDue } from './return-task';
import type { Slate } from './slate';
import type { TaskRow } from './task-rows';

export async function finish(slate: Slate, read: FinishedRead): Promise<FinishResult> {
  const task = endTake(slate, read);
  if (task === null) return { outcome: 'refused', reason: 'fenced' };
  const { draft } = read;
  const resource = resourceRow(slate, task, draft);
  if (resource === null) {
    const detail = `its address shows ${draft.kind} ${draft.id}`;
    return refuse(slate, task, read, 'malformed-document', { path: '/id', detail, raw: null })
      ? { outcome: 'refused', reason: 'another-resource' }
      : { outcome: 'refused', reason: 'hinted-since' };
  }
  if (isSuperseded(resource, read)) {
    stayDue(slate, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  const stood = slate.placesOf(draft);
  const previous = publishedUnder(resource, stood);
  const moved = movedFrom(resource, previous, draft);
  const decision = changeOf(previous, draft, moved !== null);
  if (decision.reason === 'older-normalizer') {
    leaveToNewer(slate, task, resource);
    return { outcome: 'refused', reason: 'older-normalizer' };
  }
  const left = leftBy(draft, stood, moved);
  const events = eventsOf(read, decision.change, left, slate.context.settings.envelope);
  if (events === 'too-large') {
    const refused = refuse(slate, task, read, 'record-too-large');
    return { outcome: 'refused', reason: refused ? 'record-too-large' : 'hinted-since' };
  }
  if (decision.change !== null)
    for (const organizationId of stood) slate.claim({ kind: draft.kind, id: draft.id, organizationId });
  const eventIds: string[] = [];
  const cause = causeOf(task.id, read.fence);
  for (const event of events) {
    slate.decide({ ...event, taskId: task.id, acceptedAtMs: task.covered_hint_at, cause }, eventIds);
  }
  const settleMs = mayLag(decision.change, previous, draft, task.crowded) ? read.settleMs : 0;
  const again = await settle(slate, { read, task, resource, eventIds, settleMs }, decision);
  return decision.change === null
    ? { outcome: 'unchanged', reason: decision.reason, again }
    : { outcome: 'published', eventIds, again };
}

/**
 * Where it stands elsewhere by the topics it is published anew, and leaves there. Who noted that has had it forgotten as published,
 * but for what was published first while that page was noted, of which neither knew.
 */
function publishedUnder(resource: TaskRow, stood: string[]): PublishedState | null {
  const published = publishedState(resource);
  return published === null || stood.length === 0
    ? published
    : { ...published, contentHash: '', wireHash: '' };
}

/** A task that only this read showed to be the resource's is the newer version's from now on, as that one is. */
function leaveToNewer(slate: Slate, task: TaskRow, { normalizer_version }: TaskRow): void {
  if (task.kind === null) slate.change(task, { normalizer_version });
  stayDue(slate, task, 'older-normalizer', leftToNewerMs);
  slate.context.news.add('work');
}

interface Found {
  read: FinishedRead;
  task: TaskRow;
  resource: TaskRow;
  eventIds: string[];
  /** After how long the provider is asked once more; 0: not for this. */
  settleMs: number;
}

/** Writes what the read found, and what becomes of its task. True when it will be read again. */
async function settle(
  slate: Slate,
  { read, task, resource, eventIds, settleMs }: Found,
  { change, reason }: { change: string | null; reason: string },
): Promise<boolean> {
  const { draft, connectionId } = read;
  const takenFrom = task.lane;
  if (draft.address !== task.address) slate.keepAlias(draft.address, resource.id);
  const { taskId, fence, generation } = read;
  const outcome = change === null ? 'unchanged' : 'published';
  const said = {
    outcome,
    reason,
    eventIds,
    connectionId,
    switchedFrom: switchedFrom(resource, connectionId),
  };
  slate.note({ taskId, fence, generation, ...said, settles: settles(task, read, settleMs) });
  const older = reason === 'older-than-published';
  await accept(slate, read, resource, older);
  const passedOn = resource !== task && (await joinTask(slate, task, resource, read));
  // Its hints are the resource's from now on, of which nothing else would know that one is still to be found.
  if (resource !== task && settles(task, read, settleMs)) slate.change(resource, { crowded: true });
  const lane = older ? (resource.organization_id ?? task.lane) : draft.organizationId;
  const again = passedOn || rest(slate, task, read, { settleMs, found: change !== null }, lane);
  slate.context.lanes.widen(takenFrom);
  return again;
}

/**
 * The row that holds the resource: this task's own, or that of the task which another address of it made. null when the
 * task is another resource's: an address never changes whose history a row is.
 */
function resourceRow(slate: Slate, task: TaskRow, draft: EventDraft): TaskRow | null {
  if (task.kind === draft.kind && task.resource_id === draft.id) return task;
  if (task.kind !== null) return null;
  return slate.resource(draft.kind, draft.id) ?? task;
}

/** The row of a resource that is published as this draft. */
export function publishedAs(draft: EventDraft): Partial<TaskRow> {
  return {
    published: true,
    deleted: false,
    organization_id: draft.organizationId,
    lane: draft.organizationId,
    archived: draft.archived,
    content_hash: draft.contentHash,
    wire_hash: draft.wireHash,
    normalizer_version: draft.normalizerVersion,
    modified_time: draft.modifiedTime,
    address: draft.address,
  };
}

/** What this read found is the resource's accepted state. What is older than that only confirms it. */
async function accept(slate: Slate, read: FinishedRead, resource: TaskRow, older: boolean): Promise<void> {
  const { draft, connectionId } = read;
  await noteReadable(slate, draft, connectionId);
  const seen = { connection_id: connectionId, shown_by: null, absent_since: null };
  slate.change(resource, { accepted_revision: null, ...seen });
  if (older) return;
  // It may have been another one's address before.
  const own = { ...leavingJoined(resource, null), kind: draft.kind, resource_id: draft.id };
  const listed_in = await stillListedIn(slate, resource, draft.organizationId);
  slate.change(resource, { ...publishedAs(draft), ...own, listed_in });
  // A row of another task may wait: it goes with its resource to the lane of the owner of today.
  if (resource.due_at !== null) slate.context.lanes.expect(draft.organizationId, resource.due_at);
}

/** A list of the organization that it left says nothing of it any more. */
async function stillListedIn(
  { context }: Slate,
  { listed_in, organization_id }: TaskRow,
  organizationId: string,
): Promise<number | null> {
  if (listed_in === null || organization_id === organizationId) return listed_in;
  const known = 'SELECT id FROM listings WHERE id = $1 AND organization_id = $2';
  return (await context.database.get(known, listed_in, organizationId))?.id ?? null;
}

/** The organization was read: the first resource that was is what a probe can ask for. */
export async function noteReadable(
  { context, organizations }: Slate,
  { organizationId, address }: EventDraft,
  connectionId: string,
): Promise<void> {
  const organization = organizations.get(organizationId)!;
  if (organization.known_address !== null) return;
  organization.known_address = address;
  await context.database.run(
    `UPDATE organizations SET was_read = true, known_address = $2, connection_id = coalesce(connection_id, $3)
     WHERE id = $1 AND known_address IS NULL`,
    organizationId,
    address,
    connectionId,
  );
}
