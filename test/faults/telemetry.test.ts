/**
 * A trace that can be followed from the sender's request to the consumer's record, and that changes nothing: the spans of
 * one delivery as a collector receives them, bytes that are the same with tracing on, and a collector that is dead or
 * silent. Row R12, and the rule that nothing at send time changes a record.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Collector, type CollectorSpan, startCollector } from '../support/collector';
import { evidenceOf } from '../support/evidence';
import { freePort } from '../support/free-port';
import { type KafkaCluster, kafkaAvailable, startKafka } from '../support/kafka';
import { Kafka, logLevel } from '../support/kafka-client';
import { describeWithNeighbour } from '../support/neighbour';
import { parseMetricsList } from '../support/promql';
import { readTopic } from '../support/read-topic';
import { repositoryRoot } from '../support/repository';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const sender = { traceId: '0123456789abcdef0123456789abcdef', spanId: '0123456789abcdef' };
const traceparent = `00-${sender.traceId}-${sender.spanId}-01`;

let story: Story;
let collector: Collector;

beforeEach(async () => {
  collector = await startCollector();
});
afterEach(async () => {
  await story.end();
  await collector.close();
});

/** Everything is traced and sent at once, as JSON. */
const tracedTo = (url: string): Record<string, string> => ({
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_TRACES_SAMPLER: 'always_on',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_METRIC_EXPORT_INTERVAL: '200',
});

/** How many spans of each name there are. */
function countByName(spans: CollectorSpan[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name } of spans) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function untilSpans(count: number): Promise<CollectorSpan[]> {
  return until(() => collector.spans().length >= count && collector.spans(), {
    ...soon,
    what: `${count} spans`,
  }) as Promise<CollectorSpan[]>;
}

const placeOf = ({ traceId, spanId }: CollectorSpan) => ({ traceId, spanId });

