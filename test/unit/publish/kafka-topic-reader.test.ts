// Goal: what a broker holds back from a client that is over its quota is waited for, and not called unseen.
// Method: a cluster of one broker that answers fetches by a script.
import { makeTopicReader } from '../../../src/publish/kafka-topic-reader';
import type { Broker, Cluster } from '../../../src/publish/kafkajs-inside';

type Answer = Awaited<ReturnType<Broker['fetch']>>;

const overQuota: Answer = { responses: [], clientSideThrottleTime: 800 };
const nothing: Answer = { responses: [], clientSideThrottleTime: 0 };
const upTo = (highWatermark: string): Answer => ({
  responses: [{ topicName: 't', partitions: [{ highWatermark, messages: [] }] }],
});

/** What is told of partition 0 from offset 4 on, and how often the broker was asked. */
async function read(...script: Answer[]) {
  let asked = 0;
  const fetch = async () => script[Math.min(asked++, script.length - 1)];
  const partitionMetadata = [{ partitionErrorCode: 0, partitionId: 0, leader: 1, replicas: [1], isr: [1] }];
  const metadata = { topicMetadata: [{ topic: 't', topicErrorCode: 0, partitionMetadata }] };
  const cluster = { brokerPool: { metadata }, findBroker: async () => ({ fetch }) };
  const from = { topic: 't', partition: 0, nextOffset: '4' };
  const { nextOffset, heldBack } = await makeTopicReader(cluster as unknown as Cluster).readPage(from, 50);
  return { nextOffset, asked, ...(heldBack && { heldBack }) };
}

test('a client over its quota asks again for what it was not told', async () => {
  expect(await read(overQuota, overQuota, upTo('9'))).toEqual({ nextOffset: '5', asked: 3 });
});

test('what cannot be seen yet is told after one answer', async () => {
  expect(await read(upTo('4'))).toEqual({ nextOffset: '4', asked: 1 });
  expect(await read(nothing)).toEqual({ nextOffset: '4', asked: 1 });
});

test('where others use the quota up, or it leaves nothing, it asks ten times, and says so', async () => {
  expect(await read(overQuota)).toEqual({ nextOffset: '4', asked: 10, heldBack: true });
});
