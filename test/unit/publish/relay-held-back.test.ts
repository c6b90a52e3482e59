// Goal: a quota of the far side makes the relay wait between two sends, under its lease, and is never taken for an outage.
// Method: the outbox in memory, a target that acknowledges and says for how long it holds back, a clock that is moved by
// hand; the relay is stepped.
import { makeRelay } from '../../../src/publish/relay';
import { type RelayOptions, relayDefaults } from '../../../src/publish/relay-options';
import type { Batch, SendResult } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failure, makeScriptedTarget } from '../../support/scripted-target';

const leaseMs = 60_000;

function setUp(chosen: Partial<RelayOptions> = {}) {
  const clock = makeHandClock(1_000_000);
  const outbox = makeMemoryOutbox(clock);
  const target = makeScriptedTarget();
  const told: [string, number, boolean?][] = [];
  const counted = { ms: 0 };
  const options = { ...relayDefaults, leaseMs, batchRows: 2, random: () => 0.5, ...chosen, clock };
  const hooks = {
    heldBack: (forMs: number, again: boolean) => void told.push(['held back', forMs, again]),
    waited(passedMs: number) {
      counted.ms += passedMs;
    },
    letGo: (waitedMs: number) => void told.push(['let go', waitedMs]),
  };
  const relay = makeRelay(outbox, target, { ...options, holder: 'me' }, hooks);
  const other = makeRelay(outbox, makeScriptedTarget(), { ...options, holder: 'another' });
  const fill = (keys: string) => {
    for (const key of keys) outbox.add({ topic: 't', key });
  };
  /** As the running service does: each second at the latest. */
  const stepFor = async (ms: number, each = () => {}) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
      await clock.advance(1_000);
      await relay.step();
      each();
    }
  };
  const holding = (heldBackMs: number) => (batches: Batch[]) => ({
    outcomes: target.write(batches),
    spent: false,
    heldBackMs,
  });
  return { clock, outbox, target, told, counted, relay, other, fill, stepFor, holding };
}

test('what is held back is sent once that is over, in its order and through the same producer', async () => {
  const { clock, outbox, target, relay, fill, holding } = setUp();
  fill('abab');
  target.script = [holding(40_000)];
  expect(await relay.step()).toBe('worked');
  expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([true, true, false, false]);
  expect(relay.holdUntilMs()).toBe(clock.nowMs() + 40_000);
  await clock.advance(39_999);
  expect(await relay.step()).toBe('waiting');
  expect(target.sends).toHaveLength(1);
  await clock.advance(1);
  expect([await relay.step(), await relay.step()]).toEqual(['worked', 'empty']);
  expect(target.written.map(({ key, sequence }) => key + sequence)).toEqual(['a1', 'b1', 'a2', 'b2']);
  expect(target.calls).toEqual(['open', 'send', 'send']);
});

test('what was picked together with it, and does not fit into the same send, waits as well', async () => {
  const { outbox, target, relay, fill, stepFor, holding } = setUp({ batchRows: 500, partitionBytesMax: 1 });
  fill('aaa');
  target.script = [holding(5_000)];
  await relay.step();
  expect(target.sends.map((batches) => batches.flatMap(({ rows }) => rows).length)).toEqual([1]);
  await stepFor(5_000);
  expect(target.sends).toHaveLength(3);
  expect(await outbox.unsentCount()).toBe(0);
});

test('it is waited for also where the store does not take the marks of what was sent', async () => {
  const { outbox, target, relay, fill, stepFor, holding } = setUp({ batchRows: 500, partitionBytesMax: 1 });
  fill('aaa');
  target.script = [holding(0), holding(5_000)];
  outbox.failing.add('markSent');
  await expect(relay.step()).rejects.toMatchObject({ code: 'store.unavailable' });
  outbox.failing.clear();
  await stepFor(4_000);
  expect(target.sends).toHaveLength(2);
  await stepFor(1_000);
  expect([target.sends.length, await outbox.unsentCount()]).toEqual([3, 0]);
});

