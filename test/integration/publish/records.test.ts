// Goal: what stands on real topics is what the outbox holds, byte for byte, in order, once, whatever one topic or record
// does.
// Method: two brokers, topics made as declared, the relay stepped by hand with the outbox in memory, topics read back by
// an ordinary consumer.
import { CloudEvent, Kafka as KafkaBinding } from 'cloudevents';
import { type Change, slotOf } from '../../../src/model/event';
import type { EventKind } from '../../../src/model/resource';
import { type KafkaTargetOptions, kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { Batch, PublishTarget } from '../../../src/publish/target';
import { createTopics, describeTopics } from '../../../src/publish/topics';
import { systemClock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import { Kafka, logLevel } from '../../support/kafka-client';
import { type MemoryOutbox, makeMemoryOutbox } from '../../support/memory-outbox';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic, type TopicRecord } from '../../support/read-topic';
import { tamperProduce } from '../../support/tampered-produce';
import { until } from '../../support/until';

const clock = systemClock;
const times = { connectTimeoutMs: 3_000, requestTimeoutMs: 5_000 };
const relayOptions = {
  ...relayDefaults,
  clock,
  retry: { baseMs: 20, maxMs: 100 },
  denied: { baseMs: 50, maxMs: 100 },
};
const declaration = (name: string, partitions: number, config: Record<string, string> = {}) => ({
  name,
  partitions,
  replicationFactor: 3,
  config: { 'cleanup.policy': 'compact', 'min.insync.replicas': '3', ...config },
});

describeWithNeighbour('Kafka', kafkaAvailable(), 'publishing to two brokers', () => {
  let cluster: KafkaCluster;
  let open: PublishTarget[] = [];

  beforeAll(async () => {
    cluster = await startKafka({
      brokers: 2,
      properties: {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'allow.everyone.if.no.acl.found': true,
      },
    });
  }, kafkaStartsWithinMs);

  afterEach(async () => {
    for (const target of open) await target.close();
    open = [];
  });

  afterAll(async () => {
    await cluster?.stop();
  });

  const settings = (clientId = 'tramline') => ({ brokers: cluster.brokers, clientId, tls: null, sasl: null });

  function makeTarget(clientId: string, options: Partial<KafkaTargetOptions> = {}): PublishTarget {
    const all = { ...kafkaTargetDefaults, ...times, clock, topics: [], ...options };
    const target = makeKafkaTarget(settings(clientId), all);
    open.push(target);
    return target;
  }

  function setUp(clientId: string) {
    const outbox = makeMemoryOutbox(clock);
    const failed: [string | null, string][] = [];
    const hooks = { failed: (topic: string | null, code: string) => void failed.push([topic, code]) };
    const relay = makeRelay(outbox, makeTarget(clientId), { ...relayOptions, holder: clientId }, hooks);
    return { outbox, relay, failed };
  }

  const create = (...declarations: ReturnType<typeof declaration>[]) =>
    createTopics(settings(), 'tramline', declarations, { ...times, clock });

  test('declared topics are created once, with as many replicas as there are brokers', async () => {
    const declared = [declaration('first', 3), declaration('second', 1)];
    const [made, repeated] = [await create(...declared), await create(...declared)];
    expect(made).toEqual([
      expect.objectContaining({
        topic: 'tramline.first',
        created: true,
        partitions: 3,
        replicas: 2,
        leaderless: [],
      }),
      expect.objectContaining({ topic: 'tramline.second', created: true, partitions: 1, replicas: 2 }),
    ]);
    expect(repeated.map(({ created, state }) => [created, state])).toEqual(Array(2).fill([false, 'present']));
    const names = ['tramline.second', 'tramline.none', 'tramline.first'];
    expect(await describeTopics(settings(), names, { ...times, clock })).toEqual([
      { topic: names[0], state: 'present', partitions: 1, replicas: 2, leaderless: [], code: null },
      {
        topic: names[1],
        state: 'missing',
        partitions: 0,
        replicas: 0,
        leaderless: [],
        code: 'UNKNOWN_TOPIC_OR_PARTITION',
      },
      { topic: names[2], state: 'present', partitions: 3, replicas: 2, leaderless: [], code: null },
    ]);
  });

  test('a topic that takes less at once, or keeps another part, than is declared says so', async () => {
    const config = { 'max.message.bytes': '1000', 'cleanup.policy': 'delete' };
    await create(declaration('unlike', 1, config));
    const wanted = declaration('unlike', 1, { 'max.message.bytes': '1048576' });
    const [found] = await create(wanted);
    expect(found!.below).toMatch(
      /^max\.message\.bytes 1000 of 1048576 declared and cleanup\.policy delete where compact is declared and 2 replicas/,
    );
  });

  test('the broker that leads a partition is known by its address, and of what is not there none is', async () => {
    await create(declaration('led', 1));
    const target = makeTarget('led', { topics: ['tramline.led'] });
    await target.open();
    const { host, port } = target.leaderOf!({ topic: 'tramline.led', partition: 0 })!;
    expect(cluster.brokers).toContain(`${host}:${port}`);
    expect(target.leaderOf!({ topic: 'tramline.led', partition: 9 })).toBeNull();
    expect(target.leaderOf!({ topic: 'tramline.none', partition: 0 })).toBeNull();
  });

  test('a topic that Kafka refuses to make is said', async () => {
    const impossible = declaration('impossible', 1, { 'cleanup.policy': 'sometimes' });
    await expect(create(impossible)).rejects.toMatchObject({
      code: 'publish.unavailable',
      message: 'Kafka cannot be used: INVALID_CONFIG',
    });
  });

  test('key, headers and value are the bytes of the outbox, in the partition of the key, at the offset that is marked', async () => {
    const topic = 'tramline.exact';
    await create(declaration('exact', 4));
    const { outbox, relay } = setUp('exact');
    const values = ['{"name":"Größe µ 🚜"}', '{}', '{"long":"x"}'.padEnd(20_000, ' ')];
    for (let number = 0; number < 300; number += 1) {
      const [kind, change] = everyEvent[number % everyEvent.length]!;
      const key = `4711/${kind}/${number % 40}`;
      outbox.add({ topic, key, kind, change, reconciled: number % 7 === 0, value: values[number % 3]! });
    }
    while ((await relay.step()) === 'worked');
    const records = await readTopic(cluster.brokers, topic);
    expect(records).toHaveLength(300);
    const types = new Set(records.map(({ headers }) => String(headers.ce_type)));
    expect(types).toEqual(new Set(everyEvent.map(([kind, change]) => `io.tramline.${kind}.${change}.v1`)));
    expectExactly(records, topic, outbox);
    for (const record of records) {
      expectCloudEvent(record);
      expect(slotOf(String(record.key)) % 4).toBe(record.partition);
    }
    await relay.close();
  });

  test('500 records of 10 kB go through brokers that take a megabyte at a time', async () => {
    const topic = 'tramline.large';
    await create(declaration('large', 2, { 'max.message.bytes': '1048576' }));
    const { outbox, relay, failed } = setUp('large');
    for (let number = 0; number < 500; number += 1) {
      outbox.add({
        topic,
        key: `k${number}`,
        value: JSON.stringify({ number, filling: 'f'.repeat(10_000) }),
      });
    }
    while ((await relay.step()) === 'worked');
    expect(failed).toEqual([]);
    expectExactly(await readTopic(cluster.brokers, topic), topic, outbox);
    await relay.close();
  });

  test('of many records the one that is too large is set aside alone', async () => {
    const topic = 'tramline.small';
    await create(declaration('small', 1, { 'max.message.bytes': '8000' }), declaration('other', 1));
    const { outbox, relay, failed } = setUp('small');
    for (let number = 0; number < 40; number += 1) {
      outbox.add({ topic, key: `k${number % 4}`, value: 'v'.repeat(number === 22 ? 20_000 : 300) });
    }
    outbox.add({ topic: 'tramline.other', key: 'unharmed' });
    while ((await relay.step()) === 'worked');
    expect(outbox.rows.filter(({ quarantined }) => quarantined !== null)).toMatchObject([
      { row: 23, quarantined: { reason: 'record-too-large', detail: 'MESSAGE_TOO_LARGE: tramline.small-0' } },
    ]);
    expect(new Set(failed.map(([, code]) => code))).toEqual(new Set(['MESSAGE_TOO_LARGE']));
    const records = await readTopic(cluster.brokers, topic);
    expect(records).toHaveLength(39);
    expectExactly(records, topic, outbox);
    expect(await readTopic(cluster.brokers, 'tramline.other')).toHaveLength(1);
    await relay.close();
  });

  test('a topic that is missing holds its own rows, and is used as soon as it is there', async () => {
    await create(declaration('there', 1));
    const { outbox, relay, failed } = setUp('missing');
    const [late, there] = ['tramline.late', 'tramline.there'];
    for (const topic of [late, there, late, there]) outbox.add({ topic, key: 'k' });
    while ((await relay.step()) === 'worked');
    expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([false, true, false, true]);
    expect(failed).toContainEqual([late, 'UNKNOWN_TOPIC_OR_PARTITION']);
    expect(relay.conditions()).toMatchObject([{ name: 'topic-denied', labels: { topic: late } }]);
    expect(await describeTopics(settings(), [late], { ...times, clock })).toMatchObject([
      { state: 'missing' },
    ]);
    await create(declaration('late', 2));
    await until(async () => (await relay.step()) === 'empty', { withinMs: 10_000, everyMs: 20 });
    expect(relay.conditions()).toEqual([]);
    expectExactly(await readTopic(cluster.brokers, late), late, outbox);
    await relay.close();
  });

  test.each(['Write', 'Describe'])(
    'a topic whose rights lack %s starves nobody and resumes',
    async (operation) => {
      const denied = `tramline.denied-${operation}`;
      const free = `tramline.free-${operation}`;
      await create(declaration(`denied-${operation}`, 1), declaration(`free-${operation}`, 1));
      const acl = {
        resourceType: 2,
        resourceName: denied,
        resourcePatternType: 3,
        principal: 'User:ANONYMOUS',
        host: '*',
        operation: operation === 'Write' ? 4 : 8,
        permissionType: 2,
      };
      const admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      await admin.createAcls({ acl: [acl] });
      const { outbox, relay, failed } = setUp(`denied-${operation}`);
      outbox.add({ topic: free, key: 'b' });
      // A right that was taken away reaches the brokers a moment later: until then what is added is sent.
      await until(
        async () => {
          if (outbox.rows.every(({ sent }) => sent !== null)) outbox.add({ topic: denied, key: 'a' });
          await relay.step();
          return failed.some(([topic]) => topic === denied) && outbox.rows[0]?.sent;
        },
        { withinMs: 20_000, everyMs: 20 },
      );
      expect(failed).toContainEqual([denied, 'TOPIC_AUTHORIZATION_FAILED']);
      expect(relay.conditions()).toMatchObject([{ name: 'topic-denied', labels: { topic: denied } }]);
      await admin.deleteAcls({ filters: [acl] });
      await admin.disconnect();
      await until(async () => (await relay.step()) === 'empty', { withinMs: 10_000, everyMs: 20 });
      expect(await readTopic(cluster.brokers, free)).toHaveLength(1);
      expect(await readTopic(cluster.brokers, denied)).toHaveLength(outbox.rows.length - 1);
      await relay.close();
    },
  );

  test('B5, B7: a producer whose epoch is old is refused where a newer one has written', async () => {
    const topic = 'tramline.fenced';
    await create(declaration('fenced', 1));
    const outbox = makeMemoryOutbox(clock);
    const batch = (): Batch => ({
      topic,
      partition: 0,
      partitions: 1,
      rows: [outbox.add({ topic, key: 'k' })],
    });
    const [zombie, successor] = [makeTarget('fenced'), makeTarget('fenced')];
    await zombie.open();
    await zombie.partitionsOf(topic);
    expect((await zombie.send([batch()])).outcomes).toEqual([{ sent: true, firstOffset: '0' }]);
    await successor.open();
    await successor.partitionsOf(topic);
    expect((await successor.send([batch()])).outcomes).toEqual([{ sent: true, firstOffset: '1' }]);
    expect(await zombie.send([batch()])).toEqual({
      outcomes: [
        {
          sent: false,
          kind: 'fenced',
          code: 'INVALID_PRODUCER_EPOCH',
          detail: 'INVALID_PRODUCER_EPOCH: tramline.fenced-0',
        },
      ],
      spent: true,
    });
    expect((await successor.send([batch()])).outcomes).toEqual([{ sent: true, firstOffset: '2' }]);
    const sequences = (await readTopic(cluster.brokers, topic)).map(({ headers }) =>
      Number(headers.ce_sequence),
    );
    expect(sequences).toEqual([1, 2, 4]);
  });

  test('B13: what brokers appended and reported as short of replicas is sent again as the same bytes, before anything later', async () => {
    const topic = 'tramline.appended';
    await create(declaration('appended', 1));
    const notEnoughReplicasAfterAppend = 20;
    const tampered = tamperProduce(notEnoughReplicasAfterAppend, 1);
    try {
      const { outbox, relay, failed } = setUp('appended');
      for (const key of ['a', 'b']) outbox.add({ topic, key });
      await until(
        async () => {
          await relay.step();
          return failed.length > 0;
        },
        { withinMs: 20_000, everyMs: 20 },
      );
      expect(failed).toContainEqual([topic, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND']);
      expect(tampered.changed()).toBe(1);
      expect(outbox.rows.map(({ sent }) => sent)).toEqual([null, null]);
      outbox.add({ topic, key: 'c' });
      await until(async () => (await relay.step()) === 'empty', { withinMs: 20_000, everyMs: 20 });
      const records = await readTopic(cluster.brokers, topic);
      expect(records.map(({ key }) => key?.toString())).toEqual(['a', 'b', 'a', 'b', 'c']);
      const bytes = records.map(({ key, value, headers }) => ({ key, value, headers }));
      expect(bytes.slice(2, 4)).toEqual(bytes.slice(0, 2));
      await relay.close();
    } finally {
      tampered.restore();
    }
  });

  test('B14: a connection that is reset in the middle of a send costs the same bytes again at most, before anything later', async () => {
    const topic = 'tramline.reset';
    await create(declaration('reset', 1));
    const tampered = tamperProduce('reset', 2);
    try {
      const { outbox, relay } = setUp('reset');
      for (const key of ['a', 'b']) outbox.add({ topic, key });
      await until(
        async () => {
          await relay.step();
          return tampered.changed() === 2;
        },
        { withinMs: 60_000, everyMs: 20 },
      );
      outbox.add({ topic, key: 'c' });
      await until(async () => (await relay.step()) === 'empty', { withinMs: 60_000, everyMs: 20 });
      const records = await readTopic(cluster.brokers, topic);
      expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([true, true, true]);
      const keys = records.map(({ key }) => key?.toString());
      expect([...new Set(keys)]).toEqual(['a', 'b', 'c']);
      expect(keys.at(-1)).toBe('c');
      const bytes = records.map(({ key, value, headers }) => JSON.stringify([key, value, headers]));
      expect(new Set(bytes).size).toBe(3);
      await relay.close();
    } finally {
      tampered.restore();
    }
  });

  test('B7: a relay that was fenced goes on with a new producer while it holds the lease', async () => {
    const topic = 'tramline.taken';
    await create(declaration('taken', 1));
    const { outbox, relay, failed } = setUp('taken');
    outbox.add({ topic, key: 'k' });
    await relay.step();
    const intruder = makeTarget('taken');
    await intruder.open();
    await intruder.partitionsOf(topic);
    const foreign = makeMemoryOutbox(clock).add({ topic, key: 'intruder' });
    await intruder.send([{ topic, partition: 0, partitions: 1, rows: [foreign] }]);
    outbox.add({ topic, key: 'k' });
    expect([await relay.step(), await relay.step(), await relay.step()]).toEqual([
      'worked',
      'worked',
      'empty',
    ]);
    expect(failed).toEqual([[topic, 'INVALID_PRODUCER_EPOCH']]);
    expect((await readTopic(cluster.brokers, topic)).map(({ key }) => String(key))).toEqual([
      'k',
      'intruder',
      'k',
    ]);
    await relay.close();
  });

  test.each([
    ['OUT_OF_ORDER_SEQUENCE_NUMBER', 45],
    ['UNKNOWN_PRODUCER_ID', 59],
  ])(
    'B7: a producer that is told %s is given up, and a new one sends the same bytes',
    async (code, number) => {
      const name = `unknown-${number}`;
      const topic = `tramline.${name}`;
      await create(declaration(name, 1));
      const tampered = tamperProduce(number, 1);
      try {
        const { outbox, relay, failed } = setUp(name);
        outbox.add({ topic, key: 'k' });
        await until(async () => (await relay.step()) === 'empty', { withinMs: 20_000, everyMs: 20 });
        expect(failed).toEqual([[topic, code]]);
        expect(tampered.changed()).toBe(1);
        // The brokers had appended what they are made to refuse.
        const [first, second, ...more] = await readTopic(cluster.brokers, topic);
        expect(more).toEqual([]);
        expect([second!.value, second!.headers]).toEqual([first!.value, first!.headers]);
        expect(outbox.rows[0]!.sent).toMatchObject({ offset: String(second!.offset) });
        await relay.close();
      } finally {
        tampered.restore();
      }
    },
  );

  test('B11: a login that the brokers do not want is refused, and the password is not repeated', async () => {
    const sasl = { mechanism: 'plain' as const, username: 'relay', password: new Secret('hunter2-canary') };
    const all = { ...kafkaTargetDefaults, ...times, clock, topics: [] };
    const error: unknown = await makeKafkaTarget({ ...settings(), sasl }, all)
      .open()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'publish.refused' });
    expect(String((error as Error).message)).not.toContain('canary');
  });
});

/** Every record is the row of the outbox that is marked with its place, and every row marked is there. */
function expectExactly(records: TopicRecord[], topic: string, outbox: MemoryOutbox): void {
  const marked = outbox.rows.filter((row) => row.topic === topic && row.sent !== null);
  const byPlace = new Map(records.map((record) => [`${record.partition}/${record.offset}`, record]));
  expect(records).toHaveLength(marked.length);
  for (const { sent, key, value, headers } of marked) {
    const record = byPlace.get(`${sent?.partition}/${sent?.offset}`) as TopicRecord;
    expect(record.key?.equals(Buffer.from(key))).toBe(true);
    expect(record.value?.equals(Buffer.from(value))).toBe(true);
    expect(Object.entries(record.headers).map(([name, bytes]) => [name, String(bytes)])).toEqual(headers);
  }
}

/** Each kind with each change that is published of it. */
const everyEvent: [EventKind, Change][] = [
  ...(['created', 'updated', 'archived', 'restored', 'deleted'] as const).map(
    (change): [EventKind, Change] => ['equipment', change],
  ),
  ...(['created', 'updated', 'deleted'] as const).map((change): [EventKind, Change] => [
    'field-operation',
    change,
  ]),
  ['organization-access', 'blocked'],
  ['organization-access', 'unblocked'],
];

/** The CloudEvents SDK reads it as an event; what the SDK would let pass is looked at in the raw headers. */
function expectCloudEvent({ key, value, headers }: TopicRecord): void {
  const text = Object.fromEntries(Object.entries(headers).map(([name, bytes]) => [name, bytes.toString()]));
  expect(Object.keys(text).filter((name) => name !== 'ce_reconciled')).toEqual([
    'ce_specversion',
    'ce_id',
    'ce_source',
    'ce_type',
    'ce_subject',
    'ce_time',
    'ce_dataschema',
    'ce_sequence',
    'content-type',
    'traceparent',
  ]);
  expect(text).toMatchObject({
    ce_specversion: '1.0',
    ce_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    ce_type: expect.stringMatching(/^io\.tramline\.[a-z-]+\.[a-z]+\.v1$/),
    ce_subject: String(key),
    ce_sequence: expect.stringMatching(/^\d{20}$/),
    'content-type': 'application/json',
  });
  const message = { key: String(key), value: String(value), headers: text, body: String(value) };
  const parsed = KafkaBinding.toEvent(message);
  const event = (Array.isArray(parsed) ? parsed[0] : parsed) as CloudEvent<unknown>;
  expect(event).toBeInstanceOf(CloudEvent);
  expect(event.validate()).toBe(true);
  expect(event).toMatchObject({
    id: text.ce_id,
    type: text.ce_type,
    subject: text.ce_subject,
    source: text.ce_source,
  });
}
