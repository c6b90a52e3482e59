// Goal: a relay that begins to lead sends nothing to a place that it could not read yet, reads it when it can, and tells
// which topics it may not read; the others do not wait.
// Method: readers, outboxes and targets that do what the test says, a clock that is moved by hand.

import { slotOf } from '../../../src/model/event';
import { Problem } from '../../../src/model/problem';
import type { FoundPage, TopicEnd } from '../../../src/model/topic-end';
import { type KnownEnds, makeCatchUp } from '../../../src/publish/catch-up';
import { readOn, type TopicReader } from '../../../src/publish/read-topics';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { LeftUnread, PublishTarget } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failAll, makeScriptedTarget } from '../../support/scripted-target';

function makeEnds() {
  const calls: string[] = [];
  return {
    calls,
    topicEnds: async () => [],
    async noteFound() {
      calls.push('found');
      return 0;
    },
    async allFound() {
      calls.push('all found');
    },
  };
}

const place = { topic: 't', partition: 0, partitions: 1 };

/** A catch-up whose time is set by hand. */
function makeTimed(readOn: PublishTarget['readOn'], ends: KnownEnds = makeEnds()) {
  const time = { ms: 0 };
  const clock = { steadyMs: () => time.ms };
  const catchUp = makeCatchUp({ readOn }, ends, { clock, conditionAfterMs: 15_000 });
  const runAt = (ms: number, mayGoOn = async () => true) => {
    time.ms = ms;
    return catchUp.run(mayGoOn);
  };
  return { catchUp, runAt, time };
}

function setUp(left: LeftUnread) {
  const clock = makeHandClock(1_000_000);
  const outbox = makeMemoryOutbox(clock);
  const target = makeScriptedTarget();
  const ends = makeEnds();
  const state = { left, reads: 0 };
  target.readOn = async () => {
    state.reads += 1;
    return state.left;
  };
  outbox.noteFound = () => ends.noteFound();
  outbox.allFound = () => ends.allFound();
  const relay = makeRelay(outbox, target, { ...relayDefaults, clock, holder: 'me' });
  return { clock, outbox, target, relay, ends, state };
}

test('nothing is sent to a partition that could not be read, and others do not wait for it', async () => {
  const { clock, outbox, target, relay, state } = setUp({ unread: [place], denied: [], ends: [] });
  outbox.add({ topic: 't', key: 'a' });
  outbox.add({ topic: 'other', key: 'a' });
  await relay.step();
  expect(await relay.step()).toBe('waiting');
  expect(target.written.map(({ topic }) => topic)).toEqual(['other']);
  expect(relay.holdUntilMs()).toBe(clock.nowMs() + 1000);
  state.left = { unread: [], denied: [], ends: [] };
  await clock.advance(1000);
  await relay.step();
  expect(target.written.map(({ topic }) => topic)).toEqual(['other', 't']);
  await clock.advance(100_000);
  await relay.step();
  expect(state.reads).toBe(3);
});

test('what holds more than is known and may not be read is written once it may be; all else is meanwhile', async () => {
  const refused = 'TOPIC_AUTHORIZATION_FAILED';
  const unread = [0, 1].map((partition) => ({ topic: 't', partition, partitions: 3, refused }));
  const { clock, outbox, target, relay, state } = setUp({ unread, denied: ['t'], ends: [] });
  target.partitions.set('t', 3);
  for (const key of ['a', 'b', 'd', 'f']) outbox.add({ topic: 't', key });
  outbox.add({ topic: 'other', key: 'a' });
  await relay.step();
  const slots = outbox.rows.map(({ topic, key }) => (topic === 't' ? slotOf(key) % 3 : topic));
  expect([0, 1, 2].every((partition) => slots.includes(partition))).toBe(true);
  expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual(
    slots.map((slot) => slot === 2 || slot === 'other'),
  );
  expect(relay.conditions()).toMatchObject([
    {
      name: 'topic-denied',
      labels: { topic: 't' },
      sinceMs: 1_000_000,
      detail: expect.stringMatching(/may not be read.*Grant Read beside Write\.$/),
    },
  ]);
  state.left = { unread: [], denied: [], ends: [] };
  await clock.advance(5_000);
  await relay.step();
  expect([relay.conditions(), await outbox.unsentCount()]).toEqual([[], 0]);
});

