/**
 * A real Kafka as the exit: records stand on the topic exactly as promised, a Kafka that is down stops no delivery and
 * loses no event, and what it acknowledged is not sent again. Read back by a consumer that is not the product's.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka as CloudEventsKafka, type KafkaMessage } from 'cloudevents';
import { Kafka, logLevel } from 'kafkajs';
import type { CheckLine } from '../../src/model/api';
import { kafkaTargetDefaults } from '../../src/publish/kafka';
import { createTopics, type TopicDeclaration } from '../../src/publish/topics';
import { systemClock } from '../../src/tools/clock';
import { type Collector, countByName, startCollector, tracedTo } from '../support/collector';
import { runCommand, startCommand } from '../support/command';
import { schemaFaults } from '../support/event-schemas';
import { evidenceOf, readTopics } from '../support/evidence';
import { expectExitsToAgree } from '../support/five-exits';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../support/kafka';
import { checkLedger, type TopicRecord } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
import { repositoryRoot } from '../support/repository';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const declared = JSON.parse(readFileSync(join(repositoryRoot(), 'deploy', 'topics.json'), 'utf8')) as {
  topics: TopicDeclaration[];
};

describeWithNeighbour('Kafka', kafkaAvailable(), 'with a real Kafka', () => {
  let cluster: KafkaCluster;
  let story: Story;
  let prefix = '';
  let stories = 0;
  let collector: Collector | undefined;

  beforeAll(async () => {
    // Ours, since it is killed.
    cluster = await startKafka({ properties: {} });
  }, kafkaStartsWithinMs);
  afterAll(() => cluster?.stop());

  beforeEach(async () => {
    stories += 1;
    prefix = `story-${stories}`;
    const settings = { brokers: cluster.brokers, clientId: 'stories', tls: null, sasl: null };
    await createTopics(settings, prefix, declared.topics, { ...kafkaTargetDefaults, clock: systemClock });
    story = await beginStory({
      delivers: false,
      flags: { equipment: 10 },
      settings: { KAFKA_BROKERS: cluster.brokers.join(','), KAFKA_TOPIC_PREFIX: prefix },
    });
  });
  afterEach(async () => {
    await story.end();
    await collector?.close();
    collector = undefined;
  });

  const records = (): Promise<TopicRecord[]> =>
    readTopics(
      cluster.brokers,
      declared.topics.map(({ name }) => `${prefix}.${name}`),
    );

  /** Changes every machine and posts what the provider would. */
  async function changeAll(name: string): Promise<number> {
    const { equipment } = await story.simulator.state();
    for (const { id } of equipment) await story.simulator.changeEquipment(id, { name });
    for (const machine of equipment) {
      expect((await story.post([notificationOf(machine)])).status).toBe(204);
    }
    return equipment.length;
  }

  /** Holds sender, store and topics against each other; the records, when nothing is lost, changed or out of order. */
  async function reckon(accepted: number): Promise<TopicRecord[]> {
    await story.service.stop();
    const onTopics = await records();
    const evidence = await evidenceOf(join(story.dataFolder, 'tramline.db'), accepted, onTopics);
    expect(checkLedger(evidence)).toEqual([]);
    return onTopics;
  }

  test('a change is one record with the promised key, headers and bytes, and the CloudEvents SDK reads it', async () => {
    const [machine] = await story.equipment();
    await story.simulator.changeEquipment(machine!.id, { name: 'On the topic' });
    await story.post([notificationOf(machine!)]);
    const [event] = await story.untilEvents(machine!, 1);
    const [record, ...more] = await reckon(1);
    expect(more).toEqual([]);
    const key = `${machine!.organizationId}/equipment/${machine!.id}`;
    expect(record).toMatchObject({
      topic: `${prefix}.equipment.v1`,
      key,
      partition: event!.partition,
      offset: event!.offset,
    });
    const headers = Object.fromEntries(record!.headers);
    expect(Object.keys(headers).toSorted()).toEqual([
      'ce_dataschema',
      'ce_id',
      'ce_sequence',
      'ce_source',
      'ce_specversion',
      'ce_subject',
      'ce_time',
      'ce_type',
      'content-type',
      'traceparent',
    ]);
    expect(headers).toMatchObject({
      ce_specversion: '1.0',
      ce_id: event!.id,
      ce_source: `${new URL(story.simulator.catalog).origin}/${story.simulator.vendor}`,
      ce_type: 'io.tramline.equipment.created.v1',
      ce_subject: key,
      ce_dataschema: 'https://schemas.tramline.io/event/equipment.v1.schema.json',
      ce_sequence: '00000000000000000001',
      'content-type': 'application/json',
    });
    const value = JSON.parse(record!.value) as Record<string, unknown>;
    expect(value).toMatchObject({ id: machine!.id, name: 'On the topic' });
    expect(schemaFaults('equipment', value)).toEqual([]);
    const parsed = CloudEventsKafka.toEvent({ key, value, headers } as unknown as KafkaMessage);
    expect(parsed).toMatchObject({ id: event!.id, type: headers.ce_type, subject: key, data: value });
  });

  test('a delivery that is traced is one trace to its record, of four spans, and nothing is injected at sending', async () => {
    collector = await startCollector();
    const { url, spans: told } = collector;
    await story.service.stop();
    await story.serve({ settings: tracedTo(url) });
    const [machine] = await story.equipment();
    const topic = `${prefix}.equipment.v1`;
    const sender = '0123456789abcdef0123456789abcdef';
    await story.post([notificationOf(machine!)], { traceparent: `00-${sender}-0123456789abcdef-01` });
    const [event] = await story.untilEvents(machine!, 1);
    await until(() => told().length >= 4, soon);
    const [record, ...more] = await reckon(1);
    expect(more).toEqual([]);
    const spans = told();
    expect(countByName(spans)).toEqual({
      'POST /webhooks': 1,
      'attempt unknown': 1,
      'GET resource': 1,
      [`send ${topic}`]: 1,
    });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([sender]));
    const attempt = spans.find(({ name }) => name === 'attempt unknown')!;
    const send = spans.find(({ name }) => name === `send ${topic}`)!;
    expect(send.parentSpanId).toBe(attempt.spanId);
    expect(send.links.map(({ spanId }) => spanId)).toEqual([attempt.spanId]);
    const { traceparent } = Object.fromEntries(record!.headers);
    expect(traceparent).toBe(`00-${sender}-${attempt.spanId}-01`);
    expect(traceparent).toBe(event!.traceparent);
    const [host = '', port = ''] = cluster.brokers[0]!.split(':');
    expect(send.attributes).toEqual({
      'messaging.system': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.client.id': 'tramline',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': String(record!.partition),
      'messaging.kafka.message.key': event!.subject,
      'messaging.kafka.offset': Number(record!.offset),
      'messaging.batch.message_count': 1,
      'cloudevents.event_id': event!.id,
      'cloudevents.event_source': event!.source,
      'cloudevents.event_spec_version': '1.0',
      'cloudevents.event_subject': event!.subject,
      'cloudevents.event_type': event!.type,
      'server.address': host,
      'server.port': Number(port),
    });
  });

  test('the demonstration makes its topics, and reads back from them what it published', async () => {
    const { code, out, error } = await runCommand(['demo', '--kafka', cluster.brokers[0]!], {});
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(out).toContain('"topic": "demo-');
    expect(out.replace(/\s+/g, ' ')).toMatch(
      /demo-\w+\.organization-access\.v1: 1 replica of 3 declared and min\.insync\.replicas 1 of 2 declared: the cluster has 1 broker\./,
    );
    expect(out).toMatch(/9\s+events\s+of\s+the\s+event\s+log\s+and\s+9\s+records\s+on\s+the\s+topics/);
  });

  test('one broker holds fewer copies than declared, which `migrate` and `check` say with the counts', async () => {
    const below = '1 replica of 3 declared and min.insync.replicas 1 of 2 declared: the cluster has 1 broker';
    const made = await runCommand(['migrate'], {
      KAFKA_BROKERS: cluster.brokers.join(','),
      KAFKA_TOPIC_PREFIX: 'narrow',
      DATABASE_URL: `sqlite:${join(story.dataFolder, 'narrow.db')}`,
    });
    expect(made).toMatchObject({
      code: 0,
      error: expect.stringContaining(`narrow.equipment.v1: ${below}\n`),
    });
    // A page of missing topics asks for it while the service runs.
    const beside = await runCommand(['migrate'], {
      KAFKA_BROKERS: cluster.brokers.join(','),
      KAFKA_TOPIC_PREFIX: 'beside',
      DATABASE_URL: `sqlite:${join(story.dataFolder, 'tramline.db')}`,
    });
    expect(beside).toMatchObject({ code: 0, out: expect.stringContaining('beside.equipment.v1: created, ') });
    const { code, out } = await runCommand(['check', '--json'], {
      TRAMLINE_URL: story.service.operationsUrl,
    });
    const line = (JSON.parse(out) as CheckLine[]).find(({ name }) => name === 'kafka');
    expect({ code, state: line!.state }).toEqual({ code: 0, state: 'warning' });
    expect(line!.detail).toContain(`${prefix}.equipment.v1 has ${below}`);
    expect(line!.next).toContain('kafka-reassign-partitions.sh');
  });

  test('a service that is started without its brokers is refused, and what it took goes out once it has them', async () => {
    await changeAll('Before');
    await story.untilRest();
    await story.service.stop();
    const refused = story.serve({ settings: { KAFKA_BROKERS: '' } });
    await expect(refused).rejects.toThrow(
      `KAFKA_BROKERS must name the brokers: this store knows of events in Kafka`,
    );
    await story.serve();
    const count = await changeAll('After');
    await story.untilRest();
    expect(await reckon(2 * count)).toHaveLength(2 * count);
  });

  test('what was acknowledged and not marked before a kill is found on its topic, and not sent again', async () => {
    await story.service.stop();
    await story.serve({
      entry: 'dist/test/support/serve-with-failpoints.js',
      settings: { FAILPOINT: 'S9 acknowledged' },
    });
    const [machine] = await story.equipment();
    await story.simulator.changeEquipment(machine!.id, { name: 'Sent once' });
    await story.post([notificationOf(machine!)]);
    expect((await story.service.exited).signal).toBe('SIGKILL');
    await story.serve();
    await story.untilRest();
    const [event, ...others] = await story.untilEvents(machine!, 1);
    expect(others).toEqual([]);
    const onTopics = await reckon(1);
    const { partition, offset } = event!;
    expect(onTopics).toMatchObject([{ partition, offset }]);
  });

  test('with a new store beside old topics a notified deletion and a move are told under the keys that only the topics know', async () => {
    await changeAll('Before');
    await story.untilRest();
    const [moved, gone] = await story.equipment();
    const [elsewhere] = await story.equipment(1);
    await story.service.stop();
    for (const end of ['', '-wal', '-shm'])
      rmSync(join(story.dataFolder, `tramline.db${end}`), { force: true });
    const { organizationId } = elsewhere!;
    const organization = { '@type': 'Resource', id: Number(organizationId) };
    await story.simulator.changeEquipment(moved!.id, { organization, notify: false });
    const control = story.simulator.control.replace(/\/$/, '');
    await fetch(`${control}/equipment/${gone!.id}?notify=false`, { method: 'DELETE' });
    await story.serve({ settings: { GONE_AFTER_SECONDS: '1' } });
    expect((await story.post([notificationOf(gone!)])).status).toBe(204);
    const newest = async () => new Map((await records()).map((record) => [record.key, record]));
    const keyOf = (machine: typeof gone) => `${machine!.organizationId}/equipment/${machine!.id}`;
    const typeOf = (record?: TopicRecord) =>
      Object.fromEntries(record?.headers ?? [])
        .ce_type?.split('.')
        .at(-2);
    const last = await until(
      async () => {
        const found = await newest();
        const told = [keyOf(moved), keyOf(gone)].map((key) => typeOf(found.get(key)));
        return told.every((type) => type === 'deleted') ? found : null;
      },
      { withinMs: 60_000, what: 'both to be deleted' },
    );
    expect(JSON.parse(last.get(keyOf(moved))!.value)).toMatchObject({ movedTo: organizationId });
    expect(typeOf(last.get(`${organizationId}/equipment/${moved!.id}`))).toBe('created');
    expect(JSON.parse(last.get(keyOf(gone))!.value)).not.toHaveProperty('movedTo');
    expect(await story.untilRest()).toMatchObject({ accepted: 1, gone: 1, lost: 0 });
    expect((await newest()).get(keyOf(elsewhere))).toMatchObject({
      value: expect.stringContaining('Before'),
    });
  }, 120_000);

  test('a topic that was missing is told so until it is written, also by a service that was started anew meanwhile', async () => {
    const admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await changeAll('Before');
    await story.untilRest();
    await admin.deleteTopics({ topics: [`${prefix}.equipment.v1`] });
    await until(async () => !(await admin.listTopics()).includes(`${prefix}.equipment.v1`), soon);
    await admin.disconnect();
    await changeAll('Meanwhile');
    const denied = async () => (await story.alerts()).find(({ name }) => name === 'TramlineTopicDenied');
    await until(async () => (await denied())?.state === 'firing', { withinMs: 30_000, what: 'the page' });
    await story.service.stop();
    const settings = { brokers: cluster.brokers, clientId: 'stories', tls: null, sasl: null };
    await createTopics(settings, prefix, declared.topics, { ...kafkaTargetDefaults, clock: systemClock });
    await story.serve();
    await until(async () => (await denied())?.state === 'resolved', { withinMs: 30_000, what: 'its end' });
    // What it held before is counted as lost, also by who finds it as it begins.
    const losses = (kind: string) =>
      story.metric('tramline_topic_losses_total', { topic: `${prefix}.${kind}.v1` });
    expect(await losses('equipment')).toBeGreaterThan(0);
    expect(await losses('field-operation')).toBe(0);
    const { code } = await runCommand(['check'], { TRAMLINE_URL: story.service.operationsUrl });
    expect(code).toBe(0);
  }, 120_000);

  test('the topics of a new prefix hold the present state where they are filled before, and go on from there', async () => {
    const count = await changeAll('Before');
    await changeAll('Before, later');
    await story.untilRest();
    await story.service.stop();
    const next = { KAFKA_TOPIC_PREFIX: `${prefix}-next` };
    const store = { DATABASE_URL: `sqlite:${join(story.dataFolder, 'tramline.db')}` };
    const environment = (settings = {}) => ({ ...story.settings(settings), ...store });
    expect(await runCommand(['migrate'], environment(next))).toMatchObject({ code: 0 });
    const fill = ['replay', '--kind', 'equipment', '--to-topic', `${prefix}-next.equipment.v1`];
    expect(await runCommand(fill, environment())).toMatchObject({ code: 0 });
    await story.serve({ settings: next });
    const [machine] = await story.equipment();
    await story.simulator.changeEquipment(machine!.id, { name: 'After' });
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    await story.untilRest();
    expect(await story.alerts()).toEqual([]);
    const onNext = await readTopics(cluster.brokers, [`${prefix}-next.equipment.v1`]);
    const newest = new Map(onNext.map((record) => [record.key, record]));
    const names = [...newest.values()].map(({ value }) => (JSON.parse(value) as { name: string }).name);
    expect(names.toSorted()).toEqual(['After', ...Array(count - 1).fill('Before, later')]);
    const key = `${machine!.organizationId}/equipment/${machine!.id}`;
    const { ce_sequence } = Object.fromEntries(newest.get(key)!.headers);
    expect(Number(ce_sequence)).toBe(3);
    // What stands under the former prefix is replayed there, and names what creates it where it is gone.
    const admin = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [`${prefix}.equipment.v1`] });
    await admin.disconnect();
    const replay = startCommand(['replay', '--kind', 'equipment'], {
      TRAMLINE_URL: story.service.operationsUrl,
    });
    const told = await until(
      async () => (await story.alerts()).find(({ name }) => name === 'TramlineTopicDenied'),
      { withinMs: 30_000, what: 'the page' },
    );
    const command = `\`KAFKA_TOPIC_PREFIX=${prefix} tramline migrate\``;
    expect(told!.annotations).toMatchObject({
      first_step: expect.stringContaining(command),
      description: expect.stringContaining(command),
    });
    const again = await runCommand(['migrate'], environment());
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining(`${prefix}.equipment.v1: created`) });
    expect(await replay.ended).toMatchObject({ code: 0 });
    await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), {
      withinMs: 30_000,
    });
  }, 180_000);

  test('while Kafka is down deliveries are accepted, and afterwards all is published and none is lost', async () => {
    const before = await changeAll('Before');
    await story.untilRest();
    await cluster.kill(0);
    const during = await changeAll('During');
    await until(async () => (await story.metric('tramline_outbox_pending')) === during, soon);
    // What is decided and not sent is not called published.
    expect(await story.ledger()).toMatchObject({
      accepted: before + during,
      published: before,
      waiting: during,
      lost: 0,
    });
    const again = await changeAll('During, later');
    const alerts = await until(
      async () => {
        const found = await story.alerts();
        return found.length > 0 ? found : null;
      },
      { withinMs: 60_000, what: 'the page about Kafka' },
    );
    expect(alerts).toMatchObject([{ name: 'TramlineKafkaUnavailable', state: 'firing' }]);
    expect((await fetch(`${story.service.operationsUrl}/readyz`)).status).toBe(200);

    await cluster.restart(0);
    const accepted = before + during + again;
    expect(await story.untilRest()).toMatchObject({ accepted, published: accepted, lost: 0 });
    await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);
    // What waits for Kafka is not read again: no machine is asked for more often than it was announced.
    const reads = (await story.requests()).filter(({ path }) => path.startsWith('/isg/equipment/'));
    expect(reads.length).toBeLessThanOrEqual(accepted);
    await expectExitsToAgree(story);
    const onTopics = await reckon(accepted);
    const newest = new Map(onTopics.map(({ key, value }) => [key, JSON.parse(value) as { name: string }]));
    expect(newest.size).toBe(before);
    expect([...newest.values()].every(({ name }) => name === 'During, later')).toBe(true);
  }, 120_000);
});
