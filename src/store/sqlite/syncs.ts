/**
 * Runs of a sync and the listings that they read. A listing's row is the cursor: it moves in the transaction that
 * finishes a page. What no listing of an organization holds any more is made due, and nothing else is concluded here.
 */
import { Problem } from '../../model/problem';
import type { ResourceKind } from '../../model/resource';
import type {
  LastRun,
  ListedPage,
  ListedResource,
  ListedResult,
  ListingName,
  OpenedListing,
  RunCounts,
  StandingOfRun,
  SyncRun,
} from '../../model/sync';
import { absentMin, resumableMs, runsKept } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';
import { isForgotten } from './is-forgotten';
import { finishDraft, followHint, type Listed, makeDue, markListed } from './listed';

export function beginRun(
  context: Context,
  { organizationId, full }: { organizationId: string | null; full: boolean },
): SyncRun {
  const { database } = context;
  const nowMs = context.nowMs();
  const ended = database.get(
    `SELECT counts ->> 'listings' AS listings FROM sync_runs WHERE ended_at IS NOT NULL AND organization_id IS ?
     ORDER BY id DESC LIMIT 1`,
    organizationId,
  );
  const listingsLast = (ended?.listings ?? null) as number | null;
  const left = database.get(
    `SELECT id, (SELECT count(*) FROM listings WHERE ended = r.id) AS listings FROM sync_runs r
     WHERE ended_at IS NULL AND organization_id IS ? AND whole = ? AND began_at > ? ORDER BY id DESC LIMIT 1`,
    organizationId,
    full ? 1 : 0,
    nowMs - resumableMs,
  );
  if (left !== undefined) {
    const [run, listingsRead] = [Number(left.id), Number(left.listings)];
    return { run, resumed: true, listingsRead, listingsLast };
  }
  const run = database.insert(
    'INSERT INTO sync_runs (organization_id, whole, revision, began_at) VALUES (?, ?, ?, ?)',
    organizationId,
    full ? 1 : 0,
    context.currentRevision(),
    nowMs,
  );
  return { run, resumed: false, listingsRead: 0, listingsLast };
}

export function endRun(context: Context, run: number, counts: RunCounts, whole: boolean): void {
  const { database } = context;
  database.run(
    'UPDATE sync_runs SET ended_at = ?, counts = ? WHERE id = ?',
    context.nowMs(),
    JSON.stringify(counts),
    run,
  );
  // Everything that can be was judged anew since it was found that the topics know more. Versions before noted no run then.
  if (whole) {
    database.run(
      `DELETE FROM meta WHERE name IN ('behind', 'behind-run') AND EXISTS (
         SELECT 1 FROM sync_runs WHERE id = ? AND whole = 1 AND organization_id IS NULL AND coalesce(
           id > (SELECT value FROM meta WHERE name = 'behind-run'),
           began_at > (SELECT value FROM meta WHERE name = 'behind')))`,
      run,
    );
  }
  database.run('DELETE FROM sync_runs WHERE id <= ?', run - runsKept);
}

export function syncStanding(context: Context): StandingOfRun | null {
  const row = context.database.get(
    `SELECT id, counts -> 'standing' AS standing FROM sync_runs WHERE ended_at IS NOT NULL
     ORDER BY ended_at DESC, id DESC LIMIT 1`,
  );
  const standing = row?.standing ?? null;
  return standing === null ? null : { ...JSON.parse(String(standing)), run: Number(row!.id) };
}

export function lastRun(context: Context): LastRun | null {
  const row = context.database.get(
    `SELECT *, iif(ended_at IS NULL, (SELECT count(*) FROM listings WHERE ended = r.id), 0) AS read,
       (SELECT counts ->> 'listings' FROM sync_runs b WHERE b.ended_at IS NOT NULL AND b.id < r.id
          AND b.organization_id IS r.organization_id ORDER BY b.id DESC LIMIT 1) AS last,
       (SELECT max(id) FROM sync_runs WHERE whole = 1 AND organization_id IS NULL AND ended_at IS NOT NULL) AS ended_full
     FROM sync_runs r ORDER BY id DESC LIMIT 1`,
  );
  if (row === undefined) return null;
  return {
    run: Number(row.id),
    organizationId: row.organization_id as string | null,
    full: row.whole === 1,
    agoMs: Math.max(0, context.nowMs() - Number(row.began_at)),
    ended: row.ended_at !== null,
    listings: { read: Number(row.read), last: row.last as number | null },
    endedFull: row.ended_full as number | null,
  };
}

export function openListings(
  context: Context,
  run: number,
  names: ListingName[],
): { listings: OpenedListing[]; revision: number } {
  const listings = names.map(({ scope, organizationId }) => {
    const row = context.database.get(
      `INSERT INTO listings (scope, organization_id, begun) VALUES (?, ?, ?)
       ON CONFLICT (scope) DO UPDATE SET next_address = iif(begun = excluded.begun, next_address, NULL),
         begun = excluded.begun, token_asked = iif(token IS NULL, NULL, token_asked) RETURNING *`,
      scope,
      organizationId,
      run,
    )!;
    return {
      scope,
      organizationId,
      id: Number(row.id),
      ended: row.ended === run,
      nextAddress: row.next_address as string | null,
      changeToken: row.token === null ? null : { token: String(row.token), asked: String(row.token_asked) },
      known: Number(row.ended) > 0,
    };
  });
  return { listings, revision: context.currentRevision() };
}