test.each(['TOPIC_AUTHORIZATION_FAILED', 'UNKNOWN_TOPIC_OR_PARTITION'])(
  'a topic that cannot be had is told as one that refuses a send, and others do not wait: %s',
  async (refused) => {
    const { clock, outbox, target, relay, state } = setUp({
      unread: [{ ...place, refused }],
      denied: [],
      ends: [],
    });
    target.partitions.set('t', 3);
    for (const key of ['a', 'b', 'c']) outbox.add({ topic: 't', key });
    outbox.add({ topic: 'other', key: 'a' });
    await relay.step();
    expect(await relay.step()).toBe('waiting');
    expect(target.written.map(({ topic }) => topic)).toEqual(['other']);
    const condition = {
      name: 'topic-denied',
      labels: { topic: 't' },
      detail: `Nothing can be written to topic t: ${refused}. Its events are kept and wait.`,
      sinceMs: 1_000_000,
      ...(refused === 'UNKNOWN_TOPIC_OR_PARTITION' && {
        whenOver:
          'A topic that was made anew holds only what was sent since: `tramline replay --kind KIND` sends the newest event of each key there.',
      }),
    };
    expect(relay.conditions()).toEqual([condition]);
    await clock.advance(5000);
    await relay.step();
    expect(relay.conditions()).toEqual([condition]);
    state.left = { unread: [], denied: [], ends: [] };
    await clock.advance(5000);
    await relay.step();
    expect(state.reads).toBe(3);
    expect(target.written.filter(({ topic }) => topic === 't')).toHaveLength(3);
    expect(relay.conditions()).toEqual([]);
  },
);

test('a topic that cannot be had is looked for again after as long as that lasts, 5 to 60 s, also beside one without a leader', async () => {
  const missing = { ...place, refused: 'UNKNOWN_TOPIC_OR_PARTITION' };
  const leaderless = { ...place, topic: 'leaderless' };
  const state = { left: { unread: [missing], denied: [], ends: [] } as LeftUnread };
  const { catchUp, runAt } = makeTimed(async () => state.left, makeEnds());
  const looks: number[] = [];
  for (let nowMs = 0; looks.length < 7; nowMs = catchUp.nextMs()!) {
    await runAt(nowMs);
    looks.push(nowMs / 1000);
  }
  expect(looks).toEqual([0, 5, 10, 20, 40, 80, 140]);
  state.left = { unread: [missing, leaderless], denied: [], ends: [] };
  await runAt(200_000);
  expect(catchUp.nextMs()).toBe(201_000);
  catchUp.forget();
  expect(catchUp.conditions()).toEqual([]);
});

test('a reading that is cut off goes on in a second, and one that came to nothing waits as before', async () => {
  const refused = { ...place, refused: 'TOPIC_AUTHORIZATION_FAILED' };
  const state = { fails: false, hears: false };
  const read: PublishTarget['readOn'] = async (_known, heard) => {
    if (state.hears) await heard({ ...place, from: null, nextOffset: '1', records: [] });
    if (state.fails) throw new Error('connection lost');
    return { unread: [refused], denied: [], ends: [] };
  };
  const { catchUp, runAt } = makeTimed(read, makeEnds());
  for (const nowMs of [0, 100_000]) await runAt(nowMs);
  expect(catchUp.nextMs()).toBe(160_000);
  state.fails = true;
  expect(await runAt(160_000)).toBe(true);
  expect(catchUp.nextMs()).toBe(220_000);
  state.hears = true;
  expect(await runAt(220_000)).toBe(true);
  expect(catchUp.nextMs()).toBe(221_000);
  state.fails = false;
  await runAt(221_000);
  expect(catchUp.nextMs()).toBe(281_000);
  expect(catchUp.conditions()).toMatchObject([{ name: 'topic-denied', sinceMs: 0 }]);
});

test('who is fenced though it leads its own store reads the topics on before it sends again', async () => {
  const { outbox, target, relay, state } = setUp({ unread: [], denied: [], ends: [] });
  outbox.add({ topic: 't', key: 'a' });
  target.script = [failAll('fenced', 'INVALID_PRODUCER_EPOCH')];
  await relay.step();
  expect(state.reads).toBe(1);
  await relay.step();
  expect([state.reads, target.calls.slice(0, 5)]).toEqual([2, ['open', 'send', 'discard', 'open', 'send']]);
});

test('who is fenced reads the topics on, also where the store does not take what else the send wrote', async () => {
  const { outbox, target, relay, state } = setUp({ unread: [], denied: [], ends: [] });
  for (const topic of ['t', 'u']) outbox.add({ topic, key: 'a' });
  target.script = [
    async (batches) => {
      outbox.failing.add('markSent');
      const { outcomes } = await failAll('fenced', 'INVALID_PRODUCER_EPOCH')(batches.slice(1));
      return { outcomes: [...target.write(batches.slice(0, 1)), ...outcomes], spent: true };
    },
  ];
  await expect(relay.step()).rejects.toThrow('told to fail');
  outbox.failing.clear();
  await relay.step();
  expect(state.reads).toBe(2);
});

