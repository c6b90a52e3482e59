// Goal: what goes onto the wire is the Kafka protocol. kafkajs's own encoder is the oracle; a real broker checks the
// rest in the integration suite.
import { encodeProduceBody, type WireBatch } from '../../../src/publish/produce-body';
import fc from '../../support/properties';

const crc32c: (bytes: Buffer) => number = require('kafkajs/src/protocol/recordBatch/crc32C');
const kafkajsRequest: (parameters: unknown) => { encode(): Promise<{ buffer: Buffer }> } =
  require('kafkajs/src/protocol/requests/produce/v7/request');

async function encodeByKafkajs(batches: WireBatch[], timestampMs: number): Promise<Buffer> {
  const topicData = [...Map.groupBy(batches, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
    topic,
    partitions: ofTopic.map(({ partition, firstSequence, records }) => ({
      partition,
      firstSequence,
      messages: records.map(({ key, value, headers }) => ({
        key,
        value,
        headers: Object.fromEntries(headers),
      })),
    })),
  }));
  const now = jest.spyOn(Date, 'now').mockReturnValue(timestampMs);
  try {
    const request = kafkajsRequest({
      acks: -1,
      timeout: 5_000,
      producerId: '9007199254740993',
      producerEpoch: 32_000,
      topicData,
    });
    return (await request.encode()).buffer;
  } finally {
    now.mockRestore();
  }
}

const text = fc.string({ unit: 'grapheme', maxLength: 90 });
const record = fc.record({
  key: text,
  value: fc.oneof(
    text,
    fc.integer({ min: 60, max: 9_000 }).map((length) => 'é'.repeat(length)),
  ),
  headers: fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z_-]{1,12}$/), text), {
    selector: ([name]) => name,
    maxLength: 12,
  }),
});
const batch = fc.record({
  topic: fc.constantFrom('tramline.equipment.v1', 'tramline.field-operation.v1'),
  partition: fc.integer({ min: 0, max: 1_000 }),
  firstSequence: fc.integer({ min: 0, max: 2_000_000_000 }),
  records: fc.array(record, { minLength: 1, maxLength: 8 }),
});

test('the bytes are those of the reference encoder', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 4 }), async (batches) => {
      const timestampMs = 1_750_000_000_123;
      const body = {
        batches,
        timestampMs,
        timeoutMs: 5_000,
        producerId: '9007199254740993',
        producerEpoch: 32_000,
      };
      expect(encodeProduceBody(body, crc32c).equals(await encodeByKafkajs(batches, timestampMs))).toBe(true);
    }),
    { numRuns: 150 },
  );
});

test('sizes of every width are written as the reference encoder writes them', async () => {
  const sizes = [0, 63, 64, 8_191, 8_192, 1_048_575, 1_048_576];
  const records = sizes.map((size) => ({ key: 'k', value: 'v'.repeat(size), headers: [] }));
  const batches = [{ topic: 't', partition: 0, firstSequence: 0, records }];
  const body = {
    batches,
    timestampMs: 1,
    timeoutMs: 5_000,
    producerId: '9007199254740993',
    producerEpoch: 32_000,
  };
  expect(encodeProduceBody(body, crc32c).equals(await encodeByKafkajs(batches, 1))).toBe(true);
});

test('more records than one varint byte can count keep their numbers', async () => {
  const records = Array.from({ length: 9_000 }, (_, index) => ({
    key: String(index),
    value: '',
    headers: [],
  }));
  const batches = [{ topic: 't', partition: 3, firstSequence: 5, records }];
  const body = {
    batches,
    timestampMs: 1,
    timeoutMs: 5_000,
    producerId: '9007199254740993',
    producerEpoch: 32_000,
  };
  expect(encodeProduceBody(body, crc32c).equals(await encodeByKafkajs(batches, 1))).toBe(true);
});
