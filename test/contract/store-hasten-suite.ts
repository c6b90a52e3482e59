/**
 * Of much that was postponed, more than a page of any store, all of what is hastened becomes due and nothing else. Every
 * store must pass.
 */
import { type DamageableStore, Hand, hintOf } from './store-hand';

/** Nearly all fall due at the same moment: a page begins where the one before it ended, in the midst of them. */
const many = 9000;
/** Before any lease runs out. */
const soonMs = 30_000;

export function storeHastenSuite(name: string, open: () => Promise<DamageableStore>): void {
  describe(`a store in which much was postponed: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
      await hand.put([hintOf('first')]);
      await hand.quarantine(await hand.take());
      const nowMs = under.nowMs();
      // By turns: refused, failed by itself, failed with the provider; a few are due, or fall due later than the others.
      hand.store = await under.damage(
        `INSERT INTO tasks (address, lane, state, generation, due_at, first_hint_at, failed_at, own, code)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many})
         SELECT 'https://provider.example/' || i, '4711', 'postponed', 1,
           ${nowMs} + CASE WHEN i <= 6 THEN 0 WHEN i > ${many - 60} THEN ${soonMs} + i ELSE ${soonMs} END,
           ${nowMs}, ${nowMs}, i % 3 = 1, CASE WHEN i % 3 = 0 THEN 'client-refused' ELSE 'status-503' END FROM n`,
      );
      // What is due already becomes known to a store that was not looked at meanwhile.
      await hand.put([hintOf('second')]);
      expect(await hand.store.take(many)).toHaveLength(7);
    });
    afterEach(() => under.close());

    const numbered = async () =>
      (await hand.store.take(many)).map(({ address }) => Number(address.split('/').at(-1)));
    const numbers = (keep: (number: number) => boolean) =>
      Array.from({ length: many - 6 }, (_, at) => at + 7).filter(keep);
    const inOrder = (these: number[]) => these.toSorted((left, right) => left - right);

    test('all that failed with the provider is due at once when it answers again, and nothing else is', async () => {
      const others = numbers((number) => number % 3 !== 1);
      expect(await hand.store.hasten()).toBe(others.length);
      expect(await hand.store.nextDueInMs('task')).toBe(0);
      expect(inOrder(await numbered())).toEqual(others);
      expect(await hand.store.nextDueInMs('task')).toBe(soonMs);
      expect(await hand.store.hasten()).toBe(0);
    });

    test('all that was refused to the client key is due at once when it is answered, and nothing else is', async () => {
      const refused = numbers((number) => number % 3 === 0);
      expect(await hand.store.hastenRefused(under.nowMs())).toBe(refused.length);
      expect(await hand.store.nextDueInMs('task')).toBe(0);
      expect(inOrder(await numbered())).toEqual(refused);
      expect(await hand.store.nextDueInMs('task')).toBe(soonMs);
    });
  });
}
