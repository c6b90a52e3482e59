// The Observer is what the path holds. These tests run it whole: one call must reach log and metric, and with an
// exporter configured the spans must really leave the process.
import { makeObserver, type Observer } from '../../../src/observe/observer';
import { accepted, attempt, call, gauges, post, refused, sent } from './sample-lines';

function open(exportTraces: boolean): { observer: Observer; lines: string[] } {
  const lines: string[] = [];
  const observer = makeObserver({
    log: {
      level: 'debug',
      service: 'tramline',
      nowMs: () => 0,
      stream: { write: (line) => void lines.push(line) },
    },
    telemetry: {
      service: 'tramline',
      version: '0.0.0',
      instance: 'i',
      resourceAttributes: null,
      exportTraces,
      samplerGiven: exportTraces,
      exportMetrics: null,
    },
    gauges,
    topics: ['tramline.equipment.v1'],
  });
  return { observer, lines };
}

test('each fact reaches its line and its metric', async () => {
  const { observer, lines } = open(false);
  const span = observer.startDelivery(null);
  expect(await observer.metricsText()).toMatch(/http_server_active_requests\{.*\} 1\n/);
  span.end({ status: 204, errorType: null });
  observer.deliveryAccepted(accepted);
  observer.deliveryRefused(refused);
  observer.attempt(attempt);
  observer.providerCall(call);
  observer.sent(sent);
  observer.alertPost(post);
  observer.topicLostRecords('tramline.equipment.v1');
  const text = await observer.metricsText();
  for (const sample of [
    /http_server_active_requests\{.*\} 0\n/,
    /tramline_deliveries_total\{outcome="accepted"\} 1\n/,
    /tramline_deliveries_total\{outcome="token-wrong"\} 1\n/,
    /tramline_security_rejections_total\{reason="unauthenticated"\} 1\n/,
    /tramline_security_rejections_total\{reason="token-wrong"\} 1\n/,
    /tramline_attempts_total\{outcome="published"\} 1\n/,
    /http_client_request_duration_seconds_count\{.*url_template="equipment".*\} 1\n/,
    /messaging_client_sent_messages_total\{.*\} 2\n/,
    /tramline_alert_posts_total\{sink="alertmanager",outcome="accepted"\} 1\n/,
    /tramline_topic_losses_total\{topic="tramline.equipment.v1"\} 1\n/,
  ]) {
    expect(text).toMatch(sample);
  }
  expect(lines.map((line) => JSON.parse(line).line)).toEqual([
    'delivery',
    'delivery',
    'attempt',
    'provider-call',
    'sent',
    'alert-post',
  ]);
  await observer.close();
});

// To a collector the exporter speaks through a dynamic import, which only a real process can do; to the console it
// does not, and everything before the last step is the same.
test('with an exporter, the spans of one delivery have left when the observer is closed', async () => {
  process.env.OTEL_TRACES_EXPORTER = 'console';
  process.env.OTEL_TRACES_SAMPLER = 'always_on';
  const written = jest.spyOn(console, 'dir').mockImplementation(() => {});
  const { observer } = open(true);
  const delivery = observer.startDelivery(null);
  delivery.end({ status: 204, errorType: null });
  const work = observer.startAttempt(delivery.traceparent, 'equipment');
  const request = { template: 'equipment', address: 'https://api.example/equipment/1' };
  observer.startFetch(work.traceparent, request).end({ status: 200, errorType: null, resendCount: 0 });
  work.end({ outcome: 'published', errorType: null });
  const batch = {
    partition: 0,
    rows: [{ key: 'k', headers: [['traceparent', work.traceparent] as [string, string]] }],
  };
  observer
    .startSend({ topic: 't', system: 'kafka', clientId: null }, [batch])
    .end({ errorType: null, places: () => [] });
  await observer.close();
  const names = written.mock.calls.map(([span]) => (span as { name: string }).name);
  expect(names.sort()).toEqual(['GET equipment', 'POST /webhooks', 'attempt equipment', 'send t']);
  written.mockRestore();
  delete process.env.OTEL_TRACES_EXPORTER;
  delete process.env.OTEL_TRACES_SAMPLER;
});
