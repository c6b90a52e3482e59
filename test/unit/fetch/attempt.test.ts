import { Attempt } from '../../../src/fetch/attempt';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('the deadline stops what is under way, once', () => {
  const attempt = new Attempt(100);
  const cuts: string[] = [];
  attempt.whenCut((cut) => cuts.push(cut));
  jest.advanceTimersByTime(99);
  expect(cuts).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(cuts).toEqual(['deadline']);
  expect(attempt.cut).toBe('deadline');
});

/** The next timer that is due is noticed so much late. */
function stoodStillFor(ms: number): void {
  jest.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);
  jest.advanceTimersByTime(100);
  jest.restoreAllMocks();
}

test.each([
  [200, 1000],
  [60_000, 1000],
  [199, 0],
])(
  'a deadline of 100 ms that is noticed after %i ms leaves %i ms for what came meanwhile',
  (afterMs, leftMs) => {
    const attempt = new Attempt(100);
    stoodStillFor(afterMs);
    for (let ms = 0; ms < leftMs; ms += 1) {
      expect(attempt.cut).toBeNull();
      jest.advanceTimersByTime(1);
    }
    expect(attempt.cut).toBe('deadline');
  },
);

test('an ended attempt is cut no more and leaves nothing behind', () => {
  const stop = new AbortController();
  const attempt = new Attempt(100, stop.signal);
  attempt.whenCut(() => {
    throw new Error('cut after its end');
  });
  expect(attempt.end().tookMs).toBeGreaterThanOrEqual(0);
  expect(jest.getTimerCount()).toBe(0);
  stop.abort();
  expect(attempt.cut).toBeNull();
});

test('a stopping process cuts it, also before it begins', () => {
  const stop = new AbortController();
  const attempt = new Attempt(100, stop.signal);
  stop.abort();
  expect(attempt.cut).toBe('aborted');
  jest.advanceTimersByTime(100);
  expect(attempt.cut).toBe('aborted');
  expect(new Attempt(100, stop.signal).cut).toBe('aborted');
});

test('all attempts under one signal are cut by it, but for those that have ended', () => {
  const stop = new AbortController();
  const attempts = [1, 2, 3].map(() => new Attempt(100, stop.signal));
  attempts[1]!.end();
  stop.abort();
  expect(attempts.map(({ cut }) => cut)).toEqual(['aborted', null, 'aborted']);
});

test('a wait for shared work ends with the work, or with the attempt', async () => {
  const attempt = new Attempt(100);
  expect(await attempt.during(Promise.resolve('done'))).toBe('done');
  const waiting = attempt.during(new Promise(() => {}));
  jest.advanceTimersByTime(100);
  expect(await waiting).toBe('deadline');
  expect(await attempt.during(Promise.resolve('done'))).toBe('deadline');
});
