// Goal: a lease is trusted for as long as it was granted and not a moment longer, and what lapsed stays lapsed.
// Method: a store that answers what the test says, a clock that is moved by hand.
import { makeLease } from '../../../src/publish/lease';
import { makeHandClock } from '../../support/hand-clock';

const leaseMs = 9_000;
const thirdMs = leaseMs / 3;

/** The store's next answers, each after so long; once nothing is said it grants at once. */
function setUp(...answers: { afterMs?: number; held: boolean | 'no answer' }[]) {
  const clock = makeHandClock(1_000_000);
  const asked: number[] = [];
  const store = {
    async holdLease(_name: string, _holder: string, forMs: number) {
      asked.push(forMs);
      const { afterMs = 0, held } = answers.shift() ?? { held: true };
      clock.standStill(afterMs);
      if (held === 'no answer') throw new Error('the store is away');
      return held;
    },
  };
  const lease = makeLease(store, { clock, leaseName: 'relay-0', holder: 'me', leaseMs });
  return { clock, asked, lease };
}

test('it is held for as long as it was granted, counted from before it was asked for', async () => {
  const { clock, lease } = setUp({ afterMs: 2_000, held: true });
  expect([lease.isHeld(), await lease.confirm(), lease.isHeld()]).toEqual([false, true, true]);
  await clock.advance(leaseMs - 2_001);
  expect(lease.isHeld()).toBe(true);
  await clock.advance(1);
  expect(lease.isHeld()).toBe(false);
});

test.each(['confirm', 'renew'] as const)(
  'what another has is not held, however young it is: %s',
  async (ask) => {
    const { lease } = setUp({ held: true }, { held: false });
    await lease.confirm();
    expect([await lease[ask](), lease.isHeld()]).toEqual([false, false]);
  },
);

test('it ages after a third of its time, and from anew once it was renewed', async () => {
  const { clock, lease } = setUp();
  await lease.confirm();
  await clock.advance(thirdMs - 1);
  expect(lease.isAging()).toBe(false);
  await clock.advance(1);
  expect([lease.isAging(), await lease.renew(), lease.isAging()]).toEqual([true, true, false]);
});

test('what has run out is not renewed, and nobody is asked', async () => {
  const { clock, asked, lease } = setUp();
  await lease.confirm();
  await clock.advance(leaseMs);
  expect([await lease.renew(), lease.isHeld()]).toEqual([false, false]);
  expect(asked).toEqual([leaseMs]);
});

test('what runs out while it is renewed is over, though it was granted anew: another may have had it', async () => {
  const { clock, lease } = setUp({ held: true }, { afterMs: 1_000, held: true });
  await lease.confirm();
  await clock.advance(leaseMs - 1_000);
  expect([await lease.renew(), lease.isHeld()]).toEqual([false, false]);
});

test('what is under way is renewed at each third, for longer than a store that is away now and then', async () => {
  const away = { held: 'no answer' } as const;
  const { clock, asked, lease } = setUp({ held: true }, away, { held: true }, away);
  await lease.confirm();
  const { promise, resolve: end } = Promise.withResolvers<string>();
  const done = lease.during(promise);
  for (let third = 0; third < 5; third += 1) await clock.advance(thirdMs);
  expect([asked.length, lease.isHeld()]).toEqual([6, true]);
  end('sent');
  expect(await done).toBe('sent');
  await clock.advance(thirdMs);
  expect(asked).toHaveLength(6);
});

test('what is under way when it runs out is not renewed any more, and ends as it would have', async () => {
  const { clock, asked, lease } = setUp();
  await lease.confirm();
  const { promise, resolve: end } = Promise.withResolvers<string>();
  const done = lease.during(promise);
  await clock.advance(leaseMs);
  await clock.advance(leaseMs);
  expect([asked.length, lease.isHeld()]).toEqual([1, false]);
  end('sent');
  expect(await done).toBe('sent');
});

test('a renewal that is under way is waited for before what was done is told', async () => {
  const clock = makeHandClock(1_000_000);
  const answers = [async () => true, () => clock.wait(1_000).then(() => false)];
  const store = { holdLease: () => answers.shift()!() };
  const lease = makeLease(store, { clock, leaseName: 'relay-0', holder: 'me', leaseMs });
  await lease.confirm();
  let told: unknown = null;
  const work = clock.wait(thirdMs + 500).then(() => 'sent');
  const done = lease.during(work).then((result) => {
    told = [result, lease.isHeld()];
  });
  await clock.advance(thirdMs);
  await clock.advance(500);
  expect(told).toBeNull();
  await clock.advance(500);
  await done;
  expect(told).toEqual(['sent', false]);
});

test('it is given back where it is held, and then it is not; one that ran out or was dropped is not touched', async () => {
  const { clock, asked, lease } = setUp();
  await lease.giveBack();
  await lease.confirm();
  await lease.giveBack();
  expect([asked, lease.isHeld()]).toEqual([[leaseMs, 0], false]);
  await lease.confirm();
  lease.forget();
  expect(lease.isHeld()).toBe(false);
  await lease.giveBack();
  await lease.confirm();
  await clock.advance(leaseMs);
  await lease.giveBack();
  expect(asked).toEqual([leaseMs, 0, leaseMs, leaseMs]);
});
