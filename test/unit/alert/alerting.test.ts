// Goal: on-call's state follows the true state, through failing and slow sinks, restarts and a store that is away.
// Method: the real parts on a store in memory, recording sinks and a clock that is moved by hand.
import { type AlertingParts, makeAlerting } from '../../../src/alert/alerting';
import { pageOf } from '../../../src/alert/page';
import type { AlertSink, PostResult, SinkName } from '../../../src/alert/sink';
import type { Alert, Condition } from '../../../src/model/alert';
import { Problem } from '../../../src/model/problem';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import fc from '../../support/properties';
import { aBlocked, anAlert, noonMs, alertingOptions as options } from './samples';

/** A sink that keeps what it took; `answer` may be replaced to make it fail. */
function recordingSink(name: SinkName, repeats: boolean, keeps = false) {
  const posts: Alert[][] = [];
  const sink = {
    name,
    repeats,
    keeps,
    posts,
    answer: async (alerts: Alert[]): Promise<PostResult> => ({
      taken: alerts.map((alert) => alert.fingerprint),
      failed: [],
    }),
    post: (alerts: Alert[]) => {
      posts.push(alerts);
      return sink.answer(alerts);
    },
    /** What was posted since the last call, as `name state`. */
    news: () => posts.splice(0).map((alerts) => alerts.map((alert) => `${alert.name} ${alert.state}`)),
  };
  return sink satisfies AlertSink;
}

function setUp(parts: Partial<AlertingParts> = {}) {
  const clock = makeHandClock(noonMs);
  const store = makeMemoryAlerts();
  const manager = recordingSink('alertmanager', true);
  const log = recordingSink('log', false);
  const conditions: Condition[] = [];
  const make = () =>
    makeAlerting({
      store,
      holder: 'a',
      sinks: [manager, log],
      clock,
      conditions: () => conditions,
      options,
      random: () => 0.999,
      ...parts,
    });
  let alerting = make();
  const world = {
    clock,
    store,
    manager,
    log,
    conditions,
    step: () => alerting.step(),
    close: () => alerting.close(),
    remembered: () => alerting.remembered(),
    isBehind: () => alerting.isBehind(),
    /** A new process on the same store. */
    restart() {
      alerting = make();
    },
    /** Steps once in every second, or every few. */
    async pass(times: number, everySeconds = 1) {
      for (let time = 0; time < times; time += 1) {
        await clock.advance(everySeconds * 1000);
        await alerting.step();
      }
    },
  };
  return world;
}

const terms = 'TramlineTermsRequired';

test('a block pages each sink once, after a second in which more could have come', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  expect(await world.step()).toBe('empty');
  await world.clock.advance(1000);
  expect(await world.step()).toBe('worked');
  expect(world.manager.news()).toEqual([[`${terms} firing`]]);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
  expect(await world.step()).toBe('empty');
  expect(world.store.rows()).toMatchObject([
    {
      startsAtMs: noonMs,
      sent: { alertmanager: { state: 'firing', failures: 0 }, log: { state: 'firing', failures: 0 } },
    },
  ]);
});

test('the alert is saved before it is posted', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  await world.step();
  await world.clock.advance(1000);
  world.manager.answer = async () => {
    expect(world.store.rows()).toMatchObject([{ state: 'firing', sent: {} }]);
    return { taken: [anAlert().fingerprint], failed: [] };
  };
  await world.step();
  expect(world.store.rows()[0]?.sent.alertmanager).toMatchObject({ state: 'firing' });
});

test('what fires is sent again every minute, with fresh texts, to the sink that needs it', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  world.manager.news();
  world.store.inputs.blocked = [aBlocked({ parked: 9 })];
  await world.pass(58);
  expect(world.manager.posts).toEqual([]);
  await world.pass(2);
  expect(world.manager.posts).toMatchObject([
    [{ annotations: { description: expect.stringContaining('9 tasks wait') }, startsAtMs: noonMs }],
  ]);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
});

test('texts are saved no more often than they are sent', async () => {
  const world = setUp({ sinks: [] });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  const writes = world.store.writes.length;
  for (let parked = 10; parked < 70; parked += 1) {
    world.store.inputs.blocked = [aBlocked({ parked })];
    await world.pass(1);
  }
  expect(world.store.writes.length - writes).toBe(1);
  expect(world.store.rows()[0]?.annotations.description).toMatch(/\d\d tasks wait/);
});

