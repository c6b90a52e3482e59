/**
 * What stands on the topics against what this store knows. A store that was restored, or is new, learns from the topics
 * which sequences are taken. What it would have sent under one of those is set aside, and the resource is forgotten as
 * published, so that the next look at it publishes it under a higher one.
 */
import type { FoundPage, FoundRecord, TopicEnd } from '../../model/topic-end';
import type { Context } from './context';
import { markSent } from './outbox';

export function topicEnds({ database }: Context): TopicEnd[] {
  return database.all('SELECT topic, partition, next_offset FROM topic_ends').map((row) => ({
    topic: String(row.topic),
    partition: Number(row.partition),
    nextOffset: String(row.next_offset),
  }));
}

export function noteFound(context: Context, { topic, partition, nextOffset, records }: FoundPage): number {
  const { database } = context;
  const strangers = records.filter((record) => !isOurs(context, record, partition));
  const raised = new Set(strangers.filter((record) => raise(context, record)).map(({ key }) => key));
  for (const key of overtake(context, records)) raised.add(key);
  for (const key of raised) forget(context, key);
  database.run(
    `INSERT INTO topic_ends (topic, partition, next_offset) VALUES (?, ?, ?)
     ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset`,
    ...[topic, partition, nextOffset],
  );
  if (raised.size > 0)
    database.run(
      `INSERT INTO meta (name, value) VALUES ('behind', ?) ON CONFLICT (name) DO NOTHING`,
      context.nowMs(),
    );
  return raised.size;
}

export function behindSince({ database }: Context): number | null {
  const row = database.get(`SELECT value FROM meta WHERE name = 'behind'`);
  return row === undefined ? null : Number(row.value);
}

/** An event that is in the outbox is sent, whether that was known or not. */
function isOurs(context: Context, { eventId, offset }: FoundRecord, partition: number): boolean {
  const row = context.database.get('SELECT id, state FROM outbox WHERE event_id = ?', eventId);
  if (row?.state === 0) markSent(context, [{ row: Number(row.id), partition, offset }]);
  return row !== undefined;
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

/** Unsent rows that would come after a higher sequence of their key: they never go out. Their keys. */
function overtake({ database }: Context, records: FoundRecord[]): string[] {
  const rows = database.all(
    `UPDATE outbox SET state = 4 WHERE id IN (
       SELECT o.id FROM outbox o JOIN json_each(?) f ON f.value ->> 'key' = o.key
       WHERE o.state = 0 AND o.position IS NULL AND o.sequence <= f.value ->> 'sequence')
     RETURNING key`,
    JSON.stringify(records.map(({ key, sequence }) => ({ key, sequence }))),
  );
  return rows.map(({ key }) => String(key));
}

function forget({ database }: Context, key: string): void {
  const [, kind, ...id] = key.split('/');
  database.run(
    `UPDATE tasks SET content_hash = '', wire_hash = '' WHERE kind = ? AND resource_id = ? AND published = 1`,
    kind ?? '',
    id.join('/'),
  );
}
