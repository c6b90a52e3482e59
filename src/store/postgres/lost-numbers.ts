/**
 * Numbers that another life of the store may have given, on records that are gone: those before the beginning of a log, or on
 * another log of the same name. Which keys had them nobody can tell, so all of the kind go on above, and what waits under one
 * of them never goes out: a sync publishes it anew. What a key has had by what is known stays as it is: against that the records
 * that still stand are judged.
 */
import { type EventKind, partsOf } from '../../model/resource';
import type { FoundPage } from '../../model/topic-end';
import { kindOfTopic } from '../live-topic';
import { lostFloorPrefix, numberFloorPrefix } from '../store-rules';
import type { Context, InTransaction } from './context';
import { listWhole } from './list-whole';
import { type ObservedRow, tellAccess, tellLater } from './observe';
import { lockOrganizations } from './organization-rows';
import { refuseOvertaken } from './refuse-again';
import type { Row } from './server/database';
import { keepUnclaimed } from './unclaimed';

/** Of a key: whether it is of the kind. */
const isOfKind = `split_part(key, '/', 2) = $1`;

/** The log begins so many records after the place that the store knew, or is another. How many the store lacks, or sets aside. */
export async function noteGone(
  context: Context,
  { topic, lost = 0, anotherLog }: FoundPage,
): Promise<number> {
  const kind = kindOfTopic(topic);
  if (kind === null || (lost === 0 && !anotherLog)) return lost;
  const organizations = await lockAll(context, kind);
  await raiseFloor(context, kind, lost);
  if (lost > 0) await noteLost(context, kind);
  const keys = await setAside(context, kind, lost > 0);
  await refuseOvertaken(context, keys);
  const ids = keys.map((key) => partsOf(key).organizationId);
  if (lost > 0) ids.push(...(await toldOf(context, kind)));
  await publishAnew(context, kind, keys);
  // A deletion of what moved on was set aside as well: its former place is left once the resource is published anew.
  await keepUnclaimed(context, keys);
  await listWhole(context, [...new Set(lost > 0 ? [...ids, ...(await listed(context))] : ids)]);
  if (kind === 'organization-access') await tellAll(context, [...new Set(ids)], organizations);
  return lost + keys.length;
}

/** Whatever may be in question once numbers are held: organizations and tasks are locked before them. */
async function lockAll(context: Context, kind: EventKind): Promise<Map<string, Row>> {
  const { database } = context;
  const ids =
    kind === 'organization-access' ? await database.all('SELECT id FROM organizations ORDER BY id') : [];
  const organizations = await lockOrganizations(
    context,
    ids.map(({ id }) => id),
  );
  const waiting = await database.all(`SELECT DISTINCT key FROM outbox WHERE state = 0 AND ${isOfKind}`, kind);
  await lockPublished(
    context,
    kind,
    waiting.map(({ key }) => partsOf(key).id),
  );
  return organizations;
}

/** In the order in which everybody locks. */
async function lockPublished({ database }: Context, kind: EventKind, ids: string[]): Promise<void> {
  await database.get(
    `SELECT count(*) FROM (SELECT id FROM tasks WHERE kind = $1 AND published
       AND resource_id = ANY($2::text[]) ORDER BY id FOR NO KEY UPDATE) AS locked`,
    kind,
    ids,
  );
}

/**
 * None was given above the milliseconds that have passed since 1970, as long as clocks were right; and no key has gained more numbers
 * than so many records, unless it went on above another floor. Whoever has given numbers has committed them then, and whoever is
 * to give some waits until this has.
 */
async function raiseFloor({ database, nowMs }: Context, kind: EventKind, by: number): Promise<void> {
  await database.run('LOCK TABLE sequences IN SHARE ROW EXCLUSIVE MODE');
  await database.run(
    `INSERT INTO meta AS m (name, value)
       SELECT $2, greatest((SELECT coalesce(max(sequence), 0) FROM sequences WHERE ${isOfKind}) + $3::bigint, $4::bigint)
     ON CONFLICT (name) DO UPDATE SET value = greatest(m.value + $3::bigint, excluded.value)`,
    kind,
    numberFloorPrefix + kind,
    by,
    nowMs(),
  );
}