test('an acceptance ends the alert after its hold, and the end is sent again for ten minutes', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  world.store.inputs.blocked = [];
  await world.pass(30);
  expect(world.store.rows()).toMatchObject([{ state: 'firing', quietSinceMs: noonMs + 4000 }]);
  world.manager.news();
  world.log.news();
  await world.pass(1);
  expect(world.manager.news()).toEqual([[`${terms} resolved`]]);
  expect(world.log.news()).toEqual([[`${terms} resolved`]]);
  await world.pass(1200);
  expect(world.manager.news()).toEqual(Array.from({ length: 9 }, () => [`${terms} resolved`]));
  expect(world.log.news()).toEqual([]);
  expect(await world.step()).toBe('empty');
});

test('F-11, A-8: a state that comes and goes each few seconds is one incident', async () => {
  const world = setUp();
  for (let second = 0; second < 300; second += 1) {
    world.store.inputs.blocked = second % 20 < 5 ? [aBlocked({ sinceMs: world.clock.nowMs() })] : [];
    await world.pass(1);
  }
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
  expect(world.store.rows()).toMatchObject([{ state: 'firing', startsAtMs: noonMs + 1000 }]);
});

test('a state that comes back after its end is a new incident under the same identity', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  world.store.inputs.blocked = [];
  await world.pass(40);
  world.store.inputs.blocked = [aBlocked({ sinceMs: noonMs + 43_000 })];
  await world.pass(3);
  expect(world.log.news().flat()).toEqual([`${terms} firing`, `${terms} resolved`, `${terms} firing`]);
  expect(world.store.rows()).toMatchObject([{ state: 'firing', startsAtMs: noonMs + 43_000 }]);
});

test('a condition pages, and ends when it is not named any more', async () => {
  const world = setUp();
  world.conditions.push({ name: 'kafka-unavailable', sinceMs: noonMs, detail: 'No broker answers.' });
  await world.pass(3);
  world.conditions.length = 0;
  await world.pass(40);
  expect(world.log.news().flat()).toEqual([
    'TramlineKafkaUnavailable firing',
    'TramlineKafkaUnavailable resolved',
  ]);
});

test('A-6: 5,000 organizations blocked within seconds are one incident and few posts', async () => {
  const world = setUp();
  const all = Array.from({ length: 5000 }, (_, id) =>
    aBlocked({ organizationId: `${id}`, sinceMs: noonMs + id }),
  );
  // The first thirty are met before the others.
  for (const known of [30, 30, 30, 3000, 5000]) {
    world.store.inputs.blocked = all.slice(0, known);
    await world.pass(1);
  }
  const open = world.store.rows().filter((alert) => alert.state === 'firing');
  expect(open).toMatchObject([{ name: 'TramlineManyOrganizationsBlocked', startsAtMs: noonMs }]);
  expect(world.store.rows()).toHaveLength(31);
  // Whoever is still blocked is not told that it is over.
  const ended = world.log.posts.flat().filter(({ state }) => state === 'resolved');
  expect(ended).toHaveLength(30);
  for (const alert of ended) {
    expect(pageOf(alert)).toContain('It goes on as a part of TramlineManyOrganizationsBlocked.');
  }
  await world.pass(5, 11);
  expect(world.manager.posts.length).toBeLessThanOrEqual(10);
  world.store.inputs.blocked = all.slice(0, 2);
  await world.pass(12, 10);
  expect(world.store.rows().filter((alert) => alert.state === 'firing')).toHaveLength(1);
  world.store.inputs.blocked = [];
  await world.pass(40);
  expect(world.store.rows().every((alert) => alert.state === 'resolved')).toBe(true);
});

test('a block that is for another cause now goes on as that alert, and is over with it', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  world.store.inputs.blocked = [aBlocked({ cause: 'refused-grant', sinceMs: noonMs + 3000 })];
  await world.pass(40);
  world.store.inputs.blocked = [];
  await world.pass(40);
  const ends = world.log.posts.flat().filter(({ state }) => state === 'resolved');
  expect(ends.map((alert) => `${alert.name}: ${pageOf(alert).split('\n')[1]}`)).toEqual([
    'TramlineTermsRequired: It goes on as a part of TramlineReauthorize.',
    'TramlineReauthorize: It is over; nothing is left to do.',
  ]);
});

