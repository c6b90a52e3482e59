/**
 * What an operator orders about quarantined things: try them once more, or give them up, on record. Nothing leaves
 * quarantine by being forgotten, and every notification stays in exactly one line of the ledger. Orders that come together
 * are carried out in sets. Entries of notifications are locked before tasks, and tasks before entries of theirs and of their
 * records, as by whoever sets them aside or hints them; of two orders for one entry the second finds nothing.
 */
import type { Element } from '../../model/notification';
import { partsOf } from '../../model/resource';
import { entryIdOf } from '../quarantine-view';
import { freeAtMs, releasedState, unpublishedOf } from '../store-rules';
import { hintProbes } from './ask-probes';
import type { Context } from './context';
import { listWhole } from './list-whole';
import { type Hint, markHints, organizationsIn } from './mark-hints';
import { insertReads } from './note-read';
import { type ObservedRow, tellAccess } from './observe';
import { ensureOrganizations, lockOrganizations } from './organization-rows';
import { noteAccepted } from './outbox';
import { isWaiting } from './quarantine-entries';
import { kindOfRow, readTask } from './read-task';
import type { Row } from './server/database';
import { keepUnclaimed } from './unclaimed';

type Released = 'released' | 'not-found' | 'refused';

/**
 * Released tasks are read afresh, and so are the resources of released records, which themselves are sent only while they
 * are the newest of their keys. Notifications are judged again elsewhere.
 */
export async function releaseTogether(context: Context, calls: [string][]): Promise<Released[]> {
  const { database } = context;
  const ids = calls.map(([id]) => entryIdOf(id) ?? -1);
  const entries = await database.all(
    `SELECT q.id, q.reason, q.task_id, o.id AS outbox_id, o.key, coalesce(q.task_id, ${readTask}) AS read_id
     FROM quarantine q LEFT JOIN LATERAL (SELECT id, key, task_id FROM outbox WHERE id = q.outbox_id OFFSET 0) o ON true
     WHERE q.id = ANY($1::bigint[]) AND q.${isWaiting}`,
    ids,
  );
  const released = entries.filter(({ task_id, outbox_id }) => task_id !== null || outbox_id !== null);
  const keys = released.flatMap(({ key }) => (key ?? []) as string | []);
  const organizations = await lockOrganizations(context, keys.flatMap(toldOf).sort());
  const tasks = await lockTasks(
    context,
    released.map(({ read_id }) => read_id),
  );
  await lockKeys(context, keys);
  const closed = await close(
    context,
    released.map(({ id }) => id),
    'released',
  );
  const mine = released.filter(({ id }) => closed.has(id));
  await retryTasks(
    context,
    mine.filter(({ task_id }) => task_id !== null),
  );
  const above = await retryRecords(
    context,
    mine.filter(({ task_id }) => task_id === null),
    tasks,
  );
  await tellAbove(context, above, organizations);
  const refused = new Set(entries.filter((entry) => !released.includes(entry)).map(({ id }) => id));
  return ids.map((id) => (refused.has(id) ? 'refused' : closed.delete(id) ? 'released' : 'not-found'));
}

/** Those that nobody else closed meanwhile. */
async function close(
  { database }: Context,
  entryIds: number[],
  state: 'released' | 'discarded',
): Promise<Set<number>> {
  if (entryIds.length === 0) return new Set();
  const closed = await database.all(
    `UPDATE quarantine q SET state = $2
     FROM (SELECT id FROM quarantine WHERE id = ANY($1::bigint[]) AND ${isWaiting} ORDER BY id FOR NO KEY UPDATE) w
     WHERE q.id = w.id AND q.id = ANY($1::bigint[]) RETURNING q.id`,
    entryIds,
    state,
  );
  return new Set(closed.map(({ id }) => id));
}

async function lockTasks({ database }: Context, taskIds: number[]): Promise<Row[]> {
  if (taskIds.length === 0) return [];
  return database.all(
    'SELECT id, state, lane, read_at FROM tasks WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE',
    taskIds,
  );
}

