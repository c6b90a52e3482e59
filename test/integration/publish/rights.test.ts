// Goal: the rights that the README and the runbook name are enough to publish, read on and replay, and each is needed;
// where one misses, whoever is to grant it hears of what.
// Method: a real broker that allows nothing else, the client behind a login, rights granted one after the other.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FoundPage } from '../../../src/model/topic-end';
import { kafkaTargetDefaults, makeKafkaTarget } from '../../../src/publish/kafka';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { PublishTarget } from '../../../src/publish/target';
import { createTopics, describeDeclared } from '../../../src/publish/topics';
import { systemClock as clock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../../support/kafka';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  type Admin,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} from '../../support/kafka-client';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { describeWithNeighbour } from '../../support/neighbour';
import { readTopic } from '../../support/read-topic';
import { repositoryRoot } from '../../support/repository';
import { until } from '../../support/until';

const { READ, WRITE, CREATE } = AclOperationTypes;
const { TOPIC, TRANSACTIONAL_ID } = AclResourceTypes;
const login = { username: 'relay', password: 'of-the-rights' };
const declared = [{ name: 'granted', partitions: 1, replicationFactor: 1, config: {} }];
const topic = 'tramline.granted';

describeWithNeighbour('Kafka', kafkaAvailable(), 'a client that has only what it was granted', () => {
  let cluster: KafkaCluster;
  let admin: Admin;
  const open: PublishTarget[] = [];

  beforeAll(async () => {
    const properties = {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': false,
      'super.users': 'User:ANONYMOUS',
      'connections.max.reauth.ms': 5_000,
    };
    cluster = await startKafka({ login, properties });
    admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  }, kafkaStartsWithinMs);

  afterAll(async () => {
    for (const target of open) await target.close();
    await admin?.disconnect();
    await cluster?.stop();
  });

  const settings = () => ({
    brokers: cluster.loginBrokers,
    clientId: 'tramline',
    tls: null,
    sasl: { mechanism: 'plain' as const, username: login.username, password: new Secret(login.password) },
  });

  const aclOf = (resourceType: AclResourceTypes, resourceName: string, operation: AclOperationTypes) => ({
    resourceType,
    resourceName,
    operation,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${login.username}`,
    host: '*',
    permissionType: AclPermissionTypes.ALLOW,
  });

  async function grant(...acl: Parameters<typeof aclOf>) {
    await admin.createAcls({ acl: [aclOf(...acl)] });
  }

  function targetOf(role: string): PublishTarget {
    const target = makeKafkaTarget(settings(), { ...kafkaTargetDefaults, clock, topics: [topic], role });
    open.push(target);
    return target;
  }

  const create = () => createTopics(settings(), 'tramline', declared, { ...kafkaTargetDefaults, clock });

  /** A right that is granted reaches the broker a moment later. */
  const opened = (target: PublishTarget) =>
    until(() => target.open().then(() => true), { withinMs: 20_000, everyMs: 100 });

  test('makes its topics with `Create` on them, and without any right on the cluster', async () => {
    for (const operation of [READ, WRITE]) await grant(TOPIC, topic, operation);
    await until(async () => (await create().catch((error: Error) => error.message)) === refusedTopic, {
      withinMs: 20_000,
    });
    await grant(TOPIC, topic, CREATE);
    const made = await until(create, { withinMs: 20_000, everyMs: 100 });
    expect(made).toMatchObject([{ topic, state: 'present', partitions: 1 }]);
  });

  test.each(['relay-0', 'replay'])('is told which transactional id it may not use as %s', async (role) => {
    await expect(targetOf(role).open()).rejects.toMatchObject({
      code: 'publish.refused',
      message: `Kafka cannot be used: TRANSACTIONAL_ID_AUTHORIZATION_FAILED of the transactional id tramline-${role} at ${cluster.loginBrokers[0]}`,
    });
  });

  test('publishes, reads on and replays with what the runbook names', async () => {
    for (const role of ['relay-0', 'replay']) await grant(TRANSACTIONAL_ID, `tramline-${role}`, WRITE);
    const target = targetOf('relay-0');
    await opened(target);
    const outbox = makeMemoryOutbox(clock);
    outbox.add({ topic, key: 'k' });
    const relay = makeRelay(outbox, target, { ...relayDefaults, clock, holder: 'granted' });
    await until(async () => (await relay.step()) === 'empty' && (await outbox.unsentCount()) === 0, {
      withinMs: 20_000,
      everyMs: 20,
    });
    await relay.close();
    expect(await readTopic(cluster.brokers, topic)).toHaveLength(1);
    const history = targetOf('replay');
    await opened(history);
    const found: string[] = [];
    const left = await history.readOn([], async ({ records }) => {
      found.push(...records.map(({ key }) => key));
      return true;
    });
    expect([left, found]).toMatchObject([{ unread: [], denied: [] }, ['k']]);
  });

  /** As `check` tells it. */
  const faults = async () => {
    const options = { ...kafkaTargetDefaults, clock, role: 'relay-0', withinMs: 4000 };
    return (await describeDeclared(settings(), 'tramline', declared, options)).faults;
  };

  test('sends nothing behind what it may not read, and goes on once it may', async () => {
    expect(await faults()).toEqual([]);
    await admin.deleteAcls({ filters: [aclOf(TOPIC, topic, READ)] });
    const target = targetOf('relay-0');
    await opened(target);
    const refused = 'TOPIC_AUTHORIZATION_FAILED';
    const left = { unread: [{ topic, partition: 0, partitions: 1, refused }], denied: [topic] };
    await until(async () => (await target.readOn([], async () => true))?.denied.length, {
      withinMs: 20_000,
      everyMs: 100,
    });
    expect(await target.readOn([], async () => true)).toMatchObject(left);
    expect(await faults()).toEqual([`${topic} may not be read: ${refused}`]);
    const outbox = makeMemoryOutbox(clock);
    outbox.add({ topic, key: 'k' });
    const found: string[] = [];
    outbox.noteFound = async ({ records }: FoundPage) => found.push(...records.map(({ key }) => key));
    const relay = makeRelay(outbox, target, { ...relayDefaults, clock, holder: 'may-not-read' });
    await until(async () => (await relay.step()) === 'waiting' && relay.conditions()[0], {
      withinMs: 20_000,
      everyMs: 20,
    });
    expect(relay.conditions()).toMatchObject([
      {
        name: 'topic-denied',
        labels: { topic },
        detail: expect.stringContaining('Grant Read beside Write.'),
      },
    ]);
    expect(await readTopic(cluster.brokers, topic)).toHaveLength(1);
    await grant(TOPIC, topic, READ);
    await until(async () => (await relay.step()) === 'empty' && (await outbox.unsentCount()) === 0, {
      withinMs: 20_000,
      everyMs: 20,
    });
    await relay.close();
    expect([found, relay.conditions()]).toEqual([['k'], []]);
    expect(await readTopic(cluster.brokers, topic)).toHaveLength(2);
  });

  test('finds in the README and in the runbook what that is', () => {
    for (const page of ['README.md', 'deploy/runbooks/TramlineTopicDenied.md']) {
      const text = readFileSync(join(repositoryRoot(), page), 'utf8').replace(/\s+/g, ' ');
      expect(text).toMatch(
        /`Read` and `Write` on the topics, and `Write` on two transactional ids, `<KAFKA_CLIENT_ID>-relay-0` and, for `replay --to-topic`, `<KAFKA_CLIENT_ID>-replay`/,
      );
      expect(text).not.toContain('IdempotentWrite');
    }
  });
});

const refusedTopic = 'Kafka cannot be used: TOPIC_AUTHORIZATION_FAILED';
