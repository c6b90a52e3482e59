/**
 * What stands on the topics against what this store knows. A store that was restored, or is new, learns from the topics
 * which sequences are taken. What it would have sent under one of those is set aside, and the resource is forgotten as
 * published, so that the next look at it publishes it under a higher one. So does what stands there under an id of ours with
 * other bytes. Replays are locked first, then organizations and tasks, then keys, then rows, and the topic's end after them.
 */
import { bytesHashOf } from '../../model/event';
import { Problem } from '../../model/problem';
import { partsOf } from '../../model/resource';
import type { FoundPage, FoundRecord, KnownEnd } from '../../model/topic-end';
import { keysNumberedTwice, lastRepeats, rowsToSendAgain, type SentRow } from '../written-again';
import type { Context, InTransaction } from './context';
import { listWhole } from './list-whole';
import { forgetPublished, noteGone, tellAll } from './lost-numbers';
import { lockOrganizations } from './organization-rows';
import { markSent, noteAccepted, noteEnds } from './outbox';
import { closeRecords } from './quarantine-entries';
import { lockOpenReplays, refuseOvertaken } from './refuse-again';
import type { Row } from './server/database';
import { saysDamaged } from './server/faults';
import { lockUnclaimed, noteUnclaimed } from './unclaimed';

export async function topicEnds({ database }: Context): Promise<KnownEnd[]> {
  const rows = await database.all('SELECT * FROM topic_ends');
  return rows.map(({ topic, partition, next_offset, last_offset, last_event }) => ({
    topic,
    partition,
    nextOffset: next_offset,
    last: last_event === null ? null : { offset: last_offset, eventId: last_event },
  }));
}

/**
 * Where records are lost the place moves last: whoever ends between does all of it again. Throws `store.unavailable` where the
 * store does not know the topic up to the page.
 */
export async function noteFound(inTransaction: InTransaction, page: FoundPage): Promise<number> {
  const { lost = 0 } = page;
  if (lost === 0) return inTransaction((context) => noteRecords(context, page));
  const gone = await inTransaction(async (context) => {
    await lockOpenReplays(context);
    const others = await noteGone(context, page);
    await noteBehind(context);
    return others;
  });
  await forgetPublished(inTransaction, page.topic);
  await inTransaction((context) => noteEnds(context, [{ ...page, last: null }]));
  return gone;
}

