/**
 * The journey of a delivery, an event or a resource, told from the journal: what came, what was decided and why, where
 * it went. Whichever process did it, it stands in the same rows.
 */
import type { ExplainStep, Inspection } from '../../model/inspection';
import {
  type EntryToTell,
  type EventToTell,
  expiredSteps,
  isReconciled,
  type ReplayToTell,
  replayStep,
  eventSteps as stepsOfEvent,
  syncStep,
} from '../event-steps';
import { fenceOf } from '../read-fence';
import { makeSwitchSteps } from '../switch-steps';
import type { Context } from './context';
import type { Row } from './database';
import { tasksNamed } from './sweep';

/** At most so many hints or reads of one resource are told. */
const stepsMax = 200;

type Explanation = NonNullable<Awaited<ReturnType<Inspection['explain']>>>;

const eventColumns = `id, event_id, topic, key, sequence, position, partition, log_offset, task_id, cause, decided_at,
  sent_at, state, headers`;
const readColumns =
  'r.task_id, r.fence, r.generation, r.outcome, r.reason, r.event_id, r.connection_id, r.at';

export async function explain(context: Context, of: string): Promise<Explanation | null> {
  if (of.includes('\0')) return null;
  const delivery = /^d(\d{1,15})$/.exec(of)?.[1];
  if (delivery !== undefined) return explainDelivery(context, of, Number(delivery));
  const { database } = context;
  const event = await database.get(`SELECT ${eventColumns} FROM outbox WHERE event_id = $1`, of);
  if (event !== undefined) return { of, what: 'event', steps: await eventJourney(context, event) };
  const known = await database.get(
    'SELECT t.id, t.joined_to FROM aliases a JOIN tasks t ON t.id = a.task_id WHERE a.address = $1',
    of,
  );
  if (known === undefined) return null;
  const steps: ExplainStep[] = [];
  for (const id of [known.id, known.joined_to])
    if (id !== null) steps.push(...(await resourceSteps(context, id)));
  return { of, what: 'resource', steps: steps.sort((left, right) => left.at.localeCompare(right.at)) };
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}

async function explainDelivery(context: Context, of: string, id: number): Promise<Explanation | null> {
  const { database } = context;
  const delivery = await database.get(
    'SELECT received_at, message_id, traceparent, notifications, elements FROM deliveries WHERE id = $1',
    id,
  );
  if (delivery === undefined) return expired(context, of, id);
  const named = await tasksNamed(context, [delivery.elements]);
  const hinted = await database.all(
    `WITH named AS (
       SELECT unnest($2::bigint[]) AS id
       UNION SELECT t.joined_to FROM tasks t WHERE t.id = ANY($2::bigint[]) AND t.joined_to IS NOT NULL)
     SELECT n.id AS hinted_task, ${readColumns}
     FROM named n JOIN LATERAL (
       SELECT min(generation) AS generation FROM hints WHERE task_id = n.id AND delivery_id = $1) h
       ON h.generation IS NOT NULL
     LEFT JOIN LATERAL (
       SELECT task_id, fence, generation, outcome, reason, event_id, connection_id, at FROM reads
       WHERE task_id = n.id AND generation >= h.generation ORDER BY generation, fence LIMIT 1) r
       ON true
     ORDER BY n.id LIMIT $3`,
    id,
    named,
    stepsMax,
  );
  const covering = hinted.filter(({ task_id }) => task_id !== null);
  const waiting = hinted.filter(({ task_id }) => task_id === null).map(({ hinted_task }) => hinted_task);
  const steps = [
    ...acceptedSteps(delivery),
    ...(await readSteps(context, covering)),
    ...(await waitingSteps(context, waiting)),
  ];
  return { of, what: 'delivery', steps };
}

/** Deliveries are numbered as they come: what is below the oldest was here. */
async function expired({ database, nowMs }: Context, of: string, id: number): Promise<Explanation | null> {
  const oldest = (await database.get('SELECT min(id) AS id FROM deliveries'))!.id as number | null;
  if (oldest === null || id < 1 || id > oldest) return null;
  return { of, what: 'delivery', steps: expiredSteps(oldest, nowMs()) };
}

function acceptedSteps(delivery: Row): ExplainStep[] {
  const receivedAt = at(delivery.received_at);
  const elements = JSON.parse(delivery.elements) as { line: string; eventTypeId?: string }[];
  return [
    {
      at: receivedAt,
      step: 'accepted',
      text: `a delivery was stored and answered 204; notifications in it: ${delivery.notifications}`,
      notifications: delivery.notifications,
      messageId: delivery.message_id,
      traceparent: delivery.traceparent,
    },
    ...elements.map((element, index) => ({
      at: receivedAt,
      step: element.line,
      text: `notification ${index}: ${element.line} (${element.eventTypeId ?? 'no type'})`,
      ...element,
    })),
  ];
}

async function eventJourney(context: Context, event: Row): Promise<ExplainStep[]> {
  const fence = fenceOf(event.cause);
  const read =
    fence === null
      ? undefined
      : await context.database.get(
          `SELECT ${readColumns} FROM reads r WHERE r.task_id = $1 AND r.fence = $2`,
          event.task_id,
          fence,
        );
  if (read === undefined) return (await eventSteps(context, [event])).get(event.event_id)!;
  return [...(await askedSteps(context, event, read)), ...(await readSteps(context, [read]))];
}

