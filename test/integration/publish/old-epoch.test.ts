// Goal: whoever leads for longer than a broker remembers a transactional id is fenced all the same by whoever comes next.
// Method: one real broker that forgets such ids after three seconds, a relay that asks for how long and takes a new epoch in half of that.
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { createTopics } from '../../../src/publish/topics';
import { systemClock } from '../../../src/tools/clock';
import { traceSends } from '../../../src/wire/trace-sends';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic } from '../../support/read-topic';
import { until } from '../../support/until';

const clock = systemClock;
const topic = 'tramline.fenced';
const forgottenMs = 3_000;

describeWithNeighbour('Kafka', kafkaAvailable(), 'a leader of long standing', () => {
  let cluster: KafkaCluster;
  const kafka = () => ({ brokers: cluster.brokers, clientId: 'tramline', tls: null, sasl: null });
  beforeAll(async () => {
    cluster = await startKafka({
      properties: {
        'transactional.id.expiration.ms': String(forgottenMs),
        'transaction.remove.expired.transaction.cleanup.interval.ms': '500',
      },
    });
    const declared = [{ name: 'fenced', partitions: 1, replicationFactor: 1, config: {} }];
    await createTopics(kafka(), 'tramline', declared, { ...kafkaTargetDefaults, clock });
  }, kafkaStartsWithinMs);
  afterAll(() => cluster?.stop());

  test('cannot write once its successor has, however long it led', async () => {
    const outbox = makeMemoryOutbox(clock);
    const make = () => makeKafkaTarget(kafka(), { ...kafkaTargetDefaults, clock, topics: [topic] });
    const [target, successor] = [make(), make()];
    const batch = () => ({ topic, partition: 0, partitions: 1, rows: [outbox.add({ topic, key: 'k' })] });
    const observer = { startSend: () => ({ end: () => {} }), trouble: () => {}, topicLostRecords: () => {} };
    const traced = traceSends(target, observer, 'tramline');
    const relay = makeRelay(outbox, traced, { ...relayDefaults, clock, holder: 'long' });
    const beganMs = clock.nowMs();
    await until(
      async () => {
        outbox.add({ topic, key: 'k' });
        await relay.step();
        return clock.nowMs() - beganMs > 3 * forgottenMs;
      },
      { withinMs: 30_000, everyMs: 200 },
    );
    const late = batch();
    await successor.open();
    await successor.partitionsOf(topic);
    expect((await successor.send([batch()])).outcomes).toMatchObject([{ sent: true }]);
    expect((await target.send([late])).outcomes).toMatchObject([{ sent: false, kind: 'fenced' }]);
    const records = await readTopic(cluster.brokers, topic);
    expect(Number(records.at(-1)!.headers.ce_sequence)).toBe(outbox.rows.length);
    await relay.close();
    await successor.close();
  });
});