test('one that goes on as another is shown as over as soon as that is over too, before it is sent again', async () => {
  const world = setUp();
  const shown = () => {
    const held = world.store.rows().find(({ name }) => name === terms);
    return [held?.state, held?.annotations.closes_at !== undefined, held?.annotations.goes_on_as];
  };
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  world.store.inputs.blocked = [aBlocked({ cause: 'refused-grant', sinceMs: noonMs + 3000 })];
  await world.pass(3);
  expect(shown()).toEqual(['firing', true, 'TramlineReauthorize']);
  world.store.inputs.blocked = [];
  await world.pass(2);
  expect(shown()).toEqual(['firing', true, undefined]);
});

test('A-1: while a sink fails, the other is served, and then it gets the latest state with the first start', async () => {
  const world = setUp();
  const { answer } = world.manager;
  world.manager.answer = () => Promise.reject(new Error('away'));
  world.store.inputs.blocked = [aBlocked(), aBlocked({ organizationId: '2' })];
  await world.pass(1800);
  expect(world.log.news()).toEqual([[`${terms} firing`, `${terms} firing`]]);
  expect(world.manager.posts.length).toBeLessThan(80);
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(60);
  world.manager.news();
  world.manager.answer = answer;
  await world.pass(31);
  // It may have taken an earlier post without our hearing of it, so it is told of the end as well.
  expect(world.manager.posts).toMatchObject([
    [{ state: 'firing', startsAtMs: noonMs }, { state: 'resolved' }],
  ]);
  expect(world.store.rows()[0]?.sent.alertmanager).toMatchObject({ state: 'firing', failures: 0 });
});

test('A-1: what came and went while a sink asked to be left alone is told there as it ended, also the second time', async () => {
  const world = setUp();
  const { answer } = world.log;
  world.store.inputs.blocked = [aBlocked({ organizationId: '2' })];
  await world.pass(2);
  world.store.inputs.blocked = [];
  await world.pass(32);
  expect(world.log.news().flat()).toEqual([`${terms} firing`, `${terms} resolved`]);
  world.log.answer = async () => ({ taken: [], failed: [], status: 429, retryAfterMs: 300_000 });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(2);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
  world.log.answer = answer;
  const shortly = ['2', '3'].map((organizationId) => aBlocked({ organizationId, sinceMs: noonMs + 37_000 }));
  world.store.inputs.blocked = [aBlocked(), ...shortly];
  await world.pass(2);
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(300);
  const told = world.log.posts.flat().map(({ state, labels }) => `${labels.organization_id} ${state}`);
  expect(told.sort()).toEqual(['2 resolved', '3 resolved', '4711 firing']);
});

test('a sink that refuses an alert is not asked about it in a hurry', async () => {
  const world = setUp();
  world.log.answer = async (alerts) => ({
    taken: [],
    failed: alerts.map(({ fingerprint }) => ({ fingerprint, retry: false })),
  });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(300);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
});

test('what a sink refused is offered there again each hour and by a new process, as it then stands, until it is taken', async () => {
  const world = setUp();
  const { answer } = world.log;
  world.log.answer = async (alerts) => ({
    taken: [],
    failed: alerts.map(({ fingerprint }) => ({ fingerprint, retry: false })),
    status: 400,
  });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3600, 1);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
  await world.pass(4);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
  world.restart();
  await world.pass(20);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
  world.store.inputs.blocked = [];
  await world.pass(120);
  expect(world.log.news()).toEqual([[`${terms} resolved`]]);
  world.log.answer = answer;
  world.restart();
  await world.pass(2);
  expect(world.log.news()).toEqual([[`${terms} resolved`]]);
  await world.pass(2, 3600);
  expect(world.log.news()).toEqual([]);
});

test('a sink that does not answer holds up neither the step nor the other sink', async () => {
  const world = setUp();
  let release: (result: PostResult) => void = () => {};
  world.manager.answer = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  world.store.inputs.blocked = [aBlocked()];
  await world.step();
  await world.clock.advance(1000);
  const stepping = world.step();
  await new Promise(setImmediate);
  await world.clock.advance(250);
  await stepping;
  world.store.inputs.blocked = [aBlocked(), aBlocked({ organizationId: '2' })];
  await world.pass(3);
  expect(world.log.news()).toEqual([[`${terms} firing`], [`${terms} firing`]]);
  expect(world.manager.posts).toHaveLength(1);
  release({ taken: [anAlert().fingerprint], failed: [] });
  await new Promise(setImmediate);
  world.manager.answer = async (alerts) => ({ taken: alerts.map((alert) => alert.fingerprint), failed: [] });
  await world.pass(1);
  expect(world.store.rows().map((alert) => alert.sent.alertmanager?.state)).toEqual(['firing', 'firing']);
  expect(world.manager.posts[1]).toMatchObject([{ labels: { organization_id: '2' } }]);
});