/** What had it read. */
async function askedSteps(context: Context, event: Row, read: Row): Promise<ExplainStep[]> {
  const { database } = context;
  if (!isReconciled(event.headers)) return hintSteps(context, event.task_id, read.generation);
  const replays = await database.all(
    `SELECT * FROM replayed WHERE task_id = $1 AND at <= $3
       AND at >= (SELECT coalesce(max(at), 0) FROM reads WHERE task_id = $1 AND fence < $2) ORDER BY id LIMIT $4`,
    event.task_id,
    read.fence,
    read.at,
    stepsMax,
  );
  if (replays.length > 0) return replays.map((line) => replayStep(line as ReplayToTell));
  const run = await database.get(
    'SELECT id, began_at FROM sync_runs WHERE began_at <= $1 ORDER BY id DESC LIMIT 1',
    read.at,
  );
  return [syncStep((run as { id: number; began_at: number } | undefined) ?? null, read.at)];
}

async function resourceSteps(context: Context, taskId: number): Promise<ExplainStep[]> {
  const reads = await context.database.all(
    `SELECT ${readColumns} FROM reads r WHERE r.task_id = $1 ORDER BY r.fence DESC LIMIT $2`,
    taskId,
    stepsMax,
  );
  return [
    ...(await hintSteps(context, taskId, Number.MAX_SAFE_INTEGER)),
    ...(await readSteps(context, reads.reverse())),
    ...(await readAgainSteps(context, taskId)),
    ...(await waitingSteps(context, [taskId])),
  ];
}

async function hintSteps(context: Context, taskId: number, generation: number): Promise<ExplainStep[]> {
  const rows = await context.database.all(
    `SELECT h.generation, h.element, d.id, d.received_at FROM hints h JOIN deliveries d ON d.id = h.delivery_id
     WHERE h.task_id = $1 AND h.generation <= $2 ORDER BY h.generation DESC LIMIT $3`,
    taskId,
    generation,
    stepsMax,
  );
  return rows.reverse().map((row) => ({
    at: at(row.received_at),
    step: 'hinted',
    text: `delivery d${row.id} said that it changed`,
    deliveryId: `d${row.id}`,
    element: row.element,
    generation: row.generation,
  }));
}

async function readSteps(context: Context, reads: Row[]): Promise<ExplainStep[]> {
  const ids = reads.flatMap(({ event_id }) => event_id ?? []);
  const rows =
    ids.length === 0
      ? []
      : await context.database.all(
          `SELECT ${eventColumns} FROM outbox WHERE event_id = ANY($1::text[])`,
          ids,
        );
  const events = await eventSteps(context, rows);
  const switchSteps = makeSwitchSteps();
  return reads.flatMap((read) => {
    const switched = switchSteps(read.task_id, read.connection_id, at(read.at));
    const step: ExplainStep = {
      at: at(read.at),
      step: read.outcome,
      text: `read and decided: ${read.outcome}${read.reason === null ? '' : ` (${read.reason})`}`,
      generation: read.generation,
      connectionId: read.connection_id,
      eventId: read.event_id,
    };
    return [...switched, step, ...(events.get(read.event_id) ?? [])];
  });
}

async function readAgainSteps({ database }: Context, taskId: number): Promise<ExplainStep[]> {
  const replays = await database.all(
    'SELECT * FROM replayed WHERE task_id = $1 ORDER BY id DESC LIMIT $2',
    taskId,
    stepsMax,
  );
  return replays.reverse().map((line) => replayStep(line as ReplayToTell));
}

/** The steps of each, by the event's id. */
async function eventSteps({ database, nowMs }: Context, events: Row[]): Promise<Map<string, ExplainStep[]>> {
  if (events.length === 0) return new Map();
  const replays = await database.all(
    `SELECT * FROM replayed WHERE outbox_id = ANY($1::bigint[]) AND topic IS NOT NULL ORDER BY id DESC LIMIT $2`,
    events.map(({ id }) => id),
    stepsMax,
  );
  const ofRow = Map.groupBy(replays.reverse(), ({ outbox_id }) => outbox_id as number);
  const entries = await database.all(
    `SELECT DISTINCT ON (outbox_id) outbox_id, id, reason, at, state FROM quarantine
     WHERE outbox_id = ANY($1::bigint[]) ORDER BY outbox_id, id DESC`,
    events.map(({ id }) => id),
  );
  const entryOf = new Map(
    entries.map((entry) => [entry.outbox_id as number, entry as unknown as EntryToTell]),
  );
  return new Map(
    events.map((event) => [
      event.event_id as string,
      stepsOfEvent(
        event as EventToTell,
        (ofRow.get(event.id) ?? []) as ReplayToTell[],
        entryOf.get(event.id) ?? null,
        nowMs(),
      ),
    ]),
  );
}

async function waitingSteps(context: Context, taskIds: number[]): Promise<ExplainStep[]> {
  if (taskIds.length === 0) return [];
  const tasks = await context.database.all(
    `SELECT t.state, t.due_at, t.attempts, t.code, t.detail, o.access FROM tasks t
     LEFT JOIN organizations o ON o.id = t.lane WHERE t.id = ANY($1::bigint[]) AND t.state <> 'done' ORDER BY t.id`,
    taskIds,
  );
  return tasks.map((task) => {
    const parked = task.due_at !== null && task.access !== null && task.access !== 'active';
    const state: string = parked ? 'parked' : task.state;
    const why = parked ? `its organization is ${task.access}` : (task.code ?? 'it is its turn soon');
    return {
      at: at(context.nowMs()),
      step: state,
      text: `now ${state}: ${why}`,
      dueAt: task.due_at === null ? null : at(task.due_at),
      attempts: task.attempts,
      detail: task.detail,
    };
  });
}
