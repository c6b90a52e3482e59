/**
 * What alerts are made of, and alerts as they were last saved.
 */
import type { Alert, AlertInputs } from '../../model/alert';
import { announcedActions, blockedView, isForgotten } from '../organization-row';
import type { Context } from './context';
import { revokedConnections } from './organizations';

/** Of those that are blocked: when the last valid consent that sees it ends; left out where one never does by itself. */
async function consentEnds(database: Context['database']): Promise<Map<string, number>> {
  const rows = await database.all(
    `SELECT s.organization_id AS id, max(c.expires_at) AS ends FROM organizations o
     JOIN sights s ON s.organization_id = o.id JOIN connections c ON c.id = s.connection_id AND c.status = 'valid'
     WHERE o.access <> 'active' GROUP BY s.organization_id
     HAVING NOT bool_or(c.expires_at IS NULL OR (c.auth = 'oauth2' AND c.sealed_refresh IS NOT NULL))`,
  );
  return new Map(rows.map(({ id, ends }) => [id, Date.parse(ends)]));
}

export async function alertInputs(context: Context): Promise<AlertInputs> {
  const { database } = context;
  const ends = await consentEnds(database);
  const revokedIds = await revokedConnections(context);
  const rows = await database.all(
    `SELECT o.id, o.name, o.causes, o.was_read, o.connection_id, ${isForgotten} AS forgotten, w.parked, w.since
     FROM organizations o CROSS JOIN LATERAL (
       SELECT count(*) AS parked, min(coalesce(t.covered_hint_at, t.first_hint_at)) AS since FROM tasks t
       WHERE t.lane = o.id AND t.due_at IS NOT NULL) w
     WHERE o.access <> 'active' ORDER BY o.id`,
  );
  const blocked = rows.map((row) => blockedView(row, revokedIds, ends));
  const entries = await database.all(
    `SELECT reason, count(*) AS count, min(at) AS oldest FROM quarantine WHERE state = 'waiting' GROUP BY reason
     ORDER BY reason`,
  );
  const quarantined = entries.map(({ reason, count, oldest }) => ({ reason, count, oldestMs: oldest }));
  const announced = await database.all(
    `SELECT id, name, access, announced, action_due_at, action_met FROM organizations
     WHERE access <> 'terms-required' AND action_due_at IS NOT NULL
       AND (was_read OR id IN (SELECT organization_id FROM sights)) ORDER BY id`,
  );
  const refused = await refusedConnections(context);
  return {
    blocked,
    refusedConnections: refused,
    announced: announcedActions(announced, blocked),
    quarantined,
    ...(await suspects(context)),
  };
}

async function refusedConnections({ database }: Context): Promise<AlertInputs['refusedConnections']> {
  const rows = await database.all(
    `SELECT c.id, c.refused_message AS message, count(s.organization_id)::integer AS sees,
       (count(*) FILTER (WHERE s.organization_id IS NOT NULL AND s.organization_id NOT IN (
         SELECT o.organization_id FROM sights o JOIN connections v ON v.id = o.connection_id
         WHERE v.status = 'valid')))::integer AS alone
     FROM connections c LEFT JOIN sights s ON s.connection_id = c.id
     WHERE c.status = 'refused' GROUP BY c.id ORDER BY c.id`,
  );
  return rows.map(({ id, message, sees, alone }) => ({ connectionId: id, message, sees, alone }));
}

async function suspects(context: Context): Promise<Pick<AlertInputs, 'suspected' | 'refused'>> {
  const row = await context.database.get(
    `SELECT count(*)::integer AS suspected,
       (count(*) FILTER (WHERE probe_asked_by = 'refused-request'))::integer AS refused FROM organizations WHERE (probe_at IS NOT NULL OR probe_lease_until > 0)
       AND access = 'active' AND (probe_lease_until > $1 OR probe_at <= $1)`,
    context.nowMs(),
  );
  return { suspected: row!.suspected, refused: row!.refused };
}

/** Epochs only rise, and so do the numbers of what is set aside. */
export async function alertMark({ database }: Context): Promise<string> {
  const row = await database.get(
    `SELECT (SELECT sum(epoch)::text FROM organizations) AS epochs, (SELECT max(id)::text FROM quarantine) AS last`,
  );
  return `${row!.epochs} ${row!.last}`;
}

export async function listAlerts({ database }: Context): Promise<Alert[]> {
  const rows = await database.all('SELECT alert FROM alerts ORDER BY fingerprint');
  return rows.map(({ alert }) => JSON.parse(alert) as Alert);
}

export async function saveAlerts({ database }: Context, alerts: Alert[]): Promise<void> {
  const byFingerprint = new Map(alerts.map((alert) => [alert.fingerprint, JSON.stringify(alert)]));
  await database.run(
    `INSERT INTO alerts (fingerprint, alert)
     SELECT fingerprint, alert FROM unnest($1::text[], $2::text[]) AS n (fingerprint, alert)
     ORDER BY fingerprint COLLATE "C" ON CONFLICT (fingerprint) DO UPDATE SET alert = excluded.alert`,
    [...byFingerprint.keys()],
    [...byFingerprint.values()],
  );
}
