/**
 * What every store promises where its clock is set back: once retention looked, nothing waits for longer than it was meant
 * to, and nothing that was meant to wait comes at once.
 */
import type { StoreRules } from '../../src/store/store-rules';
import { address, type DamageableStore, draftOf, goneBy, Hand, heldBy, hintOf, terms } from './store-hand';

const hourMs = 3_600_000;
const leaseMs = 60_000;
const settleMs = 30_000;

export function storeClockSuite(
  name: string,
  open: (rules?: Partial<StoreRules>) => Promise<DamageableStore>,
): void {
  describe.each([
    ['ahead at a look', true],
    ['ahead between two looks', false],
  ])(`store contract, a clock that is set back, %s: ${name}`, (_when, looked) => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
      await sweepAll();
      under.advance(hourMs);
    });
    afterEach(() => under.close());

    const sweepAll = async () => {
      while ((await hand.store.sweep()).more);
    };
    /** By an hour, noticed by the next look. */
    const setBack = async () => {
      if (looked) await sweepAll();
      under.advance(-hourMs);
      await sweepAll();
    };
    test('a sync that began before the clock was set back began now, as far as anybody can tell', async () => {
      const { run } = await hand.store.beginRun({ organizationId: null, full: false });
      under.advance(5000);
      expect(await hand.store.lastRun()).toMatchObject({ run, agoMs: 5000 });
      await setBack();
      expect(await hand.store.lastRun()).toMatchObject({ run, agoMs: 0 });
    });

    /** The only task is due after so many milliseconds, and not before. */
    const expectDueIn = async (ms: number) => {
      expect(await hand.store.nextDueInMs('task')).toBe(ms);
      under.advance(ms - 1);
      expect(await hand.store.take(1)).toEqual([]);
      under.advance(1);
      expect(await hand.store.take(1)).toHaveLength(1);
    };

    test('what is due is due, of every organization', async () => {
      for (const organizationId of ['1', '2', '3']) await hand.put([hintOf(organizationId, organizationId)]);
      await setBack();
      under.advance(1000);
      expect(await hand.store.take(10)).toHaveLength(3);
    });

    test('what settles settles for as long as it is meant to', async () => {
      await hand.put([hintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs });
      await setBack();
      await expectDueIn(settleMs);
    });

    test('what was put off waits as long again, and no longer', async () => {
      await hand.put([hintOf('1')]);
      const put = { dueInMs: 5000, agedMs: 0, own: true, code: 'timeout', detail: null };
      await hand.store.postpone({ ...heldBy(await hand.take()), ...put });
      await setBack();
      await expectDueIn(5000);
    });

    test('what waits from before the time to which it is set goes on waiting for the rest', async () => {
      await hand.put([hintOf('1')]);
      const put = { dueInMs: 3 * hourMs, agedMs: 0, own: true, code: 'timeout', detail: null };
      await hand.store.postpone({ ...heldBy(await hand.take()), ...put });
      under.advance(2 * hourMs);
      await setBack();
      await expectDueIn(2 * hourMs);
    });

    test('an absence is asked for again in its time', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      const task = await hand.take();
      await hand.store.foundAbsent({ ...heldBy(task), againInMs: 600_000 });
      await setBack();
      under.advance(600_000);
      const again = await hand.take();
      expect(under.nowMs() - again.absentSinceMs!).toBe(600_000);
      expect(await hand.store.finishGone(goneBy(again))).toMatchObject({ outcome: 'gone' });
    });

    test('of many that went at once no more are believed for an hour, and no longer', async () => {
      const ids = Array.from({ length: 22 }, (_, index) => String(index));
      for (const id of ids) await hand.publish(id, 'a');
      const goneNow = async (wanted: string[]) => {
        await hand.put(wanted.map((id) => hintOf(id)));
        under.advance(1000);
        const outcomes: string[] = [];
        for (const task of await hand.store.take(100))
          outcomes.push((await hand.store.finishGone(goneBy(task))).outcome);
        return outcomes;
      };
      expect(new Set(await goneNow(ids.slice(0, 20)))).toEqual(new Set(['gone']));
      await setBack();
      expect(await goneNow(['20'])).toEqual(['refused']);
      under.advance(hourMs);
      expect(await goneNow(['21'])).toEqual(['gone']);
    });

    test('the task of one who died is taken over within a lease, and who lives keeps it', async () => {
      await hand.put([hintOf('1'), hintOf('2')]);
      const [first, second] = await hand.store.take(2);
      await setBack();
      expect(await hand.store.take(2)).toEqual([]);
      expect(await hand.finish(first!, draftOf('1', 'a'))).toMatchObject({ outcome: 'published' });
      under.advance(leaseMs);
      const again = await hand.take();
      expect(again).toMatchObject({ taskId: second!.taskId, address: address('2') });
      expect(again.fence).toBeGreaterThan(second!.fence);
    });

    test('a named lease of one who died is free after four leases at the latest', async () => {
      await hand.store.holdLease('relay', 'dead', leaseMs);
      await setBack();
      expect(await hand.store.holdLease('relay', 'other', leaseMs)).toBe(false);
      under.advance(4 * leaseMs);
      expect(await hand.store.holdLease('relay', 'other', leaseMs)).toBe(true);
    });

    test('no named lease is cut that is not longer than four leases', async () => {
      await hand.store.holdLease('renew c1', 'lives', 4 * leaseMs);
      await setBack();
      under.advance(4 * leaseMs - 1);
      expect(await hand.store.holdLease('renew c1', 'other', leaseMs)).toBe(false);
      under.advance(1);
      expect(await hand.store.holdLease('renew c1', 'other', leaseMs)).toBe(true);
    });

    test('what a process told that died is forgotten', async () => {
      await hand.store.shareConditions('dead', [], leaseMs);
      await setBack();
      under.advance(4 * leaseMs);
      expect(await hand.store.shareConditions('other', [], leaseMs)).toEqual([]);
    });

    test('a pause that the provider asked for lasts as long as it asked', async () => {
      await hand.put([hintOf('1')]);
      await hand.store.pauseReading(20_000);
      await setBack();
      expect(await hand.store.readingPause()).toEqual({ sinceMs: under.nowMs(), leftMs: 20_000 });
      under.advance(20_000);
      expect(await hand.store.take(1)).toHaveLength(1);
    });

    test('a blocked organization is probed in its time, and the probe of one who died again', async () => {
      await hand.publish('1', 'a');
      await hand.observe(terms);
      under.advance(15_000);
      expect(await hand.store.takeProbes(1, leaseMs)).toHaveLength(1);
      await setBack();
      expect(await hand.store.nextDueInMs('probe')).toBe(leaseMs);
      under.advance(leaseMs);
      expect(await hand.store.takeProbes(1, leaseMs)).toHaveLength(1);
      await hand.postponeProbe('later');
      const waitMs = (await hand.store.nextDueInMs('probe'))!;
      await setBack();
      expect(await hand.store.nextDueInMs('probe')).toBe(waitMs);
      expect(waitMs).toBeLessThanOrEqual(900_000);
    });

    test('an organization whose work waits for a probe is let go though no answer comes', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      const task = await hand.take();
      const probe = { organizationId: '4711', refusedAddress: address('1'), connectionId: 'c1' };
      await hand.store.giveBack({
        ...heldBy(task),
        dueInMs: 0,
        agedMs: 0,
        code: 'forbidden',
        detail: null,
        probe,
      });
      await setBack();
      under.advance(29_999);
      expect(await hand.store.take(1)).toEqual([]);
      under.advance(1);
      expect(await hand.store.take(1)).toHaveLength(1);
    });

    test('the budget of probes is open at once, also before that look', async () => {
      const payAll = async () => {
        let calls = 0;
        while ((await hand.store.payProbeCall(false)) === 0) calls += 1;
        return calls;
      };
      await under.close();
      under = await open({ probesPerMinute: 60 });
      hand = new Hand(under);
      const full = await payAll();
      under.advance(-hourMs);
      expect(await payAll()).toBe(full);
      under.advance(2000);
      expect(await payAll()).toBe(1);
    });

    test('what began after it was set right is left as it is by the looks that follow', async () => {
      await hand.put([hintOf('1')]);
      await setBack();
      const put = { dueInMs: 5000, agedMs: 0, own: true, code: 'timeout', detail: null };
      under.advance(1000);
      await hand.store.postpone({ ...heldBy(await hand.take()), ...put });
      under.advance(2000);
      await sweepAll();
      await expectDueIn(3000);
    });

    // Only what a look noted outlives a process.
    if (looked)
      test('is seen by a store that was opened since', async () => {
        await hand.put([hintOf('1')]);
        await sweepAll();
        await hand.reopen();
        under.advance(-hourMs);
        await sweepAll();
        under.advance(1000);
        expect(await hand.store.take(1)).toHaveLength(1);
      });
  });
}
