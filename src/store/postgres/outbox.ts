/**
 * Decided events on their way out. The public position is given here, when a row is published; whoever gives one holds the
 * counter until the commit, so that positions become visible in their order.
 * States: 0 unsent, 1 in the embedded log only, 2 in Kafka, 3 quarantined, 4 set aside: its number was found taken.
 */
import type { Acknowledgement, EventRow } from '../../model/event';
import type { QuarantineReason } from '../../model/notification';
import type { LeaseHeld } from '../../model/store';
import type { KnownEnd } from '../../model/topic-end';
import { isStranded, liveTopic } from '../live-topic';
import { unsentCountedMax } from '../store-rules';
import { holdsEvent, type NextOffsetOf, type ToldRow, toldBefore, toldRow } from '../told-before';
import type { Context } from './context';
import { insertEntries } from './quarantine-entries';
import { isUnsent, lockReplaysOf, refuseAgain } from './refuse-again';
import type { Value } from './server/database';

/** Of `outbox o`. What was published before is not fresh: it has no time of acceptance. */
export const rowColumns = `o.id, o.topic, o.key, o.sequence, o.event_id, o.headers, o.value,
  CASE WHEN o.position IS NULL THEN o.accepted_at END AS accepted_at`;

/**
 * Said in the statement itself, from the parameter on that has this number: a relay that was stopped for longer than its
 * lease neither picks nor marks, nor one whose server was replaced by another that lags behind it.
 */
export function leading(first: number): string {
  const [name, holder, nowMs, topics, partitions, offsets] = [0, 1, 2, 3, 4, 5].map(
    (nth) => `$${first + nth}`,
  );
  return `EXISTS (SELECT 1 FROM leases l WHERE l.name = ${name} AND l.holder = ${holder} AND l.until > ${nowMs}::bigint)
    AND NOT EXISTS (
      SELECT 1 FROM unnest(${topics}::text[], ${partitions}::int[], ${offsets}::bigint[]) AS m (topic, partition, next_offset)
      LEFT JOIN topic_ends e ON e.topic = m.topic AND e.partition = m.partition
      WHERE e.next_offset IS NULL OR e.next_offset::bigint < m.next_offset)`;
}

/** What `leading` is given. */
export function leaderOf(lease: LeaseHeld | undefined, nowMs: number): Value[] {
  const ends = lease?.ends ?? [];
  return [
    lease?.name ?? null,
    lease?.holder ?? null,
    nowMs,
    ends.map(({ topic }) => topic),
    ends.map(({ partition }) => partition),
    ends.map(({ nextOffset }) => nextOffset),
  ];
}

export async function leads(context: Context, lease: LeaseHeld): Promise<boolean> {
  const row = await context.database.get(
    `SELECT ${leading(1)} AS leads`,
    ...leaderOf(lease, context.nowMs()),
  );
  return row!.leads;
}

export async function markSent(
  context: Context,
  acknowledgements: Acknowledgement[],
  lease?: LeaseHeld,
  again = false,
  passed: number[] = [],
): Promise<void> {
  const { database } = context;
  const told = new Map(acknowledgements.map((acknowledged) => [acknowledged.row, acknowledged]));
  const found = await database.all(
    `SELECT id, topic, event_id, position, partition, log_offset FROM outbox
     WHERE id = ANY($1::bigint[]) AND ${isUnsent} AND ($2::text IS NULL OR ${leading(2)}) ORDER BY id FOR NO KEY UPDATE`,
    [...told.keys()],
    ...leaderOf(lease, context.nowMs()),
  );
  if (found.length === 0) return;
  const unsent = new Map(found.map((row) => [row.id as number, row]));
  const rows = [...told.values()].flatMap((acknowledged) => {
    const row = unsent.get(acknowledged.row);
    return row === undefined || !holdsEvent(row, acknowledged) ? [] : [toldRow(row, acknowledged)];
  });
  const repeats = again ? rows : [];
  const known = toldBefore(repeats, passed, await endsOf(context, repeats));
  // A row that is not here stands on its topic all the same: who reads on from the end as it was finds it. Ends are locked
  // before the counter.
  if (rows.length === told.size)
    await noteEnds(
      context,
      rows
        .filter(isPlaced)
        .map((row) => ({ ...row, nextOffset: String(BigInt(row.offset) + 1n), last: row })),
    );
  const marked = rows.filter(({ id }) => !known.has(id));
  let last = await lastPosition(context, marked.filter(({ position }) => position === null).length);
  const places = marked.map(({ id, position, partition, offset }) => ({
    id,
    position: position ?? ++last,
    partition,
    log_offset: offset,
  }));
  // What Kafka had before keeps its place in the journal: another place is that of a replay. The server takes rows for more
  // than lists, and does not compare each with each.
  await database.run(
    `UPDATE outbox o SET state = CASE WHEN n.partition IS NULL THEN 1 ELSE 2 END, position = n.position,
       partition = CASE WHEN o.log_offset IS NULL THEN n.partition ELSE o.partition END,
       log_offset = coalesce(o.log_offset, n.log_offset),
       sent_at = CASE WHEN o.log_offset IS NULL THEN $3 ELSE o.sent_at END
     FROM json_to_recordset($1::json) AS n (id bigint, position bigint, partition int, log_offset text)
     WHERE o.id = n.id AND o.id = ANY($2::bigint[])`,
    JSON.stringify(places),
    marked.map(({ id }) => id),
    context.nowMs(),
  );
  await notePlaces(
    context,
    marked.filter(isPlaced).filter(({ firstOffset }) => firstOffset !== null),
  );
}

