/**
 * Runs of a sync and the listings that they read. A listing's row is the cursor: it moves in the transaction that
 * finishes a page. What no listing of an organization holds any more is made due, and nothing else is concluded here.
 */
import type { ResourceKind } from '../../model/resource';
import type {
  LastRun,
  ListedResource,
  ListingName,
  OpenedListing,
  RunCounts,
  StandingOfRun,
  SyncRun,
} from '../../model/sync';
import { absentMin, resumableMs, runsKept } from '../store-rules';
import type { Context } from './context';
import { forgottenOf } from './organizations';
import { currentRevision } from './revision';
import type { Row } from './server/database';

export async function beginRun(
  context: Context,
  { organizationId, full }: { organizationId: string | null; full: boolean },
): Promise<SyncRun> {
  const { database } = context;
  const nowMs = context.nowMs();
  const ended = await database.get(
    `SELECT (counts::json ->> 'listings')::integer AS listings FROM sync_runs
     WHERE ended_at IS NOT NULL AND organization_id IS NOT DISTINCT FROM $1 ORDER BY id DESC LIMIT 1`,
    organizationId,
  );
  const listingsLast: number | null = ended?.listings ?? null;
  const left = await database.get(
    `SELECT id, (SELECT count(*)::integer FROM listings WHERE ended = r.id) AS listings FROM sync_runs r
     WHERE ended_at IS NULL AND organization_id IS NOT DISTINCT FROM $1 AND whole = $2 AND began_at > $3
     ORDER BY id DESC LIMIT 1`,
    organizationId,
    full,
    nowMs - resumableMs,
  );
  if (left !== undefined) return { run: left.id, resumed: true, listingsRead: left.listings, listingsLast };
  const begun = await database.get(
    `INSERT INTO sync_runs (organization_id, whole, revision, began_at) VALUES ($1, $2, $3, $4) RETURNING id`,
    organizationId,
    full,
    await currentRevision(context),
    nowMs,
  );
  return { run: begun!.id, resumed: false, listingsRead: 0, listingsLast };
}

export async function endRun(
  context: Context,
  run: number,
  counts: RunCounts,
  whole: boolean,
): Promise<void> {
  const { database } = context;
  await database.run(
    'UPDATE sync_runs SET ended_at = $1, counts = $2 WHERE id = $3',
    context.nowMs(),
    JSON.stringify(counts),
    run,
  );
  // Everything that can be was judged anew since it was found that the topics know more. Versions before noted no run then.
  if (whole) {
    await database.run(
      `DELETE FROM meta WHERE name IN ('behind', 'behind-run') AND EXISTS (
         SELECT 1 FROM sync_runs WHERE id = $1 AND whole AND organization_id IS NULL AND coalesce(
           id > (SELECT value FROM meta WHERE name = 'behind-run'),
           began_at > (SELECT value FROM meta WHERE name = 'behind')))`,
      run,
    );
  }
  await database.run('DELETE FROM sync_runs WHERE id <= $1', run - runsKept);
}

export async function syncStanding({ database }: Context): Promise<StandingOfRun | null> {
  const row = await database.get(
    'SELECT id, counts FROM sync_runs WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT 1',
  );
  const standing = row === undefined ? null : (JSON.parse(row.counts).standing ?? null);
  return standing === null ? null : { ...standing, run: row!.id };
}

export async function lastRun({ database, nowMs }: Context): Promise<LastRun | null> {
  const row = await database.get(
    `SELECT id, organization_id, whole, began_at, ended_at,
       CASE WHEN ended_at IS NULL THEN (SELECT count(*)::integer FROM listings WHERE ended = r.id) ELSE 0 END AS read,
       (SELECT (counts::json ->> 'listings')::integer FROM sync_runs b WHERE b.ended_at IS NOT NULL AND b.id < r.id
          AND b.organization_id IS NOT DISTINCT FROM r.organization_id ORDER BY b.id DESC LIMIT 1) AS last,
       (SELECT max(id) FROM sync_runs WHERE whole AND organization_id IS NULL AND ended_at IS NOT NULL) AS ended_full
     FROM sync_runs r ORDER BY id DESC LIMIT 1`,
  );
  if (row === undefined) return null;
  return {
    run: row.id,
    organizationId: row.organization_id,
    full: row.whole,
    agoMs: Math.max(0, nowMs() - row.began_at),
    ended: row.ended_at !== null,
    listings: { read: row.read, last: row.last },
    endedFull: row.ended_full,
  };
}

export async function openListings(
  context: Context,
  run: number,
  names: ListingName[],
): Promise<{ listings: OpenedListing[]; revision: number }> {
  const byScope = new Map(names.map((name) => [name.scope, name.organizationId]));
  const rows = await context.database.all(
    `INSERT INTO listings AS l (scope, organization_id, begun)
     SELECT scope, organization_id, $3 FROM unnest($1::text[], $2::text[]) AS n (scope, organization_id)
     ORDER BY scope COLLATE "C"
     ON CONFLICT (scope) DO UPDATE SET begun = excluded.begun,
       token_asked = CASE WHEN l.token IS NOT NULL THEN l.token_asked END,
       next_address = CASE WHEN l.begun = excluded.begun THEN l.next_address END
     RETURNING id, scope, ended, next_address, token, token_asked`,
    [...byScope.keys()],
    [...byScope.values()],
    run,
  );
  const opened = new Map(rows.map((row) => [row.scope as string, row]));
  const listings = names.map((name) => ({ ...name, ...listingOf(opened.get(name.scope)!, run) }));
  return { listings, revision: await currentRevision(context) };
}

