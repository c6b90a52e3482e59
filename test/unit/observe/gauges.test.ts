/**
 * Goal: gauges say what the store says now. One that does not answer, hangs, or takes its time to count hides no other
 * metric, and what it counted before is not told as what is.
 */
import { makeMetrics } from '../../../src/observe/metrics';
import { startTelemetry } from '../../../src/observe/telemetry';
import { accepted, gauges, unexported } from './sample-lines';

const options = { ...unexported, exportMetrics: null };

test('a store that does not answer leaves the other metrics readable', async () => {
  const other = startTelemetry(options);
  const gone = () => Promise.reject(new Error('gone'));
  const failing = makeMetrics(other.meter, { ...gauges, ready: gone, counts: gone });
  failing.deliveryAccepted(accepted);
  const text = await other.metricsText();
  expect(text).toContain('tramline_store_reachable 0\n');
  expect(text).toContain('tramline_deliveries_total{outcome="accepted"} 1\n');
  expect(text).not.toContain('tramline_inbox_pending ');
  failing.stop();
  await other.shutdown();
});

test('a store that hangs is not reachable before whoever collects gives up, also where it answered the time before', async () => {
  jest.useFakeTimers({ doNotFake: ['performance', 'hrtime', 'Date', 'nextTick', 'setImmediate'] });
  const other = startTelemetry(options);
  let hangs = false;
  const answered = <Answer>(answer: () => Promise<Answer>) =>
    hangs ? new Promise<never>(() => {}) : answer();
  const failing = makeMetrics(other.meter, {
    ...gauges,
    ready: () => answered(gauges.ready),
    counts: () => answered(gauges.counts),
  });
  expect(await other.metricsText()).toContain('tramline_store_reachable 1\n');
  hangs = true;
  const text = other.metricsText();
  await jest.advanceTimersByTimeAsync(800);
  expect(await text).toContain('tramline_store_reachable 0\n');
  failing.stop();
  await other.shutdown();
  jest.useRealTimers();
});

test('a store is asked whether it takes writes before it counts, which takes its time', async () => {
  const other = startTelemetry(options);
  const asked: string[] = [];
  const failing = makeMetrics(other.meter, {
    ...gauges,
    async ready() {
      asked.push('ready');
      await new Promise(setImmediate);
      asked.push('answered');
    },
    counts: () => {
      asked.push('counts');
      return new Promise<never>(() => {});
    },
  });
  const text = await other.metricsText();
  expect(asked).toEqual(['ready', 'answered', 'counts']);
  expect(text).toContain('tramline_store_reachable 1\n');
  expect(text).not.toContain('tramline_inbox_pending ');
  failing.stop();
  await other.shutdown();
});

test('a store that answers and takes no writes is not reachable, and what it counts is shown', async () => {
  const other = startTelemetry(options);
  const failing = makeMetrics(other.meter, { ...gauges, ready: () => Promise.reject(new Error('full')) });
  const text = await other.metricsText();
  expect(text).toContain('tramline_store_reachable 0\n');
  expect(text).toContain('tramline_inbox_pending 7\n');
  // The lease of whoever evaluates cannot be renewed, which says nothing of them, nor does what could be saved of alerts.
  for (const name of ['alerts_unattended_seconds', 'alerts_active', 'alert_over_age_seconds'])
    expect(text).not.toMatch(new RegExp(`^tramline_${name}[ {]`, 'm'));
  failing.stop();
  await other.shutdown();
});

/** A store whose counts answer when they are told to. */
function slowStore() {
  const asked: { answer(waiting: number): void; fail(): void }[] = [];
  const telemetry = startTelemetry(options);
  const metrics = makeMetrics(telemetry.meter, {
    ...gauges,
    counts: async () => {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      asked.push({ answer: resolve, fail: () => reject(new Error('gone')) });
      return { ...(await gauges.counts()), waiting: await promise };
    },
  });
  return {
    asked,
    /** What a collection tells after the 800 ms that it waits. */
    async late() {
      const text = telemetry.metricsText();
      await jest.advanceTimersByTimeAsync(800);
      return text;
    },
    async stop() {
      metrics.stop();
      await telemetry.shutdown();
    },
  };
}

describe('a store that takes longer to count than a collection waits', () => {
  let store: ReturnType<typeof slowStore>;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['hrtime', 'Date', 'nextTick', 'setImmediate'] });
    store = slowStore();
  });
  afterEach(async () => {
    jest.useRealTimers();
    await store.stop();
  });

  test('counts once however often it is collected, and the next collection tells it', async () => {
    expect(await store.late()).not.toContain('tramline_inbox_pending ');
    expect(await store.late()).toContain('tramline_store_reachable 1\n');
    expect(store.asked).toHaveLength(1);
    store.asked[0]!.answer(41);
    await jest.advanceTimersByTimeAsync(0);
    expect(await store.late()).toContain('tramline_inbox_pending 41\n');
    expect(store.asked).toHaveLength(2);
  });

  test('is told for a minute after its last count, and then not at all', async () => {
    await store.late();
    store.asked[0]!.answer(41);
    await jest.advanceTimersByTimeAsync(58_000);
    expect(await store.late()).toContain('tramline_inbox_pending 41\n');
    await jest.advanceTimersByTimeAsync(2000);
    const text = await store.late();
    expect(text).not.toContain('tramline_inbox_pending ');
    expect(text).not.toContain('tramline_tasks{');
    expect(text).toContain('tramline_store_reachable 1\n');
  });

  test('and fails at last is asked anew by the next collection', async () => {
    await store.late();
    store.asked[0]!.fail();
    await jest.advanceTimersByTimeAsync(0);
    await store.late();
    expect(store.asked).toHaveLength(2);
  });
});

test('what a store counted is left out once it cannot count', async () => {
  const telemetry = startTelemetry(options);
  let counts = gauges.counts;
  const metrics = makeMetrics(telemetry.meter, { ...gauges, counts: () => counts() });
  metrics.deliveryAccepted(accepted);
  expect(await telemetry.metricsText()).toContain('tramline_inbox_pending 7\n');
  counts = () => Promise.reject(new Error('gone'));
  const text = await telemetry.metricsText();
  // It takes writes all the same: one table that cannot be read is no store that is away.
  expect(text).toContain('tramline_store_reachable 1\n');
  for (const name of ['inbox_pending', 'tasks', 'organizations', 'ended_by_fault_age_seconds'])
    expect(text).not.toMatch(new RegExp(`^tramline_${name}[ {]`, 'm'));
  expect(text).toContain('tramline_deliveries_total{outcome="accepted"} 1\n');
  metrics.stop();
  await telemetry.shutdown();
});
