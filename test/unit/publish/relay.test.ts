// Goal: what the relay promises about order, repetition and setting aside, whatever a target answers.
// Method: the outbox in memory, a target that follows a script, a clock that is moved by hand; the relay is stepped.

import { slotOf } from '../../../src/model/event';
import { makeRelay } from '../../../src/publish/relay';
import type { RelayHooks } from '../../../src/publish/relay-options';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { Batch, SendResult } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failAll, failure, makeScriptedTarget } from '../../support/scripted-target';

function setUp(options: Partial<typeof relayDefaults> = {}, hooks: RelayHooks = {}) {
  const clock = makeHandClock(1_000_000);
  const outbox = makeMemoryOutbox(clock);
  const target = makeScriptedTarget();
  const all = { ...relayDefaults, random: () => 0.5, ...options, clock, holder: 'me' };
  const relay = makeRelay(outbox, target, all, hooks);
  const rowsOf = (send: number) => target.sends[send]?.flatMap(({ rows }) => rows.map(({ row }) => row));
  return { clock, outbox, target, relay, rowsOf };
}

function fill(outbox: ReturnType<typeof makeMemoryOutbox>, keys: string, topic = 't'): void {
  for (const key of keys) outbox.add({ topic, key });
}

/** The first batch fails in this way, the rest is written. */
function failFirst(
  kind: Parameters<typeof failure>[0],
  code: string,
  write: (batches: Batch[]) => unknown[],
) {
  return (batches: Batch[]): SendResult => ({
    outcomes: [failure(kind, code), ...(write(batches.slice(1)) as SendResult['outcomes'])],
    spent: true,
  });
}

test('rows are sent in order, marked with partition and offset, and then nothing is left', async () => {
  const { outbox, target, relay } = setUp();
  fill(outbox, 'abab');
  expect([await relay.step(), await relay.step()]).toEqual(['worked', 'empty']);
  expect(target.written.map(({ key, sequence }) => key + sequence)).toEqual(['a1', 'b1', 'a2', 'b2']);
  expect(outbox.rows.map(({ sent }) => sent)).toEqual(
    [0, 1, 2, 3].map((offset) => ({ position: offset + 1, partition: 0, offset: String(offset) })),
  );
  expect(relay.holdUntilMs()).toBeNull();
});

test('by the dozen, rows are picked 10 ms apart: what a turn took of that is not waited again', async () => {
  const { clock, outbox, target, relay } = setUp();
  const sendFor = (tookMs: number) => {
    target.script = [
      (batches) => {
        void clock.advance(tookMs);
        return { outcomes: target.write(batches), spent: false };
      },
    ];
  };
  const waits: number[] = [];
  for (const tookMs of [0, 4, 31]) {
    fill(outbox, 'abcdefghijkl');
    sendFor(tookMs);
    await relay.step();
    waits.push(relay.gatherMs());
  }
  fill(outbox, 'abcdefghijk');
  await relay.step();
  expect([...waits, relay.gatherMs()]).toEqual([10, 6, 0, 0]);
});

test('a producer is opened, then the lease is confirmed, then rows are picked', async () => {
  const { outbox, target, relay } = setUp();
  fill(outbox, 'a');
  target.open = async () => void outbox.calls.push('open' as never);
  await relay.step();
  expect(outbox.calls).toEqual(['holdLease', 'open', 'holdLease', 'resendLogged', 'pickUnsent', 'markSent']);
});

test('partitions that the answer does not name are sent again byte for byte, by a new producer', async () => {
  const { clock, outbox, target, relay } = setUp();
  target.partitions.set('t', 8);
  fill(outbox, 'ac');
  target.script = [(batches) => ({ outcomes: target.write(batches).slice(0, 1), spent: false })];
  await relay.step();
  expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([true, false]);
  await clock.advance(100);
  await relay.step();
  const [, first, second] = target.written;
  expect(target.written).toHaveLength(3);
  expect(second).toEqual(first);
  expect(target.calls).toEqual(['open', 'send', 'discard', 'open', 'send']);
  expect(outbox.rows.every(({ sent }) => sent !== null)).toBe(true);
});

