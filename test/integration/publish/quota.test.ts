// Goal: a quota that holds this client back for longer than a send may last is waited for: no send fails, no producer is given
// up, nothing is sent twice, nobody is told of an outage, and a stop does not wait. One of what is asked is told as what it is.
// Method: one real broker with a real quota; the relay is stepped by hand, with the outbox in memory, and the topic read back.

import type { CheckFailure } from '../../../src/operations/check';
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { createTopics } from '../../../src/publish/topics';
import { systemClock as clock } from '../../../src/tools/clock';
import { declaredTopics } from '../../../src/wire/package-files';
import { checkTopics } from '../../../src/wire/topics';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { limitProducer, limitRequests } from '../../support/kafka-quota';
import { type MemoryOutbox, makeMemoryOutbox } from '../../support/memory-outbox';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic } from '../../support/read-topic';
import { until } from '../../support/until';

const topic = 'tramline.quota';
const times = { connectTimeoutMs: 3_000, requestTimeoutMs: 10_000, sendTimeoutMs: 2_000 };
/** Kafka counts over ten seconds: so much more than they allow is held back for five. */
const [bytesPerSecond, bytesAtOnce] = [40_000, 600_000];

describeWithNeighbour('Kafka', kafkaAvailable(), 'a quota of what is sent', () => {
  let cluster: KafkaCluster;
  let relays: Relay[] = [];

  const settings = (clientId: string) => ({ brokers: cluster.brokers, clientId, tls: null, sasl: null });

  beforeAll(async () => {
    cluster = await startKafka();
    const declared = [{ name: 'quota', partitions: 1, replicationFactor: 1, config: {} }];
    await createTopics(settings('creator'), 'tramline', declared, { ...times, clock });
    // The first producer of all makes the coordinators' topic.
    const { relay } = setUp('first');
    await until(async () => (await relay.step()) === 'empty', { withinMs: 30_000, everyMs: 100 });
  }, kafkaStartsWithinMs);

  afterEach(async () => {
    for (const relay of relays) await relay.close();
    relays = [];
  });

  afterAll(async () => {
    await cluster?.stop();
  });

  function setUp(clientId: string) {
    const outbox = makeMemoryOutbox(clock);
    const happened = { heldBackMs: [] as number[], failed: [] as string[], discarded: 0 };
    const defaults = { ...kafkaTargetDefaults, ...times };
    const target = makeKafkaTarget(settings(clientId), { ...defaults, clock, topics: [topic] });
    const options = { ...relayDefaults, conditionAfterMs: 500, clock, holder: clientId };
    const relay = makeRelay(outbox, target, options, {
      heldBack: (forMs) => void happened.heldBackMs.push(forMs),
      failed: (_topic, code) => void happened.failed.push(code),
      discarded: () => {
        happened.discarded += 1;
      },
    });
    relays.push(relay);
    return { outbox, relay, happened };
  }

  function fill(outbox: MemoryOutbox, stem: string, bytes: number): void {
    for (let key = 0; key < 100; key += 1)
      outbox.add({ topic, key: `${stem}${key}`, value: JSON.stringify('x'.repeat(bytes / 100)) });
  }

  test('is waited for between two sends', async () => {
    const { outbox, relay, happened } = setUp('limited');
    await limitProducer(cluster.brokers[0]!, 'limited', bytesPerSecond);
    fill(outbox, 'a', bytesAtOnce);
    expect(await relay.step()).toBe('worked');
    expect(happened.heldBackMs).toEqual([expect.any(Number)]);
    expect(happened.heldBackMs[0]).toBeGreaterThan(times.sendTimeoutMs);
    fill(outbox, 'b', 1_000);
    const conditions: unknown[] = [];
    const drained = async () => {
      await relay.step();
      conditions.push(...relay.conditions());
      return (await outbox.unsentCount()) === 0;
    };
    await until(drained, { withinMs: 30_000, everyMs: 20, what: 'the outbox to be drained' });
    expect({ ...happened, conditions }).toMatchObject({ failed: [], discarded: 0, conditions: [] });
    const records = await readTopic(cluster.brokers, topic);
    const keys = records.map(({ key }) => String(key)).filter((key) => /^[ab]\d/.test(key));
    expect([keys.length, new Set(keys).size]).toEqual([200, 200]);
  }, 60_000);

  test('of what is asked is told while somebody begins to lead, and by a check', async () => {
    const all = { ...times, clock };
    await createTopics(settings('creator'), 'tramline', declaredTopics(), all);
    await limitRequests(cluster.brokers[0]!, 'slow', 0.01);
    /** A quota reaches the broker a moment later. */
    const [said, next] = await until(
      () => checkTopics(settings('slow'), 'tramline', async () => []).then(() => null, wordsOf),
      { withinMs: 20_000, what: 'a check that is held back' },
    );
    expect(said).toMatch(
      /^a quota of the brokers held back what this check asked, for \d+\.\d s in all[:;] .*no answer /,
    );
    // By where the quota met it, the check came to no answer at all, or one of the brokers was late.
    const further = / s in all: /.test(said!) ? '' : ' Bring the brokers back, .* then written by itself\\.';
    expect(next).toMatch(new RegExp(`^\`kafka-configs\\.sh .* give this client more\\.${further}$`));
    const { relay, happened } = setUp('slow');
    await relay.step();
    expect(happened.heldBackMs).toContain(1_000);
    expect(happened.failed).toEqual([]);
  }, 60_000);

  test('lets a stop go at once', async () => {
    const { outbox, relay, happened } = setUp('stopped');
    await limitProducer(cluster.brokers[0]!, 'stopped', bytesPerSecond);
    fill(outbox, 'c', bytesAtOnce);
    await relay.step();
    fill(outbox, 'd', 1_000);
    expect(await relay.step()).toBe('waiting');
    const beganMs = clock.steadyMs();
    await relay.close();
    expect(clock.steadyMs() - beganMs).toBeLessThan(times.sendTimeoutMs);
    expect(happened.failed).toEqual([]);
    expect(await outbox.unsentCount()).toBe(100);
  }, 60_000);
});

const wordsOf = ({ message, next }: CheckFailure) => [message, next];
