// Metrics are an interface: dashboards and alert rules name them. Here every instrument is fed once and the names and
// labels that come out are compared with the checked-in list; what a stranger can influence must not add a series.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RefusalReason } from '../../../src/observe/lines';
import { type Metrics, makeMetrics } from '../../../src/observe/metrics';
import { startTelemetry, type Telemetry } from '../../../src/observe/telemetry';
import { refusalReasons, type RefusalReason as WebhookReason } from '../../../src/webhook/refusals';
import fastCheck from '../../support/properties';
import { accepted, attempt, call, gauges, post, refused, sent } from './sample-lines';

const options = {
  service: 'tramline',
  version: '0.0.0',
  instance: 'i1',
  resourceAttributes: 'deployment.environment.name=test,k8s.pod.name=p%2C1',
  exportTraces: false,
  samplerGiven: false,
  exportMetrics: null,
};
let telemetry: Telemetry;
let metrics: Metrics;

beforeEach(() => {
  telemetry = startTelemetry(options);
  metrics = makeMetrics(telemetry.meter, gauges);
});
afterEach(async () => {
  metrics.stop();
  await telemetry.shutdown();
});

function feedEverything(): void {
  metrics.requestBegan();
  metrics.deliveryAccepted(accepted);
  metrics.deliveryAccepted({ ...accepted, repeated: true, idReused: true });
  metrics.deliveryRefused(refused);
  metrics.deliveryRefused({ ...refused, status: 503, reason: 'store-unavailable' });
  metrics.attempt({ ...attempt, outcome: 'quarantined', quarantine: 'address-refused' });
  metrics.providerCall(call);
  metrics.providerCall({ ...call, status: null, errorType: 'timeout' });
  metrics.sent(sent);
  metrics.sent({ ...sent, errorType: 'NOT_ENOUGH_REPLICAS' });
  metrics.alertPost(post);
  metrics.fault('pipeline');
  metrics.syncEnded({ outcome: 'partial' });
  metrics.listingRefused();
  metrics.throttled(500);
  metrics.topicLostRecords('tramline.equipment.v1');
}