type Placed = ToldRow & { partition: number; offset: string };

function isPlaced(row: ToldRow): row is Placed {
  return row.partition !== null && row.offset !== null;
}

/** Of the partitions of what was sent before. */
async function endsOf({ database }: Context, rows: ToldRow[]): Promise<NextOffsetOf> {
  const repeats = rows.filter(({ firstOffset }) => firstOffset !== null);
  if (repeats.length === 0) return () => null;
  const ends = await database.all(
    `SELECT e.topic, e.partition, e.next_offset FROM topic_ends e
     WHERE (e.topic, e.partition) IN (SELECT * FROM unnest($1::text[], $2::int[]))`,
    repeats.map(({ topic }) => topic),
    repeats.map(({ partition }) => partition),
  );
  const known = new Map(ends.map((end) => [`${end.topic}/${end.partition}`, end.next_offset]));
  return (topic, partition) => known.get(`${topic}/${partition}`) ?? null;
}

async function notePlaces(context: Context, places: Placed[]): Promise<void> {
  if (places.length === 0) return;
  await context.database.run(
    `UPDATE replayed r SET partition = n.partition, log_offset = n.log_offset, sent_at = $5
     FROM unnest($1::bigint[], $2::text[], $3::int[], $4::text[]) AS n (id, topic, partition, log_offset)
     WHERE r.outbox_id = n.id AND r.topic = n.topic AND r.sent_at IS NULL`,
    places.map(({ id }) => id),
    places.map(({ topic }) => topic),
    places.map(({ partition }) => partition),
    places.map(({ offset }) => offset),
    context.nowMs(),
  );
}

/** The last of each partition, of ends in their order. */
export async function noteEnds(context: Context, noted: KnownEnd[]): Promise<void> {
  if (noted.length === 0) return;
  const ends = [...new Map(noted.map((end) => [`${end.topic}/${end.partition}`, end] as const)).values()];
  await context.database.run(
    `INSERT INTO topic_ends (topic, partition, next_offset, last_offset, last_event)
     SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[])
     ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset,
       last_offset = excluded.last_offset, last_event = excluded.last_event`,
    ends.map(({ topic }) => topic),
    ends.map(({ partition }) => partition),
    ends.map(({ nextOffset }) => nextOffset),
    ends.map(({ last }) => last?.offset ?? null),
    ends.map(({ last }) => last?.eventId ?? null),
  );
}

/** Reserves so many positions; the last one before them. */
async function lastPosition(context: Context, count: number): Promise<number> {
  const row = await context.database.get(
    `UPDATE meta SET value = value + $1 WHERE name = 'position' RETURNING value - $1 AS last`,
    count,
  );
  return Number(row!.last);
}