test('a topic that may not be read is told once, since it was met, whatever of it is left', async () => {
  const refused = 'TOPIC_AUTHORIZATION_FAILED';
  const unread = [0, 1].map((partition) => ({ topic: 't', partition, partitions: 2, refused }));
  const state = { left: { unread, denied: ['t'], ends: [] } as LeftUnread };
  const { catchUp, runAt } = makeTimed(async () => state.left, makeEnds());
  for (const nowMs of [0, 5_000]) await runAt(nowMs);
  expect(catchUp.conditions()).toMatchObject([{ labels: { topic: 't' }, sinceMs: 0 }]);
  expect([catchUp.isWaiting(), catchUp.nextMs()]).toEqual([false, 10_000]);
  state.left = { unread: [], denied: [], ends: [] };
  await runAt(10_000);
  expect([catchUp.conditions(), catchUp.nextMs()]).toEqual([[], null]);
});

test('a reading that was cut short is none, and what the store cannot note is not sent on, also later', async () => {
  const ends = makeEnds();
  const heard: boolean[] = [];
  const read: PublishTarget['readOn'] = async (_known, hear) => {
    heard.push(await hear({ ...place, from: null, nextOffset: '1', records: [] }));
    return heard.at(-1) ? { unread: [place], denied: [], ends: [] } : null;
  };
  const { catchUp, runAt } = makeTimed(read, ends);
  expect(await runAt(0, async () => false)).toBe(false);
  expect([ends.calls, catchUp.isDue()]).toEqual([['found'], true]);
  expect(await runAt(0)).toBe(true);
  expect([heard, ends.calls]).toEqual([
    [false, true],
    ['found', 'found', 'all found'],
  ]);
  ends.noteFound = async () => Promise.reject(new Problem('store.unavailable', 'away'));
  await expect(runAt(1000)).rejects.toMatchObject({ code: 'store.unavailable' });
});

test('whoever reads anew holds nothing of before against the store or a topic', async () => {
  const end = { topic: 't', partition: 0, nextOffset: '7' };
  const ends = { ...makeEnds(), topicEnds: async () => [{ ...end, last: null }] };
  const left = { unread: [place], denied: ['u'], ends: [] };
  const { catchUp, runAt } = makeTimed(async () => left, ends);
  await runAt(0);
  catchUp.noted([{ ...end, nextOffset: '8' }]);
  expect(catchUp.ends()).toEqual([{ ...end, nextOffset: '8' }]);
  expect([catchUp.held(), catchUp.conditions().length, catchUp.nextMs()]).toMatchObject([[place], 1, 1000]);
  catchUp.forget();
  expect([catchUp.ends(), catchUp.held(), catchUp.conditions(), catchUp.nextMs()]).toEqual([
    [],
    [],
    [],
    null,
  ]);
  expect(catchUp.isDue()).toBe(true);
});

test('the end of the topics is told after each reading that came to it', async () => {
  const { relay, ends } = setUp({ unread: [], denied: [], ends: [] });
  await relay.step();
  expect(ends.calls).toEqual(['all found']);
});

test('what fails while others are sent waits for itself alone; a first reading that fails lets nothing be sent', async () => {
  const ends = makeEnds();
  const state = { left: { unread: [place], denied: [], ends: [] } as LeftUnread, fails: true };
  const read = async () => {
    if (state.fails) throw new Error('no broker');
    return state.left;
  };
  const { catchUp, runAt } = makeTimed(read, ends);
  await expect(runAt(0)).rejects.toThrow('no broker');
  state.fails = false;
  expect(await runAt(0)).toBe(true);
  state.fails = true;
  expect(await runAt(1000)).toBe(true);
  expect([catchUp.held(), catchUp.nextMs()]).toMatchObject([[place], 2000]);
});

test('where another stands before what was acknowledged first, its partition is read again before it is marked; later nobody can', async () => {
  const ends = [0, 1].map((partition) => ({ topic: 't', partition, nextOffset: '0' }));
  const { clock, outbox, target, relay, state } = setUp({ unread: [], denied: [], ends });
  target.partitions.set('t', 2);
  const intrude: (typeof target.script)[number] = (batches) => ({
    outcomes: target.write(batches).map((outcome) => ({ ...outcome, firstOffset: '1' })),
    spent: false,
  });
  target.script = [intrude];
  outbox.add({ topic: 't', key: 'a' });
  await relay.step();
  expect([state.reads, outbox.rows[0]!.sent]).toEqual([1, null]);
  // What is read marks it; here nothing does, and it goes again.
  await relay.step();
  expect([state.reads, outbox.rows[0]!.sent]).toEqual([2, expect.anything()]);
  target.script = [intrude];
  outbox.add({ topic: 't', key: 'a' });
  await relay.step();
  expect([state.reads, outbox.rows[1]!.sent]).toEqual([2, expect.anything()]);
  await clock.advance(59_999);
  await relay.step();
  expect(state.reads).toBe(2);
  // The other partition: whoever was before may still write there.
  await clock.advance(1);
  await relay.step();
  expect(state.reads).toBe(3);
});

