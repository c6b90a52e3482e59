/**
 * What a page of a listing says of one resource. Only a resource at rest is finished from a page, and only by a page that
 * was asked for after its last accepted read; everything else is left to a read that begins after the page, since a change
 * token may tell of it only once. Such an event is marked as reconciled and traces to the run.
 */
import type { Change, EventDraft, PublishedState } from '../../model/event';
import type { ListedHint, ListedResource } from '../../model/sync';
import { type DecidedEvent, eventsOf, leftBy } from '../decided-events';
import { isKnownSince, judgeListed, type ListedOutcome } from '../judge-listed';
import { asAnnounced } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';
import { keepAlias, noteReadable } from './finish';
import { closeEntry } from './quarantine';
import { afterGap } from './return-task';
import { claim, mayStandElsewhere, placesOf } from './unclaimed';
import { writeEvent } from './write-event';

export interface Listed {
  run: number;
  listingId: number;
  revision: number;
  connectionId: string;
}

/** True when the resource is as it was published; it then counts as listed by this run. */
export function markListed(
  context: Context,
  { run, listingId, connectionId }: Omit<Listed, 'revision'>,
  { kind, id, organizationId, wireHash, normalizerVersion }: ListedResource,
): boolean {
  const same = `WHERE kind = ? AND resource_id = ? AND wire_hash = ? AND normalizer_version = ?
    AND organization_id = ? AND published = 1 AND deleted = 0 AND state NOT IN ('quarantined', 'taken')
    AND code IS NOT 'absent-once'`;
  const values = [kind, id, wireHash, normalizerVersion, organizationId] as const;
  const { database } = context;
  // The listing it was in before is most often the same: then no index is touched.
  return (
    database.run(
      `UPDATE tasks SET ${shown}, listed_run = ? ${same} AND listed_in = ?`,
      connectionId,
      connectionId,
      run,
      ...values,
      listingId,
    ) > 0 ||
    database.run(
      `UPDATE tasks SET ${shown}, listed_run = ?, listed_in = ? ${same}`,
      connectionId,
      connectionId,
      run,
      listingId,
      ...values,
    ) > 0
  );
}

/** Absent is what the connections that saw it last do not find: where another has shown it, that begins anew. */
const shown = 'shown_by = ?, absent_since = iif(connection_id IS ?, absent_since, NULL)';

/**
 * Makes a task at rest due, and one that waits since nothing was found there; what waits otherwise, or for an operator, goes
 * on waiting. A read that is under way may have begun before the page was asked for: it is superseded, so that another one
 * follows.
 */
export function makeDue(context: Context, task: Row, restsAs: 'done' | 'quarantined' = 'done'): void {
  const { database } = context;
  const taskId = Number(task.id);
  if (task.state === 'taken') {
    database.run('UPDATE tasks SET accepted_revision = ? WHERE id = ?', context.nextRevision(), taskId);
    return;
  }
  const dueAt = afterGap(context, task, context.nowMs());
  if (task.state === 'settling') {
    const sought = `UPDATE tasks SET state = 'due', due_at = ? WHERE id = ? AND code = 'absent-once'`;
    if (database.run(sought, dueAt, taskId) > 0) context.lanes.expect(String(task.lane), dueAt);
    return;
  }
  const changed = database.run(
    `UPDATE tasks SET state = 'due', due_at = ?, settling = 0, ${asAnnounced} WHERE id = ? AND state = ?`,
    dueAt,
    taskId,
    restsAs,
  );
  if (changed > 0) context.lanes.expect(String(task.lane), dueAt);
}

/** A page shows whole and well what was set aside: that earns one attempt, as a hint does. */
function tryAgain(context: Context, task: Row, draft: EventDraft): void {
  if (task.state !== 'quarantined' || eventsIn(context, draft, 'updated') === 'too-large') return;
  makeDue(context, task, 'quarantined');
  closeEntry(context, Number(task.id));
}

