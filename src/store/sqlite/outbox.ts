/**
 * Decided events on their way out. Unsent rows are picked, never "what comes after the last": a row that committed late
 * is sent late, but it is sent. The public position is given here, when a row is published.
 * States: 0 unsent, 1 in the embedded log only, 2 in Kafka, 3 quarantined, 4 set aside: its number was found taken.
 */
import type { Acknowledgement, EventRow, OutboxRow, PublishedEvent } from '../../model/event';
import type { QuarantineReason } from '../../model/notification';
import type { HeldPartition, LeaseHeld } from '../../model/store';
import type { KnownEnd } from '../../model/topic-end';
import { divideHeld } from '../held-topics';
import { isStranded, liveTopic } from '../live-topic';
import { type DamagedRow, publishedEvent, readableRows } from '../readable-rows';
import { eventsBytesMax, unsentCountedMax } from '../store-rules';
import { holdsEvent, type ToldRow, toldBefore, toldRow } from '../told-before';
import type { Context } from './context';
import type { Row } from './database';
import { insertEntry } from './quarantine';
import { organizationOf, readTask } from './read-task';
import { refuseAgain } from './refuse-again';

export function holdLease(context: Context, name: string, holder: string, leaseMs: number): boolean {
  const nowMs = context.nowMs();
  return (
    context.database.run(
      `INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
       WHERE leases.holder = excluded.holder OR leases.until <= ?`,
      name,
      holder,
      nowMs + leaseMs,
      nowMs,
    ) === 1
  );
}

export function leaseFreeMs(context: Context, name: string): number | null {
  const lease = context.database.get('SELECT until FROM leases WHERE name = ?', name);
  return lease === undefined ? null : Math.max(0, context.nowMs() - Number(lease.until));
}

const notHeld = 'AND NOT (topic = ? AND slot % ? IN (SELECT value FROM json_each(?)))';

export function pickUnsent(
  context: Context,
  limit: number,
  bytesMax: number,
  except: HeldPartition[],
  lease?: LeaseHeld,
  inHand: number[] = [],
): OutboxRow[] {
  if (lease !== undefined && !leads(context, lease)) return [];
  const { topics, partitions } = divideHeld(except);
  // By topic and how many partitions it has: of each row it is asked once whether its own is among those.
  const held = [...Map.groupBy(partitions, ({ topic, partitions: count }) => `${count} ${topic}`).values()];
  const heldValues = held.flatMap((of) => [
    of[0]!.topic,
    of[0]!.partitions,
    JSON.stringify(of.map(({ partition }) => partition)),
  ]);
  const values = [JSON.stringify(inHand), ...heldValues];
  const unsent = `SELECT ${rowColumns}, bytes FROM outbox
    WHERE state = 0 AND id NOT IN (SELECT value FROM json_each(?)) ${held.map(() => notHeld).join(' ')}`;
  const others = topics.length === 0 ? null : otherTopics(context, topics);
  if (others?.length === 0) return [];
  const rows = context.database.each(
    // Topic by topic, each from its own end of the index, until there are enough.
    `${others?.map(() => `${unsent} AND topic = ?`).join(' UNION ALL ') ?? unsent} ORDER BY id LIMIT ? + 0`,
    ...(others?.flatMap((topic) => [...values, topic]) ?? values),
    limit,
  );
  const { rows: readable, damaged } = readableRows(upTo(bytesMax, rows));
  for (const one of damaged) setDamagedAside(context, one);
  return readable;
}

/** Those that have unsent rows, but for these. */
function otherTopics({ database }: Context, topics: string[]): string[] {
  const next = 'SELECT min(topic) FROM outbox WHERE state = 0';
  const found = database.all(
    `WITH RECURSIVE topics (topic) AS (
       ${next} UNION ALL SELECT (${next} AND topic > t.topic) FROM topics t WHERE t.topic IS NOT NULL)
     SELECT topic FROM topics WHERE topic IS NOT NULL`,
  );
  return found.map(({ topic }) => String(topic)).filter((topic) => !topics.includes(topic));
}

/** The first rows whose sizes come to no more, at least one; what follows is not read, but for one. */
function upTo(bytesMax: number, rows: Iterable<Row>): Row[] {
  const read: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += Number(row.bytes);
    if (bytes > bytesMax && read.length > 0) break;
    read.push(row);
  }
  return read;
}