test('A-3: a new process goes on where the last one stopped', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  world.restart();
  await world.pass(3);
  expect(world.log.news()).toEqual([[`${terms} firing`]]);
  world.store.inputs.blocked = [];
  await world.pass(10);
  world.restart();
  await world.pass(25);
  expect(world.log.news()).toEqual([[`${terms} resolved`]]);
  expect(world.store.rows()).toMatchObject([{ startsAtMs: noonMs, resolvedAtMs: noonMs + 37_000 }]);
});

test('the end is told of an alert that a sink took without the process living to see it', async () => {
  const world = setUp();
  world.manager.answer = () => new Promise(() => {});
  world.store.inputs.blocked = [aBlocked()];
  await world.step();
  await world.clock.advance(1000);
  const stepping = world.step();
  await new Promise(setImmediate);
  await world.clock.advance(250);
  await stepping;
  world.store.inputs.blocked = [];
  await world.pass(40);
  expect(world.store.rows()).toMatchObject([{ state: 'resolved' }]);
  world.manager.answer = async (alerts) => ({
    taken: alerts.map(({ fingerprint }) => fingerprint),
    failed: [],
  });
  world.restart();
  await world.pass(1);
  expect(world.manager.news()).toEqual([[`${terms} firing`], [`${terms} resolved`]]);
});

test('while the store is away paging goes on from memory, and is saved when it is back', async () => {
  const world = setUp();
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(3);
  world.store.away = true;
  world.conditions.push({
    name: 'store-unavailable',
    sinceMs: world.clock.nowMs(),
    detail: 'The disk is full.',
  });
  await world.pass(60);
  expect(world.log.news()).toEqual([[`${terms} firing`], ['TramlineStoreUnavailable firing']]);
  expect(world.manager.news().flat()).toContain(`${terms} firing`);
  world.store.away = false;
  world.conditions.length = 0;
  await world.pass(32);
  expect(world.log.news()).toEqual([['TramlineStoreUnavailable resolved']]);
  expect(world.store.rows().map((alert) => alert.state)).toEqual(['firing', 'resolved']);
});

test('hooks hear of each change and of each post', async () => {
  const heard: unknown[] = [];
  const world = setUp({
    hooks: {
      changed: (alert) => heard.push([alert.name, alert.state]),
      posted: ({ sink, outcome, alerts }) => heard.push([sink, outcome, alerts]),
    },
  });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(2);
  world.store.inputs.blocked = [];
  await world.pass(2);
  expect(heard).toEqual([
    [terms, 'firing'],
    ['alertmanager', 'accepted', 1],
    ['log', 'accepted', 1],
  ]);
});

test('while it is held after its end it is sent again as over, and asks nobody to act', async () => {
  const world = setUp({ options: { ...options, resendMs: 10_000 } });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(2);
  const [told] = world.manager.posts.at(-1)!;
  world.store.inputs.blocked = [];
  await world.pass(15);
  const [held] = world.manager.posts.at(-1)!;
  expect(held).toMatchObject({ state: 'firing', labels: told!.labels, severity: told!.severity });
  const page = pageOf(held!);
  expect(page).toContain(
    'It is over since 2026-03-01T12:00:03Z; this alert closes at 2026-03-01T12:00:33Z unless it comes back.',
  );
  expect(page).toContain('Nobody has to act');
  expect(page).not.toMatch(/accept terms does|Send the organization|Who acts|Where:/);
  expect(held!.annotations.owner).toBe(told!.annotations.owner);

  world.store.inputs.blocked = [aBlocked()];
  await world.pass(11);
  expect(world.manager.posts.at(-1)![0]!.annotations).toEqual(told!.annotations);
  world.store.inputs.blocked = [];
  await world.pass(75);
  const ended = world.manager.posts.at(-1)![0]!;
  expect(ended).toMatchObject({ state: 'resolved', annotations: told!.annotations });
});