export function compareListed(
  context: Context,
  run: number,
  listingId: number,
  listed: ListedResource[],
  connectionId: string,
): number[] {
  const others: number[] = [];
  for (const [place, one] of listed.entries()) {
    if (!markListed(context, { run, listingId, connectionId }, one)) others.push(place);
  }
  return others;
}

/**
 * Throws `store.refused` where pages before it may have been lost since they were answered: the change token of its end
 * would say that they are known. The run that goes on begins at the place that is stored.
 */
export function finishPage(context: Context, page: ListedPage): ListedResult {
  if (!context.soundRevision(page.revision)) {
    throw new Problem('store.refused', 'what this listing brought before was lost: it is read again');
  }
  const counts = { changed: 0, unchanged: 0, published: 0, left: 0 };
  const listed: Listed = {
    run: page.run,
    listingId: page.listingId,
    revision: page.revision,
    connectionId: page.connectionId,
  };
  // Nothing is published, or read, of whom an operator let go of while the page was on its way.
  const isKept = ({ organizationId }: { organizationId: string }) => !isForgotten(context, organizationId);
  for (const draft of page.drafts.filter(isKept)) {
    const outcome = finishDraft(context, listed, draft);
    counts[outcome] += 1;
    if (outcome === 'changed') counts.published += 1;
  }
  for (const hint of page.hints.filter(isKept)) {
    followHint(context, listed, hint);
    counts.left += 1;
  }
  const { organization_id = null } = moveOn(context, page) ?? {};
  const forgotten = organization_id !== null && isForgotten(context, String(organization_id));
  return { ...counts, revision: context.currentRevision(), forgotten };
}

/** Another run may have begun the listing anew: then its place is that one's. Where not, whose listing it is. */
function moveOn({ database }: Context, { run, listingId, after }: ListedPage): Row | undefined {
  if ('next' in after)
    return database.get(
      'UPDATE listings SET next_address = ? WHERE id = ? AND begun = ? RETURNING organization_id',
      after.next,
      listingId,
      run,
    );
  const { whole, changeToken } = after;
  return database.get(
    `UPDATE listings SET next_address = NULL, ended = ?, whole = iif(?, ?, whole),
       token = iif(token_asked = '', NULL, ?), token_asked = iif(token_asked = '', NULL, ?)
     WHERE id = ? AND begun = ? RETURNING organization_id`,
    run,
    whole ? 1 : 0,
    run,
    changeToken?.token ?? null,
    changeToken?.asked ?? null,
    listingId,
    run,
  );
}

export function hintAbsent(
  context: Context,
  run: number,
  organizationId: string,
  kind: ResourceKind,
  shareMax: number,
): number {
  if (isForgotten(context, organizationId)) return 0;
  let absent = absentOf(context, run, organizationId, kind, absentMin + 1);
  if (absent.length > absentMin) {
    const limit = Math.floor(Math.max(absentMin, knownOf(context, organizationId, kind) * shareMax)) + 1;
    absent = absentOf(context, run, organizationId, kind, limit);
  }
  for (const task of absent) makeDue(context, task);
  return absent.length;
}

/**
 * At rest, not read since the run began, and in no listing that the run came to the end of; of what a listing of another
 * organization has shown last: not in that one's last end. First what was not read for longest: of many that only another user is
 * shown, each has its turn.
 */
function absentOf(
  context: Context,
  run: number,
  organizationId: string,
  kind: ResourceKind,
  limit: number,
): Row[] {
  const { database } = context;
  const revision = Number(database.get('SELECT revision FROM sync_runs WHERE id = ?', run)?.revision ?? 0);
  // By what the organization has: of others there may be a thousand times as much.
  return database.all(
    `SELECT t.id, t.lane, t.read_at FROM tasks t LEFT JOIN listings l ON l.id = t.listed_in
     WHERE t.organization_id = ?1 AND t.kind = ?2 AND t.published = 1 AND t.deleted = 0 AND t.state = 'done'
       AND t.accepted_revision <= ?3
       AND (t.listed_in IS NULL OR t.listed_run < l.whole OR (l.organization_id = ?1 AND l.ended <> ?4))
     ORDER BY t.read_at NULLS FIRST LIMIT ?5`,
    organizationId,
    kind,
    revision,
    run,
    limit,
  );
}

function knownOf(context: Context, organizationId: string, kind: ResourceKind): number {
  const counted = context.database.get(
    `SELECT count(*) AS known FROM tasks
     WHERE organization_id = ? AND kind = ? AND published = 1 AND deleted = 0`,
    organizationId,
    kind,
  )!;
  return Number(counted.known);
}

export function countCalls(context: Context, month: string, calls: number): number {
  const counted = context.database.get(
    `INSERT INTO provider_calls (month, calls) VALUES (?, ?)
     ON CONFLICT (month) DO UPDATE SET calls = calls + excluded.calls RETURNING calls`,
    month,
    calls,
  )!;
  return Number(counted.calls);
}
