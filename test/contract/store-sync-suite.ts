/**
 * What every store promises a sync: a page is finished with its place in one step, only what is at rest and not read
 * since is finished from it, and absence makes a read due and nothing more.
 */
import type { EquipmentNames, EquipmentSide, KnownEquipment } from '../../src/model/equipment-names';
import type { EventDraft } from '../../src/model/event';
import type { ListedPage } from '../../src/model/sync';
import type { TakenTask } from '../../src/model/task';
import {
  address,
  draftOf,
  emptyRun,
  goneBy,
  Hand,
  header,
  heldBy,
  hintOf,
  listedAs,
  type StoreUnderTest,
} from './store-hand';

const scope = '4711/equipment';
const organizationId = '4711';
export function storeSyncSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`store contract, sync: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    const begin = async (wanted = { organizationId: null as string | null, full: false }, of = scope) => {
      const { run, resumed } = await hand.store.beginRun(wanted);
      const { listings, revision } = await hand.store.openListings(run, [{ scope: of, organizationId }]);
      return { run, resumed, revision, listing: listings[0]! };
    };
    type Begun = Awaited<ReturnType<typeof begin>>;
    const page = ({ run, listing, revision }: Begun, more: Partial<ListedPage> = {}) =>
      hand.store.finishPage({
        run,
        revision,
        listingId: listing.id,
        connectionId: 'c1',
        from: null,
        drafts: [],
        hints: [],
        after: { end: true, whole: true, changeToken: null },
        ...more,
      });
    test('how far the last run is, and how many listings the one before it had, is told until it ends', async () => {
      expect(await hand.store.lastRun()).toBeNull();
      const first = await begin();
      expect(await hand.store.lastRun()).toMatchObject({ ended: false, listings: { read: 0, last: null } });
      await page(first);
      expect(await hand.store.lastRun()).toMatchObject({ listings: { read: 1, last: null } });
      await hand.store.endRun(first.run, { ...emptyRun, listings: 7 }, true);
      expect(await hand.store.lastRun()).toMatchObject({ ended: true, listings: { read: 0, last: null } });
      await begin({ organizationId: '4711', full: false });
      expect(await hand.store.lastRun()).toMatchObject({ listings: { read: 0, last: null } });
      await begin({ organizationId: null, full: true });
      expect(await hand.store.lastRun()).toMatchObject({ listings: { read: 0, last: 7 } });
    });

    test('the last full run of all that has ended is known whatever was begun since', async () => {
      const runs: number[] = [];
      for (const [organizationId, full] of [
        [null, true],
        ['4711', true],
        [null, false],
      ] as const) {
        const begun = await begin({ organizationId, full });
        runs.push(begun.run);
        expect(await hand.store.lastRun()).toMatchObject({
          run: begun.run,
          endedFull: runs.length > 1 ? runs[0] : null,
        });
        await hand.store.endRun(begun.run, emptyRun, true);
      }
      expect(await hand.store.lastRun()).toMatchObject({ run: runs[2], endedFull: runs[0] });
    });

    /** A whole run over one listing that holds these. */
    const runOver = async (contents: Record<string, string>) => {
      const begun = await begin();
      const drafts = Object.entries(contents).map(([id, content]) => draftOf(id, content));
      const result = await page(begun, { drafts });
      const absent = await hand.store.hintAbsent(begun.run, organizationId, 'equipment', 0.05);
      await hand.store.endRun(begun.run, emptyRun, true);
      return { ...result, absent };
    };

    describe('what was listed in an organization and has moved to another since, and goes without a word,', () => {
      const readThere = async () => {
        under.advance(1000);
        await hand.finish(await hand.take(), draftOf('1', 'a', { organizationId: '99' }));
        under.advance(1000);
      };
      /** One run over the lists of these organizations, on each of which these stand; what is absent of the one that it came to. */
      const runOverLists = async (organizations: string[], drafts: EventDraft[] = []) => {
        const { run } = await hand.store.beginRun({ organizationId: null, full: false });
        const names = organizations.map((of) => ({ scope: `${of}/equipment`, organizationId: of }));
        const { listings, revision } = await hand.store.openListings(run, names);
        const whole = drafts.length === 0 && organizations.length > 1;
        const after = { end: true, whole, changeToken: null } as const;
        for (const listing of listings)
          await page({ run, revision, resumed: false, listing }, { drafts, after });
        const absent = await hand.store.hintAbsent(run, '99', 'equipment', 0.05);
        await hand.store.endRun(run, emptyRun, true);
        return absent;
      };

      test.each([[['4711', '99']], [['99']]])(
        'is missed in that one by a run over %j',
        async (organizations) => {
          await runOver({ '1': 'a' });
          await hand.put([hintOf('1', '99')]);
          await readThere();
          expect(await runOverLists(organizations)).toBe(1);
        },
      );

      test('is missed once the former one’s list is read again, where that has shown it since', async () => {
        await hand.put([hintOf('1', '99')]);
        await readThere();
        await runOver({ '1': 'a' });
        await readThere();
        expect(await runOverLists(['99'])).toBe(0);
        expect(await runOverLists(['4711', '99'])).toBe(1);
      });

      test('is not missed where the list that it came to has shown it before it was read there', async () => {
        await runOver({ '1': 'a' });
        await runOverLists(['99'], [draftOf('1', 'a', { organizationId: '99' })]);
        await readThere();
        expect(await runOverLists(['99'])).toBe(0);
      });
    });

    test('what is to be published anew is read where a page only names it in the state that is known', async () => {
      const modifiedTime = '2026-01-02T00:00:00.000Z';
      const hint = { address: address('1'), organizationId, resource: null, modifiedTime };
      await hand.publish('1', 'a', { modifiedTime });
      await page(await begin(), { hints: [hint] });
      expect(await hand.store.take(10)).toEqual([]);
      await hand.store.quarantineRecord((await hand.records())[0]!, 'record-refused', 'x');
      const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
      await hand.store.discardQuarantine(entry!.id);
      await page(await begin(), { hints: [hint] });
      await hand.finish(await hand.take(), draftOf('1', 'a', { modifiedTime }));
      expect(await hand.records()).toMatchObject([{ sequence: 2 }]);
    });

    test('a piece of equipment keeps the name that it came by, also in a page, at once and after a restart', async () => {
      const piece = (id: string, side: EquipmentSide, principalId: string | null): EquipmentNames => ({
        id,
        side,
        organizationId,
        principalId,
        erid: 'e1',
        serialNumber: 's1',
      });
      const older = piece('82001', 'old', null);
      const newer = piece('217001', 'new', '82001');
      const other = { ...piece('7', 'new', '8'), erid: 'e7', serialNumber: null };
      const { store } = hand;
      const known = { id: '82001', principalId: '82001' };
      expect(await store.nameEquipment([older, other, newer, older])).toEqual([
        { id: '82001', principalId: null },
        { id: '7', principalId: '8' },
        known,
        known,
      ]);
      // What is on disk holds all that came before it.
      await hand.put([hintOf('1')]);
      const again = await under.reopen();
      const both = [newer, older].map((one) => again.nameEquipment([one]));
      expect(await Promise.all(both)).toEqual([[known], [known]]);
      for (const sought of [
        { id: '82001', as: 'known' },
        { id: '82001', as: 'old' },
        { id: '217001', as: 'new' },
      ] as const)
        expect(new Set(await again.equipmentRecords(sought))).toEqual(new Set([older, newer]));
      for (const as of ['known', 'old', 'new'] as const)
        expect(await again.equipmentRecords({ id: '404', as })).toEqual([]);
      const named = { ...newer, serialNumber: 's2' };
      await again.nameEquipment([newer, named]);
      expect(await again.equipmentRecords({ id: '217001', as: 'new' })).toContainEqual(named);
    });

    test('a read of equipment that is known by another name does not end, and ends under that name', async () => {
      const piece = { organizationId, erid: 'e1', serialNumber: 's1' };
      const older: EquipmentNames = { ...piece, id: '82001', side: 'old', principalId: null };
      const newer: EquipmentNames = { ...piece, id: '217001', side: 'new', principalId: '82001' };
      const known = { id: '82001', principalId: '82001' };
      const told = { connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 0 };
      const { store } = hand;
      const read = async (names: EquipmentNames) => {
        await hand.put([hintOf(names.id)]);
        const task = await hand.takeAt(address(names.id));
        return ({ id, principalId }: KnownEquipment) =>
          store.finish({
            ...heldBy(task),
            ...told,
            draft: draftOf(id, 'a', { address: address(names.id) }),
            named: { names, known: { id, principalId } },
          });
      };
      expect(await (await read(older))({ id: '82001', principalId: null })).toMatchObject({
        outcome: 'published',
      });
      under.advance(1000);
      const end = await read(newer);
      expect(await end({ id: '217001', principalId: '82001' })).toEqual({
        outcome: 'known-otherwise',
        known,
      });
      expect(await end({ id: '82001', principalId: null })).toEqual({ outcome: 'known-otherwise', known });
      // Nothing has ended: the read can still say what it is, and only once.
      expect(await store.take(10)).toEqual([]);
      expect(await store.pickUnsent(10, 1e9, [])).toHaveLength(1);
      expect(await end(known)).toMatchObject({ outcome: 'unchanged' });
      expect(await end(known)).toEqual({ outcome: 'refused', reason: 'fenced' });
      expect(new Set(await store.equipmentRecords({ id: '82001', as: 'known' }))).toEqual(
        new Set([older, newer]),
      );
    });

    test('of two reads of one piece at once one is the first', async () => {
      const piece = { organizationId, erid: 'e9', serialNumber: 's9' };
      const [[one], [two]] = await Promise.all([
        hand.store.nameEquipment([{ ...piece, id: '89', side: 'old', principalId: null }]),
        hand.store.nameEquipment([{ ...piece, id: '219', side: 'new', principalId: '89' }]),
      ]);
      expect(one!.id).toBe(two!.id);
    });

    test('the first read of what was listed through another connection is in its journey as a switch, a page is not', async () => {
      const switches = async () => {
        const { steps } = (await hand.store.explain(address('1')))!;
        return steps
          .filter(({ step }) => step === 'connection-switched')
          .map(({ from, to, at }) => [from, to, at]);
      };
      const at = () => new Date(under.nowMs()).toISOString();
      const read = async (connectionId: string) => {
        await hand.put([hintOf('1')]);
        const task = await hand.takeAt(address('1'));
        const told = { connectionId, traceparent: null, reconciled: false, settleMs: 0 };
        await hand.store.finish({ ...heldBy(task), draft: draftOf('1', 'a'), ...told });
      };
      await page(await begin(), { drafts: [draftOf('1', 'a')] });
      under.advance(1000);
      await read('c2');
      const first = at();
      under.advance(1000);
      await page(await begin(), { drafts: [draftOf('1', 'b')] });
      under.advance(1000);
      await read('c2');
      expect(await switches()).toEqual([['c1', 'c2', first]]);
      under.advance(1000);
      await read('c1');
      expect(await switches()).toEqual([
        ['c1', 'c2', first],
        ['c2', 'c1', at()],
      ]);
    });

    test('who has shown a resource since it was read is kept with it until the next read, and ends another’s absence', async () => {
      const ids = ['1', '2', '3'];
      const taken = async () => {
        under.advance(1000);
        await hand.put(ids.map((id) => hintOf(id)));
        return hand.store.take(10);
      };
      const seen = (tasks: TakenTask[]) =>
        tasks
          .toSorted((one, other) => one.address.localeCompare(other.address))
          .map(({ connectionId, shownBy, absentSinceMs }) => [connectionId, shownBy, absentSinceMs]);
      for (const id of ids) await hand.publish(id, 'a');
      for (const task of await taken()) await hand.store.foundAbsent({ ...heldBy(task), againInMs: 600_000 });
      const sinceMs = under.nowMs();
      const resource = { kind: 'equipment' as const, id: '2' };
      const hints = [{ address: address('2'), organizationId, resource, modifiedTime: null }];
      await page(await begin(), { connectionId: 'c2', drafts: [draftOf('1', 'a')], hints });
      const shown = await taken();
      expect(seen(shown)).toEqual([
        ['c1', 'c2', null],
        ['c1', 'c2', null],
        ['c1', null, sinceMs],
      ]);
      for (const task of shown) await hand.finish(task, draftOf(task.address.slice(-1), 'a'));
      expect(seen(await taken())).toEqual(ids.map(() => ['c1', null, null]));
    });

    test('a page that holds it as it was published has shown it as well', async () => {
      await hand.publish('1', 'a');
      const begun = await begin();
      expect(await hand.store.compareListed(begun.run, begun.listing.id, [listedAs('1', 'a')], 'c2')).toEqual(
        [],
      );
      under.advance(1000);
      await hand.put([hintOf('1')]);
      expect(await hand.take()).toMatchObject({ connectionId: 'c1', shownBy: 'c2' });
    });

    test('what a listing holds is published once, as reconciled and traced to its run', async () => {
      expect(await runOver({ 1: 'a', 2: 'b' })).toMatchObject({ changed: 2, published: 2, absent: 0 });
      const rows = await hand.records();
      expect(rows.map((row) => [row.key, row.sequence, header(row, 'ce_reconciled')])).toEqual([
        ['4711/equipment/1', 1, 'true'],
        ['4711/equipment/2', 1, 'true'],
      ]);
      expect(await runOver({ 1: 'a', 2: 'b2' })).toMatchObject({ changed: 1, unchanged: 1, published: 1 });
      await hand.sendAll();
      const journey = await hand.store.explain(rows[0]!.eventId);
      expect(JSON.stringify(journey)).toContain('sync');
      expect((await hand.store.ledger()).accepted).toBe(0);
      expect(await hand.store.take(10)).toEqual([]);
    });

    test('what is as it was published is told apart, and counts as listed', async () => {
      await runOver({ 1: 'a', 2: 'b' });
      const begun = await begin();
      const listed = [listedAs('1', 'a'), listedAs('2', 'changed'), listedAs('3', 'new')];
      expect(await hand.store.compareListed(begun.run, begun.listing.id, listed, 'c1')).toEqual([1, 2]);
      await page(begun, { drafts: [draftOf('2', 'changed')] });
      expect(await hand.store.hintAbsent(begun.run, organizationId, 'equipment', 0.05)).toBe(0);
    });

    test('a run that was not ended is gone on with, from the place of its last page', async () => {
      const begun = await begin();
      await page(begun, { drafts: [draftOf('1', 'a')], after: { next: 'https://p/2' } });
      await hand.reopenLater();
      const again = await begin();
      expect(again).toMatchObject({ run: begun.run, resumed: true });
      expect(again.listing).toMatchObject({ nextAddress: 'https://p/2', ended: false });
      await page(again);
      expect((await begin()).listing).toMatchObject({ nextAddress: null, ended: true, known: true });
      await hand.store.endRun(begun.run, emptyRun, true);
      const next = await begin();
      expect(next).toMatchObject({ resumed: false, listing: { ended: false } });
      expect(next.run).toBeGreaterThan(begun.run);
      expect((await begin({ organizationId: '4711', full: false })).run).not.toBe(next.run);
    });

    test('how many listings a run has read, and how many the last one for the same knew of, outlive it', async () => {
      const wanted = (organizationId: string | null, full = false) =>
        hand.store.beginRun({ organizationId, full });
      const first = await begin();
      expect(await wanted(null)).toMatchObject({ listingsRead: 0, listingsLast: null });
      await page(first);
      await page(await begin(undefined, '4711/fields'), { after: { next: 'https://p/2' } });
      await hand.reopenLater();
      expect(await wanted(null)).toMatchObject({ resumed: true, listingsRead: 1, listingsLast: null });
      await hand.store.endRun(first.run, { ...emptyRun, listings: 7 }, true);
      expect(await wanted(null)).toMatchObject({ resumed: false, listingsRead: 0, listingsLast: 7 });
      expect(await wanted(null, true)).toMatchObject({ listingsLast: 7 });
      expect(await wanted('4711')).toMatchObject({ listingsRead: 0, listingsLast: null });
    });

    test('how syncs stand is what the run that ended last was given, and outlives it', async () => {
      expect(await hand.store.syncStanding()).toBeNull();
      const standing = {
        wholeAtMs: 5,
        unread: [
          { scope: '4711/equipment', runs: 2, sinceMs: 7, detail: 'page 2: "x"' },
          {
            ...{ scope: '4712/equipment', runs: 1, sinceMs: 8, detail: 'page 1: no' },
            refused: { sinceMs: 8, message: 'no "eq1"' },
          },
        ],
      };
      const [all, one] = [await begin(), await begin({ organizationId: '4711', full: false })];
      expect(await hand.store.syncStanding()).toBeNull();
      await hand.store.endRun(one.run, emptyRun, true);
      under.advance(1);
      await hand.store.endRun(all.run, { ...emptyRun, standing }, false);
      await hand.reopenLater();
      expect(await hand.store.syncStanding()).toEqual({ ...standing, run: all.run });
    });

    test('a run that was left for more than a day is not gone on with', async () => {
      const { run } = await begin();
      under.advance(86_400_001);
      expect(await begin()).toMatchObject({ resumed: false });
      expect((await begin()).run).toBeGreaterThan(run);
    });

    test('a change token is kept with the page that ended its listing', async () => {
      const changeToken = { token: 't1', asked: 'c1 https://p/1' };
      const begun = await begin();
      await page(begun, { after: { end: true, whole: true, changeToken } });
      await hand.store.endRun(begun.run, emptyRun, true);
      expect((await begin()).listing.changeToken).toEqual(changeToken);
    });

    test('a change token says nothing of what was given up since, nor one that was asked for before', async () => {
      const changeToken = { token: 't1', asked: 'c1 https://p/1' };
      const ends = { after: { end: true, whole: true, changeToken } } as const;
      const sync = async (meanwhile = async () => {}) => {
        const begun = await begin();
        await meanwhile();
        await page(begun, ends);
        await hand.store.endRun(begun.run, emptyRun, true);
        return begun.listing.changeToken;
      };
      const discard = async () => {
        const [record] = await hand.records();
        await hand.store.quarantineRecord(record!, 'record-refused', 'x');
        const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
        expect(await hand.store.discardQuarantine(entry!.id)).toBe('discarded');
      };
      const forget = async () => void (await hand.store.forgetOrganization('4711'));
      for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
      expect(await sync(discard)).toBeNull();
      expect(await sync()).toBeNull();
      expect(await sync(discard)).toEqual(changeToken);
      expect(await sync(forget)).toBeNull();
      expect(await sync()).toBeNull();
      await forget();
      expect(await sync()).toBeNull();
      expect(await sync()).toEqual(changeToken);
    });

    test('a page of an organization that was forgotten while it was listed says nothing, and nothing of it is missed', async () => {
      await hand.store.learn([{ id: organizationId, name: null, connectionId: 'c1' }]);
      await runOver({ '1': 'a', '2': 'a' });
      const begun = await begin();
      await hand.store.forgetOrganization(organizationId);
      await hand.sendAll();
      const hint = { address: address('4'), organizationId, resource: null, modifiedTime: null };
      const result = await page(begun, { drafts: [draftOf('1', 'b'), draftOf('3', 'a')], hints: [hint] });
      expect(result).toMatchObject({ changed: 0, unchanged: 0, published: 0, left: 0, forgotten: true });
      expect(await page(begun, { after: { next: 'https://p?2' } })).toMatchObject({ forgotten: true });
      expect(await hand.store.hintAbsent(begun.run, organizationId, 'equipment', 0.05)).toBe(0);
      expect(await hand.records()).toEqual([]);
      expect(await hand.store.findOrganization(organizationId)).toMatchObject({ parked: 0, seen: false });
      await hand.store.endRun(begun.run, emptyRun, true);
      await hand.store.learn([{ id: organizationId, name: null, connectionId: 'c1' }]);
      const [probe] = await hand.store.takeProbes(1, 1000);
      await hand.store.observe({ organizationId, epoch: probe!.epoch, by: 'probe', found: { cause: null } });
      expect(await runOver({ '1': 'b', '3': 'a' })).toMatchObject({ published: 2, absent: 1 });
    });

    test('a listing of which something was left is begun anew, with the change token from before', async () => {
      const changeToken = { token: 't1', asked: 'c1 https://p/1' };
      const first = await begin();
      await page(first, { after: { end: true, whole: true, changeToken } });
      await hand.store.endRun(first.run, emptyRun, true);
      const begun = await begin();
      await page(begun, { after: { next: 'https://p/2' } });
      await page(begun, { drafts: [draftOf('1', 'a')], after: { next: null } });
      const again = { ended: false, nextAddress: null, changeToken };
      expect(await begin()).toMatchObject({ resumed: true, listing: again });
      await hand.store.endRun(begun.run, emptyRun, false);
      expect(await begin()).toMatchObject({ resumed: false, listing: again });
    });

    test('a page never wins over a read that was accepted since it was asked for', async () => {
      await hand.publish('1', 'a');
      const begun = await begin();
      await hand.publish('1', 'newer');
      expect(await page(begun, { drafts: [draftOf('1', 'old')] })).toMatchObject({ changed: 0, left: 1 });
      const task = await hand.take();
      expect(task).toMatchObject({ address: address('1'), reconciled: true, deliveryId: null });
      expect(await hand.finish(task, draftOf('1', 'newer'))).toMatchObject({ outcome: 'unchanged' });
      expect(await hand.records()).toHaveLength(2);
    });

    test('a page never wins over a read that found nothing there since it was asked for', async () => {
      const begun = await begin();
      await hand.put([hintOf('1')]);
      expect(await hand.store.finishGone(goneBy(await hand.take()))).toMatchObject({ outcome: 'gone' });
      under.advance(1000);
      expect(await page(begun, { drafts: [draftOf('1', 'old')] })).toMatchObject({ changed: 0, left: 1 });
      expect(await hand.take()).toMatchObject({ address: address('1'), reconciled: true });
      expect(await hand.records()).toEqual([]);
    });

    test('a page that shows again what a read found gone since it was asked for leaves that to another read', async () => {
      await hand.publish('1', 'a');
      const begun = await begin();
      await hand.put([hintOf('1')]);
      expect(await hand.store.finishGone(goneBy(await hand.take()))).toMatchObject({ outcome: 'gone' });
      under.advance(1000);
      expect(await page(begun, { drafts: [draftOf('1', 'a')] })).toMatchObject({ changed: 0, left: 1 });
      expect(await hand.finish(await hand.take(), draftOf('1', 'a'))).toMatchObject({ outcome: 'published' });
    });

    test('a page that agrees with a newer read asks for nothing', async () => {
      const begun = await begin();
      await hand.publish('1', 'a');
      expect(await page(begun, { drafts: [draftOf('1', 'a')] })).toMatchObject({ unchanged: 1, left: 0 });
      expect(await hand.store.take(10)).toEqual([]);
    });

    test('a page leaves it to reads through which connection a resource is read', async () => {
      await hand.publish('1', 'a');
      await page(await begin(), { connectionId: 'c2', drafts: [draftOf('1', 'b'), draftOf('2', 'b')] });
      await hand.put([hintOf('1'), hintOf('2')]);
      const tasks = await hand.store.take(10);
      expect(tasks.map(({ resource, connectionId }) => [resource?.id, connectionId]).sort()).toEqual([
        ['1', 'c1'],
        ['2', 'c2'],
      ]);
    });

    test('what was set aside gets one attempt when a page shows it well, and none while it is not', async () => {
      const setAside = async (id: string) => {
        await hand.put([hintOf(id)]);
        await hand.store.quarantineTask({
          ...heldBy(await hand.take()),
          reason: 'malformed-document',
          path: '/id',
          detail: null,
          raw: null,
        });
      };
      await hand.publish('1', 'a');
      under.advance(60_000);
      await setAside('1');
      await setAside('2');
      under.advance(60_000);
      const bad = { address: address('1'), organizationId, modifiedTime: null };
      await page(await begin(), { hints: [{ ...bad, resource: { kind: 'equipment', id: '1' } }] });
      await page(await begin(), { drafts: [draftOf('1', 'b', { value: 'x'.repeat(1_000_000) })] });
      expect(await hand.store.take(10)).toEqual([]);
      // As it was published before: that, too, is news of what is set aside.
      const begun = await begin();
      expect(await hand.store.compareListed(begun.run, begun.listing.id, [listedAs('1', 'a')], 'c1')).toEqual(
        [0],
      );
      expect(await page(begun, { drafts: [draftOf('1', 'a'), draftOf('2', 'b')] })).toMatchObject({
        left: 2,
      });
      expect(await hand.store.listQuarantine({ limit: 9, after: null })).toEqual([]);
      const tasks = await hand.store.take(10);
      expect(tasks.map((task) => task.address)).toEqual([address('1'), address('2')]);
      for (const task of tasks)
        expect(await hand.finish(task, draftOf(task.address.slice(-1), 'b'))).toBeDefined();
      expect(await hand.events()).toEqual(['4711 1 created', '4711 2 updated', '4711 1 created']);
    });

    test('what waits for a read is left to it', async () => {
      await hand.publish('1', 'a');
      const begun = await begin();
      await hand.put([hintOf('1'), hintOf('2')]);
      const drafts = [draftOf('1', 'b'), draftOf('2', 'b')];
      expect(await page(begun, { drafts })).toMatchObject({ changed: 0, left: 2 });
      const tasks = await hand.store.take(10);
      expect(tasks.map(({ reconciled }) => reconciled)).toEqual([false, false]);
      for (const task of tasks) {
        const id = task.address.slice(-1);
        expect(await hand.finish(task, draftOf(id, 'b'))).toMatchObject({ outcome: 'published' });
      }
      expect(await hand.store.hintAbsent(begun.run, organizationId, 'equipment', 0.05)).toBe(0);
    });

    test('what was set aside and is tried again for a page is as announced as it was', async () => {
      await hand.put([hintOf('1')]);
      await hand.quarantine(await hand.takeAt(address('1')));
      const unannounced = { address: address('2'), organizationId, resource: null, modifiedTime: null };
      await page(await begin(), { hints: [unannounced] });
      await hand.quarantine(await hand.takeAt(address('2')));
      under.advance(60_000);
      await page(await begin(), { drafts: [draftOf('1', 'a'), draftOf('2', 'a')] });
      const [first, second] = (await hand.store.take(2)).sort((a, b) => (a.address < b.address ? -1 : 1));
      expect(first).toMatchObject({ address: address('1'), reconciled: false, deliveryId: 'd1' });
      expect(second).toMatchObject({ address: address('2'), reconciled: true, deliveryId: null });
    });

    describe('whose it is where no read knew it is what a page says', () => {
      const ofAnn = { ...hintOf('1', '4712'), user: 'ann' };
      const named = { address: address('1'), organizationId, resource: null, modifiedTime: null };
      const owned = { organizationId, hintedOrganizationId: organizationId, hintedUser: 'ann' };

      test('of what was set aside, which is tried again, also where it is set aside and released once more', async () => {
        await hand.put([ofAnn]);
        await hand.quarantine(await hand.takeAt(address('1')));
        under.advance(60_000);
        expect(await page(await begin(), { drafts: [draftOf('1', 'a')] })).toMatchObject({ left: 1 });
        const task = await hand.takeAt(address('1'));
        expect(task).toMatchObject(owned);
        await hand.quarantine(task);
        await hand.reopenLater();
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        expect(await hand.store.releaseQuarantine(entry!.id)).toBe('released');
        const again = await hand.takeAt(address('1'));
        expect(again).toMatchObject(owned);
        expect(await hand.finish(again, draftOf('1', 'a'))).toMatchObject({ outcome: 'published' });
      });

      test.each<[string, Partial<ListedPage>]>([
        ['shows', { drafts: [draftOf('1', 'a')] }],
        ['names', { hints: [named] }],
      ])('of what waits, where the page %s it, also after it was given up', async (_what, shown) => {
        await hand.put([ofAnn]);
        await page(await begin(), shown);
        const task = await hand.takeAt(address('1'));
        expect(task).toMatchObject(owned);
        await hand.quarantine(task);
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        await hand.store.discardQuarantine(entry!.id);
        under.advance(60_000);
        await hand.put([ofAnn]);
        expect(await hand.takeAt(address('1'))).toMatchObject({
          organizationId,
          hintedOrganizationId: '4712',
        });
      });

      test('of what is being read, and given up', async () => {
        await hand.put([ofAnn, { ...hintOf('2', '4712'), user: 'ann' }]);
        const [first, second] = await hand.store.take(2);
        await hand.quarantine(second!);
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        await hand.store.discardQuarantine(entry!.id);
        under.advance(1000);
        await page(await begin(), { drafts: [draftOf('1', 'a'), draftOf('2', 'a')] });
        await hand.quarantine(first!);
        expect(await hand.quarantined()).toEqual([]);
        expect(await hand.takeAt(address('1'))).toMatchObject(owned);
        await hand.put([{ ...hintOf('2', '4712'), user: 'ann' }]);
        expect(await hand.takeAt(address('2'))).toMatchObject({
          organizationId,
          hintedOrganizationId: '4712',
        });
      });
    });

    describe('what was not found and is waited for is read at once', () => {
      const modifiedTime = '2026-01-02T00:00:00.000Z';
      const named = (time: string | null) => ({
        address: address('1'),
        organizationId,
        modifiedTime: time,
        resource: { kind: 'equipment' as const, id: '1' },
      });
      const absent = async () => {
        await hand.put([hintOf('1')]);
        const task = await hand.take();
        await hand.store.foundAbsent({ ...heldBy(task), againInMs: 600_000 });
        under.advance(1000);
        expect(await hand.store.take(10)).toEqual([]);
        return under.nowMs() - 1000;
      };

      test.each<[string, Partial<ListedPage>]>([
        ['shows it', { drafts: [draftOf('1', 'b')] }],
        ['shows it as it was published', { drafts: [draftOf('1', 'a')] }],
        ['names it', { hints: [named(null)] }],
        ['names it in the state that is known', { hints: [named(modifiedTime)] }],
      ])('where a page %s, and its absence goes on counting', async (_what, shown) => {
        await hand.publish('1', 'a', { modifiedTime });
        const sinceMs = await absent();
        const begun = await begin();
        const listed = [listedAs('1', 'a')];
        expect(await hand.store.compareListed(begun.run, begun.listing.id, listed, 'c1')).toEqual([0]);
        expect(await page(begun, shown)).toMatchObject({ changed: 0, unchanged: 0, left: 1 });
        const task = await hand.take();
        expect(task).toMatchObject({ reconciled: false, absentSinceMs: sinceMs });
        expect(await hand.finish(task, draftOf('1', 'c'))).toMatchObject({ outcome: 'published' });
      });

      test('also where nobody knew yet which resource stands there', async () => {
        await absent();
        expect(await page(await begin(), { drafts: [draftOf('1', 'a')] })).toMatchObject({ left: 1 });
        expect(await hand.finish(await hand.take(), draftOf('1', 'a'))).toMatchObject({
          outcome: 'published',
        });
      });
    });

    test('a resource that moved to another organization is read', async () => {
      await hand.publish('1', 'a');
      const begun = await begin();
      await page(begun, { drafts: [draftOf('1', 'a', { organizationId: '99' })] });
      const task = await hand.take();
      // Should it be refused, it is not the organization that it left which is blamed.
      expect(task).toMatchObject({ organizationId: '4711', hintedOrganizationId: '99' });
      expect(await hand.finish(task, draftOf('1', 'a', { organizationId: '99' }))).toMatchObject({
        outcome: 'published',
      });
      expect(await hand.events()).toEqual(['4711 1 created', '4711 2 deleted', '99 1 created']);
    });

    test('what was set aside, and a page shows in another organization, is read as that one’s', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      await hand.quarantine(await hand.take());
      under.advance(1000);
      await page(await begin(), { drafts: [draftOf('1', 'a', { organizationId: '99' })] });
      expect(await hand.take()).toMatchObject({
        organizationId: '4711',
        hintedOrganizationId: '99',
        shownBy: 'c1',
      });
    });

    test('a page from before what was read since says nothing of whose it is', async () => {
      await hand.publish('1', 'a');
      const begun = await begin();
      await hand.publish('1', 'b');
      await page(begun, { drafts: [draftOf('1', 'a', { organizationId: '99' })] });
      expect(await hand.take()).toMatchObject({ hintedOrganizationId: '4711' });
    });

    test('a record that is too large is left to a read, which sets it aside', async () => {
      const large = draftOf('1', 'a', { value: 'x'.repeat(1_000_000) });
      await page(await begin(), { drafts: [large] });
      expect(await hand.finish(await hand.take(), large)).toMatchObject({ reason: 'record-too-large' });
      await runOver({ 2: 'a' });
      await page(await begin(), { drafts: [draftOf('2', 'b', { value: 'x'.repeat(1_000_000) })] });
      expect((await hand.take()).resource).toEqual({ kind: 'equipment', id: '2' });
    });

    test('what is older than published is not news', async () => {
      await hand.publish('1', 'a', { modifiedTime: '2026-01-02T00:00:00.000Z' });
      const old = draftOf('1', 'b', { modifiedTime: '2026-01-01T00:00:00.000Z' });
      expect(await page(await begin(), { drafts: [old] })).toMatchObject({ unchanged: 1, published: 0 });
    });

    test('what an older normalizer sees changed is read, and nothing else of its page', async () => {
      const newer = { normalizerVersion: 2 };
      await hand.publish('1', 'a', newer);
      await hand.publish('2', 'a', newer);
      await hand.publish('3', 'a', newer);
      await hand.put([hintOf('3')]);
      await hand.store.finishGone(goneBy(await hand.take()));
      under.advance(1000);
      const begun = await begin();
      const drafts = ['1', '2', '3'].map((id) => draftOf(id, id === '1' ? 'b' : 'a'));
      expect(await page(begun, { drafts })).toMatchObject({ changed: 0, unchanged: 1, left: 2 });
      const tasks = await hand.store.take(10);
      expect(tasks.map(({ address: at, reconciled }) => [at, reconciled])).toEqual([
        [address('1'), true],
        [address('3'), true],
      ]);
      const older = { outcome: 'refused', reason: 'older-normalizer' };
      expect(await hand.finish(tasks[0]!, draftOf('1', 'b'))).toEqual(older);
      under.advance(3_600_000);
      const again = await hand.takeAt(address('1'));
      expect(await hand.finish(again, draftOf('1', 'b', newer))).toMatchObject({ outcome: 'published' });
    });

    test('a hint of a page is read unless it is known in that state', async () => {
      const modifiedTime = '2026-01-02T00:00:00.000Z';
      await hand.publish('1', 'a', { modifiedTime });
      const begun = await begin();
      const hint = (id: string, time: string | null) => ({
        address: address(id),
        organizationId,
        modifiedTime: time,
        resource: { kind: 'equipment' as const, id },
      });
      await page(begun, { hints: [hint('1', modifiedTime)], after: { next: 'x' } });
      expect(await hand.store.take(10)).toEqual([]);
      expect(await page(begun, { hints: [hint('1', null), hint('2', modifiedTime)] })).toMatchObject({
        left: 2,
      });
      const tasks = await hand.store.take(10);
      expect(tasks.map((task) => [task.address, task.reconciled])).toEqual([
        [address('1'), true],
        [address('2'), true],
      ]);
    });

    test('what a page only names in another organization is read, however well its state is known', async () => {
      const modifiedTime = '2026-01-02T00:00:00.000Z';
      await hand.publish('1', 'a', { modifiedTime });
      const resource = { kind: 'equipment' as const, id: '1' };
      const hint = { address: address('1'), organizationId: '99', modifiedTime, resource };
      await page(await begin(), { hints: [hint] });
      expect(await hand.take()).toMatchObject({ address: address('1'), reconciled: true });
    });

    test('absence makes a read due, and only that read says that it is gone', async () => {
      await runOver({ 1: 'a', 2: 'b' });
      expect(await runOver({ 1: 'a' })).toMatchObject({ absent: 1 });
      expect(await hand.events()).toHaveLength(2);
      const task = await hand.take();
      expect(task).toMatchObject({ address: address('2'), reconciled: true });
      expect(await runOver({ 1: 'a' })).toMatchObject({ absent: 0 });
      expect(await hand.store.finishGone(goneBy(task))).toMatchObject({ outcome: 'gone' });
      expect((await hand.events()).at(-1)).toBe('4711 2 deleted');
      expect(header((await hand.records()).at(-1)!, 'ce_reconciled')).toBe('true');
      expect(await runOver({ 1: 'a' })).toMatchObject({ absent: 0 });
      expect(await runOver({ 1: 'a', 2: 'b' })).toMatchObject({ changed: 1, published: 1 });
      expect((await hand.events()).at(-1)).toBe('4711 3 created');
    });

    test('what only a notification told of is missed too, unless it was read during the run', async () => {
      await hand.publish('1', 'a');
      const begun = await begin();
      await hand.publish('2', 'a');
      await page(begun);
      expect(await hand.store.hintAbsent(begun.run, organizationId, 'equipment', 0.05)).toBe(1);
      expect((await hand.take()).address).toBe(address('1'));
    });

    test('of many that are missed at once only the bound and one more are read', async () => {
      const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [String(index), 'a']));
      await runOver(many);
      expect(await runOver({ 0: 'a' })).toMatchObject({ absent: 21 });
      expect(await hand.store.take(100)).toHaveLength(21);
    });

    test('of many that one user is not shown, and another is, each run reads those that were not read for longest', async () => {
      const many = Object.fromEntries(Array.from({ length: 43 }, (_, index) => [String(index), 'a']));
      await runOver(many);
      const read = new Set<string>();
      for (const count of [21, 42]) {
        under.advance(1000);
        expect(await runOver({ 0: 'a' })).toMatchObject({ absent: 21 });
        for (const task of await hand.store.take(100)) {
          read.add(task.address);
          await hand.finish(task, draftOf(task.resource!.id, 'a'));
        }
        expect(read.size).toBe(count);
      }
    });

    test('a listing that showed only changes, or that none happened, misses nothing', async () => {
      await runOver({ 1: 'a', 2: 'b' });
      const begun = await begin();
      await page(begun, {
        drafts: [draftOf('1', 'a2')],
        after: { end: true, whole: false, changeToken: { token: 't', asked: 'q' } },
      });
      expect(await hand.store.hintAbsent(begun.run, organizationId, 'equipment', 0.05)).toBe(0);
      await hand.store.endRun(begun.run, emptyRun, true);
    });

    test('what stood in a listing that is not there any more is missed', async () => {
      await runOver({ 1: 'a' });
      const begun = await begin({ organizationId: null, full: false }, '4711/other');
      await page(begun);
      expect(await hand.store.hintAbsent(begun.run, organizationId, 'equipment', 0.05)).toBe(1);
    });

    test('calls add up by month, also after a restart', async () => {
      expect(await hand.store.countCalls('2026-01', 50)).toBe(50);
      await hand.reopen();
      expect(await hand.store.countCalls('2026-01', -8)).toBe(42);
      expect(await hand.store.countCalls('2026-02', 0)).toBe(0);
    });

    describe('a page that comes while its resource is read shows what that read may have missed', () => {
      const hintAt = (id: string, modifiedTime: string | null = null) => ({
        address: address(id),
        organizationId,
        modifiedTime,
        resource: { kind: 'equipment' as const, id },
      });
      const taken = async () => {
        await hand.publish('1', 'a');
        const begun = await begin();
        await hand.put([hintOf('1')]);
        return { begun, task: await hand.take() };
      };
      const newToken = { end: true, whole: false, changeToken: { token: 't2', asked: 'q' } } as const;

      test('so it is read once more, under the notification that it was read for', async () => {
        const { begun, task } = await taken();
        const drafts = [draftOf('1', 'c')];
        expect(await page(begun, { drafts, after: newToken })).toMatchObject({ changed: 0, left: 1 });
        const superseded = { outcome: 'refused', reason: 'superseded' };
        expect(await hand.finish(task, draftOf('1', 'b'))).toEqual(superseded);
        under.advance(1000);
        const again = await hand.take();
        expect(again).toMatchObject({ generation: task.generation, reconciled: false });
        expect(await hand.finish(again, draftOf('1', 'c'))).toMatchObject({ outcome: 'published' });
        expect(await hand.events()).toEqual(['4711 1 created', '4711 2 updated']);
        expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 2, published: 2 });
      });

      test('also where the page shows it as it was published', async () => {
        const { begun, task } = await taken();
        const listed = [listedAs('1', 'a')];
        expect(await hand.store.compareListed(begun.run, begun.listing.id, listed, 'c1')).toEqual([0]);
        expect(await page(begun, { drafts: [draftOf('1', 'a')] })).toMatchObject({ left: 1 });
        expect(await hand.finish(task, draftOf('1', 'b'))).toMatchObject({ reason: 'superseded' });
      });

      test('also where the page names it only, or says that it is gone', async () => {
        const { begun, task } = await taken();
        await page(begun, { hints: [hintAt('1')], after: newToken });
        expect(await hand.finish(task, draftOf('1', 'b'))).toMatchObject({ reason: 'superseded' });
        under.advance(1000);
        expect(await hand.store.finishGone(goneBy(await hand.take()))).toMatchObject({ outcome: 'gone' });
      });

      test('also where nobody knew yet which resource stands there', async () => {
        const begun = await begin();
        await hand.put([hintOf('1')]);
        const task = await hand.take();
        expect(await page(begun, { drafts: [draftOf('1', 'b')] })).toMatchObject({ left: 1 });
        expect(await hand.store.finishGone(goneBy(task))).toMatchObject({ reason: 'superseded' });
        under.advance(1000);
        const again = await hand.take();
        expect(await hand.finish(again, draftOf('1', 'b'))).toMatchObject({ outcome: 'published' });
      });

      test('also where that read would set it aside', async () => {
        const { begun, task } = await taken();
        await page(begun, { drafts: [draftOf('1', 'b')], after: newToken });
        await hand.quarantine(task);
        expect(await hand.quarantined()).toEqual([]);
        under.advance(1000);
        expect(await hand.finish(await hand.take(), draftOf('1', 'b'))).toMatchObject({
          outcome: 'published',
        });
      });

      test('but not where the page names it in the state that is known', async () => {
        const modifiedTime = '2026-01-02T00:00:00.000Z';
        await hand.publish('1', 'a', { modifiedTime });
        const begun = await begin();
        await hand.put([hintOf('1')]);
        const task = await hand.take();
        await page(begun, { hints: [hintAt('1', modifiedTime)] });
        expect(await hand.finish(task, draftOf('1', 'a', { modifiedTime }))).toMatchObject({
          outcome: 'unchanged',
        });
      });
    });
  });
}
