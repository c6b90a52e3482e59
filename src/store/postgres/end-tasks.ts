/**
 * Endings in sets: those that come together are decided on one slate, in the order of the calls, in one transaction.
 * Organizations that an ending may change are locked before tasks, as everybody does.
 */
import type { FinishedGone, FinishedRead, FoundAbsent, GivenBack } from '../../model/task';
import type { Context } from './context';
import { finish } from './finish';
import { ensureOrganizations, lockOrganizations } from './organization-rows';
import { finishGone, foundAbsent, giveBack, postpone, quarantineTask, releaseLeases } from './other-endings';
import type { Row } from './server/database';
import { Slate } from './slate';
import { lockTasks } from './task-rows';
import { lockUnclaimed } from './unclaimed';

/** Each decides on the slate; what it returns is what the store's promise resolves to. */
export const endings = {
  finish,
  finishGone,
  foundAbsent,
  postpone,
  giveBack,
  quarantineTask,
  releaseLeases,
};

export interface EndingCall {
  verb: keyof typeof endings;
  args: unknown[];
}

export async function endTasks(context: Context, calls: EndingCall[]): Promise<unknown[]> {
  const organizations = await organizationsOf(context, calls);
  const held = calls.flatMap(({ args }) => args[0] as { taskId: number } | { taskId: number }[]);
  const drafts = argumentsOf<FinishedRead>(calls, 'finish').map(({ draft }) => draft);
  const absent = [
    ...argumentsOf<FoundAbsent>(calls, 'foundAbsent'),
    ...argumentsOf<FinishedGone>(calls, 'finishGone'),
  ];
  const named = absent.flatMap(({ named }) => named ?? []);
  const rows = await lockTasks(
    context,
    held.map(({ taskId }) => taskId),
    [...drafts, ...named],
    absent.map(({ taskId }) => taskId),
  );
  const unclaimed = rows.some((row) => row.any_unclaimed)
    ? await lockUnclaimed(context, [...drafts, ...named])
    : undefined;
  const slate = new Slate(context, new Map(rows.map((row) => [row.id, row])), organizations, unclaimed);
  const results: unknown[] = [];
  for (const { verb, args } of calls) {
    const decide = endings[verb] as (slate: Slate, ...args: unknown[]) => unknown;
    results.push(await decide(slate, ...args));
  }
  await slate.write();
  return results;
}

function argumentsOf<Argument>(calls: EndingCall[], wanted: EndingCall['verb']): Argument[] {
  return calls.filter(({ verb }) => verb === wanted).map(({ args }) => args[0] as Argument);
}

/** The rows of the organizations that the endings are about; locked are those that one of them may change. */
async function organizationsOf(context: Context, calls: EndingCall[]): Promise<Map<string, Row>> {
  const read = argumentsOf<FinishedRead>(calls, 'finish').map(({ draft }) => draft.organizationId);
  const refused = argumentsOf<GivenBack>(calls, 'giveBack').flatMap(
    ({ probe }) => probe?.organizationId ?? [],
  );
  const gone = await ownersOf(
    context,
    argumentsOf<FinishedGone>(calls, 'finishGone').map(({ taskId }) => taskId),
  );
  const known = await readable(context, read);
  const unread = read.filter((id) => known.get(id)?.known_address == null);
  await ensureOrganizations(context, [...unread, ...refused]);
  const locked = await lockOrganizations(context, [...unread, ...refused, ...gone]);
  return new Map([...known, ...locked]);
}

async function readable({ database }: Context, ids: string[]): Promise<Map<string, Row>> {
  if (ids.length === 0) return new Map();
  const rows = await database.all('SELECT id, known_address FROM organizations WHERE id = ANY($1::text[])', [
    ...new Set(ids),
  ]);
  return new Map(rows.map((row) => [row.id, row]));
}

async function ownersOf({ database }: Context, taskIds: number[]): Promise<string[]> {
  if (taskIds.length === 0) return [];
  const rows = await database.all(
    'SELECT DISTINCT organization_id AS id FROM tasks WHERE id = ANY($1::bigint[])',
    taskIds,
  );
  return rows.flatMap(({ id }) => (id === null ? [] : String(id)));
}
