// Goal: the Kafka that other suites rely on is a real one, and its brokers stop and continue on request.
// Method: one cluster of two brokers, kafkajs as any user would use it.

import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { Kafka, type KafkaMessage, logLevel, Partitioners } from '../../support/kafka-client';
import { describeWithNeighbour } from '../../support/neighbour';
import { until } from '../../support/until';

describeWithNeighbour('Kafka', kafkaAvailable(), 'a real Kafka of two brokers', () => {
  let cluster: KafkaCluster;
  let kafka: Kafka;

  beforeAll(async () => {
    cluster = await startKafka({ brokers: 2, minInSyncReplicas: 1 });
    kafka = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING, requestTimeout: 2_000 });
    const admin = kafka.admin();
    await admin.connect();
    await admin.createTopics({
      topics: [{ topic: 'things', numPartitions: 2, replicationFactor: 2 }],
      // Its own waiting fails where a broker has not heard of the topic yet.
      waitForLeaders: false,
    });
    const isLed = async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: ['things'] });
      return topics[0]!.partitions.every(({ leader, isr }) => leader >= 0 && isr.length === 2);
    };
    await until(isLed, { withinMs: 20_000, what: 'leaders of the topic' });
    await admin.disconnect();
  }, kafkaStartsWithinMs);

  afterAll(async () => {
    await cluster?.stop();
  });

  async function produce(
    brokers: string[],
    message: { key: string; value: Buffer; headers?: { ce_id: string } },
  ) {
    const producer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer({
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    await producer.send({ topic: 'things', messages: [message] });
    await producer.disconnect();
  }

  test('what was produced is consumed: key, headers and bytes', async () => {
    const sent = { key: 'a', value: Buffer.from([0, 255, 7]), headers: { ce_id: 'one' } };
    await produce(cluster.brokers, sent);
    const consumer = kafka.consumer({ groupId: 'reader' });
    await consumer.connect();
    await consumer.subscribe({ topic: 'things', fromBeginning: true });
    try {
      const message = await new Promise<KafkaMessage>((resolve, reject) => {
        consumer.run({ eachMessage: async (record) => resolve(record.message) }).catch(reject);
      });
      expect(message).toMatchObject({
        key: Buffer.from('a'),
        value: Buffer.from([0, 255, 7]),
        headers: { ce_id: Buffer.from('one') },
      });
    } finally {
      await consumer.disconnect();
    }
  });

  test('a paused broker loses its partitions to the other and takes part again when resumed', async () => {
    const admin = kafka.admin();
    await admin.connect();
    const leaders = async (): Promise<number[]> => {
      const { topics } = await admin.fetchTopicMetadata({ topics: ['things'] });
      return topics.flatMap((topic) => topic.partitions.map((partition) => partition.leader));
    };
    const inSync = async (): Promise<number> => {
      const { topics } = await admin.fetchTopicMetadata({ topics: ['things'] });
      return Math.min(
        ...topics.flatMap((topic) => topic.partitions.map((partition) => partition.isr.length)),
      );
    };
    try {
      expect(new Set(await leaders())).toEqual(new Set([1, 2]));
      cluster.pause(1);
      await until(async () => (await leaders()).every((leader) => leader === 1), { withinMs: 30_000 });
      await produce(cluster.brokers.slice(0, 1), { key: 'b', value: Buffer.from('while one is stopped') });
      cluster.resume(1);
      await until(async () => (await inSync()) === 2, { withinMs: 30_000 });
    } finally {
      cluster.resume(1);
      await admin.disconnect();
    }
  });

  test('a killed broker comes back on its address with what it had', async () => {
    const before = cluster.pids[1];
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await cluster.kill(1);
    await cluster.restart(1);
    expect(cluster.pids[1]).not.toBe(before);
    const second = cluster.brokers[1] as string;
    const admin = new Kafka({ brokers: [second], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    expect(await admin.listTopics()).toContain('things');
    await admin.disconnect();
    // Node warns of such a timer, once in each process: in a run in which all is well no warning may stand.
    expect(timers.mock.calls.length).toBeGreaterThan(0);
    expect(timers.mock.calls.filter(([, ms]) => Number(ms ?? 0) < 0)).toEqual([]);
    timers.mockRestore();
  });
});