describe('one delivery', () => {
  beforeEach(async () => {
    story = await beginStory({ delivers: false, settings: tracedTo(collector.url) });
  });

  test('is one trace of four spans, one of each kind, and its record names the attempt that decided it', async () => {
    const [machine] = await story.equipment();
    expect(await story.post([notificationOf(machine!)], { traceparent })).toMatchObject({ status: 204 });
    const [event] = await story.untilEvents(machine!, 1);
    const spans = await untilSpans(4);
    const counted = {
      'POST /webhooks': 1,
      'attempt unknown': 1,
      'GET resource': 1,
      'send tramline.equipment.v1': 1,
    };
    expect(countByName(spans)).toEqual(counted);
    const [delivery, attempt, read, send] = Object.keys(counted).map(
      (wanted) => spans.find(({ name }) => name === wanted)!,
    );

    expect(delivery).toMatchObject({
      kind: 'server',
      traceId: sender.traceId,
      parentSpanId: sender.spanId,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/webhooks',
        'http.response.status_code': 204,
      },
      failed: false,
    });
    expect(attempt).toMatchObject({
      kind: 'internal',
      traceId: sender.traceId,
      parentSpanId: delivery!.spanId,
      links: [placeOf(delivery!)],
      attributes: { 'tramline.outcome': 'published' },
    });
    expect(read).toMatchObject({
      kind: 'client',
      traceId: attempt!.traceId,
      parentSpanId: attempt!.spanId,
      attributes: {
        'http.request.method': 'GET',
        'url.full': machine!.uri,
        'http.response.status_code': 200,
      },
    });
    expect(send).toMatchObject({
      kind: 'client',
      traceId: sender.traceId,
      parentSpanId: attempt!.spanId,
      links: [placeOf(attempt!)],
      attributes: {
        'messaging.operation.name': 'send',
        'messaging.destination.name': 'tramline.equipment.v1',
        'messaging.batch.message_count': 1,
      },
      failed: false,
    });
    expect(event!.traceparent).toBe(`00-${sender.traceId}-${attempt!.spanId}-01`);
  });

  test('is counted by the metrics that the collector gets, under the names and labels of the checked-in list', async () => {
    const [machine] = await story.equipment();
    await story.post([notificationOf(machine!)], { traceparent });
    await story.untilEvents(machine!, 1);
    await until(() => collector.metrics().has('tramline.freshness'), soon);
    const listed = parseMetricsList(
      readFileSync(join(repositoryRoot(), 'test/fixtures/metrics.txt'), 'utf8'),
    );
    // As Prometheus names them: dots as underscores, units and `_total` at the end.
    const names = new Map(
      [...listed.keys()].map((name) => [name.replace(/(_seconds|_bytes)?(_total)?$/, ''), name]),
    );
    for (const [name, points] of collector.metrics()) {
      const known = names.get(name.replaceAll('.', '_'));
      expect([name, known]).toEqual([name, expect.any(String)]);
      const labels = points.flatMap(({ attributes }) => Object.keys(attributes));
      const plain = labels.map((label) => label.replaceAll('.', '_'));
      expect([name, plain.filter((label) => !listed.get(known ?? '')?.includes(label))]).toEqual([name, []]);
    }
    expect(collector.metrics().get('tramline.deliveries')).toContainEqual({
      attributes: { outcome: 'accepted' },
      value: 1,
    });
    expect(collector.metrics().get('tramline.freshness')).toEqual([{ attributes: {}, value: 1 }]);
  });

  test('that meets trouble says so in its spans, and a refused address is no request', async () => {
    const [failing, fine] = await story.equipment();
    await story.simulator.setFaults([
      { match: { path: `/equipment/${failing!.id}` }, times: 1, status: 503 },
    ]);
    const elsewhere = 'http://127.0.0.1:1/isg/equipment/1?sig=canary-in-a-query';
    await story.post([
      notificationOf(failing!),
      notificationOf(fine!),
      notificationOf(fine!, { targetResource: elsewhere }),
    ]);
    await story.untilEvents(failing!, 1);
    await story.untilRest();
    // One delivery; four attempts, three of which asked; two sends, or one of both.
    await until(() => (countByName(collector.spans())['attempt unknown'] ?? 0) === 4, soon);
    const ofName = (wanted: string) => collector.spans().filter(({ name }) => name === wanted);
    await until(() => ofName('GET resource').length === 3, soon);
    expect(ofName('POST /webhooks')).toHaveLength(1);
    expect(ofName('GET resource').map(({ attributes }) => attributes['error.type'])).toContain('status-503');
    expect(ofName('GET resource').filter(({ failed }) => failed)).toHaveLength(1);
    const outcomes = ofName('attempt unknown').map(({ attributes }) => attributes['tramline.outcome']);
    expect(outcomes.sort()).toEqual(['postponed', 'published', 'published', 'quarantined']);
    expect(ofName('send tramline.equipment.v1').flatMap(({ links }) => links)).toHaveLength(2);
    expect(JSON.stringify(collector.spans())).not.toMatch(/canary-in-a-query|127\.0\.0\.1:1\//);
  });
});

test('a disabled SDK sends no span, and records still carry the sender’s trace', async () => {
  const settings = { ...tracedTo(collector.url), OTEL_SDK_DISABLED: 'true' };
  story = await beginStory({ delivers: false, settings });
  const [machine] = await story.equipment();
  await story.post([notificationOf(machine!)], { traceparent });
  const [event] = await story.untilEvents(machine!, 1);
  expect(event!.traceparent).toMatch(new RegExp(`^00-${sender.traceId}-[0-9a-f]{16}-01$`));
  await story.service.stop();
  expect(collector.requests).toEqual([]);
});

