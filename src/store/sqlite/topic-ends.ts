/**
 * What stands on the topics against what this store knows. A store that was restored, or is new, learns from the topics
 * which sequences are taken. What it would have sent under one of those is set aside, and the resource is forgotten as
 * published, so that the next look at it publishes it under a higher one. So does what stands there under an id of ours with
 * other bytes.
 */
import { bytesHashOf } from '../../model/event';
import { partsOf } from '../../model/resource';
import type { FoundPage, FoundRecord, KnownEnd } from '../../model/topic-end';
import { keysNumberedTwice, lastRepeats, rowsToSendAgain, type SentRow } from '../written-again';
import type { Context } from './context';
import { listWhole } from './list-whole';
import { noteGone } from './lost-numbers';
import { tellAccess } from './observe';
import { markSent, noteAccepted, noteEnd } from './outbox';
import { closeRecord } from './quarantine';
import { refuseOvertaken } from './refuse-again';
import { noteUnclaimed } from './unclaimed';

export function topicEnds({ database }: Context): KnownEnd[] {
  return database.all('SELECT * FROM topic_ends').map((row) => ({
    topic: String(row.topic),
    partition: Number(row.partition),
    nextOffset: String(row.next_offset),
    last:
      row.last_event === null ? null : { offset: String(row.last_offset), eventId: String(row.last_event) },
  }));
}

export function noteFound(context: Context, page: FoundPage): number {
  const { records } = page;
  const repeats = lastRepeats(records, placesOf(context, page));
  releaseFound(context, records);
  const raised = new Set<string>();
  const ours = new Set<FoundRecord>();
  for (const record of records) {
    const known = knownAs(context, record);
    if (known === 'same') {
      ours.add(record);
      markFound(context, record, page.partition);
    } else if (known === 'other' || raise(context, record)) raised.add(record.key);
  }
  for (const key of keysNumberedTwice(records, (record) => ours.has(record))) raised.add(key);
  const overtaken = overtake(context, records);
  refuseOvertaken(context, overtaken);
  for (const key of overtaken) raised.add(key);
  for (const key of raised) publishAnew(context, key);
  noteUnclaimed(context, records, raised);
  sendNewestAgain(context, page, repeats);
  listWhole(context, [...new Set([...raised].map((key) => key.split('/', 1)[0]!))]);
  noteEnd(context, { ...page, last: records.at(-1) ?? null });
  const others = raised.size + noteGone(context, page);
  if (others > 0) noteBehind(context);
  return others;
}

/** The run moves on with each page: one that began before it cannot have judged what it holds. */
function noteBehind({ database, nowMs }: Context): void {
  database.run(
    `INSERT INTO meta (name, value) VALUES ('behind', ?), ('reading-on', 1),
       ('behind-run', (SELECT coalesce(max(id), 0) FROM sync_runs))
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    nowMs(),
  );
}

export function allFound({ database }: Context): void {
  database.run(`DELETE FROM meta WHERE name = 'reading-on'`);
}

export function readingOn({ database }: Context): boolean {
  return database.get(`SELECT 1 FROM meta WHERE name = 'reading-on'`) !== undefined;
}

export function behindSince({ database }: Context): number | null {
  const row = database.get(`SELECT value FROM meta WHERE name = 'behind'`);
  return row === undefined ? null : Number(row.value);
}

/**
 * What Kafka refused here went out elsewhere: it is as what waits to be sent, and an operator is not asked about it. So is what
 * was set aside since another's stands there under its number, on a page before: it was written behind that one.
 */
function releaseFound(context: Context, records: FoundRecord[]): void {
  const release = (state: number) =>
    context.database.all(
      `UPDATE outbox SET state = 0 WHERE event_id IN (SELECT value FROM json_each(?)) AND state = ?
       RETURNING id, key, sequence`,
      JSON.stringify(records.map(({ eventId }) => eventId)),
      state,
    );
  release(4);
  const rows = release(3);
  for (const { id, key, sequence } of rows) {
    closeRecord(context, Number(id));
    noteAccepted(context, String(key), Number(sequence));
  }
}

/** Whether the event is in the outbox, with these bytes or with others; null: it is not. */
function knownAs({ database }: Context, { eventId, bytesHash }: FoundRecord): 'same' | 'other' | null {
  const row = database.get('SELECT headers, value FROM outbox WHERE event_id = ?', eventId);
  if (row === undefined) return null;
  return bytesHashOf(String(row.headers), String(row.value)) === bytesHash ? 'same' : 'other';
}

/** Wherever it stands it is sent, whether that was known or not. */
function markFound(context: Context, { eventId, offset }: FoundRecord, partition: number): void {
  const row = context.database.get('SELECT id FROM outbox WHERE event_id = ? AND state = 0', eventId);
  if (row !== undefined) markSent(context, [{ row: Number(row.id), eventId, partition, offset }]);
}

/** Of the page's events, where those stand that are known to be on its partition. */
function placesOf({ database }: Context, { topic, partition, records }: FoundPage): Map<string, string> {
  const rows = database.all(
    `SELECT event_id, log_offset FROM outbox WHERE event_id IN (SELECT value FROM json_each(?))
       AND topic = ? AND partition = ? AND log_offset IS NOT NULL`,
    JSON.stringify(records.map(({ eventId }) => eventId)),
    topic,
    partition,
  );
  return new Map(rows.map(({ event_id, log_offset }) => [String(event_id), String(log_offset)]));
}

/** The last record of a key by offset is its newest: where it is not, that one goes again as it is. */
function sendNewestAgain(
  { database }: Context,
  { topic, partition }: FoundPage,
  repeats: FoundRecord[],
): void {
  if (repeats.length === 0) return;
  const sent = database.all(
    `SELECT id, key, sequence, log_offset AS offset FROM outbox
     WHERE state = 2 AND topic = ? AND partition = ? AND key IN (SELECT value FROM json_each(?))`,
    topic,
    partition,
    JSON.stringify(repeats.map(({ key }) => key)),
  );
  for (const id of rowsToSendAgain(repeats, sent as unknown as SentRow[]))
    database.run('UPDATE outbox SET state = 0 WHERE id = ?', id);
}

/** True when the store did not know of it. */
function raise({ database }: Context, { key, sequence }: FoundRecord): boolean {
  return (
    database.run(
      `INSERT INTO sequences (key, sequence) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET sequence = excluded.sequence WHERE excluded.sequence > sequences.sequence`,
      key,
      sequence,
    ) === 1
  );
}

/** Unsent rows that would come after a higher sequence of their key: they never go out, or not again. Their keys. */
function overtake({ database }: Context, records: FoundRecord[]): string[] {
  const rows = database.all(
    `UPDATE outbox SET state = iif(log_offset IS NULL, 4, 2) WHERE id IN (
       SELECT o.id FROM outbox o JOIN json_each(?) f ON f.value ->> 'key' = o.key
       WHERE o.state = 0 AND o.sequence <= f.value ->> 'sequence')
     RETURNING key`,
    JSON.stringify(records.map(({ key, sequence }) => ({ key, sequence }))),
  );
  return rows.map(({ key }) => String(key));
}

/** A deletion as well: whatever the topic says of it now, the next sync finds it absent, and a read decides. */
function publishAnew(context: Context, key: string): void {
  const { organizationId, kind, id } = partsOf(key);
  if (kind === 'organization-access') tellAccess(context, organizationId);
  context.database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = '', deleted = 0
     WHERE kind = ? AND resource_id = ? AND published = 1`,
    kind,
    id,
  );
}
