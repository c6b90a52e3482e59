/**
 * What became of each notification, derived from the journal: a hint's line is that of the read which covers its
 * generation; of several hints that one read covers the last is told by it and the others are merged into it. What was
 * decided is published only when it is sent. Read in pages, so that no statement is long.
 */
import { emptyLedger, type Ledger, type LedgerLine } from '../../model/ledger';
import { tellingFirst } from '../covered';
import { publishedLineBy, waitingLine } from '../ledger-lines';
import type { Context } from './context';
import { readTaskOf } from './read-task';

const pageTasks = 2000;
const pageDeliveries = 20_000;

/** All in one snapshot: nothing that comes, moves or is folded meanwhile is in one part and not in another. */
export async function ledger(context: Context): Promise<Ledger> {
  const total = emptyLedger();
  for (let after: number | null = 0; after !== null; ) after = await addDeliveries(context, total, after);
  for (let after: number | null = 0; after !== null; ) after = await addTasks(context, total, after);
  const discarded = await discardedNotifications(context);
  total.quarantined -= discarded;
  total.discarded += discarded;
  return total;
}

/** The lines of notifications that are no hints; the last delivery of the page, null when there are no more. */
async function addDeliveries({ database }: Context, total: Ledger, after: number): Promise<number | null> {
  const row = (await database.get(
    `SELECT max(id) AS last, sum(notifications) AS accepted, sum(acted) AS acted, sum(ignored) AS ignored,
       sum(quarantined) AS quarantined
     FROM (SELECT id, notifications, acted, ignored, quarantined FROM deliveries WHERE id > $1 ORDER BY id LIMIT $2) d`,
    after,
    pageDeliveries,
  ))!;
  for (const line of ['accepted', 'acted', 'ignored', 'quarantined'] as const)
    total[line] += Number(row[line] ?? 0);
  return row.last;
}

async function discardedNotifications({ database }: Context): Promise<number> {
  const row = await database.get(
    `SELECT count(*) AS discarded FROM quarantine WHERE what = 'notification' AND state = 'discarded'`,
  );
  return row!.discarded;
}

/**
 * The lines of the hints of a page of tasks, in one walk through hints and reads by their generations; folded ones
 * are of tasks that still wait, and of no delivery any more.
 */
async function addTasks({ database }: Context, total: Ledger, after: number): Promise<number | null> {
  const { last } = (await database.get(
    'SELECT max(id) AS last FROM (SELECT id FROM tasks WHERE id > $1 ORDER BY id LIMIT $2) t',
    after,
    pageTasks,
  ))!;
  if (last === null) return null;
  const rows = await database.all(
    `WITH decided AS MATERIALIZED (
       SELECT DISTINCT ON (task_id, generation) task_id, generation, outcome, event_id, at, swept
       FROM reads
       WHERE task_id > $1 AND task_id <= $2
       ORDER BY task_id, generation, ${tellingFirst}),
     marked AS (
       SELECT task_id, generation, true AS hinted FROM hints WHERE task_id > $1 AND task_id <= $2
       UNION ALL SELECT task_id, generation, false FROM decided),
     covered AS (
       SELECT task_id, generation, hinted, min(generation) FILTER (WHERE NOT hinted)
         OVER (PARTITION BY task_id ORDER BY generation DESC, hinted) AS by FROM marked),
     told AS (
       SELECT CASE
         WHEN c.by IS NULL THEN ${waitingLine}
         WHEN c.generation < c.by AND d.outcome <> 'discarded' THEN 'merged'
         WHEN d.outcome = 'published' THEN ${publishedLineBy(readTaskOf('e'))}
         ELSE d.outcome END AS line
       FROM covered c JOIN tasks t ON t.id = c.task_id LEFT JOIN organizations o ON o.id = t.lane
       LEFT JOIN decided d ON d.task_id = c.task_id AND d.generation = c.by
       LEFT JOIN outbox e ON e.event_id = d.event_id WHERE c.hinted)
     SELECT line, count(*) AS count, false AS folded FROM told GROUP BY line
     UNION ALL
     SELECT ${waitingLine}, sum(t.folded)::bigint, true FROM tasks t LEFT JOIN organizations o ON o.id = t.lane
     WHERE t.id > $1 AND t.id <= $2 AND t.folded > 0 GROUP BY 1`,
    after,
    last,
  );
  for (const { line, count, folded } of rows) {
    if (line !== null) total[line as LedgerLine] += count;
    if (folded) total.accepted += count;
  }
  return last;
}
