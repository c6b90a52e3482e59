// Goal: only the relay that holds the lease sends and marks, and Kafka's absence is waited out and told.
// Method: the outbox in memory, a target that follows a script, a clock that is moved by hand; the relay is stepped.
import { Problem } from '../../../src/model/problem';
import { makeRelay } from '../../../src/publish/relay';
import type { RelayHooks } from '../../../src/publish/relay-options';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { Batch } from '../../../src/publish/target';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryOutbox } from '../../support/memory-outbox';
import { failAll, failure, makeScriptedTarget } from '../../support/scripted-target';

/** `storeApart`: the clock of the store is not set back with that of the relays. */
function setUp(hooks: RelayHooks = {}, leaseMs = 60_000, storeApart = false) {
  const clock = makeHandClock(1_000_000);
  const outbox = makeMemoryOutbox(storeApart ? { ...clock, nowMs: clock.steadyMs } : clock);
  outbox.add({ topic: 't', key: 'a' });
  const target = makeScriptedTarget();
  const options = { ...relayDefaults, leaseMs, random: () => 0.5, clock };
  const relay = makeRelay(outbox, target, { ...options, holder: 'me' }, hooks);
  const other = makeRelay(outbox, makeScriptedTarget(), { ...options, holder: 'another' });
  return { clock, outbox, target, relay, other };
}

test('a relay without the lease opens nothing, sends nothing and asks again later', async () => {
  const { clock, target, relay, other } = setUp();
  await other.step();
  expect(await relay.step()).toBe('waiting');
  expect(target.calls).toEqual([]);
  expect(relay.holdUntilMs()).toBe(clock.nowMs() + 500);
});

test('a relay that loses the lease while it opens sends nothing', async () => {
  const { outbox, target, relay } = setUp();
  target.open = async () => outbox.giveLeaseTo('another', 60_000);
  expect(await relay.step()).toBe('waiting');
  expect(target.calls).toEqual(['discard']);
  expect(outbox.calls).not.toContain('pickUnsent');
});

test('the lease is renewed while it is young enough, and its loss ends the producer', async () => {
  const { clock, outbox, target, relay } = setUp();
  await relay.step();
  await clock.advance(19_000);
  await relay.step();
  expect(outbox.calls.filter((verb) => verb === 'holdLease')).toHaveLength(2);
  await clock.advance(1_000);
  await relay.step();
  expect(outbox.calls.filter((verb) => verb === 'holdLease')).toHaveLength(3);
  outbox.giveLeaseTo('another', 60_000);
  await clock.advance(20_000);
  expect(await relay.step()).toBe('waiting');
  expect(target.calls.at(-1)).toBe('discard');
});

test('a clock that is set back by an hour holds up neither the one who leads nor the one who takes over', async () => {
  const { clock, outbox, target, relay, other } = setUp(undefined, 60_000, true);
  await relay.step();
  expect(await other.step()).toBe('waiting');
  clock.setBack(3_600_000);
  for (let number = 2; number <= 5; number += 1) {
    await clock.advance(30_000);
    outbox.add({ topic: 't', key: 'a' });
    expect(await relay.step()).toBe('worked');
    expect(await relay.step()).toBe('empty');
    expect(target.written).toHaveLength(number);
  }
  expect(await other.step()).toBe('waiting');
  clock.setBack(3_600_000);
  outbox.add({ topic: 't', key: 'a' });
  await clock.advance(60_000);
  expect(await other.step()).toBe('worked');
  expect(await outbox.unsentCount()).toBe(0);
});

test('a back-off ends in its time though the clock is set back meanwhile', async () => {
  const { clock, target, relay } = setUp(undefined, 60_000, true);
  target.script = [failAll('retry', 'NOT_LEADER_FOR_PARTITION')];
  await relay.step();
  expect(await relay.step()).toBe('waiting');
  clock.setBack(3_600_000);
  await clock.advance(1_000);
  expect(await relay.step()).toBe('worked');
  expect(target.written).toHaveLength(1);
});

