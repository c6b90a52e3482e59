// Reads the evidence for the ledger checker: the store's tables as they are after the process has ended, the embedded
// log from the same tables or the topics through a consumer of its own. No code of the product.
import { DatabaseSync } from 'node:sqlite';
import { Kafka, type KafkaMessage, logLevel } from './kafka-client';
import type { DecidedEvent, LedgerEvidence, TopicRecord } from './ledger-checker';
import { until } from './until';

export type Row = Record<string, string | number | null>;

/** The tables that tell what became of everything, as rows; the same in every store. */
export type Tables = Record<'outbox' | 'deliveries' | 'tasks' | 'reads' | 'hints' | 'organizations', Row[]>;

/** Asks a store for its tables. */
export async function tablesBy(ask: (sql: string) => Promise<Row[]>): Promise<Tables> {
  return {
    outbox: await ask('SELECT * FROM outbox ORDER BY id'),
    deliveries: await ask('SELECT id, notifications, acted, ignored, quarantined, elements FROM deliveries'),
    tasks: await ask('SELECT id, state, lane, due_at, address FROM tasks'),
    organizations: await ask('SELECT id, access FROM organizations'),
    reads: await ask(
      'SELECT task_id, fence, generation, outcome, event_id, finality FROM reads ORDER BY fence',
    ),
    hints: await ask('SELECT task_id, generation FROM hints'),
  };
}

/** Opens the embedded store of an ended process. `acceptedBySender` comes from the sender's own log. */
export async function evidenceOf(
  file: string,
  acceptedBySender: number,
  records: TopicRecord[] | 'embedded',
): Promise<LedgerEvidence> {
  const database = new DatabaseSync(file);
  try {
    const tables = await tablesBy(async (sql) => database.prepare(sql).all() as Row[]);
    return evidenceFrom(tables, acceptedBySender, records);
  } finally {
    database.close();
  }
}

