/**
 * Probes: who is asked again, and when. One process has a probe of an organization at a time, under a lease in its row; a
 * blocked one is asked later and later. What the answers mean is decided elsewhere.
 */
import type { DueProbe, ProbeAgain, Probing } from '../../model/organization';
import type { ResourceIdentity } from '../../model/resource';
import { laterMs } from '../next-probe';
import { probeBudgetName, probeBudgetOf } from '../probe-budget';
import { askProbe, hintProbes } from './ask-probes';
import type { Context } from './context';
import { isBeingForgotten } from './forgetting';
import { lockOrganizations } from './organization-rows';
import { isPaused } from './pauses';
import { storable } from './quarantine-entries';

/** Never while a probe of it is under way, unless that one's lease ran out. */
export const probeDueAt = `CASE WHEN probe_lease_until = 0 THEN probe_at
  ELSE greatest(coalesce(probe_at, probe_lease_until), probe_lease_until) END`;

/** Last are those that no connection was ever shown: there is nobody to ask about them. */
const probeRank = `CASE WHEN probe_asked_by = 'operator' THEN 0 WHEN access <> 'active' THEN 3
  WHEN probe_asked_by = 'refused-request' THEN 1 WHEN connection_id IS NOT NULL THEN 2 ELSE 4 END`;

/** So many of its waiting tasks are looked at to find an address of its own: one that a delivery names proves nothing. */
const waitingLookedAt = 100;

/** Those that an operator waits for first, then work that waits to know whether it is blocked, then the longest due. */
export async function takeProbes(context: Context, limit: number, leaseMs: number): Promise<DueProbe[]> {
  const { database } = context;
  const nowMs = context.nowMs();
  const budget = probeBudgetOf(context.settings.probesPerMinute);
  const paidUntil = await holdBudget(database);
  const free = Math.min(limit, budget.free(paidUntil, nowMs));
  const taken = free > 0 ? await takeFirst(context, free, leaseMs) : [];
  if (taken.length > 0) await keepPaid(database, budget.spend(paidUntil, nowMs, taken.length));
  return taken;
}

/** One more call of a probe that was taken. */
export async function payProbeCall({ database, settings, nowMs }: Context, anyway: boolean): Promise<number> {
  const budget = probeBudgetOf(settings.probesPerMinute);
  const paidUntil = await holdBudget(database);
  const now = nowMs();
  if (!anyway && budget.free(paidUntil, now) < 1) return budget.freeAtMs(paidUntil, now) - now;
  await keepPaid(database, budget.spend(paidUntil, now, 1));
  return 0;
}

/** A probe that was taken made no call: what was paid for its first one is there again. */
async function giveCallBack({ database, settings, nowMs }: Context): Promise<void> {
  const budget = probeBudgetOf(settings.probesPerMinute);
  const paidUntil = await holdBudget(database);
  await keepPaid(database, budget.spend(paidUntil, nowMs(), -1));
}

/** What is spent further ahead than the budget reaches was spent before the clock was set back. */
export async function cutPaid({ database, settings, nowMs }: Context): Promise<void> {
  const budget = probeBudgetOf(settings.probesPerMinute);
  await keepPaid(database, budget.spend(await holdBudget(database), nowMs(), 0));
}

async function keepPaid(database: Context['database'], untilMicros: number): Promise<void> {
  await database.run('UPDATE meta SET value = $2 WHERE name = $1', probeBudgetName, untilMicros);
}

/** Until when it is spent, read under its lock: until the transaction ends no other process takes probes. */
async function holdBudget(database: Context['database']): Promise<number> {
  const held = () => database.get('SELECT value FROM meta WHERE name = $1 FOR UPDATE', probeBudgetName);
  let row = await held();
  if (row === undefined) {
    await database.run(
      'INSERT INTO meta (name, value) VALUES ($1, 0) ON CONFLICT (name) DO NOTHING',
      probeBudgetName,
    );
    row = await held();
  }
  return Number(row!.value);
}