/** Before a record is compared with the newest of its key: nobody decides a newer one, and nobody raises a floor meanwhile. */
async function lockKeys({ database }: Context, keys: string[]): Promise<void> {
  if (keys.length === 0) return;
  await database.run('LOCK TABLE sequences IN ROW EXCLUSIVE MODE');
  await database.all(
    'SELECT key FROM sequences WHERE key = ANY($1::text[]) ORDER BY key FOR NO KEY UPDATE',
    keys,
  );
}

/** Of many that went at once, those released may go: the operator has said so. */
async function retryTasks({ database, lanes, nowMs }: Context, entries: Row[]): Promise<void> {
  if (entries.length === 0) return;
  const gone = entries.filter(({ reason }) => reason === 'mass-disappearance');
  const due = await database.all(
    `UPDATE tasks SET state = 'due', due_at = $2, attempts = 0, aged_ms = 0, failed_at = NULL,
       gone_allowed = id = ANY($3::bigint[])
     WHERE id = ANY($1::bigint[]) AND state = 'quarantined' RETURNING lane`,
    entries.map(({ task_id }) => task_id),
    nowMs(),
    gone.map(({ task_id }) => task_id),
  );
  for (const { lane } of due) lanes.expect(lane, nowMs());
}

/**
 * What was announced to this connection's user while nobody could read for that user, and nobody else is known to see it, and
 * what nobody else can say is gone: now that what the user sees was listed, it is read.
 */
export async function releaseUnread(context: Context, connectionId: string): Promise<void> {
  const unread = await context.database.all(
    `WITH unread AS MATERIALIZED (
       SELECT id, task_id, reason FROM quarantine WHERE state = 'waiting' AND reason = 'no-connection')
     SELECT q.id, q.task_id, q.reason FROM unread q JOIN tasks t ON t.id = q.task_id
     JOIN connections c ON c.id = $1 AND c.status = 'valid'
     WHERE t.id = ANY(ARRAY(SELECT task_id FROM unread)) AND CASE WHEN t.organization_id IS NULL
       THEN t.hinted_user IN (c.user_name, c.id)
       ELSE c.id IN (t.connection_id, t.shown_by) AND EXISTS (SELECT 1 FROM sights s
         WHERE s.connection_id = c.id AND s.organization_id = t.organization_id) END
     ORDER BY t.id FOR NO KEY UPDATE OF t`,
    connectionId,
  );
  if (unread.length === 0) return;
  context.news.add('work');
  const ids = unread.map(({ id }) => id as number);
  const closed = await close(context, ids, 'released');
  await retryTasks(
    context,
    unread.filter(({ id }) => closed.has(id)),
  );
}

/** The rows that do not go out, since another life of the store may have given their numbers. */
async function retryRecords(context: Context, entries: Row[], tasks: Row[]): Promise<Row[]> {
  if (entries.length === 0) return [];
  const { database } = context;
  const newest = await database.all(
    `UPDATE outbox o SET state = ${releasedState('o', kindOfRow('o'))} FROM sequences s
     WHERE s.key = o.key AND s.key = ANY(ARRAY(SELECT key FROM outbox WHERE id = ANY($1::bigint[]))) AND o.id = ANY($1::bigint[]) AND o.state = 3 AND o.sequence = s.sequence
     RETURNING o.id, o.key, o.state`,
    entries.map(({ outbox_id }) => outbox_id),
  );
  // They are the newest of their keys once more.
  await noteAccepted(
    context,
    newest.filter(({ state }) => state === 0).map(({ id }) => id),
  );
  const nowMs = context.nowMs();
  const read = new Set(entries.map(({ read_id }) => read_id));
  const due = tasks
    .filter(({ id, state }) => read.has(id) && (state === 'done' || state === 'settling'))
    .map((task) => ({
      ...task,
      dueAt: Math.max(nowMs, freeAtMs(task.read_at, nowMs, context.settings.readGapMs)),
    })) as (Row & { dueAt: number })[];
  await database.run(
    `UPDATE tasks t SET state = 'due', due_at = n.due_at
     FROM unnest($1::bigint[], $2::bigint[]) AS n (id, due_at) WHERE t.id = n.id AND t.id = ANY($1::bigint[])`,
    due.map(({ id }) => id),
    due.map(({ dueAt }) => dueAt),
  );
  for (const { lane, dueAt } of due) context.lanes.expect(lane, dueAt);
  return newest.filter(({ state }) => state === 4);
}