test('a relay whose lease lapsed by the clock of the store alone takes it again, and says nothing is unsent only then', async () => {
  const { clock, outbox, target, relay, other } = setUp();
  await relay.step();
  outbox.giveLeaseTo('another', 1_000);
  outbox.add({ topic: 't', key: 'b' });
  expect([await relay.step(), await relay.step()]).toEqual(['worked', 'waiting']);
  await clock.advance(1_000);
  expect([await relay.step(), await relay.step()]).toEqual(['worked', 'empty']);
  expect(target.written).toHaveLength(2);
  expect(await other.step()).toBe('waiting');
});

test('a lease that lapsed in silence means a new producer before anything is sent', async () => {
  const { clock, outbox, target, relay } = setUp();
  await relay.step();
  await clock.advance(60_000);
  outbox.add({ topic: 't', key: 'b' });
  await relay.step();
  expect(target.calls).toEqual(['open', 'send', 'discard', 'open', 'send']);
});

test('K12: a relay that was held up beyond its lease marks nothing of what it sent', async () => {
  const { clock, outbox, target, relay } = setUp();
  target.script = [
    async (batches: Batch[]) => {
      await clock.advance(60_000);
      return { outcomes: target.write(batches), spent: false };
    },
  ];
  await relay.step();
  expect(outbox.calls).not.toContain('markSent');
  expect(target.calls).toEqual(['open', 'send', 'discard']);
  await relay.step();
  expect(target.written.map(({ key, sequence }) => key + sequence)).toEqual(['a1', 'a1']);
});

test('a leader that loses its lease in every send is told of, until one ends in time', async () => {
  const { clock, target, relay } = setUp();
  const heldUp = async (batches: Batch[]) => {
    await clock.advance(60_000);
    return { outcomes: target.write(batches), spent: false };
  };
  target.script = [heldUp, heldUp];
  await relay.step();
  await relay.step();
  expect(relay.conditions()).toMatchObject([
    { name: 'kafka-unavailable', detail: expect.stringContaining('lease') },
  ]);
  await relay.step();
  expect(relay.conditions()).toEqual([]);
});

test('a send that takes longer than the lease keeps it: what was acknowledged goes once, a mute broker is told of', async () => {
  const { clock, outbox, target, relay } = setUp({}, 8000);
  outbox.add({ topic: 'mute', key: 'b' });
  const oneMute = async (batches: Batch[]) => {
    const outcomes = batches.map((batch) =>
      batch.topic === 'mute' ? failure('retry', 'TIMED_OUT') : target.write([batch])[0]!,
    );
    for (let second = 0; second < 10; second += 1) await clock.advance(1000);
    return { outcomes, spent: true };
  };
  target.script = Array.from({ length: 20 }, () => oneMute);
  for (let turn = 0; turn < 20; turn += 1) {
    await relay.step();
    await clock.advance(1000);
  }
  expect(target.written.map(({ topic }) => topic)).toEqual(['t']);
  expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([true, false]);
  expect(relay.conditions()).toMatchObject([{ name: 'kafka-unavailable' }]);
});

test('K12: a lease that ran out during a send is not trusted again because it could be taken again', async () => {
  const { clock, outbox, target, relay } = setUp({}, 9000);
  target.script = [
    async (batches: Batch[]) => {
      // Another led meanwhile, and gave it back.
      outbox.giveLeaseTo('another', 0);
      await clock.advance(9000);
      return { outcomes: target.write(batches), spent: false };
    },
  ];
  await relay.step();
  expect(outbox.calls).not.toContain('markSent');
  expect(target.calls).toEqual(['open', 'send', 'discard']);
});

test('between two sends of one step the lease is confirmed when it has aged', async () => {
  const { clock, outbox, target, relay } = setUp();
  for (let number = 0; number < 2; number += 1)
    outbox.add({ topic: 't', key: 'a', value: 'v'.repeat(900_000) });
  target.script = [
    async (batches: Batch[]) => {
      await clock.advance(30_000);
      outbox.giveLeaseTo('another', 60_000);
      return { outcomes: target.write(batches), spent: false };
    },
  ];
  await relay.step();
  expect(target.sends).toHaveLength(1);
  expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([true, true, false]);
});