function listingOf(row: Row, run: number): Omit<OpenedListing, keyof ListingName> {
  return {
    id: row.id,
    ended: row.ended === run,
    nextAddress: row.next_address,
    changeToken: row.token === null ? null : { token: row.token, asked: row.token_asked },
    known: row.ended > 0,
  };
}

/** Those that are as they were published count as listed by this run; the places of the others. */
export async function compareListed(
  context: Context,
  run: number,
  listingId: number,
  listed: ListedResource[],
  connectionId: string,
): Promise<number[]> {
  const rows = await context.database.all(
    `WITH same AS (
       SELECT t.id, n.place FROM (
         SELECT k.id, n.* FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::int[]) WITH ORDINALITY
           AS n (kind, resource_id, organization_id, wire_hash, normalizer_version, place)
         CROSS JOIN LATERAL (SELECT id FROM tasks WHERE kind = n.kind AND resource_id = n.resource_id OFFSET 0) k
         ORDER BY k.id) n
       CROSS JOIN LATERAL (
         SELECT id FROM tasks WHERE id = n.id AND wire_hash = n.wire_hash AND normalizer_version = n.normalizer_version
           AND organization_id IS NOT DISTINCT FROM n.organization_id AND published AND NOT deleted
           AND state NOT IN ('quarantined', 'taken') AND code IS DISTINCT FROM 'absent-once'
           AND (SELECT true FROM unclaimed WHERE kind = n.kind AND resource_id = n.resource_id LIMIT 1) IS NULL
         FOR NO KEY UPDATE) t),
     marked AS (UPDATE tasks t SET listed_run = $1, listed_in = $2, shown_by = $8,
       absent_since = CASE WHEN t.connection_id = $8 THEN t.absent_since END
       FROM same s WHERE t.id = s.id AND t.id = ANY(ARRAY(SELECT id FROM same)))
     SELECT place FROM same`,
    run,
    listingId,
    listed.map(({ kind }) => kind),
    listed.map(({ id }) => id),
    listed.map(({ organizationId }) => organizationId),
    listed.map(({ wireHash }) => wireHash),
    listed.map(({ normalizerVersion }) => normalizerVersion),
    connectionId,
  );
  const same = new Set(rows.map(({ place }) => place - 1));
  return [...listed.keys()].filter((place) => !same.has(place));
}

export async function hintAbsent(
  context: Context,
  run: number,
  organizationId: string,
  kind: ResourceKind,
  shareMax: number,
): Promise<number> {
  if ((await forgottenOf(context, [organizationId])).size > 0) return 0;
  let absent = await absentOf(context, run, organizationId, kind, absentMin + 1);
  if (absent.length > absentMin) {
    const known = await knownOf(context, organizationId, kind);
    const limit = Math.floor(Math.max(absentMin, known * shareMax)) + 1;
    absent = await absentOf(context, run, organizationId, kind, limit);
  }
  const rows = await context.database.all(
    `WITH absent AS (
       SELECT id FROM tasks WHERE id = ANY($1::bigint[]) AND state = 'done' ORDER BY id FOR NO KEY UPDATE)
     UPDATE tasks t SET state = 'due', due_at = greatest($2, least(coalesce(t.read_at, 0), $2) + $3), settling = false,
       reconciled = true, traceparent = NULL
     FROM absent a WHERE t.id = a.id AND t.id = ANY($1::bigint[]) RETURNING t.lane, t.due_at`,
    absent,
    context.nowMs(),
    context.settings.readGapMs,
  );
  for (const { lane, due_at } of rows) context.lanes.expect(lane, due_at);
  if (rows.length > 0) context.news.add('work');
  return absent.length;
}

/**
 * At rest, not read since the run began, and in no listing that the run came to the end of; of what a listing of another
 * organization has shown last: not in that one's last end. First what was not read for longest: of many that only another user is
 * shown, each has its turn.
 */
async function absentOf(
  { database }: Context,
  run: number,
  organizationId: string,
  kind: ResourceKind,
  limit: number,
): Promise<number[]> {
  const begun = await database.get('SELECT revision FROM sync_runs WHERE id = $1', run);
  const known = `t.organization_id = $1 AND t.kind IS NOT DISTINCT FROM $2 AND t.published AND NOT t.deleted AND t.state = 'done'
    AND t.accepted_revision <= $3`;
  const rows = await database.all(
    `SELECT t.id, t.read_at FROM tasks t
     CROSS JOIN LATERAL (SELECT organization_id, ended, whole FROM listings WHERE id = t.listed_in OFFSET 0) l
     WHERE ${known} AND (t.listed_run < l.whole OR (l.organization_id = $1 AND l.ended <> $4))
     UNION ALL
     SELECT t.id, t.read_at FROM tasks t WHERE t.listed_in IS NULL AND ${known}
     ORDER BY read_at NULLS FIRST LIMIT $5`,
    organizationId,
    kind,
    begun?.revision ?? 0,
    run,
    limit,
  );
  return rows.map(({ id }) => id);
}

async function knownOf({ database }: Context, organizationId: string, kind: ResourceKind): Promise<number> {
  const counted = await database.get(
    `SELECT count(*) AS known FROM tasks WHERE organization_id = $1 AND kind IS NOT DISTINCT FROM $2 AND published AND NOT deleted`,
    organizationId,
    kind,
  );
  return counted!.known;
}

export async function countCalls({ database }: Context, month: string, calls: number): Promise<number> {
  const counted = await database.get(
    `INSERT INTO provider_calls AS p (month, calls) VALUES ($1, $2)
     ON CONFLICT (month) DO UPDATE SET calls = p.calls + excluded.calls RETURNING calls`,
    month,
    calls,
  );
  return counted!.calls;
}