/** `name{label,label}` of each family, sorted; a histogram once, without `le`. */
function families(text: string): string[] {
  const labels = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const match = /^([a-z][a-z0-9_]*)(?:\{(.*)\})? \S+$/.exec(line);
    if (match === null || match[1] === 'target_info') continue;
    const name = (match[1] ?? '').replace(/_(bucket|sum|count)$/, '');
    const names = labels.get(name) ?? new Set();
    for (const [, label] of (match[2] ?? '').matchAll(/([a-z_]+)="/g))
      if (label !== 'le') names.add(label ?? '');
    labels.set(name, names);
  }
  return [...labels].map(([name, names]) => `${name}{${[...names].sort().join(',')}}`).sort();
}

test('the metrics are those of the checked-in list', async () => {
  feedEverything();
  const listed = readFileSync(join(__dirname, '../../fixtures/metrics.txt'), 'utf8').trim().split('\n');
  expect(families(await telemetry.metricsText())).toEqual(listed);
});

test('every metric has help and a type, counters alone end in _total, and durations are in seconds', async () => {
  feedEverything();
  const text = await telemetry.metricsText();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  expect(types.length).toBeGreaterThan(15);
  for (const [, name = '', type] of types) {
    expect(text).toMatch(new RegExp(`^# HELP ${name} (?!description missing)\\S.*`, 'm'));
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
  }
});

test('what keeps strangers out is there from the beginning, so that a first burst is seen to rise', async () => {
  const text = await telemetry.metricsText();
  for (const reason of ['timestamp-too-old', 'token-wrong', 'unauthenticated', 'address-refused']) {
    expect(text).toContain(`tramline_security_rejections_total{reason="${reason}"} 0\n`);
  }
});

test('what the intake’s alerts count is there from the beginning, so that a first burst is seen to rise', async () => {
  const text = await telemetry.metricsText();
  for (const outcome of ['accepted', 'store-unavailable', 'body-unreadable', 'too-many-connections']) {
    expect(text).toContain(`tramline_deliveries_total{outcome="${outcome}"} 0\n`);
  }
});

test('the outcomes of posts to sinks are there from the beginning, so that the first refusal is seen', async () => {
  const text = await telemetry.metricsText();
  for (const sink of ['alertmanager', 'pagerduty', 'slack', 'log']) {
    for (const outcome of ['accepted', 'partial', 'refused', 'unreachable']) {
      expect(text).toContain(`tramline_alert_posts_total{sink="${sink}",outcome="${outcome}"} 0\n`);
    }
  }
});

test('every reason for which a delivery is refused is counted under its own name', async () => {
  const reasons: RefusalReason[] = Object.keys(refusalReasons) as WebhookReason[];
  for (const reason of reasons) metrics.deliveryRefused({ status: 401, reason, tookMs: null });
  const text = await telemetry.metricsText();
  for (const reason of reasons) expect(text).toContain(`tramline_deliveries_total{outcome="${reason}"} 1\n`);
  expect(text).toContain('tramline_security_rejections_total{reason="timestamp-too-old"} 1\n');
  expect(text).not.toContain('tramline_security_rejections_total{reason="overloaded"}');
});

test('a message id that comes with another body is a repeat and a rejection', async () => {
  metrics.deliveryAccepted({ ...accepted, repeated: true, idReused: true });
  const text = await telemetry.metricsText();
  expect(text).toContain('tramline_deliveries_total{outcome="repeated"} 1\n');
  expect(text).toContain('tramline_security_rejections_total{reason="message-id-reused"} 1\n');
});

test('what the store sets aside is counted by its reason, and not a second time by the lines that tell of it', async () => {
  metrics.setAside('record-refused');
  metrics.deliveryAccepted({ ...accepted, quarantined: ['record-refused'] });
  metrics.attempt({ ...attempt, outcome: 'quarantined', quarantine: 'record-refused' });
  expect(await telemetry.metricsText()).toContain('tramline_quarantined_total{reason="record-refused"} 1\n');
});

test('fields that nobody knows are counted over all documents', async () => {
  metrics.attempt({ ...attempt, unknownFields: ['/colour', '/devices/*/firmware'] });
  metrics.attempt({ ...attempt, outcome: 'unchanged', unknownFields: ['/colour'] });
  metrics.attempt(attempt);
  expect(await telemetry.metricsText()).toContain('tramline_unknown_fields_total 3\n');
});

test('the time for which a quota holds sends back is counted, and there from the beginning', async () => {
  expect(await telemetry.metricsText()).toContain('tramline_kafka_throttled_seconds_total 0\n');
  metrics.throttled(12_000);
  metrics.throttled(1_500);
  expect(await telemetry.metricsText()).toContain('tramline_kafka_throttled_seconds_total 13.5\n');
});

test('what a topic lost is counted by topic, and there from the beginning for each that is written', async () => {
  const other = startTelemetry(options);
  const [equipment, access] = ['tramline.equipment.v1', 'tramline.organization-access.v1'];
  const counting = makeMetrics(other.meter, gauges, () => 0, [equipment, access]);
  const counted = async () => (await other.metricsText()).match(/^tramline_topic_losses_total.*$/gm);
  const lineOf = (topic: string, count: number) => `tramline_topic_losses_total{topic="${topic}"} ${count}`;
  expect(await counted()).toEqual([lineOf(equipment, 0), lineOf(access, 0)]);
  counting.topicLostRecords(access);
  counting.topicLostRecords(access);
  // One of a former prefix, to which something is replayed.
  counting.topicLostRecords('former.equipment.v1');
  expect(await counted()).toEqual([
    lineOf(equipment, 0),
    lineOf(access, 2),
    lineOf('former.equipment.v1', 1),
  ]);
  counting.stop();
  await other.shutdown();
});

test('log lines that are gone are counted', async () => {
  const other = startTelemetry(options);
  const counting = makeMetrics(other.meter, gauges, () => 9);
  expect(await other.metricsText()).toContain('tramline_log_lines_dropped_total 9\n');
  counting.stop();
  await other.shutdown();
});

test('gauges show what the store counts', async () => {
  const text = await telemetry.metricsText();
  expect(text).toContain('tramline_inbox_pending 7\n');
  expect(text).toContain('tramline_tasks{state="due"} 3\n');
  expect(text).toContain('tramline_tasks{state="waiting"} 4\n');
  expect(text).toContain('tramline_inbox_oldest_pending_age_seconds 1.5\n');
  expect(text).toContain('tramline_organizations{access="terms-required"} 1\n');
  expect(text).toContain('tramline_alerts_active{severity="warning"} 1\n');
  expect(text).toContain('tramline_alert_over_age_seconds{name="TramlineKafkaUnavailable"} 2.5\n');
  expect(text).toContain('tramline_alerts_unattended_seconds 7.5\n');
  expect(text).toContain('tramline_ended_by_fault_age_seconds{place="process"} 12.5\n');
  expect(text).toContain('tramline_sync_unread_listings 2\n');
  expect(text).toContain('tramline_sync_whole_age_seconds 3600\n');
  expect(text).toContain('tramline_store_reachable 1\n');
});

test('runs of a sync are counted by how they ended, and a refused page as what a delivery named', async () => {
  metrics.syncEnded({ outcome: 'stopped' });
  metrics.listingRefused();
  const text = await telemetry.metricsText();
  for (const [outcome, count] of [
    ['whole', 0],
    ['partial', 0],
    ['stopped', 1],
  ])
    expect(text).toContain(`tramline_syncs_total{outcome="${outcome}"} ${count}\n`);
  expect(text).toContain('tramline_security_rejections_total{reason="address-refused"} 1\n');
});

test('alerts that nobody ever evaluated are unattended since the process began, and where no fault ended one none is told', async () => {
  const alerts = async () => ({ ...(await gauges.alerts()), unattendedMs: null });
  const other = startTelemetry(options);
  const alone = makeMetrics(other.meter, { ...gauges, alerts, endedByFaultMs: async () => null });
  const before = performance.now() / 1000;
  const text = await other.metricsText();
  expect(text).not.toContain('ended_by_fault_age_seconds{');
  const told = /^tramline_alerts_unattended_seconds (\S+)$/m.exec(text);
  expect(Number(told?.[1])).toBeGreaterThanOrEqual(before);
  expect(Number(told?.[1])).toBeLessThanOrEqual(performance.now() / 1000);
  alone.stop();
  await other.shutdown();
});

test('how long attempts take is told apart by whether they came to an end', async () => {
  for (const outcome of ['published', 'unchanged', 'gone', 'postponed', 'failed'] as const) {
    metrics.attempt({ ...attempt, outcome, tookMs: 40 });
  }
  const text = await telemetry.metricsText();
  const about = 'messaging_operation_name="process",messaging_system="tramline_inbox"';
  const bucket = (labels: string) => `messaging_process_duration_seconds_bucket{${labels},le="0.05"}`;
  expect(text).toContain(`${bucket(about)} 3\n`);
  for (const error of ['postponed', 'failed']) {
    expect(text).toContain(`${bucket(`${about},error_type="${error}"`)} 1\n`);
  }
});

test('freshness has the promised minute as a boundary', async () => {
  metrics.sent(sent);
  expect(await telemetry.metricsText()).toMatch(/tramline_freshness_seconds_bucket\{le="60"\} 1\n/);
});

test('what the provider says it took is a histogram in seconds, of the answers that say so', async () => {
  metrics.providerCall({ ...call, elapsedMs: 42 });
  metrics.providerCall({ ...call, elapsedMs: null });
  const text = await telemetry.metricsText();
  expect(text).toMatch(/tramline_provider_elapsed_seconds_bucket\{le="0.025"\} 0\n/);
  expect(text).toMatch(/tramline_provider_elapsed_seconds_bucket\{le="0.05"\} 1\n/);
  expect(text).toContain('tramline_provider_elapsed_seconds_count 1\n');
});

test('the resource names the process and its further attributes', async () => {
  metrics.alertPost(post);
  const text = await telemetry.metricsText();
  expect(text).toContain('service_name="tramline"');
  expect(text).toContain('k8s_pod_name="p,1"');
});

test('whatever methods, origins and error names occur, the number of series stays bounded', async () => {
  fastCheck.assert(
    fastCheck.property(
      fastCheck.string(),
      fastCheck.nat().map((host) => `https://h${host}.example`),
      fastCheck.string(),
      (method, origin, errorType) => {
        metrics.providerCall({ ...call, method, origin, errorType });
        metrics.sent({ ...sent, errorType });
      },
    ),
    { numRuns: 300 },
  );
  const text = await telemetry.metricsText();
  const values = (label: string) =>
    new Set([...text.matchAll(new RegExp(`${label}="([^"]*)"`, 'g'))].map(([, v]) => v));
  expect(values('server_address').size).toBeLessThanOrEqual(51);
  expect(values('error_type').size).toBeLessThanOrEqual(82);
  expect(values('http_request_method').size).toBeLessThanOrEqual(8);
});

test('R9: ten thousand organizations, paths and types add no series', async () => {
  feedEverything();
  const series = async () =>
    (await telemetry.metricsText()).split('\n').filter((line) => /^[a-z]/.test(line)).length;
  const before = await series();
  const strange = fastCheck.sample(
    fastCheck.record({ id: fastCheck.string(), kind: fastCheck.string() }),
    10_000,
  );
  strange.forEach(({ id, kind }, index) => {
    const address = `https://api.example/organizations/${index}/${id}`;
    const of = {
      organizationId: `${index}${id}`,
      resourceId: id,
      connectionId: id,
      kind,
      address,
      detail: id,
    };
    metrics.attempt({ ...attempt, ...of, outcome: 'quarantined', quarantine: 'address-refused' });
    metrics.deliveryAccepted({ ...accepted, deliveryId: `d${index}`, traceparent: id });
    metrics.providerCall(call);
  });
  expect(await series()).toBe(before);
});
