// Goal: a replay repeats the same bytes, never puts an older event behind a newer one, and its records can be traced.
// Method: the embedded store, its relay and a target that keeps what would stand on the topics; no broker.
import { Problem } from '../../../src/model/problem';
import { type ReplayWanted, replayLease } from '../../../src/model/replay';
import type { Store } from '../../../src/model/store';
import { makeRelay, type Relay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { makeReplay } from '../../../src/publish/replay';
import { replayDefaults } from '../../../src/publish/run-replay';
import { makeHistorySender } from '../../../src/publish/send-history';
import { openSqlite, settingsFor } from '../../contract/open-sqlite';
import { Hand, type StoreUnderTest, sentTo, terms } from '../../contract/store-hand';
import { makeHandClock } from '../../support/hand-clock';
import { failure, makeScriptedTarget } from '../../support/scripted-target';

const live = 'tramline.equipment.v1';
const leaseMs = 60_000;
const nothing = { events: null, organizationId: null, kind: null, toTopic: null, dryRun: false };
const newest: ReplayWanted = { ...nothing, kind: 'equipment', how: 'newest' };

let under: StoreUnderTest;
let hand: Hand;
let due: number;
let failures: unknown[];
let passed: [topic: string, events: string[]][];
let clock: ReturnType<typeof clockOf>;

/** The store's time. Whoever waits for it, and for nothing else, moves it on; renewals of leases wait for that. */
function clockOf({ nowMs, advance }: StoreUnderTest) {
  const waiting = makeHandClock(nowMs());
  const pass = (ms: number) => {
    advance(ms);
    return waiting.advance(ms);
  };
  const wait = (ms: number, signal?: AbortSignal) =>
    signal === undefined ? pass(ms) : waiting.wait(ms, signal);
  return { nowMs, steadyMs: nowMs, pass, wait };
}

beforeEach(async () => {
  under = await openSqlite();
  clock = clockOf(under);
  hand = new Hand(under);
  due = 0;
  failures = [];
  passed = [];
});
afterEach(() => under.close());

function start({
  kafka = true,
  pageRows = 2000,
  holder = 'a',
  history = makeScriptedTarget(),
  store = hand.store,
  settles = false,
  forbidden = null as string | null,
  waitingKeysMax = replayDefaults.waitingKeysMax,
  relay: other = null as Pick<Relay, 'step'> | null,
} = {}) {
  const target = makeScriptedTarget();
  const relay = makeRelay(hand.store, target, { ...relayDefaults, clock, holder });
  const sender = makeHistorySender({
    liveTopics: [live],
    clock,
    target: () => history,
    exists: async (topic) => ['audit', 'former.equipment.v1'].includes(topic),
  });
  const doors = {
    store,
    relay: other ?? relay,
    clock,
    history: kafka ? sender : null,
    due: () => {
      due += 1;
    },
    passedOver: (topic: string, events: string[]) => passed.push([topic, events]),
    forbidden: () => forbidden,
    callsLeft: () => 100,
  };
  const options = { ...replayDefaults, pageRows, waitingKeysMax, holder, leaseMs, patienceMs: 1000, settles };
  const replay = makeReplay(doors, options, (error) => failures.push(error));
  const run = async (wanted: ReplayWanted) => {
    await replay.begin(wanted);
    return replay.ended();
  };
  return { target, history, relay, replay, run };
}

async function sendAll(relay: { step(): Promise<string> }): Promise<void> {
  while ((await relay.step()) === 'worked');
}

test('the newest of each key stands on its topic once more, as the same bytes, and is the last there', async () => {
  const { target, relay, run } = start({ pageRows: 2 });
  for (const id of ['1', '2']) for (const content of ['a', 'b']) await hand.publish(id, content);
  await sendAll(relay);
  const before = [...target.written];
  const view = await run(newest);
  expect(view).toMatchObject({ state: 'ended', selected: 4, keys: 2, replayed: 2 });
  const again = target.written.slice(before.length);
  expect(again).toEqual(before.filter(({ sequence }) => sequence === 2));
  expect(failures).toEqual([]);
});

test('what went to the topics of a former prefix is replayed there, also where its kind is named', async () => {
  await hand.reopen({ envelope: { ...settingsFor('').envelope, topicPrefix: 'former' } });
  const { target, relay, run } = start();
  await hand.publish('1', 'a');
  await sendAll(relay);
  expect(await run(newest)).toMatchObject({ state: 'ended', selected: 1, replayed: 1 });
  expect(target.written.map(({ topic }) => topic)).toEqual(Array(2).fill('former.equipment.v1'));
  const behind = run({ ...newest, how: 'history', toTopic: 'former.equipment.v1' });
  await expect(behind).rejects.toMatchObject({ code: 'command.usage' });
});

test('what the topic refuses of a replay is counted apart, stands as it was sent, and goes with the next', async () => {
  const { target, relay, run } = start();
  for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
  const stood = (await hand.records()).map(({ eventId }) => eventId);
  await sendAll(relay);
  const tooLarge = failure('too-large', 'MESSAGE_TOO_LARGE');
  const { send } = target;
  target.send = async (batches) =>
    batches.some(({ rows }) => rows.some(({ key }) => !key.endsWith('/3')))
      ? { outcomes: batches.map(() => tooLarge), spent: true }
      : send(batches);
  expect(await run(newest)).toMatchObject({
    state: 'ended',
    keys: 3,
    replayed: 1,
    refused: [{ reason: 'record-too-large', records: 2, events: stood.slice(0, 2) }],
  });
  expect(await hand.store.ledger()).toMatchObject({ published: 3, quarantined: 0 });
  target.send = send;
  expect(await run(newest)).toMatchObject({ state: 'ended', keys: 3, replayed: 3, refused: [] });
});

test('an older event that is named stands for its key', async () => {
  const { target, relay, run } = start();
  for (const content of ['a', 'b']) await hand.publish('1', content);
  const [older] = await hand.records();
  await sendAll(relay);
  await run({ ...nothing, events: [older!.eventId], how: 'newest' });
  expect(target.written.map(({ sequence }) => sequence)).toEqual([1, 2, 2]);
});

test.each([
  ['newest', null],
  ['reads', null],
  ['history', 'audit'],
] as const)(
  'of named events, replayed as %s, those alone are selected, and the unknown ones are named',
  async (how, toTopic) => {
    const { relay, run } = start();
    for (const content of ['a', 'b', 'c']) await hand.publish('1', content);
    const [older] = await hand.records();
    await sendAll(relay);
    const unknown = 'f'.repeat(32);
    const view = await run({ ...nothing, events: [unknown, older!.eventId, unknown], how, toTopic });
    expect(view).toMatchObject({ state: 'ended', selected: 1, replayed: 1, unknown: [unknown] });
  },
);

test('history goes to another topic, whole and in order, and its places are known', async () => {
  const { history, target, relay, run } = start();
  for (const content of ['a', 'b', 'c']) await hand.publish('1', content);
  const [first] = await hand.records();
  await sendAll(relay);
  const view = await run({ ...newest, how: 'history', toTopic: 'audit' });
  expect(view).toMatchObject({ state: 'ended', selected: 3, replayed: 3 });
  expect(history.written.map(({ topic, sequence }) => `${topic} ${sequence}`)).toEqual([
    'audit 1',
    'audit 2',
    'audit 3',
  ]);
  expect(history.written.map(({ bytes }) => bytes)).toEqual(target.written.map(({ bytes }) => bytes));
  expect((await hand.store.explain(first!.eventId))!.steps.at(-1)).toMatchObject({
    step: 'replayed',
    topic: 'audit',
    offset: '0',
  });
});

test('history passes over what is too large for its topic and names it, also where it was left in between', async () => {
  const { history, relay, run } = start({ pageRows: 2 });
  for (const id of ['1', '2', '3', '4']) await hand.publish(id, 'a');
  const ids = (await hand.records()).map(({ eventId }) => eventId);
  await sendAll(relay);
  const { send } = history;
  let left = false;
  history.send = async (batches) => {
    const isAt = (nth: number) =>
      batches.some(({ rows }) => rows.some(({ eventId }) => eventId === ids[nth]));
    if (isAt(0) || (left && isAt(2)))
      return { outcomes: batches.map(() => failure('too-large', 'MESSAGE_TOO_LARGE')), spent: true };
    if (!isAt(2)) return send.call(history, batches);
    left = true;
    return { outcomes: batches.map(() => failure('denied', 'TOPIC_AUTHORIZATION_FAILED')), spent: true };
  };
  const wanted: ReplayWanted = { ...newest, how: 'history', toTopic: 'audit' };
  expect(await run(wanted)).toMatchObject({ state: 'stopped', refused: [] });
  const view = await run(wanted);
  expect(view).toMatchObject({ state: 'ended', resumed: true, replayed: 1 });
  expect(view.refused).toEqual([{ reason: 'record-too-large', records: 2, events: [ids[0], ids[2]] }]);
  expect(passed).toEqual([
    ['audit', [ids[0]]],
    ['audit', [ids[2]]],
  ]);
});

test('history that was cut off goes on, and repeats only what was not acknowledged', async () => {
  const { history, relay, run } = start();
  for (const content of ['a', 'b']) await hand.publish('1', content);
  await sendAll(relay);
  const refused = { sent: false, kind: 'denied', code: 'TOPIC_AUTHORIZATION_FAILED', detail: 'no' } as const;
  history.script.push(async () => ({ outcomes: [refused], spent: true }));
  const wanted: ReplayWanted = { ...newest, how: 'history', toTopic: 'audit' };
  expect(await run(wanted)).toMatchObject({ state: 'stopped', replayed: 0, reason: 'audit: no' });
  const lost = { sent: false, kind: 'retry', code: 'CONNECTION', detail: 'gone' } as const;
  history.script.push(async () => ({ outcomes: [lost], spent: true }));
  expect(await run(wanted)).toMatchObject({ state: 'ended', replayed: 2 });
  expect(history.written.map(({ sequence }) => sequence)).toEqual([1, 2]);
});

describe('history that was left after its first page', () => {
  const wanted: ReplayWanted = { ...newest, how: 'history', toTopic: 'audit' };
  const refused = { sent: false, kind: 'denied', code: 'TOPIC_AUTHORIZATION_FAILED', detail: 'no' } as const;
  async function left() {
    const started = start({ pageRows: 1 });
    const { history, relay, run } = started;
    for (const content of ['a', 'b']) await hand.publish('1', content);
    await sendAll(relay);
    history.script.push(
      (batches) => ({ outcomes: history.write(batches), spent: false }),
      () => ({ outcomes: [refused], spent: true }),
    );
    expect(await run(wanted)).toMatchObject({ state: 'stopped', resumed: false, replayed: 1 });
    return started;
  }
  const sequences = ({ history }: Awaited<ReturnType<typeof left>>) =>
    history.written.map(({ sequence }) => sequence);

  test('goes on with what is left and came since, says so, and counts that alone', async () => {
    const started = await left();
    const leftAt = new Date(under.nowMs()).toISOString();
    await clock.pass(540_000);
    await hand.publish('1', 'c');
    await sendAll(started.relay);
    expect(await started.run({ ...wanted, dryRun: true })).toMatchObject({ selected: 3, resumed: false });
    const view = await started.run(wanted);
    expect(view).toMatchObject({
      state: 'ended',
      resumed: true,
      leftAt,
      replayedBefore: 1,
      selected: 2,
      replayed: 2,
    });
    expect(sequences(started)).toEqual([1, 2, 3]);
  });

  test('goes on with what waited to be sent when its page was looked at, and repeats nothing', async () => {
    const { history, relay, run } = start({ pageRows: 2 });
    for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
    const [first, ...others] = await hand.records();
    await hand.store.markSent(others.map((record) => sentTo(record, 0, String(record.row))));
    history.script.push(
      (batches) => ({ outcomes: history.write(batches), spent: false }),
      () => ({ outcomes: [refused], spent: true }),
    );
    expect(await run(wanted)).toMatchObject({ state: 'stopped', replayed: 1 });
    await sendAll(relay);
    await hand.publish('1', 'b');
    await sendAll(relay);
    expect(await run(wanted)).toMatchObject({
      state: 'ended',
      resumed: true,
      replayedBefore: 1,
      replayed: 3,
    });
    expect(history.written.map(({ key, sequence }) => [key.split('/').at(-1), sequence])).toEqual([
      ['2', 1],
      ['1', 1],
      ['3', 1],
      ['1', 2],
    ]);
    expect(first!.key).toMatch(/\/1$/);
  });

  test('goes on with the first of all that waited, whatever waited after it', async () => {
    const { history, relay, run } = start({ pageRows: 2 });
    for (const id of ['1', '2', '3', '4', '5', '6', '7']) await hand.publish(id, 'a');
    const records = await hand.records();
    const sent = records.filter((_, at) => at !== 0 && at !== 4);
    await hand.store.markSent(sent.map((record) => sentTo(record, 0, String(record.row))));
    for (let page = 0; page < 3; page += 1)
      history.script.push((batches) => ({ outcomes: history.write(batches), spent: false }));
    history.script.push(() => ({ outcomes: [refused], spent: true }));
    expect(await run(wanted)).toMatchObject({ state: 'stopped', replayed: 4 });
    await sendAll(relay);
    expect(await run(wanted)).toMatchObject({ state: 'ended', resumed: true, replayed: 3 });
    const ids = history.written.map(({ key }) => key.split('/').at(-1));
    expect(ids).toEqual(['2', '3', '4', '6', '1', '5', '7']);
  });

  test('goes on within its page behind the last four megabytes that were sent', async () => {
    const { history, relay, run } = start();
    for (const id of ['1', '2', '3', '4', '5', '6']) await hand.publish(id, id.repeat(900_000));
    await sendAll(relay);
    for (let record = 0; record < 4; record += 1)
      history.script.push((batches) => ({ outcomes: history.write(batches), spent: false }));
    history.script.push(() => ({ outcomes: [refused], spent: true }));
    expect(await run(wanted)).toMatchObject({ state: 'stopped', replayed: 4 });
    expect(await run(wanted)).toMatchObject({ state: 'ended', resumed: true, replayed: 2 });
    const ids = history.written.map(({ key }) => key.split('/').at(-1));
    expect(ids).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  test('goes whole another day: nobody knows what the topic still has', async () => {
    const started = await left();
    await clock.pass(86_400_000);
    const view = await started.run(wanted);
    expect(view).toMatchObject({
      state: 'ended',
      resumed: false,
      leftAt: null,
      replayedBefore: 0,
      replayed: 2,
    });
    expect(sequences(started)).toEqual([1, 1, 2]);
  });
});

describe('history beside a relay that sends what waits before the next page is looked at', () => {
  const wanted: ReplayWanted = { ...newest, how: 'history', toTopic: 'audit' };
  const denied = failure('denied', 'TOPIC_AUTHORIZATION_FAILED');
  /** One row to a page. The second key was sent, then the first's three events wait, then the third key was sent. */
  async function beside({ waitingKeysMax = replayDefaults.waitingKeysMax } = {}) {
    let looked = 0;
    const store: Store = Object.create(hand.store, {
      selectReplay: {
        value: async (...asked: Parameters<Store['selectReplay']>) => {
          looked += 1;
          // The second page has the first event that waits.
          if (looked === 3) await sendAll(started.relay);
          return hand.store.selectReplay(...asked);
        },
      },
    });
    const started = start({ pageRows: 1, store, waitingKeysMax });
    await hand.publish('2', 'a');
    for (const content of ['a', 'b', 'c']) await hand.publish('1', content);
    await hand.publish('3', 'a');
    const rows = await hand.records();
    const sent = rows.filter(({ key }) => !key.endsWith('/1'));
    await hand.store.markSent(sent.map((record) => sentTo(record, 0, String(record.row))));
    return started;
  }
  const copied = ({ history }: Awaited<ReturnType<typeof beside>>) =>
    history.written.map(({ key, sequence }) => `${key.split('/').at(-1)} ${sequence}`);

  test('has no event of a key behind one that it left out, and counts all that it left out', async () => {
    const started = await beside();
    expect(await started.run(wanted)).toMatchObject({ state: 'ended', selected: 2, replayed: 2, waiting: 3 });
    expect(started.target.written.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(copied(started)).toEqual(['2 1', '3 1']);
    const again = await started.run(wanted);
    expect(again).toMatchObject({ state: 'ended', resumed: false, selected: 5, replayed: 5, waiting: 0 });
    expect(copied(started).slice(2)).toEqual(['2 1', '1 1', '1 2', '1 3', '3 1']);
  });

  test('goes on, where it was cut off, with all that it left out, in order', async () => {
    const started = await beside();
    const { history, run } = started;
    history.script.push(
      (batches) => ({ outcomes: history.write(batches), spent: false }),
      () => ({ outcomes: [denied], spent: true }),
    );
    expect(await run(wanted)).toMatchObject({ state: 'stopped', replayed: 1, waiting: 3 });
    const view = await run(wanted);
    expect(view).toMatchObject({ state: 'ended', resumed: true, replayedBefore: 1, replayed: 4, waiting: 0 });
    expect(copied(started)).toEqual(['2 1', '1 1', '1 2', '1 3', '3 1']);
  });

  test('stops where events of more keys wait than are kept in mind, and goes on once they are sent', async () => {
    const started = await beside({ waitingKeysMax: 0 });
    const { relay, run } = started;
    expect(await run(wanted)).toMatchObject({
      ...{ state: 'stopped', selected: 1, replayed: 1, waiting: 1 },
      reason: 'events of too many keys are not sent yet: let them go out first',
    });
    await sendAll(relay);
    expect(await run(wanted)).toMatchObject({ state: 'ended', resumed: true, replayed: 4 });
    expect(copied(started)).toEqual(['2 1', '1 1', '1 2', '1 3', '3 1']);
  });
});

test('the newest of each key begin anew after a replay that was left', async () => {
  const { target, relay, run } = start({ pageRows: 1 });
  for (const id of ['1', '2']) await hand.publish(id, 'a');
  await sendAll(relay);
  const send = target.send;
  target.send = async (batches) => ({
    outcomes: batches.map(() => ({ sent: false, kind: 'retry', code: 'CONNECTION', detail: 'gone' })),
    spent: true,
  });
  expect(await run(newest)).toMatchObject({ state: 'stopped' });
  target.send = send;
  await clock.pass(60_000);
  await sendAll(relay);
  const before = target.written.length;
  expect(await run(newest)).toMatchObject({ state: 'ended', resumed: false, selected: 2, replayed: 2 });
  expect(target.written.slice(before).map(({ key }) => key)).toEqual([
    '4711/equipment/1',
    '4711/equipment/2',
  ]);
});

test('history that stood still in a send leaves the topic to the process that has sent all of it since', async () => {
  const history = makeScriptedTarget();
  const first = start({ history });
  const second = start({ history, holder: 'b' });
  for (const content of ['a', 'b']) await hand.publish('1', content);
  await sendAll(first.relay);
  const wanted: ReplayWanted = { ...newest, how: 'history', toTopic: 'audit' };
  let other = null;
  history.script.push(async () => {
    await clock.pass(2 * leaseMs);
    other = await second.run(wanted);
    return {
      outcomes: [{ sent: false, kind: 'retry', code: 'TIMED_OUT', detail: 'no answer' }],
      spent: true,
    };
  });
  const view = await first.run(wanted);
  expect(other).toMatchObject({ state: 'ended', selected: 2, replayed: 2 });
  expect(view).toMatchObject({ state: 'stopped', reason: expect.stringContaining('the lease ran out') });
  expect(history.written.map(({ sequence }) => sequence)).toEqual([1, 2]);
  expect(failures).toEqual([]);
});

test('history whose lease ran out while its producer was opened is not sent', async () => {
  const { history, relay, run } = start();
  await hand.publish('1', 'a');
  await sendAll(relay);
  history.open = () => clock.pass(leaseMs);
  expect(await run({ ...newest, how: 'history', toTopic: 'audit' })).toMatchObject({ state: 'stopped' });
  expect(history.calls).toEqual(['close']);
});

test('history is not sent where another has the lease by the store’s word once its producer is open', async () => {
  const { history, relay, run } = start();
  await hand.publish('1', 'a');
  await sendAll(relay);
  history.open = async () => {
    await hand.store.holdLease(replayLease, 'a', 0);
    await hand.store.holdLease(replayLease, 'another', leaseMs);
  };
  const view = await run({ ...newest, how: 'history', toTopic: 'audit' });
  expect(view).toMatchObject({ state: 'stopped', reason: expect.stringContaining('the lease ran out') });
  expect(history.calls).toEqual(['close']);
});

test('one whose lease ran out while named events were looked for begins none: that would end another’s', async () => {
  const begun: string[] = [];
  const selectReplay: Store['selectReplay'] = async () => {
    await clock.pass(2 * leaseMs);
    return { events: [], after: null };
  };
  const beginReplay: Store['beginReplay'] = (wanted, withinMs) => {
    begun.push(wanted);
    return hand.store.beginReplay(wanted, withinMs);
  };
  const store: Store = Object.create(hand.store, {
    selectReplay: { value: selectReplay },
    beginReplay: { value: beginReplay },
  });
  const view = await start({ store }).run({ ...nothing, events: ['a'], how: 'newest' });
  expect(view).toMatchObject({ state: 'stopped', reason: expect.stringContaining('the lease ran out') });
  expect(begun).toEqual([]);
});

test('history of which the store does not take what was sent ends there, and says what may be so', async () => {
  await hand.publish('1', 'a');
  await hand.publish('1', 'b');
  const store: Store = Object.create(hand.store, { noteHistory: { value: async () => null } });
  const { history, relay, run } = start({ store, pageRows: 1 });
  await sendAll(relay);
  const view = await run({ ...newest, how: 'history', toTopic: 'audit' });
  const reason = 'another process went on with it, or the store lost a step of it';
  expect(view).toMatchObject({ state: 'stopped', reason, replayed: 0 });
  expect(history.written).toHaveLength(1);
});

test('what is marked is counted while the relay still hangs in sending it', async () => {
  const { target, relay, replay } = start();
  for (const id of ['1', '2']) await hand.publish(id, 'a');
  await sendAll(relay);
  const send = target.send;
  const [called, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  target.send = async (batches) => {
    called.resolve();
    await answered.promise;
    return send(batches);
  };
  await replay.begin(newest);
  await called.promise;
  expect(replay.view()).toMatchObject({ state: 'running', selected: 2, keys: 2, replayed: 2 });
  answered.resolve();
  expect(await replay.ended()).toMatchObject({ state: 'ended', selected: 2, keys: 2, replayed: 2 });
});

test('one whose store does not answer says so in words of ours, and what it said goes to the log', async () => {
  const silent = new Problem('store.unavailable', 'Query read timeout');
  const store: Store = Object.create(hand.store, { selectReplay: { value: () => Promise.reject(silent) } });
  const { run } = start({ store });
  const reason = 'the store did not answer: `tramline check` says what to look at';
  expect(await run(newest)).toMatchObject({ state: 'stopped', reason });
  expect(failures).toEqual([silent]);
});

test('beside another process it says how soon it can begin where that one was killed, and then it can', async () => {
  const { relay, run } = start({ holder: 'b' });
  await hand.publish('1', 'a');
  await sendAll(relay);
  await hand.store.holdLease(replayLease, 'killed', leaseMs);
  const reason =
    'another process is at one: where that was killed, this can begin within 60 s (LEASE_SECONDS)';
  expect(await run(newest)).toMatchObject({ state: 'stopped', reason });
  await clock.pass(leaseMs);
  expect(await run(newest)).toMatchObject({ state: 'ended', replayed: 1 });
});

test('history keeps its lease during a send that takes longer', async () => {
  const { history, relay, run } = start();
  await hand.publish('1', 'a');
  await sendAll(relay);
  history.script.push(async (batches) => {
    for (let third = 0; third < 9; third += 1) {
      await clock.pass(leaseMs / 3);
      // The renewal was asked for before, and is answered before.
      await hand.store.unsentCount();
      await clock.pass(0);
    }
    return { outcomes: history.write(batches), spent: false };
  });
  const view = await run({ ...newest, how: 'history', toTopic: 'audit' });
  expect(view).toMatchObject({ state: 'ended', reason: null });
  expect(history.calls).toEqual(['open', 'send', 'close']);
});

test('a replay is told of by when it began, also after the next has begun at once', async () => {
  const { relay, run, replay } = start();
  for (const id of ['1', '2']) await hand.publish(id, 'a');
  await sendAll(relay);
  const dry = { ...newest, dryRun: true };
  const { startedAt } = await run(dry);
  const next = await replay.begin({ ...dry, how: 'reads' });
  expect(next.startedAt).not.toBe(startedAt);
  expect(next.tookMs).toBe(0);
  expect(replay.view(startedAt)).toMatchObject({ startedAt, state: 'ended', how: 'newest', selected: 2 });
  expect(replay.view(next.startedAt)).toMatchObject({ state: 'running', how: 'reads' });
  for (const other of [null, '1999-01-01T00:00:00.000Z'])
    expect(replay.view(other)).toMatchObject({ startedAt: next.startedAt });
  await replay.ended();
});

test('resources are made due instead, and a dry run only counts', async () => {
  const { relay, run } = start();
  for (const id of ['1', '2']) await hand.publish(id, 'a');
  await sendAll(relay);
  const counted = await run({ ...newest, how: 'reads', dryRun: true });
  expect(counted).toMatchObject({ selected: 2, keys: 2, replayed: 0, calls: 2, callsLeft: 100 });
  expect(await hand.store.take(10)).toEqual([]);
  expect(await run({ ...newest, how: 'reads' })).toMatchObject({ replayed: 2, calls: 2 });
  expect(await hand.store.take(10)).toHaveLength(2);
  expect(due).toBe(1);
});

describe('an event that waits to be sent', () => {
  /** The first key's newest waits, after one that was sent; the second's only one waits; the third's was sent. */
  async function waiting() {
    const started = start();
    for (const id of ['1', '3']) await hand.publish(id, 'a');
    await sendAll(started.relay);
    await hand.publish('1', 'b');
    await hand.publish('2', 'a');
    return { ...started, unsent: await hand.records() };
  }

  test('has its resource read again as any other, and is counted before', async () => {
    const { run } = await waiting();
    const told = { selected: 4, keys: 3, calls: 3, waiting: 0 };
    const reads: ReplayWanted = { ...newest, how: 'reads' };
    expect(await run({ ...reads, dryRun: true })).toMatchObject({ ...told, replayed: 0 });
    expect(await run(reads)).toMatchObject({ ...told, replayed: 3 });
    expect((await hand.store.take(10)).map(({ address }) => address.at(-1)).sort()).toEqual(['1', '2', '3']);
  });

  test('has its resource read again where it is named', async () => {
    const { run, unsent } = await waiting();
    const events = unsent.map(({ eventId }) => eventId);
    const view = await run({ ...nothing, events, how: 'reads' });
    expect(view).toMatchObject({ selected: 2, keys: 2, replayed: 2, unknown: [] });
  });

  test('goes out once, and is counted apart from what is sent again', async () => {
    const { run, target } = await waiting();
    const told = { selected: 2, keys: 1, waiting: 2 };
    expect(await run({ ...newest, dryRun: true })).toMatchObject({ ...told, replayed: 0 });
    expect(await run(newest)).toMatchObject({ ...told, state: 'ended', replayed: 1 });
    expect(target.written.map(({ key, sequence }) => `${key} ${sequence}`).sort()).toEqual([
      '4711/equipment/1 1',
      '4711/equipment/1 2',
      '4711/equipment/2 1',
      '4711/equipment/3 1',
      '4711/equipment/3 1',
    ]);
  });

  test('is known where it is named, and of history it is left out until it was sent', async () => {
    const { run, relay, history, unsent } = await waiting();
    const events = unsent.map(({ eventId }) => eventId);
    const dry: ReplayWanted = { ...nothing, events, how: 'newest', dryRun: true };
    expect(await run(dry)).toMatchObject({ selected: 0, keys: 0, waiting: 2, unknown: [] });
    const wanted: ReplayWanted = { ...nothing, events, how: 'history', toTopic: 'audit' };
    expect(await run(wanted)).toMatchObject({ selected: 0, replayed: 0, waiting: 2, unknown: [] });
    expect(history.written).toEqual([]);
    await sendAll(relay);
    expect(await run(wanted)).toMatchObject({ selected: 2, replayed: 2, waiting: 0 });
  });

  test('is counted also where another replay sends it again, by one that only counts too', async () => {
    const { target, relay, run } = start();
    for (const id of ['1', '2']) await hand.publish(id, 'a');
    await sendAll(relay);
    const { send } = target;
    const down = { sent: false, kind: 'retry', code: 'CONNECTION', detail: 'gone' } as const;
    target.send = async (batches) => ({ outcomes: batches.map(() => down), spent: true });
    expect(await run(newest)).toMatchObject({ state: 'stopped', keys: 2, waiting: 0 });
    expect(await run({ ...newest, dryRun: true })).toMatchObject({ selected: 2, keys: 0, waiting: 2 });
    expect(await run({ ...newest, how: 'reads', dryRun: true })).toMatchObject({ keys: 2, waiting: 0 });
    target.send = send;
    await clock.pass(leaseMs);
    await sendAll(relay);
    expect(await run({ ...newest, dryRun: true })).toMatchObject({ keys: 2, waiting: 0 });
  });
});

test('reads cost twice the calls where each that finds nothing changed earns a settling one', async () => {
  const { relay, run } = start({ settles: true });
  for (const id of ['1', '2']) await hand.publish(id, 'a');
  await sendAll(relay);
  expect(await run({ ...newest, how: 'reads', dryRun: true })).toMatchObject({ keys: 2, calls: 4 });
});

test('what waits for a customer is told and costs no call now; of who was forgotten nothing is read', async () => {
  const { relay, run } = start();
  for (const [id, organizationId] of [
    ['1', '4711'],
    ['2', '99'],
    ['3', '7'],
  ] as const)
    await hand.publish(id, 'a', { organizationId });
  await sendAll(relay);
  await hand.observe(terms, '99');
  await hand.store.forgetOrganization('7');
  await sendAll(relay);
  const told = { selected: 3, keys: 3, calls: 1, parked: 1, forgotten: 1 };
  const reads: ReplayWanted = { ...newest, how: 'reads' };
  expect(await run({ ...reads, dryRun: true })).toMatchObject({ ...told, replayed: 0 });
  expect(await run(reads)).toMatchObject({ ...told, replayed: 2 });
  expect(await hand.store.take(10)).toHaveLength(1);
});

test('a page of reads that was not made, since no calls may be, is not counted', async () => {
  const { run } = start({ forbidden: 'no calls are left' });
  for (const organizationId of ['4711', '98', '99'])
    await hand.publish(organizationId, 'a', { organizationId });
  await hand.sendAll();
  await hand.observe(terms, '98');
  await hand.store.forgetOrganization('99');
  expect(await run({ ...newest, how: 'reads' })).toMatchObject({
    ...{ state: 'stopped', reason: 'no calls are left', selected: 0, replayed: 0 },
    ...{ calls: 0, parked: 0, forgotten: 0 },
  });
});

test('a replay through a process that does not lead waits for the one that does, however busy that is', async () => {
  const { relay } = start();
  await hand.publish('1', 'a');
  await sendAll(relay);
  let polls = 0;
  const holders: string[] = [];
  // The one that leads: it sends something all the time, and the repeated record at last.
  const pendingOf = async (replay: number) => {
    polls += 1;
    if (polls < 3000) return 4000 - polls;
    const rows = await hand.records();
    await hand.store.markSent(rows.map((record) => sentTo(record, 0, '9')));
    return hand.store.replayPending(replay);
  };
  const store: Store = Object.create(hand.store, {
    unsentCount: { value: async () => 5000 - (polls % 7) },
    holdLease: {
      value: (...lease: Parameters<Store['holdLease']>) => {
        holders.push(lease[0]);
        return hand.store.holdLease(...lease);
      },
    },
    replayPending: { value: pendingOf },
  });
  const doors = {
    store,
    relay: { step: async () => 'waiting' as const },
    clock,
    due: () => {},
    passedOver: () => {},
    history: makeHistorySender({
      liveTopics: [live],
      clock,
      target: () => makeScriptedTarget(),
      exists: async () => true,
    }),
    forbidden: () => null,
    callsLeft: () => null,
  };
  const options = { ...replayDefaults, holder: 'b', leaseMs: 60_000, patienceMs: 60_000 };
  const replay = makeReplay(doors, options, (error) => failures.push(error));
  await replay.begin(newest);
  const view = await replay.ended();
  expect(failures).toEqual([]);
  expect(view).toMatchObject({ state: 'ended', replayed: 1, reason: null });
  // Five minutes of waiting, and the lease of a minute was its own all the time.
  expect(holders.length).toBeGreaterThan(10);
});

test('a relay that cannot send stops the replay, and the records go out when it can', async () => {
  const { target, relay, run } = start();
  await hand.publish('1', 'a');
  await sendAll(relay);
  const down = { sent: false, kind: 'retry', code: 'CONNECTION', detail: 'gone' } as const;
  target.send = async (batches) => ({ outcomes: batches.map(() => down), spent: true });
  expect(await run(newest)).toMatchObject({ state: 'stopped', replayed: 1, earlierUnsent: 0 });
  expect(await hand.store.unsentCount()).toBe(1);
  expect(await run(newest)).toMatchObject({ state: 'ended', keys: 0, replayed: 0, earlierUnsent: 1 });
});

/** A replay through a relay that sends nothing, in a store that has so many unsent and of this replay each time it is asked. */
function throughIdleRelay(unsentAt: (asked: number) => number) {
  let asked = 0;
  const count = async () => {
    asked += 1;
    if (asked > 1000) throw new Error('nothing ends this');
    return unsentAt(asked);
  };
  const store: Store = Object.create(hand.store, {
    unsentCount: { value: count },
    replayPending: { value: count },
  });
  return start({ store, relay: { step: async () => 'waiting' as const } });
}

test('a relay that gets rid of no more than comes anew stops the replay', async () => {
  await hand.publish('1', 'a');
  await sendAll(start().relay);
  const view = await throughIdleRelay((asked) => 2000 + (asked % 5)).run(newest);
  expect(view).toMatchObject({ state: 'stopped', replayed: 1 });
  expect(view.reason).toContain('the relay does not get rid of what is unsent');
});

test('a replay that waits for its records to be sent ends with the process', async () => {
  await hand.publish('1', 'a');
  await sendAll(start().relay);
  const stopping = { now: () => {} };
  const { replay } = throughIdleRelay(() => {
    stopping.now();
    return 5000;
  });
  stopping.now = () => void replay.stop();
  await replay.begin(newest);
  expect(await replay.ended()).toMatchObject({ state: 'stopped', reason: 'the process stops' });
});

test.each([
  ['nothing is named', { ...nothing, how: 'newest' as const }],
  ['no event is named', { ...nothing, events: [], how: 'newest' as const }],
  ['two are named', { ...newest, organizationId: '1' }],
  ['history goes to a live topic', { ...newest, how: 'history' as const, toTopic: live }],
  ['history goes to a topic that is not there', { ...newest, how: 'history' as const, toTopic: 'x' }],
  ['reads go to a topic', { ...newest, how: 'reads' as const, toTopic: 'audit' }],
])('it is refused when %s', async (_name, wanted) => {
  await expect(start().replay.begin(wanted)).rejects.toMatchObject({ code: 'command.usage' });
});

test('without Kafka nothing is sent again, but resources can be read', async () => {
  const { replay, run } = start({ kafka: false });
  await hand.publish('1', 'a');
  await hand.sendAll();
  const refused = (message: string) =>
    expect(replay.begin(newest)).rejects.toMatchObject({
      code: 'command.usage',
      message: expect.stringContaining(message),
    });
  await refused('there is no Kafka');
  expect(await run({ ...newest, how: 'reads' })).toMatchObject({ replayed: 1 });
  // In a shell that lacks what the service is given.
  await hand.publish('2', 'a');
  await sendAll(start().relay);
  await refused('KAFKA_BROKERS is not set here');
});

test('while one is under way the same is joined, and another is refused', async () => {
  const { replay } = start();
  const first = await replay.begin(newest);
  expect(first.state).toBe('running');
  expect((await replay.begin(newest)).state).toBe('running');
  const other: ReplayWanted = { ...nothing, kind: 'field-operation', how: 'newest' };
  await expect(replay.begin(other)).rejects.toMatchObject({ code: 'command.refused' });
  expect((await replay.ended()).state).toBe('ended');
});

test('one that only counts runs beside another, which is told of where none is named', async () => {
  const { relay, replay } = start();
  await hand.publish('1', 'a');
  await sendAll(relay);
  const first = await replay.begin(newest);
  const dry = await replay.begin({ ...newest, dryRun: true });
  expect(dry).toMatchObject({ state: 'running', dryRun: true });
  await expect(replay.begin({ ...newest, how: 'reads', dryRun: true })).rejects.toMatchObject({
    code: 'command.refused',
    message: 'another dry run is under way',
  });
  expect(replay.view()).toMatchObject({ startedAt: first.startedAt, dryRun: false });
  await replay.ended();
  expect(replay.view(first.startedAt)).toMatchObject({ state: 'ended', replayed: 1, dryRun: false });
  expect(replay.view(dry.startedAt)).toMatchObject({
    state: 'ended',
    selected: 1,
    replayed: 0,
    dryRun: true,
  });
});

test.each([
  ['events', { ...nothing, events: ['0'.repeat(32)] }],
  ['a kind', { ...nothing, kind: 'equipment' }],
] as const)('one that only counts, of %s, ends with its page when the process stops', async (_of, what) => {
  let pages = 0;
  const selectReplay = async () => {
    pages += 1;
    return { events: [], after: pages };
  };
  const { replay } = start({ store: Object.create(hand.store, { selectReplay: { value: selectReplay } }) });
  await replay.begin({ ...what, how: 'newest', dryRun: true } as ReplayWanted);
  await replay.stop();
  expect(replay.view()).toMatchObject({ state: 'stopped', reason: 'the process stops' });
});

test('once the process stops none begins', async () => {
  const { replay } = start();
  await replay.stop();
  await expect(replay.begin(newest)).rejects.toMatchObject({ code: 'store.closed' });
});

test.each(['open', 'send'] as const)(
  'T3: history that hangs in %s when the process stops is cut off, and its lease is given back',
  async (where) => {
    const { history, relay, replay } = start();
    await hand.publish('1', 'a');
    await sendAll(relay);
    let cut = () => {};
    const hangs = new Promise<never>((_resolve, reject) => {
      cut = () => reject(new Problem('publish.unavailable', 'the Kafka client is closed'));
    });
    const reached = new Promise<void>((resolve) => {
      history[where] = () => {
        resolve();
        return hangs;
      };
    });
    history.close = async () => cut();
    await replay.begin({ ...newest, how: 'history', toTopic: 'audit' });
    await reached;
    const stopped = replay.stop();
    expect(await hand.store.leaseFreeMs(replayLease)).toBe(0);
    await replay.cutOff();
    await stopped;
    expect(replay.view().state).toBe('stopped');
    expect(await hand.store.holdLease(replayLease, 'another', leaseMs)).toBe(true);
  },
);
