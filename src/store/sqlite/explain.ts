/**
 * The journey of a delivery, an event or a resource, told from the journal: what came, what was decided and why, where
 * it went.
 */
import type { ExplainStep } from '../../model/inspection';
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
import { tasksOf } from './sweep';

/** At most so many hints or reads of one resource are told. */
const stepsMax = 200;

export type Explanation = { of: string; what: 'delivery' | 'event' | 'resource'; steps: ExplainStep[] };

export function explain(context: Context, of: string): Explanation | null {
  const delivery = /^d(\d{1,15})$/.exec(of)?.[1];
  if (delivery !== undefined) return explainDelivery(context, of, Number(delivery));
  const event = context.database.get('SELECT * FROM outbox WHERE event_id = ?', of);
  if (event !== undefined) return explainEvent(context, of, event);
  const known = context.database.all(
    `SELECT t.id, t.joined_to FROM aliases a JOIN tasks t ON t.id = a.task_id WHERE a.address = ?`,
    of,
  )[0];
  if (known === undefined) return null;
  const tasks = [known.id, known.joined_to].filter((id) => id !== null).map(Number);
  const steps = tasks.flatMap((id) => resourceSteps(context, id));
  return { of, what: 'resource', steps: steps.sort((left, right) => left.at.localeCompare(right.at)) };
}

function at(ms: unknown): string {
  return new Date(Number(ms)).toISOString();
}

function explainDelivery(context: Context, of: string, id: number): Explanation | null {
  const { database } = context;
  const delivery = database.get('SELECT * FROM deliveries WHERE id = ?', id);
  if (delivery === undefined) return expired(context, of, id);
  const steps: ExplainStep[] = [
    {
      at: at(delivery.received_at),
      step: 'accepted',
      text: `a delivery was stored and answered 204; notifications in it: ${delivery.notifications}`,
      notifications: delivery.notifications,
      messageId: delivery.message_id,
      traceparent: delivery.traceparent,
    },
  ];
  const elements = JSON.parse(String(delivery.elements)) as {
    line: string;
    eventTypeId?: string;
    address?: string;
  }[];
  for (const [index, element] of elements.entries()) {
    steps.push({
      at: at(delivery.received_at),
      step: element.line,
      text: `notification ${index}: ${element.line} (${element.eventTypeId ?? 'no type'})`,
      ...element,
    });
  }
  for (const task of tasksOf(context, id)) {
    const hint = database.get(
      'SELECT min(generation) AS generation FROM hints WHERE task_id = ? AND delivery_id = ?',
      task.id as number,
      id,
    )!;
    if (hint.generation === null) continue;
    const covering = database.get(
      'SELECT * FROM reads WHERE task_id = ? AND generation >= ? ORDER BY generation, fence LIMIT 1',
      task.id as number,
      hint.generation as number,
    );
    steps.push(
      ...(covering === undefined ? waitingSteps(context, Number(task.id)) : readSteps(context, [covering])),
    );
  }
  return { of, what: 'delivery', steps };
}

/** Deliveries are numbered as they come: what is below the oldest was here. */
function expired({ database, nowMs }: Context, of: string, id: number): Explanation | null {
  const oldest = database.get('SELECT min(id) AS id FROM deliveries')!.id as number | null;
  if (oldest === null || id < 1 || id > oldest) return null;
  return { of, what: 'delivery', steps: expiredSteps(oldest, nowMs()) };
}

function explainEvent(context: Context, of: string, event: Row): Explanation {
  const steps: ExplainStep[] = [];
  const fence = fenceOf(String(event.cause));
  if (fence !== null) {
    const read = context.database.get(
      'SELECT * FROM reads WHERE task_id = ? AND fence = ?',
      event.task_id as number,
      fence,
    );
    if (read !== undefined) {
      steps.push(...askedSteps(context, event, read));
      steps.push(...readSteps(context, [read]));
    }
  }
  if (steps.length === 0) steps.push(...eventSteps(context, event));
  return { of, what: 'event', steps };
}

