// How long one process keeps the others from renewing a connection, and when it no longer counts on that.
import { leaseOf } from '../../../src/connect/renewal-lease';
import { makeHandClock } from '../../support/hand-clock';

function setUp(answer: (leaseMs: number) => Promise<boolean> = async () => true) {
  const clock = makeHandClock(0);
  const asked: unknown[][] = [];
  const holdLease = (...args: [string, string, number]) => {
    asked.push(args);
    return answer(args[2]);
  };
  return {
    clock,
    asked,
    lease: leaseOf({ store: { holdLease }, clock, holder: 'h', callMsMax: 20_000 }, 'c1'),
  };
}

test('it is that of the connection, for four calls, until it is given back', async () => {
  const { asked, lease } = setUp(async (leaseMs) => leaseMs > 0);
  expect([await lease.take(), await lease.giveBack()]).toEqual([true, false]);
  expect(asked).toEqual([
    ['renew c1', 'h', 80_000],
    ['renew c1', 'h', 0],
  ]);
});

test('it is counted on for as long as one more call ends within it, from when it was asked for', async () => {
  const { clock, lease } = setUp(async () => {
    await clock.advance(1000);
    return true;
  });
  await clock.advance(500_000);
  await lease.take();
  await clock.advance(59_000);
  expect(lease.lasts()).toBe(true);
  await clock.advance(1);
  expect(lease.lasts()).toBe(false);
  await lease.take();
  expect(lease.lasts()).toBe(true);
});

test('a store that is away is told to who takes it, and to nobody who gives it back', async () => {
  const { lease } = setUp(async () => {
    throw new Error('away');
  });
  await expect(lease.take()).rejects.toThrow('away');
  expect(await lease.giveBack()).toBe(false);
});