test('B7: a fenced producer is given up, the lease is confirmed, another is opened, the same bytes are sent', async () => {
  const discarded = jest.fn();
  const { outbox, target, relay } = setUp({ discarded });
  target.script = [failAll('fenced', 'INVALID_PRODUCER_EPOCH')];
  expect([await relay.step(), await relay.step(), await relay.step()]).toEqual(['worked', 'worked', 'empty']);
  expect(target.calls).toEqual(['open', 'send', 'discard', 'open', 'send']);
  const asked = outbox.calls.filter((verb) => verb !== 'leads');
  expect(asked.slice(-5)).toEqual(['holdLease', 'holdLease', 'pickUnsent', 'markSent', 'pickUnsent']);
  expect(target.sends[1]).toEqual(target.sends[0]);
  expect(discarded).toHaveBeenCalledTimes(1);
});

test('a producer takes a new epoch long before brokers forget its id, between two sends', async () => {
  const { clock, outbox, target, relay } = setUp({}, 100_000_000);
  await relay.step();
  await clock.advance(21_599_999);
  outbox.add({ topic: 't', key: 'b' });
  await relay.step();
  expect(target.calls).toEqual(['open', 'send', 'send']);
  await clock.advance(1);
  outbox.add({ topic: 't', key: 'c' });
  await relay.step();
  expect(target.calls).toEqual(['open', 'send', 'send', 'discard', 'open', 'send']);
  expect(await relay.step()).toBe('empty');
});

test('a lease that lapsed since rows were picked lets none of them be sent, though it can be had again', async () => {
  const { clock, outbox, target, relay } = setUp();
  const { partitionsOf } = target;
  target.partitionsOf = async (topic) => {
    target.partitionsOf = partitionsOf;
    outbox.giveLeaseTo('another', 60_000);
    await clock.advance(120_000);
    return partitionsOf(topic);
  };
  await relay.step();
  expect(target.calls).toEqual(['open', 'discard']);
  await relay.step();
  expect(target.calls).toEqual(['open', 'discard', 'open', 'send']);
});

test('a fenced producer whose relay is not the leader any more sends nothing', async () => {
  const { outbox, target, relay } = setUp();
  target.script = [
    (batches) => {
      outbox.giveLeaseTo('another', 60_000);
      return failAll('fenced', 'INVALID_PRODUCER_EPOCH')(batches);
    },
  ];
  await relay.step();
  expect(await relay.step()).toBe('waiting');
  expect(target.calls).toEqual(['open', 'send', 'discard']);
  expect(relay.conditions()).toEqual([]);
});

test('producers that fence each other for ever slow down, and a person is told why', async () => {
  const { clock, target, relay } = setUp();
  target.script = Array(500).fill(failAll('fenced', 'INVALID_PRODUCER_EPOCH'));
  for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 100) {
    await relay.step();
    await clock.advance(100);
  }
  expect(target.sends.length).toBeLessThan(30);
  expect(relay.conditions()).toEqual([
    { name: 'kafka-unavailable', sinceMs: 1_000_000, detail: expect.stringContaining('KAFKA_CLIENT_ID') },
  ]);
});

