// Goal: of several processes on one store one tells the sinks, knows what the others know, and is followed when it ends.
// Method: two leaders on one store in memory, and a clock that is moved by hand.
import { makeLeader } from '../../../src/alert/leader';
import type { Condition } from '../../../src/model/alert';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { noonMs } from './samples';

const kafka: Condition = { name: 'kafka-unavailable', sinceMs: noonMs, detail: 'no broker' };

function two(leaseMs = 15_000) {
  const clock = makeHandClock(noonMs);
  const store = makeMemoryAlerts();
  const asked: string[] = [];
  const askedMs: number[] = [];
  const counted = {
    ...store,
    holdLease: (...lease: Parameters<typeof store.holdLease>) => {
      asked.push(lease[1]);
      askedMs.push(lease[2]);
      return store.holdLease(...lease);
    },
    shareConditions: (...told: Parameters<typeof store.shareConditions>) => {
      askedMs.push(told[2]);
      return store.shareConditions(...told);
    },
  };
  const [first, second] = ['a', 'b'].map((holder) => makeLeader(counted, clock, holder, leaseMs));
  return { clock, store, asked, askedMs, first: first!, second: second! };
}

test('one leads, and the other follows when it gives back', async () => {
  const { first, second, clock } = two();
  expect(await first.confirm([])).toEqual({ leads: true, alone: false, others: [] });
  expect(await second.confirm([])).toEqual({ leads: false, alone: false, others: [] });
  await first.giveBack();
  await second.giveBack();
  await clock.advance(5000);
  expect(await second.confirm([])).toMatchObject({ leads: true });
  expect(await first.confirm([])).toMatchObject({ leads: false });
});

test('the one that leads hears what the other knows, and hears when it is over', async () => {
  const { first, second, clock } = two();
  await first.confirm([]);
  expect(await second.confirm([kafka])).toEqual({ leads: false, alone: false, others: [] });
  await clock.advance(5000);
  expect(await first.confirm([])).toEqual({
    leads: true,
    alone: false,
    others: [{ holder: 'b', conditions: [kafka] }],
  });
  await second.confirm([]);
  await clock.advance(5000);
  expect(await first.confirm([])).toEqual({
    leads: true,
    alone: false,
    others: [{ holder: 'b', conditions: [] }],
  });
});

test('the store is asked every five seconds, and at once when another state holds', async () => {
  const { first, clock, asked } = two();
  for (let step = 0; step < 20; step += 1) {
    await first.confirm([]);
    await clock.advance(500);
  }
  expect(asked).toHaveLength(2);
  await first.confirm([]);
  await first.confirm([kafka]);
  await first.confirm([{ ...kafka, detail: 'another text' }]);
  await first.confirm([{ ...kafka, labels: { topic: 't' } }]);
  expect(asked).toHaveLength(5);
});

test('a clock that is set back keeps nobody from renewing, and from hearing what another knows', async () => {
  const { first, second, asked, clock } = two();
  await first.confirm([]);
  clock.setBack(3_600_000);
  await second.confirm([kafka]);
  await clock.advance(5000);
  expect(await first.confirm([])).toMatchObject({ others: [{ holder: 'b', conditions: [kafka] }] });
  expect(asked).toEqual(['a', 'b', 'a']);
});

test('while the store is away, the one that led goes on and the other does not', async () => {
  const { first, second, store, clock } = two();
  await first.confirm([]);
  await second.confirm([]);
  store.away = true;
  await clock.advance(60_000);
  expect(await first.confirm([kafka])).toMatchObject({ leads: true });
  expect(await second.confirm([kafka])).toMatchObject({ leads: false });
});

test('the only process that can have a store leads whatever that says, also from its start', async () => {
  const { store, clock } = two();
  store.away = true;
  const sole = makeLeader(store, clock, 'a', 15_000, true);
  expect(await sole.confirm([kafka])).toEqual({ leads: true, alone: false, others: [] });
  await clock.advance(600_000);
  expect(await sole.confirm([kafka])).toMatchObject({ leads: true, alone: false });
  store.away = false;
  expect(await sole.confirm([])).toMatchObject({ leads: true, alone: false });
});

test('who cannot make sure of leading for five minutes is alone, until the store says who leads', async () => {
  const { first, second, store, clock } = two();
  await first.confirm([]);
  store.away = true;
  await clock.advance(299_999);
  expect(await first.confirm([])).toMatchObject({ leads: true, alone: false });
  await clock.advance(1);
  expect(await first.confirm([])).toMatchObject({ leads: true, alone: true });
  store.away = false;
  expect(await first.confirm([])).toMatchObject({ leads: true, alone: false });
  await store.holdLease('alerts', 'a', 0);
  await second.confirm([]);
  await clock.advance(5000);
  expect(await first.confirm([])).toMatchObject({ leads: false, alone: false });
});

test('a shorter lease is asked for three times as often, and what was told is forgotten soon after it', async () => {
  const { first, clock, asked, askedMs } = two(3000);
  for (let step = 0; step < 4; step += 1) {
    await first.confirm([]);
    await clock.advance(500);
  }
  expect(asked).toHaveLength(2);
  expect(askedMs).toEqual([3000, 4000, 3000, 4000]);
});

test.each([4000, 5000, 10_000, 14_000])(
  'a lease of %d ms is asked for in whole milliseconds',
  async (leaseMs) => {
    const { first, askedMs } = two(leaseMs);
    await first.confirm([kafka]);
    expect([askedMs.length, askedMs.every(Number.isInteger)]).toEqual([2, true]);
  },
);

test('another failure of the store is told', async () => {
  const clock = makeHandClock(noonMs);
  const store = { ...makeMemoryAlerts(), holdLease: () => Promise.reject(new Error('closed')) };
  await expect(makeLeader(store, clock, 'a', 15_000).confirm([])).rejects.toThrow('closed');
});
