// Probes decide whether a process is restarted or left without work; each answer has one cause.
import { makeHealth } from '../../../src/observe/health';

afterEach(() => void jest.useRealTimers());

test('a process is alive whenever it can answer, and not ready before it listens', async () => {
  const health = makeHealth(async () => {});
  expect(health.live()).toEqual({ status: 'live' });
  expect(await health.ready()).toEqual({ status: 'not-ready', reason: 'starting' });
  health.markStarted();
  expect(await health.ready()).toEqual({ status: 'ready' });
});

test('a store that refuses makes it not ready, and ready again when it answers', async () => {
  let works = false;
  const health = makeHealth(async () => {
    if (!works) throw new Error('down');
  });
  health.markStarted();
  expect(await health.ready()).toEqual({ status: 'not-ready', reason: 'store' });
  works = true;
  expect(await health.ready()).toEqual({ status: 'ready' });
});

test('a store that hangs is answered for in time, and asked once however many probes come', async () => {
  jest.useFakeTimers();
  let asked = 0;
  const health = makeHealth(() => {
    asked += 1;
    return new Promise(() => {});
  });
  health.markStarted();
  const answers = Promise.all([health.ready(), health.ready(), health.ready()]);
  await jest.advanceTimersByTimeAsync(1000);
  expect(await answers).toEqual(Array(3).fill({ status: 'not-ready', reason: 'store' }));
  expect(asked).toBe(1);
});

test('a draining process is not ready and does not become ready again', async () => {
  const health = makeHealth(async () => {});
  health.markStarted();
  health.markDraining();
  health.markStarted();
  expect(await health.ready()).toEqual({ status: 'not-ready', reason: 'draining' });
});
