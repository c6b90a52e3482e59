/**
 * What every store promises where the provider once answered an address with another resource's document, and that was
 * believed: as soon as a read shows what stands there, the address is nobody else's, and both resources go on.
 */
import type { StoreRules } from '../../src/store/store-rules';
import { address, type DamageableStore, draftOf, Hand, hintOf, sumOf } from './store-hand';

const dayMs = 86_400_000;
const settleMs = 30_000;

export function storeMistakenSuite(
  name: string,
  open: (rules?: Partial<StoreRules>) => Promise<DamageableStore>,
): void {
  describe(`store contract, mistaken addresses: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    /** What its address shows, after a mistake; the gap after the read is over. */
    const read = async (id: string, content: string) => {
      const result = await hand.finish(await hand.takeAt(address(id), 1), draftOf(id, content));
      under.advance(1000);
      return result;
    };
    /** The address of `2`, nothing of which is known, shows `1`. */
    const mistake = async (content: string, extra: { settleMs?: number } = {}) => {
      const { deliveryId } = await hand.put([hintOf('2')]);
      const shown = draftOf('1', content, { address: address('2') });
      const result = await hand.finish(await hand.takeAt(address('2')), shown, extra);
      under.advance(1000);
      return { deliveryId, result };
    };
    /** Reads whatever is due until nothing is, each address showing what it names. */
    const readAll = async (content: string) => {
      const read: string[] = [];
      for (;;) {
        const [task] = await hand.store.take(1);
        if (task === undefined) return read;
        const id = task.address.at(-1)!;
        await hand.finish(task, draftOf(id, content, { address: task.address }));
        read.push(id);
        under.advance(1000);
      }
    };
    const newest = async () => {
      await hand.sendAll();
      const all = { after: 0, limit: 1000, type: null, organizationId: null };
      const { events } = await hand.store.listEvents(all);
      return Object.fromEntries(
        events.map(({ record: { key, value } }) => [key.at(-1), JSON.parse(value).content]),
      );
    };
    const ledger = async () => {
      const told = await hand.ledgerAtRest();
      expect(sumOf(told)).toBe(told.accepted);
      return told;
    };
    /** Each notification of the delivery, as its journey tells it. */
    const linesOf = async (delivery: string) =>
      (await hand.store.explain(delivery))!.steps.flatMap((step) =>
        step.notification === undefined ? [] : [step.ledger],
      );

    test('a resource that was known: each hint is read where it says, and each resource is published', async () => {
      await hand.publish('1', 'a');
      const { deliveryId, result } = await mistake('a');
      expect(result).toMatchObject({ outcome: 'unchanged' });
      await hand.put([hintOf('1')]);
      expect(await read('1', 'b')).toMatchObject({ outcome: 'published' });
      const { deliveryId: later } = await hand.put([hintOf('2')]);
      expect(await read('2', 'c')).toMatchObject({ outcome: 'refused', reason: 'shows-another' });
      expect((await readAll('d')).toSorted()).toEqual(['1', '2']);

      expect(await newest()).toEqual({ 1: 'd', 2: 'd' });
      expect(await ledger()).toMatchObject({ accepted: 4, published: 3, unchanged: 1, quarantined: 0 });
      expect(await linesOf(deliveryId)).toEqual(['unchanged']);
      expect(await linesOf(later)).toEqual(['published']);
      await hand.put([hintOf('1'), hintOf('2')]);
      expect((await readAll('e')).toSorted()).toEqual(['1', '2']);
      expect(await newest()).toEqual({ 1: 'e', 2: 'e' });
      expect(await hand.quarantined()).toEqual([]);
    });

    test('a resource that nobody knew: it waits for an operator until it is shown again', async () => {
      expect((await mistake('a')).result).toMatchObject({ outcome: 'published' });
      await hand.put([hintOf('2')]);
      expect(await read('2', 'b')).toMatchObject({ outcome: 'refused', reason: 'another-resource' });
      expect(await readAll('b')).toEqual(['2']);
      expect(await newest()).toEqual({ 1: 'a', 2: 'b' });
      expect(await hand.quarantined()).toEqual(['malformed-document']);
      expect(await ledger()).toMatchObject({ accepted: 2, published: 2 });

      await hand.put([hintOf('1')]);
      expect(await readAll('c')).toEqual(['1', '1']);
      expect(await newest()).toEqual({ 1: 'c', 2: 'b' });
      expect(await hand.quarantined()).toEqual([]);
      expect(await ledger()).toMatchObject({ accepted: 3, published: 3 });
      await hand.put([hintOf('1'), hintOf('2')]);
      expect((await readAll('d')).toSorted()).toEqual(['1', '2']);
      expect(await newest()).toEqual({ 1: 'd', 2: 'd' });
    });

    test('a resource that nobody knew, found at its own address first', async () => {
      await mistake('a');
      await hand.put([hintOf('1')]);
      expect(await readAll('b')).toEqual(['1']);
      await hand.put([hintOf('2')]);
      expect(await read('2', 'c')).toMatchObject({ reason: 'shows-another' });
      expect((await readAll('d')).toSorted()).toEqual(['1', '2']);
      expect(await newest()).toEqual({ 1: 'd', 2: 'd' });
      expect(await hand.quarantined()).toEqual([]);
    });

    test('a resource that waits for an operator is tried where a page shows it', async () => {
      await mistake('a');
      await hand.put([hintOf('2')]);
      await read('2', 'b');
      await readAll('b');
      const { run } = await hand.store.beginRun({ organizationId: null, full: false });
      const scope = { scope: '4711/equipment', organizationId: '4711' };
      const { listings, revision } = await hand.store.openListings(run, [scope]);
      const after = { end: true as const, whole: false, changeToken: null };
      const listed = { run, listingId: listings[0]!.id, revision, connectionId: 'c1' };
      await hand.store.finishPage({ ...listed, drafts: [draftOf('1', 'b')], hints: [], after });
      expect(await readAll('b')).toEqual(['1']);
      expect(await newest()).toEqual({ 1: 'b', 2: 'b' });
      expect(await hand.quarantined()).toEqual([]);
    });

    test.each([
      ['first', ['2', '1']],
      ['last', ['1', '2']],
    ])(
      'hints of both that wait together: neither covers the other, the mistaken one %s',
      async (_which, ids) => {
        await hand.publish('1', 'a');
        await mistake('a');
        await hand.put(ids.map((id) => hintOf(id)));
        expect(await read('2', 'b')).toMatchObject({ reason: 'shows-another' });
        expect((await readAll('b')).toSorted()).toEqual(['1', '2']);
        expect(await newest()).toEqual({ 1: 'b', 2: 'b' });
        expect(await ledger()).toMatchObject({ accepted: 4, published: 3, unchanged: 1 });
      },
    );

    test('a hint that comes while the other resource is read is read where it says', async () => {
      await hand.publish('1', 'a');
      await mistake('a');
      await hand.put([hintOf('1')]);
      const task = await hand.takeAt(address('1'));
      await hand.put([hintOf('2')]);
      await hand.finish(task, draftOf('1', 'b'));
      under.advance(1000);
      await read('2', 'b');
      await readAll('b');
      expect(await newest()).toEqual({ 1: 'b', 2: 'b' });
      expect(await ledger()).toMatchObject({ accepted: 4, published: 3, unchanged: 1 });
    });

    test('a settling read that shows what stands there makes it a resource of its own', async () => {
      await hand.publish('1', 'a');
      const { deliveryId } = await mistake('b', { settleMs });
      await hand.put([hintOf('2'), hintOf('1')]);
      under.advance(settleMs);
      await readAll('c');
      expect(await newest()).toEqual({ 1: 'c', 2: 'c' });
      await hand.put([hintOf('2')]);
      expect(await readAll('d')).toEqual(['2']);
      expect(await newest()).toEqual({ 1: 'c', 2: 'd' });
      expect(await linesOf(deliveryId)).toEqual(['published']);
      await ledger();
    });

    test('a mistake that comes again is mended again', async () => {
      await hand.publish('1', 'a');
      await mistake('a');
      for (const content of ['b', 'c']) {
        await hand.put([hintOf('2')]);
        expect(await read('2', content)).toMatchObject({ reason: 'shows-another' });
        for (let due = await hand.store.take(1); due.length > 0; due = await hand.store.take(1)) {
          await hand.finish(due[0]!, draftOf('1', content, { address: due[0]!.address }));
          under.advance(1000);
        }
      }
      await hand.put([hintOf('2')]);
      expect(await read('2', 'd')).toMatchObject({ reason: 'shows-another' });
      expect((await readAll('d')).toSorted()).toEqual(['1', '2']);
      expect(await newest()).toEqual({ 1: 'd', 2: 'd' });
      expect(await hand.quarantined()).toEqual([]);
      expect((await ledger()).accepted).toBe(5);
    });

    test('retention takes what was told of the mistaken address with its delivery', async () => {
      await hand.publish('1', 'a');
      await mistake('a');
      // Believed once more: what it says is the other resource's, and stays so.
      const { deliveryId } = await hand.put([hintOf('2')]);
      await hand.finish(await hand.takeAt(address('2')), draftOf('1', 'b', { address: address('2') }));
      under.advance(1000);
      await hand.put([hintOf('2')]);
      await read('2', 'c');
      await readAll('c');
      expect((await ledger()).accepted).toBe(4);
      expect(await linesOf(deliveryId)).toEqual(['published']);

      under.advance(31 * dayMs);
      await hand.put([{ line: 'ignored', eventTypeId: 'x', address: null }]);
      while ((await hand.store.sweep()).more);
      expect(await hand.store.ledger()).toMatchObject({ accepted: 1, ignored: 1, published: 0, merged: 0 });
    });

    test('an address that names its resource is not given up for one wrong answer', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      const strange = draftOf('2', 'b', { address: address('1') });
      expect(await hand.finish(await hand.takeAt(address('1')), strange)).toMatchObject({
        reason: 'another-resource',
      });
      expect(await ledger()).toMatchObject({ quarantined: 1 });
      under.advance(1000);
      await hand.put([hintOf('1')]);
      expect(await readAll('b')).toEqual(['1']);
      expect(await ledger()).toMatchObject({ published: 2, merged: 1, quarantined: 0 });
    });
  });
}