/** Those that are locked at this moment are passed over. */
async function takeFirst(context: Context, limit: number, leaseMs: number): Promise<DueProbe[]> {
  const rows = await context.database.all(
    `WITH due AS (
       SELECT id, ${probeDueAt} AS due_at, ${probeRank} AS rank FROM organizations
       WHERE (probe_at IS NOT NULL OR probe_lease_until > 0) AND ${probeDueAt} <= $1 AND NOT ${isPaused('$1')}
         AND NOT ${isBeingForgotten}
       ORDER BY 3, 2, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED),
     taken AS (
       UPDATE organizations o SET probe_at = NULL, probe_lease_until = $1::bigint + $3::bigint, probed_at = $1
       FROM due WHERE o.id = due.id
       RETURNING o.id, o.epoch, o.refused_address, o.known_address, o.connection_id, o.probe_asked_by, due.due_at,
         due.rank)
     SELECT t.id, t.epoch, t.refused_address, t.probe_asked_by, coalesce(nullif(t.known_address, t.refused_address), w.address) AS known_address,
       coalesce(t.connection_id, w.connection_id) AS connection_id
     FROM taken t LEFT JOIN LATERAL (
       SELECT f.address, f.connection_id FROM (
         SELECT address, connection_id, organization_id FROM tasks WHERE lane = t.id AND due_at IS NOT NULL
         ORDER BY due_at LIMIT ${waitingLookedAt}) f
       WHERE f.organization_id = t.id AND f.address IS DISTINCT FROM t.refused_address LIMIT 1
     ) w ON true ORDER BY t.rank, t.due_at, t.id`,
    context.nowMs(),
    limit,
    leaseMs,
  );
  return rows.map((row) => ({
    organizationId: row.id,
    epoch: row.epoch,
    refusedAddress: row.refused_address,
    knownAddress: row.known_address,
    connectionId: row.connection_id,
    askedBy: row.probe_asked_by,
  }));
}

/** Its lease ends and its work is let go; the probe comes again, or not. */
export async function postponeProbe(
  context: Context,
  organizationId: string,
  epoch: number,
  again: ProbeAgain,
  found: string,
): Promise<void> {
  // Before the organization is locked: whoever takes probes locks in this order too.
  if (again !== 'later') await giveCallBack(context);
  const row = (await lockOrganizations(context, [organizationId])).get(organizationId);
  if (row === undefined) return;
  const active = row.access === 'active';
  const isOver = row.epoch !== epoch || (active && again === 'never');
  const intervalMs =
    isOver || typeof again === 'number'
      ? row.probe_interval_ms
      : laterMs(context.settings, row.probe_interval_ms);
  const waitMs = typeof again === 'number' ? again : intervalMs;
  await context.database.run(
    `UPDATE organizations SET probe_lease_until = 0, probe_interval_ms = $2, probe_found = $4,
       probe_asked_by = CASE WHEN $3::bigint IS NULL OR probe_at <= $3 THEN probe_asked_by ELSE 'schedule' END,
       probe_at = CASE WHEN $3::bigint IS NULL THEN probe_at ELSE least(coalesce(probe_at, $3), $3) END WHERE id = $1`,
    organizationId,
    intervalMs,
    isOver ? null : context.nowMs() + waitMs,
    found,
  );
  if (row.epoch === epoch) context.lanes.open(organizationId, active ? 0 : null);
}

export async function requestProbe(
  context: Context,
  organizationId: string,
  onDemand: boolean,
): Promise<boolean> {
  const known = await context.database.get(
    'SELECT id FROM organizations WHERE id = $1',
    storable(organizationId),
  );
  if (known === undefined) return false;
  if (onDemand) await askProbe(context, organizationId, context.nowMs(), 'operator');
  else await hintProbes(context, [{ organizationId, dueAt: null }], 'refused-request');
  return true;
}

export async function ownerOf({ database }: Context, { kind, id }: ResourceIdentity): Promise<string | null> {
  const sql = 'SELECT organization_id FROM tasks WHERE kind = $1 AND resource_id = $2';
  return (await database.get(sql, kind, storable(id)))?.organization_id ?? null;
}

export async function probing(context: Context, organizationId: string): Promise<Probing> {
  const row = await context.database.get(
    `SELECT probe_lease_until > 0 OR coalesce(probe_at <= $2, false) AS probing, probe_found AS found
     FROM organizations WHERE id = $1`,
    storable(organizationId),
    context.nowMs(),
  );
  return { probing: row?.probing === true, found: row?.found ?? null };
}
