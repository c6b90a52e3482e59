// Which traces are kept is decided here, so that a stranger cannot make the service record, and a journey that is
// recorded is recorded to its end.
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { linkedSampler } from '../../../src/observe/telemetry';
import { parseTraceparent } from '../../../src/observe/traces';

const sampler = linkedSampler();
const low = '00000000000000000000000000000001';
const high = 'ffffffff000000000000000000000001';
const traceparent = (traceId: string, flags: string) => `00-${traceId}-b7ad6b7169203331-${flags}`;

/** Whether a span of this name is recorded, under a parent and with a link, each given as a traceparent. */
function isKept(name: string, traceId: string, parent: string | null, link: string | null): boolean {
  const above = parseTraceparent(parent);
  const linked = parseTraceparent(link);
  const context = above === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, above);
  const links = linked === null ? [] : [{ context: linked }];
  return sampler.shouldSample(context, traceId, name, SpanKind.INTERNAL, {}, links).decision === 2;
}

test('one trace in twenty is kept, chosen by its id', () => {
  expect([
    isKept('attempt equipment', low, null, null),
    isKept('attempt equipment', high, null, null),
  ]).toEqual([true, false]);
});

test('a sender’s flag alone does not make us record', () => {
  expect(isKept('POST /webhooks', high, traceparent(high, '01'), null)).toBe(false);
  expect(isKept('POST /webhooks', low, traceparent(low, '00'), null)).toBe(true);
});

test('work that a recorded delivery caused is recorded, and so are its requests', () => {
  expect(isKept('attempt equipment', high, null, traceparent(low, '01'))).toBe(true);
  expect(isKept('GET equipment', high, traceparent(high, '01'), null)).toBe(true);
  expect(isKept('GET equipment', low, traceparent(low, '00'), null)).toBe(false);
});

test('the sampler names itself', () => {
  expect(String(sampler)).toBe('tramline{0.05}');
});
