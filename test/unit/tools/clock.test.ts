/**
 * Loops step until they are stopped, wake when they are told, and survive a step that throws.
 */
import { type Clock, endsWithin, makeLoop, systemClock } from '../../../src/tools/clock';

const settle = async () => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

function waitingClock() {
  const waits: { ms: number; end: () => void }[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    steadyMs: () => 0,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const end = () => resolve();
        signal?.addEventListener('abort', end, { once: true });
        waits.push({ ms, end });
      }),
  };
  return { clock, waits };
}

test('a loop waits as long as its step says, and a wake ends the wait', async () => {
  const { clock, waits } = waitingClock();
  let steps = 0;
  const loop = makeLoop(
    async () => {
      steps += 1;
      return steps * 100;
    },
    clock,
    () => {},
  );
  loop.start();
  loop.start();
  await settle();
  expect([steps, waits.map(({ ms }) => ms)]).toEqual([1, [100]]);
  loop.wake();
  await settle();
  expect([steps, waits.map(({ ms }) => ms)]).toEqual([2, [100, 200]]);
  await loop.stop();
  loop.wake();
  await settle();
  expect(steps).toBe(2);
});

test('a step with nothing to wait for is followed at once by the next', async () => {
  const { clock } = waitingClock();
  let left = 5;
  const loop = makeLoop(
    async () => (left-- > 0 ? 0 : 1000),
    clock,
    () => {},
  );
  loop.start();
  await settle();
  expect(left).toBeLessThan(0);
  await loop.stop();
});

test('a step that throws is told, and tried again after a pause', async () => {
  const { clock, waits } = waitingClock();
  const failures: unknown[] = [];
  const loop = makeLoop(
    () => Promise.reject(new Error('away')),
    clock,
    (error) => void failures.push(error),
    70,
  );
  loop.start();
  await settle();
  expect([failures.length, waits.map(({ ms }) => ms)]).toEqual([1, [70]]);
  await loop.stop();
});

test('what ends in time is told from what does not, and no timer is left', async () => {
  const { clock, waits } = waitingClock();
  expect(await endsWithin(Promise.resolve(), 10, clock)).toBe(true);
  const late = endsWithin(new Promise(() => {}), 10, clock);
  waits.at(-1)!.end();
  expect(await late).toBe(false);
  await expect(endsWithin(Promise.reject(new Error('no')), 10, clock)).rejects.toThrow('no');
});

test('the system clock ends a wait at once when its signal has come', async () => {
  const stopped = AbortSignal.abort();
  const running = new AbortController();
  await systemClock.wait(60_000, stopped);
  const waiting = systemClock.wait(60_000, running.signal);
  running.abort();
  await waiting;
  await systemClock.wait(1);
  expect(Math.abs(systemClock.nowMs() - Date.now())).toBeLessThan(1000);
});

test('what the system clock counts by never goes back, and goes on with the time of day', () => {
  const counted = [systemClock.steadyMs()];
  const day = Date.now();
  const now = jest.spyOn(Date, 'now');
  for (const offMs of [-3_600_000, 600_000, -3_600_000]) {
    now.mockReturnValue(day + offMs);
    counted.push(systemClock.steadyMs());
  }
  now.mockRestore();
  const passedMs = counted.map((ms) => ms - day);
  for (const [nth, aboutMs] of [0, 0, 600_000, 600_000].entries()) {
    expect(passedMs[nth]).toBeGreaterThanOrEqual(aboutMs - 1_000);
    expect(passedMs[nth]).toBeLessThan(aboutMs + 60_000);
  }
  expect(counted).toEqual(counted.toSorted((left, right) => left - right));
});

test('the system clock asks for no timer that Node would warn of and end at once', async () => {
  const timers = jest.spyOn(globalThis, 'setTimeout');
  const ended = new AbortController();
  await systemClock.wait(-Date.now());
  const years = systemClock.wait(100 * 365 * 86_400_000, ended.signal);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([0, 2 ** 31 - 1]);
  ended.abort();
  await years;
  timers.mockRestore();
});
