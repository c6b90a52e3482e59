// Goal: no page stays open that a process told while the store was away and could not record before it was killed; and
// nobody hears of an end where nothing was told, or hears it twice.
// Method: processes on a store in memory, a clock moved by hand, and sinks that keep what they were told last of each alert.
import { type AlertingParts, makeAlerting } from '../../../src/alert/alerting';
import { conditionRows } from '../../../src/alert/catalogue';
import type { AlertSink, PostResult, SinkName } from '../../../src/alert/sink';
import type { Condition, ConditionName } from '../../../src/model/alert';
import { Problem } from '../../../src/model/problem';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { noonMs, alertingOptions as options } from './samples';

const storeAlert = 'TramlineStoreUnavailable';
const nameAlone = [
  'TramlineClientRefused',
  'TramlineClockOff',
  'TramlineDecryptionFailed',
  'TramlineDeliverySecretUnopened',
  'TramlineKafkaUnavailable',
  'TramlineProviderUnavailable',
  'TramlineRateLimited',
  'TramlineStoreLogStuck',
  storeAlert,
];

function fakeSink(name: SinkName, repeats: boolean, keeps: boolean) {
  const told: string[] = [];
  const open = new Set<string>();
  const sink = {
    name,
    repeats,
    keeps,
    works: true,
    told,
    open,
    async post(alerts): Promise<PostResult> {
      if (!sink.works) throw new Error('away');
      for (const alert of alerts) {
        told.push(`${alert.name} ${alert.state}`);
        if (alert.state === 'firing') open.add(alert.fingerprint);
        else open.delete(alert.fingerprint);
      }
      return { taken: alerts.map(({ fingerprint }) => fingerprint), failed: [] };
    },
    /** What it was told of the store since the last call. */
    ofStore: () => told.splice(0).filter((one) => one.startsWith(storeAlert)),
  } satisfies AlertSink & Record<string, unknown>;
  return sink;
}

function setUp() {
  const clock = makeHandClock(noonMs);
  const store = makeMemoryAlerts();
  const manager = fakeSink('alertmanager', true, true);
  const pager = fakeSink('pagerduty', false, true);
  const slack = fakeSink('slack', false, false);
  const sinks = [manager, pager, slack];
  const start = (holder: string, parts: Partial<AlertingParts> = {}) => {
    const conditions: Condition[] = [];
    const alerting = makeAlerting({
      store,
      holder,
      sinks,
      clock,
      conditions: () => conditions,
      options,
      random: () => 0,
      ...parts,
    });
    return { step: alerting.step, conditions };
  };
  const pass = async (seconds: number, ...processes: { step(): Promise<unknown> }[]) => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.advance(1000);
      for (const { step } of processes) await step();
    }
  };
  const trouble = (): Condition => ({
    name: 'store-unavailable',
    sinceMs: clock.nowMs(),
    detail: 'No answer.',
  });
  return { clock, store, manager, pager, slack, sinks, start, pass, trouble };
}

/** The first process led, told that the store is away, or of `name` while it takes no writes, and was killed before it could save that. */
async function orphaned(name: ConditionName = 'store-unavailable') {
  const world = setUp();
  const first = world.start('a');
  await world.pass(40, first);
  world.store.away = true;
  first.conditions.push({ ...world.trouble(), name });
  await world.pass(10, first);
  const fingerprint = `${conditionRows[name].name}{}`;
  expect(world.sinks.map(({ open }) => [...open])).toEqual(Array(3).fill([fingerprint]));
  await world.clock.advance(60_000);
  world.store.away = false;
  await world.store.holdLease('alerts', 'a', 0);
  expect(world.store.rows()).toEqual([]);
  for (const { told } of world.sinks) told.length = 0;
  return world;
}

test('a page that was told while the store was away ends within two repetitions, whoever told it having been killed', async () => {
  const world = await orphaned();
  await world.pass(2 * (options.resendMs / 1000), world.start('b'));
  expect([[...world.manager.open], [...world.pager.open]]).toEqual([[], []]);
  expect(world.manager.ofStore()).toEqual([`${storeAlert} resolved`]);
  expect(world.pager.ofStore()).toEqual([`${storeAlert} resolved`]);
});

