/**
 * How a taken task ends. One transaction, fenced by the take and by the resource's accepted revision, decides whether
 * a read is news, gives the next sequence of its key and writes the event's exact bytes. An ending with an old fence
 * changes nothing. A higher generation never refuses a finish: it keeps the task due.
 */
import type { Change, EventDraft, EventRecord, PublishedState } from '../../model/event';
import { changeOf } from '../../model/event';
import type { FinishedRead, FinishResult, KnownOtherwise } from '../../model/task';
import { type Rest, settles } from '../at-rest';
import { eventsOf, leftBy } from '../decided-events';
import { isKnownAs } from '../equipment-names';
import { mayLag, type Said } from '../may-lag';
import { causeOf } from '../read-fence';
import { leftToNewerMs } from '../store-rules';
import { switchedFrom } from '../switch-step';
import { movedFrom, publishedState } from '../task-row';
import type { Context } from './context';
import type { Row } from './database';
import { knownAs } from './equipment-names';
import { joinTask } from './join';
import { endTake, noteRead, refuse, rest, restAfter, restColumns, restValues, stayDue } from './return-task';
import { claim, mayStandElsewhere, placesOf } from './unclaimed';
import { writeEvent } from './write-event';

export function finish(context: Context, read: FinishedRead): FinishResult | KnownOtherwise {
  const { named } = read;
  if (named !== undefined) {
    const known = knownAs(context, named.names);
    if (!isKnownAs(known, named.known)) return { outcome: 'known-otherwise', known };
  }
  const task = endTake(context, read);
  if (task === null) return { outcome: 'refused', reason: 'fenced' };
  const { draft } = read;
  const resource = resourceRow(context, task, draft);
  if (resource === null) {
    const detail = `its address shows ${draft.kind} ${draft.id}`;
    return refuse(context, task, read, 'malformed-document', { path: '/id', detail, raw: null })
      ? { outcome: 'refused', reason: 'another-resource' }
      : { outcome: 'refused', reason: 'hinted-since' };
  }
  if (Number(resource.accepted_revision) > read.revision) {
    stayDue(context, task, 'superseded');
    return { outcome: 'refused', reason: 'superseded' };
  }
  const previous = publishedState(resource);
  const moved = movedFrom(resource, previous, draft);
  const decision = changeOf(previous, draft, moved !== null);
  if (decision.reason === 'older-normalizer') {
    leaveToNewer(context, task, resource);
    return { outcome: 'refused', reason: 'older-normalizer' };
  }
  const records = decideRecords(context, read, decision.change, moved, task, previous);
  if (records === 'too-large') {
    const refused = refuse(context, task, read, 'record-too-large');
    return { outcome: 'refused', reason: refused ? 'record-too-large' : 'hinted-since' };
  }
  if (draft.address !== task.address) keepAlias(context, draft.address, Number(resource.id));
  const outcome = decision.change === null ? 'unchanged' : 'published';
  const eventIds = records.map((record) => record.eventId);
  const last = eventIds.at(-1) ?? null;
  const { connectionId } = read;
  const { reason } = decision;
  const older = reason === 'older-than-published';
  const settleMs = mayLag(decision.change, previous, draft, task.crowded === 1) ? read.settleMs : 0;
  const from = switchedFrom(resource, connectionId);
  const said = { outcome, reason, eventId: last, connectionId, switchedFrom: from };
  noteRead(context, read, { ...said, settles: settles(task, read, settleMs) });
  const found = decision.change !== null;
  const again = acceptAndRest(context, read, { task, resource, older, said: { settleMs, found } });
  context.lanes.widen(String(task.lane));
  return outcome === 'published' ? { outcome, eventIds, again } : { outcome, reason, again };
}

/** A task that only this read showed to be the resource's is the newer version's from now on, as that one is. */
function leaveToNewer(context: Context, task: Row, resource: Row): void {
  if (task.kind === null) {
    const version = resource.normalizer_version as number;
    context.database.run('UPDATE tasks SET normalizer_version = ? WHERE id = ?', version, task.id as number);
  }
  stayDue(context, task, 'older-normalizer', leftToNewerMs);
}

/**
 * The row that holds the resource: this task's own, or that of the task which another address of it made. null when the
 * task is another resource's: an address never changes whose history a row is.
 */
function resourceRow(context: Context, task: Row, draft: EventDraft): Row | null {
  if (task.kind === draft.kind && task.resource_id === draft.id) return task;
  if (task.kind !== null) return null;
  const known = context.database.get(
    'SELECT * FROM tasks WHERE kind = ? AND resource_id = ?',
    draft.kind,
    draft.id,
  );
  return known ?? task;
}

/**
 * Writes the events of one decision to the outbox; nothing when there is no change. It left its former owner, and wherever
 * else the topics show what this store did not know of.
 */