test('a partition behind which another stands keeps only itself waiting where it cannot be read again now', async () => {
  const ends = [{ topic: 't', partition: 0, nextOffset: '0' }];
  const { clock, outbox, target, relay, state } = setUp({ unread: [], denied: [], ends });
  const { readOn } = target;
  target.script = [
    (batches) => ({
      outcomes: target.write(batches).map((outcome) => ({ ...outcome, firstOffset: '1' })),
      spent: false,
    }),
  ];
  outbox.add({ topic: 't', key: 'a' });
  await relay.step();
  target.readOn = () => Promise.reject(new Error('no broker'));
  outbox.add({ topic: 'other', key: 'a' });
  await relay.step();
  expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([false, true]);
  expect(await relay.step()).toBe('waiting');
  target.readOn = readOn;
  await clock.advance(1000);
  await relay.step();
  expect([state.reads, outbox.rows[0]!.sent]).toEqual([2, expect.anything()]);
});

test('a reading that found something and cannot go on is told once that lasts, until one has come to its end', async () => {
  const quiet = { topic: 'quiet', partition: 0, nextOffset: '0' };
  const { clock, target, relay, ends } = setUp({ unread: [], denied: [], ends: [quiet] });
  await relay.step();
  const read = target.readOn;
  target.readOn = async (_known, heard) => {
    await heard({ ...quiet, from: null, nextOffset: '1', records: [] });
    throw new Error('connection lost');
  };
  for (let passedMs = 0; passedMs < 60_000; passedMs += 20_000) {
    await clock.advance(20_000);
    await relay.step();
  }
  expect(relay.conditions()).toEqual([]);
  for (let second = 0; second < 15; second += 1) {
    await clock.advance(1000);
    await relay.step();
  }
  const detail = expect.stringContaining('cannot be read to their end');
  expect(relay.conditions()).toMatchObject([{ name: 'kafka-unavailable', sinceMs: 1_060_000, detail }]);
  target.readOn = read;
  await clock.advance(1000);
  await relay.step();
  expect([ends.calls.at(-1), relay.conditions()]).toEqual(['all found', []]);
});

test('a look asks only for what is held and where nothing was written yet', async () => {
  const wanted: number[][] = [];
  const ends = [0, 1, 2].map((partition) => ({ topic: 't', partition, nextOffset: '5' }));
  const { catchUp, runAt } = makeTimed(async (_known, _heard, isWanted) => {
    wanted.push(ends.filter(isWanted!).map(({ partition }) => partition));
    return { unread: [], denied: [], ends };
  });
  await runAt(0);
  const at = (partition: number) => ({ topic: 't', partition, partitions: 3 });
  expect(catchUp.follows(at(0), { sent: true, firstOffset: '5' })).toBe(true);
  await runAt(60_000);
  expect(catchUp.follows(at(1), { sent: true, firstOffset: '6' })).toBe(false);
  expect([catchUp.isDue(), catchUp.held()]).toMatchObject([true, [at(1)]]);
  await runAt(61_000);
  await runAt(121_000);
  expect(wanted).toEqual([[0, 1, 2], [1, 2], [1, 2], [2]]);
  expect([catchUp.held(), catchUp.nextMs()]).toEqual([[], 181_000]);
  catchUp.follows(at(2), { sent: true, firstOffset: '5' });
  await runAt(181_000);
  expect(catchUp.nextMs()).toBeNull();
});

test('the last record that is known is asked for once, and of what could not be read when it can', async () => {
  const last = { offset: '4', eventId: 'e' };
  const known = [0, 1].map((partition) => ({ topic: 't', partition, nextOffset: '5', last }));
  const asked: unknown[][] = [];
  const held = { topic: 't', partition: 1, partitions: 2 };
  const { runAt } = makeTimed(
    async (ends) => {
      asked.push(ends.map((end) => end.last));
      return { unread: asked.length === 1 ? [held] : [], denied: [], ends: [known[0]!] };
    },
    { ...makeEnds(), topicEnds: async () => known },
  );
  for (const nowMs of [0, 1000, 61_000]) await runAt(nowMs);
  expect(asked).toEqual([
    [last, last],
    [null, last],
    [null, null],
  ]);
});