export function finishDraft(context: Context, listed: Listed, draft: EventDraft): ListedOutcome {
  const { database } = context;
  const task = database.get('SELECT * FROM tasks WHERE kind = ? AND resource_id = ?', draft.kind, draft.id);
  if (task === undefined) return finishNew(context, listed, draft);
  noteListed(context, listed, task);
  // The read then goes through who sees it there, and a refusal of it speaks of that organization, not of the one that it left.
  if (!isReadSince(task, listed) && task.organization_id !== draft.organizationId) {
    const said = 'UPDATE tasks SET hinted_organization_id = ? WHERE id = ?';
    database.run(said, draft.organizationId, Number(task.id));
  }
  const isAtRest = task.state === 'done';
  const outcome = isAtRest ? finishAtRest(context, listed, draft, task) : 'left';
  if (outcome === 'left') makeDue(context, task);
  if (!isAtRest) tryAgain(context, task, draft);
  return outcome;
}

/** What only a read could set aside for an operator is left to one. */
function finishAtRest(context: Context, listed: Listed, draft: EventDraft, task: Row): ListedOutcome {
  const standsElsewhere = (published: PublishedState | null) =>
    mayStandElsewhere(published) && placesOf(context, draft).length > 0;
  const judged = judgeListed(task, draft, { readSince: isReadSince(task, listed), standsElsewhere });
  if (judged === 'unchanged' || judged === 'left') return judged;
  if (!decide(context, listed, draft, judged.change, Number(task.id))) return 'left';
  accept(context, listed, draft, task);
  return judged.change === null ? 'unchanged' : 'changed';
}

/** Was a read of it accepted since the page was asked for? */
function isReadSince(task: Row, { revision }: Listed): boolean {
  return Number(task.accepted_revision) > revision;
}

/** A page is an accepted read of what it shows. */
function accept(context: Context, { connectionId }: Listed, draft: EventDraft, task: Row): void {
  const taskId = Number(task.id);
  context.database.run(
    `UPDATE tasks SET accepted_revision = ?, published = 1, deleted = 0, organization_id = ?, lane = ?,
       connection_id = coalesce(connection_id, ?),
       archived = ?, content_hash = ?, wire_hash = ?, normalizer_version = ?, modified_time = ?, address = ?,
       absent_since = NULL WHERE id = ?`,
    context.nextRevision(),
    draft.organizationId,
    draft.organizationId,
    connectionId,
    draft.archived ? 1 : 0,
    draft.contentHash,
    draft.wireHash,
    draft.normalizerVersion,
    draft.modifiedTime,
    draft.address,
    taskId,
  );
  if (draft.address !== task.address) keepAlias(context, draft.address, taskId);
  noteReadable(context, draft, connectionId);
}

/** Not known by its id; a task that waits at its address will find out that it is this one. */
function finishNew(context: Context, listed: Listed, draft: EventDraft): 'changed' | 'left' {
  const { database } = context;
  const provisional = database.get(
    `SELECT t.id, t.state, t.lane, t.organization_id, t.due_at, t.read_at, t.accepted_revision FROM aliases a
     JOIN tasks o ON o.id = a.task_id JOIN tasks t ON t.id = coalesce(o.joined_to, o.id) WHERE a.address = ?`,
    draft.address,
  );
  if (provisional !== undefined) keepOwner(context, provisional, draft.organizationId);
  const readSince = Number(provisional?.accepted_revision ?? 0) > listed.revision;
  if (provisional !== undefined && (provisional.state !== 'done' || readSince)) {
    noteListed(context, listed, provisional);
    // A read found nothing there since the page was asked for: only another one knows better.
    makeDue(context, provisional);
    tryAgain(context, provisional, draft);
    return 'left';
  }
  const stood = placesOf(context, draft);
  const events = eventsIn(context, draft, 'created', leftBy(draft, stood, null));
  if (events === 'too-large') {
    const { address, organizationId } = draft;
    followHint(context, listed, { address, organizationId, resource: null, modifiedTime: null });
    return 'left';
  }
  context.organizations.ensure(draft.organizationId);
  const taskId = database.insert(
    `INSERT INTO tasks (kind, resource_id, address, organization_id, lane, connection_id, state, generation,
       accepted_revision, published, archived, content_hash, wire_hash, normalizer_version, modified_time, listed_in,
       listed_run) VALUES (?, ?, ?, ?, ?, ?, 'done', 0, ?, 1, ?, ?, ?, ?, ?, ?, ?)`,
    draft.kind,
    draft.id,
    draft.address,
    draft.organizationId,
    draft.organizationId,
    listed.connectionId,
    context.nextRevision(),
    draft.archived ? 1 : 0,
    draft.contentHash,
    draft.wireHash,
    draft.normalizerVersion,
    draft.modifiedTime,
    listed.listingId,
    listed.run,
  );
  keepAlias(context, draft.address, taskId);
  noteReadable(context, draft, listed.connectionId);
  if (stood.length > 0) claim(context, draft);
  write(context, listed, events, taskId);
  return 'changed';
}

