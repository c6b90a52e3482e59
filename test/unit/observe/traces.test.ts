// Traces tie a sender's request to the record a consumer reads. The ids must be valid whether or not spans are
// exported, and a span must not hold what an address keeps secret.
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import fastCheck from 'fast-check';
import {
  formatTraceparent,
  makeQuietTraces,
  makeRecordedTraces,
  parseTraceparent,
} from '../../../src/observe/traces';

const incoming = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const quiet = makeQuietTraces();

test('without an exporter the sender’s trace is carried on under a new span', () => {
  const delivery = quiet.startDelivery(incoming);
  const attempt = quiet.startAttempt(delivery.traceparent, 'equipment');
  for (const { traceparent } of [delivery, attempt]) {
    expect(traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
  }
  expect(new Set([incoming, delivery.traceparent, attempt.traceparent]).size).toBe(3);
});

test('a delivery without a trace, or with a broken one, begins an unsampled one', () => {
  const broken = [
    null,
    '',
    'x',
    incoming.toUpperCase(),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `ff${incoming.slice(2)}`,
  ];
  for (const text of broken) {
    const { traceparent } = quiet.startDelivery(text);
    expect(parseTraceparent(traceparent)).not.toBeNull();
    expect(traceparent).toMatch(/-00$/);
  }
});

test('ten thousand drawn ids are valid and different', () => {
  const ids = Array.from({ length: 10_000 }, () => quiet.startDelivery(null).traceparent);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => parseTraceparent(id) !== null)).toBe(true);
});

test('a traceparent survives being read and written', () => {
  expect(formatTraceparent(parseTraceparent(incoming) as never)).toBe(incoming);
  fastCheck.assert(
    fastCheck.property(fastCheck.string(), (text) => {
      const context = parseTraceparent(text);
      expect(context === null || formatTraceparent(context).length === 55).toBe(true);
    }),
  );
});

describe('with an exporter', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const traces = makeRecordedTraces(provider.getTracer('test'));
  beforeEach(() => exporter.reset());

  test('one delivery, its attempt, its fetch and its send are four spans with their conventions', () => {
    const delivery = traces.startDelivery(incoming);
    delivery.end({ status: 204, errorType: null });
    const attempt = traces.startAttempt(delivery.traceparent, 'equipment');
    traces
      .startFetch(attempt.traceparent, {
        method: 'GET',
        template: 'equipment',
        address: 'https://u:canary@api.example/equipment/42?sig=canary',
      })
      .end({ status: 503, errorType: '503', resendCount: 1 });
    attempt.end({ outcome: 'postponed', errorType: 'provider.unavailable' });
    traces.startSend('t.equipment.v1', 'kafka', [attempt.traceparent, null]).end({ errorType: null });

    const spans = exporter.getFinishedSpans();
    expect(spans.map((span) => span.name)).toEqual([
      'POST /webhooks',
      'GET equipment',
      'attempt equipment',
      'send t.equipment.v1',
    ]);
    const [server, client, work, send] = spans;
    expect(server?.spanContext().traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(work?.links[0]?.context.spanId).toBe(server?.spanContext().spanId);
    expect(work?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId);
    expect(work?.spanContext().traceId).toBe(server?.spanContext().traceId);
    expect(client?.parentSpanContext?.spanId).toBe(work?.spanContext().spanId);
    expect(send?.links[0]?.context.spanId).toBe(work?.spanContext().spanId);
    expect(client?.attributes).toMatchObject({
      'server.address': 'api.example',
      'server.port': 443,
      'url.full': 'https://api.example/equipment/42',
      'http.response.status_code': 503,
      'http.request.resend_count': 1,
      'error.type': '503',
    });
    expect(JSON.stringify(spans.map((span) => [span.name, span.attributes]))).not.toContain('canary');
  });
});
