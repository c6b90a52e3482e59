/**
 * Forgetting an organization: what we have to do with it ends, on record. Its rows stay, so that epochs and sequences go
 * on rising; its connections were ended before, where they saw nobody else. What waits for it is given up page by page, since
 * deliveries wait for each verb: whoever asked goes on from page to page.
 */
import { type CauseSet, type Observation, type Observed, transition } from '../../model/organization';
import { finality, forgottenReason } from '../covered';
import { type Forgetting, type ForgettingPage, forgettingName } from '../forgetting';
import { withoutName } from '../forgotten-name';
import { touchConnections } from './connections';
import type { Context } from './context';
import { listAlerts, saveAlerts } from './inspect';
import { endLease } from './leases';
import { listWhole } from './list-whole';
import { writeTransition } from './observe';
import type { CachedOrganization } from './organization-cache';

/** Given up by one verb. */
const pageTasks = 250;
/** Looked at by one verb, of whomever they are. */
const walkedTasks = 5000;

/** Ends its access and what is being read of it, and makes the first page. */
export function forgetOrganization(context: Context, organizationId: string): Forgetting | null {
  const { database } = context;
  const organization = context.organizations.get(organizationId);
  if (organization === undefined) return null;
  const before = database.get(
    'DELETE FROM meta WHERE name = ? RETURNING value',
    forgettingName(organizationId, organization.epoch),
  );
  const observed = endAccess(context, organization);
  const last = database.get('SELECT coalesce(max(id), 0) AS id FROM deliveries')!;
  const taken = discardTaken(context, organizationId);
  const page = discardPage(context, organization, {
    ...{ organizationId, epoch: organization.epoch, untilDelivery: Number(last.id) },
    ...{ afterTask: 0, discarded: Number(before?.value ?? 0) + taken },
  });
  return { ...observed, page };
}

/** The page after that one; null where somebody asked anew meanwhile. */
export function forgetOn(context: Context, page: ForgettingPage): ForgettingPage | null {
  const organization = context.organizations.get(page.organizationId);
  return organization?.epoch === page.epoch ? discardPage(context, organization, page) : null;
}

function endAccess(context: Context, organization: CachedOrganization): Observed {
  const { database } = context;
  const organizationId = organization.id;
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
  listWhole(context, [organizationId]);
  return { observation, transition: next };
}

/** What is read at this moment: few, of which none may end any more. */
function discardTaken(context: Context, lane: string): number {
  const isOfLane = (id: number) =>
    context.database.get(`SELECT 1 FROM tasks WHERE id = ? AND lane = ? AND state = 'taken'`, id, lane);
  const taken = [...context.leases.keys()].filter((id) => isOfLane(id) !== undefined);
  for (const id of taken) discard(context, id);
  return taken.length;
}

/** In the order of the tasks, which nothing changes: what is made due or set aside meanwhile is met all the same. */
function discardPage(
  context: Context,
  organization: CachedOrganization,
  page: ForgettingPage,
): ForgettingPage {
  const { database } = context;
  const walked = database.get(
    `SELECT count(*) AS count, max(id) AS last FROM (SELECT id FROM tasks WHERE id > ? ORDER BY id LIMIT ${walkedTasks})`,
    page.afterTask,
  )!;
  const rows = database.all(
    `SELECT id, coalesce((SELECT delivery_id FROM hints h WHERE h.task_id = tasks.id ORDER BY h.generation DESC LIMIT 1), 0)
       AS hinted_by FROM tasks
     WHERE id > ? AND id <= ? AND lane = ? AND (due_at IS NOT NULL OR state IN ('taken', 'quarantined'))
     ORDER BY id LIMIT ${pageTasks}`,
    page.afterTask,
    Number(walked.last ?? 0),
    organization.id,
  );
  const waiting = rows.filter(({ hinted_by }) => Number(hinted_by) <= page.untilDelivery);
  for (const { id } of waiting) discard(context, Number(id));
  const last = Number(rows.length === pageTasks ? rows.at(-1)!.id : walked.last);
  const isLast = rows.length < pageTasks && Number(walked.count) < walkedTasks;
  const discarded = page.discarded + waiting.length;
  noteForgetting(context, organization, isLast ? null : discarded);
  return { ...page, afterTask: isLast ? null : last, discarded };
}

/** null: all is given up. */
function noteForgetting(context: Context, organization: CachedOrganization, discarded: number | null): void {
  context.organizations.remember(organization);
  organization.isBeingForgotten = discarded !== null;
  const name = forgettingName(organization.id, organization.epoch);
  if (discarded === null) context.database.run('DELETE FROM meta WHERE name = ?', name);
  else
    context.database.run(
      'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      name,
      discarded,
    );
}

/** A hint that no read covers yet is discarded; what settled had its line before. */
function discard(context: Context, id: number): void {
  const { database } = context;
  const task = database.get(
    `UPDATE tasks SET state = 'done', due_at = NULL, fence = fence + 1, settling = 0, crowded = 0, attempts = 0,
       aged_ms = 0, failed_at = NULL, own = 0, absent_since = NULL, gone_allowed = 0, code = NULL, detail = NULL,
       first_hint_at = NULL, covered_hint_at = NULL, folded = 0 WHERE id = ? RETURNING fence, generation`,
    id,
  )!;
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