test('a look that takes long is over for a while before the next', async () => {
  const { catchUp, runAt, time } = makeTimed(async () => {
    time.ms += 5000;
    return { unread: [place], denied: [], ends: [] };
  });
  await runAt(0);
  expect(catchUp.nextMs()).toBe(6000);
});

test('what comes back by itself is told once it lasts, until it is read', async () => {
  const state = { left: { unread: [place], denied: [], ends: [] } as LeftUnread };
  const { catchUp, runAt } = makeTimed(async () => state.left);
  for (const nowMs of [1000, 2000, 15_999]) {
    await runAt(nowMs);
    expect([catchUp.conditions(), catchUp.isWaiting()]).toEqual([[], true]);
  }
  await runAt(16_000);
  const detail = expect.stringMatching(
    /^t-0 cannot be written before what stands there is read to its end: /,
  );
  expect(catchUp.conditions()).toEqual([{ name: 'kafka-unavailable', sinceMs: 1000, detail }]);
  state.left = { unread: [place, { ...place, topic: 'u' }], denied: [], ends: [] };
  await runAt(17_000);
  await runAt(40_000);
  expect(catchUp.conditions()).toMatchObject([
    { detail: expect.stringMatching(/^t-0 and 1 more partition /) },
  ]);
  state.left = { unread: [], denied: [], ends: [] };
  await runAt(41_000);
  expect([catchUp.conditions(), catchUp.isWaiting()]).toEqual([[], false]);
});

test('a quota that leaves nothing to read with is told as what it is', async () => {
  const { catchUp, runAt } = makeTimed(async () => ({
    unread: [{ ...place, heldBack: true }],
    denied: [],
    ends: [],
  }));
  for (const nowMs of [1000, 16_000]) await runAt(nowMs);
  const detail = expect.stringMatching(
    /: a quota of the brokers \(consumer_byte_rate or request_percentage\) leaves/,
  );
  expect(catchUp.conditions()).toEqual([{ name: 'kafka-unavailable', sinceMs: 1000, detail }]);
});

test('one that is told as failing goes on to be while it cannot be read', async () => {
  const ends = [{ topic: 't', partition: 0, nextOffset: '0' }];
  const { clock, outbox, target, relay, state } = setUp({ unread: [], denied: [], ends });
  outbox.add({ topic: 't', key: 'a' });
  target.send = async (batches) => failAll('retry', 'NOT_ENOUGH_REPLICAS')(batches);
  const told: string[] = [];
  for (let second = 0; second < 100; second += 1) {
    if (second === 30) state.left = { unread: [place], denied: [], ends: [] };
    await relay.step();
    told.push(
      relay
        .conditions()
        .map(({ name }) => name)
        .join(),
    );
    await clock.advance(1000);
  }
  expect(told.lastIndexOf('')).toBeLessThan(20);
  expect(relay.conditions()).toMatchObject([{ name: 'kafka-unavailable', sinceMs: 1_000_000 }]);
});

