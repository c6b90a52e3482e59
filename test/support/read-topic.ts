// What really stands on a topic, read back by a consumer of its own: every record of every partition, in the order of
// its offsets, as raw bytes. Uses kafkajs's consumer and nothing of the product.
import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from './kafka-client';
import { until } from './until';

export type TopicRecord = {
  partition: number;
  offset: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
};

/** Reads to the end that the topic has now, or throws after `withinMs`. */
export async function readTopic(brokers: string[], topic: string, withinMs = 30_000): Promise<TopicRecord[]> {
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, requestTimeout: 5_000 });
  const admin = kafka.admin();
  await admin.connect();
  const ends = await until(() => admin.fetchTopicOffsets(topic), {
    withinMs,
    everyMs: 200,
    what: `the end of ${topic}`,
  });
  await admin.disconnect();
  const left = new Map(
    ends.filter(({ low, high }) => high !== low).map(({ partition, high }) => [partition, Number(high)]),
  );
  const records: TopicRecord[] = [];
  if (left.size === 0) return records;
  const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachBatch: async ({ batch }) => {
      for (const { offset, key, value, headers } of batch.messages) {
        records.push({
          partition: batch.partition,
          offset: Number(offset),
          key,
          value,
          headers: headers as Record<string, Buffer>,
        });
      }
      if (Number(batch.lastOffset()) + 1 >= (left.get(batch.partition) ?? 0)) left.delete(batch.partition);
    },
  });
  try {
    await until(() => left.size === 0, { withinMs, what: `all of ${topic} to be read` });
  } finally {
    await consumer.disconnect();
  }
  return records.sort((one, other) => one.partition - other.partition || one.offset - other.offset);
}
