/**
 * A trace that can be followed from the sender's request to the consumer's record, and that changes nothing: the spans of
 * one delivery as a collector receives them, and a collector that is dead or silent. Row R12. The record on a topic of
 * Kafka, where the trace ends, is looked at with the others there (test/e2e/kafka.test.ts).
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Collector,
  type CollectorSpan,
  countByName,
  startCollector,
  tracedTo,
} from '../support/collector';
import { runCommand } from '../support/command';
import { evidenceOf } from '../support/evidence';
import { freePort } from '../support/free-port';
import { parseMetricsList } from '../support/promql';
import { repositoryRoot } from '../support/repository';
import { temporaryFolder } from '../support/service';
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

function untilSpans(count: number): Promise<CollectorSpan[]> {
  return until(() => collector.spans().length >= count && collector.spans(), {
    ...soon,
    what: `${count} spans`,
  }) as Promise<CollectorSpan[]>;
}

const placeOf = ({ traceId, spanId }: CollectorSpan) => ({ traceId, spanId });

/** Metrics that one good delivery need not make. */
const unfed = new Set([
  'tramline_alert_over_age_seconds',
  'tramline_alert_posts_total',
  'tramline_ended_by_fault_age_seconds',
  'tramline_provider_lag_seconds',
  'tramline_quarantined_total',
  'tramline_sandbox_left',
  'tramline_sync_whole_age_seconds',
]);

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
    // Nothing that a delivery feeds drops out; what it does not feed is named here.
    const missing = () => {
      const seen = new Set(
        [...collector.metrics().keys()].map((name) => names.get(name.replaceAll('.', '_'))),
      );
      return [...listed.keys()].filter((name) => !seen.has(name) && !unfed.has(name));
    };
    await until(() => {
      expect(missing()).toEqual([]);
      return true;
    }, soon);
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
    const sent = () => ofName('send tramline.equipment.v1').flatMap(({ links }) => links);
    await until(() => sent().length >= 2, { ...soon, what: 'both sends' });
    expect(ofName('POST /webhooks')).toHaveLength(1);
    expect(ofName('GET resource').map(({ attributes }) => attributes['error.type'])).toContain('status-503');
    expect(ofName('GET resource').filter(({ failed }) => failed)).toHaveLength(1);
    const outcomes = ofName('attempt unknown').map(({ attributes }) => attributes['tramline.outcome']);
    expect(outcomes.sort()).toEqual(['postponed', 'published', 'published', 'quarantined']);
    expect(sent()).toHaveLength(2);
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

test('headers for the collector from a file go with spans and metrics, and are shown nowhere', async () => {
  const canary = 'canary-of-the-collector';
  const path = join(temporaryFolder(), 'headers');
  writeFileSync(path, `authorization=Bearer%20${canary}\n`);
  const settings = { ...tracedTo(collector.url), OTEL_EXPORTER_OTLP_HEADERS_FILE: path };
  story = await beginStory({ delivers: false, settings });
  const [machine] = await story.equipment();
  await story.post([notificationOf(machine!)]);
  await untilSpans(4);
  await until(() => collector.metrics().size > 0, { ...soon, what: 'metrics' });
  const { out } = await runCommand(['config', '--json'], story.settings());
  expect(JSON.parse(out)).toMatchObject({
    OTEL_EXPORTER_OTLP_HEADERS: { value: 'set', from: 'file', path },
  });
  await story.service.stop();
  expect(new Set(collector.requests.map(({ headers }) => headers.authorization))).toEqual(
    new Set([`Bearer ${canary}`]),
  );
  const shown = [out, story.service.lines(), collector.requests.map(({ body }) => body.toString())];
  expect(JSON.stringify(shown)).not.toContain(canary);
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
    // What it does not take is said once, and nothing else is amiss.
    const loud = story.service.records().filter(({ level }) => level === 'error' || level === 'warn');
    expect(loud).toMatchObject([
      { level: 'warn', line: 'trouble', place: 'telemetry', code: 'telemetry.untaken' },
    ]);
    expect(loud[0]!.detail).toMatch(/^The collector did not take traces or metrics, which are dropped: \S/);
    expect(story.service.lines().filter((line) => !line.startsWith('{'))).toEqual([]);
    const { records } = await evidenceOf(join(story.dataFolder, 'tramline.db'), machines.length, 'embedded');
    expect(records).toHaveLength(machines.length);
  }

  test('dead changes nothing', async () => {
    await runWith(`http://127.0.0.1:${await freePort()}`);
  });

  test('silent changes nothing, and is not waited for', async () => {
    const silent = await startCollector({ answers: false });
    await runWith(silent.url).finally(() => silent.close());
    expect(silent.requests.length).toBeGreaterThan(0);
  });
});
