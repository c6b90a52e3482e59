/**
 * What every store promises of an organization for which much waits: it is forgotten in pages, can be killed between two of them,
 * and holds every promise there. Who asks again goes on. Every store must pass.
 */
import type { Forgotten } from '../../src/model/organization';
import { isProblem } from '../../src/model/problem';
import { address, type DamageableStore, draftOf, Hand, hintOf, sumOf } from './store-hand';

/** More than some pages of any store, none of which takes a second. */
const many = 6000;
const other = '99';

export function storeForgetSuite(name: string, open: () => Promise<DamageableStore>): void {
  describe(`an organization for which much waits: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
      await hand.store.learn([{ id: '4711', name: 'Farm', connectionId: 'c1' }]);
    });
    afterEach(() => under.close());

    const putMany = async () => {
      for (let from = 0; from < many; from += 1000)
        await hand.put(Array.from({ length: 1000 }, (_, index) => hintOf(`m${from + index}`)));
    };
    const epoch = async () => (await hand.store.access('4711'))!.epoch;
    /** Asks, and answers what is promised once the first page is there. */
    const asked = async () => {
      const before = await epoch();
      const outcome = hand.store.forgetOrganization('4711').catch((error: unknown) => error);
      while ((await epoch()) === before);
      return { outcome };
    };
    /** Killed when its first page is there and others are to come. */
    const breakOff = async () => {
      const { outcome } = await asked();
      await hand.reopen();
      const error = await outcome;
      expect(isProblem(error, 'store.closed') || isProblem(error, 'store.unavailable')).toBe(true);
    };
    const parked = async () => (await hand.store.findOrganization('4711'))!.parked;
    const told = async () => {
      const ledger = await hand.store.ledger();
      expect(sumOf(ledger)).toBe(ledger.accepted);
      return ledger;
    };

    test('is forgotten whole, and what is told of it is the whole', async () => {
      await putMany();
      expect(await hand.store.forgetOrganization('4711')).toMatchObject({ discarded: many });
      expect(await told()).toMatchObject({ accepted: many, discarded: many, parked: 0 });
      expect(await hand.store.forgetOrganization('4711')).toMatchObject({ discarded: 0 });
    });

    test('is killed between two pages and asked again: it goes on, and tells of both', async () => {
      await putMany();
      await hand.quarantine(await hand.take());
      await breakOff();
      const left = await parked();
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(many);
      expect(await told()).toMatchObject({ accepted: many, parked: left, discarded: many - left });
      expect(await hand.store.findOrganization('4711')).toMatchObject({ name: null, forgotten: true });
      const again = await hand.store.forgetOrganization('4711');
      expect(again).toMatchObject({ discarded: many, transition: { changed: false } });
      expect(await told()).toMatchObject({ accepted: many, parked: 0, discarded: many, quarantined: 0 });
      expect(await parked()).toBe(0);
    });

    test('is killed again and again, and told of once', async () => {
      await putMany();
      await breakOff();
      const left = await parked();
      await breakOff();
      expect(await parked()).toBeLessThan(left);
      expect(await told()).toMatchObject({ accepted: many });
      expect(await hand.store.forgetOrganization('4711')).toMatchObject({ discarded: many });
    });

    test('ends every read that is under way with the first page, and is read no more', async () => {
      await hand.put([hintOf('a'), hintOf('b', other)]);
      const taken = await hand.takeAt(address('a'));
      await putMany();
      await breakOff();
      expect(await hand.finish(taken, draftOf('a', '1'))).toMatchObject({ outcome: 'refused' });
      // What a dead process held has run out.
      expect((await hand.store.take(many)).map(({ address: of }) => of)).toEqual([address('b')]);
      // The access alone was published.
      expect((await hand.records()).map(({ key }) => key)).toEqual(['4711/organization-access/4711']);
      await hand.store.forgetOrganization('4711');
      expect(await told()).toMatchObject({ accepted: many + 2, discarded: many + 1, published: 0 });
    });

    test('accepts a delivery in the middle, which waits as after the whole', async () => {
      await putMany();
      await breakOff();
      const left = await parked();
      await hand.put([hintOf('new'), hintOf('m0'), hintOf(`m${many - 1}`)]);
      expect(await told()).toMatchObject({ accepted: many + 3, parked: left + 3 });
      expect(await hand.store.take(10)).toEqual([]);
      expect(await parked()).toBe(left + 2);
    });

    test('keeps what is delivered while its pages are made', async () => {
      await putMany();
      const { outcome } = await asked();
      await hand.put([hintOf('new'), hintOf('m0'), hintOf(`m${many - 1}`)]);
      const { discarded } = (await outcome) as Forgotten;
      const left = await parked();
      expect(left).toBe(3);
      expect(discarded).toBeGreaterThanOrEqual(many - 1);
      expect(await told()).toMatchObject({ accepted: many + 3 });
    });

    test('is not probed in the middle, and cannot become active; both follow the end', async () => {
      await putMany();
      await breakOff();
      await hand.store.learn([{ id: '4711', name: 'Farm', connectionId: 'c1' }]);
      await hand.store.requestProbe('4711', true);
      expect(await hand.store.takeProbes(10, 30_000)).toEqual([]);
      expect(await hand.store.nextDueInMs('probe')).toBeNull();
      const open = {
        organizationId: '4711',
        epoch: await epoch(),
        found: { cause: null },
        by: 'probe',
      } as const;
      expect(await hand.store.observe(open)).toMatchObject({ applied: false, access: 'not-connected' });
      expect(await hand.store.take(10)).toEqual([]);
      await hand.store.forgetOrganization('4711');
      await hand.store.learn([{ id: '4711', name: 'Farm', connectionId: 'c1' }]);
      const [probe] = await hand.store.takeProbes(10, 30_000);
      expect(probe).toMatchObject({ organizationId: '4711' });
      expect(await hand.store.observe({ ...open, epoch: probe!.epoch })).toMatchObject({ applied: true });
      await hand.put([hintOf('new')]);
      expect(await hand.store.take(10)).toHaveLength(1);
    });

    test('is held no more once a version that does not heed it has made it active', async () => {
      await putMany();
      await breakOff();
      hand.store = await under.damage(
        `UPDATE organizations SET access = 'active', causes = '{}', epoch = epoch + 1 WHERE id = '4711'`,
      );
      const lost = { cause: 'not-connected', actionUrl: null, message: null } as const;
      const said = { organizationId: '4711', epoch: await epoch(), found: lost, by: 'sync' } as const;
      expect(await hand.store.observe(said)).toMatchObject({ applied: true, access: 'not-connected' });
      const open = { ...said, epoch: await epoch(), found: { cause: null }, by: 'probe' } as const;
      expect(await hand.store.observe(open)).toMatchObject({ applied: true, access: 'active' });
    });

    test('is gone on with by whoever asked last, and whoever asked before is told so', async () => {
      await putMany();
      const first = await asked();
      expect(await hand.store.forgetOrganization('4711')).toMatchObject({ discarded: many });
      expect(isProblem(await first.outcome, 'command.refused')).toBe(true);
      expect(await told()).toMatchObject({ accepted: many, discarded: many });
    });
  });
}
