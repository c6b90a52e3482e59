// Reads the evidence for the ledger checker: the store's tables as they are after the process has ended, the embedded
// log from the same tables or the topics through a consumer of its own. No code of the product.
import { DatabaseSync } from 'node:sqlite';
import { Kafka, logLevel } from 'kafkajs';
import type { DecidedEvent, LedgerEvidence, TopicRecord } from './ledger-checker';

type Row = Record<string, string | number | null>;

/** Opens the embedded store of an ended process. `acceptedBySender` comes from the sender's own log. */
export function evidenceOf(
  file: string,
  acceptedBySender: number,
  records: TopicRecord[] | 'embedded',
): LedgerEvidence {
  const database = new DatabaseSync(file);
  try {
    const rows = database.prepare('SELECT * FROM outbox ORDER BY id').all() as Row[];
    const events = rows.map(eventOf);
    const journalled = database
      .prepare('SELECT coalesce(sum(notifications), 0) AS n FROM deliveries')
      .get() as Row;
    const lines = linesOf(database);
    const embedded = () => rows.filter(({ state }) => state === 1).map(embeddedRecord);
    return {
      acceptedBySender,
      journalled: Number(journalled.n),
      lines,
      events,
      records: records === 'embedded' ? embedded() : records,
    };
  } finally {
    database.close();
  }
}

function eventOf(row: Row): DecidedEvent {
  return {
    eventId: String(row.event_id),
    topic: String(row.topic),
    key: String(row.key),
    sequence: Number(row.sequence),
    headers: JSON.parse(String(row.headers)) as [string, string][],
    value: String(row.value),
    state: Number(row.state),
    cause: String(row.cause),
  };
}

function embeddedRecord(row: Row): TopicRecord {
  const { topic, key, headers, value } = eventOf(row);
  return { topic, partition: 0, offset: String(row.position), key, headers, value };
}

/** Each hint falls into the line of the first read that covers it; what is no hint stands in its delivery. */
function linesOf(database: DatabaseSync): Record<string, number> {
  const lines: Record<string, number> = {};
  const add = (line: string, count = 1) => {
    lines[line] = (lines[line] ?? 0) + count;
  };
  const others = database
    .prepare(
      'SELECT sum(acted) AS acted, sum(ignored) AS ignored, sum(quarantined) AS quarantined FROM deliveries',
    )
    .get() as Row;
  for (const [line, count] of Object.entries(others)) add(line, Number(count ?? 0));
  const states = new Map(
    (database.prepare('SELECT id, state FROM tasks').all() as Row[]).map((row) => [
      row.id,
      String(row.state),
    ]),
  );
  const reads = Map.groupBy(
    database.prepare('SELECT task_id, generation, outcome FROM reads ORDER BY fence').all() as Row[],
    (read) => read.task_id,
  );
  for (const hint of database.prepare('SELECT task_id, generation FROM hints').all() as Row[]) {
    const covering = (reads.get(hint.task_id) ?? []).filter(
      (read) => Number(read.generation) >= Number(hint.generation),
    );
    const first = Math.min(...covering.map((read) => Number(read.generation)));
    const outcomes = covering.filter((read) => read.generation === first).map((read) => String(read.outcome));
    if (outcomes.length === 0) add(states.get(hint.task_id) === 'quarantined' ? 'quarantined' : 'waiting');
    else if (Number(hint.generation) < first) add('merged');
    else add(outcomes.includes('published') ? 'published' : outcomes.at(-1)!);
  }
  return lines;
}

/** Everything on the topics, read from their beginning to their present end. */
export async function readTopics(brokers: string[], topics: string[]): Promise<TopicRecord[]> {
  const kafka = new Kafka({ clientId: 'evidence', brokers, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const ends = new Map<string, bigint>();
  for (const topic of topics) {
    for (const { partition, high } of await admin.fetchTopicOffsets(topic)) {
      if (BigInt(high) > 0n) ends.set(`${topic}/${partition}`, BigInt(high));
    }
  }
  await admin.disconnect();
  const records: TopicRecord[] = [];
  if (ends.size === 0) return records;
  const consumer = kafka.consumer({ groupId: `evidence-${process.pid}-${Math.random()}` });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachMessage: async ({ topic, partition, message }) => {
          const headers = Object.entries(message.headers ?? {}).map(([name, value]): [string, string] => [
            name,
            String(value),
          ]);
          const { offset } = message;
          const key = String(message.key);
          records.push({ topic, partition, offset, key, headers, value: String(message.value) });
          const place = `${topic}/${partition}`;
          if (BigInt(offset) + 1n >= (ends.get(place) ?? 0n)) ends.delete(place);
          if (ends.size === 0) resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return records;
}