test('an end that a sink could not be told is offered for thirty days, and then let go with a word', async () => {
  const gone: unknown[] = [];
  const world = setUp({
    hooks: { letGo: ({ alert, sinks }) => gone.push([alert.name, sinks]) },
  });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(2);
  world.store.inputs.blocked = [];
  world.log.answer = async (alerts) => ({
    taken: [],
    failed: alerts.map(({ fingerprint }) => ({ fingerprint, retry: true })),
  });
  const stateThere = () => world.store.rows().map(({ sent }) => sent.log?.state);
  await world.pass(29, 86_400);
  expect(stateThere()).toEqual(['firing']);
  expect(world.log.news().at(-1)).toEqual([`${terms} resolved`]);
  expect(gone).toEqual([]);
  await world.pass(4, 86_400);
  expect(stateThere()).toEqual(['resolved']);
  expect(gone).toEqual([[terms, ['log']]]);
  world.log.news();
  await world.pass(2, 86_400);
  expect(world.log.news()).toEqual([]);
});

test('an end that a sink took while the thirty days ran out is not said to be told to nobody', async () => {
  const gone: unknown[] = [];
  const world = setUp({ hooks: { letGo: (line) => gone.push(line) } });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(2);
  world.store.inputs.blocked = [];
  world.log.answer = async () => ({ taken: [], failed: [] });
  await world.pass(29, 86_400);
  let release = () => {};
  world.log.answer = (alerts) =>
    new Promise((resolve) => {
      release = () => resolve({ taken: alerts.map(({ fingerprint }) => fingerprint), failed: [] });
    });
  await world.clock.advance(60_000);
  const stepping = world.step();
  await new Promise(setImmediate);
  await world.clock.advance(250);
  await stepping;
  await world.clock.advance(3 * 86_400_000);
  release();
  await new Promise(setImmediate);
  await world.step();
  expect(world.store.rows().map(({ sent }) => sent.log?.state)).toEqual(['resolved']);
  expect(gone).toEqual([]);
});

test('whatever happens, each sink ends with the true state, one incident for each organization', async () => {
  const event = fc.oneof(
    fc.record({ block: fc.constantFrom('1', '2', '3') }),
    fc.record({ accept: fc.constantFrom('1', '2', '3') }),
    fc.record({ sinkWorks: fc.boolean() }),
    fc.record({ storeAway: fc.boolean() }),
    fc.record({ pass: fc.integer({ min: 1, max: 70 }) }),
    fc.constant('restart' as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 25 }), async (events) => {
      const world = setUp();
      const held = new Map<string, string>();
      let works = true;
      world.manager.answer = async (alerts) => {
        if (!works) throw new Error('away');
        for (const alert of alerts) held.set(alert.labels.organization_id as string, alert.state);
        return { taken: alerts.map((alert) => alert.fingerprint), failed: [] };
      };
      const { inputs } = world.store;
      for (const happening of events) {
        // A process that dies while the store is away loses what it could not save: that is another promise.
        if (happening === 'restart') world.store.away || world.restart();
        else if ('pass' in happening) await world.pass(happening.pass);
        else if ('sinkWorks' in happening) works = happening.sinkWorks;
        else if ('storeAway' in happening) world.store.away = happening.storeAway;
        else if ('block' in happening) {
          const isKnown = inputs.blocked.some(({ organizationId }) => organizationId === happening.block);
          const sinceMs = world.clock.nowMs();
          if (!isKnown) inputs.blocked.push(aBlocked({ organizationId: happening.block, sinceMs }));
        } else {
          inputs.blocked = inputs.blocked.filter(({ organizationId }) => organizationId !== happening.accept);
        }
      }
      works = true;
      world.store.away = false;
      await world.pass(120);
      const firing = [...held].filter(([, state]) => state === 'firing').map(([id]) => id);
      expect(firing.sort()).toEqual(inputs.blocked.map(({ organizationId }) => organizationId).sort());
    }),
    { numRuns: 60 },
  );
});

test('two processes on one store tell each sink once, also of what only the other knows', async () => {
  const world = setUp();
  const known: Condition = { name: 'kafka-unavailable', sinceMs: noonMs, detail: 'no broker' };
  const manager = recordingSink('alertmanager', true);
  const other = makeAlerting({
    store: world.store,
    holder: 'b',
    sinks: [manager],
    clock: world.clock,
    options,
    conditions: () => [known],
  });
  world.store.inputs.blocked = [aBlocked()];
  for (let second = 0; second < 10; second += 1) {
    await world.pass(1);
    expect(await other.step()).toBe('empty');
  }
  expect(manager.posts).toEqual([]);
  expect(world.manager.news().flat().sort()).toEqual([`TramlineKafkaUnavailable firing`, `${terms} firing`]);
  await world.close();
  await world.clock.advance(5000);
  await other.step();
  await world.clock.advance(1000);
  world.store.inputs.blocked = [];
  for (let second = 0; second < 40; second += 1) {
    await world.clock.advance(1000);
    await other.step();
    await world.step();
  }
  expect(manager.news().flat()).toContain(`${terms} resolved`);
  expect(world.manager.news().flat()).toEqual([]);
});

