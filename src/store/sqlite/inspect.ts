/**
 * Reading for people: organizations, tasks, counts, alerts. Every list is a page; nothing here changes a task.
 */
import type { Alert, AlertInputs } from '../../model/alert';
import type { TaskView } from '../../model/inspection';
import type { AccessChange, OrganizationView } from '../../model/organization';
import {
  accessChange,
  accessView,
  announcedActions,
  announcedView,
  blockedView,
  countsByAccess,
  isForgotten,
  organizationView,
} from '../organization-row';
import { taskView } from '../task-row';
import type { Context } from './context';
import { unsentCount } from './outbox';

/**
 * How many tasks wait in each lane whose organization is not active; a lane where none does is left out. Organizations
 * are walked, not tasks, which may be many more: that is what CROSS JOIN asks for.
 */
function parkedByLane({ database }: Context): Map<string, { parked: number; sinceMs: number | null }> {
  const rows = database.all(
    `SELECT o.id, count(*) AS parked, min(coalesce(t.covered_hint_at, t.first_hint_at)) AS since
     FROM organizations o CROSS JOIN tasks t
     WHERE o.access <> 'active' AND t.lane = o.id AND t.due_at IS NOT NULL GROUP BY o.id`,
  );
  return new Map(
    rows.map(({ id, parked, since }) => [
      String(id),
      { parked: Number(parked), sinceMs: since === null ? null : Number(since) },
    ]),
  );
}

/** Counted for who is not active only. */
const organizationColumns = `o.id, o.name, o.access, o.causes, o.connection_id, o.was_read, ${isForgotten} AS forgotten,
  iif(o.access = 'active', 0, (SELECT count(*) FROM tasks t WHERE t.lane = o.id AND t.due_at IS NOT NULL)) AS parked`;

export function listOrganizations(
  context: Context,
  { limit, after }: { limit: number; after: string | null },
): OrganizationView[] {
  const { database } = context;
  const all = `SELECT ${organizationColumns} FROM organizations o`;
  const rows =
    after === null
      ? database.all(`${all} ORDER BY o.id LIMIT ?`, limit)
      : database.all(`${all} WHERE o.id > ? ORDER BY o.id LIMIT ?`, after, limit);
  const revokedIds = revokedConnections(context);
  return rows.map((row) => organizationView(row, revokedIds));
}

export function findOrganization(context: Context, organizationId: string): OrganizationView | null {
  const row = context.database.get(
    `SELECT ${organizationColumns}, o.announced, o.action_due_at, o.action_met FROM organizations o WHERE o.id = ?`,
    organizationId,
  );
  if (row === undefined) return null;
  return announcedView(row, revokedConnections(context));
}

export function accessHistory(context: Context, organizationId: string, limit: number): AccessChange[] {
  return context.database
    .all(
      'SELECT * FROM organization_history WHERE organization_id = ? ORDER BY epoch DESC LIMIT ?',
      organizationId,
      limit,
    )
    .reverse()
    .map(accessChange);
}

export function organizationAccess(context: Context, organizationId: string) {
  const row = context.database.get(
    `SELECT access, causes, epoch, connection_id, ${isForgotten} AS forgotten FROM organizations o WHERE id = ?`,
    organizationId,
  );
  return row === undefined ? null : accessView(row);
}

const parkedState = `iif(t.due_at IS NOT NULL AND o.access IS NOT NULL AND o.access <> 'active', 'parked', t.state)`;

export function listTasks(
  context: Context,
  filter: { state: TaskView['state'] | null; limit: number; after: number },
): TaskView[] {
  return context.database
    .all(
      `SELECT t.*, ${parkedState} AS shown FROM tasks t LEFT JOIN organizations o ON o.id = t.lane
       WHERE t.id > ? AND (t.joined_to IS NULL OR t.state <> 'done') AND (? IS NULL OR ${parkedState} = ?) ORDER BY t.id LIMIT ?`,
      filter.after,
      filter.state,
      filter.state,
      filter.limit,
    )
    .map(taskView);
}

