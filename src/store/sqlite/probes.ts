/**
 * Organization access in the tables: observations become transitions under the organization's epoch, and a change
 * writes history and the access event in the same transaction. Probes are asked for by hints, by refused requests and
 * on demand, one at a time for each organization.
 */
import { createHash } from 'node:crypto';
import {
  type CauseSet,
  type DueProbe,
  leadingCause,
  type Observation,
  type Transition,
  transition,
} from '../../model/organization';
import { keyOf } from '../../model/resource';
import type { Context } from './context';
import type { CachedOrganization } from './organization-cache';
import { writeEvent } from './write-event';

/** Hints cause at most one probe in this time. */
const hintedProbeGapMs = 60_000;
/** Claims of an organization wait at most so long for the answer of a probe that a refusal asked for. */
const heldMsMax = 30_000;

function schedule(context: Context, organization: CachedOrganization, atMs: number | null): void {
  const before = organization.probeAtMs;
  organization.probeAtMs = atMs;
  context.undo(() => {
    organization.probeAtMs = before;
  });
  context.database.run('UPDATE organizations SET probe_at = ? WHERE id = ?', atMs, organization.id);
}

/** A notification says that the customer must act: only the provider's own answer will change the state. */
export function hintProbe(context: Context, organizationId: string, dueAt: string | null): void {
  const organization = context.organizations.ensure(organizationId, context.database, context.undo);
  if (dueAt !== null) {
    context.database.run('UPDATE organizations SET action_due_at = ? WHERE id = ?', dueAt, organizationId);
  }
  const earliest = Math.max(context.nowMs(), organization.probedAtMs + hintedProbeGapMs);
  if (organization.probeAtMs === null || organization.probeAtMs > earliest)
    schedule(context, organization, earliest);
}

/** A request was refused: the organization's work waits until the same request, asked again, says why. */
export function holdForProbe(
  context: Context,
  refused: { organizationId: string; refusedAddress: string; connectionId: string },
): void {
  const organization = context.organizations.ensure(refused.organizationId, context.database, context.undo);
  context.database.run(
    'UPDATE organizations SET refused_address = ?, connection_id = coalesce(?, connection_id) WHERE id = ?',
    refused.refusedAddress,
    refused.connectionId,
    organization.id,
  );
  const nowMs = context.nowMs();
  if (organization.access !== 'active') {
    hintProbe(context, organization.id, null);
    return;
  }
  const before = organization.heldUntilMs;
  organization.heldUntilMs = nowMs + heldMsMax;
  context.undo(() => {
    organization.heldUntilMs = before;
  });
  if (organization.probeAtMs === null || organization.probeAtMs > nowMs)
    schedule(context, organization, nowMs);
}

export function requestProbe(context: Context, organizationId: string, onDemand: boolean): boolean {
  const organization = context.organizations.get(organizationId);
  if (organization === undefined) return false;
  if (onDemand) schedule(context, organization, context.nowMs());
  else hintProbe(context, organizationId, null);
  return true;
}

export function takeProbes(context: Context, limit: number, leaseMs: number): DueProbe[] {
  const nowMs = context.nowMs();
  const probes: DueProbe[] = [];
  for (const organization of context.organizations.all()) {
    if (probes.length === limit) break;
    if (organization.probeAtMs === null || organization.probeAtMs > nowMs) continue;
    if (organization.probeLeaseUntilMs > nowMs) continue;
    const before = { ...organization };
    context.undo(() => Object.assign(organization, before));
    organization.probeLeaseUntilMs = nowMs + leaseMs;
    organization.probedAtMs = nowMs;
    const row = context.database.get(
      'UPDATE organizations SET probed_at = ? WHERE id = ? RETURNING refused_address, connection_id',
      nowMs,
      organization.id,
    )!;
    const known = context.database.get(
      'SELECT address, connection_id FROM tasks WHERE lane = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1',
      organization.id,
    );
    probes.push({
      organizationId: organization.id,
      epoch: organization.epoch,
      refusedAddress: row.refused_address as string | null,
      knownAddress: (known?.address ?? null) as string | null,
      connectionId: (row.connection_id ?? known?.connection_id ?? null) as string | null,
    });
  }
  return probes;
}

