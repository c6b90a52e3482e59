/**
 * Rows of tasks as endings change them: loaded under their locks, changed in memory, saved together.
 */
import type { ResourceKind } from '../../model/resource';
import type { Context } from './context';
import { storable } from './quarantine-entries';
import { isAnyUnclaimed } from './unclaimed';

export type TaskRow = {
  id: number;
  kind: ResourceKind | null;
  resource_id: string | null;
  address: string;
  organization_id: string | null;
  lane: string;
  hinted_organization_id: string | null;
  connection_id: string | null;
  shown_by: string | null;
  state: string;
  joined_to: number | null;
  /** What it was joined to last before that, or before it came to be a resource's own: hints of its address are with that one. */
  joined_before: number | null;
  generation: number;
  due_at: number | null;
  fence: number;
  lease_until: number | null;
  taken_lane: string | null;
  taken_epoch: number | null;
  read_at: number | null;
  settling: boolean;
  crowded: boolean;
  attempts: number;
  aged_ms: number;
  failed_at: number | null;
  own: boolean;
  absent_since: number | null;
  gone_allowed: boolean;
  code: string | null;
  detail: string | null;
  first_hint_at: number | null;
  covered_hint_at: number | null;
  traceparent: string | null;
  reconciled: boolean;
  /** null: the next revision, given when the row is saved. */
  accepted_revision: number | null;
  published: boolean;
  deleted: boolean;
  archived: boolean;
  content_hash: string | null;
  wire_hash: string | null;
  normalizer_version: number | null;
  modified_time: string | null;
  folded: number;
  /** The listing that held it last, and in which run. */
  listed_in: number | null;
  listed_run: number;
};

/** A row as it was loaded. */
export type LockedTask = TaskRow & { any_unclaimed: boolean };

const saved = [
  ...['kind', 'resource_id', 'address', 'organization_id', 'hinted_organization_id', 'lane', 'connection_id'],
  ...['shown_by', 'state', 'joined_to', 'joined_before'],
  ...[
    'generation',
    'due_at',
    'fence',
    'lease_until',
    'taken_lane',
    'taken_epoch',
    'settling',
    'crowded',
    'attempts',
  ],
  ...['aged_ms', 'failed_at', 'own', 'absent_since', 'gone_allowed', 'code', 'detail', 'first_hint_at'],
  ...['covered_hint_at', 'traceparent', 'reconciled', 'published', 'deleted', 'archived', 'content_hash'],
  ...['wire_hash', 'normalizer_version', 'modified_time', 'folded', 'listed_in', 'listed_run'],
];
const columns = ['id', 'read_at', 'accepted_revision', ...saved].join(', ');

/** A task that is made here: at rest, and nobody's yet. */
export function newTask(id: number, address: string): TaskRow {
  return {
    id,
    address,
    lane: '',
    state: 'done',
    generation: 0,
    fence: 0,
    attempts: 0,
    aged_ms: 0,
    folded: 0,
    kind: null,
    resource_id: null,
    organization_id: null,
    hinted_organization_id: null,
    connection_id: null,
    shown_by: null,
    joined_to: null,
    joined_before: null,
    due_at: null,
    lease_until: null,
    taken_lane: null,
    taken_epoch: null,
    read_at: null,
    settling: false,
    crowded: false,
    failed_at: null,
    own: false,
    absent_since: null,
    gone_allowed: false,
    code: null,
    detail: null,
    first_hint_at: null,
    covered_hint_at: null,
    traceparent: null,
    reconciled: false,
    accepted_revision: 0,
    published: false,
    deleted: false,
    archived: false,
    content_hash: null,
    wire_hash: null,
    normalizer_version: null,
    modified_time: null,
    listed_in: null,
    listed_run: 0,
  };
}

/** The rows of these tasks, of these resources, and of what the `absent` are joined to, locked in the order of their ids. */
export async function lockTasks(
  context: Context,
  ids: number[],
  resources: { kind: ResourceKind; id: string }[],
  absent: number[],
): Promise<LockedTask[]> {
  const rows = await context.database.all(
    `SELECT ${columns}, ${isAnyUnclaimed} AS any_unclaimed FROM tasks
     WHERE id = ANY($1::bigint[] || ARRAY(
       SELECT t.id FROM unnest($2::text[], $3::text[]) AS n (kind, resource_id)
       CROSS JOIN LATERAL (SELECT id FROM tasks WHERE kind = n.kind AND resource_id = n.resource_id OFFSET 0) t)
       || ARRAY(SELECT joined_to FROM tasks WHERE id = ANY($4::bigint[])))
     ORDER BY id FOR NO KEY UPDATE`,
    ids,
    resources.map(({ kind }) => kind),
    resources.map(({ id }) => id),
    absent,
  );
  return rows as LockedTask[];
}

/** An accepted read takes its revision here: after the read ended, and before anybody can see what it found. */
export async function saveTasks(context: Context, tasks: TaskRow[]): Promise<void> {
  if (tasks.length === 0) return;
  const rows = tasks.map((task) => ({ ...task, detail: storable(task.detail) }));
  // The ids beside their rows: without them a server that counted few tasks when it made its plan reads all that came since.
  await context.database.run(
    `UPDATE tasks t SET ${saved.map((name) => `${name} = n.${name}`).join(', ')},
       accepted_revision = coalesce(n.accepted_revision, nextval('revision'))
     FROM json_populate_recordset(NULL::tasks, $1::json) n WHERE t.id = n.id AND t.id = ANY($2::bigint[])`,
    JSON.stringify(rows),
    rows.map(({ id }) => id),
  );
}

/** The sequence that they come from, looked up once a statement. */
export const taskIds = "(SELECT pg_get_serial_sequence('tasks', 'id')::regclass)";

/** Ids for tasks that are about to be made. */
export async function nextTaskIds({ database }: Context, count: number): Promise<number[]> {
  if (count === 0) return [];
  const rows = await database.all(`SELECT nextval(${taskIds}) AS id FROM generate_series(1, $1)`, count);
  return rows.map(({ id }) => id as number);
}

export async function insertTasks({ database }: Context, tasks: TaskRow[]): Promise<void> {
  if (tasks.length === 0) return;
  const given = ['id', ...saved].join(', ');
  await database.run(
    `INSERT INTO tasks (${given}, accepted_revision)
     SELECT ${given}, coalesce(n.accepted_revision, nextval('revision'))
     FROM json_populate_recordset(NULL::tasks, $1::json) n`,
    JSON.stringify(tasks),
  );
}