async function noteRecords(context: Context, page: FoundPage): Promise<number> {
  const { topic, partition, records } = page;
  const { database } = context;
  await lockOpenReplays(context);
  // A page that tells of it has no records: nothing is locked after that.
  const gone = await noteGone(context, page);
  const highest = new Map<string, number>();
  for (const { key, sequence } of records) highest.set(key, Math.max(sequence, highest.get(key) ?? 0));
  const keys = [...highest.keys()];
  const organizations = await lockOrganizations(context, keys.flatMap(organizationOf).sort());
  await lockTasks(context, keys);
  await lockUnclaimed(context, keys.map(partsOf));
  // Also those that are not raised are locked.
  const raised = await database.all(
    `INSERT INTO sequences AS s (key, sequence)
     SELECT key, sequence FROM unnest($1::text[], $2::bigint[]) AS f (key, sequence) ORDER BY key COLLATE "C"
     ON CONFLICT (key) DO UPDATE SET sequence = excluded.sequence WHERE excluded.sequence > s.sequence
     RETURNING key`,
    keys,
    [...highest.values()],
  );
  // The first place of each is where it was written; what stands there again is a repeat.
  const offsets = new Map(records.toReversed().map(({ eventId, offset }) => [eventId, offset]));
  await lockRows(context, [...offsets.keys()], keys);
  await mustFollow(context, page);
  const known = await rowsOf(context, [...offsets.keys()]);
  // What is marked gets its position in the order in which it stands there.
  known.sort((left, right) =>
    Number(BigInt(offsets.get(left.event_id)!) - BigInt(offsets.get(right.event_id)!)),
  );
  const hashes = new Map(known.map((row) => [row.event_id, bytesHashOf(row.headers, row.value)]));
  const differ = records.filter(({ eventId, bytesHash }) => (hashes.get(eventId) ?? bytesHash) !== bytesHash);
  const differing = new Set(differ.map(({ eventId }) => eventId));
  const placed = known.filter((row) => row.topic === topic && row.partition === partition && row.log_offset);
  const repeats = lastRepeats(
    records,
    new Map(placed.map(({ event_id, log_offset }) => [event_id, log_offset])),
  );
  await releaseFound(context, known);
  // Wherever they stand they are sent.
  await markSent(
    context,
    known
      .filter(({ state, event_id }) => [0, 3, 4].includes(state) && !differing.has(event_id))
      .map(({ id, event_id }) => ({ row: id, eventId: event_id, partition, offset: offsets.get(event_id)! })),
  );
  const overtaken = await database.all(
    `UPDATE outbox o SET state = CASE WHEN o.log_offset IS NULL THEN 4 ELSE 2 END
     FROM unnest($1::text[], $2::bigint[]) AS f (key, sequence)
     WHERE o.key = f.key AND o.key = ANY($1::text[]) AND o.state = 0 AND o.sequence <= f.sequence RETURNING o.key`,
    keys,
    [...highest.values()],
  );
  await refuseOvertaken(
    context,
    overtaken.map(({ key }) => key),
  );
  await sendNewestAgain(context, page, repeats);
  const others = new Set([...raised, ...overtaken, ...differ].map(({ key }) => key as string));
  const isOurs = ({ eventId, bytesHash }: FoundRecord) => hashes.get(eventId) === bytesHash;
  for (const key of keysNumberedTwice(records, isOurs)) others.add(key);
  await publishAnew(context, others);
  await noteUnclaimed(context, records, others);
  await listWhole(context, [...new Set([...others].map((key) => key.split('/', 1)[0]!))]);
  await tellAll(context, [...others].flatMap(organizationOf), organizations);
  await noteEnds(context, [{ ...page, last: records.at(-1) ?? null }]);
  if (others.size + gone > 0) await noteBehind(context);
  return others.size + gone;
}

/**
 * Throws `store.unavailable` where a failover lost a page before it since that was noted, or another has noted one: read from
 * where the store stands, nothing is left out.
 */
async function mustFollow({ database }: Context, { topic, partition, from }: FoundPage): Promise<void> {
  if (from === null) return;
  const known = await database.get(
    'SELECT next_offset FROM topic_ends WHERE topic = $1 AND partition = $2 FOR NO KEY UPDATE',
    topic,
    partition,
  );
  if ((known?.next_offset ?? '0') === from) return;
  throw new Problem(
    'store.unavailable',
    `${topic}-${partition} is not known up to ${from}: it is read again`,
  );
}

/** Those that are found, and the unsent of the keys: who marks some of them locks its end after them. */
async function lockRows({ database }: Context, eventIds: string[], keys: string[]): Promise<void> {
  await database.get(
    `SELECT count(*) FROM (SELECT id FROM outbox WHERE id = ANY(ARRAY(
       SELECT id FROM outbox WHERE event_id = ANY($1::text[])
       UNION SELECT id FROM outbox WHERE key = ANY($2::text[]) AND state = 0)) ORDER BY id FOR NO KEY UPDATE) AS locked`,
    eventIds,
    keys,
  );
}

