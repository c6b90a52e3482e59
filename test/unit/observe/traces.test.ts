// Traces tie a sender's request to the record a consumer reads. The ids must be valid whether or not spans are
// exported, and a span must not hold what an address keeps secret.
import { SpanKind } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import {
  formatTraceparent,
  makeQuietTraces,
  makeRecordedTraces,
  parseTraceparent,
  type SentPlace,
  type SpanBatch,
} from '../../../src/observe/traces';
import fastCheck from '../../support/properties';

const incoming = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const quiet = makeQuietTraces();

const rowOf = (key: string, traceparent: string | null): SpanBatch['rows'][number] => ({
  key,
  headers: traceparent === null ? [] : [['traceparent', traceparent]],
});
const placed = (partition: string, key: string, offset?: number) => ({
  'messaging.destination.partition.id': partition,
  'messaging.kafka.message.key': key,
  ...(offset === undefined ? {} : { 'messaging.kafka.offset': offset }),
});

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
        template: 'equipment',
        address: 'https://u:canary@api.example/equipment/42?sig=canary',
      })
      .end({ status: 503, errorType: '503', resendCount: 1 });
    attempt.end({ outcome: 'postponed', errorType: 'provider.unavailable' });
    const to = { topic: 't.equipment.v1', system: 'kafka' as const, clientId: 'tramline' };
    const server = { host: 'broker.example', port: 9092 };
    const record = rowOf('4711/equipment/1', attempt.traceparent);
    traces
      .startSend(to, [{ partition: 3, rows: [record] }])
      .end({ errorType: null, places: () => [{ firstOffset: '17', errorType: null, server }] });

    const spans = exporter.getFinishedSpans();
    expect(spans.map((span) => span.name)).toEqual([
      'POST /webhooks',
      'GET equipment',
      'attempt equipment',
      'send t.equipment.v1',
    ]);
    const [request, client, work, send] = spans;
    expect(request?.spanContext().traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(work?.links[0]?.context.spanId).toBe(request?.spanContext().spanId);
    expect(work?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
    expect(work?.spanContext().traceId).toBe(request?.spanContext().traceId);
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
    expect(send?.parentSpanContext?.spanId).toBe(work?.spanContext().spanId);
    expect(send?.attributes).toEqual({
      'messaging.system': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 't.equipment.v1',
      'messaging.destination.partition.id': '3',
      'messaging.kafka.message.key': '4711/equipment/1',
      'messaging.kafka.offset': 17,
      'messaging.client.id': 'tramline',
      'messaging.batch.message_count': 1,
      'server.address': 'broker.example',
      'server.port': 9092,
    });
    expect(JSON.stringify(spans.map((span) => [span.name, span.attributes]))).not.toContain('canary');
  });

  test('of a send of several records, what differs stands on the link of each', () => {
    const one = traces.startAttempt(null, 'equipment').traceparent;
    const two = traces.startAttempt(null, 'equipment').traceparent;
    const batches = [
      { partition: 0, rows: [rowOf('a', one), rowOf('b', null), rowOf('c', two)] },
      { partition: 5, rows: [rowOf('d', one)] },
    ];
    const at = (port: number) => ({ host: 'broker.example', port });
    const send = (places: SentPlace[], errorType: string | null = null) => {
      traces
        .startSend({ topic: 't', system: 'kafka', clientId: null }, batches)
        .end({ errorType, places: () => places });
      return exporter.getFinishedSpans().at(-1)!;
    };
    const span = send([
      { firstOffset: '7', errorType: null, server: at(1) },
      { firstOffset: '9007199254740993', errorType: null, server: at(1) },
    ]);
    expect(span.parentSpanContext?.spanId).toBe(one.split('-')[2]);
    expect(span.attributes).toMatchObject({ 'messaging.batch.message_count': 4, 'server.port': 1 });
    expect(Object.keys(span.attributes).join()).not.toMatch(/partition|offset|key|client/);
    expect(span.links.map(({ context, attributes }) => [context.spanId, attributes])).toEqual([
      [one.split('-')[2], placed('0', 'a', 7)],
      [two.split('-')[2], placed('0', 'c', 9)],
      [one.split('-')[2], placed('5', 'd')],
    ]);
    // In the trace of each record it is seen to be sent, with what.
    const created = () => exporter.getFinishedSpans().filter(({ name }) => name === 'create t');
    expect(created().map(({ kind, parentSpanContext, links }) => [kind, parentSpanContext, links])).toEqual(
      [one, two, one].map((above) => [
        SpanKind.PRODUCER,
        expect.objectContaining({ traceId: above.split('-')[1], spanId: above.split('-')[2] }),
        [expect.objectContaining({ context: span.spanContext() })],
      ]),
    );
    expect(created()[1]!.attributes).toEqual({
      'messaging.system': 'kafka',
      'messaging.operation.name': 'create',
      'messaging.operation.type': 'create',
      'messaging.destination.name': 't',
      ...placed('0', 'c', 9),
    });
    // Two brokers, or none that is known: none is named. What failed has no offset.
    const failed = send(
      [
        { firstOffset: null, errorType: 'TIMED_OUT', server: at(1) },
        { firstOffset: '4', errorType: null, server: at(2) },
      ],
      'TIMED_OUT',
    );
    expect(failed.attributes).not.toHaveProperty('server.address');
    expect(failed.attributes['error.type']).toBe('TIMED_OUT');
    expect(failed.links[0]?.attributes).toEqual(placed('0', 'a'));
    const failures = created().slice(3);
    expect(failures.map(({ attributes }) => attributes['error.type'])).toEqual([
      'TIMED_OUT',
      'TIMED_OUT',
      undefined,
    ]);
    expect(send([]).attributes).not.toHaveProperty('server.address');
    // The embedded log has no places of Kafka's.
    const log = { topic: 't', system: 'event-log', clientId: null } as const;
    traces.startSend(log, batches.slice(1)).end({ errorType: null, places: () => [] });
    const logged = exporter.getFinishedSpans().at(-1)!;
    // The word of the metrics, so that a trace is found from them.
    expect(logged.attributes['messaging.system']).toBe('tramline_event_log');
    expect(JSON.stringify([logged.attributes, logged.links])).not.toMatch(/kafka|partition/);
    expect(logged.links).toHaveLength(1);
  });

  test('a record’s event is named where it is sent: on its own span, or that of a send of it alone', () => {
    const kept = traces.startAttempt(null, 'equipment').traceparent;
    const eventRow = (id: string): SpanBatch['rows'][number] => ({
      key: 'a',
      headers: [
        ['ce_specversion', '1.0'],
        ['ce_id', id],
        ['ce_source', '/tramline/test'],
        ['ce_type', 'io.tramline.equipment.updated.v1'],
        ['ce_subject', '4711/equipment/1'],
        ['ce_time', '2026-11-22T00:00:00Z'],
        ['traceparent', kept],
      ],
    });
    const named = (id: string) => ({
      'cloudevents.event_spec_version': '1.0',
      'cloudevents.event_id': id,
      'cloudevents.event_source': '/tramline/test',
      'cloudevents.event_type': 'io.tramline.equipment.updated.v1',
      'cloudevents.event_subject': '4711/equipment/1',
    });
    const told = (system: 'kafka' | 'event-log', ...ids: string[]) => {
      exporter.reset();
      traces
        .startSend({ topic: 't', system, clientId: null }, [{ partition: 0, rows: ids.map(eventRow) }])
        .end({ errorType: null, places: () => [] });
      return exporter
        .getFinishedSpans()
        .map(({ name, attributes }) => [
          name,
          Object.fromEntries(Object.entries(attributes).filter(([key]) => key.startsWith('cloudevents.'))),
        ]);
    };
    expect(told('event-log', 'one')).toEqual([['send t', named('one')]]);
    expect(told('kafka', 'one', 'two')).toEqual([
      ['create t', named('one')],
      ['create t', named('two')],
      ['send t', {}],
    ]);
  });

  test('a send of which no record is kept begins a trace, and below no span that nobody recorded', () => {
    const notKept = incoming.replace(/01$/, '00');
    const rows = [rowOf('a', notKept), rowOf('b', null)];
    traces
      .startSend({ topic: 't', system: 'kafka', clientId: null }, [{ partition: 0, rows }])
      .end({ errorType: null, places: () => [] });
    const [send, ...others] = exporter.getFinishedSpans();
    expect(others).toEqual([]);
    expect(send).toMatchObject({ name: 'send t', parentSpanContext: undefined, links: [] });
    expect(send!.spanContext().traceId).not.toBe(parseTraceparent(notKept)!.traceId);
  });

  test('of a send of a thousand records 128 are told, and only those that are recorded', () => {
    const kept = traces.startAttempt(null, 'equipment').traceparent;
    const rows = Array.from({ length: 1000 }, (_, at) =>
      rowOf(`${at}`, at % 4 === 0 ? kept : kept.replace(/01$/, '00')),
    );
    traces
      .startSend({ topic: 't', system: 'kafka', clientId: null }, [{ partition: 0, rows }])
      .end({ errorType: null, places: () => [] });
    const spans = exporter.getFinishedSpans();
    expect(spans.filter(({ name }) => name === 'create t')).toHaveLength(128);
    const { links } = spans.at(-1)!;
    expect(links).toHaveLength(128);
    expect(links.at(-1)?.attributes).toMatchObject({ 'messaging.kafka.message.key': `${127 * 4}` });
  });
});