test('while Kafka is away nothing is picked, the pause grows, and a lasting absence is a condition', async () => {
  const failed: unknown[] = [];
  const { clock, outbox, target, relay } = setUp({ unopened: (...what) => failed.push(what) });
  target.openProblems = Array(500).fill(
    new Problem('publish.unavailable', 'Kafka gave no answer at b1:9092'),
  );
  expect(await relay.step()).toBe('waiting');
  expect(relay.holdUntilMs()).toBe(clock.nowMs() + 100);
  expect(await relay.step()).toBe('waiting');
  expect(relay.conditions()).toEqual([]);
  for (let elapsedMs = 0; elapsedMs < 300_000; elapsedMs += 100) {
    await clock.advance(100);
    await relay.step();
  }
  expect(failed.length).toBeGreaterThan(10);
  expect(failed.length).toBeLessThan(75);
  expect(failed[0]).toEqual(['publish.unavailable', 'Kafka gave no answer at b1:9092']);
  expect(outbox.calls).not.toContain('pickUnsent');
  expect(relay.conditions()).toEqual([
    { name: 'kafka-unavailable', sinceMs: 1_000_000, detail: 'Kafka gave no answer at b1:9092' },
  ]);
  target.openProblems = [];
  await clock.advance(10_000);
  expect(await relay.step()).toBe('worked');
  expect(relay.conditions()).toEqual([]);
});

test('Kafka that is back while nothing waits is not called away', async () => {
  const { clock, outbox, target, relay } = setUp();
  await relay.step();
  await clock.advance(60_000);
  target.openProblems = [new Problem('publish.unavailable', 'no answer')];
  await relay.step();
  await clock.advance(20_000);
  expect(relay.conditions()).toHaveLength(1);
  expect(await relay.step()).toBe('empty');
  expect(relay.conditions()).toEqual([]);
  expect(outbox.rows).toHaveLength(1);
});

test('a partition that could not be written is no trouble any more once nothing waits for it', async () => {
  const { clock, outbox, target, relay } = setUp();
  target.script = [failAll('retry', 'TIMED_OUT')];
  await relay.step();
  await outbox.quarantineRecord(outbox.rows[0]!, 'record-refused', 'by hand');
  await clock.advance(20_000);
  expect(relay.conditions()).toHaveLength(1);
  expect(await relay.step()).toBe('empty');
  expect(relay.conditions()).toEqual([]);
});

test('a login that is refused is not tried hotly', async () => {
  const { clock, target, relay } = setUp();
  target.openProblems = [new Problem('publish.refused', 'Kafka cannot be used: the login was refused')];
  await relay.step();
  expect(relay.holdUntilMs()).toBe(clock.nowMs() + 5_000);
});

test('an error that is no problem of Kafka is not hidden', async () => {
  const { target, relay } = setUp();
  target.openProblems = [new TypeError('a mistake')];
  await expect(relay.step()).rejects.toThrow('a mistake');
  expect(await relay.step()).toBe('worked');
});

test('closing ends the producer and gives the lease back, so that another goes on at once', async () => {
  const { relay, target, other } = setUp();
  await relay.step();
  await relay.close();
  expect(target.calls.at(-1)).toBe('close');
  expect(await relay.step()).toBe('waiting');
  expect(await other.step()).toBe('empty');
});

test('a relay that never led gives nothing back', async () => {
  const { outbox, relay } = setUp();
  await relay.close();
  expect(outbox.calls).toEqual([]);
});

test.each([
  { withinMs: undefined, waitsMs: 5_000 },
  { withinMs: 1_000, waitsMs: 1_000 },
])('closing waits for the send under way, and no longer than it may: $waitsMs ms', async (may) => {
  const { clock, outbox, target, relay } = setUp();
  let end = () => {};
  target.script = [
    (batches) =>
      new Promise((resolve) => {
        end = () => resolve(failAll('retry', 'CONNECTION')(batches));
      }),
  ];
  const close = target.close;
  target.close = async () => {
    end();
    await close();
  };
  const step = relay.step();
  await new Promise(setImmediate);
  const closed = relay.close(may.withinMs);
  await clock.advance(may.waitsMs - 1);
  expect(target.calls).not.toContain('close');
  await clock.advance(1);
  await closed;
  expect(await step).toBe('worked');
  expect(outbox.rows[0]?.sent).toBeNull();
});

