// Goal: the clock of the random run counts all that on-call's state lags, whatever it is spent on, and leaves out only what
// a busy machine took.
import { makeRunningClock } from '../../support/running-clock';

function stage(samples: { atMs: number; waits: Record<string, number> }[]) {
  const [first, ...rest] = samples;
  let current = first!;
  const clock = makeRunningClock(
    () => [1],
    () => new Map(Object.entries(current.waits)),
    () => current.atMs,
  );
  return rest.map((sample) => {
    current = sample;
    return clock.nowMs();
  });
}

test('what is spent waiting for others counts in full, however long it takes', () => {
  expect(
    stage([
      { atMs: 0, waits: { a: 0 } },
      { atMs: 25, waits: { a: 0 } },
      { atMs: 5025, waits: { a: 0 } },
    ]),
  ).toEqual([25, 5025]);
});

test('what a thread was ready and had no core is taken off, once where several had none', () => {
  expect(
    stage([
      { atMs: 0, waits: { a: 100, b: 0 } },
      { atMs: 100, waits: { a: 130, b: 40 } },
      { atMs: 200, waits: { a: 130, b: 40 } },
    ]),
  ).toEqual([60, 160]);
});

test('never is more taken off than passed, nor anything of what a thread waited before it was seen', () => {
  expect(
    stage([
      { atMs: 0, waits: { a: 0 } },
      { atMs: 10, waits: { a: 500 } },
      { atMs: 30, waits: { a: 500, b: 900 } },
    ]),
  ).toEqual([0, 20]);
});

test('of this machine it is real time that is counted', () => {
  const before = performance.now();
  const clock = makeRunningClock(() => []);
  const begun = performance.now();
  // Long enough to be told from nothing: the clock itself reads nothing here.
  const some = Array.from({ length: 100_000 }, Math.random).sort();
  const ending = performance.now();
  const counted = clock.nowMs();
  expect(some).toHaveLength(100_000);
  expect(counted).toBeGreaterThanOrEqual(ending - begun);
  expect(counted).toBeLessThanOrEqual(performance.now() - before);
});
