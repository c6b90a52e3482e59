/**
 * Marks the resources behind addresses due, in sets: one generation and one row in the journal for each hint. A hint meets
 * a task by its state: waiting in back-off keeps its time, settling comes due, quarantined gets one attempt, taken stays
 * due after its ending. The rows are locked by their ids, so that crossed deliveries wait for each other in one order.
 */
import type { HintElement } from '../../model/notification';
import { freeAtMs } from '../free-at';
import type { Context } from './context';
import { closeEntries } from './quarantine-entries';
import { taskIds } from './task-rows';

export interface Hint {
  deliveryId: number;
  /** Its place in the delivery. */
  element: number;
  receivedAtMs: number;
  traceparent: string | null;
  hint: HintElement;
}

interface TaskRow {
  id: number;
  crowded: boolean;
  joined_to: number | null;
  state: string;
  generation: number;
  lane: string;
  organization_id: string | null;
  due_at: number | null;
  read_at: number | null;
  first_hint_at: number | null;
  traceparent: string | null;
  hinted_organization_id: string | null;
  hinted_user: string | null;
  code: string | null;
}

const columns = `id, crowded, joined_to, state, generation, lane, organization_id, due_at, read_at, first_hint_at, traceparent,
  hinted_organization_id, hinted_user, code`;

/**
 * The hints in the order in which they were accepted. Their organizations are there already. `known` is what `tasksAt`
 * answers of their addresses, and perhaps of others that nothing hints after all, where it was asked before. What is written
 * leaves with the commit.
 */
export async function markHints(context: Context, hints: Hint[], known?: Promise<TasksAt>): Promise<void> {
  if (hints.length === 0 && known === undefined) return;
  const addresses = [...new Set(hints.map(({ hint }) => hint.address))];
  const { tasks, added } = await (known ?? tasksAt(context, addresses));
  const closing: number[] = [];
  const marked = hints.map((hint) => {
    const task = tasks.get(hint.hint.address)!;
    if (task.state === 'quarantined') closing.push(task.id);
    raise(context, task, hint);
    return { ...hint, task, generation: task.generation };
  });
  const changed = new Map(marked.map(({ task }) => [task.id, task]));
  forgetAddresses(
    context,
    added.filter(({ task }) => !changed.has(task.id)),
  );
  if (marked.length === 0) return;
  context.news.add('work');
  addTasks(
    context,
    added.filter(({ task }) => changed.has(task.id)),
  );
  for (const { task } of added) changed.delete(task.id);
  saveTasks(context, [...changed.values()]);
  context.database.last(
    `INSERT INTO hints (task_id, generation, delivery_id, element)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[])`,
    marked.map(({ task }) => task.id),
    marked.map(({ generation }) => generation),
    marked.map(({ deliveryId }) => deliveryId),
    marked.map(({ element }) => element),
  );
  closeEntries(context, closing);
}

interface Added {
  address: string;
  task: TaskRow;
}

interface TasksAt {
  tasks: Map<string, TaskRow>;
  added: Added[];
}

/**
 * The task of each address, locked; an address that nobody knows gets one, which is in no table yet. All is one write: what
 * is known is locked before the others are added, so that crossed deliveries wait for each other in one order.
 */
export async function tasksAt(context: Context, addresses: string[]): Promise<TasksAt> {
  const [tasks, rows] = await Promise.all([
    lockKnown(context, addresses),
    context.database.all(
      `INSERT INTO aliases (address, task_id)
       SELECT n.address, nextval(${taskIds}) FROM unnest($1::text[]) AS n (address)
       WHERE NOT EXISTS (SELECT 1 FROM aliases a WHERE a.address = n.address)
       ORDER BY n.address COLLATE "C" ON CONFLICT (address) DO NOTHING RETURNING address, task_id`,
      addresses,
    ),
  ]);
  const added = rows.map(({ address, task_id }) => ({
    address: String(address),
    task: unknownTask(task_id),
  }));
  for (const { address, task } of added) tasks.set(address, task);
  // Another process was faster: what it added can be seen now.
  const lost = addresses.filter((address) => !tasks.has(address));
  if (lost.length > 0) for (const [address, task] of await lockKnown(context, lost)) tasks.set(address, task);
  return { tasks, added };
}

function unknownTask(id: number): TaskRow {
  return {
    id,
    crowded: false,
    joined_to: null,
    state: 'done',
    generation: 0,
    lane: '',
    organization_id: null,
    due_at: null,
    read_at: null,
    first_hint_at: null,
    traceparent: null,
    hinted_organization_id: null,
    hinted_user: null,
    code: null,
  };
}