/** The run moves on with each page: one that began before it cannot have judged what it holds. */
async function noteBehind({ database, nowMs }: Context): Promise<void> {
  await database.run(
    `INSERT INTO meta (name, value) VALUES ('behind', $1), ('reading-on', 1),
       ('behind-run', (SELECT coalesce(max(id), 0) FROM sync_runs))
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    nowMs(),
  );
}

/**
 * What Kafka refused here went out elsewhere: it is as what waits to be sent, and an operator is not asked about it. So is what
 * was set aside since another's stands there under its number, on a page before: it was written behind that one.
 */
async function releaseFound(context: Context, known: Row[]): Promise<void> {
  const aside = known.filter(({ state }) => state === 4).map(({ id }) => id as number);
  if (aside.length > 0)
    await context.database.run('UPDATE outbox SET state = 0 WHERE id = ANY($1::bigint[])', aside);
  const rows = known.filter(({ state }) => state === 3).map(({ id }) => id as number);
  if (rows.length === 0) return;
  await closeRecords(context, rows);
  await context.database.run('UPDATE outbox SET state = 0 WHERE id = ANY($1::bigint[])', rows);
  await noteAccepted(context, rows);
}

/** The page's events that are here. Of one that cannot be read back the bytes are not known: they are none. */
async function rowsOf(context: Context, eventIds: string[]): Promise<Row[]> {
  const { database } = context;
  const select = (bytes: string, ids: string[]) =>
    database.all(
      `SELECT id, event_id, state, topic, partition, log_offset, ${bytes} FROM outbox WHERE event_id = ANY($1::text[])`,
      ids,
    );
  await database.run('SAVEPOINT look');
  try {
    return await select('headers, value', eventIds);
  } catch (error) {
    if (!saysDamaged(error)) throw error;
  }
  await database.run('ROLLBACK TO SAVEPOINT look');
  if (eventIds.length === 1) return select(`'' AS headers, '' AS value`, eventIds);
  const rows: Row[] = [];
  for (const one of eventIds) rows.push(...(await rowsOf(context, [one])));
  return rows;
}

/** The last record of a key by offset is its newest: where it is not, that one goes again as it is. */
async function sendNewestAgain(
  { database }: Context,
  { topic, partition }: FoundPage,
  repeats: FoundRecord[],
): Promise<void> {
  if (repeats.length === 0) return;
  const sent = await database.all(
    `SELECT id, key, sequence, log_offset AS offset FROM outbox
     WHERE state = 2 AND topic = $1 AND partition = $2 AND key = ANY($3::text[])`,
    topic,
    partition,
    repeats.map(({ key }) => key),
  );
  await database.run(
    'UPDATE outbox SET state = 0 WHERE id = ANY($1::bigint[])',
    rowsToSendAgain(repeats, sent as SentRow[]),
  );
}

export async function allFound({ database, news }: Context): Promise<void> {
  if ((await database.run(`DELETE FROM meta WHERE name = 'reading-on'`)) > 0) news.add('work');
}

export async function readingOn({ database }: Context): Promise<boolean> {
  return (await database.get(`SELECT 1 AS there FROM meta WHERE name = 'reading-on'`)) !== undefined;
}

/** Of a key of its access; none of any other. */
function organizationOf(key: string): string[] {
  const { organizationId, kind } = partsOf(key);
  return kind === 'organization-access' ? [organizationId] : [];
}

export async function behindSince({ database }: Context): Promise<number | null> {
  const row = await database.get(`SELECT value FROM meta WHERE name = 'behind'`);
  return row === undefined ? null : Number(row.value);
}

/**
 * By what they are, not by those that were locked: whoever ended a first read since then has given one of these numbers, which the
 * raise waited for. A deletion as well: whatever the topic says of it now, the next sync finds it absent, and a read decides.
 */
async function publishAnew({ database }: Context, keys: Set<string>): Promise<void> {
  await database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = false
     WHERE published AND id = ANY(ARRAY(${ofKeys}))`,
    ...resourcesOf([...keys]),
  );
}

/** Those of the keys' resources that are there, in the order in which everybody locks. */
async function lockTasks({ database }: Context, keys: string[]): Promise<void> {
  await database.get(
    `SELECT count(t.id) FROM (${ofKeys} ORDER BY id) k
     CROSS JOIN LATERAL (SELECT id FROM tasks WHERE id = k.id FOR NO KEY UPDATE) t`,
    ...resourcesOf(keys),
  );
}

/** The tasks of kinds `$1` and ids `$2`. */
const ofKeys = `SELECT k.id FROM unnest($1::text[], $2::text[]) AS f (kind, resource_id)
  CROSS JOIN LATERAL (SELECT id FROM tasks WHERE kind = f.kind AND resource_id = f.resource_id OFFSET 0) k`;

function resourcesOf(keys: string[]): [kinds: string[], ids: string[]] {
  const parts = keys.map(partsOf);
  return [parts.map(({ kind }) => kind), parts.map(({ id }) => id)];
}
