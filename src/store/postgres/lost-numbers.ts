/**
 * Numbers that another life of the store may have given, on records that are gone: those before the beginning of a log, or on
 * another log of the same name. Which keys had them nobody can tell, so all of the kind go on above, and what waits under one
 * of them never goes out: a sync publishes it anew.
 */
import { type EventKind, partsOf } from '../../model/resource';
import type { FoundPage } from '../../model/topic-end';
import { kindOfTopic } from '../live-topic';
import { numberFloorPrefix } from '../store-rules';
import type { Context } from './context';
import type { Row } from './database';
import { listWhole } from './list-whole';
import { type ObservedRow, tellAccess, tellLater } from './observe';
import { lockOrganizations } from './organization-rows';
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
  const organizations = await lockAll(context, kind, lost > 0);
  // No key has gained more numbers than there were records. Of another log nobody can count them: none was given above the
  // milliseconds that have passed since 1970.
  const floor = await raiseFloor(context, kind, lost, anotherLog ? context.nowMs() : 0);
  const keys = await setAside(context, kind, lost > 0);
  const ids = keys.map((key) => partsOf(key).organizationId);
  if (lost > 0) ids.push(...(await raiseAll(context, kind, floor)));
  await publishAnew(context, kind, keys, lost > 0);
  // A deletion of what moved on was set aside as well: its former place is left once the resource is published anew.
  await keepUnclaimed(context, keys);
  await listWhole(context, [...new Set(lost > 0 ? [...ids, ...(await listed(context))] : ids)]);
  if (kind === 'organization-access') await tellAll(context, [...new Set(ids)], organizations);
  return lost + keys.length;
}

/** Whatever may be in question once numbers are held: organizations and tasks are locked before them. */
async function lockAll(context: Context, kind: EventKind, all: boolean): Promise<Map<string, Row>> {
  const { database } = context;
  const ids =
    kind === 'organization-access' ? await database.all('SELECT id FROM organizations ORDER BY id') : [];
  const organizations = await lockOrganizations(
    context,
    ids.map(({ id }) => id),
  );
  const waiting = await database.all(`SELECT DISTINCT key FROM outbox WHERE state = 0 AND ${isOfKind}`, kind);
  await database.get(
    `SELECT count(*) FROM (SELECT id FROM tasks WHERE kind = $1 AND published
       AND ($3::boolean OR resource_id = ANY($2::text[])) ORDER BY id FOR NO KEY UPDATE) AS locked`,
    kind,
    waiting.map(({ key }) => partsOf(key).id),
    all,
  );
  return organizations;
}

/**
 * By so many above all that were given to the kind, and to as much at least. Whoever has given numbers has committed
 * them then, and whoever is to give some waits until this has.
 */
async function raiseFloor(
  { database }: Context,
  kind: EventKind,
  by: number,
  atLeast: number,
): Promise<number> {
  await database.run('LOCK TABLE sequences IN SHARE ROW EXCLUSIVE MODE');
  const row = await database.get(
    `INSERT INTO meta AS m (name, value)
       SELECT $2, greatest((SELECT coalesce(max(sequence), 0) FROM sequences WHERE ${isOfKind}) + $3::bigint, $4::bigint)
     ON CONFLICT (name) DO UPDATE SET value = greatest(m.value + $3::bigint, excluded.value) RETURNING value`,
    kind,
    numberFloorPrefix + kind,
    by,
    atLeast,
  );
  return Number(row!.value);
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

/** Nothing that was sent is known to be the newest of its key any more. The organizations of keys of access. */
async function raiseAll({ database }: Context, kind: EventKind, floor: number): Promise<string[]> {
  await database.run(`UPDATE sequences SET sequence = $2 WHERE ${isOfKind}`, kind, floor);
  if (kind !== 'organization-access') return [];
  const told = await database.all(
    `SELECT key FROM sequences WHERE ${isOfKind} ORDER BY key COLLATE "C"`,
    kind,
  );
  return told.map(({ key }) => partsOf(key).organizationId);
}

/** A deletion that was set aside is found again by the sync. No other is told anew. */
async function publishAnew(
  { database }: Context,
  kind: EventKind,
  keys: string[],
  all: boolean,
): Promise<void> {
  await database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = false
     WHERE kind = $1 AND published AND (($3::boolean AND NOT deleted AND content_hash <> '') OR resource_id = ANY($2::text[]))`,
    kind,
    keys.map((key) => partsOf(key).id),
    all,
  );
}

async function listed({ database }: Context): Promise<string[]> {
  const rows = await database.all(
    'SELECT DISTINCT organization_id AS id FROM listings WHERE organization_id IS NOT NULL',
  );
  return rows.map(({ id }) => id);
}

/** Of one that came meanwhile it is told as soon as it is learned again. */
async function tellAll(context: Context, ids: string[], organizations: Map<string, Row>): Promise<void> {
  await tellAccess(context, ids.flatMap((id) => organizations.get(id) ?? []) as ObservedRow[]);
  await tellLater(
    context,
    ids.filter((id) => !organizations.has(id)),
  );
}