/** Of the key of its access. */
function toldOf(key: string): string[] {
  const { kind, organizationId } = partsOf(key);
  return kind === 'organization-access' ? [organizationId] : [];
}

async function tellAbove(context: Context, above: Row[], organizations: Map<string, Row>): Promise<void> {
  const keys = above.map(({ key }) => key as string);
  await publishLater(
    context,
    above.map(({ id }) => id),
  );
  await tellAccess(
    context,
    keys.flatMap(toldOf).flatMap((id) => (organizations.get(id) as ObservedRow | undefined) ?? []),
  );
}

/**
 * Quarantined notifications whose kept bytes were judged again: each counts as what it is now. What is still bad stays,
 * and what was not authenticated is never released.
 */
export async function rejudgeTogether(context: Context, calls: [string, Element][]): Promise<Released[]> {
  const { database } = context;
  const judged = calls.map(([id, element]) => ({ id: entryIdOf(id) ?? -1, element }));
  const rows = await database.all(
    `SELECT id, reason, element, delivery_id FROM quarantine
     WHERE id = ANY($1::bigint[]) AND ${isWaiting} AND what = 'notification'`,
    judged.map(({ id }) => id),
  );
  const entries = new Map(rows.map((row) => [Number(row.id), row]));
  const isBad = ({ id, element }: (typeof judged)[number]) =>
    element.line === 'quarantined' || entries.get(id)?.reason === 'unauthenticated';
  const good = judged.flatMap((one) => (isBad(one) ? [] : (entries.get(one.id) ?? [])));
  const locked = await database.all(
    `SELECT id, received_at, traceparent, elements FROM deliveries WHERE id = ANY($1::bigint[])
     ORDER BY id FOR NO KEY UPDATE`,
    good.map(({ delivery_id }) => delivery_id),
  );
  const deliveries = new Map(locked.map((row) => [Number(row.id), row]));
  const closed = await close(
    context,
    good.filter(({ delivery_id }) => deliveries.has(delivery_id)).map(({ id }) => id),
    'released',
  );
  const released: Judged[] = [];
  const results = judged.map((one): Released => {
    const entry = entries.get(one.id);
    if (entry === undefined) return 'not-found';
    if (isBad(one)) return 'refused';
    if (!closed.delete(one.id)) return 'not-found';
    released.push({ element: one.element, nth: entry.element, delivery: deliveries.get(entry.delivery_id)! });
    return 'released';
  });
  await countAnew(context, released);
  await hintProbes(
    context,
    released.flatMap(({ element }) =>
      element.line === 'acted' && element.probeOrganizationId !== null
        ? [{ organizationId: element.probeOrganizationId, dueAt: element.dueAt }]
        : [],
    ),
    'notification',
  );
  const hints = released.flatMap(hintOf);
  await ensureOrganizations(context, organizationsIn(hints));
  const deliveryIds = released.map(({ delivery }) => Number(delivery.id));
  markHints(context, deliveryIds, hints);
  return results;
}

interface Judged {
  element: Element;
  /** Its place in the delivery. */
  nth: number;
  delivery: Row;
}

function hintOf({ element: hint, nth: element, delivery }: Judged, at: number): Hint[] {
  if (hint.line !== 'hint') return [];
  const { received_at: receivedAtMs, traceparent } = delivery;
  return [{ of: at + 1, element, receivedAtMs, traceparent, hint }];
}

