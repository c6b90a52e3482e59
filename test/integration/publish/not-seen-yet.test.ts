// Goal: a store that was restored gives no number that a record has which its leader took before, and which nobody can see
// before another replica has it.
// Method: three real brokers of which one stands still and stays in sync, the embedded store as a file that is copied, relays
// stepped by hand.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeCluster } from '../../../src/publish/kafka-cluster';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { createTopics } from '../../../src/publish/topics';
import { openStoreHere } from '../../../src/store/open-store';
import { systemClock } from '../../../src/tools/clock';
import { settingsFor } from '../../contract/open-sqlite';
import { Hand } from '../../contract/store-hand';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic } from '../../support/read-topic';
import { until } from '../../support/until';

const clock = systemClock;
const live = 'tramline.equipment.v1';
// Who writes beside a broker that stands still is not kept waiting for long.
const times = { ...kafkaTargetDefaults, requestTimeoutMs: 2000, repeatAfterMs: [] };
// A resource is read at most once a second: publishing moves the stores' clock on.
let laterMs = 0;

describeWithNeighbour('Kafka', kafkaAvailable(), 'a record that nobody can see yet', () => {
  let cluster: KafkaCluster;
  let folder: string;
  const kafka = () => ({ brokers: cluster.brokers, clientId: 'tramline', tls: null, sasl: null });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-unseen-'));
    cluster = await startKafka({
      brokers: 3,
      properties: {
        // Epochs are given out while one of three stands still, which is waited for all the while.
        'transaction.state.log.replication.factor': 1,
        'broker.session.timeout.ms': 120_000,
        'replica.lag.time.max.ms': 120_000,
      },
    });
    const declared = [{ name: 'equipment.v1', partitions: 1, replicationFactor: 3, config: {} }];
    await createTopics(kafka(), 'tramline', declared, { ...times, clock });
  }, kafkaStartsWithinMs);
  afterAll(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true });
  });

  /** A process: the store at this place, and a relay on it. */
  function start(name: string) {
    const nowMs = () => clock.nowMs() + laterMs;
    const advance = (ms: number) => {
      laterMs += ms;
    };
    const store = openStoreHere(settingsFor(join(folder, name, 'store.db')), nowMs);
    const hand = new Hand({ store, advance, nowMs, reopen: async () => store, close: () => store.close() });
    const target = makeKafkaTarget(kafka(), { ...times, clock, topics: [live] });
    const options = { ...relayDefaults, clock, holder: name, leaseMs: 3_600_000 };
    const relay = makeRelay(store, target, options);
    const stop = async () => {
      await relay.close();
      await store.close();
    };
    return { store, hand, relay, stop };
  }

  /** Neither the leader of the topic nor whoever gives out the relay's epochs. */
  async function bystander(): Promise<number> {
    const inner = makeCluster(kafka(), { ...times, clock });
    await inner.connect();
    await inner.learn([live]);
    const busy = [
      inner.topicState(live)!.partitions[0]!.leader,
      await inner.coordinatorOf('tramline-relay-0'),
    ];
    inner.destroy();
    return [0, 1, 2].find((broker) => !busy.includes(broker + 1))!;
  }

  test('is read before anything is sent behind it, and numbers go on above', async () => {
    const first = start('served');
    await first.hand.publish('1', 'a');
    while ((await first.relay.step()) !== 'empty');
    const asleep = await bystander();
    cpSync(join(folder, 'served'), join(folder, 'backup'), { recursive: true });
    cluster.pause(asleep);
    await first.hand.publish('1', 'b');
    await first.relay.step();
    expect(await first.store.unsentCount()).toBe(1);
    await first.stop();

    const restored = start('backup');
    // Before anything was read from the topics: its number is taken.
    await restored.hand.publish('1', 'x');
    expect(await restored.relay.step()).toBe('waiting');
    expect(restored.relay.holdUntilMs()).not.toBeNull();
    cluster.resume(asleep);
    await until(async () => (await restored.relay.step()) === 'empty', {
      withinMs: 30_000,
      everyMs: 100,
      what: 'the topic to be read to its end',
    });
    await restored.hand.publish('1', 'x');
    while ((await restored.relay.step()) !== 'empty');
    await restored.stop();
    const records = await readTopic(cluster.brokers, live);
    const told = records.map(({ value, headers }) => [
      Number(headers.ce_sequence),
      (JSON.parse(String(value)) as { content: string }).content,
    ]);
    expect(told).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'x'],
    ]);
  });
});
