// Memory is asked back when most of the heap can only be garbage, and never while it lives.
let heapBytes = 0;
let collections = 0;

jest.mock('node:v8', () => ({
  setFlagsFromString: () => {},
  getHeapStatistics: () => ({ total_heap_size: heapBytes }),
}));
jest.mock('node:vm', () => ({
  runInNewContext: () => () => {
    collections += 1;
    heapBytes /= 4;
  },
}));

import { collectEarly } from '../../../src/tools/collect-early';

const megabyte = 1024 * 1024;

beforeEach(() => {
  collections = 0;
  jest.useFakeTimers();
  collectEarly();
});
afterEach(() => {
  jest.clearAllTimers();
  jest.useRealTimers();
});

test('a small heap is left alone', () => {
  heapBytes = 50 * megabyte;
  jest.advanceTimersByTime(10_000);
  expect(collections).toBe(0);
});

test('a heap that has grown is collected, and again only when it has doubled', () => {
  heapBytes = 160 * megabyte;
  jest.advanceTimersByTime(500);
  expect(collections).toBe(1);
  heapBytes = 79 * megabyte;
  jest.advanceTimersByTime(5000);
  expect(collections).toBe(1);
  heapBytes = 80 * megabyte;
  jest.advanceTimersByTime(500);
  expect(collections).toBe(2);
});
