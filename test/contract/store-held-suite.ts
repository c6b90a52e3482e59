/**
 * What is picked while topics and partitions are left alone: all others, in the order in which they were committed. Every
 * store must pass.
 */
import { slotOf } from '../../src/model/event';
import type { HeldPartition } from '../../src/model/store';
import { type DamageableStore, Hand } from './store-hand';

export function storeHeldSuite(name: string, open: () => Promise<DamageableStore>): void {
  describe(`a store whose relay leaves topics alone: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
      for (const id of ['1', '2', '3', '4', '5', '6']) await hand.publish(id, 'a');
      for (const [topic, ids] of Object.entries({ a: '14', b: '25', c: '36' }))
        for (const id of ids)
          hand.store = await under.damage(
            `UPDATE outbox SET topic = '${topic}' WHERE key = '4711/equipment/${id}'`,
          );
    });
    afterEach(() => under.close());

    const whole = (topic: string): HeldPartition => ({ topic, partition: 0, partitions: 1 });
    const keyOf = (id: string) => `4711/equipment/${id}`;
    const picked = async (held: HeldPartition[], limit = 100, bytesMax = 1e9) =>
      (await hand.store.pickUnsent(limit, bytesMax, held)).map(({ key }) => key.split('/').at(-1)).join('');

    test.each([
      ['one topic', [whole('b')], '1346'],
      ['the first', [whole('a')], '2356'],
      ['all but the last', [whole('a'), whole('b')], '36'],
      ['all', [whole('a'), whole('b'), whole('c')], ''],
      ['one that has none', [whole('none')], '123456'],
    ])('of %s nothing is picked, and of the others all', async (_, held, ids) => {
      expect(await picked(held)).toBe(ids);
    });

    test('a topic of which each partition is left alone is as one that is left alone whole', async () => {
      const each = [2, 0, 1].map((partition) => ({ topic: 'b', partition, partitions: 3 }));
      expect(await picked(each)).toBe('1346');
    });

    test('beside a topic that is left alone whole, of another the partitions are that are named', async () => {
      const partition = slotOf(keyOf('3')) % 1000;
      expect(slotOf(keyOf('6')) % 1000).not.toBe(partition);
      expect(await picked([whole('a'), { topic: 'c', partition, partitions: 1000 }])).toBe('256');
    });

    test('thousands of partitions may be named', async () => {
      const partition = slotOf(keyOf('3')) % 10_000;
      const named = Array.from({ length: 4000 }, (_, at) => ({
        topic: 'c',
        partition: (partition + at) % 10_000,
        partitions: 10_000,
      }));
      const isNamed = named.some((held) => held.partition === slotOf(keyOf('6')) % 10_000);
      expect(await picked(named)).toBe(isNamed ? '1245' : '12456');
    });

    test('as many come as were asked for, and no more bytes', async () => {
      expect(await picked([whole('a')], 3)).toBe('235');
      expect(await picked([whole('a')], 100, 1)).toBe('2');
      const [first, second] = await hand.store.pickUnsent(2, 1e9, [whole('a')]);
      const bytes = [first!, second!].map(
        ({ headers, value }) => JSON.stringify(headers).length + value.length,
      );
      expect(await picked([whole('a')], 100, bytes[0]! + bytes[1]! + 100)).toBe('23');
    });

    test('what is in hand is left out, wherever it stands, and others come in its place', async () => {
      const all = await hand.store.pickUnsent(100, 1e9, []);
      const inHand = [all[0]!, all[2]!, all[3]!].map(({ row }) => row);
      const left = async (limit: number, held: HeldPartition[]) => {
        const rows = await hand.store.pickUnsent(limit, 1e9, held, undefined, inHand);
        return rows.map(({ key }) => key.split('/').at(-1)).join('');
      };
      expect(await left(100, [])).toBe('256');
      expect(await left(2, [])).toBe('25');
      expect(await left(100, [whole('a')])).toBe('256');
      expect(await left(1, [whole('a'), whole('b')])).toBe('6');
    });

    test('whoever does not lead picks nothing there either', async () => {
      await hand.store.holdLease('relay', 'a', 1000);
      const by = (holder: string) => hand.store.pickUnsent(100, 1e9, [whole('a')], { name: 'relay', holder });
      expect(await by('a')).toHaveLength(4);
      expect(await by('b')).toEqual([]);
    });

    test('D10: a record that cannot be read back is set aside alone, also behind a topic that is left alone', async () => {
      hand.store = await under.damage(`UPDATE outbox SET headers = '[["ce_' WHERE key = '${keyOf('3')}'`);
      expect(await picked([whole('a')])).toBe('256');
      expect(await hand.quarantined()).toEqual(['record-refused']);
    });
  });
}
