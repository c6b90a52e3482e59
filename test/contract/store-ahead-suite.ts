/**
 * What every store promises of retention where a clock was far ahead for a while: what was received or sent by it goes with
 * what came next, neither before that nor long after, and nothing behind it is kept for longer because of it.
 */
import type { StoreRules } from '../../src/store/store-rules';
import { type DamageableStore, draftOf, Hand } from './store-hand';

const dayMs = 86_400_000;
const yearMs = 365 * dayMs;
const organizationId = '4711';
/** More than retention looks at in two pages. */
const many = 2500;

export function storeAheadSuite(
  name: string,
  open: (rules?: Partial<StoreRules>) => Promise<DamageableStore>,
): void {
  describe(`store contract, retention of what a clock far ahead wrote: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    /** A store has nothing more to do at once after some calls, whatever it keeps. */
    const sweepAll = async () => {
      let calls = 1;
      while ((await hand.store.sweep()).more) calls += 1;
      expect(calls).toBeLessThan(10);
    };

    describe('deliveries', () => {
      /** So many, of one notification each. */
      const receive = async (count: number, aheadMs = 0) => {
        for (let left = count; left > 0; left -= 500)
          await Promise.all(
            Array.from({ length: Math.min(left, 500) }, () =>
              hand.put([{ line: 'ignored', eventTypeId: 'other', address: null }], {
                receivedAtMs: under.nowMs() + aheadMs,
              }),
            ),
          );
      };
      const kept = async () => {
        await sweepAll();
        return (await hand.store.ledger()).accepted;
      };

      test('one that came by a clock a year ahead goes with those behind it', async () => {
        await receive(1);
        await receive(1, yearMs);
        await receive(10);
        under.advance(29 * dayMs);
        await receive(1);
        expect(await kept()).toBe(13);
        under.advance(2 * dayMs);
        expect(await kept()).toBe(1);
      });

      test('more of them than are looked at in a page go with the first that came after them', async () => {
        await receive(1);
        await receive(many, yearMs);
        under.advance(dayMs);
        await receive(700);
        under.advance(29 * dayMs + 1);
        await receive(1);
        expect(await kept()).toBe(many + 701);
        under.advance(dayMs);
        expect(await kept()).toBe(1);
      });

      test('of three receivers two of which are years ahead all go in their time', async () => {
        for (let day = 0; day < 60; day += 1) {
          await Promise.all(Array.from({ length: 19 }, (_, nth) => receive(1, (nth % 3) * yearMs)));
          await receive(1);
          under.advance(dayMs);
        }
        await receive(1);
        expect(await kept()).toBe(30 * 20 + 1);
      });

      test('one after which nothing came stays, and so does what came a moment before the next', async () => {
        await receive(3, yearMs);
        under.advance(31 * dayMs);
        expect(await kept()).toBe(3);
        await receive(2);
        expect(await kept()).toBe(5);
        under.advance(31 * dayMs);
        await receive(1);
        expect(await kept()).toBe(1);
      });

      test('seconds between the clocks of a receiver and the store change nothing', async () => {
        for (const aheadMs of [5000, 0, 5000]) await receive(1, aheadMs);
        under.advance(30 * dayMs + 1);
        await receive(1, 5000);
        expect(await kept()).toBe(4);
        under.advance(5000);
        expect(await kept()).toBe(1);
      });
    });

    test('what was replayed goes with what was replayed after it, though a clock was a year ahead meanwhile', async () => {
      await hand.publish('1', 'a');
      const [record] = await hand.records();
      await hand.sendAll();
      const replayed = async (count: number, row: number, atMs: number) => {
        hand.store = await under.damage(
          `INSERT INTO replayed (replay, outbox_id, at, topic, partition, log_offset, sent_at)
           WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
           SELECT 1, ${row}, ${atMs}, 'other', 0, '1', ${atMs} FROM n`,
        );
      };
      const steps = async () => (await hand.store.explain(record!.eventId))!.steps.map(({ step }) => step);
      await replayed(many, 0, under.nowMs() + yearMs);
      await replayed(1, record!.row, under.nowMs());
      under.advance(30 * dayMs + 1);
      await replayed(1, 0, under.nowMs());
      expect(await steps()).toContain('replayed');
      await sweepAll();
      expect(await steps()).not.toContain('replayed');
    });

    describe('the log', () => {
      /** An event for each, as pages of a listing show them. */
      const decide = async (ids: string[], content: string) => {
        const { run } = await hand.store.beginRun({ organizationId: null, full: false });
        const scope = { scope: `${organizationId}/equipment`, organizationId };
        const { listings, revision } = await hand.store.openListings(run, [scope]);
        const drafts = ids.map((id) => draftOf(id, content));
        const after = { end: true as const, whole: false, changeToken: null };
        const listed = { run, listingId: listings[0]!.id, revision, connectionId: 'c1', from: null };
        await hand.store.finishPage({ ...listed, drafts, hints: [], after });
      };
      const send = async () => {
        while ((await hand.records()).length > 0) await hand.sendAll();
      };
      /** By a clock that is a year ahead then. */
      const sendAhead = async () => {
        under.advance(yearMs);
        await send();
        under.advance(-yearMs);
      };
      const publish = async (contents: string) => {
        for (const content of contents) await hand.publish('1', content);
        await send();
      };
      const kept = async () => {
        await sweepAll();
        const all = { limit: 1000, type: null, organizationId: null };
        const positions: number[] = [];
        for (;;) {
          const page = await hand.store.listEvents({ ...all, after: positions.at(-1) ?? 0 });
          if (page.events.length === 0) return { count: positions.length, floor: page.floor };
          positions.push(...page.events.map(({ position }) => position));
        }
      };

      test('an event that was marked while the clock was a year ahead goes with those behind it', async () => {
        await publish('a');
        await hand.publish('1', 'b');
        await sendAhead();
        await publish('cdefgh');
        under.advance(29 * dayMs);
        await publish('i');
        expect(await kept()).toEqual({ count: 9, floor: 0 });
        under.advance(2 * dayMs);
        expect(await kept()).toEqual({ count: 1, floor: 8 });
      });

      test('more of them than are looked at in a page go with the first that was sent after them', async () => {
        const ids = Array.from({ length: many / 2 }, (_, nth) => `k${nth}`);
        for (const content of ['a', 'b']) await decide(ids, content);
        await sendAhead();
        under.advance(dayMs);
        await publish('ab');
        under.advance(29 * dayMs);
        await publish('c');
        expect((await kept()).count).toBe(many + 3);
        under.advance(dayMs);
        expect(await kept()).toEqual({ count: many / 2 + 1, floor: many + 2 });
      });

      test('a log that is too large loses its oldest events, whatever the clock was', async () => {
        await under.close();
        under = await open({ eventBytesMax: 1 });
        hand = new Hand(under);
        await publish('a');
        await hand.publish('1', 'b');
        await sendAhead();
        // Nothing says when it was sent, until something is sent behind it.
        under.advance(60_001);
        expect((await kept()).count).toBe(1);
        await publish('c');
        expect((await kept()).count).toBe(2);
        under.advance(60_001);
        expect(await kept()).toEqual({ count: 1, floor: 2 });
      });
    });
  });
}