describe('reading on', () => {
  const readerOf = (more: Partial<TopicReader>): TopicReader => ({
    leaderless: async () => [],
    partitionsOf: () => 1,
    offsets: async (_topics, which) => [
      { topic: 't', partition: 0, nextOffset: which === 'end' ? '5' : '2' },
    ],
    readPage: async (from) => ({ ...from, nextOffset: '5', records: [] }),
    ...more,
  });

  test('names what has no leader, and reads the rest', async () => {
    const heard: string[] = [];
    const reader = readerOf({ leaderless: async () => [place] });
    const left = await readOn(reader, ['t'], [], async ({ nextOffset }) => heard.push(nextOffset) > 0);
    expect([left, heard]).toEqual([{ unread: [place], denied: [], ends: [] }, ['2', '5']]);
  });

  test.each(['4', '5'])(
    'goes on from a place that is known, where the topic ends at 5: %s',
    async (nextOffset) => {
      const read: string[] = [];
      const reader = readerOf({
        readPage: async (from) => {
          read.push(from.nextOffset);
          return { ...from, nextOffset: '5', records: [] };
        },
      });
      await readOn(reader, ['t'], [{ topic: 't', partition: 0, nextOffset, last: null }], async () => true);
      expect(read).toEqual(nextOffset === '4' ? ['4'] : []);
    },
  );

  test('begins at the beginning of a topic that ends before the place that is known, and says so first', async () => {
    const heard: string[] = [];
    const known = [{ topic: 't', partition: 0, nextOffset: '6', last: null }];
    const listen = async ({ nextOffset }: TopicEnd) => heard.push(nextOffset) > 0;
    expect(await readOn(readerOf({}), ['t'], known, listen)).toEqual({
      unread: [],
      denied: [],
      ends: [{ topic: 't', partition: 0, nextOffset: '5' }],
    });
    expect(heard).toEqual(['2', '5']);
    expect(await readOn(readerOf({}), ['t'], known, async () => false)).toBeNull();
  });

  test.each([
    ['another event stands in the place of the last one', 'there', '4', ['2', '5']],
    ['the last event stands where it is known to stand', 'here', '4', []],
    ['compaction took the last event from its place', 'here', '3', []],
    ['retention took the last event from its place', 'there', '1', []],
  ])(
    'begins at the beginning only of a log that holds other events: %s',
    async (_name, eventId, offset, heard) => {
      const told: string[] = [];
      const record = { key: 'k', sequence: 1, eventId, bytesHash: '', deleted: false, offset: '4' };
      const reader = readerOf({
        readPage: async (from) => ({ ...from, nextOffset: '5', records: [record] }),
      });
      const known = [{ topic: 't', partition: 0, nextOffset: '5', last: { offset, eventId: 'here' } }];
      await readOn(reader, ['t'], known, async ({ nextOffset }) => told.push(nextOffset) > 0);
      expect(told).toEqual(heard);
    },
  );

  test.each([
    [
      'begins after the place that is known',
      '1',
      [
        { from: null, nextOffset: '2', lost: 1 },
        { from: '2', nextOffset: '5' },
      ],
    ],
    [
      'begins later, and nothing is known of it',
      null,
      [
        { from: null, nextOffset: '2', lost: 2 },
        { from: '2', nextOffset: '5' },
      ],
    ],
    ['begins where it is known to go on', '2', [{ from: '2', nextOffset: '5' }]],
    ['has lost what was read long ago', '5', []],
    [
      'ends before the place that is known',
      '6',
      [
        { from: null, nextOffset: '2', anotherLog: true },
        { from: '2', nextOffset: '5' },
      ],
    ],
  ])('how much is gone is said first of a log that %s', async (_what, nextOffset, heard) => {
    const told: object[] = [];
    const known = nextOffset === null ? [] : [{ topic: 't', partition: 0, nextOffset, last: null }];
    const listen = async ({ topic: _t, partition: _p, records: _r, ...page }: FoundPage) =>
      told.push(page) > 0;
    await readOn(readerOf({}), ['t'], known, listen);
    expect(told).toEqual(heard);
    if (heard.length > 0) expect(await readOn(readerOf({}), ['t'], known, async () => false)).toBeNull();
  });

  test('what is gone of all partitions of a topic is said once, with the first of them', async () => {
    const told: (number | undefined)[] = [];
    const offsets = async (topics: string[], which: 'end' | 'start') =>
      topics.flatMap((topic) =>
        [0, 1, 2].map((partition) => ({
          topic,
          partition,
          nextOffset: which === 'end' ? '9' : String(partition),
        })),
      );
    const listen = async ({ partition, nextOffset, lost }: FoundPage) => {
      if (nextOffset === String(partition)) told.push(lost);
      return true;
    };
    await readOn(readerOf({ offsets }), ['t', 'u'], [], listen);
    expect(told).toEqual([3, undefined, 3, undefined]);
  });

  test('nothing is gone of a new partition, nor of one that is empty and was read', async () => {
    const told: FoundPage[] = [];
    for (const [known, place] of [[[], '0'] as const, [['5'], '5'] as const]) {
      const reader = readerOf({
        offsets: async () => [{ topic: 't', partition: 0, nextOffset: place }],
      });
      const ends = known.map((nextOffset) => ({ topic: 't', partition: 0, nextOffset, last: null }));
      await readOn(reader, ['t'], ends, async (page) => told.push(page) > 0);
    }
    expect(told).toEqual([]);
  });

  test('what is written and cannot be seen yet is left, and of its partition nothing behind it', async () => {
    const heard: string[] = [];
    const reader = readerOf({
      offsets: async (_topics, which) =>
        [0, 1].map((partition) => ({ topic: 't', partition, nextOffset: which === 'end' ? '5' : '0' })),
      partitionsOf: () => 2,
      readPage: async (from) => ({
        ...from,
        nextOffset: from.partition === 0 ? '4' : '5',
        records: [],
      }),
    });
    const left = await readOn(reader, ['t'], [], async ({ partition, nextOffset }) => {
      return heard.push(`${partition}: ${nextOffset}`) > 0;
    });
    expect(left).toEqual({
      unread: [{ topic: 't', partition: 0, partitions: 2 }],
      denied: [],
      ends: [{ topic: 't', partition: 1, nextOffset: '5' }],
    });
    expect(heard).toEqual(['0: 4', '1: 5']);
  });

  test('what cannot be seen yet is waited for a moment, once for all', async () => {
    const waited: number[] = [];
    const reader = readerOf({
      offsets: async (_topics, which) =>
        [0, 1, 2].map((partition) => ({ topic: 't', partition, nextOffset: which === 'end' ? '5' : '0' })),
      partitionsOf: () => 3,
      readPage: async (from, withinMs) => {
        waited.push(withinMs);
        return { ...from, records: [] };
      },
    });
    expect((await readOn(reader, ['t'], [], async () => true))?.unread).toHaveLength(3);
    expect(waited).toEqual([50, 0, 0]);
  });

  test('what its leader does not tell of any more is left', async () => {
    const offsets: TopicReader['offsets'] = async (_topics, which) => {
      const ends = which === 'end' && asked.push(which) > 1 ? [0] : [0, 1];
      return ends.map((partition) => ({ topic: 't', partition, nextOffset: which === 'end' ? '5' : '0' }));
    };
    const asked: string[] = [];
    const reader = readerOf({ offsets, partitionsOf: () => 2 });
    expect(await readOn(reader, ['t'], [], async () => true)).toEqual({
      unread: [{ topic: 't', partition: 1, partitions: 2 }],
      denied: [],
      ends: [{ topic: 't', partition: 0, nextOffset: '5' }],
    });
  });

  test('what a broker says of one partition keeps no other from being read', async () => {
    const refused = Object.assign(new Error('no'), { type: 'NOT_LEADER_FOR_PARTITION' });
    const reader = readerOf({
      offsets: async (_topics, which) =>
        [0, 1].map((partition) => ({ topic: 't', partition, nextOffset: which === 'end' ? '5' : '0' })),
      partitionsOf: () => 2,
      readPage: async (from) => {
        if (from.partition === 0) throw refused;
        return { ...from, nextOffset: '5', records: [] };
      },
    });
    const last = { offset: '3', eventId: 'e' };
    const known = [{ topic: 't', partition: 0, nextOffset: '4', last }];
    expect(await readOn(reader, ['t'], known, async () => true)).toEqual({
      unread: [{ topic: 't', partition: 0, partitions: 2 }],
      denied: [],
      ends: [{ topic: 't', partition: 1, nextOffset: '5' }],
    });
    const lost = readerOf({ readPage: () => Promise.reject(new Error('connection lost')) });
    await expect(readOn(lost, ['t'], [], async () => true)).rejects.toThrow('connection lost');
  });

  test('of places that are not wanted nothing is asked and nothing is said', async () => {
    const read: number[] = [];
    const places = [0, 1, 2];
    const reader = readerOf({
      leaderless: async () => [{ topic: 't', partition: 3, partitions: 4 }],
      offsets: async (_topics, which) =>
        places.map((partition) => ({ topic: 't', partition, nextOffset: which === 'end' ? '5' : '0' })),
      partitionsOf: () => 4,
      readPage: async (from) => {
        read.push(from.partition);
        return { ...from, nextOffset: '5', records: [] };
      },
    });
    const left = await readOn(
      reader,
      ['t'],
      [],
      async () => true,
      ({ partition }) => partition === 1,
    );
    expect([read, left]).toEqual([
      [1],
      { unread: [], denied: [], ends: [{ topic: 't', partition: 1, nextOffset: '5' }] },
    ]);
  });

  test('what has lost its leader since is left', async () => {
    const reader = readerOf({ partitionsOf: () => 2 });
    const left = await readOn(reader, ['t'], [], async () => true);
    expect(left).toMatchObject({ unread: [{ topic: 't', partition: 1, partitions: 2 }], denied: [] });
  });

  test('what came while others were read is read as well, and what comes after that is not waited for', async () => {
    const ends = [5, 7, 9];
    const read: string[] = [];
    const reader = readerOf({
      offsets: async (_topics, which) => [
        { topic: 't', partition: 0, nextOffset: which === 'end' ? String(ends.shift()) : '0' },
      ],
      readPage: async (from) => {
        read.push(from.nextOffset);
        return { ...from, nextOffset: String(Number(from.nextOffset) + 1), records: [] };
      },
    });
    const known = [{ topic: 't', partition: 0, nextOffset: '4', last: null }];
    expect(await readOn(reader, ['t'], known, async () => true)).toEqual({
      unread: [],
      denied: [],
      ends: [{ topic: 't', partition: 0, nextOffset: '7' }],
    });
    expect([read, ends]).toEqual([['4', '5', '6'], [9]]);
  });

  test('what was left at first is not read with what came meanwhile', async () => {
    const denied = Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' });
    let reads = 0;
    const ends = (which: string, offset: string) => async (_topics: string[], asked: string) => [
      { topic: which, partition: 0, nextOffset: asked === 'end' ? offset : '0' },
    ];
    const readPage = async (): Promise<FoundPage> => {
      reads += 1;
      throw denied;
    };
    const left = await readOn(readerOf({ offsets: ends('d', '2'), readPage }), ['d'], [], async () => true);
    const refused = 'TOPIC_AUTHORIZATION_FAILED';
    const unread = [{ topic: 'd', partition: 0, partitions: 1, refused }];
    expect([left, reads]).toEqual([{ unread, denied: ['d'], ends: [] }, 1]);
    const unseen = readerOf({
      offsets: ends('u', '2'),
      readPage: async (from) => {
        reads += 1;
        return { ...from, records: [] };
      },
    });
    expect(await readOn(unseen, ['u'], [], async () => true)).toEqual({
      unread: [{ topic: 'u', partition: 0, partitions: 1 }],
      denied: [],
      ends: [],
    });
    expect(reads).toBe(2);
  });

  test('a last event that may not be looked at says nothing, and holds up nothing', async () => {
    const denied = Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' });
    const known = [{ topic: 't', partition: 0, nextOffset: '5', last: { offset: '4', eventId: 'here' } }];
    const reader = readerOf({ readPage: () => Promise.reject(denied) });
    expect(await readOn(reader, ['t'], known, async () => true)).toMatchObject({ unread: [], denied: [] });
  });

  test('leaves what holds more than is known and may not be read, and says why', async () => {
    const reader = readerOf({
      readPage: () => Promise.reject(Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' })),
    });
    expect(await readOn(reader, ['t'], [], async () => true)).toEqual({
      unread: [{ topic: 't', partition: 0, partitions: 1, refused: 'TOPIC_AUTHORIZATION_FAILED' }],
      denied: ['t'],
      ends: [],
    });
  });

  test('a last event that is gone from its topic is not looked at; one with which the topic begins is', async () => {
    const eventAt = (offset: string) => ({ key: 'k', sequence: 1, eventId: 'new', bytesHash: '', offset });
    const reader = readerOf({
      async readPage(from) {
        if (BigInt(from.nextOffset) < 2n) throw new Error('out of range');
        const records = [{ ...eventAt(from.nextOffset), deleted: false }];
        return { ...from, nextOffset: '5', records };
      },
    });
    const heardOf = async (offset: string) => {
      const pages: FoundPage[] = [];
      const known = { topic: 't', partition: 0, nextOffset: '5', last: { offset, eventId: 'old' } };
      await readOn(reader, ['t'], [known], async (page) => pages.push(page) > 0);
      return pages.map(({ anotherLog }) => anotherLog);
    };
    expect(await heardOf('1')).toEqual([]);
    expect(await heardOf('2')).toEqual([true, undefined]);
  });

  test.each([
    ['another log, which is empty', { end: '0', start: '0' }, '3'],
    ['one that begins later, with nothing behind', { end: '5', start: '5' }, '3'],
  ])('ends where nobody listens any more at the beginning of %s', async (_of, log, nextOffset) => {
    const reader = readerOf({
      offsets: async (_topics, which) => [{ topic: 't', partition: 0, nextOffset: log[which] }],
    });
    const known = [{ topic: 't', partition: 0, nextOffset, last: null }];
    expect(await readOn(reader, ['t'], known, async () => false)).toBeNull();
  });

  test('ends where nobody listens any more', async () => {
    expect(await readOn(readerOf({}), ['t'], [], async () => false)).toBeNull();
  });
});

test('the beginning of another log under a known name is said to be one, and no other page is', async () => {
  const last = { offset: '4', eventId: 'old' };
  const found = { key: '1/equipment/1', sequence: 1, eventId: 'new', bytesHash: '', deleted: false };
  const pages: { topic: string; anotherLog: boolean; records: number }[] = [];
  const reader: TopicReader = {
    leaderless: async () => [],
    partitionsOf: () => 1,
    offsets: async (topics, which) =>
      topics.map((topic) => ({ topic, partition: 0, nextOffset: which === 'end' ? '5' : '0' })),
    readPage: async ({ topic, partition }) => ({
      ...{ topic, partition, nextOffset: '5' },
      records: [{ ...found, offset: '4', eventId: topic === 'anew' ? 'new' : 'old' }],
    }),
  };
  const known = ['same', 'anew'].map((topic) => ({ topic, partition: 0, nextOffset: '5', last }));
  await readOn(reader, ['same', 'anew'], known, async ({ topic, anotherLog = false, records }) => {
    pages.push({ topic, anotherLog, records: records.length });
    return true;
  });
  expect(pages).toEqual([
    { topic: 'anew', anotherLog: true, records: 0 },
    { topic: 'anew', anotherLog: false, records: 1 },
  ]);
});