/** An address of a joined task is the resource's. Two addresses may share one row: they get the same object. */
async function lockKnown(context: Context, addresses: string[]): Promise<Map<string, TaskRow>> {
  const rows = await context.database.all(
    `SELECT a.address AS at, ${columns.replace(/\w+/g, 't.$&')}
     FROM aliases a JOIN tasks o ON o.id = a.task_id JOIN tasks t ON t.id = coalesce(o.joined_to, o.id)
     WHERE a.address = ANY($1::text[]) ORDER BY t.id FOR NO KEY UPDATE OF t`,
    addresses,
  );
  // Joined while its lock was waited for.
  const targets = await lockTargets(
    context,
    rows.flatMap(({ joined_to }) => (joined_to === null ? [] : [joined_to])),
  );
  const byId = new Map<number, TaskRow>(targets.map((task) => [task.id, task]));
  const tasks = new Map<string, TaskRow>();
  for (const { at, ...row } of rows) {
    const id = row.joined_to ?? row.id;
    if (!byId.has(id)) byId.set(id, row as TaskRow);
    tasks.set(at, byId.get(id)!);
  }
  return tasks;
}

async function lockTargets(context: Context, ids: number[]): Promise<TaskRow[]> {
  if (ids.length === 0) return [];
  const rows = await context.database.all(
    `SELECT ${columns} FROM tasks WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`,
    ids,
  );
  return rows as TaskRow[];
}

function raise(context: Context, task: TaskRow, { hint, receivedAtMs, traceparent }: Hint): void {
  task.crowded = task.state !== 'done';
  const wakes = task.state === 'done' || task.state === 'settling' || task.state === 'quarantined';
  // While the owner is not known, the latest claim says whose turn it takes.
  const lane = (task.organization_id === null ? hint.organizationId : null) ?? task.lane;
  if (wakes) {
    const nowMs = context.nowMs();
    task.due_at = Math.max(nowMs, freeAtMs(task.read_at, nowMs, context.settings.readGapMs));
    task.state = 'due';
  }
  if (task.due_at !== null && (wakes || lane !== task.lane)) context.lanes.expect(lane, task.due_at);
  task.lane = lane;
  task.generation += 1;
  task.first_hint_at ??= receivedAtMs;
  task.traceparent = traceparent;
  task.hinted_organization_id = hint.organizationId ?? task.hinted_organization_id;
  // Where nobody could read for the user before, one that names an organization and no user counts as the first.
  const isFirst = hint.organizationId !== null && task.code === 'no-connection';
  task.hinted_user = hint.user ?? (isFirst ? null : task.hinted_user);
}

/** Of a repeated delivery nothing is hinted: an address without a task would be nobody's for ever. */
function forgetAddresses(context: Context, added: Added[]): void {
  if (added.length === 0) return;
  context.database.last(
    'DELETE FROM aliases WHERE address = ANY($1::text[])',
    added.map(({ address }) => address),
  );
}

function addTasks(context: Context, added: Added[]): void {
  if (added.length === 0) return;
  const rows = added.map(({ task }) => task);
  context.database.last(
    `INSERT INTO tasks (id, address, generation, state, due_at, lane, first_hint_at, traceparent,
       hinted_organization_id, hinted_user, crowded)
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
       $8::text[], $9::text[], $10::text[], $11::boolean[])`,
    rows.map(({ id }) => id),
    added.map(({ address }) => address),
    ...mutable(rows),
  );
}

function saveTasks(context: Context, tasks: TaskRow[]): void {
  if (tasks.length === 0) return;
  context.database.last(
    `UPDATE tasks t SET generation = n.generation, state = n.state, due_at = n.due_at, lane = n.lane, settling = false,
       first_hint_at = n.first_hint_at, traceparent = n.traceparent, reconciled = false,
       hinted_organization_id = n.hinted_organization_id, hinted_user = n.hinted_user, crowded = n.crowded
     FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::text[],
       $9::text[], $10::boolean[]) AS n (id, generation, state, due_at, lane, first_hint_at, traceparent,
         hinted_organization_id, hinted_user, crowded)
     WHERE t.id = n.id`,
    tasks.map(({ id }) => id),
    ...mutable(tasks),
  );
}

function mutable(tasks: TaskRow[]): unknown[][] {
  return [
    tasks.map(({ generation }) => generation),
    tasks.map(({ state }) => state),
    tasks.map(({ due_at }) => due_at),
    tasks.map(({ lane }) => lane),
    tasks.map(({ first_hint_at }) => first_hint_at),
    tasks.map(({ traceparent }) => traceparent),
    tasks.map(({ hinted_organization_id }) => hinted_organization_id),
    tasks.map(({ hinted_user }) => hinted_user),
    tasks.map(({ crowded }) => crowded),
  ];
}