/** Nothing that was sent is known to be the newest of its key any more. */
async function noteLost({ database }: Context, kind: EventKind): Promise<void> {
  await database.run(
    `INSERT INTO meta (name, value) SELECT $1, value FROM meta WHERE name = $2
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    lostFloorPrefix + kind,
    numberFloorPrefix + kind,
  );
}

/** Nothing unsent is above the floor. What was sent once goes out again as it is, but not after what is gone. The keys. */
async function setAside({ database }: Context, kind: EventKind, alsoSent: boolean): Promise<string[]> {
  const rows = await database.all(
    `UPDATE outbox SET state = CASE WHEN log_offset IS NULL THEN 4 ELSE 2 END
     WHERE state = 0 AND ($2::boolean OR log_offset IS NULL) AND ${isOfKind} RETURNING key`,
    kind,
    alsoSent,
  );
  return [...new Set(rows.map(({ key }) => key as string))];
}

/** The organizations whose access was told. */
async function toldOf({ database }: Context, kind: EventKind): Promise<string[]> {
  if (kind !== 'organization-access') return [];
  const told = await database.all(
    `SELECT key FROM sequences WHERE ${isOfKind} ORDER BY key COLLATE "C"`,
    kind,
  );
  return told.map(({ key }) => partsOf(key).organizationId);
}

/**
 * A deletion that was set aside is found again by the sync. No other is told anew. What came to wait while numbers were waited for
 * is not locked yet.
 */
async function publishAnew(context: Context, kind: EventKind, keys: string[]): Promise<void> {
  const ids = keys.map((key) => partsOf(key).id);
  await lockPublished(context, kind, ids);
  await context.database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = false
     WHERE kind = $1 AND published AND resource_id = ANY($2::text[])`,
    kind,
    ids,
  );
}

const tasksMax = 1000;

/**
 * All of the topic's kind that stands published is published anew by the next look at it: 1000 tasks in a transaction, which
 * deliveries of those wait for. Who ends in between begins anew.
 */
export async function forgetPublished(inTransaction: InTransaction, topic: string): Promise<void> {
  const kind = kindOfTopic(topic);
  let after: number | null = kind === null ? null : 0;
  while (after !== null) {
    const from: number = after;
    after = await inTransaction(async ({ database }) => {
      const row = await database.get(
        `WITH page AS MATERIALIZED (
           SELECT id FROM tasks WHERE id > $2 AND kind = $1 AND published AND NOT deleted AND content_hash <> ''
           ORDER BY id LIMIT $3 FOR NO KEY UPDATE),
         forgotten AS (UPDATE tasks t SET content_hash = '', wire_hash = '' FROM page p
           WHERE t.id = p.id AND t.id = ANY(ARRAY(SELECT id FROM page)))
         SELECT max(id) AS last, count(*) AS found FROM page`,
        kind,
        from,
        tasksMax,
      );
      return row!.found < tasksMax ? null : (row!.last as number);
    });
  }
}

async function listed({ database }: Context): Promise<string[]> {
  const rows = await database.all(
    'SELECT DISTINCT organization_id AS id FROM listings WHERE organization_id IS NOT NULL',
  );
  return rows.map(({ id }) => id);
}

/** Of one that came meanwhile it is told as soon as it is learned again. */
export async function tellAll(
  context: Context,
  ids: string[],
  organizations: Map<string, Row>,
): Promise<void> {
  await tellAccess(context, ids.flatMap((id) => organizations.get(id) ?? []) as ObservedRow[]);
  await tellLater(
    context,
    ids.filter((id) => !organizations.has(id)),
  );
}
