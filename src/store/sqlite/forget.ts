/**
 * Forgetting an organization: what we have to do with it ends, on record. Its rows stay, so that epochs and sequences go
 * on rising; its connections were ended before, where they saw nobody else.
 */
import { type CauseSet, type Forgotten, type Observation, transition } from '../../model/organization';
import { finality, forgottenReason } from '../covered';
import { withoutName } from '../forgotten-name';
import { touchConnections } from './connections';
import type { Context } from './context';
import { listAlerts, saveAlerts } from './inspect';
import { endLease } from './leases';
import { listWhole } from './list-whole';
import { writeTransition } from './observe';

export function forgetOrganization(context: Context, organizationId: string): Forgotten | null {
  const { database } = context;
  const organization = context.organizations.get(organizationId);
  if (organization === undefined) return null;
  const row = database.get('SELECT name, causes FROM organizations WHERE id = ?', organizationId)!;
  const found = { cause: 'not-connected', actionUrl: null, message: null } as const;
  const observation: Observation = { organizationId, epoch: organization.epoch, found, by: 'operator' };
  const next = transition(JSON.parse(String(row.causes)) as CauseSet, observation, context.nowMs());
  context.organizations.remember(organization);
  // Whatever was asked before is an answer from an earlier epoch.
  Object.assign(organization, {
    access: next.access,
    epoch: organization.epoch + 1,
    heldUntilMs: 0,
    probeAtMs: null,
    probeLeaseUntilMs: 0,
    probedAtMs: 0,
    wasRead: false,
  });
  database.run(
    `UPDATE organizations SET name = NULL, causes = ?, access = ?, epoch = ?, since = ?, was_read = 0, probe_at = NULL,
       probe_interval_ms = NULL, probed_at = NULL, refused_address = NULL, known_address = NULL, connection_id = NULL,
       announced = NULL, action_due_at = NULL, action_met = NULL WHERE id = ?`,
    JSON.stringify(next.causes),
    next.access,
    organization.epoch,
    context.nowMs(),
    organizationId,
  );
  database.run('DELETE FROM sights WHERE organization_id = ?', organizationId);
  saveAlerts(context, withoutName(listAlerts(context), organizationId, row.name as string | null));
  touchConnections(context);
  writeTransition(context, organization, {
    ...{ observation, next, previousAccess: next.previous, name: null },
  });
  const discarded = discardWork(context, organizationId);
  listWhole(context, [organizationId]);
  return { observation, transition: next, discarded };
}

/** A hint that no read covers yet is discarded; what settled had its line before. */
function discardWork(context: Context, lane: string): number {
  const { database } = context;
  const tasks = database.all(
    `UPDATE tasks SET state = 'done', due_at = NULL, fence = fence + 1, settling = 0, crowded = 0, attempts = 0,
       aged_ms = 0, failed_at = NULL, own = 0, absent_since = NULL, gone_allowed = 0, code = NULL, detail = NULL,
       first_hint_at = NULL, covered_hint_at = NULL, folded = 0
     WHERE lane = ? AND (due_at IS NOT NULL OR state IN ('taken', 'quarantined')) RETURNING id, fence, generation`,
    lane,
  );
  for (const task of tasks) {
    const id = Number(task.id);
    const lease = context.leases.get(id);
    if (lease !== undefined) endLease(context, id, lease);
    database.run(
      `INSERT INTO reads (task_id, fence, generation, outcome, reason, at, finality)
       SELECT ?1, ?2, ?3, 'discarded', '${forgottenReason}', ?4, ${finality.final} WHERE NOT EXISTS (SELECT 1 FROM reads WHERE task_id = ?1 AND generation >= ?3)`,
      id,
      task.fence as number,
      task.generation as number,
      context.nowMs(),
    );
    // No settling read comes any more.
    database.run(
      `UPDATE reads SET finality = ${finality.final} WHERE task_id = ? AND generation = ? AND finality = ${finality.open}`,
      id,
      task.generation as number,
    );
    database.run(`UPDATE quarantine SET state = 'discarded' WHERE task_id = ? AND state = 'waiting'`, id);
  }
  return tasks.length;
}
