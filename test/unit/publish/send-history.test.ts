/**
 * How a long history is cut into pieces for Kafka: in order, whole, each within the bounds of one send.
 */
import type { SelectedEvent } from '../../../src/model/replay';
import { chunksOf } from '../../../src/publish/send-history';

const eventsOf = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, row) => ({ row, bytes }) as SelectedEvent);

const sizes = (count: number, bytes: number) => chunksOf(eventsOf(count, bytes)).map(({ length }) => length);

test('a piece holds at most five hundred events', () => {
  expect(sizes(1100, 10)).toEqual([500, 500, 100]);
});

test('a piece holds at most four megabytes, and an event that is larger alone is a piece of its own', () => {
  expect(sizes(5, 1_500_000)).toEqual([2, 2, 1]);
  expect(sizes(2, 5_000_000)).toEqual([1, 1]);
});

test('nothing is left out and nothing changes its place', () => {
  const events = eventsOf(1234, 9000);
  expect(chunksOf(events).flat()).toEqual(events);
});

test('of nothing there is one empty piece', () => {
  expect(sizes(0, 0)).toEqual([0]);
});