test.each(['store-log-stuck', 'delivery-secret-unopened'] as const)(
  'a page of %s, which is read from a store that takes no writes, ends too where whoever told it was killed',
  async (name) => {
    const world = await orphaned(name);
    await world.pass(120, world.start('b'));
    expect([[...world.manager.open], [...world.pager.open]]).toEqual([[], []]);
    expect(world.store.rows()).toEqual([]);
  },
);

test('who begins to lead tells such ends once, to those that keep pages open, and stores nothing of them', async () => {
  const world = setUp();
  await world.pass(1000, world.start('a'));
  const ends = nameAlone.map((name) => `${name} resolved`);
  expect(world.manager.told.sort()).toEqual(ends);
  expect(world.pager.told.sort()).toEqual(ends);
  expect(world.slack.told).toEqual([]);
  expect(world.store.rows()).toEqual([]);
});

test('a sink that is away is told such an end when it is back, the others no second time', async () => {
  const world = await orphaned();
  const second = world.start('b');
  world.pager.works = false;
  await world.pass(600, second);
  world.pager.works = true;
  await world.pass(60, second);
  expect(world.pager.ofStore()).toEqual([`${storeAlert} resolved`]);
  expect(world.manager.ofStore()).toEqual([`${storeAlert} resolved`]);
});

test('who told of the store and lives on tells its end itself, once', async () => {
  const world = setUp();
  const only = world.start('a');
  await world.pass(40, only);
  for (const { told } of world.sinks) told.length = 0;
  world.store.away = true;
  only.conditions.push(world.trouble());
  await world.pass(10, only);
  world.store.away = false;
  only.conditions.length = 0;
  await world.pass(120, only);
  const life = [`${storeAlert} firing`, `${storeAlert} resolved`];
  expect([world.pager.ofStore(), world.slack.ofStore()]).toEqual([life, life]);
});

test('a leader that comes back with a page after another took the lead is ended by that page’s own end alone', async () => {
  const world = setUp();
  const first = world.start('a');
  await world.pass(40, first);
  for (const { told } of world.sinks) told.length = 0;
  world.store.away = true;
  first.conditions.push(world.trouble());
  await world.pass(10, first);
  world.store.away = false;
  first.conditions.length = 0;
  await world.store.holdLease('alerts', 'a', 0);
  const second = world.start('b');
  await world.pass(120, second, first);
  const life = [`${storeAlert} firing`, `${storeAlert} resolved`];
  expect([world.pager.ofStore(), world.slack.ofStore()]).toEqual([life, life]);
  expect(world.store.rows()).toMatchObject([{ name: storeAlert, state: 'resolved' }]);
});

test('what fires is not ended so, neither what the book has nor what begins in the hold', async () => {
  const world = await orphaned();
  const second = world.start('b');
  second.conditions.push({ name: 'kafka-unavailable', sinceMs: noonMs, detail: 'no broker' });
  await world.pass(29, second);
  second.conditions.push(world.trouble());
  await world.pass(300, second);
  const open = ['TramlineKafkaUnavailable{}', `${storeAlert}{}`];
  expect([[...world.manager.open].sort(), [...world.pager.open].sort()]).toEqual([open, open]);
  for (const { told } of world.sinks) {
    expect(told.filter((one) => /^Tramline(Kafka|Store)Unavailable resolved/.test(one))).toEqual([]);
  }
});

test('a page of a state that had ended before, in the book, is ended too', async () => {
  const world = setUp();
  const first = world.start('a');
  await world.pass(40, first);
  const outage = async () => {
    world.store.away = true;
    first.conditions.push(world.trouble());
    await world.pass(10, first);
    world.store.away = false;
    first.conditions.length = 0;
  };
  await outage();
  await world.pass(120, first);
  expect(world.store.rows()).toMatchObject([{ name: storeAlert, state: 'resolved' }]);
  await outage();
  await world.store.holdLease('alerts', 'a', 0);
  for (const { told } of world.sinks) told.length = 0;
  expect(world.pager.open.size).toBe(1);
  await world.pass(2 * (options.resendMs / 1000), world.start('b'));
  expect([[...world.manager.open], [...world.pager.open]]).toEqual([[], []]);
  expect(world.pager.ofStore()).toEqual([`${storeAlert} resolved`]);
  expect(world.slack.ofStore()).toEqual([]);
});

