/**
 * Loads what the journal holds of a delivery, an event or a resource: rows only, in sets, each found by an index, so many
 * of each kind at most. What they tell is put together elsewhere, for all stores alike. Whichever process did it, it
 * stands in the same rows.
 */
import type { Inspection } from '../../model/inspection';
import { partsOf } from '../../model/resource';
import { type TransitionToTell, transitionOf } from '../access-step';
import {
  type Covered,
  type DeliveryToTell,
  decidedNothingBut,
  type ElementEntry,
  endsWith,
  type FoldedToTell,
  foldedColumns,
  type GivenUp,
  type Marked,
  type ReadToTell,
  type RefusedEntry,
  readColumns,
  refusedLookedAtMax,
  type TaskToTell,
  type ToldRead,
  tellingFirst,
} from '../covered';
import { type EventToTell, type ReplayToTell, replayColumns, type ToldEvent } from '../event-steps';
import { expiredDelivery, isEventId, perhapsExpiredEvent } from '../expired-steps';
import {
  addressesMax,
  deliverySteps,
  eventJourney,
  type HintToTell,
  resourceSteps,
  sweptJourney,
} from '../journey';
import { rowsMax } from '../left-out';
import { keptAddress, refusedSteps } from '../notification-steps';
import { isForgotten } from '../organization-row';
import { causeOf, fenceOf } from '../read-fence';
import { organizationsOf } from '../runs';
import { askedFor, rows, runs } from './asked-for';
import type { Context } from './context';
import { explainAccess } from './explain-access';
import { tasksNamed } from './sweep';
import { eventColumns, toldEvents } from './told-events';

type Explanation = NonNullable<Awaited<ReturnType<Inspection['explain']>>>;

export async function explain(context: Context, of: string): Promise<Explanation | null> {
  if (of.includes('\0')) return null;
  const delivery = /^d(\d{1,15})$/.exec(of)?.[1];
  if (delivery !== undefined) return explainDelivery(context, of, Number(delivery));
  const access = await explainAccess(context, of);
  if (access !== null) return { of, what: 'resource', steps: access };
  return (
    (await explainEvent(context, of)) ??
    (await explainResource(context, of)) ??
    (await explainTaken(context, of)) ??
    explainRefused(context, of)
  );
}

async function explainDelivery(context: Context, of: string, id: number): Promise<Explanation | null> {
  const [delivery] = await rows<DeliveryToTell>(
    context,
    'SELECT received_at, message_id, traceparent, notifications, elements FROM deliveries WHERE id = $1',
    id,
  );
  if (delivery === undefined) return expired(context, of, id);
  const covered = await coveredOf(context, await tasksNamed(context, [delivery.elements]), id);
  const entries = await rows<ElementEntry>(
    context,
    'SELECT id, element, reason, path, at, state, raw FROM quarantine WHERE delivery_id = $1 ORDER BY id',
    id,
  );
  return { of, what: 'delivery', steps: deliverySteps(delivery, covered, entries, context.nowMs()) };
}

/**
 * What became of what the delivery said of each of these tasks, and of those which they were joined to. A notification that
 * was judged again may be told by another read than those that came with it.
 */
async function coveredOf(context: Context, named: number[], delivery: number): Promise<Covered[]> {
  const hinted = await rows<(ReadToTell | { task_id: null }) & { hinted_task: number; hints: string }>(
    context,
    `WITH named AS (
       SELECT unnest($2::bigint[]) AS id
       UNION SELECT unnest(ARRAY[t.joined_to, t.joined_before]) FROM tasks t WHERE t.id = ANY($2::bigint[])),
     hinted AS (
       SELECT h.task_id, h.element, h.generation, (
         SELECT min(r.generation) FROM reads r WHERE r.task_id = h.task_id AND r.generation >= h.generation) AS by
       FROM named n JOIN hints h ON h.task_id = n.id AND h.delivery_id = $1)
     SELECT h.task_id AS hinted_task, h.hints, r.*
     FROM (
       SELECT task_id, by, json_agg(json_build_object('element', element, 'generation', generation)
         ORDER BY generation)::text AS hints FROM hinted GROUP BY task_id, by) h
     LEFT JOIN LATERAL (
       SELECT ${readColumns} FROM reads WHERE task_id = h.task_id AND generation = h.by
       ORDER BY ${tellingFirst} LIMIT 1) r ON true
     ORDER BY h.task_id, h.by NULLS LAST`,
    delivery,
    named,
  );
  const reads = hinted.filter(
    (row): row is ReadToTell & { hinted_task: number; hints: string } => row.task_id !== null,
  );
  const events = Map.groupBy(await eventsOfReads(context, reads), ({ cause }) => cause);
  const undecided = hinted.filter(({ task_id }) => task_id === null).map(({ hinted_task }) => hinted_task);
  const waiting = new Map((await waitingOf(context, undecided)).map((task) => [task.id, task]));
  const told = new Map((await toldReads(context, reads)).map((read) => [nameOf(read), read]));
  return hinted.map((row) => {
    const hints = JSON.parse(row.hints) as Marked[];
    if (row.task_id === null) return { hints, waiting: waiting.get(row.hinted_task) };
    return { hints, read: told.get(nameOf(row))!, events: events.get(nameOf(row)) ?? [] };
  });
}

