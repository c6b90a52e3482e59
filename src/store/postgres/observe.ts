/**
 * Organization access in the tables: an observation becomes a transition under the organization's epoch, which is compared
 * under the lock of its row. A change writes history and the access event in the same transaction.
 */
import {
  type Access,
  type CauseSet,
  historyMax,
  leadingCause,
  type Observation,
  type ProbeAsker,
  type Transition,
  transition,
} from '../../model/organization';
import { accessEvent } from '../access-event';
import {
  type AnnouncedColumns,
  announcedAfter,
  announcedColumns,
  announcedOf,
  askedAtDueMs,
} from '../announced-actions';
import { untoldPrefix } from '../store-rules';
import type { Context } from './context';
import { ensureOrganizations, lockOrganizations } from './organization-rows';
import { laterMs } from './probes';
import { storable } from './quarantine-entries';
import { writeEvents } from './write-events';

/** What is read of a locked organization here. */
export interface ObservedRow extends AnnouncedColumns {
  id: string;
  name: string | null;
  causes: string;
  access: Access;
  epoch: number;
  probe_at: number | null;
  probe_interval_ms: number | null;
  probed_at: number;
  probe_lease_until: number;
}

export type Observed = Transition & { applied: boolean };

export async function observe(context: Context, observation: Observation): Promise<Observed> {
  const { organizationId } = observation;
  await ensureOrganizations(context, [organizationId]);
  const rows = await lockOrganizations(context, [organizationId]);
  return observeLocked(context, rows.get(organizationId) as ObservedRow, observation);
}

/** The row is locked, and is what was read under its lock. */
export async function observeLocked(
  context: Context,
  row: ObservedRow,
  observation: Observation,
): Promise<Observed> {
  const nowMs = context.nowMs();
  const causes = JSON.parse(row.causes) as CauseSet;
  // What was asked for while the probe was under way is asked after it.
  const asked = row.probe_lease_until > nowMs ? row.probe_at : null;
  const leaseUntilMs = byAnswer(observation) ? 0 : row.probe_lease_until;
  if (observation.epoch !== row.epoch) {
    await context.database.run(
      'UPDATE organizations SET probe_lease_until = $2, probe_found = coalesce($3, probe_found) WHERE id = $1',
      row.id,
      leaseUntilMs,
      observation.probed ?? null,
    );
    return { causes, access: row.access, previous: row.access, changed: false, applied: false };
  }
  const next = transition(causes, observation, nowMs);
  const epoch = next.changed ? row.epoch + 1 : row.epoch;
  const left = announcedAfter(announcedOf(row), causes, observation, nowMs);
  const columns = announcedColumns(left);
  const dueMs = askedAtDueMs(left, nowMs);
  const probe = probeAfter(context, row, observation, next, { asked, dueMs });
  const opened = next.changed && next.access === 'active';
  await context.database.run(
    `UPDATE organizations SET causes = $2, access = $3, epoch = $4, since = CASE WHEN $5 THEN $6 ELSE since END,
       refused_address = CASE WHEN $7 THEN NULL ELSE refused_address END, was_read = was_read OR $8,
       probe_at = $9, probe_interval_ms = $10, probe_lease_until = $11, probed_at = $12,
       probe_asked_by = coalesce($13, probe_asked_by), announced = $14, action_due_at = $15, action_met = $16,
       probe_found = coalesce($17, probe_found) WHERE id = $1`,
    row.id,
    JSON.stringify(next.causes),
    next.access,
    epoch,
    next.changed,
    nowMs,
    next.access === 'active',
    observation.found.cause === null,
    probe.atMs,
    probe.intervalMs,
    leaseUntilMs,
    // The first hint after an end is news, and probes at once.
    opened ? 0 : row.probed_at,
    probe.askedBy,
    columns.announced,
    columns.action_due_at,
    columns.action_met,
    observation.probed ?? null,
  );
  context.lanes.open(row.id, next.access === 'active' ? 0 : null);
  if (opened) context.lanes.narrow(row.id);
  if (next.changed) await writeTransition(context, { ...row, epoch }, observation, next, row.access);
  return { ...next, applied: true };
}

/** Did the provider say it of the organization itself, rather than of a grant or in a sync? */
function byAnswer({ by }: Observation): boolean {
  return by === 'probe' || by === 'connections-link';
}

