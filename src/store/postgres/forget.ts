/**
 * Forgetting an organization: what we have to do with it ends, on record. Its rows stay, so that epochs and sequences go
 * on rising; its connections were ended before, where they saw nobody else. What waits for it is given up page by page.
 */
import {
  type CauseSet,
  type Forgotten,
  type Observation,
  type Observed,
  transition,
} from '../../model/organization';
import { Problem } from '../../model/problem';
import { finality, forgottenReason } from '../covered';
import { type Forgetting, type ForgettingPage, forgetRest, forgettingName } from '../forgetting';
import { withoutName } from '../forgotten-name';
import { listAlerts, saveAlerts } from './alerts';
import { touchConnections } from './connections';
import type { Context, InTransaction } from './context';
import { noteForgetting, takeForgotten } from './forgetting';
import { listWhole } from './list-whole';
import { type ObservedRow, writeTransitions } from './observe';
import { lockOrganizations } from './organization-rows';
import { isWaiting, storable } from './quarantine-entries';
import { lockNumbers } from './server/lock-numbers';

/** Given up by one transaction: deliveries of the same resources wait for it. */
const pageTasks = 500;
/** Looked at by one transaction, of whomever they are. */
const walkedTasks = 20_000;

/** Throws `store.closed` where the store is closed between two pages, `command.refused` where somebody else asks meanwhile. */
export async function forgetOrganization(
  inTransaction: InTransaction,
  organizationId: string,
): Promise<Forgotten | null> {
  const begun = await inTransaction((context) => begin(context, storable(organizationId) ?? ''));
  return forgetRest(begun, (page) => inTransaction((context) => goOn(context, page)));
}

/** Once this is committed nothing of it is read: no claim is under way that saw its lane open, and no ending counts. */
async function begin(context: Context, id: string): Promise<Forgetting | null> {
  const { database } = context;
  await database.run('SELECT pg_advisory_xact_lock($1)', lockNumbers.claim);
  const row = (await lockOrganizations(context, [id])).get(id) as ObservedRow | undefined;
  if (row === undefined) return null;
  const observed = await endAccess(context, row);
  const last = await database.get('SELECT coalesce(max(id), 0) AS id FROM deliveries');
  const before = await takeForgotten(context, forgettingName(id, row.epoch));
  const taken = await discardTaken(context, id);
  const page = await discardPage(context, {
    ...{ organizationId: id, epoch: row.epoch + 1, untilDelivery: last!.id as number },
    ...{ afterTask: 0, discarded: before + taken },
  });
  return { ...observed, page };
}

async function endAccess(context: Context, row: ObservedRow): Promise<Observed> {
  const { database } = context;
  const { id } = row;
  const found = { cause: 'not-connected', actionUrl: null, message: null } as const;
  const observation: Observation = { organizationId: id, epoch: row.epoch, found, by: 'operator' };
  const next = transition(JSON.parse(row.causes) as CauseSet, observation, context.nowMs());
  const { name } = (await database.get('SELECT name FROM organizations WHERE id = $1', id))!;
  // Whatever was asked before is an answer from an earlier epoch.
  const epoch = row.epoch + 1;
  await database.run(
    `UPDATE organizations SET name = NULL, causes = $2, access = $3, epoch = $4, since = $5, was_read = false,
       probe_at = NULL, probe_interval_ms = NULL, probed_at = 0, probe_lease_until = 0, refused_address = NULL,
       known_address = NULL, connection_id = NULL, announced = NULL, action_due_at = NULL,
       action_met = NULL WHERE id = $1`,
    ...[id, JSON.stringify(next.causes), next.access, epoch, context.nowMs()],
  );
  await database.run('DELETE FROM sights WHERE organization_id = $1', id);
  await saveAlerts(context, withoutName(await listAlerts(context), id, name));
  await touchConnections(context);
  context.lanes.open(id, null);
  await listWhole(context, [id]);
  const told = { id, epoch, name: null, observation, next, previousAccess: next.previous };
  await writeTransitions(context, [told]);
  return { observation, transition: next };
}