function decideRecords(
  context: Context,
  read: FinishedRead,
  change: Change | null,
  moved: string | null,
  task: Row,
  previous: PublishedState | null,
): EventRecord[] | 'too-large' {
  const { draft } = read;
  const stood = change !== null && mayStandElsewhere(previous) ? placesOf(context, draft) : [];
  const events = eventsOf(read, change, leftBy(draft, stood, moved), context.settings.envelope);
  if (events === 'too-large') return events;
  if (stood.length > 0) claim(context, draft);
  const taskId = Number(task.id);
  const acceptedAtMs = task.covered_hint_at as number | null;
  const cause = causeOf(task.id as number, read.fence);
  return events.map((event) => writeEvent(context, { ...event, taskId, acceptedAtMs, cause }));
}

interface Accepting {
  task: Row;
  resource: Row;
  older: boolean;
  said: Said;
}

/**
 * Writes what this read found as the resource's accepted state, and how its task rests; what is older than that only
 * confirms it. True when the task will be read again.
 */
function acceptAndRest(context: Context, read: FinishedRead, accepting: Accepting): boolean {
  const { task, resource, older, said } = accepting;
  const { draft, connectionId } = read;
  const { database } = context;
  const revision = context.nextRevision();
  noteReadable(context, draft, connectionId);
  const own = resource.id === task.id;
  if (older) {
    database.run(
      'UPDATE tasks SET accepted_revision = ?, connection_id = ?, shown_by = NULL, absent_since = NULL WHERE id = ?',
      revision,
      connectionId,
      resource.id as number,
    );
  } else if (own) return writeBoth(context, read, revision, task, restAfter(context, task, read, said));
  else {
    database.run(
      `UPDATE tasks SET ${acceptedColumns}, lane = ? WHERE id = ?`,
      ...acceptedValues(read, revision),
      draft.organizationId,
      resource.id as number,
    );
    // A row of another task may wait: it goes with its resource to the lane of the owner of today.
    if (resource.due_at !== null) context.lanes.expect(draft.organizationId, Number(resource.due_at));
  }
  const passedOn = !own && joinTask(context, task, Number(resource.id), read);
  // Its hints are the resource's from now on, of which nothing else would know that one is still to be found.
  if (!own && settles(task, read, said.settleMs))
    database.run('UPDATE tasks SET crowded = 1 WHERE id = ?', resource.id as number);
  const lane = older ? String(resource.organization_id) : draft.organizationId;
  return passedOn || rest(context, task, read, said, lane);
}

/** Both in one statement: the row of most tasks is that of their resource. */
function writeBoth(context: Context, read: FinishedRead, revision: number, task: Row, atRest: Rest): boolean {
  const lane = read.draft.organizationId;
  const { dueAt } = atRest;
  const values = [...acceptedValues(read, revision), ...restValues(atRest, lane)];
  context.database.run(acceptAndRestTask, ...values, task.id as number);
  if (dueAt !== null) context.lanes.expect(lane, dueAt);
  return dueAt !== null;
}

/**
 * A row that was another one's address before is this one's from now on. A list of the organization that it left says nothing of it
 * any more.
 */
const acceptedColumns = `accepted_revision = ?, published = 1, deleted = 0,
  joined_before = coalesce(joined_to, joined_before), joined_to = NULL, kind = ?, resource_id = ?,
  listed_in = iif(organization_id IS ?, listed_in,
    (SELECT l.id FROM listings l WHERE l.id = listed_in AND l.organization_id = ?)),
  organization_id = ?, connection_id = ?, archived = ?, content_hash = ?, wire_hash = ?, normalizer_version = ?,
  modified_time = ?, address = ?, shown_by = NULL, absent_since = NULL`;
/** Put together once: a statement is found by its text, which is searched for by what it holds when it is new. */
const acceptAndRestTask = `UPDATE tasks SET ${acceptedColumns}, ${restColumns} WHERE id = ?`;

function acceptedValues({ draft, connectionId }: FinishedRead, revision: number) {
  return [
    revision,
    draft.kind,
    draft.id,
    ...[draft.organizationId, draft.organizationId, draft.organizationId],
    connectionId,
    draft.archived ? 1 : 0,
    draft.contentHash,
    draft.wireHash,
    draft.normalizerVersion,
    draft.modifiedTime,
    draft.address,
  ];
}

/** The organization was read: the first resource that was is what a probe can ask for. */
export function noteReadable(
  context: Context,
  { organizationId, address }: EventDraft,
  connectionId: string,
): void {
  const organization = context.organizations.ensure(organizationId);
  if (organization.wasRead) return;
  context.organizations.remember(organization);
  organization.wasRead = true;
  organization.wasShown = true;
  context.database.run(
    `UPDATE organizations SET was_read = 1, known_address = ?, connection_id = coalesce(connection_id, ?)
     WHERE id = ?`,
    address,
    connectionId,
    organizationId,
  );
}

export function keepAlias(context: Context, address: string, taskId: number): void {
  context.database.run(
    'INSERT INTO aliases (address, task_id) VALUES (?, ?) ON CONFLICT (address) DO NOTHING',
    address,
    taskId,
  );
}