export function nextProbeMs(context: Context): number | null {
  let next: number | null = null;
  for (const organization of context.organizations.all()) {
    if (organization.probeAtMs === null) continue;
    const atMs = Math.max(organization.probeAtMs, organization.probeLeaseUntilMs);
    if (next === null || atMs < next) next = atMs;
  }
  return next;
}

export function postponeProbe(context: Context, organizationId: string, againInMs: number): void {
  const organization = context.organizations.get(organizationId);
  if (organization === undefined) return;
  organization.probeLeaseUntilMs = 0;
  organization.heldUntilMs = 0;
  schedule(context, organization, context.nowMs() + againInMs);
}

export function observe(context: Context, observation: Observation): Transition & { applied: boolean } {
  const { database } = context;
  const organization = context.organizations.ensure(observation.organizationId, database, context.undo);
  const row = database.get('SELECT * FROM organizations WHERE id = ?', organization.id)!;
  const causes = JSON.parse(String(row.causes)) as CauseSet;
  const nowMs = context.nowMs();
  organization.probeLeaseUntilMs = 0;
  if (observation.epoch !== organization.epoch) {
    const { access } = organization;
    return { causes, access, previous: access, changed: false, applied: false };
  }
  const next = transition(causes, observation, nowMs);
  const before = { ...organization };
  context.undo(() => Object.assign(organization, before));
  organization.heldUntilMs = 0;
  const previousAccess = organization.access;
  organization.access = next.access;
  if (next.changed) organization.epoch += 1;
  const intervalMs =
    next.access === 'active'
      ? null
      : next.changed
        ? context.settings.probeMs
        : Math.min(
            context.settings.probeMsMax,
            Number(row.probe_interval_ms ?? context.settings.probeMs) * 2,
          );
  organization.probeAtMs = intervalMs === null ? null : nowMs + intervalMs;
  database.run(
    `UPDATE organizations SET causes = ?, access = ?, epoch = ?, since = iif(?, ?, since), probe_at = ?,
       probe_interval_ms = ?, refused_address = iif(?, NULL, refused_address), was_read = was_read OR ?
     WHERE id = ?`,
    JSON.stringify(next.causes),
    next.access,
    organization.epoch,
    next.changed ? 1 : 0,
    nowMs,
    organization.probeAtMs,
    intervalMs,
    next.access === 'active' ? 1 : 0,
    observation.found.cause === null ? 1 : 0,
    organization.id,
  );
  if (next.changed) {
    writeTransition(context, organization, observation, next, previousAccess, row.name as string | null);
    if (next.access === 'active') context.lanes.narrow(organization.id);
  }
  return { ...next, applied: true };
}

/** History and the access event: consumers can tell silence from a block. */
function writeTransition(
  context: Context,
  organization: CachedOrganization,
  observation: Observation,
  next: Transition,
  previousAccess: string,
  name: string | null,
): void {
  const nowMs = context.nowMs();
  const cause = leadingCause(next.causes);
  const detail = cause === null ? null : next.causes[cause]!;
  const actionUrl = detail?.actionUrl ?? null;
  const message = detail?.message ?? null;
  context.database.run(
    `INSERT INTO organization_history (organization_id, epoch, at, access, previous, cause, said_by, action_url,
       message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    organization.id,
    organization.epoch,
    nowMs,
    next.access,
    previousAccess,
    cause,
    observation.by,
    actionUrl,
    message,
  );
  const observedAt = new Date(nowMs).toISOString();
  const value = JSON.stringify({
    id: organization.id,
    organizationId: organization.id,
    observedAt,
    source: { address: context.settings.catalogAddress, mediaType: context.settings.catalogMediaType },
    ...(name === null ? {} : { name }),
    access: next.access,
    previousAccess,
    cause,
    since: new Date(detail?.sinceMs ?? nowMs).toISOString(),
    actionUrl,
    message,
  });
  writeEvent(context, {
    kind: 'organization-access',
    key: keyOf(organization.id, 'organization-access', organization.id),
    change: next.access === 'active' ? 'unblocked' : 'blocked',
    contentHash: createHash('sha256').update(`${next.access} ${organization.epoch}`).digest('hex'),
    value,
    observedAt,
    traceparent: null,
    reconciled: observation.by === 'sync',
    taskId: null,
    acceptedAtMs: null,
    cause: `access ${organization.id}/${organization.epoch}`,
  });
}