/** Its resource is as if it had not been published: once it is read again, it is published anew. */
function setDamagedAside(context: Context, { row, detail }: DamagedRow): void {
  context.database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = ''
     WHERE published AND id = (SELECT ${readTask} FROM outbox o WHERE o.id = ?)`,
    row,
  );
  setAside(context, row, 'record-refused', detail);
}

/** What was published before is not fresh: it has no time of acceptance. */
export const rowColumns = `id, topic, key, sequence, event_id, headers, value,
  iif(position IS NULL, accepted_at, NULL) AS accepted_at`;

/** One thread makes all calls: what is held when it is looked at is held until the call ends. */
export function leads(context: Context, { name, holder, ends = [] }: LeaseHeld): boolean {
  const { database, nowMs } = context;
  const held = 'SELECT 1 FROM leases WHERE name = ? AND holder = ? AND until > ?';
  if (database.get(held, name, holder, nowMs()) === undefined) return false;
  return ends.every(({ topic, partition, nextOffset }) => {
    const known = nextOffsetOf(context, topic, partition);
    return known !== null && BigInt(known) >= BigInt(nextOffset);
  });
}

function nextOffsetOf({ database }: Context, topic: string, partition: number): string | null {
  const noted = 'SELECT next_offset FROM topic_ends WHERE topic = ? AND partition = ?';
  const end = database.get(noted, topic, partition);
  return end === undefined ? null : String(end.next_offset);
}

export function markSent(
  context: Context,
  acknowledgements: Acknowledgement[],
  lease?: LeaseHeld,
  again = false,
  passed: number[] = [],
): void {
  if (lease !== undefined && !leads(context, lease)) return;
  const nowMs = context.nowMs();
  const found = acknowledgements.flatMap((told) => unsentRow(context, told) ?? []);
  const nextOffset = (topic: string, partition: number) => nextOffsetOf(context, topic, partition);
  const known = toldBefore(again ? found : [], passed, nextOffset);
  const ends = new Map<string, KnownEnd>();
  for (const row of found) {
    const end = endBehind(row);
    if (end !== null) ends.set(`${end.topic}/${end.partition}`, end);
    if (!known.has(row.id)) markRow(context, row, nowMs);
  }
  // A row that is not here stands on its topic all the same: who reads on from the end as it was finds it.
  if (found.length === acknowledgements.length) for (const end of ends.values()) noteEnd(context, end);
}

/** Looked up and marked apart, as a key's next number is; null when it is not unsent. */
function unsentRow({ database }: Context, told: Acknowledgement): ToldRow | null {
  const unsent = database.get(
    'SELECT topic, event_id, position, partition, log_offset FROM outbox WHERE id = ? AND state = 0',
    told.row,
  );
  return unsent === undefined || !holdsEvent(unsent, told) ? null : toldRow(unsent, told);
}

/** The end of its partition, where this row is the last there; null for the embedded log. */
function endBehind({ topic, partition, offset, eventId }: ToldRow): KnownEnd | null {
  if (partition === null || offset === null) return null;
  return { topic, partition, nextOffset: String(BigInt(offset) + 1n), last: { offset, eventId } };
}

/** What Kafka had before keeps its place in the journal: another place is that of a replay. */
function markRow(context: Context, row: ToldRow, nowMs: number): void {
  const { id, position, partition, offset, firstOffset } = row;
  const state = partition === null ? 1 : 2;
  const isRepeat = position !== null && firstOffset !== null;
  if (isRepeat)
    // A position that is written, though the same, is taken out of its index and put back.
    context.database.run('UPDATE outbox SET state = ? WHERE id = ?', state, id);
  else
    context.database.run(
      `UPDATE outbox SET state = ?, position = ?, partition = iif(log_offset IS NULL, ?, partition),
         sent_at = iif(log_offset IS NULL, ?, sent_at), log_offset = coalesce(log_offset, ?) WHERE id = ?`,
      state,
      position ?? context.nextPosition(),
      partition,
      nowMs,
      offset,
      id,
    );
  if (firstOffset !== null && offset !== null) notePlace(context, id, row, nowMs);
}

function notePlace(
  { database }: Context,
  row: number,
  { topic, partition, offset }: Pick<ToldRow, 'topic' | 'partition' | 'offset'>,
  nowMs: number,
): void {
  database.run(
    `UPDATE replayed SET partition = ?, log_offset = ?, sent_at = ?
     WHERE outbox_id = ? AND topic = ? AND sent_at IS NULL`,
    partition,
    offset,
    nowMs,
    row,
    topic,
  );
}

export function noteEnd({ database }: Context, { topic, partition, nextOffset, last }: KnownEnd): void {
  database.run(
    `INSERT INTO topic_ends (topic, partition, next_offset, last_offset, last_event) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset,
       last_offset = excluded.last_offset, last_event = excluded.last_event`,
    topic,
    partition,
    nextOffset,
    last?.offset ?? null,
    last?.eventId ?? null,
  );
}

export function quarantineRecord(
  context: Context,
  refused: EventRow,
  reason: QuarantineReason,
  detail: string,
): void {
  const { row } = refused;
  const held = context.database.get('SELECT event_id FROM outbox WHERE id = ?', row);
  if (held === undefined || !holdsEvent(held, refused)) return;
  if (!refuseAgain(context, row, reason)) setAside(context, row, reason, detail);
}

/** Also what was published before, where it cannot be read back. */
function setAside(context: Context, row: number, reason: QuarantineReason, detail: string): void {
  const record = context.database.get(
    'UPDATE outbox SET state = 3 WHERE id = ? AND state = 0 RETURNING key, sequence, log_offset',
    row,
  );
  if (record === undefined) return;
  // One that only the embedded log had is on no topic either.
  if (record.log_offset === null) noteRefused(context, String(record.key), Number(record.sequence));
  const organizationId = String(record.key).split('/')[0]!;
  insertEntry(context, { what: 'record', reason, path: '', detail, organizationId, outboxId: row });
}

/** No record has the number: the newest event of the key is the one before it, unless that was refused as well. */
function noteRefused({ database }: Context, key: string, number: number): void {
  database.run(
    `UPDATE sequences SET refused = max(refused, ?1),
       below_refused = iif(?1 > refused + 1 OR ?1 = below_refused, ?1 - 1, below_refused) WHERE key = ?2`,
    number,
    key,
  );
}

/** A record has the number after all: the newest event of the key is not below it. */
export function noteAccepted({ database }: Context, key: string, number: number): void {
  database.run(
    `UPDATE sequences SET refused = refused - (refused = ?1),
       below_refused = iif(refused > ?1, max(below_refused, ?1), below_refused) WHERE key = ?2`,
    number,
    key,
  );
}

/** The table is walked by its rows: no index knows which of them are in the log. */
export function resendLogged(context: Context, after: number, limit: number): number | null {
  const { database, settings } = context;
  const ofState = (state: number) =>
    `SELECT id FROM (SELECT id FROM outbox WHERE state = ${state} AND id > ?1 ORDER BY id LIMIT ?2)`;
  const { last, found } = database.get(
    `SELECT max(id) AS last, count(*) AS found FROM (${ofState(0)} UNION ALL ${ofState(1)} ORDER BY id LIMIT ?2)`,
    after,
    limit,
  )!;
  const { topicPrefix } = settings.envelope;
  // By the index of those rows: by its ids alone the range holds all that Kafka has as well.
  for (const [index, moved] of [
    ['outbox_logged', 'state = 1'],
    ['outbox_unsent', `state = 0 AND ${isStranded('?3')}`],
  ])
    database.run(
      `UPDATE outbox INDEXED BY ${index} SET state = 0, topic = ${liveTopic('?3')} WHERE ${moved} AND id > ?1 AND id <= ?2`,
      after,
      last as number | null,
      topicPrefix,
    );
  return Number(found) < limit ? null : Number(last);
}

/** At most 100,000 are counted. */
export function unsentCount({ database }: Context): number {
  const sql = 'SELECT count(*) AS unsent FROM (SELECT 1 FROM outbox WHERE state = 0 LIMIT ?)';
  return Number(database.get(sql, unsentCountedMax)!.unsent);
}

export function listEvents(
  context: Context,
  filter: { after: number; limit: number; type: string | null; organizationId: string | null },
): { events: PublishedEvent[]; floor: number; last: number } {
  const ends = context.database.get(
    `SELECT (SELECT value FROM meta WHERE name = 'floor') AS floor, max(coalesce((SELECT max(position) FROM outbox), 0),
       (SELECT value FROM meta WHERE name = 'position')) AS last`,
  )!;
  const rows = context.database.each(
    `SELECT * FROM outbox WHERE position > ? AND (? IS NULL OR ${organizationOf('outbox')} = ?)
       AND (? = '' OR instr(headers, ?) > 0) ORDER BY position LIMIT ?`,
    filter.after,
    filter.organizationId,
    filter.organizationId,
    filter.type ?? '',
    `["ce_type","${filter.type ?? ''}"]`,
    filter.limit,
  );
  const events = upTo(eventsBytesMax, rows).map((row) => publishedEvent(row));
  return { events, floor: Number(ends.floor), last: Number(ends.last) };
}