const nameOf = ({ task_id: task, fence }: ReadToTell) => causeOf(task, fence);

/** An operator's word ends a task as a read would: what was given up by it was set aside since the read before. */
async function toldReads(context: Context, reads: ReadToTell[]): Promise<ToldRead[]> {
  const discarded = reads.filter(({ outcome }) => outcome === 'discarded');
  if (discarded.length === 0) return reads.map((read) => ({ ...read, givenUp: null }));
  const entries = await rows<GivenUp & { task_id: number; fence: number }>(
    context,
    `SELECT r.task_id, r.fence, q.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r (task_id, at, fence)
     CROSS JOIN LATERAL (
       SELECT id, reason, path, detail, at, state FROM quarantine
       WHERE task_id = r.task_id AND at <= r.at AND state = 'discarded' AND at >= coalesce((
         SELECT b.at FROM reads b WHERE b.task_id = r.task_id AND b.fence < r.fence ORDER BY b.fence DESC LIMIT 1), 0)
       ORDER BY id DESC LIMIT 1) q`,
    discarded.map(({ task_id }) => task_id),
    discarded.map(({ at }) => at),
    discarded.map(({ fence }) => fence),
  );
  const entryOf = new Map(entries.map(({ task_id, fence, ...entry }) => [causeOf(task_id, fence), entry]));
  return reads.map((read) => ({ ...read, givenUp: entryOf.get(nameOf(read)) ?? null }));
}

/** Deliveries are numbered as they come: what is below one that is kept was here. */
async function expired({ database, nowMs }: Context, of: string, id: number): Promise<Explanation | null> {
  const { oldest, last } = (await database.get('SELECT min(id) AS oldest, max(id) AS last FROM deliveries'))!;
  if (last === null || id < 1 || id > last) return null;
  return { of, what: 'delivery', steps: expiredDelivery(id, oldest, nowMs()) };
}

/** An event that is not kept: its read may know of it, as long as that is. */
async function explainTaken(context: Context, of: string): Promise<Explanation | null> {
  if (!isEventId(of)) return null;
  const nowMs = context.nowMs();
  const sql = `SELECT ${readColumns} FROM reads WHERE event_id = $1 AND swept`;
  const [read] = await rows<ReadToTell>(context, sql, of);
  if (read !== undefined)
    return { of, what: 'event', steps: sweptJourney(read, await askedFor(context, read)) };
  const floor: number = (await context.database.get("SELECT value FROM meta WHERE name = 'floor'"))!.value;
  return floor === 0 ? null : { of, what: 'event', steps: perhapsExpiredEvent(floor, nowMs) };
}

/** An address of which nothing came but what was set aside. */
async function explainRefused(context: Context, of: string): Promise<Explanation | null> {
  const entries = await rows<RefusedEntry>(
    context,
    `SELECT id, element, reason, path, at, state, raw, delivery_id FROM quarantine
     WHERE id > (SELECT max(id) FROM quarantine) - $1 AND what = 'notification' AND strpos(raw, $2) > 0
     ORDER BY id DESC LIMIT $3`,
    refusedLookedAtMax,
    keptAddress(of),
    rowsMax,
  );
  const steps = refusedSteps(of, entries.reverse());
  return steps.length === 0 ? null : { of, what: 'resource', steps };
}

async function explainEvent(context: Context, of: string): Promise<Explanation | null> {
  const [event] = await toldEvents(
    context,
    await rows(context, `SELECT ${eventColumns} FROM outbox WHERE event_id = $1`, of),
  );
  if (event === undefined) return null;
  const read = await readOf(context, event);
  const found =
    read === undefined
      ? { transition: await transitionRow(context, event.cause) }
      : { read, asked: await askedFor(context, read) };
  return { of, what: 'event', steps: eventJourney(event, found, context.nowMs()) };
}

async function readOf(
  context: Context,
  { task_id: task, cause }: EventToTell,
): Promise<ReadToTell | undefined> {
  const fence = fenceOf(cause);
  if (fence === null) return undefined;
  const sql = `SELECT ${readColumns} FROM reads WHERE task_id = $1 AND fence = $2`;
  return (await rows<ReadToTell>(context, sql, task, fence))[0];
}

async function transitionRow(context: Context, cause: string): Promise<TransitionToTell | undefined> {
  const named = transitionOf(cause);
  if (named === null) return undefined;
  const [row] = await rows<TransitionToTell>(
    context,
    `SELECT at, access, previous, cause, said_by, asked_by FROM organization_history
     WHERE organization_id = $1 AND epoch = $2`,
    named.organizationId,
    named.epoch,
  );
  return row;
}

