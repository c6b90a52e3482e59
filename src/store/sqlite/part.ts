/**
 * An address was believed to be a resource's, and shows another: the hints that named it and that no read covers yet go where
 * it leads, and an address that does not name the resource by its id leads to a task of its own from then on. What reads have
 * decided stays as it is; the journal finds it by the task that the address led to before.
 */
import { besideIt, isCalled } from '../beside';
import type { Context } from './context';
import type { Row } from './database';
import { passHints } from './join';

/** The task then has another address to be read at; false when it has none, or nothing was parted. */
export function partAddress(context: Context, task: Row, shown: string): boolean {
  const { database } = context;
  const [taskId, resourceId] = [Number(task.id), String(task.resource_id)];
  const home = database.get(leadsTo, shown);
  if (home === undefined || (home.leads_to === taskId && isCalled(shown, resourceId))) return false;
  const waiting = database.all(waitingHints, taskId);
  const named = waiting.filter(({ address }) => address === shown);
  const others = waiting.filter(({ address }) => address !== shown);
  if (named.length === 0 && home.leads_to !== taskId) return false;
  const targetId =
    home.leads_to === taskId ? ownTask(context, task, shown, Number(home.task_id)) : Number(home.leads_to);
  const firstHintAt = (task.covered_hint_at ?? task.first_hint_at) as number | null;
  if (named.length > 0) passHints(context, task, named, targetId, firstHintAt);
  const misnamed = others.findLast(
    ({ address }) => address !== null && !isCalled(String(address), resourceId),
  );
  const beside = besideIt(shown, resourceId);
  const next =
    task.address === shown
      ? ((misnamed ?? others.findLast(({ address }) => address !== null))?.address ??
        (database.get(leadsTo, beside)?.leads_to === taskId ? beside : null))
      : task.address;
  const left = {
    address: next ?? task.address,
    generation:
      others.at(-1)?.generation ?? (named.length > 0 ? Number(named[0]!.generation) - 1 : task.generation),
    first_hint_at: others.length > 0 ? task.first_hint_at : null,
    covered_hint_at: others.length > 0 ? task.covered_hint_at : null,
  };
  Object.assign(task, left);
  database.run(
    'UPDATE tasks SET address = ?, generation = ?, first_hint_at = ?, covered_hint_at = ? WHERE id = ?',
    ...(Object.values(left) as (string | number | null)[]),
    taskId,
  );
  return next !== null;
}

const leadsTo = `SELECT a.task_id, coalesce(t.joined_to, t.id) AS leads_to FROM aliases a JOIN tasks t ON t.id = a.task_id
  WHERE a.address = ?`;

const waitingHints = `SELECT h.generation, h.delivery_id, h.element,
    d.elements ->> ('$[' || h.element || '].address') AS address
  FROM hints h LEFT JOIN deliveries d ON d.id = h.delivery_id
  WHERE h.task_id = ?1 AND h.generation > (SELECT coalesce(max(generation), 0) FROM reads WHERE task_id = ?1)
  ORDER BY h.generation`;

/** At rest until it is hinted. */
function ownTask(
  { database, organizations, undo }: Context,
  task: Row,
  address: string,
  formerId: number,
): number {
  const claimed = task.hinted_organization_id as string | null;
  if (claimed !== null) organizations.ensure(claimed, database, undo);
  const taskId = database.insert(
    `INSERT INTO tasks (address, lane, hinted_organization_id, hinted_user, state, generation)
     VALUES (?, ?, ?, ?, 'done', 0)`,
    address,
    claimed ?? '',
    claimed,
    task.hinted_user as string | null,
  );
  noteFormer(database, address, formerId);
  database.run('UPDATE aliases SET task_id = ? WHERE address = ?', taskId, address);
  return taskId;
}

/** A task that was joined to another one's, and that a later read shows to be a resource of its own. */
export function leaveJoined({ database }: Context, task: Row): void {
  noteFormer(database, String(task.address), Number(task.joined_to));
  database.run('UPDATE tasks SET joined_to = NULL WHERE id = ?', task.id as number);
}

function noteFormer(database: Context['database'], address: string, taskId: number): void {
  database.run(
    'INSERT INTO former_aliases (address, task_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
    address,
    taskId,
  );
}