test('for ten minutes that tells nobody of an outage, and nobody else comes to lead', async () => {
  const { clock, target, relay, other, fill, stepFor, holding } = setUp();
  fill('abab');
  target.script = [holding(600_000)];
  await relay.step();
  await stepFor(599_000, () => expect(relay.conditions()).toEqual([]));
  expect(await other.step()).toBe('waiting');
  await clock.advance(1_000);
  expect(await relay.step()).toBe('worked');
  expect(relay.conditions()).toEqual([]);
  expect(target.calls).toEqual(['open', 'send', 'send']);
});

test('a stop waits for no quota, and whoever leads next sends what is left', async () => {
  const { outbox, target, relay, other, fill, holding } = setUp();
  fill('abab');
  target.script = [holding(600_000)];
  await relay.step();
  // The clock stands still: nothing is waited for.
  await relay.close();
  expect(target.calls).toEqual(['open', 'send', 'close']);
  expect(await other.step()).toBe('worked');
  expect(await outbox.unsentCount()).toBe(0);
});

test('a producer that is given up with it is followed by another once it is over, and not before', async () => {
  const { target, relay, fill, stepFor, holding } = setUp();
  fill('abab');
  target.script = [(batches) => ({ ...holding(600_000)(batches), spent: true })];
  await relay.step();
  await stepFor(599_000);
  expect(target.calls).toEqual(['open', 'send', 'discard']);
  await stepFor(1_000);
  expect(target.calls).toEqual(['open', 'send', 'discard', 'open', 'send']);
  expect(relay.conditions()).toEqual([]);
});

test('while nothing is tried no failure is called lasting, and one that goes on is told with the next send', async () => {
  const { target, relay, fill, stepFor } = setUp();
  target.partitions.set('t', 8);
  const leaderless = (told: Pick<SendResult, 'heldBackMs'>) => {
    return (batches: Batch[]): SendResult => ({
      outcomes: batches.map((batch) =>
        batch.rows[0]?.key === 'a' ? failure('retry', 'LEADER_NOT_AVAILABLE') : target.write([batch])[0]!,
      ),
      spent: false,
      ...told,
    });
  };
  fill('ac');
  target.script = [leaderless({ heldBackMs: 40_000 })];
  await relay.step();
  await stepFor(39_000, () => expect(relay.conditions()).toEqual([]));
  target.script = [leaderless({})];
  await stepFor(1_000);
  expect(relay.conditions()).toMatchObject([{ name: 'kafka-unavailable', sinceMs: 1_000_000 }]);
  // It has waited, and not tried in vain, for half a minute: nobody else is to lead.
  expect(target.calls).toEqual(['open', 'send', 'send']);
});

test('a failure from before a quota that heals in it was never one to tell', async () => {
  const { target, relay, fill, stepFor } = setUp();
  fill('a');
  target.script = [
    (batches) => ({
      outcomes: batches.map(() => failure('retry', 'LEADER_NOT_AVAILABLE')),
      spent: false,
      heldBackMs: 40_000,
    }),
  ];
  await relay.step();
  await stepFor(41_000, () => expect(relay.conditions()).toEqual([]));
  expect(target.written).toHaveLength(1);
});

test('a partition that cannot be read is told after it, though nothing is left to be sent elsewhere', async () => {
  const { target, relay, fill, stepFor, holding } = setUp();
  target.partitions.set('t', 2);
  const unread = [{ topic: 't', partition: 0, partitions: 2 }];
  target.readOn = async () => ({ unread, denied: [], ends: [] });
  fill('abcdef');
  target.script = [holding(40_000)];
  await relay.step();
  await stepFor(39_000, () => expect(relay.conditions()).toEqual([]));
  await stepFor(2_000);
  expect(target.written.every(({ partition }) => partition === 1)).toBe(true);
  expect(relay.conditions()).toMatchObject([{ name: 'kafka-unavailable', sinceMs: 1_000_000 }]);
});

test('that a quota holds back is told once it begins and once it was over for a minute, and not for each send', async () => {
  const { target, told, relay, fill, stepFor, holding } = setUp();
  fill('ababab');
  target.script = [holding(10_000), holding(30_000)];
  await relay.step();
  await stepFor(10_000);
  await stepFor(89_000);
  expect(told).toEqual([
    ['held back', 10_000, false],
    ['held back', 30_000, true],
  ]);
  await stepFor(1_000);
  await stepFor(60_000);
  expect(told.slice(2)).toEqual([['let go', 40_000]]);
  fill('a');
  target.script = [holding(2_000)];
  await relay.step();
  expect(told.slice(3)).toEqual([['held back', 2_000, false]]);
});