/** In each delivery once, however many of its notifications there are. */
async function countAnew({ database }: Context, released: Judged[]): Promise<void> {
  if (released.length === 0) return;
  const changed = [...Map.groupBy(released, ({ delivery }) => delivery)].map(([{ id, elements }, judged]) => {
    const texts = JSON.parse(elements) as unknown[];
    for (const { nth, element } of judged) texts[nth] = element;
    const count = (line: Element['line']) => judged.filter(({ element }) => element.line === line).length;
    const [acted, ignored] = [count('acted'), count('ignored')];
    return { id, released: judged.length, acted, ignored, elements: JSON.stringify(texts) };
  });
  await database.run(
    `UPDATE deliveries d SET quarantined = d.quarantined - n.released, acted = d.acted + n.acted,
       ignored = d.ignored + n.ignored, elements = n.elements
     FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::text[])
       AS n (id, released, acted, ignored, elements) WHERE d.id = n.id AND d.id = ANY($1::bigint[])`,
    changed.map(({ id }) => id),
    changed.map(({ released }) => released),
    changed.map(({ acted }) => acted),
    changed.map(({ ignored }) => ignored),
    changed.map(({ elements }) => elements),
  );
}

export async function discardTogether(
  context: Context,
  calls: [string][],
): Promise<('discarded' | 'not-found')[]> {
  const { database } = context;
  const ids = calls.map(([id]) => entryIdOf(id) ?? -1);
  const entries = await database.all(
    `SELECT q.id, q.task_id, q.outbox_id, coalesce(q.task_id, ${readTask}) AS of_task
     FROM quarantine q LEFT JOIN LATERAL (SELECT id, key, task_id FROM outbox WHERE id = q.outbox_id OFFSET 0) o ON true
     WHERE q.id = ANY($1::bigint[]) AND q.${isWaiting}`,
    ids,
  );
  const isNotification = ({ task_id, outbox_id }: Row) => task_id === null && outbox_id === null;
  const idsOf = (some: Row[]) => some.map(({ id }) => id as number);
  // Whoever judges notifications again has their entries before the tasks that they hint.
  const closed = await close(context, idsOf(entries.filter(isNotification)), 'discarded');
  await lockTasks(
    context,
    entries.flatMap(({ of_task }) => of_task ?? []),
  );
  const others = idsOf(entries.filter((entry) => !isNotification(entry)));
  for (const id of await close(context, others, 'discarded')) closed.add(id);
  const mine = entries.filter(({ id }) => closed.has(id));
  await publishLater(
    context,
    mine.flatMap(({ outbox_id }) => outbox_id ?? []),
  );
  const given = await database.all(
    `UPDATE tasks SET state = 'done', fence = fence + 1, folded = 0
     WHERE id = ANY($1::bigint[]) AND state = 'quarantined' RETURNING id, fence, generation`,
    mine.flatMap(({ task_id }) => task_id ?? []),
  );
  const said = { outcome: 'discarded', reason: null, eventIds: [], connectionId: null, switchedFrom: null };
  insertReads(
    context,
    given.map(({ id: taskId, fence, generation }) => ({
      taskId,
      fence,
      generation,
      ...said,
      settles: false,
    })),
  );
  return ids.map((id) => (closed.delete(id) ? 'discarded' : 'not-found'));
}

/**
 * What does not go out is on no topic: the next read of its resource publishes it anew, a deletion as well, that of what moved on
 * included, and the next sync lists it.
 */
async function publishLater(context: Context, outboxIds: number[]): Promise<void> {
  if (outboxIds.length === 0) return;
  const changed = await context.database.all(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = false
     WHERE published AND id IN (${unpublishedOf('ANY($1::bigint[])', readTask)}) RETURNING organization_id`,
    outboxIds,
  );
  await listWhole(
    context,
    changed.map(({ organization_id }) => organization_id),
  );
  const unpublished = await context.database.all(
    unpublishedOf('ANY($1::bigint[])', 'o.key AS key'),
    outboxIds,
  );
  await keepUnclaimed(
    context,
    unpublished.map(({ key }) => key),
  );
}
