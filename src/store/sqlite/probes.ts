/**
 * Probes: who is asked again, and when. They are asked for by hints, by refused requests and on demand, one at a time for
 * each organization; a blocked one is asked later and later. What the answers mean is decided elsewhere.
 */
import type { DueProbe, ProbeAgain, ProbeAsker, Probing } from '../../model/organization';
import type { ResourceIdentity } from '../../model/resource';
import type { RefusedRequest } from '../../model/task';
import { type AnnouncedColumns, announcedColumns, announcedOf, withAnnounced } from '../announced-actions';
import { probeBudgetName, probeBudgetOf } from '../probe-budget';
import { heldMsMax } from '../set-back';
import { hintedGapMs } from '../store-rules';
import type { Context } from './context';
import type { CachedOrganization } from './organization-cache';
import { readingPause } from './pauses';

/** So many of its waiting tasks are looked at to find an address of its own. */
const waitingLookedAt = 100;

/** The earliest wins: what is asked for twice is asked once, for whoever goes first of those that did. */
function ask(context: Context, organization: CachedOrganization, atMs: number, askedBy: ProbeAsker): void {
  const isAsked = organization.probeAtMs !== null && organization.probeAtMs <= atMs;
  if (!isAsked) schedule(context, organization, atMs, askedBy);
  else if (rankOf(organization, askedBy) < rankOf(organization, organization.probeAskedBy))
    schedule(context, organization, organization.probeAtMs, askedBy);
}

/** `askedBy` null: by whom it was asked for before. */
export function schedule(
  context: Context,
  organization: CachedOrganization,
  atMs: number | null,
  askedBy: ProbeAsker | null,
): void {
  context.organizations.remember(organization);
  organization.probeAtMs = atMs;
  organization.probeAskedBy = askedBy ?? organization.probeAskedBy;
  context.database.run(
    'UPDATE organizations SET probe_at = ?, probe_asked_by = ? WHERE id = ?',
    atMs,
    organization.probeAskedBy,
    organization.id,
  );
}

/** When it may be probed next: never while a probe of it is under way, unless that one's lease ran out, nor while it is being forgotten. */
function probeDueMs({ probeAtMs, probeLeaseUntilMs, isBeingForgotten }: CachedOrganization): number | null {
  if (isBeingForgotten) return null;
  if (probeLeaseUntilMs === 0) return probeAtMs;
  return Math.max(probeAtMs ?? probeLeaseUntilMs, probeLeaseUntilMs);
}

/** A notification says that the customer must act: only the provider's own answer will change the state. */
export function hintProbe(
  context: Context,
  organizationId: string,
  dueAt: string | null,
  askedBy: ProbeAsker,
): void {
  const organization = context.organizations.ensure(organizationId);
  if (dueAt !== null) announce(context, organizationId, dueAt);
  ask(context, organization, hintedAtMs(context, organization), askedBy);
}

function announce({ database, nowMs }: Context, organizationId: string, dueAt: string): void {
  const row = database.get(
    'SELECT announced, action_due_at, action_met FROM organizations WHERE id = ?',
    organizationId,
  );
  const announced = announcedOf(row as unknown as AnnouncedColumns);
  const columns = announcedColumns(withAnnounced(announced, dueAt, nowMs()));
  database.run(
    'UPDATE organizations SET announced = ?, action_due_at = ?, action_met = ? WHERE id = ?',
    columns.announced,
    columns.action_due_at,
    columns.action_met,
    organizationId,
  );
}

function hintedAtMs(context: Context, { probedAtMs }: CachedOrganization): number {
  return Math.max(context.nowMs(), probedAtMs + hintedGapMs(context.settings));
}

/**
 * May a refusal speak of the organization at this moment? Not where the same task was refused before and the organization
 * was found open since, or nothing was found: a probe that is still to come has found nothing yet. Nor where the refused
 * resource is not proven to be its own and it was asked a moment ago.
 */
export function mayBeBlocked(context: Context, refused: RefusedRequest, refusedBefore: boolean): boolean {
  const organization = context.organizations.ensure(refused.organizationId);
  if (organization.access !== 'active') return true;
  if (refusedBefore) return probing(context, organization.id).probing;
  return refused.refusedAddress !== null || hintedAtMs(context, organization) <= context.nowMs();
}

/**
 * A request was refused: the organization's work waits, for at most 30 s, until the same request, asked again, says
 * why.
 */
