/**
 * Forgetting an organization: what we have to do with it ends, on record. Its rows stay, so that epochs and sequences go
 * on rising; its connections were ended before, where they saw nobody else.
 */
import { type CauseSet, type Forgotten, type Observation, transition } from '../../model/organization';
import { finality, forgottenReason } from '../covered';
import { withoutName } from '../forgotten-name';
import { listAlerts, saveAlerts } from './alerts';
import { touchConnections } from './connections';
import type { Context } from './context';
import { listWhole } from './list-whole';
import { type ObservedRow, writeTransitions } from './observe';
import { lockOrganizations } from './organization-rows';
import { isWaiting, storable } from './quarantine-entries';

export async function forgetOrganization(
  context: Context,
  organizationId: string,
): Promise<Forgotten | null> {
  const { database } = context;
  const id = storable(organizationId) ?? '';
  const row = (await lockOrganizations(context, [id])).get(id) as ObservedRow | undefined;
  if (row === undefined) return null;
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
  const discarded = await discardWork(context, id);
  await listWhole(context, [id]);
  const told = { id, epoch, name: null, observation, next, previousAccess: next.previous };
  await writeTransitions(context, [told]);
  return { observation, transition: next, discarded };
}

/** A hint that no read covers yet is discarded; what settled had its line before. */
async function discardWork({ database, nowMs }: Context, lane: string): Promise<number> {
  const waiting = await database.all(
    `SELECT id FROM tasks WHERE lane = $1 AND (due_at IS NOT NULL OR state IN ('taken', 'quarantined'))
     ORDER BY id FOR NO KEY UPDATE`,
    lane,
  );
  const ids = waiting.map(({ id }) => id);
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
