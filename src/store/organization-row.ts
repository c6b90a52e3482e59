/**
 * What the row of an organization says to people, on either store: what keeps it from being read, whom that concerns, and
 * what its customer was announced to do. Pure: where a store has no booleans, numbers stand for them.
 */
import type { AlertInputs } from '../model/alert';
import {
  type Access,
  type AccessChange,
  type CauseSet,
  concernsSomebody,
  leadingBlock,
  type OrganizationView,
} from '../model/organization';
import { type AnnouncedColumns, dueTimesOf } from './announced-actions';

/** By the names of its columns; which of them are there is up to the statement. */
type Row = Readonly<Record<string, unknown>>;

/** Was the last word on `o` an operator's? */
export const isForgotten = `o.access = 'not-connected' AND coalesce((
  SELECT h.said_by = 'operator' FROM organization_history h WHERE h.organization_id = o.id AND h.epoch = o.epoch), false)`;

/** What it is blocked by; null: by nothing. `revoked`: by that an operator revoked its connection. */
function blockOf(row: Row, revokedIds: ReadonlySet<string>) {
  const block = leadingBlock(JSON.parse(String(row.causes)) as CauseSet);
  if (block === null) return null;
  const { cause, connectionId } = block;
  const revoked = connectionId !== undefined && revokedIds.has(connectionId);
  const [forgotten, wasRead] = [Boolean(row.forgotten), Boolean(row.was_read)];
  const concerns = concernsSomebody({ cause, forgotten, revoked, parked: Number(row.parked), wasRead });
  return { ...block, revoked, concerns };
}

export function organizationView(row: Row, revokedIds: ReadonlySet<string>): OrganizationView {
  const block = blockOf(row, revokedIds);
  const connection = block?.connectionId ?? (row.connection_id as string | null);
  return {
    id: String(row.id),
    name: row.name as string | null,
    access: row.access as Access,
    since: block === null ? null : new Date(block.sinceMs).toISOString(),
    reason: block?.cause ?? null,
    message: block?.message ?? null,
    actionUrl: block?.actionUrl ?? null,
    parked: Number(row.parked),
    connection: connection !== null && revokedIds.has(connection) ? null : connection,
    concerns: block?.concerns ?? false,
    forgotten: Boolean(row.forgotten),
    seen: Boolean(row.was_read) || row.connection_id !== null,
  };
}

/** The same with what is announced. */
export function announcedView(row: Row, revokedIds: ReadonlySet<string>): OrganizationView {
  const times = dueTimesOf(row as unknown as AnnouncedColumns);
  return {
    ...organizationView(row, revokedIds),
    announced: times.map((dueAtMs) => new Date(dueAtMs).toISOString()),
  };
}

/** Of one that is blocked. `ends`: when the last valid consent that sees it ends, by its id. */
export function blockedView(
  row: Row,
  revokedIds: ReadonlySet<string>,
  ends: ReadonlyMap<string, number>,
): AlertInputs['blocked'][number] {
  const block = blockOf(row, revokedIds)!;
  return {
    ...block,
    organizationId: String(row.id),
    name: row.name as string | null,
    parked: Number(row.parked),
    waitsSinceMs: row.since as number | null,
    connectionId: block.connectionId ?? (row.connection_id as string | null),
    consentEndsAtMs: ends.get(String(row.id)) ?? null,
  };
}

/** A block for terms or another action is what was announced; one of any other cause ends no time. */
export function announcedActions(
  rows: readonly Row[],
  blocked: AlertInputs['blocked'],
): AlertInputs['announced'] {
  const concerned = blocked.filter(({ concerns }) => concerns);
  const blocks = new Map(
    concerned.map(({ organizationId, cause, revoked }) => [organizationId, { blockedBy: cause, revoked }]),
  );
  return rows.flatMap((row) => {
    const organizationId = String(row.id);
    const block = blocks.get(organizationId);
    if (row.access !== 'active' && block === undefined) return [];
    const of = { organizationId, name: row.name as string | null };
    const times = dueTimesOf(row as unknown as AnnouncedColumns);
    return times.map((dueAtMs) => ({ ...of, dueAtMs, ...block }));
  });
}

export function accessView(row: Row) {
  return {
    access: row.access as Access,
    causes: JSON.parse(String(row.causes)) as CauseSet,
    epoch: Number(row.epoch),
    connectionId: row.connection_id as string | null,
    forgotten: Boolean(row.forgotten),
  };
}

/** Of a row of its history. */
export function accessChange(row: Row): AccessChange {
  return {
    nth: Number(row.epoch) - 1,
    at: new Date(Number(row.at)).toISOString(),
    from: row.previous as Access,
    to: row.access as Access,
    by: row.said_by as AccessChange['by'],
    askedBy: row.asked_by as AccessChange['askedBy'],
    cause: row.cause as AccessChange['cause'],
    actionUrl: row.action_url as string | null,
    message: row.message as string | null,
  };
}

/** How many have each access, of rows with the count of one each. */
export function countsByAccess(rows: readonly Row[]): Record<Access, number> {
  const counts = { active: 0, 'terms-required': 0, 'not-connected': 0, reauthorize: 0 };
  for (const { access, count } of rows) counts[access as Access] = Number(count);
  return counts;
}