export function holdForProbe(context: Context, refused: RefusedRequest): void {
  const organization = context.organizations.ensure(refused.organizationId);
  context.database.run(
    'UPDATE organizations SET refused_address = coalesce(?, refused_address), connection_id = ? WHERE id = ?',
    refused.refusedAddress,
    refused.connectionId,
    organization.id,
  );
  const atMs = hintedAtMs(context, organization);
  context.organizations.remember(organization);
  organization.wasShown = refused.connectionId !== null;
  ask(context, organization, atMs, 'refused-request');
  if (organization.access !== 'active') return;
  organization.heldUntilMs = atMs + heldMsMax;
}

export function probing({ organizations, nowMs }: Context, organizationId: string): Probing {
  const organization = organizations.get(organizationId);
  if (organization === undefined) return { probing: false, found: null };
  const { probeAtMs, probeLeaseUntilMs, probeFound } = organization;
  const isDue = probeAtMs !== null && probeAtMs <= nowMs();
  return { probing: probeLeaseUntilMs > 0 || isDue, found: probeFound };
}

export function requestProbe(context: Context, organizationId: string, onDemand: boolean): boolean {
  const organization = context.organizations.get(organizationId);
  if (organization === undefined) return false;
  if (onDemand) {
    ask(context, organization, context.nowMs(), 'operator');
    context.organizations.remember(organization);
    organization.probeFound = null;
  } else hintProbe(context, organizationId, null, 'refused-request');
  return true;
}

export function ownerOf({ database }: Context, { kind, id }: ResourceIdentity): string | null {
  const row = database.get('SELECT organization_id FROM tasks WHERE kind = ? AND resource_id = ?', kind, id);
  return (row?.organization_id ?? null) as string | null;
}

/** A refused grant may have ended: the provider says so. */
export function probeUnlessGranted(context: Context, organizationId: string, askedBy: ProbeAsker): void {
  const organization = context.organizations.get(organizationId);
  if (organization?.access === 'reauthorize') ask(context, organization, context.nowMs(), askedBy);
}

/** Those that an operator waits for first, then work that waits to know whether it is blocked. Then the longest due. */
export function takeProbes(context: Context, limit: number, leaseMs: number): DueProbe[] {
  const nowMs = context.nowMs();
  if (readingPause(context) !== null) return [];
  const budget = probeBudgetOf(context.settings.probesPerMinute);
  const paidUntil = paidUntilMicros(context);
  const first = firstDue(context, Math.min(limit, budget.free(paidUntil, nowMs)));
  if (first.length === 0) return [];
  keepPaid(context, budget.spend(paidUntil, nowMs, first.length));
  return first.map((organization) => takeProbe(context, organization, nowMs + leaseMs));
}

/** One more call of a probe that was taken. */
export function payProbeCall(context: Context, anyway: boolean): number {
  const nowMs = context.nowMs();
  const budget = probeBudgetOf(context.settings.probesPerMinute);
  const paidUntil = paidUntilMicros(context);
  if (!anyway && budget.free(paidUntil, nowMs) < 1) return budget.freeAtMs(paidUntil, nowMs) - nowMs;
  keepPaid(context, budget.spend(paidUntil, nowMs, 1));
  return 0;
}

/** A probe that was taken made no call: what was paid for its first one is there again. */
function giveCallBack(context: Context): void {
  const budget = probeBudgetOf(context.settings.probesPerMinute);
  keepPaid(context, budget.spend(paidUntilMicros(context), context.nowMs(), -1));
}

/** What is spent further ahead than the budget reaches was spent before the clock was set back. */
export function cutPaid(context: Context): void {
  const budget = probeBudgetOf(context.settings.probesPerMinute);
  keepPaid(context, budget.spend(paidUntilMicros(context), context.nowMs(), 0));
}

function keepPaid({ database }: Context, untilMicros: number): void {
  database.run(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    probeBudgetName,
    untilMicros,
  );
}

function paidUntilMicros({ database }: Context): number {
  return Number(database.get('SELECT value FROM meta WHERE name = ?', probeBudgetName)?.value ?? 0);
}

