// Goal: brokers may stop, continue, die and come back at any moment: what was called sent is on the topic, and the last
// record of a key is its newest. Trouble is waited out, told, and ends by itself.
// Method: two real brokers, the relay stepped by hand with the outbox in memory, topics read back when all is well again.

import { type KafkaTargetOptions, kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { createTopics, describeTopics } from '../../../src/publish/topics';
import { systemClock } from '../../../src/tools/clock';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { Kafka, logLevel } from '../../support/kafka-client';
import { type MemoryOutbox, makeMemoryOutbox } from '../../support/memory-outbox';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic, type TopicRecord } from '../../support/read-topic';
import { until } from '../../support/until';

const clock = systemClock;
const times = { connectTimeoutMs: 1_000, requestTimeoutMs: 1_000, sendTimeoutMs: 2_000 };
const relayOptions = {
  ...relayDefaults,
  clock,
  retry: { baseMs: 50, maxMs: 500 },
  conditionAfterMs: 500,
  closeWithinMs: 200,
};

describeWithNeighbour('Kafka', kafkaAvailable(), 'publishing while brokers fail', () => {
  let cluster: KafkaCluster;
  let relays: Relay[] = [];

  beforeAll(async () => {
    cluster = await startKafka({ brokers: 2 });
    // The first producer of all makes the coordinators' topic.
    const { relay } = setUp('first');
    await until(async () => (await relay.step()) === 'empty', { withinMs: 30_000, everyMs: 100 });
  }, kafkaStartsWithinMs);

  afterEach(async () => {
    cluster.resume(0);
    cluster.resume(1);
    for (const relay of relays) await relay.close();
    relays = [];
  });

  afterAll(async () => {
    await cluster?.stop();
  });

  const settings = (clientId: string) => ({ brokers: cluster.brokers, clientId, tls: null, sasl: null });

  async function create(name: string, partitions: number, minInSync: number): Promise<string> {
    const config = { 'min.insync.replicas': String(minInSync) };
    const declared = [{ name, partitions, replicationFactor: 2, config }];
    await createTopics(settings('creator'), 'tramline', declared, {
      ...times,
      requestTimeoutMs: 5_000,
      clock,
    });
    return `tramline.${name}`;
  }

  function setUp(clientId: string, options: Partial<KafkaTargetOptions> = {}) {
    const outbox = makeMemoryOutbox(clock);
    const happened = { failed: [] as string[], discarded: 0 };
    const target = makeKafkaTarget(settings(clientId), {
      ...kafkaTargetDefaults,
      ...times,
      clock,
      topics: [],
      ...options,
    });
    const relay = makeRelay(
      outbox,
      target,
      { ...relayOptions, holder: clientId },
      {
        failed: (topic, code) => void happened.failed.push(`${topic}: ${code}`),
        discarded: () => {
          happened.discarded += 1;
        },
      },
    );
    relays.push(relay);
    return { outbox, relay, target, happened };
  }

  /** Steps until nothing is unsent, as the running service would. */
  async function drain(relay: Relay, outbox: MemoryOutbox, withinMs = 30_000): Promise<void> {
    const drained = async () => (await relay.step()) === 'empty' && (await outbox.unsentCount()) === 0;
    await until(drained, { withinMs, everyMs: 20, what: 'the outbox to be drained' });
  }

  /** The node ids that lead the partitions of a topic. */
  async function leadersOf(topic: string): Promise<number[]> {
    const admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    await admin.disconnect();
    const partitions = topics[0]?.partitions ?? [];
    return partitions
      .toSorted((one, other) => one.partitionId - other.partitionId)
      .map(({ leader }) => leader);
  }

  /** A client id whose transactional id is coordinated by the broker, so that pausing the other leaves it alone. */
  async function clientCoordinatedBy(broker: number, stem: string): Promise<string> {
    const leaders = await until(() => leadersOf('__transaction_state'), { withinMs: 20_000, everyMs: 200 });
    const candidates = Array.from({ length: 100 }, (_, number) => `${stem}-${number}`);
    const leaderFor = (clientId: string) =>
      leaders[Math.abs(javaHash(`${clientId}-relay-0`)) % leaders.length];
    const found = candidates.find((clientId) => leaderFor(clientId) === broker + 1);
    if (found === undefined) throw new Error(`Broker ${broker} coordinates nothing.`);
    return found;
  }

  test.each([
    // The other leader waits for this replica as well, so that nobody acknowledges anything.
    ['for a moment, and stays the leader', 1_500, 0],
    ['for so long that others lead', 6_000, 1],
  ])('B6: a broker that stops in the middle of a send %s', async (what, pausedMs, sentAtLeast) => {
    const topic = await create(`stopped-${pausedMs}`, 4, 1);
    expect(new Set(await leadersOf(topic))).toEqual(new Set([1, 2]));
    const { outbox, relay, happened } = setUp(await clientCoordinatedBy(0, `stopped-${pausedMs}`));
    const change = (version: number) => {
      for (let key = 0; key < 100; key += 1) {
        outbox.add({
          topic,
          key: `k${key}`,
          value: JSON.stringify({ what, version, filling: 'f'.repeat(5_000) }),
        });
      }
    };
    change(1);
    await relay.step();
    change(2);
    const step = relay.step();
    // The request is on its way when the broker stops: its bytes are in a socket, or half of them are.
    await new Promise(setImmediate);
    cluster.pause(1);
    const resumeAtMs = clock.nowMs() + pausedMs;
    await step;
    const sent = () => outbox.rows.filter(({ sent }) => sent !== null).length;
    // On a busy machine it takes the others longer to notice.
    const isNoticed = () => happened.discarded > 0 && sent() >= 100 + sentAtLeast;
    const goesOn = () => clock.nowMs() < resumeAtMs + (isNoticed() ? 0 : 20_000);
    for (let version = 3; goesOn(); version += 1) {
      if (version < 8) change(version);
      await relay.step();
      await clock.wait(20);
    }
    const sentWhileStopped = sent();
    cluster.resume(1);
    await drain(relay, outbox);
    expect(happened.discarded).toBeGreaterThan(0);
    expect(sentWhileStopped).toBeGreaterThanOrEqual(100 + sentAtLeast);
    expectNewestLast(await readTopic(cluster.brokers, topic), topic, outbox);
    expect(outbox.rows.some(({ quarantined }) => quarantined !== null)).toBe(false);
  });

  test('a leader that is killed in the middle of a send and comes back', async () => {
    const topic = await create('killed', 4, 1);
    const { outbox, relay } = setUp(await clientCoordinatedBy(0, 'killed'));
    const change = () => {
      for (let key = 0; key < 100; key += 1) outbox.add({ topic, key: `k${key}`, value: 'v'.repeat(5_000) });
    };
    change();
    await relay.step();
    change();
    const step = relay.step();
    await new Promise(setImmediate);
    await cluster.kill(1);
    await step;
    change();
    const restarted = cluster.restart(1);
    await drain(relay, outbox);
    await restarted;
    expectNewestLast(await readTopic(cluster.brokers, topic), topic, outbox);
  });

  test('too few replicas hold their topic, are told, and nothing is set aside or starved', async () => {
    const [careful, plain] = [await create('careful', 2, 2), await create('plain', 2, 1)];
    const { outbox, relay, happened } = setUp(await clientCoordinatedBy(0, 'replicas'));
    await relay.step();
    await cluster.kill(1);
    for (let number = 0; number < 20; number += 1) {
      for (const topic of [careful, plain]) outbox.add({ topic, key: `k${number % 5}` });
    }
    const sentOf = (topic: string) =>
      outbox.rows.filter((row) => row.topic === topic && row.sent !== null).length;
    await until(
      async () => {
        await relay.step();
        return sentOf(plain) === 20 && relay.conditions().length > 0;
      },
      { withinMs: 20_000, everyMs: 20 },
    );
    expect(sentOf(careful)).toBe(0);
    expect(relay.conditions()).toMatchObject([{ name: 'kafka-unavailable' }]);
    expect(happened.failed.every((failure) => !failure.includes('TOO_LARGE'))).toBe(true);
    await cluster.restart(1);
    await drain(relay, outbox);
    expect(relay.conditions()).toEqual([]);
    expect(happened.failed).toContain(`${careful}: NOT_ENOUGH_REPLICAS`);
    expectNewestLast(await readTopic(cluster.brokers, careful), careful, outbox);
    expectNewestLast(await readTopic(cluster.brokers, plain), plain, outbox);
  });

  test('while every broker is mute each step ends in time, closing does too, and all is sent when they answer', async () => {
    const topic = await create('mute', 2, 1);
    const { outbox, relay } = setUp('mute');
    outbox.add({ topic, key: 'k' });
    await relay.step();
    for (const broker of [0, 1]) cluster.pause(broker);
    outbox.add({ topic, key: 'k' });
    const took: number[] = [];
    await until(
      async () => {
        const startedMs = clock.nowMs();
        await relay.step();
        took.push(clock.nowMs() - startedMs);
        return relay.conditions().some(({ name }) => name === 'kafka-unavailable');
      },
      { withinMs: 15_000, everyMs: 20 },
    );
    expect(Math.max(...took)).toBeLessThan(4_500);
    expect(relay.conditions()[0]?.detail).toMatch(/127\.0\.0\.1:\d+|mute-0/);
    const other = setUp('mute-and-closing');
    const stuck = other.relay.step();
    const closingMs = clock.nowMs();
    await other.relay.close();
    await stuck;
    expect(clock.nowMs() - closingMs).toBeLessThan(4_000);
    for (const broker of [0, 1]) cluster.resume(broker);
    await drain(relay, outbox);
    expectNewestLast(await readTopic(cluster.brokers, topic), topic, outbox);
  });

  test('a first broker that is mute does not keep the others from being used', async () => {
    const known = await create('seed', 1, 1);
    cluster.pause(0);
    const asked = { ...times, clock };
    expect(await describeTopics(settings('seed'), [known], asked)).toMatchObject([{ state: 'present' }]);
    const { target } = setUp('seed');
    // Its coordinator may be the mute one; that is taken over within seconds.
    const opened = () => target.open().then(() => true);
    expect(await until(opened, { withinMs: 15_000, everyMs: 100 })).toBe(true);
    await target.close();
    await expect(target.open()).rejects.toMatchObject({ code: 'publish.unavailable' });
  });
});

