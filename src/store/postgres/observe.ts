/**
 * Organization access in the tables: an observation becomes a transition under the organization's epoch, which is compared
 * under the lock of its row. A change writes history and the access event in the same transaction.
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
import { accessEvent } from '../access-event';
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
import { isForgetting } from './forgetting';
import { ensureOrganizations, lockOrganizations } from './organization-rows';
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

export async function observe(
  context: Context,
  observation: Observation,
): Promise<Transition & { applied: boolean }> {
  const { organizationId } = observation;
  await ensureOrganizations(context, [organizationId]);
  const rows = await lockOrganizations(context, [organizationId]);
  const row = rows.get(organizationId) as ObservedRow;
  const isOver = row.access === 'not-connected' && (await isForgetting(context, organizationId, row.epoch));
  if (observation.epoch === row.epoch && !isOver) {
    const [transition] = await observeAll(context, [{ row, observation }]);
    return { ...transition!, applied: true };
  }
  const causes = JSON.parse(row.causes) as CauseSet;
  await context.database.run(
    'UPDATE organizations SET probe_lease_until = $2, probe_found = coalesce($3, probe_found) WHERE id = $1',
    row.id,
    isByAnswer(observation) ? 0 : row.probe_lease_until,
    observation.probed ?? null,
  );
  return { causes, access: row.access, previous: row.access, changed: false, applied: false };
}

interface Judged {
  row: ObservedRow;
  observation: Observation;
}

/**
 * The rows are locked, and the observations are of their epochs. However many there are, they are written in a few
 * statements: a refused consent blocks thousands while others wait for their rows.
 */
export async function observeAll(context: Context, all: Judged[]): Promise<Transition[]> {
  const nowMs = context.nowMs();
  const judged = all.map((one) => {
    const next = transition(JSON.parse(one.row.causes) as CauseSet, one.observation, nowMs);
    return { ...one, next, epoch: next.changed ? one.row.epoch + 1 : one.row.epoch };
  });
  await writeRows(
    context,
    judged.map((one) => columnsAfter(context, one)),
  );
  for (const { row, next } of judged) {
    context.lanes.open(row.id, next.access === 'active' ? 0 : null);
    if (next.changed && next.access === 'active') context.lanes.narrow(row.id);
  }
  const changed = judged.filter(({ next }) => next.changed);
  await writeTransitions(
    context,
    changed.map(({ row, epoch, observation, next }) => ({
      ...{ id: row.id, epoch, name: row.name },
      ...{ observation, next, previousAccess: row.access },
    })),
  );
  return judged.map(({ next }) => next);
}

/** What the row holds afterwards, in the order in which it is written. */
function columnsAfter(
  context: Context,
  { row, observation, next, epoch }: Judged & { next: Transition; epoch: number },
) {
  const nowMs = context.nowMs();
  // What was asked for while the probe was under way is asked after it.
  const asked = row.probe_lease_until > nowMs ? row.probe_at : null;
  const left = announcedAfter(announcedOf(row), JSON.parse(row.causes) as CauseSet, observation, nowMs);
  const columns = announcedColumns(left);
  const { probe_at: atMs, probe_interval_ms: intervalMs } = row;
  const before = { atMs, intervalMs, askedAtMs: asked, dueAtMs: askedAtDueMs(left, nowMs) };
  const probe = nextProbe(observation, next, before, { ...context.settings, nowMs }) ?? {
    ...{ atMs, intervalMs, askedBy: null },
  };
  const isActive = next.access === 'active';
  return [
    row.id,
    JSON.stringify(next.causes),
    next.access,
    epoch,
    next.changed,
    isActive,
    observation.found.cause === null,
    probe.atMs,
    probe.intervalMs,
    isByAnswer(observation) ? 0 : row.probe_lease_until,
    // The first hint after an end is news, and probes at once.
    next.changed && isActive ? 0 : row.probed_at,
    probe.askedBy,
    columns.announced,
    columns.action_due_at,
    columns.action_met,
    observation.probed ?? null,
  ] as const;
}

async function writeRows(
  { database, nowMs }: Context,
  rows: ReturnType<typeof columnsAfter>[],
): Promise<void> {
  await database.run(
    `UPDATE organizations o SET causes = n.causes, access = n.access, epoch = n.epoch,
       since = CASE WHEN n.changed THEN $17 ELSE o.since END,
       refused_address = CASE WHEN n.active THEN NULL ELSE o.refused_address END,
       was_read = o.was_read OR n.was_read, probe_at = n.probe_at, probe_interval_ms = n.probe_interval_ms,
       probe_lease_until = n.probe_lease_until, probed_at = n.probed_at,
       probe_asked_by = coalesce(n.probe_asked_by, o.probe_asked_by), announced = n.announced,
       action_due_at = n.action_due_at, action_met = n.action_met,
       probe_found = coalesce(n.probe_found, o.probe_found)
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bool[], $6::bool[], $7::bool[], $8::bigint[],
       $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[])
       AS n (id, causes, access, epoch, changed, active, was_read, probe_at, probe_interval_ms, probe_lease_until,
         probed_at, probe_asked_by, announced, action_due_at, action_met, probe_found)
     WHERE o.id = n.id AND o.id = ANY($1::text[])`,
    ...Array.from({ length: 16 }, (_none, column) => rows.map((row) => row[column]!)),
    nowMs(),
  );
}

interface ToldTransition extends Pick<ObservedRow, 'id' | 'epoch' | 'name'> {
  observation: Observation;
  next: Transition;
  previousAccess: Access;
}

/** History, of the last 100 changes, and the access events where the access changed: consumers can tell silence from a block. */
export async function writeTransitions(context: Context, all: ToldTransition[]): Promise<void> {
  if (all.length === 0) return;
  const nowMs = context.nowMs();
  const blocks = all.map(({ next }) => leadingBlock(next.causes));
  await context.database.run(
    `INSERT INTO organization_history (organization_id, epoch, at, access, previous, cause, said_by, action_url,
       message, asked_by)
     SELECT id, epoch, $10, access, previous, cause, said_by, action_url, message, asked_by
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
       $9::text[]) AS n (id, epoch, access, previous, cause, said_by, action_url, message, asked_by)`,
    all.map(({ id }) => id),
    all.map(({ epoch }) => epoch),
    all.map(({ next }) => next.access),
    all.map(({ previousAccess }) => previousAccess),
    blocks.map((block) => block?.cause ?? null),
    all.map(({ observation }) => observation.by),
    blocks.map((block) => storable(block?.actionUrl ?? null)),
    blocks.map((block) => storable(block?.message ?? null)),
    all.map(({ observation }) => observation.askedBy ?? null),
    nowMs,
  );
  await context.database.run(
    `DELETE FROM organization_history WHERE organization_id = ANY($1::text[]) AND ((organization_id, epoch) IN (
       SELECT n.id, h.epoch FROM unnest($1::text[], $2::bigint[]) AS n (id, epoch) CROSS JOIN LATERAL (
         SELECT epoch FROM organization_history WHERE organization_id = n.id AND epoch <= n.epoch OFFSET 0) h)) IS TRUE`,
    all.map(({ id }) => id),
    all.map(({ epoch }) => epoch - historyMax),
  );
  const told = all.filter(({ next }) => next.changed);
  await writeEvents(
    context,
    told.map(({ id, epoch, name, observation: { by }, next: { causes, access }, previousAccess }) =>
      accessEvent({ id, epoch, name, causes, access, previousAccess, by }, nowMs, context.settings),
    ),
  );
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
