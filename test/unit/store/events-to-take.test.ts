import { eventsToTake } from '../../../src/store/events-to-take';
import { eventKeptMs } from '../../../src/store/store-rules';

const nowMs = 1_000_000_000;
const eventMs = 30 * 86_400_000;
const event = (row: string, ageMs: number, mayGo = true, bytes = 100) => ({
  row,
  sentAtMs: nowMs - ageMs,
  bytes,
  mayGo,
});
const old = eventMs + 1;
const settled = eventKeptMs + 1;

test('by age alone goes what may, up to the first that is young', () => {
  const events = [event('a', old), event('newest', old, false), event('b', old), event('c', settled)];
  expect(eventsToTake(events, { nowMs, eventMs, excess: 0 })).toEqual({ gone: ['a', 'b'], until: 3 });
});

test('what is too much goes before its time, no more than is needed, and never a newest', () => {
  const events = [
    event('newest', settled, false),
    event('a', settled),
    event('b', settled),
    event('c', settled),
  ];
  expect(eventsToTake(events, { nowMs, eventMs, excess: 101 })).toEqual({ gone: ['a', 'b'], until: 3 });
  expect(eventsToTake(events, { nowMs, eventMs, excess: 100 })).toEqual({ gone: ['a'], until: 2 });
});

test('what was sent a moment ago stays, however large the log is', () => {
  const events = [event('a', settled), event('b', eventKeptMs), event('c', 0)];
  expect(eventsToTake(events, { nowMs, eventMs, excess: 1e9 })).toEqual({ gone: ['a'], until: 1 });
});

test('where events are kept for less than that, their time holds', () => {
  const events = [event('a', 1001), event('b', 1000)];
  expect(eventsToTake(events, { nowMs, eventMs: 1000, excess: 1 })).toEqual({ gone: ['a'], until: 1 });
});