test('who stood still between deciding and telling, and was followed meanwhile, tells nothing of it', async () => {
  const world = setUp();
  await world.pass(1);
  world.store.inputs.blocked = [aBlocked()];
  const { saveAlerts } = world.store;
  world.store.saveAlerts = async (alerts) => {
    await saveAlerts(alerts);
    if (alerts.every(({ name }) => name !== terms)) return;
    world.store.saveAlerts = saveAlerts;
    await world.store.holdLease('alerts', 'a', 0);
    await world.store.holdLease('alerts', 'b', options.leaseMs);
    await world.clock.advance(options.leaseMs);
  };
  await world.pass(5);
  expect(world.store.rows()).toMatchObject([{ name: terms, state: 'firing' }]);
  expect(world.manager.news()).toEqual([]);
  await world.store.holdLease('alerts', 'b', 0);
  await world.pass(6);
  expect(world.manager.news()).toEqual([[`${terms} firing`]]);
});

test('who is cut off from the store tells no more of it than the store is away, and revives nothing', async () => {
  const away = { cut: false };
  const cutOff = (store: ReturnType<typeof makeMemoryAlerts>) =>
    new Proxy(store, {
      get: (target, verb: keyof typeof store) =>
        away.cut ? () => Promise.reject(new Problem('store.unavailable', 'cut')) : target[verb],
    });
  const world = setUp();
  const first = setUp({ store: cutOff(world.store), clock: world.clock });
  const other = setUp({ store: world.store, clock: world.clock, holder: 'b' });
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await world.clock.advance(1000);
      await first.step();
      await other.step();
    }
  };
  world.store.inputs.blocked = [aBlocked()];
  await pass(3);
  away.cut = true;
  first.conditions.push({ name: 'store-unavailable', sinceMs: noonMs, detail: 'It gives no answer.' });
  await world.store.holdLease('alerts', 'a', 0);
  world.store.inputs.blocked = [];
  await pass(300);
  first.manager.news();
  await pass(300);
  expect(new Set(first.manager.news().flat())).toEqual(new Set(['TramlineStoreUnavailable firing']));
  away.cut = false;
  first.conditions.length = 0;
  other.manager.news();
  await pass(120);
  expect(first.manager.news()).toEqual([]);
  expect(world.store.rows()).toMatchObject([
    { name: terms, state: 'resolved' },
    { name: 'TramlineStoreUnavailable', state: 'resolved' },
  ]);
  expect(other.manager.news().flat()).toContain('TramlineStoreUnavailable resolved');
});

test('the store is behind from what could not be written until that is', async () => {
  const world = setUp();
  const saveAlerts = jest.spyOn(world.store, 'saveAlerts');
  await world.pass(2);
  expect(world.isBehind()).toBe(false);
  // It can be read, and takes nothing.
  saveAlerts.mockRejectedValue(new Problem('store.unavailable', 'database or disk is full'));
  world.conditions.push({ name: 'kafka-unavailable', sinceMs: noonMs, detail: 'No broker answers.' });
  await world.pass(2);
  expect(world.isBehind()).toBe(true);
  expect(await world.store.listAlerts()).toEqual([]);
  expect(world.remembered()).toMatchObject([{ state: 'firing' }]);
  saveAlerts.mockRestore();
  await world.pass(2);
  expect(world.isBehind()).toBe(false);
});

test('what it tells is remembered while it leads, also where the store does not answer, and by nobody else', async () => {
  const world = setUp();
  const other = makeAlerting({
    store: world.store,
    holder: 'b',
    sinks: [],
    clock: world.clock,
    conditions: () => [],
    options,
  });
  world.store.inputs.blocked = [aBlocked()];
  await world.pass(2);
  await other.step();
  world.store.away = true;
  await world.pass(2);
  expect(world.remembered()).toMatchObject([{ name: terms, state: 'firing' }]);
  expect(other.remembered()).toBeNull();
});
