/**
 * Kafka fails in every way that three real brokers can, while the service goes on accepting: each trouble is visible,
 * heals by itself, and loses, doubles or reorders nothing. Rows B1–B4, B6, B8–B10, B14 and B15; those that need no
 * process stand beside the relay and the producer, under the same names.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AlertView, CheckLine } from '../../src/model/api';
import { evidenceOf, readTopics } from '../support/evidence';
import { type KafkaCluster, kafkaAvailable, startKafka } from '../support/kafka';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  type Admin,
  ConfigResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} from '../support/kafka-client';
import { checkLedger, type TopicRecord } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
import { lasts, minuteMs } from '../support/real-durations';
import { repositoryRoot } from '../support/repository';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

const kinds = ['equipment', 'field-operation', 'organization-access'];
const prefix = 'broken';
const topics = kinds.map((kind) => `${prefix}.${kind}.v1`);
/** A trouble that may heal by itself pages when it has lasted. */
const lasting = { withinMs: 45_000 };
/** How long too few replicas and no broker at all last, beyond the time in which they are told. */
const fewForMs = lasts(0, 10 * minuteMs);
const noneForMs = lasts(0, 5 * minuteMs);

describeWithNeighbour('Kafka', kafkaAvailable(), 'three brokers that fail', () => {
  let cluster: KafkaCluster;
  let admin: Admin;
  let story: Story;
  let machines: Resource[];
  let accepted = 0;
  let changes = 0;
  /** What stood on a topic before it was deleted. */
  let gone: TopicRecord[] = [];

  beforeAll(async () => {
    const properties = {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': true,
    };
    cluster = await startKafka({ brokers: 3, minInSyncReplicas: 2, properties });
    admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const settings = { KAFKA_BROKERS: cluster.brokers.join(','), KAFKA_TOPIC_PREFIX: prefix };
    story = await beginStory({ delivers: false, flags: { equipment: 10 }, settings });
    const migrated = spawnSync(process.execPath, ['dist/src/cli.js', 'migrate'], {
      cwd: repositoryRoot(),
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        ...story.settings(),
        DATABASE_URL: `sqlite:${join(story.dataFolder, 'other.db')}`,
      },
    });
    expect([migrated.status, migrated.stderr.includes('tramline:')]).toEqual([0, false]);
    machines = (await story.simulator.state()).equipment;
    await publishAll();
  }, 180_000);

  afterAll(async () => {
    await admin?.disconnect();
    await story?.end();
    await cluster?.stop();
  });

  /** Changes every machine and posts what the provider would; each delivery is answered 204, whatever Kafka does. */
  async function changeAll(): Promise<string> {
    changes += 1;
    const name = `Change ${changes}`;
    for (const machine of machines) {
      await story.simulator.changeEquipment(machine.id, { name });
      expect((await story.post([notificationOf(machine)])).status).toBe(204);
      accepted += 1;
    }
    return name;
  }

  const published = async () => {
    const ledger = await story.untilRest();
    expect(ledger).toMatchObject({ accepted, lost: 0, waiting: 0, quarantined: 0 });
  };

  async function publishAll(): Promise<void> {
    await changeAll();
    await published();
  }

  async function fires(name: string, topic?: string): Promise<string> {
    const isIt = (known: AlertView) =>
      known.name === name && known.state === 'firing' && (topic ?? known.labels.topic) === known.labels.topic;
    const alert = await until(async () => (await story.alerts()).find(isIt) ?? null, {
      ...lasting,
      what: `${name} to fire`,
    });
    return alert.annotations.description ?? '';
  }

  const ends = (name: string) =>
    until(
      async () => (await story.alerts()).every((known) => known.name !== name || known.state === 'resolved'),
      { ...lasting, what: `${name} to end` },
    );

  async function staysReady(): Promise<void> {
    for (const probe of ['healthz', 'readyz']) {
      expect((await fetch(`${story.service.operationsUrl}/${probe}`)).status).toBe(200);
    }
  }

  const checkSays = async () => {
    const lines = (await story.ask('/api/check')) as CheckLine[];
    return lines.find(({ name }) => name === 'kafka')!;
  };

  const unsent = () => story.metric('tramline_outbox_pending');

  /** The next try comes the later, the longer nothing could be sent. */
  const drained = () =>
    until(async () => (await unsent()) === 0, { ...lasting, what: 'the backlog to drain' });

  /** What stands on the topics: nothing missing, changed or out of order, and the newest of each machine. */
  async function newestAre(name: string): Promise<void> {
    const onTopics = await readTopics(cluster.brokers, topics);
    const newest = new Map(
      onTopics
        .filter(({ topic }) => topic === topics[0])
        .map(({ key, value }) => [key, JSON.parse(value) as { name: string }]),
    );
    expect(newest.size).toBe(machines.length);
    expect(new Set([...newest.values()].map((document) => document.name))).toEqual(new Set([name]));
  }

  const sentTotal = () => story.metric('messaging_client_sent_messages_total');

  test('B2, B10: a leader that is killed and comes back costs seconds and doubles nothing', async () => {
    const before = await sentTotal();
    const recordsBefore = (await readTopics(cluster.brokers, topics)).length;
    const { topics: known } = await admin.fetchTopicMetadata({ topics: [topics[0]!] });
    const leader = known[0]!.partitions[0]!.leader - 1;
    await cluster.kill(leader);
    // It comes back while what it led is on its way: how fast that is, is the machine's affair.
    const back = cluster.restart(leader);
    await changeAll();
    await published();
    await back;
    expect((await sentTotal()) - before).toBeGreaterThanOrEqual(machines.length);
    // One new record of each machine, and none of them twice.
    expect((await readTopics(cluster.brokers, topics)).length - recordsBefore).toBe(machines.length);
    await ends('TramlineKafkaUnavailable');
  }, 120_000);

  test(
    'B3, B4: too few replicas hold everything, are told, and nothing is set aside',
    async () => {
      // Asked before: kafkajs tells nothing of a topic while one of its partitions has no leader.
      const { topics: known } = await admin.fetchTopicMetadata({ topics });
      const partitions = known.flatMap((topic) => topic.partitions).length;
      await cluster.kill(0);
      await cluster.kill(1);
      const name = await changeAll();
      await until(async () => (await unsent()) === machines.length, soon);
      await fires('TramlineKafkaUnavailable');
      const { state, detail } = await checkSays();
      expect([state, detail]).toEqual(['failed', expect.stringContaining(topics[0]!)]);
      expect(detail).toMatch(
        /with 1 in sync, where a write waits for 2; .*TramlineKafkaUnavailable: .*NOT_ENOUGH_REPLICAS/,
      );
      await delay(fewForMs);
      await staysReady();
      expect(await story.quarantine()).toEqual([]);
      // Each partition that fails waits longer each time: in the end five seconds on average.
      const failures = await story.metric('messaging_client_operation_duration_seconds_count', {
        error_type: 'NOT_ENOUGH_REPLICAS',
      });
      expect(failures).toBeGreaterThan(0);
      expect(failures).toBeLessThan(200 + (partitions * fewForMs) / 5000);
      await Promise.all([cluster.restart(0), cluster.restart(1)]);
      await drained();
      await published();
      await ends('TramlineKafkaUnavailable');
      expect(await checkSays()).toMatchObject({ state: 'ok', detail: '3 topics are there' });
      await newestAre(name);
    },
    180_000 + fewForMs,
  );

  test(
    'B1: all brokers gone: deliveries are accepted, a person is told, and the backlog drains by itself',
    async () => {
      await Promise.all([0, 1, 2].map((broker) => cluster.kill(broker)));
      for (let round = 0; round < 3; round += 1) await changeAll();
      await fires('TramlineKafkaUnavailable');
      for (const endMs = performance.now() + noneForMs; performance.now() < endMs; ) {
        await changeAll();
        await delay(5000);
      }
      await staysReady();
      const name = await changeAll();
      await Promise.all([0, 1, 2].map((broker) => cluster.restart(broker)));
      await drained();
      await published();
      await ends('TramlineKafkaUnavailable');
      await newestAre(name);
    },
    240_000 + noneForMs,
  );

  test('B6, B14: a broker that says nothing in the middle of a send, then goes on: at most the same bytes twice', async () => {
    for (const broker of [0, 1]) {
      const changing = changeAll();
      cluster.pause(broker);
      await changing;
      await until(async () => (await unsent()) === 0, { withinMs: 60_000, what: 'the others to take over' });
      cluster.resume(broker);
    }
    const name = await changeAll();
    await published();
    await newestAre(name);
  }, 180_000);

  test('B8: a record that Kafka finds too large is set aside alone and told; the rest flows', async () => {
    const limit = async (bytes: number) => {
      const resources = [
        {
          type: ConfigResourceTypes.TOPIC,
          name: topics[0]!,
          configEntries: [{ name: 'max.message.bytes', value: String(bytes) }],
        },
      ];
      await admin.alterConfigs({ validateOnly: false, resources });
    };
    const [large, ...others] = machines;
    await limit(6000);
    const alternateIdentifiers = Array.from({ length: 200 }, (_, at) => ({
      type: `identifier ${at}`,
      value: 'x'.repeat(40),
    }));
    await story.simulator.changeEquipment(large!.id, { alternateIdentifiers });
    expect((await story.post([notificationOf(large!)])).status).toBe(204);
    for (const machine of others) {
      await story.simulator.changeEquipment(machine.id, { name: 'Beside the large one' });
      expect((await story.post([notificationOf(machine)])).status).toBe(204);
    }
    accepted += machines.length;
    const [entry] = await until(async () => {
      const entries = await story.quarantine();
      return entries.length > 0 ? entries : null;
    }, soon);
    expect(entry).toMatchObject({ what: 'record', reason: 'record-too-large' });
    expect(await fires('TramlineQuarantineNotEmpty')).toContain('record-too-large');
    await until(async () => (await unsent()) === 0, soon);
    await limit(1_048_576);
    await story.ask(`/api/quarantine/${entry!.id}/release`, 'POST');
    await ends('TramlineQuarantineNotEmpty');
    await published();
  }, 120_000);

  /** What a principal without a name may not do any more: write. Everything else it may. */
  const writeDenied = (topic: string) =>
    [
      { operation: AclOperationTypes.ALL, permissionType: AclPermissionTypes.ALLOW },
      { operation: AclOperationTypes.WRITE, permissionType: AclPermissionTypes.DENY },
    ].map((right) => ({
      resourceType: AclResourceTypes.TOPIC,
      resourceName: topic,
      principal: 'User:ANONYMOUS',
      host: '*',
      resourcePatternType: ResourcePatternTypes.LITERAL,
      ...right,
    }));

  test('B9: a topic that is gone, and one that may not be written, page for themselves, starve no other, and are used when they may be', async () => {
    const [equipment, operations] = topics as [string, string];
    const { topics: known } = await admin.fetchTopicMetadata({ topics: [equipment] });
    gone = await readTopics(cluster.brokers, [equipment]);
    await admin.deleteTopics({ topics: [equipment] });
    await changeAll();
    const [operation] = (await story.simulator.state()).fieldOperations;
    let season = 1999;
    const changeOperation = async () => {
      season += 1;
      await story.simulator.changeFieldOperation(operation!.id, { cropSeason: String(season) });
      const notification = notificationOf(operation!, { eventTypeId: 'fieldOperation' });
      expect((await story.post([notification])).status).toBe(204);
      accepted += 1;
    };
    await changeOperation();
    await story.untilEvents(operation!, 1, 'field-operation');
    const acl = writeDenied(operations);
    await admin.createAcls({ acl });
    // A right that is taken away reaches the brokers a moment later: until then what is decided is sent.
    await until(
      async () => {
        await changeOperation();
        return (await unsent()) > machines.length;
      },
      { ...soon, everyMs: 500, what: 'the right to be gone' },
    );
    expect(await fires('TramlineTopicDenied', equipment)).toContain(equipment);
    const denied = await fires('TramlineTopicDenied', operations);
    expect(denied).toContain(operations);
    expect(denied).toContain('TOPIC_AUTHORIZATION_FAILED');
    expect(await admin.listTopics()).not.toContain(equipment);
    await staysReady();
    const numPartitions = known[0]!.partitions.length;
    await admin.deleteAcls({ filters: acl });
    const made = { topic: equipment, numPartitions, replicationFactor: 3 };
    // The client's own waiting fails where a broker has not heard of the topic yet.
    await admin.createTopics({ topics: [made], waitForLeaders: false });
    await until(async () => (await unsent()) === 0, { withinMs: 90_000, what: 'the topics to be used' });
    await ends('TramlineTopicDenied');
    // The one that was made anew lacks what it held; the other lost nothing.
    const losses = (topic: string) => story.metric('tramline_topic_losses_total', { topic });
    expect(await losses(equipment)).toBeGreaterThan(0);
    expect(await losses(operations)).toBe(0);
    const name = await changeAll();
    await published();
    await newestAre(name);
    const ofOperation = await readTopics(cluster.brokers, [operations]);
    expect(JSON.parse(ofOperation.at(-1)!.value)).toMatchObject({ cropSeason: String(season) });
  }, 240_000);

  test('B15: more partitions: keys may move, each still has its newest record last where it is written now', async () => {
    const [equipment] = topics;
    const { topics: known } = await admin.fetchTopicMetadata({ topics: [equipment!] });
    const count = known[0]!.partitions.length + 6;
    await admin.createPartitions({ topicPartitions: [{ topic: equipment!, count }] });
    const name = await changeAll();
    await published();
    const records = await readTopics(cluster.brokers, [equipment!]);
    const highest = new Map<string, { sequence: string; name: string }>();
    for (const { key, headers, value } of records) {
      const sequence = headers.find(([header]) => header === 'ce_sequence')![1];
      if (sequence > (highest.get(key)?.sequence ?? '')) {
        highest.set(key, { sequence, name: (JSON.parse(value) as { name: string }).name });
      }
    }
    expect(new Set([...highest.values()].map((newest) => newest.name))).toEqual(new Set([name]));
  }, 120_000);

  test('after all of it the ledger holds: nothing missing, nothing invented, every repeat the same bytes', async () => {
    await story.service.stop();
    const onTopics = await readTopics(cluster.brokers, topics);
    const evidence = await evidenceOf(join(story.dataFolder, 'tramline.db'), accepted, onTopics);
    const isOfOrder = ({ kind }: { kind: string }) => kind === 'order' || kind === 'newest';
    const all = { ...evidence, records: [...gone, ...onTopics] };
    expect(checkLedger(all).filter((violation) => !isOfOrder(violation))).toEqual([]);
    // A key that moved has two partitions, and the topic that was deleted had offsets of its own: each has its order.
    for (const life of [gone, onTopics]) {
      for (const records of Map.groupBy(life, ({ topic, partition }) => `${topic}/${partition}`).values()) {
        expect(checkLedger({ ...evidence, records }).filter(isOfOrder)).toEqual([]);
      }
    }
  });
});