/** The page after that one. */
async function goOn(context: Context, page: ForgettingPage): Promise<ForgettingPage | null> {
  if (context.isClosing()) throw new Problem('store.closed', 'the store is closed');
  const { organizationId, epoch } = page;
  const row = (await lockOrganizations(context, [organizationId])).get(organizationId);
  return row?.epoch === epoch ? discardPage(context, page) : null;
}

/** What is read at this moment: few, of which none may end any more. */
async function discardTaken(context: Context, lane: string): Promise<number> {
  const taken = await context.database.all(
    `SELECT id FROM tasks WHERE lease_until IS NOT NULL AND lane = $1 AND state = 'taken'
     ORDER BY id FOR NO KEY UPDATE`,
    lane,
  );
  return discard(
    context,
    taken.map(({ id }) => id),
  );
}

/** In the order of the tasks, which nothing changes: what is made due or set aside meanwhile is met all the same. */
async function discardPage(context: Context, page: ForgettingPage): Promise<ForgettingPage> {
  const { database } = context;
  const { organizationId, untilDelivery, afterTask } = page;
  const walked = await database.get(
    `SELECT count(*)::int AS count, max(id) AS last FROM (
       SELECT id FROM tasks WHERE id > $1 ORDER BY id LIMIT ${walkedTasks}) w`,
    afterTask,
  );
  const locked = await database.all(
    `SELECT id FROM tasks WHERE id > $2 AND id <= $3 AND lane = $1
       AND (due_at IS NOT NULL OR state IN ('taken', 'quarantined')) ORDER BY id LIMIT ${pageTasks}
     FOR NO KEY UPDATE`,
    organizationId,
    afterTask,
    walked!.last ?? 0,
  );
  // Asked once they are locked: a delivery that was waited for is seen.
  const waiting = await database.all(
    `SELECT id FROM unnest($1::bigint[]) AS n (id) WHERE coalesce((
       SELECT delivery_id FROM hints h WHERE h.task_id = n.id ORDER BY h.generation DESC LIMIT 1), 0) <= $2
     ORDER BY id`,
    locked.map(({ id }) => id),
    untilDelivery,
  );
  const count = await discard(
    context,
    waiting.map(({ id }) => id),
  );
  const last = locked.length === pageTasks ? (locked.at(-1)!.id as number) : (walked!.last as number);
  const isLast = locked.length < pageTasks && walked!.count < walkedTasks;
  const discarded = page.discarded + count;
  await noteForgetting(context, page, isLast ? null : discarded);
  return { ...page, afterTask: isLast ? null : last, discarded };
}

/** A hint that no read covers yet is discarded; what settled had its line before. The tasks are locked. */
async function discard({ database, nowMs }: Context, ids: number[]): Promise<number> {
  if (ids.length === 0) return 0;
  await database.run(
    `WITH ended AS (
       UPDATE tasks SET state = 'done', due_at = NULL, fence = fence + 1, lease_until = NULL, taken_lane = NULL,
         taken_epoch = NULL, settling = false, crowded = false, attempts = 0, aged_ms = 0, failed_at = NULL,
         own = false, absent_since = NULL, gone_allowed = false, code = NULL, detail = NULL, first_hint_at = NULL,
         covered_hint_at = NULL, folded = 0 WHERE id = ANY($1::bigint[])
       RETURNING id, fence, generation),
     -- No settling read comes any more.
     settled AS (
       UPDATE reads r SET finality = ${finality.final} WHERE r.task_id = ANY($1::bigint[]) AND r.finality = ${finality.open}
         AND ((r.task_id, r.generation) IN (SELECT id, generation FROM ended)) IS TRUE),
     given_up AS (
       UPDATE quarantine SET state = 'discarded' WHERE task_id = ANY($1::bigint[]) AND ${isWaiting})
     INSERT INTO reads (task_id, fence, generation, outcome, reason, at, finality)
     SELECT id, fence, generation, 'discarded', '${forgottenReason}', $2, ${finality.final} FROM ended e WHERE (
       SELECT true FROM reads r WHERE r.task_id = e.id AND r.generation >= e.generation LIMIT 1) IS NULL`,
    ids,
    nowMs(),
  );
  return ids.length;
}