export function evidenceFrom(
  tables: Tables,
  acceptedBySender: number,
  records: TopicRecord[] | 'embedded',
): LedgerEvidence {
  const embedded = () => tables.outbox.filter(({ state }) => Number(state) === 1).map(embeddedRecord);
  return {
    acceptedBySender,
    journalled: tables.deliveries.reduce((sum, { notifications }) => sum + Number(notifications), 0),
    lines: linesOf(tables),
    journalledEvents: tables.reads.flatMap(({ event_id }) => (event_id === null ? [] : [String(event_id)])),
    events: tables.outbox.map(eventOf),
    records: records === 'embedded' ? embedded() : records,
  };
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

const readLate = 2;

/** Its kind and id: what went to another organization has another key there. */
const resourceOf = ({ key }: Row): string => String(key).replace(/^[^/]*/, '');

function embeddedRecord(row: Row): TopicRecord {
  const { topic, key, headers, value } = eventOf(row);
  return { topic, partition: 0, offset: String(row.position), key, headers, value };
}

/**
 * Each hint falls into the line of the first read that covers it, and where that was published, into what became of the
 * event; what is no hint stands in its delivery. Nobody releases or gives up a record here.
 */
function linesOf(tables: Tables): Record<string, number> {
  const lines: Record<string, number> = {};
  const add = (line: string, count = 1) => {
    lines[line] = (lines[line] ?? 0) + count;
  };
  for (const delivery of tables.deliveries) {
    for (const line of ['acted', 'ignored', 'quarantined']) add(line, Number(delivery[line]));
  }
  const blocked = new Set(
    tables.organizations.flatMap(({ id, access }) => (access === 'active' ? [] : [id])),
  );
  const undecided = new Map(
    tables.tasks.map(({ id, state, lane, due_at }) => {
      if (state === 'quarantined') return [String(id), 'quarantined'];
      return [String(id), due_at !== null && blocked.has(lane!) ? 'parked' : 'waiting'];
    }),
  );
  // What was set aside is told by what its resource became after it.
  const newest = new Map(tables.outbox.map((row) => [resourceOf(row), Number(row.id)]));
  const becameOf = new Map(
    tables.outbox.map((row) => {
      const again = newest.get(resourceOf(row))! > Number(row.id) ? 'merged' : 'waiting';
      return [row.event_id, { 0: 'waiting', 3: 'quarantined', 4: again }[Number(row.state)] ?? 'published'];
    }),
  );
  const reads = Map.groupBy(tables.reads, (read) => String(read.task_id));
  for (const hint of tables.hints) {
    const task = String(hint.task_id);
    const covering = (reads.get(task) ?? []).filter(
      (read) => Number(read.generation) >= Number(hint.generation),
    );
    const first = Math.min(...covering.map((read) => Number(read.generation)));
    const ofFirst = covering.filter((read) => Number(read.generation) === first);
    // What was read for another reason once the line was final tells nothing of it.
    const inTime = ofFirst.filter(({ finality }) => Number(finality) !== readLate);
    const deciding = inTime.length > 0 ? inTime : ofFirst;
    const published = deciding.findLast(({ outcome }) => outcome === 'published');
    const last = deciding.at(-1);
    if (last === undefined) add(undecided.get(task) ?? 'waiting');
    else if (Number(hint.generation) < first) add('merged');
    else if (published === undefined) add(String(last.outcome));
    else add(becameOf.get(published.event_id!) ?? 'published');
  }
  return lines;
}

/** For a test, more than it takes a machine that is wanted by many. */
const readMsMax = 60_000;

/** Everything on the topics, read from their beginning to their present end. */
export async function readTopics(brokers: string[], topics: string[]): Promise<TopicRecord[]> {
  const reader = await openTopics(brokers, topics);
  try {
    return await reader.toTheEnd();
  } finally {
    await reader.close();
  }
}

export type TopicsReader = {
  /** All from the beginning to the present end; what was read before is not read again. */
  toTheEnd(): Promise<TopicRecord[]>;
  close(): Promise<void>;
};

export async function openTopics(brokers: string[], topics: string[]): Promise<TopicsReader> {
  const kafka = new Kafka({ clientId: 'evidence', brokers, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  // A broker with nothing new keeps a question for that long, and whoever closes waits for its answer.
  const consumer = kafka.consumer({
    groupId: `evidence-${process.pid}-${Math.random()}`,
    maxWaitTimeInMs: 100,
  });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  const records: TopicRecord[] = [];
  const readTo = new Map<string, bigint>();
  const broken = new Promise<never>((_, reject) => {
    consumer
      .run({
        eachMessage: async ({ topic, partition, message }) => {
          const [place, offset] = [`${topic}/${partition}`, BigInt(message.offset)];
          // What is handed over again, after a rebalance, stands there only once.
          if (offset < (readTo.get(place) ?? 0n)) return;
          records.push(recordOf(topic, partition, message));
          readTo.set(place, offset + 1n);
        },
      })
      .catch(reject);
  });
  broken.catch(() => {});

  /** Compaction may leave nothing at the end of a partition, but it never takes the last record. */
  async function isAtEnd(topic: string): Promise<boolean> {
    const ends = await admin.fetchTopicOffsets(topic);
    return ends.every(({ partition, high }) => (readTo.get(`${topic}/${partition}`) ?? 0n) >= BigInt(high));
  }

  return {
    async toTheEnd() {
      const ends = until(async () => (await Promise.all(topics.map(isAtEnd))).every(Boolean), {
        withinMs: readMsMax,
        everyMs: 100,
        what: 'the end of the topics',
      });
      await Promise.race([ends, broken]);
      return [...records];
    },
    async close() {
      await consumer.disconnect();
      await admin.disconnect();
    },
  };
}

function recordOf(
  topic: string,
  partition: number,
  { key, value, headers, offset }: KafkaMessage,
): TopicRecord {
  const told = Object.entries(headers ?? {}).map(([name, text]): [string, string] => [name, String(text)]);
  return { topic, partition, offset, key: String(key), headers: told, value: String(value) };
}