test('an endpoint alone is enough: spans go there as protobuf, with the sampler of ours', async () => {
  story = await beginStory({
    delivers: false,
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' },
  });
  const [machine] = await story.equipment();
  // An id below a twentieth of all: it is kept.
  const kept = '00000000000000000000000000000001';
  await story.post([notificationOf(machine!)], { traceparent: `00-${kept}-${sender.spanId}-00` });
  const [event] = await story.untilEvents(machine!, 1);
  const [, attemptTrace = '', , flags] = String(event!.traceparent).split('-');
  expect(flags).toBe('01');
  await until(() => collector.requests.length > 0, soon);
  await story.service.stop();
  expect(
    new Set(collector.requests.map(({ path, headers }) => `${path} ${headers['content-type']}`)),
  ).toEqual(new Set(['/v1/traces application/x-protobuf', '/v1/metrics application/x-protobuf']));
  const bodies = Buffer.concat(collector.requests.map(({ body }) => body));
  expect(bodies.includes(Buffer.from(kept, 'hex'))).toBe(true);
  expect(bodies.includes(Buffer.from(attemptTrace, 'hex'))).toBe(true);
});

describe('R12: a collector that is', () => {
  async function runWith(url: string): Promise<void> {
    story = await beginStory({ delivers: false, settings: tracedTo(url) });
    const machines = await story.equipment();
    const startedAt = performance.now();
    expect(await story.post(machines.map((machine) => notificationOf(machine)))).toMatchObject({
      status: 204,
    });
    expect(await story.untilRest()).toMatchObject({ published: machines.length, lost: 0 });
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect((await fetch(`${story.service.operationsUrl}/readyz`)).status).toBe(200);
    const stoppedAt = performance.now();
    expect(await story.service.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - stoppedAt).toBeLessThan(5000);
    for (const level of ['error', 'warn']) {
      expect(story.service.records().filter((record) => record.level === level)).toEqual([]);
    }
    expect(story.service.lines().filter((line) => !line.startsWith('{'))).toEqual([]);
    const { records } = await evidenceOf(join(story.dataFolder, 'tramline.db'), machines.length, 'embedded');
    expect(records).toHaveLength(machines.length);
  }

  test('dead changes nothing', async () => {
    await runWith(`http://127.0.0.1:${await freePort()}`);
  });

  test('silent changes nothing, and is not waited for', async () => {
    const silent = await startCollector({ answers: false });
    await runWith(silent.url);
    expect(silent.requests.length).toBeGreaterThan(0);
    await silent.close();
  });
});

describeWithNeighbour('Kafka', kafkaAvailable(), 'a record that is sent with tracing on', () => {
  let kafka: KafkaCluster;
  beforeAll(async () => {
    kafka = await startKafka();
  });
  afterAll(() => kafka.stop());

  test('names the trace that it was decided in: nothing is injected when it is sent', async () => {
    const prefix = 'traced';
    const topic = `${prefix}.equipment.v1`;
    const admin = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.createTopics({
      topics: ['equipment', 'field-operation', 'organization-access'].map((kind) => ({
        topic: `${prefix}.${kind}.v1`,
        numPartitions: 1,
      })),
      waitForLeaders: true,
    });
    await admin.disconnect();
    const settings = {
      ...tracedTo(collector.url),
      KAFKA_BROKERS: kafka.brokers.join(','),
      KAFKA_TOPIC_PREFIX: prefix,
    };
    story = await beginStory({ delivers: false, settings });
    const [machine] = await story.equipment();
    await story.post([notificationOf(machine!)], { traceparent });
    const [event] = await story.untilEvents(machine!, 1);
    await until(() => collector.spans().some(({ name }) => name === `send ${topic}`), soon);

    const records = await readTopic(kafka.brokers, topic);
    expect(records).toHaveLength(1);
    const decided = records[0]!.headers.traceparent?.toString();
    expect(decided).toBe(event!.traceparent);
    expect(decided).toContain(sender.traceId);
    const [send] = collector
      .spans()
      .filter(({ name }) => name === `send ${topic}`)
      .slice(-1);
    expect(send!.links.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)).toEqual([decided]);
    const [host = '', port = ''] = kafka.brokers[0]!.split(':');
    expect(send!.attributes).toEqual({
      'messaging.system': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.client.id': 'tramline',
      'messaging.destination.name': topic,
      'messaging.destination.partition.id': '0',
      'messaging.kafka.message.key': event!.subject,
      'messaging.kafka.offset': records[0]!.offset,
      'messaging.batch.message_count': 1,
      'server.address': host,
      'server.port': Number(port),
    });
  });
});
