/**
 * An address was believed to be a resource's, and shows another: the hints that named it and that no read covers yet go where
 * it leads, and an address that does not name the resource by its id leads to a task of its own from then on. What reads have
 * decided stays as it is; the journal finds it by the task that the address led to before.
 */
import { besideIt, isCalled } from '../beside';
import type { Context } from './context';
import { passHints } from './join';
import type { Slate } from './slate';
import { lockTasks, type TaskRow } from './task-rows';

/** The task then has another address to be read at; false when it has none, or nothing was parted. */
export async function partAddress(slate: Slate, task: TaskRow, shown: string): Promise<boolean> {
  const home = await leadingTo(slate, shown);
  const isOwn = home?.leadsTo === task.id;
  const id = task.resource_id!;
  if (home === null || (isOwn && isCalled(shown, id))) return false;
  const waiting = await waitingHints(slate.context, task.id);
  const named = waiting.filter(({ address }) => address === shown);
  const others = waiting.filter(({ address }) => address !== shown);
  if (named.length === 0 && !isOwn) return false;
  const targetId = isOwn ? await ownTask(slate.context, task, shown, home.taskId) : home.leadsTo;
  if (named.length > 0) {
    const generations = named.map(({ generation }) => generation);
    const firstHintAt = task.covered_hint_at ?? task.first_hint_at;
    await passHints(slate, task, generations, await loaded(slate, targetId), firstHintAt);
  }
  const misnamed = others.findLast(({ address }) => address !== null && !isCalled(address, id));
  const beside = besideIt(shown, id);
  const next =
    task.address === shown
      ? ((misnamed ?? others.findLast(({ address }) => address !== null))?.address ??
        ((await leadingTo(slate, beside))?.leadsTo === task.id ? beside : null))
      : task.address;
  slate.change(task, {
    address: next ?? task.address,
    generation: others.at(-1)?.generation ?? (named.length > 0 ? named[0]!.generation - 1 : task.generation),
    ...(others.length === 0 && { first_hint_at: null, covered_hint_at: null }),
  });
  return next !== null;
}

async function leadingTo(
  { context, tasks }: Slate,
  address: string,
): Promise<{ taskId: number; leadsTo: number } | null> {
  const row = await context.database.get(
    'SELECT t.id, t.joined_to FROM aliases a JOIN tasks t ON t.id = a.task_id WHERE a.address = $1',
    address,
  );
  if (row === undefined) return null;
  // It may have been joined on this very slate.
  return { taskId: row.id, leadsTo: (tasks.get(row.id) ?? row).joined_to ?? row.id };
}

/** With the addresses that they named; null where that cannot be read from the journal. */
async function waitingHints({ database }: Context, taskId: number) {
  const rows = await database.all(
    `SELECT h.generation, CASE WHEN d.elements !~* '\\\\u(0000|d[89a-f])'
       THEN d.elements::json -> h.element ->> 'address' END AS address
     FROM hints h LEFT JOIN deliveries d ON d.id = h.delivery_id
     WHERE h.task_id = $1 AND h.generation > (SELECT coalesce(max(generation), 0) FROM reads WHERE task_id = $1)
     ORDER BY h.generation`,
    taskId,
  );
  return rows as { generation: number; address: string | null }[];
}

/** At rest until it is hinted. */
async function ownTask(
  { database }: Context,
  task: TaskRow,
  address: string,
  formerId: number,
): Promise<number> {
  const { id } = (await database.get(
    `INSERT INTO tasks (address, lane, hinted_organization_id, hinted_user, state, generation)
     SELECT $1, coalesce(hinted_organization_id, ''), hinted_organization_id, hinted_user, 'done', 0
     FROM tasks WHERE id = $2 RETURNING id`,
    address,
    task.id,
  ))!;
  await noteFormer(database, address, formerId);
  await database.run('UPDATE aliases SET task_id = $1 WHERE address = $2', id, address);
  return id;
}

/** Its row as this slate has it, locked. */
async function loaded(slate: Slate, id: number): Promise<TaskRow> {
  const known = slate.tasks.get(id);
  if (known !== undefined) return known;
  const [row] = await lockTasks(slate.context, [id], []);
  slate.tasks.set(id, row!);
  return row!;
}

/** A task that was joined to another one's, and that a later read shows to be a resource of its own. */
export async function leaveJoined(slate: Slate, task: TaskRow): Promise<void> {
  await noteFormer(slate.context.database, task.address, task.joined_to!);
  slate.change(task, { joined_to: null });
}

async function noteFormer(database: Context['database'], address: string, taskId: number): Promise<void> {
  await database.run(
    'INSERT INTO former_aliases (address, task_id) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    address,
    taskId,
  );
}