/** What had it read. */
function askedSteps(context: Context, event: Row, read: Row): ExplainStep[] {
  const { database } = context;
  const task = Number(event.task_id);
  if (!isReconciled(String(event.headers))) return hintSteps(context, task, Number(read.generation));
  const before = database.get(
    'SELECT coalesce(max(at), 0) AS at FROM reads WHERE task_id = ? AND fence < ?',
    task,
    read.fence as number,
  )!;
  const replays = database.all(
    'SELECT * FROM replayed WHERE task_id = ? AND at >= ? AND at <= ? ORDER BY id LIMIT ?',
    task,
    before.at as number,
    read.at as number,
    stepsMax,
  );
  if (replays.length > 0) return replays.map((line) => replayStep(line as unknown as ReplayToTell));
  const run = database.get(
    'SELECT id, began_at FROM sync_runs WHERE began_at <= ? ORDER BY id DESC LIMIT 1',
    read.at as number,
  );
  return [syncStep((run as { id: number; began_at: number } | undefined) ?? null, Number(read.at))];
}

function resourceSteps(context: Context, taskId: number): ExplainStep[] {
  const reads = context.database.all(
    'SELECT * FROM reads WHERE task_id = ? ORDER BY fence DESC LIMIT ?',
    taskId,
    stepsMax,
  );
  return [
    ...hintSteps(context, taskId, Number.MAX_SAFE_INTEGER),
    ...readSteps(context, reads.reverse()),
    ...readAgainSteps(context, taskId),
    ...waitingSteps(context, taskId),
  ];
}

function hintSteps(context: Context, taskId: number, generation: number): ExplainStep[] {
  return context.database
    .all(
      `SELECT h.generation, h.element, d.id, d.received_at FROM hints h JOIN deliveries d ON d.id = h.delivery_id
       WHERE h.task_id = ? AND h.generation <= ? ORDER BY h.generation DESC LIMIT ?`,
      taskId,
      generation,
      stepsMax,
    )
    .reverse()
    .map((row) => ({
      at: at(row.received_at),
      step: 'hinted',
      text: `delivery d${row.id} said that it changed`,
      deliveryId: `d${row.id}`,
      element: row.element,
      generation: row.generation,
    }));
}

function readSteps(context: Context, reads: Row[]): ExplainStep[] {
  const switchSteps = makeSwitchSteps();
  return reads.flatMap((read) => [
    ...switchSteps(read.task_id, read.connection_id, at(read.at)),
    ...stepsOfRead(context, read),
  ]);
}

function stepsOfRead(context: Context, read: Row): ExplainStep[] {
  const step: ExplainStep = {
    at: at(read.at),
    step: String(read.outcome),
    text: `read and decided: ${read.outcome}${read.reason === null ? '' : ` (${read.reason})`}`,
    generation: read.generation,
    connectionId: read.connection_id,
    eventId: read.event_id,
  };
  if (read.event_id === null) return [step];
  const event = context.database.get('SELECT * FROM outbox WHERE event_id = ?', read.event_id as string);
  return event === undefined ? [step] : [step, ...eventSteps(context, event)];
}

function eventSteps({ database, nowMs }: Context, event: Row): ExplainStep[] {
  const replays = database.all(
    'SELECT * FROM replayed WHERE outbox_id = ? AND topic IS NOT NULL ORDER BY id DESC LIMIT ?',
    event.id as number,
    stepsMax,
  );
  const entry = database.get(
    'SELECT id, reason, at, state FROM quarantine WHERE outbox_id = ? ORDER BY id DESC LIMIT 1',
    event.id as number,
  );
  return stepsOfEvent(
    event as unknown as EventToTell,
    replays.reverse() as unknown as ReplayToTell[],
    (entry as unknown as EntryToTell | undefined) ?? null,
    nowMs(),
  );
}

function readAgainSteps({ database }: Context, taskId: number): ExplainStep[] {
  const replays = database.all(
    'SELECT * FROM replayed WHERE task_id = ? ORDER BY id DESC LIMIT ?',
    taskId,
    stepsMax,
  );
  return replays.reverse().map((line) => replayStep(line as unknown as ReplayToTell));
}

function waitingSteps(context: Context, taskId: number): ExplainStep[] {
  const task = context.database.get(
    `SELECT t.*, o.access FROM tasks t LEFT JOIN organizations o ON o.id = t.lane WHERE t.id = ?`,
    taskId,
  );
  if (task === undefined || task.state === 'done') return [];
  const parked = task.due_at !== null && task.access !== null && task.access !== 'active';
  const state = parked ? 'parked' : String(task.state);
  const why = parked ? `its organization is ${task.access}` : (task.code ?? 'it is its turn soon');
  return [
    {
      at: new Date(context.nowMs()).toISOString(),
      step: state,
      text: `now ${state}: ${why}`,
      dueAt: task.due_at === null ? null : at(task.due_at),
      attempts: task.attempts,
      detail: task.detail,
    },
  ];
}
