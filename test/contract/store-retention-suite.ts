/**
 * What every store promises of retention: its walk comes to an end and leaves nothing out, however much of what it walks
 * over is kept; and the log is bounded by its size, but for what is never taken.
 */
import { recordBytes } from '../../src/model/event';
import { emptyLedger } from '../../src/model/ledger';
import { replayLease } from '../../src/model/replay';
import type { StoreRules } from '../../src/store/store-rules';
import { aliasHintOf, type DamageableStore, draftOf, Hand, hintOf, sentTo, terms } from './store-hand';

const dayMs = 86_400_000;
const organizationId = '4711';
/** More than retention looks at in one page. */
const manyKeys = 1100;

/** An event of these tests has about 10,000 bytes. */
const value = (content: string) => JSON.stringify({ id: '1', organizationId, content: content.repeat(9000) });
const eventBytesMax = 100_000;
/** As long as an event stays however large the log is, and a little more. */
const keptMs = 60_001;

export function storeRetentionSuite(
  name: string,
  open: (rules?: Partial<StoreRules>) => Promise<DamageableStore>,
): void {
  describe(`store contract, retention: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    /** An event for each, as a page of a listing shows them. */
    const list = async (ids: string[]) => {
      const { run } = await hand.store.beginRun({ organizationId: null, full: false });
      const name = { scope: `${organizationId}/equipment`, organizationId };
      const { listings, revision } = await hand.store.openListings(run, [name]);
      const drafts = ids.map((id) => draftOf(id, 'a'));
      const after = { end: true as const, whole: false, changeToken: null };
      const listed = { run, listingId: listings[0]!.id, revision, connectionId: 'c1', from: null };
      await hand.store.finishPage({ ...listed, drafts, hints: [], after });
    };
    const sendAll = async () => {
      while ((await hand.records()).length > 0) await hand.sendAll();
    };
    const sweepAll = async () => {
      let calls = 1;
      while ((await hand.store.sweep()).more) calls += 1;
      return calls;
    };
    const kept = async () => {
      const all = { limit: 1000, type: null, organizationId: null };
      const events: Awaited<ReturnType<typeof hand.store.listEvents>>['events'] = [];
      for (;;) {
        const page = await hand.store.listEvents({ ...all, after: events.at(-1)?.position ?? 0 });
        if (page.events.length === 0) return { events, floor: page.floor };
        events.push(...page.events);
      }
    };
    const positions = async () => (await kept()).events.map(({ position }) => position);
    /** `id content` of each event that is kept, and how large they are together. */
    const log = async () => {
      const { events, floor } = await kept();
      return {
        told: events.map(({ record: { key, value: text } }) => {
          const [first] = (JSON.parse(text) as { content: string }).content;
          return `${key.split('/').at(-1)} ${first}`;
        }),
        bytes: events.reduce((sum, { record }) => sum + recordBytes(record), 0),
        floor,
        events,
      };
    };
    const publish = async (id: string, contents: string) => {
      for (const content of contents) await hand.publish(id, content, { value: value(content) });
    };

    test('goes on beyond a page of newest events, none of which may be taken', async () => {
      await list(Array.from({ length: manyKeys }, (_, nth) => `k${nth}`));
      await sendAll();
      for (const content of ['b', 'c']) await hand.publish('1', content);
      await sendAll();
      under.advance(31 * dayMs);
      await hand.put([hintOf('2')]);
      const calls = await sweepAll();
      expect(calls).toBeGreaterThan(1);
      expect(calls).toBeLessThan(5);
      const left = await positions();
      expect(left).toHaveLength(manyKeys + 1);
      expect(left).not.toContain(manyKeys + 1);
      expect(await sweepAll()).toBeLessThanOrEqual(calls);
    });

    test('keeps the latest hundred changes of access, counts those before, and explains what is gone', async () => {
      await hand.put([hintOf('1')]);
      for (let round = 0; round < 52; round += 1) {
        await hand.observe(terms);
        await hand.observe({ cause: null });
      }
      const history = await hand.store.accessHistory(organizationId, 1000);
      expect(history.map(({ nth }) => nth)).toEqual(Array.from({ length: 100 }, (_, at) => at + 5));
      expect(history.slice(-2).map(({ to }) => to)).toEqual(['terms-required', 'active']);
      const events = await hand.records();
      expect(events).toHaveLength(104);
      const firstStep = async (at: number) => (await hand.store.explain(events[at]!.eventId))!.steps[0];
      expect(await firstStep(3)).toMatchObject({ step: 'expired', organizationId });
      expect(await firstStep(4)).toMatchObject({ step: 'access', access: 'terms-required' });
    });

    test('takes the hints that an address gave to another resource before it came to be one of its own', async () => {
      await hand.publish('1', 'a');
      await hand.put([aliasHintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs: 5000 });
      under.advance(1000);
      const { deliveryId } = await hand.put([aliasHintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'));
      under.advance(5000);
      await hand.finish(await hand.take(), draftOf('2', 'a'));
      const { steps } = (await hand.store.explain(deliveryId))!;
      expect(steps.map(({ step }) => step)).toContain('published');
      await sendAll();
      under.advance(31 * dayMs);
      await hand.put([hintOf('3')]);
      await sweepAll();
      expect(await hand.store.ledger()).toEqual({ ...emptyLedger(), accepted: 1, waiting: 1 });
    });

    describe('of a log with a bound by size', () => {
      beforeEach(async () => {
        await under.close();
        under = await open({ eventBytesMax });
        hand = new Hand(under);
      });

      test('takes superseded events before their time until the log is within it, the oldest first', async () => {
        await publish('2', 'a');
        await publish('1', 'abcdefghijklmno');
        await sendAll();
        under.advance(keptMs);
        await sweepAll();
        const { told, bytes, floor, events } = await log();
        expect(told).toEqual(['2 a', ...[...'ghijklmno'].map((content) => `1 ${content}`)]);
        expect(bytes).toBeLessThanOrEqual(eventBytesMax);
        expect(bytes).toBeGreaterThan(eventBytesMax - 11_000);
        // All that were taken: no position before it can be gone on from.
        expect(floor).toBe(events[1]!.position - 1);
        const ledger = await hand.store.ledger();
        expect([ledger.accepted, ledger.published]).toEqual([16, 16]);
      });

      test('explain says of what it took that it is expired', async () => {
        await publish('1', 'abcdefghijklmno');
        const [first] = await hand.records();
        await sendAll();
        under.advance(keptMs);
        await sweepAll();
        const { steps } = (await hand.store.explain(first!.eventId))!;
        expect(steps.map(({ step }) => step)).toContain('expired');
      });

      test('leaves what was sent within the last minute to whoever follows the log', async () => {
        await publish('1', 'abcdefghijklmno');
        await sendAll();
        under.advance(keptMs - 2);
        await sweepAll();
        expect((await log()).told).toHaveLength(15);
        under.advance(2);
        await sweepAll();
        expect((await log()).bytes).toBeLessThanOrEqual(eventBytesMax);
      });

      test('leaves the newest of each key, and what is unsent with what was sent before it, however large they are', async () => {
        const ids = [...'abcdefghijklmno'];
        for (const id of ids) await publish(id, 'xy');
        await sendAll();
        await publish('a', 'z');
        under.advance(keptMs);
        await sweepAll();
        // While one waits that may be refused, nothing before it goes.
        expect((await log()).told).toEqual(['a x', ...ids.map((id) => `${id} y`)]);
        expect(await hand.records()).toHaveLength(1);
        await sendAll();
        under.advance(keptMs);
        await sweepAll();
        expect((await log()).told).toEqual([...ids.slice(1).map((id) => `${id} y`), 'a z']);
      });

      test('goes on beyond pages of newest events, and counts on from where it was', async () => {
        const moreBytesMax = 1_000_000;
        await under.close();
        under = await open({ eventBytesMax: moreBytesMax });
        hand = new Hand(under);
        await list(Array.from({ length: manyKeys }, (_, nth) => `k${nth}`));
        for (const count of [52, 15]) {
          await publish('1', 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'.slice(0, count));
          await sendAll();
          under.advance(keptMs);
          await sweepAll();
          const { bytes } = await log();
          expect(bytes).toBeLessThanOrEqual(moreBytesMax);
          expect(bytes).toBeGreaterThan(moreBytesMax - 11_000);
        }
      });

      test('counts the log anew where another version has taken some of it', async () => {
        await publish('1', 'abcdefgh');
        await sendAll();
        under.advance(keptMs);
        await sweepAll();
        hand.store = await under.damage('DELETE FROM outbox WHERE position < 6');
        await publish('1', 'ijklmn');
        await sendAll();
        under.advance(dayMs);
        await sweepAll();
        expect((await log()).told).toEqual([...'fghijklmn'].map((content) => `1 ${content}`));
      });

      test('leaves what a replay has still to look at for as long as somebody is at it', async () => {
        await publish('1', 'abcdefghijklmno');
        const rows = (await hand.records()).map(({ row }) => row);
        await sendAll();
        const { replay, counts } = await hand.store.beginReplay('history');
        expect(await hand.store.holdLease(replayLease, 'p1', 4 * keptMs)).toBe(true);
        const toTopic = async (from: number, to: number) => {
          const history = await hand.store.readHistory(rows.slice(from, to));
          const sent = history.map((record, nth) => sentTo(record, 0, String(from + nth)));
          await hand.store.noteHistory(
            { replay, from: rows[from - 1] ?? 0, after: rows[to - 1]!, counts },
            'history',
            sent,
          );
          return history.length;
        };
        under.advance(keptMs);
        await sweepAll();
        expect(await toTopic(0, 3)).toBe(3);
        await sweepAll();
        expect((await log()).told).toEqual([...'defghijklmno'].map((content) => `1 ${content}`));
        expect(await toTopic(3, rows.length)).toBe(12);
        await hand.store.endReplay(replay);
        await sweepAll();
        expect((await log()).bytes).toBeLessThanOrEqual(eventBytesMax);
      });

      test('a replay that was left holds nothing once its lease is over', async () => {
        await publish('1', 'abcdefghijklmno');
        await sendAll();
        await hand.store.beginReplay('history');
        await hand.store.holdLease(replayLease, 'p1', keptMs);
        under.advance(keptMs);
        await sweepAll();
        expect((await log()).bytes).toBeLessThanOrEqual(eventBytesMax);
      });
    });
  });
}
