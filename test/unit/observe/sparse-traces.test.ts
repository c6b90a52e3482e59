// Most journeys are not recorded, and cost next to nothing then: what the SDK would not keep it is not asked about, and what
// it would keep is recorded to its end, under the same ids.
import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { makeSparseTraces, makeTraceIds } from '../../../src/observe/sparse-traces';
import { linkedSampler } from '../../../src/observe/telemetry';
import { makeRecordedTraces, parseTraceparent, type SpanBatch } from '../../../src/observe/traces';

const kept = '00000000000000000000000000000001';
const lost = 'ffffffff000000000000000000000001';
const from = (traceId: string, flags: string) => `00-${traceId}-b7ad6b7169203331-${flags}`;
const request = { template: 'equipment', address: 'https://api.example/1' };
const done = { status: 200, errorType: null };

const exporter = new InMemorySpanExporter();
const ids = makeTraceIds();
let asked = 0;
const sampler = linkedSampler();
const counting = {
  shouldSample: (...given: Parameters<typeof sampler.shouldSample>) => {
    asked += 1;
    return sampler.shouldSample(...given);
  },
};
const provider = new BasicTracerProvider({
  sampler: counting,
  idGenerator: ids,
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});
const isKept = (traceId: string) =>
  sampler.shouldSample(ROOT_CONTEXT, traceId, 'POST /webhooks', SpanKind.SERVER, {}, []).decision !== 0;
const traces = makeSparseTraces({ recorded: makeRecordedTraces(provider.getTracer('test')), isKept, ids });

/** A journey of a delivery, and the names of the spans that came of it. */
function journey(incoming: string | null) {
  exporter.reset();
  const delivery = traces.startDelivery(incoming);
  const attempt = traces.startAttempt(delivery.traceparent, 'equipment');
  traces.startFetch(attempt.traceparent, request).end({ ...done, resendCount: 0 });
  attempt.end({ outcome: 'published', errorType: null });
  delivery.end(done);
  const contexts = [delivery, attempt].map(({ traceparent }) => parseTraceparent(traceparent)!);
  return { contexts, names: exporter.getFinishedSpans().map(({ name }) => name) };
}

test('one that is not kept asks nobody and goes on under its ids, whatever flag it came with', () => {
  asked = 0;
  for (const flags of ['00', '01']) {
    const { contexts, names } = journey(from(lost, flags));
    expect(names).toEqual([]);
    expect(contexts.map(({ traceId, traceFlags }) => [traceId, traceFlags])).toEqual([
      [lost, 0],
      [lost, 0],
    ]);
    expect(new Set(contexts.map(({ spanId }) => spanId)).size).toBe(2);
  }
  expect(asked).toBe(0);
});

test('one that is kept is recorded to its end, whatever flag it came with', () => {
  for (const flags of ['00', '01']) {
    const { contexts, names } = journey(from(kept, flags));
    expect(names).toEqual(['GET equipment', 'attempt equipment', 'POST /webhooks']);
    expect(contexts.map(({ traceId, traceFlags }) => [traceId, traceFlags])).toEqual([
      [kept, 1],
      [kept, 1],
    ]);
  }
});

test('of those that begin here so many are kept as their ids say, and no other', () => {
  const journeys = Array.from({ length: 400 }, () => journey(null));
  const recorded = journeys.filter(({ names }) => names.length > 0);
  expect(recorded.length).toBeGreaterThan(0);
  expect(recorded.length).toBeLessThan(journeys.length / 2);
  for (const { contexts, names } of journeys) {
    const [delivery, attempt] = contexts;
    const flag = isKept(delivery!.traceId) ? 1 : 0;
    expect([names.length, delivery!.traceFlags, attempt!.traceFlags]).toEqual([flag * 3, flag, flag]);
    expect(attempt!.traceId).toBe(delivery!.traceId);
  }
});

test('a send is recorded with any of its records, and each of these to its end; without one nobody is asked', () => {
  exporter.reset();
  asked = 0;
  const row = (traceId: string, flags: string): SpanBatch['rows'][number] => ({
    key: traceId,
    headers: [['traceparent', from(traceId, flags)]],
  });
  const others = [row(lost, '00'), row(lost, '00')];
  const send = (rows: SpanBatch['rows']) =>
    traces
      .startSend({ topic: 't', system: 'kafka', clientId: null }, [{ partition: 0, rows }])
      .end({ errorType: null, places: () => [] });
  send(others);
  send(others.slice(1));
  expect([asked, exporter.getFinishedSpans()]).toEqual([0, []]);
  send([...others, row(kept, '01')]);
  const spans = exporter.getFinishedSpans();
  expect(spans.map((span) => [span.name, span.spanContext().traceId, span.links.length])).toEqual([
    ['create t', kept, 1],
    ['send t', kept, 1],
  ]);
});
