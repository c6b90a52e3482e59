/**
 * What stands in a row may be damaged: that row is set aside for an operator, and the others go on as if it were not
 * there. Every store must pass.
 */
import type { Element } from '../../src/model/notification';
import { type DamageableStore, draftOf, Hand, hintOf, sumOf } from './store-hand';

/** It waits for an operator, and keeps its delivery. */
const forOperator: Element = { line: 'quarantined', reason: 'malformed-notification', path: '', raw: '{}' };

export function storeDamageSuite(name: string, open: () => Promise<DamageableStore>): void {
  describe(`a store that was damaged: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    const keys = async () => (await hand.records()).map(({ key, sequence }) => `${key} ${sequence}`);

    test('D10: a record that cannot be read back is set aside alone, and published anew with the next read', async () => {
      for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
      hand.store = await under.damage(`UPDATE outbox SET headers = '[["ce_' WHERE key = '4711/equipment/2'`);
      expect(await keys()).toEqual(['4711/equipment/1 1', '4711/equipment/3 1']);
      expect(await hand.store.ledger()).toMatchObject({ quarantined: 1, waiting: 2 });
      const [entry, ...more] = await hand.store.listQuarantine({ limit: 10, after: null });
      expect(more).toEqual([]);
      expect(entry).toMatchObject({ what: 'record', reason: 'record-refused', organizationId: '4711' });
      expect(entry!.detail).toContain('cannot be read back');
      await hand.sendAll();
      under.advance(1000);
      expect(await hand.publish('2', 'a')).toMatchObject({ outcome: 'published' });
      expect(await keys()).toEqual(['4711/equipment/2 2']);
    });

    test('D10: of a damaged record that came through an address that shows another resource, its own is published anew', async () => {
      await hand.publishThroughOther();
      hand.store = await under.damage(
        `UPDATE outbox SET headers = '[["ce_' WHERE key = '4711/equipment/1' AND sequence = 2`,
      );
      expect(await keys()).toEqual(['4711/equipment/2 1']);
      await hand.sendAll();
      expect(await hand.publish('2', 'a')).toMatchObject({ outcome: 'unchanged' });
      expect(await hand.publish('1', 'b')).toMatchObject({ outcome: 'published' });
      expect(await keys()).toEqual(['4711/equipment/1 3']);
    });

    test('whatever is set aside, and however, is told once by its reason', async () => {
      const bad: Element = { line: 'quarantined', reason: 'unauthenticated', path: '', raw: '{}' };
      const delivery = { messageId: 'm1', bodyHash: 'h' };
      for (let times = 0; times < 2; times += 1) await hand.put([bad, hintOf('1')], delivery);
      const sample = { bodyHash: 'h1', detail: 'x', raw: '{' };
      for (let times = 0; times < 2; times += 1) await hand.store.keepSample(sample);
      const task = await hand.take();
      await hand.quarantine(task);
      await hand.quarantine(task);
      await hand.put([hintOf('2')]);
      await hand.finish(await hand.take(), draftOf('2', 'a', { value: 'x'.repeat(1_000_000) }));
      for (const id of ['3', '4']) await hand.publish(id, 'a');
      const [first] = await hand.records();
      for (let times = 0; times < 2; times += 1)
        await hand.store.quarantineRecord(first!, 'record-too-large', 'x');
      hand.store = await under.damage(`UPDATE outbox SET headers = '{}' WHERE key = '4711/equipment/4'`);
      expect(await hand.records()).toEqual([]);
      expect(under.setAside).toEqual([
        'unauthenticated',
        'malformed-body',
        'no-access',
        'record-too-large',
        'record-too-large',
        'record-refused',
      ]);
    });

    test.each([
      ['headers', '[["ce_'],
      ['headers', '{}'],
      ['value', '{"id":"2'],
    ])(
      'D10: the log tells a published event whose %s are damaged in its place, and the others whole',
      async (part, text) => {
        for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
        await hand.sendAll();
        hand.store = await under.damage(
          `UPDATE outbox SET ${part} = '${text}' WHERE key = '4711/equipment/2'`,
        );
        const { events } = await hand.store.listEvents({
          after: 0,
          limit: 10,
          type: null,
          organizationId: null,
        });
        expect(
          events.map(({ position, record, damaged }) => [position, record.key, damaged !== null]),
        ).toEqual([
          [1, '4711/equipment/1', false],
          [2, '4711/equipment/2', true],
          [3, '4711/equipment/3', false],
        ]);
        expect(events[1]!.damaged).toContain('cannot be read back');
      },
    );

    test('an event that vanished is in no line of the ledger, and one that retention took is a published one', async () => {
      const dayMs = 86_400_000;
      // With the delivery stays the read whose event retention takes.
      await hand.put([hintOf('1'), forOperator]);
      await hand.finish(await hand.take(), draftOf('1', 'a'));
      await hand.sendAll();
      for (const content of ['b', 'c']) {
        under.advance(16 * dayMs);
        await hand.publish('1', content);
        await hand.sendAll();
      }
      expect((await hand.store.sweep()).rows).toBeGreaterThan(0);
      const kept = await hand.store.listEvents({ after: 0, limit: 10, type: null, organizationId: null });
      expect([kept.floor, kept.events.map(({ position }) => position)]).toEqual([1, [2, 3]]);
      const whole = await hand.store.ledger();
      expect(whole).toMatchObject({ accepted: 4, published: 3, quarantined: 1 });
      hand.store = await under.damage('DELETE FROM outbox WHERE position = 3');
      const { accepted, published } = await hand.store.ledger();
      expect([accepted, published]).toEqual([whole.accepted, whole.published - 1]);
      expect(sumOf(await hand.store.ledger())).toBe(accepted - 1);
    });

    test('an event that vanished is told from those that retention took, however old it is', async () => {
      for (const id of ['1', '2']) {
        await hand.put([hintOf(id), forOperator]);
        await hand.finish(await hand.take(), draftOf(id, 'a'));
      }
      await hand.sendAll();
      under.advance(31 * 86_400_000);
      await hand.publish('2', 'b');
      await hand.sendAll();
      expect((await hand.store.sweep()).rows).toBeGreaterThan(0);
      const page = { after: 0, limit: 10, type: null, organizationId: null };
      const { floor, events } = await hand.store.listEvents(page);
      expect([floor, events.map(({ position }) => position)]).toEqual([2, [1, 3]]);
      expect(await hand.store.ledger()).toMatchObject({ accepted: 5, published: 3, quarantined: 2 });
      hand.store = await under.damage('DELETE FROM outbox WHERE position = 1');
      expect(await hand.store.ledger()).toMatchObject({ accepted: 5, published: 2, quarantined: 2 });
    });

    test('what a version took that did not mark it counts as published', async () => {
      await hand.put([hintOf('1'), forOperator]);
      await hand.finish(await hand.take(), draftOf('1', 'a'));
      await hand.sendAll();
      for (const content of ['b', 'c']) {
        under.advance(31 * 86_400_000);
        await hand.publish('1', content);
        await hand.sendAll();
        // As an older version sweeps, beside this one or before it.
        if (content === 'b')
          hand.store = await under.damage(
            `DELETE FROM outbox WHERE position = 1; UPDATE meta SET value = 1 WHERE name = 'floor'`,
          );
        else expect((await hand.store.sweep()).rows).toBeGreaterThan(0);
        const ledger = await hand.store.ledger();
        expect(sumOf(ledger)).toBe(ledger.accepted);
      }
      expect(await hand.store.ledger()).toMatchObject({ quarantined: 1, published: 2 });
    });
  });
}
