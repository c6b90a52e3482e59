// Goal: while a page is sent the next is picked and the one before is marked, and nothing that was picked so goes out
// before what a send did not write.
// Method: the outbox in memory, a target whose sends do what the test says while they are under way, a clock that is moved
// by hand; the relay is stepped. A page is twelve rows.
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { Batch, SendResult } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failAll, makeScriptedTarget } from '../../support/scripted-target';

const pageRows = 12;

function setUp(rows: number) {
  const clock = makeHandClock(1_000_000);
  const outbox = makeMemoryOutbox(clock);
  for (let number = 0; number < rows; number += 1) outbox.add({ topic: 't', key: `k${number % 5}` });
  const target = makeScriptedTarget();
  const options = { ...relayDefaults, batchRows: pageRows, random: () => 0.5, clock, holder: 'me' };
  const relay = makeRelay(outbox, target, options);
  /** What is called, with the sends between the verbs. */
  const order = () => outbox.calls.slice(outbox.calls.indexOf('pickUnsent')).join(' ');
  const { send } = target;
  target.send = async (batches) => {
    outbox.calls.push('send' as never);
    const result = await send(batches);
    outbox.calls.push('sent' as never);
    return result;
  };
  /** The send answers after `meanwhile`. */
  const writes =
    (meanwhile: () => unknown) =>
    async (batches: Batch[]): Promise<SendResult> => {
      await meanwhile();
      return { outcomes: target.write(batches), spent: false };
    };
  const sentRows = () =>
    target.sends.map((batches) => batches.flatMap(({ rows: sent }) => sent.map(({ row }) => row)));
  const marked = () => outbox.rows.filter(({ sent }) => sent !== null).map(({ row }) => row);
  return { clock, outbox, target, relay, order, writes, sentRows, marked };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
/** Long enough for whatever waits for no timer. */
const turns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

test('the next page is picked while one is sent', async () => {
  const { target, relay, order, writes, sentRows, marked } = setUp(30);
  target.script = [writes(turns), writes(turns), writes(turns)];
  expect([await relay.step(), await relay.step()]).toEqual(['worked', 'empty']);
  expect(order()).toBe(
    'pickUnsent pickUnsent send sent markSent pickUnsent send sent markSent send sent markSent pickUnsent leads',
  );
  expect(sentRows()).toEqual([numbers(1, 12), numbers(13, 24), numbers(25, 30)]);
  expect(marked()).toEqual(numbers(1, 30));
});

test('one is marked while the next is sent', async () => {
  const { outbox, target, relay, writes, marked } = setUp(24);
  const sending = Promise.withResolvers<void>();
  const { markSent } = outbox;
  outbox.markSent = async (...given) => {
    await sending.promise;
    return markSent(...given);
  };
  target.script = [writes(turns), writes(sending.resolve)];
  await relay.step();
  expect(marked()).toEqual(numbers(1, 24));
});

test('no pick is under way while what was sent is marked: of what it leaves out nothing becomes unsent again', async () => {
  const { outbox, target, relay, writes, sentRows, marked } = setUp(36);
  const { markSent, pickUnsent } = outbox;
  const underWay: string[] = [];
  const alone = async <Answer>(verb: string, act: () => Promise<Answer>) => {
    expect(underWay).toEqual([]);
    underWay.push(verb);
    await turns();
    const answer = await act();
    await turns();
    underWay.pop();
    return answer;
  };
  outbox.markSent = (...given) => alone('markSent', () => markSent(...given));
  outbox.pickUnsent = (...given) => alone('pickUnsent', () => pickUnsent(...given));
  target.script = [writes(() => {}), writes(() => {}), writes(() => {})];
  await relay.step();
  expect(sentRows()).toEqual([numbers(1, 12), numbers(13, 24), numbers(25, 36)]);
  expect(marked()).toEqual(numbers(1, 36));
});

test('what becomes unsent again below what is in hand is picked next, and nothing that is in hand', async () => {
  const { outbox, target, relay, writes, sentRows } = setUp(36);
  const again = outbox.rows[2]!;
  again.sent = { position: 1, partition: 0, offset: '0' };
  const resend = () => {
    again.sent = null;
  };
  target.script = [writes(resend)];
  await relay.step();
  expect(sentRows()).toEqual([[1, 2, ...numbers(4, 13)], numbers(14, 25), [3, ...numbers(26, 36)]]);
});

test('what was picked ahead is left where the page before it was not written whole', async () => {
  const { clock, outbox, target, relay, sentRows } = setUp(24);
  target.script = [failAll('retry', 'NOT_ENOUGH_REPLICAS')];
  expect(await relay.step()).toBe('worked');
  expect(outbox.calls.filter((verb) => verb === 'pickUnsent')).toHaveLength(2);
  expect(await relay.step()).toBe('waiting');
  await clock.advance(10_000);
  await relay.step();
  expect(sentRows()).toEqual([numbers(1, 12), numbers(1, 12), numbers(13, 24)]);
  expect(target.written.map(({ sequence }) => sequence)).toEqual(
    numbers(1, 24).map((row) => Math.ceil(row / 5)),
  );
});

test('a lease that runs out while the next page is picked: nothing of that is sent', async () => {
  const { clock, target, relay, writes, marked } = setUp(24);
  target.script = [writes(() => turns().then(() => clock.standStill(60_000)))];
  await relay.step();
  expect(target.sends).toHaveLength(1);
  expect(marked()).toEqual([]);
});

test('a mark that the store did not take ends the turn behind the send that is under way; both are told again, in order', async () => {
  const { outbox, target, relay, writes, sentRows, marked } = setUp(36);
  outbox.failing.add('markSent');
  target.script = [writes(turns), writes(turns)];
  await expect(relay.step()).rejects.toThrow('told to fail');
  expect(sentRows()).toEqual([numbers(1, 12), numbers(13, 24)]);
  outbox.failing.clear();
  outbox.calls.length = 0;
  await relay.step();
  expect(outbox.calls.slice(0, 3)).toEqual(['markSent', 'markSent', 'pickUnsent']);
  expect(sentRows().at(-1)).toEqual(numbers(25, 36));
  expect(marked()).toEqual(numbers(1, 36));
});

test('a pick that fails while a page is sent costs that page nothing', async () => {
  const { outbox, target, relay, writes, sentRows, marked } = setUp(24);
  target.script = [writes(turns)];
  outbox.failing.add('pickUnsent');
  const { pickUnsent } = outbox;
  let picks = 0;
  outbox.pickUnsent = async (...given) => {
    picks += 1;
    if (picks === 1) outbox.failing.delete('pickUnsent');
    else outbox.failing.add('pickUnsent');
    return pickUnsent(...given);
  };
  await expect(relay.step()).rejects.toThrow('told to fail');
  expect(sentRows()).toEqual([numbers(1, 12)]);
  expect(marked()).toEqual(numbers(1, 12));
});

test('a turn ends after a second: what was picked until then is sent, and nothing more is picked', async () => {
  const { clock, target, relay, writes, sentRows } = setUp(60);
  target.script = [writes(() => clock.advance(600)), writes(() => clock.advance(600))];
  expect(await relay.step()).toBe('worked');
  expect(sentRows()).toEqual([numbers(1, 12), numbers(13, 24), numbers(25, 36)]);
});

test('fewer than a dozen are sent alone', async () => {
  const { outbox, relay } = setUp(11);
  await relay.step();
  expect(outbox.calls.filter((verb) => verb === 'pickUnsent')).toHaveLength(1);
});

test('a page that is not full is followed 10 ms after it was picked, or once it is sent', async () => {
  const { clock, outbox, target, relay, writes, sentRows } = setUp(0);
  const add = (rows: number) => {
    for (let number = 0; number < rows; number += 1) outbox.add({ topic: 't', key: 'a' });
  };
  const slow = makeRelay(outbox, target, { ...relayDefaults, clock, holder: 'me' });
  add(12);
  target.script = [
    writes(async () => {
      add(5);
      await turns();
      expect(outbox.calls.filter((verb) => verb === 'pickUnsent')).toHaveLength(1);
      await clock.advance(10);
      await turns();
      expect(outbox.calls.filter((verb) => verb === 'pickUnsent')).toHaveLength(2);
    }),
  ];
  await slow.step();
  expect(sentRows()).toEqual([numbers(1, 12), numbers(13, 17)]);
  add(12);
  target.script = [writes(() => add(5))];
  await slow.step();
  expect(sentRows().at(-1)).toEqual(numbers(18, 29));
  await relay.close();
});
