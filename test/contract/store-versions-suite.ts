/**
 * What every store promises to versions that normalize differently: what a newer one has read is left to it by an older
 * one, which neither asks the provider for it nor is held up by it.
 */
import type { StoreRules } from '../../src/store/store-rules';
import { address, aliasHintOf, aliasOf, draftOf, Hand, hintOf, type StoreUnderTest } from './store-hand';

const older = { normalizerVersion: 1 };
const newer = { normalizerVersion: 2 };

export function storeVersionsSuite(
  name: string,
  open: (rules?: Partial<StoreRules>) => Promise<StoreUnderTest>,
): void {
  describe(`store contract, versions: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await open(newer);
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    /** Everything that is due, by address. */
    const takeAll = async () => {
      const taken: string[] = [];
      for (let round = await hand.store.take(2); round.length > 0; round = await hand.store.take(2))
        taken.push(...round.map((task) => task.address));
      return taken;
    };
    const told = async (of: string) => {
      const { steps } = (await hand.store.explain(of))!;
      return steps.map(({ step, text }) => [step, text]);
    };

    test('an older one leaves what a newer one has read alone, which gets it at once when it is back', async () => {
      await hand.publish('1', 'a', newer);
      await hand.reopenLater(older);
      const { deliveryId } = await hand.put([hintOf('1'), hintOf('2')]);
      expect(await takeAll()).toEqual([address('2')]);
      under.advance(10 * 60_000);
      await hand.put([hintOf('1')]);
      expect(await takeAll()).toEqual([address('2')]);

      expect((await hand.store.listTasks({ state: null, limit: 10, after: 0 }))[0]).toMatchObject({
        ...{ address: address('1'), state: 'due', code: 'older-normalizer', attempts: 0 },
      });
      expect((await hand.store.counts()).oldestWaitingAgeMs).toBeGreaterThanOrEqual(10 * 60_000);
      expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 4, published: 1, waiting: 3 });
      const why =
        'older-normalizer: a newer version has read it, and only one of that version reads it again';
      expect((await told(address('1'))).at(-1)).toEqual(['due', `now due: ${why}`]);
      expect(await told(deliveryId)).toContainEqual([
        'hint',
        `notification 0 (equipment) ${address('1')} → waiting, due: ${why}`,
      ]);

      await hand.reopenLater(newer);
      const task = await hand.takeAt(address('1'));
      expect(await hand.finish(task, draftOf('1', 'b', newer))).toMatchObject({ outcome: 'published' });
      expect(await hand.events()).toEqual(['4711 2 updated']);
    });

    test('however much of it waits, an older one goes on with the rest', async () => {
      const ids = Array.from({ length: 30 }, (_, index) => String(index));
      for (const id of ids) await hand.publish(id, 'a', newer);
      await hand.reopenLater(older);
      await hand.put([...ids.map((id) => hintOf(id)), hintOf('other'), hintOf('elsewhere', '99')]);
      expect((await takeAll()).sort()).toEqual([address('elsewhere'), address('other')]);
      // Nothing is left that it would look at again and again.
      expect(await hand.store.nextDueInMs('task')).toBeGreaterThan(10_000);
    });

    test('an older one asks once at an address that it cannot know, and leaves it to the newer one as well', async () => {
      await hand.publish('1', 'a', newer);
      await hand.reopenLater(older);
      await hand.put([aliasHintOf('1')]);
      const draft = draftOf('1', 'b', { address: aliasOf('1'), ...older });
      expect(await hand.finish(await hand.take(), draft)).toMatchObject({ reason: 'older-normalizer' });
      under.advance(86_400_000);
      expect(await takeAll()).toEqual([]);

      await hand.reopenLater(newer);
      const task = await hand.takeAt(aliasOf('1'));
      const again = draftOf('1', 'b', { address: aliasOf('1'), ...newer });
      expect(await hand.finish(task, again)).toMatchObject({ outcome: 'published' });
    });
  });
}
