/**
 * Organization access in the tables: an observation becomes a transition under the organization's epoch, and a change
 * writes history and the access event in the same transaction.
 */
import {
  type Access,
  type CauseSet,
  historyMax,
  isByAnswer,
  leadingBlock,
  type Observation,
  type Transition,
  transition,
} from '../../model/organization';
import { accessEvent, type ToldAccess } from '../access-event';
import {
  type AnnouncedColumns,
  announcedAfter,
  announcedColumns,
  announcedOf,
  askedAtDueMs,
} from '../announced-actions';
import { nextProbe } from '../next-probe';
import { untoldPrefix } from '../store-rules';
import type { Context } from './context';
import type { CachedOrganization } from './organization-cache';
import { schedule } from './probes';
import { writeEvent } from './write-event';

export function observe(context: Context, observation: Observation): Transition & { applied: boolean } {
  const { database } = context;
  const organization = context.organizations.ensure(observation.organizationId);
  const row = database.get(
    'SELECT causes, name, announced, action_due_at, action_met, probe_interval_ms FROM organizations WHERE id = ?',
    organization.id,
  )!;
  const causes = JSON.parse(String(row.causes)) as CauseSet;
  const nowMs = context.nowMs();
  context.organizations.remember(organization);
  // What was asked for while the probe was under way is asked after it.
  const asked = organization.probeLeaseUntilMs > nowMs ? organization.probeAtMs : null;
  if (isByAnswer(observation)) organization.probeLeaseUntilMs = 0;
  organization.probeFound = observation.probed ?? organization.probeFound;
  const previous = organization.access;
  if (observation.epoch !== organization.epoch || organization.isBeingForgotten) {
    return { causes, access: previous, previous, changed: false, applied: false };
  }
  const next = transition(causes, observation, nowMs);
  organization.heldUntilMs = 0;
  organization.access = next.access;
  if (next.changed) organization.epoch += 1;
  const announced = announcedOf(row as unknown as AnnouncedColumns);
  const left = announcedAfter(announced, causes, observation, nowMs);
  const columns = announcedColumns(left);
  const before = {
    atMs: organization.probeAtMs,
    intervalMs: row.probe_interval_ms as number | null,
    askedAtMs: asked,
    dueAtMs: askedAtDueMs(left, nowMs),
  };
  const probe = nextProbe(observation, next, before, { ...context.settings, nowMs });
  database.run(
    `UPDATE organizations SET causes = ?, access = ?, epoch = ?, since = iif(?, ?, since),
       probe_interval_ms = ?, refused_address = iif(?, NULL, refused_address),
       was_read = was_read OR ?, announced = ?, action_due_at = ?, action_met = ? WHERE id = ?`,
    JSON.stringify(next.causes),
    next.access,
    organization.epoch,
    next.changed ? 1 : 0,
    nowMs,
    (probe ?? before).intervalMs,
    next.access === 'active' ? 1 : 0,
    observation.found.cause === null ? 1 : 0,
    columns.announced,
    columns.action_due_at,
    columns.action_met,
    organization.id,
  );
  if (probe !== null) schedule(context, organization, probe.atMs, probe.askedBy);
  if (next.changed) {
    const name = row.name as string | null;
    writeTransition(context, organization, { observation, next, previousAccess: previous, name });
    if (next.access === 'active') {
      context.lanes.narrow(organization.id);
      // The first hint after it is news, and probes at once.
      organization.probedAtMs = 0;
    }
  }
  return { ...next, applied: true };
}

interface ToldTransition {
  observation: Observation;
  next: Transition;
  previousAccess: Access;
  name: string | null;
}

/** History, of the last 100 changes, and the access event where the access changed: consumers can tell silence from a block. */
export function writeTransition(
  context: Context,
  organization: CachedOrganization,
  { observation, next, previousAccess, name }: ToldTransition,
): void {
  const nowMs = context.nowMs();
  const block = leadingBlock(next.causes);
  context.database.run(
    `INSERT INTO organization_history (organization_id, epoch, at, access, previous, cause, said_by, action_url,
       message, asked_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    organization.id,
    organization.epoch,
    nowMs,
    next.access,
    previousAccess,
    block?.cause ?? null,
    observation.by,
    block?.actionUrl ?? null,
    block?.message ?? null,
    observation.askedBy ?? null,
  );
  context.database.run(
    'DELETE FROM organization_history WHERE organization_id = ? AND epoch <= ?',
    organization.id,
    organization.epoch - historyMax,
  );
  if (next.changed)
    writeAccess(context, organization, { causes: next.causes, previousAccess, name, by: observation.by });
}

/** Tells what its access is, above whatever its topic holds: of an unknown one as soon as it is learned. */
export function tellAccess(context: Context, organizationId: string): void {
  const organization = context.organizations.get(organizationId);
  if (organization === undefined) {
    context.database.run(
      'INSERT INTO meta (name, value) VALUES (?, 1) ON CONFLICT (name) DO NOTHING',
      `${untoldPrefix}${organizationId}`,
    );
    return;
  }
  const row = context.database.get(
    `SELECT o.causes, o.name, h.previous FROM organizations o
     LEFT JOIN organization_history h ON h.organization_id = o.id AND h.epoch = o.epoch WHERE o.id = ?`,
    organizationId,
  )!;
  writeAccess(context, organization, {
    causes: JSON.parse(String(row.causes)) as CauseSet,
    previousAccess: (row.previous ?? organization.access) as Access,
    name: row.name as string | null,
    by: 'sync',
  });
}

/** Tells of those that were learned what could not be told before. */
export function tellUntold(context: Context, ids: string[]): void {
  const untold = context.database.all(
    `DELETE FROM meta WHERE name IN (SELECT ? || value FROM json_each(?)) RETURNING name`,
    untoldPrefix,
    JSON.stringify(ids),
  );
  for (const { name } of untold) tellAccess(context, String(name).slice(untoldPrefix.length));
}

function writeAccess(
  context: Context,
  { id, epoch, access }: CachedOrganization,
  told: Omit<ToldAccess, 'id' | 'epoch' | 'access'>,
): void {
  writeEvent(context, accessEvent({ id, epoch, access, ...told }, context.nowMs(), context.settings));
}