test('a reading that is held back is told while it lasts, and what is waited in it is counted', async () => {
  const { clock, counted, told, target, relay, stepFor } = setUp();
  target.readOn = async () => {
    for (const forMs of [2_000, 1_000, 5_000, 1_000]) {
      target.heldBack(forMs);
      await clock.advance(forMs === 1_000 ? 500 : 2_000);
    }
    return { unread: [], denied: [], ends: [] };
  };
  await relay.step();
  expect(told).toEqual([
    ['held back', 2_000, false],
    ['held back', 1_000, true],
    ['held back', 5_000, true],
    ['held back', 1_000, true],
  ]);
  // Another connection is held back for longer than the last that was told of.
  await stepFor(64_000);
  expect([counted.ms, told.slice(4)]).toEqual([7_500, [['let go', 7_500]]]);
});

test('what is waited is counted as it passes, and not what a stop leaves of it', async () => {
  const { clock, counted, outbox, target, relay, fill, stepFor, holding } = setUp();
  fill('ababab');
  target.script = [holding(10_000), holding(600_000)];
  await relay.step();
  expect(counted.ms).toBe(0);
  await stepFor(4_000);
  expect(counted.ms).toBe(4_000);
  // The process stands still beyond the end of it.
  await clock.advance(20_000);
  await relay.step();
  expect(counted.ms).toBe(10_000);
  await stepFor(5_000);
  expect([counted.ms, await outbox.unsentCount()]).toEqual([15_000, 2]);
  await relay.close();
  expect(counted.ms).toBe(15_000);
});

test('whoever loses the lease in such a wait ceases to tell what the next one knows to be over', async () => {
  const { clock, outbox, target, relay, other, fill } = setUp({ batchRows: 500 });
  const denied = (batches: Batch[]) => ({
    outcomes: batches.map((batch) =>
      batch.topic === 'u' ? failure('missing', 'UNKNOWN_TOPIC_OR_PARTITION') : target.write([batch])[0]!,
    ),
    spent: false,
    heldBackMs: 600_000,
  });
  fill('a');
  outbox.add({ topic: 'u', key: 'a' });
  target.script = [denied];
  await relay.step();
  expect(relay.conditions()).toMatchObject([{ name: 'topic-denied' }]);
  await clock.advance(leaseMs);
  outbox.failing.add('holdLease');
  await expect(relay.step()).rejects.toMatchObject({ code: 'store.unavailable' });
  expect(relay.conditions()).toMatchObject([{ name: 'topic-denied' }]);
  outbox.failing.clear();
  while ((await other.step()) === 'worked');
  expect([await outbox.unsentCount(), other.conditions()]).toEqual([0, []]);
  await relay.step();
  expect(relay.conditions()).toEqual([]);
  expect(target.calls).toEqual(['open', 'send', 'discard']);
});

test('whoever has the lease again in such a wait sends by another producer, and not before it is over', async () => {
  const { clock, target, relay, other, fill, stepFor, holding } = setUp();
  fill('abab');
  target.script = [holding(600_000)];
  await relay.step();
  await clock.advance(leaseMs + 1_000);
  await relay.step();
  expect(await other.step()).toBe('waiting');
  await stepFor(538_000);
  expect(target.calls).toEqual(['open', 'send', 'discard']);
  await stepFor(2_000);
  expect(target.calls).toEqual(['open', 'send', 'discard', 'open', 'send']);
});

test('whoever does not lead any more neither counts what another waits nor says that it is over', async () => {
  const { clock, told, counted, relay, other, target, fill, stepFor, holding } = setUp();
  fill('abab');
  target.script = [holding(100_000)];
  await relay.step();
  // It stands still for longer than its lease lasts.
  await clock.advance(leaseMs);
  expect(await other.step()).toBe('worked');
  await relay.step();
  const countedMs = counted.ms;
  expect(countedMs).toBe(leaseMs);
  await stepFor(200_000, () => void other.step());
  expect([counted.ms, told.map(([what]) => what)]).toEqual([countedMs, ['held back']]);
});
