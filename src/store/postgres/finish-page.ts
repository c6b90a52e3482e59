/**
 * A page of a listing in one transaction, in sets: what it holds whole is finished, what it does not is made due, and the
 * listing's row moves on with it.
 */
import { Problem } from '../../model/problem';
import type { ListedPage, ListedResult } from '../../model/sync';
import { isForgotten } from '../organization-row';
import type { Context } from './context';
import { finishDraft, followHint, type Listed } from './listed';
import { ensureOrganizations, lockOrganizations } from './organization-rows';
import { currentRevision } from './revision';
import type { Row } from './server/database';
import { Slate } from './slate';
import { lockTasks, nextTaskIds, type TaskRow } from './task-rows';
import { isAnyUnclaimed, lockUnclaimed } from './unclaimed';

/** Throws `store.refused` where a page before it was lost. */
export async function finishPage(context: Context, asked: ListedPage): Promise<ListedResult> {
  const counts = { changed: 0, unchanged: 0, published: 0, left: 0 };
  const { forgotten, ...organizations } = await lockUnread(context, asked);
  const page = without(asked, forgotten);
  const { slate, atAddress } = await lockListed(context, page, organizations);
  const { run, listingId, revision, connectionId } = page;
  const newIds = await nextTaskIds(context, countUnknown(page, slate, atAddress));
  const listed: Listed = { run, listingId, revision, connectionId, atAddress, newIds };
  for (const draft of page.drafts) {
    const outcome = await finishDraft(slate, listed, draft);
    counts[outcome] += 1;
    if (outcome === 'changed') counts.published += 1;
  }
  for (const hint of page.hints) {
    followHint(slate, listed, hint);
    counts.left += 1;
  }
  if (counts.left > 0) context.news.add('work');
  await slate.write();
  await mustFollow(context, page);
  const moved = await moveOn(context, page);
  return { ...counts, revision: await currentRevision(context), forgotten: moved?.forgotten === true };
}

/** Nothing is published, or read, of whom an operator let go of while the page was on its way. */
function without(page: ListedPage, forgotten: ReadonlySet<string>): ListedPage {
  if (forgotten.size === 0) return page;
  const isKept = ({ organizationId }: { organizationId: string }) => !forgotten.has(organizationId);
  return { ...page, drafts: page.drafts.filter(isKept), hints: page.hints.filter(isKept) };
}

/**
 * The organizations of the page are there; those that were never read are locked, since a first read is noted. With them
 * comes whether the topics show anything that this store holds nothing of, and which of them were forgotten.
 */
async function lockUnread(context: Context, { drafts, hints }: ListedPage) {
  const ids = [...new Set([...drafts, ...hints].map(({ organizationId }) => organizationId))];
  await ensureOrganizations(context, ids);
  const rows = await context.database.all(
    `SELECT id, known_address, ${isAnyUnclaimed} AS any_unclaimed, ${isForgotten} AS forgotten
     FROM organizations o WHERE id = ANY($1::text[])`,
    ids,
  );
  const unread = rows.filter(({ known_address }) => known_address === null).map(({ id }) => String(id));
  const organizations = new Map([
    ...rows.map((row) => [row.id, row] as const),
    ...(await lockOrganizations(context, unread)),
  ]);
  const forgotten = new Set(rows.flatMap((row) => (row.forgotten ? [String(row.id)] : [])));
  return { organizations, anyUnclaimed: rows.some((row) => row.any_unclaimed), forgotten };
}

async function lockListed(
  context: Context,
  page: ListedPage,
  { organizations, anyUnclaimed }: Omit<Awaited<ReturnType<typeof lockUnread>>, 'forgotten'>,
) {
  const addresses = [...page.drafts, ...page.hints].flatMap(({ address }) => address ?? []);
  const resources = [...page.drafts, ...page.hints.flatMap(({ resource }) => resource ?? [])];
  const aliases = await context.database.all(
    `SELECT a.address, coalesce(o.joined_to, o.id) AS id FROM aliases a
     CROSS JOIN LATERAL (SELECT id, joined_to FROM tasks WHERE id = a.task_id OFFSET 0) o
     WHERE a.address = ANY($1::text[])`,
    addresses,
  );
  const rows = await lockTasks(
    context,
    aliases.map(({ id }) => id),
    resources,
    [],
  );
  const tasks = new Map(rows.map((row) => [row.id, row]));
  const atAddress = new Map<string, TaskRow>(aliases.map(({ address, id }) => [address, tasks.get(id)!]));
  const unclaimed = anyUnclaimed ? await lockUnclaimed(context, page.drafts) : undefined;
  return { slate: new Slate(context, tasks, organizations, unclaimed), atAddress };
}

/** At most so many tasks are made of the page. */
function countUnknown(page: ListedPage, slate: Slate, atAddress: Map<string, TaskRow>): number {
  const drafts = page.drafts.filter(({ kind, id }) => slate.resource(kind, id) === undefined);
  const hints = page.hints.filter(({ address }) => address !== null && !atAddress.has(address));
  return 2 * drafts.length + hints.length;
}

/**
 * Throws `store.refused` where a failover lost pages before it since they were answered: behind them the listing's end would say
 * that what they held is known.
 */
async function mustFollow({ database }: Context, { run, listingId, from }: ListedPage): Promise<void> {
  if (from === null) return;
  const stands = await database.get(
    'SELECT next_address AS at FROM listings WHERE id = $1 AND begun = $2 FOR NO KEY UPDATE',
    listingId,
    run,
  );
  if (stands !== undefined && stands.at !== from)
    throw new Problem('store.refused', 'what this listing brought before was lost: it is read again');
}

/** Of a listing. */
const isLetGo = `(SELECT ${isForgotten} FROM organizations o WHERE o.id = listings.organization_id) AS forgotten`;

/** Another run may have begun the listing anew: then its place is that one's. */
async function moveOn(
  { database }: Context,
  { run, listingId, after }: ListedPage,
): Promise<Row | undefined> {
  if ('next' in after)
    return database.get(
      `UPDATE listings SET next_address = $1 WHERE id = $2 AND begun = $3 RETURNING ${isLetGo}`,
      after.next,
      listingId,
      run,
    );
  const { whole, changeToken } = after;
  return database.get(
    `UPDATE listings SET next_address = NULL, ended = $1, whole = CASE WHEN $2 THEN $1 ELSE whole END,
       token = CASE WHEN token_asked = '' THEN NULL ELSE $3 END,
       token_asked = CASE WHEN token_asked = '' THEN NULL ELSE $4 END WHERE id = $5 AND begun = $1
     RETURNING ${isLetGo}`,
    run,
    whole,
    changeToken?.token ?? null,
    changeToken?.asked ?? null,
    listingId,
  );
}
