/** What crosses between the threads arrives as it was sent, whatever is beside it. */
import type { Delivery } from '../../../src/model/notification';
import type { Result } from '../../../src/store/group';
import { packCalls, packResults, unpackCalls, unpackResults } from '../../../src/store/sqlite/crossing';
import type { Call } from '../../../src/store/sqlite/engine';

const delivery: Delivery = {
  receivedAtMs: 1_790_000_000_000,
  messageId: 'msg_1',
  bodyHash: 'ab'.repeat(32),
  bytes: 400,
  traceparent: null,
  elements: [
    { line: 'hint', eventTypeId: 'equipment', address: 'https://a/1', organizationId: '4711', user: null },
    { line: 'acted', eventTypeId: 'action', probeOrganizationId: '4711', dueAt: '2026-12-01T00:00:00.000Z' },
    { line: 'ignored', eventTypeId: 'other', address: null },
    { line: 'quarantined', reason: 'unauthenticated', path: '/token', raw: '{}' },
    { line: 'hint', eventTypeId: 'equipment', address: 'https://a/2', organizationId: null, user: 'u1' },
  ],
};

const calls: Call[] = [
  { verb: 'take', args: [7] },
  { verb: 'put', args: [delivery] },
  { verb: 'put', args: [{ ...delivery, messageId: null, elements: [] }] },
  { verb: 'markSent', args: [[{ id: 1 }], 'holder'] },
  { verb: 'put', args: [{ ...delivery, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }] },
];

test('deliveries of every kind of element, and the calls between them, arrive as they were', () => {
  expect(unpackCalls(structuredClone(packCalls(calls)))).toEqual(calls);
  expect(unpackCalls(packCalls([]))).toEqual([]);
});

test('each call gets its own answer: a value, what was set aside with it, or a problem', () => {
  const accepted = { deliveryId: 'd12', repeated: false, idReused: false, due: 2, probes: true };
  const results: Result[] = [
    { value: [] },
    { value: accepted, setAside: ['unauthenticated'] },
    { value: { ...accepted, deliveryId: 'd13', repeated: true, due: 0 } },
    { value: undefined },
    { code: 'store.refused', message: 'a row is wrong' },
  ];
  expect(unpackResults(structuredClone(packResults(calls, results)))).toEqual(results);
  expect(unpackResults(packResults([], []))).toEqual([]);
});