/** Whose it is was only claimed, by a delivery whose user may not be able to read it: a listing knows, as a read does. */
function keepOwner({ database, lanes, organizations }: Context, task: Row, organizationId: string): void {
  if (task.organization_id !== null) return;
  organizations.ensure(organizationId);
  database.run(
    'UPDATE tasks SET organization_id = ?1, hinted_organization_id = ?1, lane = ?1 WHERE id = ?2',
    organizationId,
    Number(task.id),
  );
  Object.assign(task, { organization_id: organizationId, lane: organizationId });
  if (task.due_at !== null) lanes.expect(organizationId, Number(task.due_at));
}

function noteListed(context: Context, { run, listingId, connectionId }: Listed, task: Row): void {
  context.database.run(
    `UPDATE tasks SET ${shown}, listed_run = ?, listed_in = ? WHERE id = ?`,
    connectionId,
    connectionId,
    run,
    listingId,
    task.id as number,
  );
}

function eventsIn({ settings }: Context, draft: EventDraft, change: Change | null, left: string[] = []) {
  return eventsOf({ draft, traceparent: null, reconciled: true }, change, left, settings.envelope);
}

/** False when the record would be too large; then nothing was decided. */
function decide(
  context: Context,
  listed: Listed,
  draft: EventDraft,
  change: Change | null,
  taskId: number,
): boolean {
  const events = eventsIn(context, draft, change);
  if (events === 'too-large') return false;
  write(context, listed, events, taskId);
  return true;
}

function write(context: Context, { run }: Listed, events: DecidedEvent[], taskId: number): void {
  for (const event of events)
    writeEvent(context, { ...event, taskId, acceptedAtMs: null, cause: `sync ${run}` });
}

/** A listing names a resource without showing all of it: it is read, unless it is known in this state. */
export function followHint(context: Context, listed: Listed, hint: ListedHint): void {
  const { database } = context;
  const { resource, address, organizationId } = hint;
  const known =
    (resource === null
      ? undefined
      : database.get('SELECT * FROM tasks WHERE kind = ? AND resource_id = ?', resource.kind, resource.id)) ??
    database.get(
      `SELECT t.* FROM aliases a JOIN tasks o ON o.id = a.task_id
       JOIN tasks t ON t.id = coalesce(o.joined_to, o.id) WHERE a.address = ?`,
      address,
    );
  if (known !== undefined) {
    noteListed(context, listed, known);
    keepOwner(context, known, organizationId);
    if (!isKnownSince(known, hint)) makeDue(context, known);
    return;
  }
  if (address === null) return;
  const nowMs = context.nowMs();
  context.organizations.ensure(organizationId);
  const taskId = database.insert(
    `INSERT INTO tasks (address, lane, hinted_organization_id, state, generation, due_at, reconciled, shown_by, listed_in,
       listed_run) VALUES (?, ?, ?, 'due', 0, ?, 1, ?, ?, ?)`,
    address,
    organizationId,
    organizationId,
    nowMs,
    listed.connectionId,
    listed.listingId,
    listed.run,
  );
  keepAlias(context, address, taskId);
  context.lanes.expect(organizationId, nowMs);
}