/**
 * While it is blocked the probe comes again, later and later; only such an answer moves that on. One that may be read is
 * asked at the time by which its customer is to act.
 */
function probeAfter(
  context: Context,
  row: ObservedRow,
  observation: Observation,
  next: Transition,
  { asked, dueMs }: { asked: number | null; dueMs: number | null },
): { atMs: number | null; intervalMs: number | null; askedBy: ProbeAsker | null } {
  const { probeMs } = context.settings;
  const same = next.changed ? probeMs : row.probe_interval_ms;
  if (next.access === 'active') {
    const isDue = asked === null && dueMs !== null;
    return { atMs: asked ?? dueMs, intervalMs: null, askedBy: isDue ? 'schedule' : null };
  }
  if (!next.changed && !byAnswer(observation) && row.probe_at !== null) {
    return { atMs: row.probe_at, intervalMs: same, askedBy: null };
  }
  const intervalMs = next.changed ? probeMs : laterMs(context.settings, row.probe_interval_ms);
  const regularMs = context.nowMs() + intervalMs;
  return asked !== null && asked <= regularMs
    ? { atMs: asked, intervalMs, askedBy: null }
    : { atMs: regularMs, intervalMs, askedBy: 'schedule' };
}

/** History, of the last 100 changes, and the access event where the access changed: consumers can tell silence from a block. */
export async function writeTransition(
  context: Context,
  { id, epoch, name }: Pick<ObservedRow, 'id' | 'epoch' | 'name'>,
  observation: Observation,
  next: Transition,
  previousAccess: Access,
): Promise<void> {
  const nowMs = context.nowMs();
  const cause = leadingCause(next.causes);
  const detail = cause === null ? null : next.causes[cause]!;
  const actionUrl = detail?.actionUrl ?? null;
  const message = detail?.message ?? null;
  await context.database.run(
    `INSERT INTO organization_history (organization_id, epoch, at, access, previous, cause, said_by, action_url,
       message, asked_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    ...[id, epoch, nowMs, next.access, previousAccess, cause, observation.by],
    storable(actionUrl),
    storable(message),
    observation.askedBy ?? null,
  );
  await context.database.run(
    'DELETE FROM organization_history WHERE organization_id = $1 AND epoch <= $2',
    id,
    epoch - historyMax,
  );
  const told = { causes: next.causes, access: next.access, previousAccess, by: observation.by };
  if (next.changed)
    await writeEvents(context, [accessEvent({ id, epoch, name, ...told }, nowMs, context.settings)]);
}

/** Tells what their access is, above whatever its topic holds. The rows are locked; it is no news where one is unknown. */
export async function tellAccess(context: Context, rows: ObservedRow[]): Promise<void> {
  for (const row of rows) {
    const changed = await context.database.get(
      'SELECT previous FROM organization_history WHERE organization_id = $1 AND epoch = $2',
      row.id,
      row.epoch,
    );
    const causes = JSON.parse(row.causes) as CauseSet;
    const previousAccess = (changed?.previous ?? row.access) as Access;
    const { id, epoch, name, access } = row;
    const told = { id, epoch, name, causes, access, previousAccess, by: 'sync' } as const;
    await writeEvents(context, [accessEvent(told, context.nowMs(), context.settings)]);
  }
}

/** Of unknown ones it is told as soon as they are learned. */
export async function tellLater({ database }: Context, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  await database.run(
    `INSERT INTO meta (name, value) SELECT $1 || id, 1 FROM unnest($2::text[]) AS n (id) ORDER BY id
     ON CONFLICT (name) DO NOTHING`,
    untoldPrefix,
    ids,
  );
}

/** Tells of those that were learned, whose rows are locked, what could not be told before. */
export async function tellUntold(context: Context, rows: ObservedRow[]): Promise<void> {
  const untold = await context.database.all(
    'DELETE FROM meta WHERE name = ANY($1::text[]) RETURNING name',
    rows.map(({ id }) => `${untoldPrefix}${id}`),
  );
  const names = new Set(untold.map(({ name }) => name));
  await tellAccess(
    context,
    rows.filter(({ id }) => names.has(`${untoldPrefix}${id}`)),
  );
}
