/**
 * What every store promises of retention beside its age: its walk comes to an end and leaves nothing out, however much of
 * what it walks over is kept.
 */
import { draftOf, Hand, hintOf, type StoreUnderTest } from './store-hand';

const dayMs = 86_400_000;
const organizationId = '4711';
/** More than retention looks at in one page. */
const manyKeys = 1100;

export function storeRetentionSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`store contract, retention: ${name}`, () => {
    let under: StoreUnderTest;
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
      const listed = { run, listingId: listings[0]!.id, revision, connectionId: 'c1' };
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
    const positions = async () => {
      const kept: number[] = [];
      for (let after = 0; ; ) {
        const page = { after, limit: 1000, type: null, organizationId: null };
        const { events } = await hand.store.listEvents(page);
        if (events.length === 0) return kept;
        kept.push(...events.map(({ position }) => position));
        after = kept.at(-1)!;
      }
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
      const kept = await positions();
      expect(kept).toHaveLength(manyKeys + 1);
      expect(kept).not.toContain(manyKeys + 1);
      expect(await sweepAll()).toBe(calls);
    });
  });
}
