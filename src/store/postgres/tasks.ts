/**
 * Tasks for people: pages of them, and how many there are of what. Nothing here changes a task.
 */

import type { Inspection, TaskView } from '../../model/inspection';
import { countsByAccess } from '../organization-row';
import { taskView } from '../task-row';
import type { Context } from './context';
import { unsentCounted } from './outbox';

const shownState = `CASE WHEN t.due_at IS NOT NULL AND o.access IS NOT NULL AND o.access <> 'active' THEN 'parked'
  ELSE t.state END`;

export async function listTasks(
  { database }: Context,
  filter: { state: TaskView['state'] | null; limit: number; after: number },
): Promise<TaskView[]> {
  const rows = await database.all(
    `SELECT t.id, t.address, t.organization_id, t.hinted_organization_id, t.kind, t.resource_id, t.generation, t.attempts,
       t.due_at, t.code, t.detail, ${shownState} AS shown
     FROM tasks t LEFT JOIN organizations o ON o.id = t.lane
     WHERE t.id > $1 AND (t.joined_to IS NULL OR t.state <> 'done') AND ($2::text IS NULL OR ${shownState} = $2)
     ORDER BY t.id LIMIT $3`,
    filter.after,
    filter.state,
    filter.limit,
  );
  return rows.map(taskView);
}

/** What waits, and what is being read: each by an index of its own. A task is never both. */
const toRead = ['due_at', 'lease_until']
  .map(
    (given) => `SELECT lane, state, due_at, coalesce(covered_hint_at, first_hint_at) AS hinted_at
    FROM tasks WHERE ${given} IS NOT NULL`,
  )
  .join(' UNION ALL ');

/**
 * One statement: what it counts is of one moment. What settles is not old before its time, and what is being read still
 * waits. After a block its time begins anew.
 */
export async function counts(context: Context): ReturnType<Inspection['counts']> {
  const nowMs = context.nowMs();
  const row = (await context.database.get(
    `WITH waiting AS (
       SELECT coalesce(o.access, 'active') = 'active' AS active, count(t.due_at) AS waiting,
         count(*) FILTER (WHERE t.due_at <= $1) AS due,
         min(greatest(t.hinted_at, o.since)) FILTER (
           WHERE t.hinted_at IS NOT NULL AND (t.due_at <= $1 OR t.state <> 'settling')) AS oldest
       FROM (${toRead}) t LEFT JOIN organizations o ON o.id = t.lane GROUP BY 1)
     SELECT (SELECT due FROM waiting WHERE active) AS due, (SELECT waiting FROM waiting WHERE active) AS waiting,
       (SELECT oldest FROM waiting WHERE active) AS oldest, (SELECT waiting FROM waiting WHERE NOT active) AS parked,
       (SELECT count(*) FROM quarantine WHERE state = 'waiting') AS quarantined,
       ${unsentCounted} AS unsent`,
    nowMs,
  ))!;
  const organizations = await context.database.all(
    `SELECT access, count(*) AS count FROM organizations
     WHERE access <> 'active' OR was_read OR connection_id IS NOT NULL GROUP BY access`,
  );
  return {
    due: row.due ?? 0,
    waiting: row.waiting ?? 0,
    parked: row.parked ?? 0,
    quarantined: row.quarantined,
    unsent: row.unsent,
    oldestWaitingAgeMs: row.oldest === null ? null : nowMs - row.oldest,
    organizations: countsByAccess(organizations),
  };
}
