/**
 * What waits for an operator, shown: notifications, unreadable deliveries, tasks and records, each with a stable reason.
 */
import type { QuarantineView } from '../../model/inspection';
import { entryIdOf, quarantineView, viewColumnsBy } from '../quarantine-view';
import type { Context } from './context';
import { readTask } from './read-task';

const columns = viewColumnsBy(readTask);

export async function listQuarantine(
  { database }: Context,
  filter: { limit: number; after: string | null },
): Promise<QuarantineView[]> {
  const rows = await database.all(
    `SELECT ${columns} FROM quarantine q WHERE q.id > $1 AND q.state = 'waiting' ORDER BY q.id LIMIT $2`,
    entryIdOf(filter.after) ?? 0,
    filter.limit,
  );
  return rows.map(quarantineView);
}

export async function showTogether(
  { database }: Context,
  calls: [string][],
): Promise<(QuarantineView | null)[]> {
  const ids = calls.map(([id]) => entryIdOf(id) ?? -1);
  const rows = await database.all(`SELECT ${columns} FROM quarantine q WHERE q.id = ANY($1::bigint[])`, ids);
  const views = new Map(rows.map((row) => [Number(row.id), quarantineView(row)]));
  return ids.map((id) => views.get(id) ?? null);
}
