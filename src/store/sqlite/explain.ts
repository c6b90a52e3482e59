/**
 * Loads what the journal holds of a delivery, an event or a resource: rows only, each found by an index, so many of each
 * kind at most. What they tell is put together elsewhere, for all stores alike.
 */
import type { ExplainStep } from '../../model/inspection';
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
import { type EventToTell, replayColumns } from '../event-steps';
import { expiredDelivery, isEventId, perhapsExpiredEvent } from '../expired-steps';
import {
  addressesMax,
  deliverySteps,
  eventJourney,
  type ResourceToTell,
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
import { tasksOf } from './sweep';
import { eventColumns, toldEvent } from './told-event';

export type Explanation = { of: string; what: 'delivery' | 'event' | 'resource'; steps: ExplainStep[] };

export function explain(context: Context, of: string): Explanation | null {
  const delivery = /^d(\d{1,15})$/.exec(of)?.[1];
  if (delivery !== undefined) return explainDelivery(context, of, Number(delivery));
  const access = explainAccess(context, of);
  if (access !== null) return { of, what: 'resource', steps: access };
  return (
    explainEvent(context, of) ??
    explainResource(context, of) ??
    explainTaken(context, of) ??
    explainRefused(context, of)
  );
}

function explainDelivery(context: Context, of: string, id: number): Explanation | null {
  const [delivery] = rows<DeliveryToTell>(
    context,
    'SELECT received_at, message_id, traceparent, notifications, elements FROM deliveries WHERE id = ?',
    id,
  );
  if (delivery === undefined) return expired(context, of, id);
  const tasks = tasksOf(context, [id]).map((task) => Number(task.id));
  const covered = tasks
    .toSorted((left, right) => left - right)
    .flatMap((task) => coveredOf(context, task, id));
  const entries = rows<ElementEntry>(
    context,
    `SELECT id, element, reason, path, at, state, raw FROM quarantine WHERE delivery_id = ? ORDER BY id`,
    id,
  );
  return { of, what: 'delivery', steps: deliverySteps(delivery, covered, entries, context.nowMs()) };
}

/**
 * What became of what the delivery said of one task; none when it said nothing of it. A notification that was judged again may
 * be told by another read than those that came with it.
 */
function coveredOf(context: Context, task: number, delivery: number): Covered[] {
  const hints = rows<Marked>(
    context,
    'SELECT element, generation FROM hints WHERE task_id = ? AND delivery_id = ? ORDER BY generation',
    task,
    delivery,
  );
  const covered: Covered[] = [];
  for (let rest = hints; rest.length > 0; ) {
    const [read] = rows<ReadToTell>(
      context,
      `SELECT ${readColumns} FROM reads WHERE task_id = ? AND generation >= ? ORDER BY generation, ${tellingFirst}
       LIMIT 1`,
      task,
      rest[0]!.generation,
    );
    if (read === undefined) return [...covered, { hints: rest, waiting: waitingOf(context, task)[0] }];
    const events = eventsOfRead(context, read).map((event) => toldEvent(context, event));
    const told = rest.filter(({ generation }) => generation <= read.generation);
    covered.push({ hints: told, read: toldRead(context, read), events });
    rest = rest.slice(told.length);
  }
  return covered;
}

/** An operator's word ends a task as a read would: what was given up by it was set aside since the read before. */
function toldRead(context: Context, read: ReadToTell): ToldRead {
  const { task_id: task, fence, outcome, at } = read;
  if (outcome !== 'discarded') return { ...read, givenUp: null };
  const [entry] = rows<GivenUp>(
    context,
    `SELECT id, reason, path, detail, at, state FROM quarantine
     WHERE task_id = ?1 AND at <= ?3 AND state = 'discarded' AND at >= coalesce((
       SELECT at FROM reads WHERE task_id = ?1 AND fence < ?2 ORDER BY fence DESC LIMIT 1), 0)
     ORDER BY id DESC LIMIT 1`,
    task,
    fence,
    at,
  );
  return { ...read, givenUp: entry ?? null };
}

/** Deliveries are numbered as they come: what is below one that is kept was here. */
function expired({ database, nowMs }: Context, of: string, id: number): Explanation | null {
  const { oldest, last } = database.get(
    'SELECT (SELECT min(id) FROM deliveries) AS oldest, (SELECT max(id) FROM deliveries) AS last',
  )!;
  if (last === null || id < 1 || id > Number(last)) return null;
  return { of, what: 'delivery', steps: expiredDelivery(id, Number(oldest), nowMs()) };
}

/** An event that is not kept: its read may know of it, as long as that is. */
function explainTaken(context: Context, of: string): Explanation | null {
  if (!isEventId(of)) return null;
  const nowMs = context.nowMs();
  const [read] = rows<ReadToTell>(
    context,
    `SELECT ${readColumns} FROM reads WHERE event_id = ? AND swept = 1`,
    of,
  );
  if (read !== undefined) return { of, what: 'event', steps: sweptJourney(read, askedFor(context, read)) };
  const floor = Number(context.database.get("SELECT value FROM meta WHERE name = 'floor'")!.value);
  return floor === 0 ? null : { of, what: 'event', steps: perhapsExpiredEvent(floor, nowMs) };
}

/** An address of which nothing came but what was set aside. */
function explainRefused(context: Context, of: string): Explanation | null {
  const entries = rows<RefusedEntry>(
    context,
    `SELECT id, element, reason, path, at, state, raw, delivery_id FROM quarantine
     WHERE id > (SELECT max(id) FROM quarantine) - ? AND what = 'notification' AND instr(raw, ?) > 0
     ORDER BY id DESC LIMIT ?`,
    refusedLookedAtMax,
    keptAddress(of),
    rowsMax,
  );
  const steps = refusedSteps(of, entries.reverse());
  return steps.length === 0 ? null : { of, what: 'resource', steps };
}

function explainEvent(context: Context, of: string): Explanation | null {
  const [event] = rows<EventToTell>(context, `SELECT ${eventColumns} FROM outbox WHERE event_id = ?`, of);
  if (event === undefined) return null;
  const read = readOf(context, event);
  const found =
    read === undefined
      ? { transition: transitionRow(context, event.cause) }
      : { read, asked: askedFor(context, read) };
  return { of, what: 'event', steps: eventJourney(toldEvent(context, event), found, context.nowMs()) };
}

function readOf(context: Context, { task_id: task, cause }: EventToTell): ReadToTell | undefined {
  const fence = fenceOf(cause);
  if (fence === null) return undefined;
  return rows<ReadToTell>(
    context,
    `SELECT ${readColumns} FROM reads WHERE task_id = ? AND fence = ?`,
    task,
    fence,
  )[0];
}

function transitionRow(context: Context, cause: string): TransitionToTell | undefined {
  const named = transitionOf(cause);
  if (named === null) return undefined;
  return rows<TransitionToTell>(
    context,
    `SELECT at, access, previous, cause, said_by, asked_by FROM organization_history
     WHERE organization_id = ? AND epoch = ?`,
    named.organizationId,
    named.epoch,
  )[0];
}

/** Those of one read: a move decides two, and the read names the last, which stands right after the other. */
function eventsOfRead(context: Context, { task_id: task, fence, event_id: last }: ReadToTell): EventToTell[] {
  if (last === null) return [];
  return rows<EventToTell>(
    context,
    `SELECT ${eventColumns} FROM outbox WHERE task_id = ? AND id <= (SELECT id FROM outbox WHERE event_id = ?)
     ORDER BY id DESC LIMIT 2`,
    task,
    last,
  )
    .filter(({ cause }) => cause === causeOf(task, fence))
    .reverse();
}

/** The resource at this address, under whatever address it was read. */
function explainResource(context: Context, of: string): Explanation | null {
  // Whichever organization's it is by now.
  const { kind, id } = partsOf(of);
  const known = context.database.get(
    `SELECT id, '/' || kind || '/' || resource_id AS keyEnd FROM tasks WHERE id = coalesce((
       SELECT coalesce(t.joined_to, t.id) FROM aliases a JOIN tasks t ON t.id = a.task_id WHERE a.address = ?1),
       (SELECT id FROM tasks WHERE kind = ?2 AND resource_id = ?3
         AND EXISTS (SELECT 1 FROM sequences WHERE key = ?1)))`,
    of,
    kind,
    id,
  );
  if (known === undefined) return null;
  const joined = context.database
    .all(
      'SELECT id FROM tasks WHERE joined_to = ? ORDER BY id DESC LIMIT ?',
      known.id as number,
      addressesMax + 1,
    )
    .map(({ id }) => Number(id));
  const tasks = [Number(known.id), ...joined.slice(0, addressesMax)];
  const ofEach = <Wanted>(sql: string): Wanted[] =>
    tasks.flatMap((task) => rows<Wanted>(context, sql, task, rowsMax).reverse());
  const keyEnd = known.keyEnd ?? '';
  const ofIts = <Wanted>(sql: string): Wanted[] =>
    tasks.flatMap((task) => rows<Wanted>(context, sql, task, rowsMax, keyEnd).reverse());
  const events = ofIts<EventToTell>(
    `SELECT ${eventColumns} FROM outbox WHERE task_id = ?1 AND ${endsWith('key', '?3')} ORDER BY id DESC LIMIT ?2`,
  );
  const resource: ResourceToTell = {
    hints: ofEach(
      `SELECT h.task_id, h.generation, h.element, d.id, d.received_at FROM hints h
       JOIN deliveries d ON d.id = h.delivery_id WHERE h.task_id = ? ORDER BY h.generation DESC LIMIT ?`,
    ),
    folded: tasks.flatMap((task) =>
      rows<FoldedToTell>(
        context,
        `SELECT ${foldedColumns} FROM tasks t WHERE t.id = ? AND t.folded > 0`,
        task,
      ),
    ),
    reads: ofIts<ReadToTell>(
      `SELECT ${readColumns} FROM reads WHERE task_id = ?1 AND ${decidedNothingBut('?3')}
       ORDER BY fence DESC LIMIT ?2`,
    ).map((read) => toldRead(context, read)),
    events: events.map((event) => toldEvent(context, event)),
    readAgain: ofEach(`SELECT ${replayColumns} FROM replayed WHERE task_id = ? ORDER BY id DESC LIMIT ?`),
    runs: runs(context, organizationsOf(events)),
    waiting: tasks.flatMap((task) => waitingOf(context, task)),
    triedAgain: ofEach(
      `SELECT id, reason, path, detail, at, state FROM quarantine WHERE task_id = ? AND state = 'released'
       ORDER BY id DESC LIMIT ?`,
    ),
    hasMore: joined.length > addressesMax,
  };
  return { of, what: 'resource', steps: resourceSteps(resource, context.nowMs()) };
}

/** None when it is done. */
function waitingOf(context: Context, task: number): TaskToTell[] {
  return rows<TaskToTell>(
    context,
    `SELECT t.state, t.due_at, t.attempts, t.code, t.detail, q.id AS entry_id, q.at AS entry_at,
       iif(${isForgotten}, 'forgotten', o.access) AS access, q.reason AS entry_reason, q.path AS entry_path
     FROM tasks t LEFT JOIN organizations o ON o.id = t.lane
     LEFT JOIN quarantine q ON t.state = 'quarantined' AND q.id = (
       SELECT max(e.id) FROM quarantine e WHERE e.task_id = t.id)
     WHERE t.id = ? AND t.state <> 'done'`,
    task,
  );
}