/** The few that come first of what may be very many: never all of them in order. */
function firstDue(context: Context, limit: number): CachedOrganization[] {
  const nowMs = context.nowMs();
  const first: { organization: CachedOrganization; rank: number; dueMs: number }[] = [];
  if (limit <= 0) return [];
  for (const organization of context.organizations.all()) {
    const dueMs = probeDueMs(organization);
    if (dueMs === null || dueMs > nowMs) continue;
    const due = { organization, rank: rankOf(organization, organization.probeAskedBy), dueMs };
    const place = first.findIndex(
      (other) => due.rank < other.rank || (due.rank === other.rank && dueMs < other.dueMs),
    );
    if (place === -1) first.push(due);
    else first.splice(place, 0, due);
    if (first.length > limit) first.pop();
  }
  return first.map(({ organization }) => organization);
}

/**
 * Of one that is blocked it matters to nobody else what asked: its probe is repeated. Last are those that no connection was
 * ever shown: there is nobody to ask about them.
 */
function rankOf({ access, wasShown }: CachedOrganization, askedBy: ProbeAsker | null): number {
  if (askedBy === 'operator') return 0;
  if (access !== 'active') return 3;
  if (askedBy === 'refused-request') return 1;
  return wasShown ? 2 : 4;
}

/** Its time stays in its row until it is answered: a process that starts probes again. */
function takeProbe(context: Context, organization: CachedOrganization, leaseUntilMs: number): DueProbe {
  const { database } = context;
  const { id, epoch } = organization;
  context.organizations.remember(organization);
  Object.assign(organization, {
    probeAtMs: null,
    probeLeaseUntilMs: leaseUntilMs,
    probedAtMs: context.nowMs(),
  });
  const row = database.get(
    `UPDATE organizations SET probed_at = ? WHERE id = ?
     RETURNING refused_address, known_address, connection_id`,
    organization.probedAtMs,
    id,
  )!;
  // What only a delivery says to be its own proves nothing about it, and the refused one nothing that is not asked anyway.
  const waiting = database.get(
    `SELECT address, connection_id FROM (
       SELECT address, connection_id, organization_id, lane FROM tasks WHERE lane = ? AND due_at IS NOT NULL
       ORDER BY due_at LIMIT ?) WHERE organization_id = lane AND address IS NOT ? LIMIT 1`,
    id,
    waitingLookedAt,
    row.refused_address as string | null,
  );
  const known = row.known_address === row.refused_address ? null : row.known_address;
  return {
    organizationId: id,
    epoch,
    refusedAddress: row.refused_address as string | null,
    knownAddress: (known ?? waiting?.address ?? null) as string | null,
    connectionId: (row.connection_id ?? waiting?.connection_id ?? null) as string | null,
    askedBy: organization.probeAskedBy,
  };
}

export function nextProbeMs(context: Context): number | null {
  const nowMs = context.nowMs();
  const { freeAtMs } = probeBudgetOf(context.settings.probesPerMinute);
  let next: number | null = null;
  for (const organization of context.organizations.all()) {
    const dueMs = probeDueMs(organization);
    if (dueMs !== null && (next === null || dueMs < next)) next = dueMs;
  }
  return next === null ? null : Math.max(next, freeAtMs(paidUntilMicros(context), nowMs));
}

export function postponeProbe(
  context: Context,
  organizationId: string,
  epoch: number,
  again: ProbeAgain,
  found: string,
): void {
  if (again !== 'later') giveCallBack(context);
  const organization = context.organizations.get(organizationId);
  if (organization === undefined) return;
  context.organizations.remember(organization);
  organization.probeLeaseUntilMs = 0;
  organization.probeFound = found;
  if (organization.epoch !== epoch) return;
  organization.heldUntilMs = 0;
  if (again === 'never' && organization.access === 'active') {
    schedule(context, organization, organization.probeAtMs, null);
    return;
  }
  const waitMs = typeof again === 'number' ? again : doubleIntervalMs(context, organization);
  ask(context, organization, context.nowMs() + waitMs, 'schedule');
}

/** The time until the next probe doubles, up to its bound, until an answer says that it is active. */
function doubleIntervalMs(context: Context, { id }: CachedOrganization): number {
  const { probeMs, probeMsMax } = context.settings;
  const row = context.database.get(
    `UPDATE organizations SET probe_interval_ms = min(?, coalesce(probe_interval_ms * 2, ?)) WHERE id = ?
     RETURNING probe_interval_ms`,
    probeMsMax,
    probeMs,
    id,
  )!;
  return Number(row.probe_interval_ms);
}