test('B5: after a terminal error another producer is opened before anything else is sent', async () => {
  const { clock, outbox, target, relay } = setUp();
  fill(outbox, 'a');
  target.script = [failAll('retry', 'REQUEST_TIMED_OUT')];
  await relay.step();
  fill(outbox, 'b');
  await clock.advance(10_000);
  await relay.step();
  expect(target.calls).toEqual(['open', 'send', 'discard', 'open', 'send']);
  expect(target.written.map(({ key }) => key)).toEqual(['a', 'b']);
});

test('B13: what was appended without enough replicas counts as perhaps written: the same bytes again, before anything later', async () => {
  const { clock, outbox, target, relay } = setUp();
  fill(outbox, 'ab');
  const appended = (batches: Batch[]): SendResult => {
    target.write(batches);
    return failAll('retry', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND')(batches) as SendResult;
  };
  target.script = [appended];
  await relay.step();
  expect(outbox.rows.map(({ sent }) => sent)).toEqual([null, null]);
  fill(outbox, 'c');
  await clock.advance(10_000);
  await relay.step();
  const [a, b, again, andAgain, c] = target.written;
  expect([again, andAgain]).toEqual([a, b]);
  expect(target.written).toHaveLength(5);
  expect(c?.key).toBe('c');
  // The place that is kept is that of the copies which were acknowledged; another epoch wrote them.
  expect(outbox.rows.map(({ sent }) => sent?.offset)).toEqual(['2', '3', '4']);
  expect(target.calls).toEqual(['open', 'send', 'discard', 'open', 'send']);
});

test('while a partition is set aside its later rows wait, and the others go on', async () => {
  const { clock, outbox, target, relay } = setUp();
  target.partitions.set('t', 8);
  fill(outbox, 'ac');
  target.script = [failFirst('retry', 'NOT_ENOUGH_REPLICAS', target.write)];
  await relay.step();
  fill(outbox, 'ac');
  expect(await relay.step()).toBe('worked');
  expect(target.written.map(({ key, sequence }) => key + sequence)).toEqual(['c1', 'c2']);
  expect(await relay.step()).toBe('waiting');
  expect(relay.holdUntilMs()).toBe(clock.nowMs() + 100);
  await clock.advance(100);
  await relay.step();
  expect(target.written.map(({ key, sequence }) => key + sequence)).toEqual(['c1', 'c2', 'a1', 'a2']);
});

test('a denied topic starves nobody, is not asked for hotly, and is told to a person', async () => {
  const failed: unknown[] = [];
  const { clock, outbox, target, relay } = setUp({}, { failed: (...what) => failed.push(what) });
  fill(outbox, 'ab', 'denied');
  fill(outbox, 'cd', 'fine');
  const denied = (batches: Batch[]): SendResult => ({
    outcomes: batches.map((batch) =>
      batch.topic === 'denied'
        ? failure('denied', 'TOPIC_AUTHORIZATION_FAILED')
        : (target.write([batch])[0] as SendResult['outcomes'][0]),
    ),
    spent: false,
  });
  target.script = Array(200).fill(denied);
  for (let second = 0; second < 60; second += 1) {
    outbox.add({ topic: 'fine', key: 'e' });
    await relay.step();
    await clock.advance(1_000);
  }
  expect(target.written.filter(({ topic }) => topic === 'fine')).toHaveLength(62);
  expect(failed.length).toBeLessThan(8);
  expect(failed[0]).toEqual(['denied', 'TOPIC_AUTHORIZATION_FAILED', 2, 0]);
  expect(relay.conditions()).toMatchObject([
    { name: 'topic-denied', labels: { topic: 'denied' }, sinceMs: 1_000_000 },
  ]);
  target.script = [];
  await clock.advance(60_000);
  await relay.step();
  expect(relay.conditions()).toEqual([]);
  expect(outbox.rows.every(({ sent }) => sent !== null)).toBe(true);
});

test('what a failed send took is told without what is done after it', async () => {
  const told: number[] = [];
  const { clock, outbox, target, relay } = setUp(
    {},
    {
      failed: (_topic, _code, _rows, tookMs) => told.push(tookMs),
      sent: (_rows, tookMs) => told.push(tookMs),
    },
  );
  target.partitions.set('t', 8);
  fill(outbox, 'ac');
  target.script = [
    (batches) => {
      void clock.advance(7);
      return failFirst('retry', 'REQUEST_TIMED_OUT', target.write)(batches);
    },
  ];
  const { discard } = target;
  target.discard = async () => {
    void clock.advance(1_000);
    await discard();
  };
  await relay.step();
  expect(told).toEqual([7, 7]);
});

test('a partition whose broker alone denies the topic starves none of the others, and is tried rarely', async () => {
  const failed: unknown[] = [];
  const { clock, outbox, target, relay } = setUp({}, { failed: (...what) => failed.push(what) });
  target.partitions.set('t', 8);
  fill(outbox, 'ac');
  const deniedPartition = slotOf('a') % 8;
  const denies = (batches: Batch[]): SendResult => ({
    outcomes: batches.map((batch) =>
      batch.partition === deniedPartition
        ? failure('denied', 'TOPIC_AUTHORIZATION_FAILED')
        : (target.write([batch])[0] as SendResult['outcomes'][0]),
    ),
    spent: false,
  });
  target.script = Array(200).fill(denies);
  for (let second = 0; second < 60; second += 1) {
    await relay.step();
    // Beside the denied one nothing waits when its pause ends.
    await clock.advance(1_000);
    await relay.step();
    fill(outbox, 'c');
    await relay.step();
  }
  expect(target.written).toHaveLength(61);
  expect(failed.length).toBeLessThan(8);
  expect(relay.conditions()).toMatchObject([
    { name: 'topic-denied', detail: expect.stringContaining(`t-${deniedPartition} `) },
  ]);
});

test('a batch that is too large is halved until the one record at fault stands alone, and only that is set aside', async () => {
  const { outbox, target, relay } = setUp();
  for (let number = 1; number <= 50; number += 1) outbox.add({ topic: 't', key: `k${number % 3}` });
  const tooLarge = ({ rows }: Batch) => rows.some(({ row }) => row === 30);
  target.script = Array(40).fill((batches: Batch[]) =>
    batches.some(tooLarge)
      ? failAll('too-large', 'MESSAGE_TOO_LARGE')(batches)
      : { outcomes: target.write(batches), spent: false },
  );
  let steps = 0;
  while ((await relay.step()) === 'worked') steps += 1;
  expect(steps).toBeLessThan(30);
  const quarantined = outbox.rows.filter((row) => row.quarantined !== null);
  expect(quarantined).toMatchObject([{ row: 30, quarantined: { reason: 'record-too-large' } }]);
  expect(outbox.rows.filter(({ sent }) => sent === null).map(({ row }) => row)).toEqual([30]);
  expect(target.written).toHaveLength(49);
  const order = target.written.filter(({ key }) => key === 'k0').map(({ sequence }) => sequence);
  expect(order).toEqual(order.toSorted((left, right) => left - right));
  expect(order).toContain(11);
});

test('once the record at fault is set aside, all go at a time again; where none was, more and more do', async () => {
  const { outbox, target, relay } = setUp();
  const sizes = () => target.sends.map(([batch]) => batch!.rows.length);
  fill(outbox, 'abcd');
  target.script = Array(3).fill(failAll('too-large', 'MESSAGE_TOO_LARGE'));
  for (let turn = 0; turn < 4; turn += 1) await relay.step();
  expect(outbox.rows.map(({ sent }) => sent === null)).toEqual([true, false, false, false]);
  expect(sizes()).toEqual([4, 2, 1, 3]);
  fill(outbox, 'abcdefgh');
  target.script = [failAll('too-large', 'MESSAGE_TOO_LARGE')];
  await relay.step();
  fill(outbox, 'abcdefghi');
  await relay.step();
  expect(sizes().slice(4)).toEqual([8, 4, 5, 6, 2]);
});

test('a record that the broker refuses for itself is set aside under that reason', async () => {
  const { outbox, target, relay } = setUp();
  fill(outbox, 'a');
  target.script = [failAll('refused', 'INVALID_RECORD')];
  await relay.step();
  fill(outbox, 'a');
  await relay.step();
  expect(outbox.rows[0]?.quarantined).toEqual({
    reason: 'record-refused',
    detail: 'INVALID_RECORD was said',
  });
  expect(target.written.map(({ sequence }) => sequence)).toEqual([2]);
});

test('large rows go in several sends of one step, each marked when it is acknowledged', async () => {
  const sent: number[] = [];
  const { outbox, target, relay } = setUp(
    { partitionBytesMax: 4_000 },
    { sent: (rows) => sent.push(rows.length) },
  );
  for (let number = 0; number < 6; number += 1)
    outbox.add({ topic: 't', key: 'k', value: 'v'.repeat(1_200) });
  expect(await relay.step()).toBe('worked');
  expect(sent).toEqual([2, 2, 2]);
  expect(outbox.calls.filter((verb) => verb === 'markSent')).toHaveLength(3);
  expect(target.written.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
});

test('after a round that reached no leader of a partition nothing later of that is sent, by the same producer', async () => {
  const { clock, outbox, target, relay } = setUp();
  for (const key of 'aa') outbox.add({ topic: 't', key, value: 'v'.repeat(900_000) });
  const failed = failure('retry', 'LEADER_NOT_AVAILABLE');
  target.script = [() => ({ outcomes: [failed], spent: false })];
  await relay.step();
  expect(target.written).toEqual([]);
  await clock.advance(100);
  await relay.step();
  expect(target.written.map(({ sequence }) => sequence)).toEqual([1, 2]);
  expect(target.calls.filter((call) => call === 'open')).toHaveLength(1);
});

test('after a failed round the rest of what was picked is not sent', async () => {
  const { clock, outbox, target, relay, rowsOf } = setUp({ partitionBytesMax: 1_000 });
  for (let number = 0; number < 3; number += 1) outbox.add({ topic: 't', key: 'k', value: 'v'.repeat(900) });
  target.script = [failAll('retry', 'REQUEST_TIMED_OUT')];
  await relay.step();
  expect(target.sends).toHaveLength(1);
  await clock.advance(100);
  await relay.step();
  expect([rowsOf(0), rowsOf(1), rowsOf(2), rowsOf(3)]).toEqual([[1], [1], [2], [3]]);
});

test('what was acknowledged and could not be marked is marked later, and not sent again', async () => {
  const { outbox, target, relay } = setUp();
  const markSent = jest.spyOn(outbox, 'markSent');
  fill(outbox, 'ab');
  outbox.failing.add('markSent');
  await expect(relay.step()).rejects.toMatchObject({ code: 'store.unavailable' });
  await expect(relay.step()).rejects.toMatchObject({ code: 'store.unavailable' });
  outbox.failing.clear();
  fill(outbox, 'c');
  expect(await relay.step()).toBe('worked');
  expect(target.sends).toHaveLength(2);
  expect(outbox.rows.map(({ sent }) => sent?.offset)).toEqual(['0', '1', '2']);
  // That nobody knows whether the store has it already is said of what is told again, and of nothing else.
  expect(markSent.mock.calls.map(([marks, , again]) => [marks.length, again])).toEqual([
    [2, false],
    [2, true],
    [2, true],
    [1, false],
  ]);
});

test('steps that are asked for at once are taken one after the other', async () => {
  const { outbox, target, relay } = setUp();
  fill(outbox, 'abc');
  let inFlight = 0;
  target.script = Array(3).fill(async (batches: Batch[]) => {
    inFlight += 1;
    await new Promise(setImmediate);
    expect(inFlight).toBe(1);
    inFlight -= 1;
    return { outcomes: target.write(batches), spent: false };
  });
  expect(await Promise.all([relay.step(), relay.step(), relay.step()])).toEqual(['worked', 'empty', 'empty']);
  expect(target.written).toHaveLength(3);
});
