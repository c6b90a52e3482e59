// Goal: a wall clock that is corrected by an hour delays no page, no repetition and no end, and no page names a time ahead.
// Method: the real parts on a store in memory; the clock is set back in the middle of what lasts.
import { makeAlerting } from '../../../src/alert/alerting';
import { pageOf } from '../../../src/alert/page';
import type { AlertSink, PostResult } from '../../../src/alert/sink';
import type { Alert, Condition } from '../../../src/model/alert';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { aBlocked, noonMs, alertingOptions as options } from './samples';

const hourMs = 3_600_000;

function setUp() {
  const clock = makeHandClock(noonMs);
  const store = makeMemoryAlerts();
  const posts: Alert[][] = [];
  const sink = {
    name: 'alertmanager',
    repeats: true,
    keeps: true,
    works: true as boolean,
    async post(alerts: Alert[]): Promise<PostResult> {
      if (!sink.works) throw new Error('away');
      posts.push(alerts);
      return { taken: alerts.map(({ fingerprint }) => fingerprint), failed: [] };
    },
  } satisfies AlertSink & { works: boolean };
  const conditions: Condition[] = [];
  const parts = { store, holder: 'a', sinks: [sink], clock, options, random: () => 0.999 };
  const alerting = makeAlerting({ ...parts, conditions: () => conditions });
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1000);
      await alerting.step();
    }
  };
  /** What was told of the store's trouble since the last call. */
  const told = () =>
    posts
      .splice(0)
      .flatMap((alerts) => alerts.flatMap(({ name, state }) => (name === alertName ? [state] : [])));
  const trouble = (): Condition => ({
    name: 'rate-limited',
    sinceMs: clock.steadyMs(),
    detail: 'Slow down.',
  });
  return { clock, store, sink, posts, conditions, pass, told, trouble };
}

const alertName = 'TramlineRateLimited';
/** Ends that are told at a start are over. */
const settledSeconds = 120;

test('what is gathered pages within its second', async () => {
  const { clock, conditions, pass, told, trouble } = setUp();
  await pass(settledSeconds);
  told();
  conditions.push(trouble());
  await pass(1);
  expect(told()).toEqual([]);
  clock.setBack(hourMs);
  await pass(3);
  expect(told()).toEqual(['firing']);
});

test('what fires is repeated as before', async () => {
  const { clock, conditions, pass, told, trouble } = setUp();
  await pass(settledSeconds);
  conditions.push(trouble());
  await pass(30);
  clock.setBack(hourMs);
  told();
  await pass(180);
  expect(told().length).toBeGreaterThanOrEqual(3);
});

test('a sink that failed is tried again within its back-off', async () => {
  const { clock, sink, conditions, pass, told, trouble } = setUp();
  await pass(settledSeconds);
  sink.works = false;
  conditions.push(trouble());
  await pass(30);
  clock.setBack(hourMs);
  sink.works = true;
  told();
  await pass(35);
  expect(told()).toContain('firing');
});

test('what is held is held for no longer', async () => {
  const { clock, conditions, pass, told, trouble } = setUp();
  conditions.push(trouble());
  await pass(settledSeconds);
  conditions.length = 0;
  await pass(10);
  clock.setBack(hourMs);
  told();
  await pass(options.holdMs / 1000 + 5);
  expect(told()).toContain('resolved');
});

test('no page names a time that lies ahead, neither of what holds, nor of what is held, nor of an end', async () => {
  const { clock, store, posts, conditions, pass, trouble } = setUp();
  const ahead = () =>
    posts.splice(0).flatMap((alerts) =>
      alerts
        // What an alert said while it fired is quoted as it was said.
        .map((alert) => pageOf(alert).replace(/^While it fired, it said: .*$/m, ''))
        .flatMap((page) => page.match(/(since|from|to|came at) \d{4}-[\dT:-]+Z/g) ?? [])
        .filter((since) => Date.parse(since.split(' ').at(-1)!) > clock.nowMs()),
    );
  conditions.push(trouble());
  store.inputs.blocked = [aBlocked({ sinceMs: noonMs + 2000 })];
  store.inputs.quarantined = [{ reason: 'no-access', count: 1, oldestMs: noonMs + 2000 }];
  await pass(60);
  clock.setBack(hourMs);
  // These began after the clock was set back, by one that goes on.
  conditions.push({ name: 'client-refused', sinceMs: clock.steadyMs(), detail: 'No scope.' });
  store.inputs.blocked.push(aBlocked({ organizationId: '4712', sinceMs: clock.steadyMs() }));
  posts.length = 0;
  await pass(90);
  expect(ahead()).toEqual([]);
  conditions.length = 0;
  await pass(5);
  clock.setBack(hourMs);
  posts.length = 0;
  await pass(90);
  expect(posts.length).toBeGreaterThan(0);
  expect(ahead()).toEqual([]);
});