export async function quarantineRecord(
  context: Context,
  refused: EventRow,
  reason: QuarantineReason,
  detail: string,
): Promise<void> {
  const { row } = refused;
  const held = await context.database.get('SELECT event_id FROM outbox WHERE id = $1', row);
  if (held === undefined || !holdsEvent(held, refused)) return;
  await lockReplaysOf(context, row);
  await lockKeyOf(context, row);
  if (!(await refuseAgain(context, row, reason))) await setAside(context, row, reason, detail);
}

/** Also what was published before, where it cannot be read back. */
export async function setAside(
  context: Context,
  row: number,
  reason: QuarantineReason,
  detail: string,
): Promise<void> {
  const { database } = context;
  await lockKeyOf(context, row);
  const record = await database.get(
    `UPDATE outbox SET state = 3 WHERE id = $1 AND ${isUnsent} RETURNING key, sequence, log_offset`,
    row,
  );
  if (record === undefined) return;
  // One that only the embedded log had is on no topic either.
  if (record.log_offset === null) await noteRefused(context, record.key, record.sequence);
  const organizationId = String(record.key).split('/')[0]!;
  await insertEntries(context, [{ what: 'record', reason, path: '', detail, organizationId, outboxId: row }]);
}

/** Keys are locked before their rows. */
async function lockKeyOf({ database }: Context, row: number): Promise<void> {
  await database.get(
    'SELECT key FROM sequences WHERE key = (SELECT key FROM outbox WHERE id = $1) FOR NO KEY UPDATE',
    row,
  );
}

/** No record has the number: the newest event of the key is the one before it, unless that was refused as well. */
async function noteRefused({ database }: Context, key: string, number: number): Promise<void> {
  await database.run(
    `UPDATE sequences SET refused = greatest(refused, $2::bigint),
       below_refused = CASE WHEN $2 > refused + 1 OR $2 = below_refused THEN $2 - 1 ELSE below_refused END
     WHERE key = $1`,
    key,
    number,
  );
}

/** Records of the outbox have their numbers after all: the newest events of their keys are not below. The keys are locked before. */
export async function noteAccepted({ database }: Context, rows: number[]): Promise<void> {
  await database.run(
    `UPDATE sequences s SET refused = CASE WHEN s.refused = n.number THEN n.number - 1 ELSE s.refused END,
       below_refused = CASE WHEN s.refused > n.number THEN greatest(s.below_refused, n.number) ELSE s.below_refused END
     FROM (SELECT key, max(sequence) AS number FROM outbox WHERE id = ANY($1::bigint[]) GROUP BY key) n
     WHERE s.key = n.key AND s.key = ANY(ARRAY(SELECT key FROM outbox WHERE id = ANY($1::bigint[])))`,
    rows,
  );
}

/**
 * What another relay is changing is waited for and counts as looked at: who is done knows that none is left. A range of
 * ids, since for a list of unknown length the server would read the whole table at each page.
 */
export async function resendLogged(
  { database, settings }: Context,
  after: number,
  limit: number,
): Promise<number | null> {
  const { topicPrefix } = settings.envelope;
  const ofState = (state: number) =>
    `(SELECT id FROM outbox WHERE state = ${state} AND id > $1 ORDER BY id LIMIT $2)`;
  const page = await database.get(
    `WITH page AS (SELECT id FROM (${ofState(0)} UNION ALL ${ofState(1)}) u ORDER BY id LIMIT $2),
     resent AS (UPDATE outbox SET state = 0, topic = ${liveTopic('$3::text')}
       WHERE state = 1 AND id > $1 AND id <= (SELECT max(id) FROM page))
     SELECT max(id) AS last, count(*) AS found FROM page`,
    after,
    limit,
    topicPrefix,
  );
  await database.run(
    `UPDATE outbox SET topic = ${liveTopic('$3::text')}
     WHERE state = 0 AND id > $1 AND id <= $2 AND ${isStranded('$3::text')}`,
    after,
    page!.last,
    topicPrefix,
  );
  return page!.found < limit ? null : page!.last;
}

/** A number of as many rows at most as are counted. */
export const unsentCounted = `(SELECT count(*) FROM (
  SELECT 1 FROM outbox WHERE state = 0 LIMIT ${unsentCountedMax}) u)`;

/** At most 100,000 are counted. */
export async function unsentCount({ database }: Context): Promise<number> {
  return (await database.get(`SELECT ${unsentCounted} AS unsent`))!.unsent;
}
