/**
 * Asking for probes: by notifications that say that the customer must act, and by refused requests. The earliest wins:
 * what is asked for twice is asked once. Who takes probes, and what their answers mean, is decided elsewhere.
 */

import type { ProbeAsker } from '../../model/organization';
import type { RefusedRequest } from '../../model/task';
import { type AnnouncedColumns, announcedColumns, announcedOf, withAnnounced } from '../announced-actions';
import { heldMsMax } from '../set-back';
import { hintedGapMs } from '../store-rules';
import type { Context } from './context';
import { ensureOrganizations, lockOrganizations } from './organization-rows';
import type { Row } from './server/database';

/** What asked for the probe that is due, once `asker` asks too, for `atMs`: whoever goes first of those that did. */
const askedByThen = (asker: string, atMs: string) => `CASE WHEN o.probe_at <= ${atMs} AND NOT (
  ${asker} = 'refused-request' AND o.access = 'active' AND o.probe_asked_by IS DISTINCT FROM 'operator')
  THEN o.probe_asked_by ELSE ${asker} END`;

/**
 * Asks for a probe at a time; an earlier one that was asked for stays, and is an operator's once one asks too, who is not
 * told what an earlier one found.
 */
export async function askProbe(
  context: Context,
  organizationId: string,
  atMs: number,
  askedBy: ProbeAsker,
): Promise<void> {
  await context.database.run(
    `UPDATE organizations SET probe_at = least(coalesce(probe_at, $2), $2), probe_asked_by = $3,
       probe_found = CASE WHEN $3 = 'operator' THEN NULL ELSE probe_found END
     WHERE id = $1 AND (probe_at IS NULL OR probe_at > $2 OR $3 = 'operator')`,
    organizationId,
    atMs,
    askedBy,
  );
}

/** Notifications say that customers must act: only the provider's own answer will change the state. */
export async function hintProbes(
  context: Context,
  hinted: { organizationId: string; dueAt: string | null }[],
  askedBy: ProbeAsker,
): Promise<void> {
  if (hinted.length === 0) return;
  context.news.add('work');
  const ids = [...new Set(hinted.map(({ organizationId }) => organizationId))];
  await ensureOrganizations(context, ids);
  const rows = [...(await lockOrganizations(context, ids)).values()];
  const nowMs = context.nowMs();
  const announced = new Map(rows.map((row) => [row.id as string, announcedOf(row as AnnouncedColumns)]));
  for (const { organizationId, dueAt } of hinted) {
    const known = announced.get(organizationId) ?? [];
    announced.set(organizationId, withAnnounced(known, dueAt, nowMs));
  }
  const columns = rows.map(({ id }) => announcedColumns(announced.get(id) ?? []));
  await context.database.run(
    `UPDATE organizations o SET announced = l.announced, action_due_at = l.due_at, action_met = l.met,
       probe_asked_by = ${askedByThen('$6::text', 'l.at')},
       probe_at = least(coalesce(o.probe_at, l.at), l.at)
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS l (id, at, announced, due_at, met)
     WHERE o.id = l.id AND o.id = ANY($1::text[])`,
    rows.map(({ id }) => id),
    rows.map(({ probed_at }) => Math.max(nowMs, probed_at + hintedGapMs(context.settings))),
    columns.map((row) => row.announced),
    columns.map((row) => row.action_due_at),
    columns.map((row) => row.action_met),
    askedBy,
  );
}

/** A refused grant may have ended: the provider says so. The caller holds the rows. */
export async function probeUnlessGranted(
  context: Context,
  ids: string[],
  askedBy: ProbeAsker,
): Promise<void> {
  if (ids.length === 0) return;
  await context.database.run(
    `UPDATE organizations SET probe_at = $2, probe_asked_by = $3
     WHERE id = ANY($1::text[]) AND access = 'reauthorize' AND (probe_at IS NULL OR probe_at > $2)`,
    ids,
    context.nowMs(),
    askedBy,
  );
}

/**
 * May a refusal speak of the organization at this moment? Not where the same task was refused before and the organization
 * was found open since, or nothing was found: a probe that is still to come has found nothing yet. Nor where the refused
 * resource is not proven to be its own and it was asked a moment ago.
 */
export function mayBeBlocked(
  context: Context,
  organization: Row | undefined,
  refused: RefusedRequest,
  refusedBefore: boolean,
): boolean {
  if (organization !== undefined && organization.access !== 'active') return true;
  const { probe_at: probeAt = null, probe_lease_until: leaseUntil = 0 } = organization ?? {};
  if (refusedBefore) return leaseUntil > 0 || (probeAt !== null && probeAt <= context.nowMs());
  const askedAtMs = Number(organization?.probed_at ?? 0);
  return refused.refusedAddress !== null || askedAtMs + hintedGapMs(context.settings) <= context.nowMs();
}

/**
 * A request was refused: the organization's work waits, for at most 30 s, until the same request, asked again, says
 * why.
 */
export async function holdForProbe(context: Context, refused: RefusedRequest): Promise<void> {
  const held = await context.database.get(
    `WITH asked AS (SELECT id, greatest($4, probed_at + $5) AS at FROM organizations WHERE id = $1 FOR NO KEY UPDATE)
     UPDATE organizations o SET refused_address = coalesce($2, o.refused_address), connection_id = $3,
       probe_asked_by = ${askedByThen(`'refused-request'`, 'a.at')},
       probe_at = least(coalesce(o.probe_at, a.at), a.at)
     FROM asked a WHERE o.id = a.id RETURNING o.access, a.at`,
    refused.organizationId,
    refused.refusedAddress,
    refused.connectionId,
    context.nowMs(),
    hintedGapMs(context.settings),
  );
  if (held?.access === 'active') context.lanes.open(refused.organizationId, Number(held.at) + heldMsMax);
}