test('closing leaves no wait behind', async () => {
  const { clock, target, relay } = setUp();
  const waits: AbortSignal[] = [];
  const { wait } = clock;
  clock.wait = (ms, signal) => {
    waits.push(signal!);
    return wait(ms, signal);
  };
  await relay.step();
  await relay.close(1000);
  expect(waits.map(({ aborted }) => aborted)).not.toContain(false);
  expect(target.calls.at(-1)).toBe('close');
});

test('a send that succeeds while the relay closes is marked, and nothing is sent after it', async () => {
  const { outbox, target, relay } = setUp();
  for (let number = 0; number < 2; number += 1)
    outbox.add({ topic: 't', key: 'a', value: 'v'.repeat(900_000) });
  target.script = [
    (batches) => {
      void relay.close();
      return { outcomes: target.write(batches), spent: false };
    },
  ];
  await relay.step();
  expect(target.sends).toHaveLength(1);
  expect(outbox.rows.map(({ sent }) => sent !== null)).toEqual([true, true, false]);
});

test('a standby leads within half a second of the end of a dead one’s lease, or of its being given back', async () => {
  const { clock, relay, other } = setUp();
  const leadsAfter = async () => {
    const began = clock.nowMs();
    for (;;) {
      const did = await relay.step();
      if (did !== 'waiting') return clock.nowMs() - began;
      await clock.advance(relay.holdUntilMs()! - clock.nowMs());
    }
  };
  await other.step();
  expect(await leadsAfter()).toBeLessThanOrEqual(60_500);
  await relay.close();
  const { clock: again, relay: next, other: leader } = setUp();
  await leader.step();
  expect(await next.step()).toBe('waiting');
  await leader.close();
  await again.advance(500);
  expect(await next.step()).not.toBe('waiting');
});

test.each([
  ['denied', 'TOPIC_AUTHORIZATION_FAILED'],
  ['retry', 'NOT_ENOUGH_REPLICAS'],
] as const)('what was %s to a relay that no longer leads is no state of today', async (kind, code) => {
  const { clock, outbox, target, relay } = setUp();
  target.script = [failAll(kind, code)];
  await relay.step();
  await clock.advance(20_000);
  expect(relay.conditions()).toHaveLength(1);
  outbox.giveLeaseTo('another', 100_000_000);
  await clock.advance(60_000);
  expect(await relay.step()).toBe('waiting');
  expect(relay.conditions()).toEqual([]);
});

test('what is told of Kafka is settled by who leads once all that is unsent could be written, and no longer than it leads', async () => {
  const { clock, outbox, target, relay, other } = setUp();
  expect(relay.settled()).toEqual([]);
  target.script = [failAll('retry', 'NOT_LEADER_FOR_PARTITION')];
  await relay.step();
  expect(relay.settled()).toEqual([]);
  // What is left alone for now was not written.
  expect(await relay.step()).toBe('waiting');
  expect(relay.settled()).toEqual([]);
  await clock.advance(1_000);
  expect(await relay.step()).toBe('worked');
  expect(relay.settled()).toEqual(['kafka-unavailable', 'topic-denied']);
  expect(await relay.step()).toBe('empty');
  expect(relay.settled()).toEqual(['kafka-unavailable', 'topic-denied']);
  expect(await other.step()).toBe('waiting');
  expect(other.settled()).toEqual([]);
  outbox.giveLeaseTo('another', 60_000);
  await clock.advance(20_000);
  expect(await relay.step()).toBe('waiting');
  expect(relay.settled()).toEqual([]);
});

test('while a send is under way nothing is settled', async () => {
  const { target, relay, outbox } = setUp();
  await relay.step();
  expect(relay.settled()).toEqual(['kafka-unavailable', 'topic-denied']);
  outbox.add({ topic: 't', key: 'b' });
  let during: string[] | null = null;
  target.script = [
    (batches: Batch[]) => {
      during = relay.settled();
      return { outcomes: target.write(batches), spent: false };
    },
  ];
  await relay.step();
  expect(during).toEqual([]);
  expect(relay.settled()).toEqual(['kafka-unavailable', 'topic-denied']);
});