/** Every row called sent is where it is marked; each key in order, repeats byte for byte, the newest last. */
function expectNewestLast(records: TopicRecord[], topic: string, outbox: MemoryOutbox): void {
  const byPlace = new Map(
    records.map((record) => [`${record.partition}/${record.offset}`, contentOf(record)]),
  );
  const rows = outbox.rows.filter((row) => row.topic === topic);
  for (const { sent, key, value, headers } of rows) {
    expect(sent).not.toBeNull();
    expect(byPlace.get(`${sent?.partition}/${sent?.offset}`)).toBe(JSON.stringify([key, value, headers]));
  }
  for (const [key, ofKey] of Map.groupBy(records, (record) => String(record.key))) {
    const sequences = ofKey.map(({ headers }) => Number(headers.ce_sequence));
    const expected = rows.filter((row) => row.key === key).map(({ sequence }) => sequence);
    expect([...new Set(sequences)]).toEqual(expected);
    expect(sequences.at(-1)).toBe(expected.at(-1));
    expect(new Set(ofKey.map(contentOf)).size).toBe(expected.length);
  }
}

function contentOf({ key, value, headers }: TopicRecord): string {
  const texts = Object.entries(headers).map(([name, bytes]) => [name, String(bytes)]);
  return JSON.stringify([String(key), String(value), texts]);
}

/** As Java hashes text, by which Kafka finds the coordinator. */
function javaHash(text: string): number {
  let hash = 0;
  for (const letter of text) hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0;
  return hash;
}