test('an end is told when its state is known to be over, and not before', async () => {
  const world = setUp();
  const only = world.start('a');
  await world.pass(60, only);
  const atOnce = ['TramlineRateLimited resolved', `${storeAlert} resolved`];
  expect(world.pager.told.sort()).toEqual(atOnce);
  await world.pass(15, only);
  const withinMinute = ['DecryptionFailed', 'DeliverySecretUnopened', 'StoreLogStuck'];
  expect(world.pager.told.slice(2).sort()).toEqual(withinMinute.map((name) => `Tramline${name} resolved`));
  await world.pass(600 - 75, only);
  expect(world.pager.told).toHaveLength(5);
  await world.pass(15, only);
  expect(world.pager.told.slice(5)).toEqual(['TramlineProviderUnavailable resolved']);
  await world.pass(900, only);
  expect(world.pager.told).toHaveLength(nameAlone.length);
});

describe('a leader that alone is cut off from the store', () => {
  /** Another lives beside it and sees the store all along; the lease is over, and the other leads. */
  async function cutOff() {
    const world = setUp();
    const isAway = { first: false };
    // Made once: it is thrown in every second of hours, and where it was made costs more than all else.
    const cut = new Problem('store.unavailable', 'cut off');
    const unlessCut =
      <Given extends unknown[], Answer>(verb: (...given: Given) => Promise<Answer>) =>
      async (...given: Given): Promise<Answer> => {
        if (isAway.first) throw cut;
        return verb(...given);
      };
    const { store } = world;
    const first = world.start('a', {
      store: {
        alertInputs: unlessCut(store.alertInputs),
        alertMark: unlessCut(store.alertMark),
        listAlerts: unlessCut(store.listAlerts),
        saveAlerts: unlessCut(store.saveAlerts),
        shareConditions: unlessCut(store.shareConditions),
        holdLease: unlessCut(store.holdLease),
      },
    });
    const second = world.start('b');
    await world.pass(1000, first, second);
    for (const { told } of world.sinks) told.length = 0;
    isAway.first = true;
    first.conditions.push(world.trouble());
    await store.holdLease('alerts', 'a', 0);
    store.forget('a');
    await world.pass(10, first, second);
    expect(world.pager.ofStore()).toEqual([`${storeAlert} firing`]);
    return { ...world, first, second, isAway };
  }

  test('has its page until it sees the store again, and is told of its end once', async () => {
    const { pass, first, second, isAway, pager, slack } = await cutOff();
    await pass(3000, first, second);
    // Under one key, so that PagerDuty takes it for the page that is open.
    expect(pager.ofStore()).toEqual(Array(10).fill(`${storeAlert} firing`));
    isAway.first = false;
    await pass(30, first, second);
    expect(pager.ofStore()).toEqual([]);
    first.conditions.length = 0;
    await pass(120, first, second);
    expect(pager.ofStore()).toEqual([`${storeAlert} resolved`]);
    expect(slack.ofStore()).toEqual([`${storeAlert} firing`, `${storeAlert} resolved`]);
  });

  test('for hours never loses its page at Alertmanager, and at PagerDuty once, for five minutes at the most', async () => {
    const { pass, first, second, isAway, manager, pager, slack } = await cutOff();
    let lostSeconds = 0;
    for (let passed = 0; passed < 3 * 3600; passed += 10) {
      await pass(10, first, second);
      if (!pager.open.has(`${storeAlert}{}`)) lostSeconds += 10;
    }
    expect(lostSeconds).toBeLessThanOrEqual(300);
    const end = `${storeAlert} resolved`;
    expect([manager, pager].map((sink) => sink.told.filter((one) => one === end).length)).toEqual([0, 1]);
    isAway.first = false;
    first.conditions.length = 0;
    await pass(120, first, second);
    expect([[...manager.open], [...pager.open]]).toEqual([[], []]);
    expect(slack.ofStore()).toEqual([`${storeAlert} firing`, end]);
  }, 60_000);

  test('is not waited for by one that was started after it, and saw only its lease run out', async () => {
    const world = await orphaned();
    await world.store.holdLease('alerts', 'a', 15_000);
    const next = world.start('b');
    await world.pass(15, next);
    await world.store.holdLease('alerts', 'a', 0);
    await world.pass(2 * (options.resendMs / 1000), next);
    expect(world.pager.ofStore()).toEqual([`${storeAlert} resolved`]);
  });

  test('leaves no page for ever when it is killed so', async () => {
    const { pass, second, pager } = await cutOff();
    await pass(3700, second);
    expect(pager.ofStore()).toEqual([`${storeAlert} resolved`]);
  });
});