export function counts(context: Context) {
  const { database } = context;
  const nowMs = context.nowMs();
  const number = (sql: string): number => Number(Object.values(database.get(sql)!)[0]);
  const { due, waiting, parked, oldestMs } = countTasks(context, nowMs);
  const organizations = database.all(
    `SELECT access, count(*) AS count FROM organizations
     WHERE access <> 'active' OR was_read = 1 OR connection_id IS NOT NULL GROUP BY access`,
  );
  return {
    due,
    waiting,
    parked,
    quarantined: number(`SELECT count(*) FROM quarantine WHERE state = 'waiting'`),
    unsent: unsentCount(context),
    oldestWaitingAgeMs: oldestMs === null ? null : nowMs - oldestMs,
    organizations: countsByAccess(organizations),
  };
}

/**
 * One walk through the index of what waits, which holds all that is asked for here: a million tasks take a tenth of a second
 * of the one thread. What settles is not old before its time, and what is being read still waits. After a block its time
 * begins anew.
 */
function countTasks({ database, leases }: Context, nowMs: number) {
  const hintedAt = 'coalesce(covered_hint_at, first_hint_at)';
  const rows = database.all(
    `SELECT coalesce(o.access, 'active') = 'active' AS active, sum(t.waiting) AS waiting, sum(t.due) AS due,
       min(max(t.hinted_at, coalesce(o.since, 0))) AS oldest
     FROM (
       SELECT lane, count(*) AS waiting, sum(due_at <= ?1) AS due,
         min(iif(due_at <= ?1 OR state <> 'settling', ${hintedAt}, NULL)) AS hinted_at
       FROM tasks WHERE due_at IS NOT NULL GROUP BY lane
       UNION ALL SELECT lane, 0, 0, ${hintedAt} FROM tasks WHERE id IN (SELECT value FROM json_each(?2))
     ) t LEFT JOIN organizations o ON o.id = t.lane GROUP BY active`,
    nowMs,
    JSON.stringify([...leases.keys()]),
  );
  const [active, blocked] = [1, 0].map((of) => rows.find((row) => row.active === of));
  return {
    due: Number(active?.due ?? 0),
    waiting: Number(active?.waiting ?? 0),
    parked: Number(blocked?.waiting ?? 0),
    oldestMs: active?.oldest == null ? null : Number(active.oldest),
  };
}

/** Of those that are blocked: when the last valid consent that sees it ends; left out where one never does by itself. */
function consentEnds({ database }: Context): Map<string, number> {
  const rows = database.all(
    `SELECT s.organization_id AS id, max(c.expires_at) AS ends FROM organizations o
     CROSS JOIN sights s ON s.organization_id = o.id JOIN connections c ON c.id = s.connection_id AND c.status = 'valid'
     WHERE o.access <> 'active' GROUP BY s.organization_id
     HAVING max(c.expires_at IS NULL OR (c.auth = 'oauth2' AND c.sealed_refresh IS NOT NULL)) = 0`,
  );
  return new Map(rows.map((row) => [String(row.id), Date.parse(String(row.ends))]));
}

/** Those on whom an operator had the last word. */
function forgottenIds({ database }: Context): Set<string> {
  const rows = database.all(
    `SELECT o.id FROM organizations o CROSS JOIN organization_history h ON h.organization_id = o.id AND h.epoch = o.epoch
     WHERE o.access = 'not-connected' AND h.said_by = 'operator'`,
  );
  return new Set(rows.map(({ id }) => String(id)));
}

function revokedConnections({ database }: Context): Set<string> {
  const rows = database.all(`SELECT id FROM connections WHERE status = 'revoked'`);
  return new Set(rows.map(({ id }) => String(id)));
}

