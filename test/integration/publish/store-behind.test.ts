// Goal: a store that was restored from a copy, or is new, numbers on above what stands on its topics, and nothing is
// written under a taken number; and a replay between them keeps the newest last.
// Method: one real broker, the embedded store as a file that is copied and put back, relays stepped by hand.
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/model/store';
import type { FoundRecord } from '../../../src/model/topic-end';
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { makeReplay } from '../../../src/publish/replay';
import { replayDefaults } from '../../../src/publish/run-replay';
import { makeHistorySender } from '../../../src/publish/send-history';
import { createTopics, describeTopics } from '../../../src/publish/topics';
import { openStoreHere } from '../../../src/store/open-store';
import { type Clock, systemClock } from '../../../src/tools/clock';
import { settingsFor } from '../../contract/open-sqlite';
import { address, draftOf, emptyRun, Hand, hintOf } from '../../contract/store-hand';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { Kafka, logLevel } from '../../support/kafka-client';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic } from '../../support/read-topic';
import { until } from '../../support/until';

const clock = systemClock;
const live = 'tramline.equipment.v1';
// A resource is read at most once a second: publishing moves the stores' clock on.
let laterMs = 0;

describeWithNeighbour('Kafka', kafkaAvailable(), 'a store behind its topics', () => {
  let cluster: KafkaCluster;
  let folder: string;
  const kafka = () => ({ brokers: cluster.brokers, clientId: 'tramline', tls: null, sasl: null });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-behind-'));
    // Whatever may be compacted is, at once.
    cluster = await startKafka({ properties: { 'log.cleaner.backoff.ms': 100 } });
    const declaration = { partitions: 3, replicationFactor: 1, config: {} };
    const declared = ['equipment.v1', 'audit'].map((name) => ({ name, ...declaration }));
    await createTopics(kafka(), 'tramline', declared, { ...kafkaTargetDefaults, clock });
  }, kafkaStartsWithinMs);
  afterAll(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true });
  });

  /** A process: the store at this place, and a relay on it. */
  function start(
    name: string,
    ownClock: Clock = clock,
  ): { store: Store; hand: Hand; relay: Relay; stop(): Promise<void> } {
    const nowMs = () => clock.nowMs() + laterMs;
    const advance = (ms: number) => {
      laterMs += ms;
    };
    const store = openStoreHere(settingsFor(join(folder, name, 'store.db')), nowMs);
    const hand = new Hand({ store, advance, nowMs, reopen: async () => store, close: () => store.close() });
    const target = makeKafkaTarget(kafka(), { ...kafkaTargetDefaults, clock, topics: [live] });
    const options = { ...relayDefaults, clock: ownClock, holder: name, leaseMs: 3_600_000 };
    const relay = makeRelay(store, target, options);
    const stop = async () => {
      await relay.close();
      await store.close();
    };
    return { store, hand, relay, stop };
  }

  async function sendAll({ relay }: { relay: Relay }): Promise<void> {
    for (;;) if ((await relay.step()) === 'empty') return;
  }

  /** `key sequence content`, in order within each key; one content for each number of a key. */
  async function written(): Promise<string[]> {
    const records = await readTopic(cluster.brokers, live);
    const lines = records.map(({ key, value, headers }) => {
      const { content } = JSON.parse(String(value)) as { content: string };
      return { key: String(key), line: `${String(key)} ${Number(headers.ce_sequence)} ${content}` };
    });
    return lines
      .sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
      .map((of) => of.line);
  }

  test.each(['gzip', 'zstd', 'lz4', 'snappy'])(
    'a topic that brokers keep as %s is read on',
    async (compression) => {
      const config = { 'compression.type': compression };
      const declared = [{ name: compression, partitions: 1, replicationFactor: 1, config }];
      await createTopics(kafka(), 'kept', declared, { ...kafkaTargetDefaults, clock });
      const topic = `kept.${compression}`;
      const target = makeKafkaTarget(kafka(), { ...kafkaTargetDefaults, clock, topics: [topic] });
      const outbox = makeMemoryOutbox(clock);
      // Some that compress well, in copies near and far, and some that do not.
      const values = Array.from({ length: 60 }, (_, at) =>
        at % 3 === 0 ? randomBytes(3000).toString('latin1') : `${'ab'.repeat(at * 40)}${at}`,
      );
      const rows = values.map((value, at) => outbox.add({ topic, key: `k${at}`, value }));
      await target.open();
      await target.partitionsOf(topic);
      const { outcomes } = await target.send([{ topic, partition: 0, partitions: 1, rows }]);
      expect(outcomes).toMatchObject([{ sent: true }]);
      const found: FoundRecord[] = [];
      const left = await target.readOn([], async ({ records }) => found.push(...records) > 0);
      const ends = [{ topic, partition: 0, nextOffset: String(rows.length) }];
      expect(left).toEqual({ unread: [], denied: [], ends });
      expect(found.map(({ key, sequence, eventId }) => [key, sequence, eventId])).toEqual(
        rows.map(({ key, sequence, eventId }) => [key, sequence, eventId]),
      );
      await target.close();
    },
  );

  test('what somebody else wrote there and no record of ours can be is passed over', async () => {
    const declared = [{ name: 'shared', partitions: 1, replicationFactor: 1, config: {} }];
    await createTopics(kafka(), 'kept', declared, { ...kafkaTargetDefaults, clock });
    const topic = 'kept.shared';
    const producer = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).producer();
    await producer.connect();
    const written = (key: string, ce_sequence = '1', ce_id = 'theirs') => ({
      key,
      value: '{}',
      headers: { ce_id, ce_sequence },
    });
    const messages = [
      written('4711/equipment/a\0b'),
      written(`4711/equipment/${randomBytes(3000).toString('hex')}`),
      written('4711/equipment/1', '1', 'their\0s'),
      written('4711/equipment/1', '-5'),
      written('4711/equipment/1', '1e3'),
      written('4711/equipment/1', '2', 'ours'),
    ];
    await producer.send({ topic, messages });
    await producer.disconnect();
    const target = makeKafkaTarget(kafka(), { ...kafkaTargetDefaults, clock, topics: [topic] });
    await target.open();
    await target.partitionsOf(topic);
    const found: FoundRecord[] = [];
    const ends: string[] = [];
    await target.readOn([], async ({ records, nextOffset }) => {
      ends.push(nextOffset);
      return found.push(...records) > 0;
    });
    expect(found.map(({ eventId, sequence }) => [eventId, sequence])).toEqual([['ours', 2]]);
    expect(ends).toEqual(['6']);
    await target.close();
  });

  test('after compaction the last record of a key by offset is its newest, and what is left is read on', async () => {
    const config = { 'cleanup.policy': 'compact', 'segment.ms': '1', 'min.cleanable.dirty.ratio': '0.001' };
    const declared = [{ name: 'compacted', partitions: 1, replicationFactor: 1, config }];
    await createTopics(kafka(), 'kept', declared, { ...kafkaTargetDefaults, clock });
    const topic = 'kept.compacted';
    const outbox = makeMemoryOutbox(clock);
    const target = makeKafkaTarget(kafka(), { ...kafkaTargetDefaults, clock, topics: [topic] });
    const relay = makeRelay(outbox, target, { ...relayDefaults, clock, holder: 'compacting' });
    const publish = async (keys: string[]) => {
      for (const key of keys) outbox.add({ topic, key });
      await sendAll({ relay });
    };
    const readOn = async () => {
      const found: FoundRecord[] = [];
      await target.readOn([], async ({ records }) => found.push(...records) > 0);
      return found;
    };
    for (let round = 0; round < 4; round += 1) await publish(['a', 'b', 'c', 'a']);
    // A segment is compacted once another began after it.
    const found = await until(
      async () => {
        await publish(['c']);
        const left = await readOn();
        const isCompacted = left.filter(({ key }) => key === 'a').length === 1;
        return isCompacted && left.length < outbox.rows.length ? left : null;
      },
      { withinMs: 60_000, everyMs: 100, what: 'the topic to be compacted' },
    );
    const newest = Object.fromEntries(outbox.rows.map(({ key, eventId }) => [key, eventId]));
    expect(Object.fromEntries(found.map(({ key, eventId }) => [key, eventId]))).toEqual(newest);
    const records = await readTopic(cluster.brokers, topic);
    expect(records.length).toBeLessThan(outbox.rows.length);
    expect(records.at(-1)!.offset).toBe(outbox.rows.length - 1);
    const last = records.map(({ key, headers }) => [String(key), String(headers.ce_id)]);
    expect(Object.fromEntries(last)).toEqual(newest);
    for (const key of ['a', 'b', 'c']) {
      const sequences = records
        .filter((record) => String(record.key) === key)
        .map(({ headers }) => Number(headers.ce_sequence));
      expect(sequences).toEqual(sequences.toSorted((left, right) => left - right));
    }
    await relay.close();
  });

  test('a restored copy reads on, numbers on above and publishes what differs', async () => {
    const first = start('served');
    for (const id of ['1', '2']) await first.hand.publish(id, 'a');
    await sendAll(first);
    await first.stop();
    cpSync(join(folder, 'served'), join(folder, 'backup'), { recursive: true });
    const later = start('served');
    for (const content of ['b', 'c']) await later.hand.publish('1', content);
    await later.hand.publish('3', 'a');
    await sendAll(later);
    await later.stop();

    const restored = start('backup');
    // Before anything was read from the topics: its number is taken.
    await restored.hand.publish('1', 'x');
    expect(await restored.store.behindSince()).toBeNull();
    await sendAll(restored);
    expect(await restored.store.behindSince()).not.toBeNull();
    expect(await written()).toEqual([
      '4711/equipment/1 1 a',
      '4711/equipment/1 2 b',
      '4711/equipment/1 3 c',
      '4711/equipment/2 1 a',
      '4711/equipment/3 1 a',
    ]);
    for (const id of ['1', '3']) await restored.hand.publish(id, 'x');
    await restored.hand.publish('2', 'a');
    await sendAll(restored);
    expect((await written()).filter((line) => line.endsWith('x'))).toEqual([
      '4711/equipment/1 4 x',
      '4711/equipment/3 2 x',
    ]);
    const full = await restored.store.beginRun({ organizationId: null, full: true });
    await restored.store.endRun(full.run, emptyRun, true);
    expect(await restored.store.behindSince()).toBeNull();
    await restored.stop();
  });

  test('the same store started again finds nothing new', async () => {
    const again = start('backup');
    await sendAll(again);
    expect(await again.store.behindSince()).toBeNull();
    await again.stop();
  });

  test('what a killed process had written and not marked is not sent twice', async () => {
    const first = start('backup');
    await first.hand.publish('5', 'a');
    const silent = new Proxy(first.store, {
      get: (store, verb: keyof Store) => (verb === 'markSent' ? async () => {} : store[verb]),
    });
    const target = makeKafkaTarget(kafka(), { ...kafkaTargetDefaults, clock, topics: [live] });
    const dying = makeRelay(silent, target, {
      ...relayDefaults,
      clock,
      holder: 'backup',
      leaseMs: 3_600_000,
    });
    await dying.step();
    await dying.close();
    await sendAll(first);
    expect((await written()).filter((line) => line.includes('/5 '))).toEqual(['4711/equipment/5 1 a']);
    expect(await first.store.behindSince()).toBeNull();
    await first.stop();
  });

  test('what a restored copy decides anew before it has read on never stands beside its other bytes', async () => {
    const first = start('decided');
    await first.hand.put([hintOf('6')]);
    await first.store.ready();
    await first.stop();
    cpSync(join(folder, 'decided'), join(folder, 'decided-backup'), { recursive: true });
    // Of the same facts read at another time: the same number and content, so the same id.
    const readAt = (observedAt: string) =>
      draftOf('6', 'a', { observedAt, value: JSON.stringify({ content: 'a', observedAt }) });
    const later = start('decided');
    await later.hand.finish(await later.hand.takeAt(address('6')), readAt('2026-02-01T00:00:00.000Z'));
    await sendAll(later);
    await later.stop();

    laterMs += 70_000;
    const restored = start('decided-backup');
    await restored.hand.finish(await restored.hand.takeAt(address('6')), readAt('2026-02-02T00:00:00.000Z'));
    await sendAll(restored);
    expect(await restored.store.behindSince()).not.toBeNull();
    laterMs += 2000;
    await restored.hand.publish('6', 'a');
    await sendAll(restored);
    const records = (await readTopic(cluster.brokers, live)).filter(({ key }) => String(key).endsWith('/6'));
    expect(records.map(({ headers }) => Number(headers.ce_sequence))).toEqual([1, 2]);
    expect(new Set(records.map(({ headers }) => String(headers.ce_id))).size).toBe(2);
    const asked = { after: 0, limit: 99, type: null, organizationId: null };
    const { events } = await restored.store.listEvents(asked);
    expect(
      events.filter(({ record }) => record.key.endsWith('/6')).map(({ record }) => record.value),
    ).toEqual([String(records[1]!.value)]);
    await restored.stop();
  });

  test('a new store beside topics that are not goes on in their sequences', async () => {
    const fresh = start('new');
    for (const id of ['1', '4']) await fresh.hand.publish(id, 'n');
    await sendAll(fresh);
    expect(await fresh.store.behindSince()).not.toBeNull();
    expect((await written()).filter((line) => line.endsWith('n'))).toEqual(['4711/equipment/4 1 n']);
    await fresh.hand.publish('1', 'n');
    await sendAll(fresh);
    expect((await written()).filter((line) => line.endsWith('n'))).toEqual([
      '4711/equipment/1 5 n',
      '4711/equipment/4 1 n',
    ]);
    await fresh.stop();
  });

  test('a replay sends the newest again as it is, and history to another topic', async () => {
    const process = start('new');
    const history = makeHistorySender({
      liveTopics: [live],
      clock,
      exists: async (topic) => {
        const [found] = await describeTopics(kafka(), [topic], { ...kafkaTargetDefaults, clock });
        return found?.state === 'present';
      },
      target: (topic) =>
        makeKafkaTarget(kafka(), { ...kafkaTargetDefaults, clock, topics: [topic], role: 'replay' }),
    });
    const replay = makeReplay(
      {
        store: process.store,
        relay: process.relay,
        history,
        clock,
        due: () => {},
        passedOver: () => {},
        forbidden: () => null,
        callsLeft: () => null,
      },
      { ...replayDefaults, holder: 'new', leaseMs: 60_000 },
      (error) => {
        throw error;
      },
    );
    const nothing = { events: null, organizationId: null, kind: 'equipment' as const, dryRun: false };
    await expect(replay.begin({ ...nothing, how: 'history', toTopic: 'x' })).rejects.toMatchObject({
      message: 'there is no topic x: create it first',
    });
    await replay.begin({ ...nothing, how: 'newest', toTopic: null });
    expect(await replay.ended()).toMatchObject({ state: 'ended', replayed: 2 });
    expect((await written()).filter((line) => line.endsWith('n'))).toEqual([
      '4711/equipment/1 5 n',
      '4711/equipment/1 5 n',
      '4711/equipment/4 1 n',
      '4711/equipment/4 1 n',
    ]);
    await replay.begin({ ...nothing, how: 'history', toTopic: 'tramline.audit' });
    expect(await replay.ended()).toMatchObject({ state: 'ended', replayed: 2 });
    const copies = await readTopic(cluster.brokers, 'tramline.audit');
    expect(copies.map(({ key }) => String(key)).sort()).toEqual(['4711/equipment/1', '4711/equipment/4']);
    await process.stop();
  });

  /** As an operator does who deletes a topic and declares it again: its offsets begin at 0. One partition holds all. */
  async function makeAnew(): Promise<void> {
    await remove();
    await declare();
  }

  async function remove(): Promise<void> {
    const admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [live] });
    await until(async () => !(await admin.listTopics()).includes(live), {
      withinMs: 30_000,
      everyMs: 100,
      what: 'the topic to be gone',
    });
    await admin.disconnect();
  }

  async function declare(): Promise<void> {
    const declared = [{ name: 'equipment.v1', partitions: 1, replicationFactor: 1, config: {} }];
    await createTopics(kafka(), 'tramline', declared, { ...kafkaTargetDefaults, clock });
  }

  test('a copy that leads before its topic is there reads what stands on it before it sends anything', async () => {
    await makeAnew();
    const first = start('missing');
    await first.hand.publish('1', 'a');
    await sendAll(first);
    await first.stop();
    cpSync(join(folder, 'missing'), join(folder, 'missing-backup'), { recursive: true });
    await remove();
    let aheadMs = 0;
    const steadyMs = () => clock.steadyMs() + aheadMs;
    const restored = start('missing-backup', { ...clock, steadyMs });
    await restored.hand.publish('1', 'x');
    expect(await restored.relay.step()).toBe('waiting');
    expect(restored.relay.conditions()).toMatchObject([
      { name: 'topic-denied', labels: { topic: live }, detail: expect.stringContaining('UNKNOWN_TOPIC') },
    ]);
    await declare();
    const later = start('missing');
    await sendAll(later);
    await later.hand.publish('1', 'b');
    await sendAll(later);
    await later.stop();
    expect(await restored.relay.step()).toBe('waiting');
    aheadMs = 60_000;
    await sendAll(restored);
    expect(restored.relay.conditions()).toEqual([]);
    expect(await restored.store.behindSince()).not.toBeNull();
    await restored.hand.publish('1', 'x');
    await sendAll(restored);
    expect((await written()).map((line) => line.split(' ').at(-1))).toEqual(['b', 'x']);
    await restored.stop();
  });

  test('a copy from before what is gone from the topic numbers on above it, and the store that wrote it is not behind', async () => {
    await makeAnew();
    const first = start('trimmed');
    for (const id of ['1', '2']) await first.hand.publish(id, 'a');
    await sendAll(first);
    await first.stop();
    cpSync(join(folder, 'trimmed'), join(folder, 'trimmed-backup'), { recursive: true });
    const later = start('trimmed');
    for (const content of ['b', 'c', 'd']) await later.hand.publish('1', content);
    await sendAll(later);
    await later.stop();
    const admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.fetchTopicOffsets(live);
    await admin.deleteTopicRecords({ topic: live, partitions: [{ partition: 0, offset: '-1' }] });
    await admin.disconnect();
    expect(await written()).toEqual([]);

    const same = start('trimmed');
    await sendAll(same);
    expect(await same.store.behindSince()).toBeNull();
    await same.hand.publish('2', 'b');
    expect((await same.hand.records()).map(({ sequence }) => sequence)).toEqual([2]);
    await same.stop();
    const restored = start('trimmed-backup');
    await restored.hand.publish('1', 'x');
    await sendAll(restored);
    expect(await restored.store.behindSince()).not.toBeNull();
    for (const id of ['1', '2', '3']) await restored.hand.publish(id, 'x');
    await sendAll(restored);
    // Above the three that are gone, and whatever a log before can have had.
    const numberedOn = ['1', '2', '3'].map((id) =>
      expect.stringMatching(new RegExp(`^4711/equipment/${id} \\d{13} x$`)),
    );
    expect(await written()).toEqual(numberedOn);
    await restored.stop();
    const again = start('trimmed-backup');
    await again.store.endRun(
      (await again.store.beginRun({ organizationId: null, full: true })).run,
      emptyRun,
      true,
    );
    await sendAll(again);
    expect(await again.store.behindSince()).toBeNull();
    await again.stop();
  });

  test.each([
    ['shorter than', 5, []],
    ['longer than', 2, ['7', '8']],
  ])(
    'a copy from before a topic was made anew numbers on above what stands there now, %s before',
    async (name, sent, others) => {
      await makeAnew();
      const first = start(name);
      for (let nth = 1; nth <= sent; nth += 1) await first.hand.publish('1', `a${nth}`);
      await sendAll(first);
      await first.stop();
      cpSync(join(folder, name), join(folder, `${name}-backup`), { recursive: true });
      await makeAnew();
      const later = start(name);
      await sendAll(later);
      for (const content of ['b', 'c']) await later.hand.publish('1', content);
      for (const id of others) await later.hand.publish(id, 'a');
      await sendAll(later);
      await later.stop();

      const restored = start(`${name}-backup`);
      await restored.hand.publish('1', 'x');
      await sendAll(restored);
      expect(await restored.store.behindSince()).not.toBeNull();
      await restored.hand.publish('1', 'x');
      await sendAll(restored);
      const records = (await readTopic(cluster.brokers, live)).filter(({ key }) =>
        String(key).endsWith('/1'),
      );
      expect(records.map(({ value }) => JSON.parse(String(value)).content)).toEqual(['b', 'c', 'x']);
      const [b = 0, c, x] = records.map(({ headers }) => Number(headers.ce_sequence));
      // Above all that the log before can have had.
      expect(b).toBeGreaterThan(sent + 1e12);
      expect([c, x]).toEqual([b + 1, expect.any(Number)]);
      expect(x).toBeGreaterThan(b + 1);
      await restored.stop();
    },
  );

  describe('whoever led a store that was replaced, and is not kept out yet', () => {
    let further = 0;
    const later: Clock = { ...clock, steadyMs: () => clock.steadyMs() + further };

    /** Its store has an event of this resource that a copy of it has not, and it wakes after the copy has read on. */
    async function wake(id: string) {
      const first = start(`first-${id}`);
      await first.hand.publish(id, 'a');
      await sendAll(first);
      const full = await first.store.beginRun({ organizationId: null, full: true });
      await first.store.endRun(full.run, emptyRun, true);
      await first.stop();
      cpSync(join(folder, `first-${id}`), join(folder, `copy-${id}`), { recursive: true });
      const zombie = start(`first-${id}`);
      await sendAll(zombie);
      await zombie.hand.publish(id, 'b');
      const copy = start(`copy-${id}`, later);
      await sendAll(copy);
      expect(await zombie.relay.step()).toBe('worked');
      await zombie.stop();
      return copy;
    }

    test('is found where the next one writes behind it: the number that both gave is not the last', async () => {
      const copy = await wake('20');
      await copy.hand.publish('20', 'x');
      await sendAll(copy);
      expect(await copy.store.behindSince()).not.toBeNull();
      await copy.hand.publish('20', 'x');
      await sendAll(copy);
      await copy.stop();
      expect((await written()).filter((line) => line.includes('/20 '))).toEqual([
        '4711/equipment/20 1 a',
        '4711/equipment/20 2 b',
        '4711/equipment/20 2 x',
        '4711/equipment/20 3 x',
      ]);
    });

    test('is found within a minute where nobody writes behind it', async () => {
      const copy = await wake('21');
      await sendAll(copy);
      expect(await copy.store.behindSince()).toBeNull();
      further += 60_000;
      await sendAll(copy);
      expect(await copy.store.behindSince()).not.toBeNull();
      await copy.hand.publish('21', 'x');
      await sendAll(copy);
      await copy.stop();
      expect((await written()).filter((line) => line.includes('/21 '))).toEqual([
        '4711/equipment/21 1 a',
        '4711/equipment/21 2 b',
        '4711/equipment/21 3 x',
      ]);
    });
  });
});