/** A move decides two, and the read names the last, which stands right after the other among those of its task. */
async function eventsOfReads(context: Context, reads: ReadToTell[]): Promise<ToldEvent[]> {
  const found = await rows<EventToTell>(
    context,
    `SELECT DISTINCT e.* FROM unnest($1::bigint[], $2::text[]) AS r (task_id, event_id)
     JOIN outbox last ON last.event_id = r.event_id
     CROSS JOIN LATERAL (
       SELECT ${eventColumns} FROM outbox WHERE task_id = r.task_id AND id <= last.id
       ORDER BY id DESC LIMIT 2) e
     ORDER BY e.id`,
    reads.map(({ task_id }) => task_id),
    reads.map(({ event_id }) => event_id),
  );
  return toldEvents(context, found);
}

/** The resource at this address, under whatever address it was read. */
async function explainResource(context: Context, of: string): Promise<Explanation | null> {
  // Whichever organization's it is by now.
  const { kind, id } = partsOf(of);
  const [known] = await rows<{ id: number; keyEnd: string | null }>(
    context,
    `SELECT id, '/' || kind || '/' || resource_id AS "keyEnd" FROM tasks WHERE id = coalesce((
       SELECT coalesce(t.joined_to, t.id) FROM aliases a JOIN tasks t ON t.id = a.task_id WHERE a.address = $1),
       (SELECT id FROM tasks WHERE kind = $2 AND resource_id = $3
         AND EXISTS (SELECT 1 FROM sequences WHERE key = $1)))`,
    of,
    kind,
    id,
  );
  if (known === undefined) return null;
  const joined = await rows<{ id: number }>(
    context,
    'SELECT id FROM tasks WHERE joined_to = $1 ORDER BY id DESC LIMIT $2',
    known.id,
    addressesMax + 1,
  );
  const tasks = [known.id, ...joined.slice(0, addressesMax).map(({ id }) => id)];
  /** Of each task in turn the newest, in order; `sql` selects them from its newest, named by `n.id`; the end of its keys is `k.key_end`. */
  const ofEach = <Wanted>(sql: string): Promise<Wanted[]> =>
    rows<Wanted>(
      context,
      `SELECT found.* FROM unnest($1::bigint[]) WITH ORDINALITY AS n (id, nth) CROSS JOIN (SELECT $3::text) AS k (key_end)
       CROSS JOIN LATERAL (${sql} LIMIT $2) found ORDER BY n.nth, found.place`,
      tasks,
      rowsMax,
      known.keyEnd ?? '',
    );
  const events = await toldEvents(
    context,
    await ofEach(
      `SELECT id AS place, ${eventColumns} FROM outbox WHERE task_id = n.id AND ${endsWith('key', 'k.key_end')}
       ORDER BY id DESC`,
    ),
  );
  const resource = {
    hints: await ofEach<HintToTell>(
      `SELECT h.generation AS place, h.task_id, h.generation, h.element, d.id, d.received_at
       FROM hints h JOIN deliveries d ON d.id = h.delivery_id WHERE h.task_id = n.id
       ORDER BY h.generation DESC`,
    ),
    folded: await rows<FoldedToTell>(
      context,
      `SELECT ${foldedColumns} FROM tasks t WHERE t.id = ANY($1::bigint[]) AND t.folded > 0 ORDER BY t.id`,
      tasks,
    ),
    reads: await toldReads(
      context,
      await ofEach(
        `SELECT fence AS place, ${readColumns} FROM reads WHERE task_id = n.id AND ${decidedNothingBut('k.key_end')}
         ORDER BY fence DESC`,
      ),
    ),
    events,
    readAgain: await ofEach<ReplayToTell>(
      `SELECT id AS place, ${replayColumns} FROM replayed WHERE task_id = n.id ORDER BY id DESC`,
    ),
    runs: await runs(context, organizationsOf(events)),
    waiting: await waitingOf(context, tasks),
    triedAgain: await ofEach<GivenUp>(
      `SELECT id AS place, id, reason, path, detail, at, state FROM quarantine
       WHERE task_id = n.id AND state = 'released' ORDER BY id DESC`,
    ),
    hasMore: joined.length > addressesMax,
  };
  return { of, what: 'resource', steps: resourceSteps(resource, context.nowMs()) };
}

/** In the order of their numbers; none of those that are done. */
function waitingOf(context: Context, tasks: number[]): Promise<(TaskToTell & { id: number })[]> {
  return rows(
    context,
    `SELECT t.id, t.state, t.due_at, t.attempts, t.code, t.detail, q.id AS entry_id, q.at AS entry_at,
       CASE WHEN ${isForgotten} THEN 'forgotten' ELSE o.access END AS access, q.reason AS entry_reason, q.path AS entry_path
     FROM tasks t LEFT JOIN organizations o ON o.id = t.lane
     LEFT JOIN quarantine q ON t.state = 'quarantined' AND q.id = (
       SELECT max(e.id) FROM quarantine e WHERE e.task_id = t.id)
     WHERE t.id = ANY($1::bigint[]) AND t.state <> 'done' ORDER BY t.id`,
    tasks,
  );
}