function suspects(context: Context): Pick<AlertInputs, 'suspected' | 'refused'> {
  const nowMs = context.nowMs();
  let suspected = 0;
  let refused = 0;
  for (const { access, probeAtMs, probeLeaseUntilMs, probeAskedBy } of context.organizations.all()) {
    const isAsked = probeLeaseUntilMs > nowMs || (probeAtMs !== null && probeAtMs <= nowMs);
    if (access !== 'active' || !isAsked) continue;
    suspected += 1;
    if (probeAskedBy === 'refused-request') refused += 1;
  }
  return { suspected, refused };
}

/** Epochs only rise, and so do the numbers of what is set aside. */
export function alertMark({ database, organizations }: Context): string {
  let epochs = 0;
  for (const { epoch } of organizations.all()) epochs += epoch;
  const last = database.get('SELECT max(id) AS id FROM quarantine')!;
  return `${epochs} ${last.id ?? 0}`;
}

export function alertInputs(context: Context): AlertInputs {
  const waiting = parkedByLane(context);
  const ends = consentEnds(context);
  const forgotten = forgottenIds(context);
  const revokedIds = revokedConnections(context);
  const blocked = context.database
    .all(
      `SELECT id, name, causes, was_read, connection_id FROM organizations WHERE access <> 'active' ORDER BY id`,
    )
    .map((row) => {
      const id = String(row.id);
      const { parked, sinceMs } = waiting.get(id) ?? { parked: 0, sinceMs: null };
      return blockedView({ ...row, parked, since: sinceMs, forgotten: forgotten.has(id) }, revokedIds, ends);
    });
  const quarantined = context.database
    .all(
      `SELECT reason, count(*) AS count, min(at) AS oldest FROM quarantine WHERE state = 'waiting' GROUP BY reason`,
    )
    .map((row) => ({ reason: String(row.reason), count: Number(row.count), oldestMs: Number(row.oldest) }));
  const announced = announcedActions(
    context.database.all(
      `SELECT id, name, access, announced, action_due_at, action_met FROM organizations
       WHERE access <> 'terms-required' AND action_due_at IS NOT NULL
         AND (was_read = 1 OR id IN (SELECT organization_id FROM sights)) ORDER BY id`,
    ),
    blocked,
  );
  const refused = refusedConnections(context);
  return { blocked, refusedConnections: refused, announced, quarantined, ...suspects(context) };
}

function refusedConnections({ database }: Context): AlertInputs['refusedConnections'] {
  const rows = database.all(
    `SELECT c.id, c.refused_message AS message, count(s.organization_id) AS sees,
       count(*) FILTER (WHERE s.organization_id IS NOT NULL AND s.organization_id NOT IN (
         SELECT o.organization_id FROM sights o JOIN connections v ON v.id = o.connection_id
         WHERE v.status = 'valid')) AS alone
     FROM connections c LEFT JOIN sights s ON s.connection_id = c.id
     WHERE c.status = 'refused' GROUP BY c.id ORDER BY c.id`,
  );
  return rows.map(({ id, message, sees, alone }) => ({
    connectionId: String(id),
    message: message as string | null,
    sees: Number(sees),
    alone: Number(alone),
  }));
}

export function listAlerts(context: Context): Alert[] {
  return context.database
    .all('SELECT alert FROM alerts ORDER BY fingerprint')
    .map((row) => JSON.parse(String(row.alert)) as Alert);
}

export function saveAlerts(context: Context, alerts: Alert[]): void {
  for (const alert of alerts) {
    context.database.run(
      `INSERT INTO alerts (fingerprint, alert) VALUES (?, ?)
       ON CONFLICT (fingerprint) DO UPDATE SET alert = excluded.alert`,
      alert.fingerprint,
      JSON.stringify(alert),
    );
  }
}

/** Of its file and log: pages that are in use. What was deleted leaves pages that are used again. */
export function storeBytes({ database }: Context): number {
  const row = database.get(
    `SELECT (page_count - freelist_count) * page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )!;
  return Number(row.bytes);
}
