/**
 * Where two things meet in a store: a hint and a state, a join and a lease, a move and a block, an absence and a return.
 * Every store must pass.
 */
import { randomBytes } from 'node:crypto';
import type { Element } from '../../src/model/notification';
import type { TakenTask } from '../../src/model/task';
import { schemaFaults } from '../support/event-schemas';
import {
  address,
  aliasHintOf,
  aliasOf,
  draftOf,
  goneBy,
  Hand,
  header,
  heldBy,
  hintOf,
  type StoreUnderTest,
  sentTo,
  sumOf,
  terms,
} from './store-hand';

const later = { modifiedTime: '2026-01-02T00:00:00.000Z' };
const earlier = { modifiedTime: '2026-01-01T00:00:00.000Z' };
const dayMs = 86_400_000;

export function storeCasesSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`store cases: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    const absentOnce = async (task: Parameters<typeof heldBy>[0]) =>
      hand.store.foundAbsent({ ...heldBy(task), againInMs: 600_000 });
    const failed = { dueInMs: 20_000, code: 'status-503', detail: null };

    describe('what is older', () => {
      test('an older document of the former owner undoes no move', async () => {
        await hand.publish('1', 'a', earlier);
        await hand.publish('1', 'b', { organizationId: '99', ...later });
        const again = await hand.publish('1', 'a', earlier);
        expect(again).toMatchObject({ outcome: 'unchanged', reason: 'older-than-published' });
        expect(await hand.events()).toEqual(['4711 1 created', '4711 2 deleted', '99 1 created']);
        expect(await hand.publish('1', 'b', { organizationId: '99', ...later })).toMatchObject({
          outcome: 'unchanged',
          reason: 'same-content',
        });
      });

      test('an older document brings nothing back that was deleted', async () => {
        await hand.publish('1', 'a', later);
        await hand.put([hintOf('1')]);
        await hand.store.finishGone(goneBy(await hand.take()));
        under.advance(1000);
        expect(await hand.publish('1', 'z', earlier)).toMatchObject({ reason: 'older-than-published' });
        expect(await hand.publish('1', 'a', later)).toMatchObject({ outcome: 'published' });
        expect(await hand.events()).toEqual(['4711 1 created', '4711 2 deleted', '4711 3 created']);
      });

      test('a stored time that has not come yet keeps out nothing that is read', async () => {
        // As kept by a version that took every time.
        const typing = { modifiedTime: '9999-12-31T23:59:59.000Z', observedAt: '2026-01-02T00:00:00.000Z' };
        await hand.publish('1', 'typed wrongly', typing);
        expect(await hand.publish('1', 'b', later)).toMatchObject({ outcome: 'published' });
        expect(await hand.publish('1', 'a', earlier)).toMatchObject({ reason: 'older-than-published' });
      });

      test('an older normalizer also decides no move, and does not ask again at once', async () => {
        await hand.publish('1', 'a', { normalizerVersion: 2 });
        await hand.put([hintOf('1')]);
        const draft = draftOf('1', 'b', { organizationId: '99', normalizerVersion: 1 });
        expect(await hand.finish(await hand.take(), draft)).toMatchObject({ reason: 'older-normalizer' });
        expect(await hand.store.nextDueInMs('task')).toBe(3_600_000);
        expect(await hand.events()).toEqual(['4711 1 created']);
      });
    });

    describe('two addresses of one resource', () => {
      test('a read under another address that found nothing new is settled like any other', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        const settleMs = 30_000;
        expect(await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs })).toMatchObject({
          again: true,
        });
        under.advance(settleMs);
        const settling = await hand.take();
        expect(settling.settling).toBe(true);
        expect(await hand.finish(settling, draftOf('1', 'b'), { settleMs })).toMatchObject({
          outcome: 'published',
          again: false,
        });
        under.advance(60_000);
        expect(await hand.store.take(10)).toEqual([]);
        expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 2, published: 2, waiting: 0 });
      });

      test('what the other address announced and its read did not find is still to be found: the next that is found settles', async () => {
        const settleMs = 30_000;
        const modified = (day: number) => ({ modifiedTime: `2026-01-0${day}T00:00:00.000Z` });
        await hand.publish('1', 'a', modified(1));
        await hand.put([aliasHintOf('1')]);
        await hand.finish(await hand.take(), draftOf('1', 'a', modified(1)), { settleMs });
        await hand.put([hintOf('1')]);
        const late = await hand.finish(await hand.take(), draftOf('1', 'b', modified(2)), { settleMs });
        expect(late).toMatchObject({ outcome: 'published', again: true });
      });

      test('hints of the other address are the resource’s from then on, also after a restart', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        await hand.finish(await hand.take(), draftOf('1', 'a'));
        under.advance(1000);
        await hand.reopenLater();
        await hand.put([hintOf('1'), aliasHintOf('1')]);
        const tasks = await hand.store.take(10);
        expect(tasks).toMatchObject([{ generation: 3, resource: { id: '1' } }]);
      });

      describe('what is not found at an address that names a known resource', () => {
        const named = { kind: 'equipment', id: '1' } as const;

        test.each([false, true])(
          'is announced of that one, which is read where it stands; for certain: %s',
          async (certain) => {
            await hand.publish('1', 'a');
            await hand.put([aliasHintOf('1')]);
            const alias = await hand.take();
            await hand.put([aliasHintOf('1')]);
            if (certain)
              expect(await hand.store.finishGone({ ...goneBy(alias), named })).toMatchObject({
                reason: 'superseded',
              });
            else await hand.store.foundAbsent({ ...heldBy(alias), againInMs: 600_000, named });
            expect(await hand.events()).toEqual(['4711 1 created']);
            under.advance(1000);
            const own = await hand.take();
            expect(own).toMatchObject({
              address: address('1'),
              resource: named,
              generation: 3,
              reconciled: false,
            });
            await hand.store.finishGone(goneBy(own));
            expect(await hand.events()).toEqual(['4711 1 created', '4711 2 deleted']);
            expect(await hand.store.take(10)).toEqual([]);
            expect(await hand.ledgerAtRest()).toMatchObject({
              accepted: 3,
              published: 1,
              gone: 1,
              merged: 1,
            });
          },
        );

        test.each([
          ['absent', { named }],
          ['absent, at an address that names nothing', {}],
          ['gone for certain', { named }],
        ])('once a read of it came too early, is announced of that one as well: %s', async (what, names) => {
          await hand.publish('1', 'a');
          await hand.put([aliasHintOf('1')]);
          // The provider still shows what is no more.
          await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs: 30_000 });
          under.advance(30_000);
          const again = await hand.take();
          if (what === 'gone for certain')
            expect(await hand.store.finishGone({ ...goneBy(again), ...names })).toMatchObject({
              reason: 'superseded',
            });
          else await hand.store.foundAbsent({ ...heldBy(again), againInMs: 600_000, ...names });
          under.advance(1000);
          const own = await hand.take();
          expect(own).toMatchObject({ address: address('1'), resource: named, generation: 2 });
          await hand.store.finishGone(goneBy(own));
          expect(await hand.events()).toEqual(['4711 1 created', '4711 2 deleted']);
          expect(await hand.store.take(10)).toEqual([]);
          expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 2, published: 1, gone: 1 });
        });

        test.each([
          ['still there', { published: 2, unchanged: 0, events: ['4711 1 created', '4711 2 updated'] }],
          [
            'gone',
            { published: 2, unchanged: 0, events: ['4711 1 created', '4711 2 updated', '4711 3 deleted'] },
          ],
        ])(
          'keeps the line of what the read at it has published, and is asked all the same: %s',
          async (what, told) => {
            await hand.publish('1', 'a');
            await hand.put([aliasHintOf('1')]);
            await hand.finish(await hand.take(), draftOf('1', 'b'), { settleMs: 30_000 });
            under.advance(30_000);
            await hand.store.foundAbsent({ ...heldBy(await hand.take()), againInMs: 600_000, named });
            under.advance(1000);
            const own = await hand.take();
            expect(own).toMatchObject({ resource: named });
            if (what === 'gone') await hand.store.finishGone(goneBy(own));
            else await hand.finish(own, draftOf('1', 'b'));
            const { events, ...lines } = told;
            expect(await hand.events()).toEqual(events);
            expect(await hand.store.take(10)).toEqual([]);
            expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 2, gone: 0, ...lines });
          },
        );

        describe('and whose notification is told already', () => {
          const [T1, T2] = ['1', '2'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
          /** The settling read at the other address, which is to find nothing. */
          const settlingAtAlias = async (content: string, reconciled: boolean) => {
            const alias = await hand.take();
            expect(alias).toMatchObject({ address: aliasOf('1'), reconciled });
            await hand.finish(alias, draftOf('1', content), { reconciled, settleMs: 30_000 });
            under.advance(30_000);
            return hand.take();
          };
          const findNothing = async (settling: TakenTask) => {
            await hand.store.foundAbsent({ ...heldBy(settling), againInMs: 600_000, named });
            under.advance(1000);
            return hand.take();
          };

          test('is read for what it was due for already: a newer notification of it', async () => {
            await hand.publish('1', 'a');
            await hand.put([aliasHintOf('1')], { traceparent: T1! });
            const settling = await settlingAtAlias('b', false);
            await hand.put([hintOf('1')], { traceparent: T2! });
            expect(await findNothing(settling)).toMatchObject({ resource: named, traceparent: T2 });
          });

          test('is read for what it was due for already: a sync that missed it', async () => {
            await hand.publish('1', 'a');
            await hand.put([aliasHintOf('1')], { traceparent: T1! });
            const settling = await settlingAtAlias('b', false);
            const { run } = await hand.store.beginRun({ organizationId: null, full: true });
            await hand.store.hintAbsent(run, '4711', 'equipment', 0.05);
            expect(await findNothing(settling)).toMatchObject({
              resource: named,
              reconciled: true,
              traceparent: null,
            });
          });

          test.each(['at rest', 'set aside'])(
            'is read for what had the address read, while it is %s',
            async (what) => {
              await hand.publish('1', 'a');
              const { run } = await hand.store.beginRun({ organizationId: null, full: true });
              const wanted = [{ scope: '4711/equipment', organizationId: '4711' }];
              const { listings, revision } = await hand.store.openListings(run, wanted);
              const at = {
                address: aliasOf('1'),
                organizationId: '4711',
                resource: null,
                modifiedTime: null,
              };
              await hand.store.finishPage({
                ...{
                  run,
                  revision,
                  listingId: listings[0]!.id,
                  connectionId: 'c1',
                  from: null,
                  drafts: [],
                  hints: [at],
                },
                after: { end: true, whole: true, changeToken: null },
              });
              const settling = await settlingAtAlias('b', true);
              if (what === 'set aside') {
                await hand.put([hintOf('1')], { traceparent: T2! });
                await hand.quarantine(await hand.take());
              }
              expect(await findNothing(settling)).toMatchObject({
                resource: named,
                reconciled: true,
                traceparent: null,
              });
              expect(await hand.quarantined()).toEqual([]);
            },
          );
        });

        test('leaves what was told long ago as it is told', async () => {
          await hand.put([aliasHintOf('1')]);
          const first = await hand.take();
          await hand.store.finishGone({ ...goneBy(first), settleMs: 30_000 });
          await hand.put([aliasHintOf('1')]);
          await hand.publish('1', 'a');
          under.advance(1000);
          await hand.store.foundAbsent({ ...heldBy(await hand.take()), againInMs: 600_000, named });
          under.advance(1000);
          const own = await hand.take();
          expect(own).toMatchObject({ resource: named, generation: 2 });
          expect(own.acceptedAtMs).not.toBeNull();
          await hand.finish(own, draftOf('1', 'a'));
          expect(await hand.ledgerAtRest()).toMatchObject({
            accepted: 3,
            gone: 1,
            published: 1,
            unchanged: 1,
          });
        });

        test('its address is that one’s from then on, and tells its journey', async () => {
          await hand.publish('1', 'a');
          await hand.put([aliasHintOf('1')]);
          const alias = await hand.take();
          await hand.store.foundAbsent({ ...heldBy(alias), againInMs: 600_000, named });
          await hand.reopenLater();
          under.advance(1000);
          await hand.finish(await hand.take(), draftOf('1', 'a'));
          under.advance(1000);
          await hand.put([aliasHintOf('1')]);
          expect(await hand.take()).toMatchObject({ address: address('1'), resource: named, generation: 3 });
          const { steps } = (await hand.store.explain(alias.address))!;
          expect(steps.filter(({ step }) => step === 'hinted')).toHaveLength(3);
        });

        test('is absent like any other where nobody knows what it names', async () => {
          await hand.put([aliasHintOf('1')]);
          const alias = await hand.take();
          await hand.store.foundAbsent({ ...heldBy(alias), againInMs: 600_000, named });
          under.advance(600_000);
          expect(await hand.store.finishGone({ ...goneBy(await hand.take()), named })).toMatchObject({
            outcome: 'gone',
          });
          // And known since: only what is announced from then on is that one's.
          await hand.publish('1', 'a');
          await hand.put([aliasHintOf('1')]);
          await hand.store.finishGone({ ...goneBy(await hand.take()), named });
          under.advance(1000);
          const own = await hand.take();
          expect(own).toMatchObject({ resource: named, generation: 2 });
          await hand.finish(own, draftOf('1', 'b'));
          expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 3, gone: 1, published: 2 });
        });
      });

      test('a later hint of the other address keeps a resource due that is being read', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        const alias = await hand.take();
        await hand.put([aliasHintOf('1'), hintOf('1')]);
        const own = await hand.take();
        await hand.finish(alias, draftOf('1', 'b'));
        expect(await hand.finish(own, draftOf('1', 'a'))).toMatchObject({ reason: 'superseded' });
        under.advance(1000);
        const again = await hand.take();
        expect(again).toMatchObject({ taskId: own.taskId, generation: 3 });
        await hand.finish(again, draftOf('1', 'b'));
        expect(await hand.ledgerAtRest()).toMatchObject({
          published: 2,
          merged: 1,
          unchanged: 1,
          waiting: 0,
        });
      });

      test('a later hint of the other address wakes a resource that is set aside, and its entry is closed', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        await hand.quarantine(await hand.take());
        await hand.put([aliasHintOf('1')]);
        const alias = await hand.take();
        await hand.put([aliasHintOf('1')]);
        await hand.finish(alias, draftOf('1', 'b'));
        expect(await hand.quarantined()).toEqual([]);
        under.advance(1000);
        await hand.finish(await hand.takeAt(address('1')), draftOf('1', 'b'));
        expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 4, published: 2, waiting: 0 });
      });

      test('a later hint of the other address is read no sooner than after the gap', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        const alias = await hand.take();
        await hand.put([aliasHintOf('1')]);
        await hand.finish(alias, draftOf('1', 'b'));
        expect(await hand.store.take(1)).toEqual([]);
        expect(await hand.store.nextDueInMs('task')).toBe(1000);
      });

      test('two tasks that turn out to be one resource are read twice and published once', async () => {
        await hand.put([hintOf('1'), aliasHintOf('1')]);
        const [first, second] = await hand.store.take(2);
        const results = await Promise.all([
          hand.finish(first!, draftOf('1', 'a')),
          hand.finish(second!, draftOf('1', 'a')),
        ]);
        expect(results.map(({ outcome }) => outcome)).toEqual(['published', 'refused']);
        under.advance(1000);
        await hand.finish(await hand.take(), draftOf('1', 'a'));
        expect(await hand.events()).toEqual(['4711 1 created']);
        expect(await hand.ledgerAtRest()).toMatchObject({ published: 1, unchanged: 1, waiting: 0 });
      });

      test('the lease of a resource that moved while it was read runs out into its new lane', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1'), aliasHintOf('1')]);
        const tasks = await hand.store.take(2);
        const alias = tasks.find(({ resource }) => resource === null)!;
        await hand.finish(alias, draftOf('1', 'b', { organizationId: '99' }));
        under.advance(60_001);
        expect((await hand.take()).resource).toEqual({ kind: 'equipment', id: '1' });
      });

      test('what waits under a blocked owner goes with its resource to an active one', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1'), { ...aliasHintOf('1'), organizationId: '99' }]);
        await hand.observe(terms);
        const alias = await hand.take();
        await hand.finish(alias, draftOf('1', 'b', { organizationId: '99' }));
        under.advance(1000);
        expect((await hand.take()).organizationId).toBe('99');
      });

      test('an address that shows a new resource at its next read is that one’s from then on', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        await hand.finish(await hand.take(), draftOf('1', 'b'), { settleMs: 30_000 });
        under.advance(30_000);
        await hand.finish(await hand.take(), draftOf('2', 'x', { address: address('2') }));
        under.advance(2000);
        await hand.put([hintOf('2')]);
        const task = await hand.take();
        expect(task.resource).toMatchObject({ id: '2' });
        expect(await hand.finish(task, draftOf('2', 'y'))).toMatchObject({ outcome: 'published' });
        await hand.put([hintOf('1')]);
        expect((await hand.take()).resource).toMatchObject({ id: '1' });
      });

      test('an address that shows another resource changes nobody’s history', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        const strange = draftOf('2', 'b', { address: address('1') });
        expect(await hand.finish(await hand.take(), strange)).toMatchObject({ reason: 'another-resource' });
        expect(await hand.quarantined()).toEqual(['malformed-document']);
        expect(await hand.events()).toEqual(['4711 1 created']);
      });
    });

    describe('a hint during a read', () => {
      test('keeps a task due that the read would have set aside', async () => {
        await hand.put([hintOf('1')]);
        const task = await hand.take();
        await hand.put([hintOf('1')]);
        await hand.quarantine(task);
        expect(await hand.quarantined()).toEqual([]);
        under.advance(1000);
        await hand.quarantine(await hand.take());
        expect(await hand.quarantined()).toEqual(['no-access']);
        expect(await hand.store.ledger()).toMatchObject({ quarantined: 2 });
      });

      test('of a task that was put off earns its own settling read', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs: 30_000 });
        under.advance(30_000);
        await hand.store.postpone({ ...heldBy(await hand.take()), ...failed, own: false, agedMs: 0 });
        await hand.put([hintOf('1')]);
        under.advance(20_000);
        const settleMs = 30_000;
        expect(await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs })).toMatchObject({
          again: true,
        });
        under.advance(30_000);
        expect(await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs })).toMatchObject({
          again: false,
        });
      });

      test('of an absent resource reads it again at once, and the absence counts from its first time', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        const task = await hand.take();
        const firstMs = under.nowMs();
        await hand.put([hintOf('1')]);
        await absentOnce(task);
        under.advance(1000);
        const again = await hand.take();
        expect(again).toMatchObject({ absentSinceMs: firstMs, takenAtMs: firstMs + 1000 });
        await absentOnce(again);
        under.advance(1000);
        await hand.put([hintOf('1')]);
        expect((await hand.take()).absentSinceMs).toBe(firstMs);
      });
    });

    test.each([
      [
        'given back',
        'action-required',
        (task: Parameters<typeof heldBy>[0]) =>
          hand.store.giveBack({
            ...heldBy(task),
            code: 'action-required',
            probe: null,
            dueInMs: 5000,
            agedMs: 0,
            detail: null,
          }),
      ],
      ['found absent', 'absent-once', absentOnce],
      [
        'set aside, but hinted since',
        'no-access',
        async (task: Parameters<typeof heldBy>[0]) => {
          await hand.put([hintOf('1')]);
          await hand.quarantine(task as never);
        },
      ],
    ])('a task that is %s shows no reason of the failure before', async (_ended, code, end) => {
      await hand.put([hintOf('1')]);
      const detail = 'status 503: Database is being repaired';
      await hand.store.postpone({ ...heldBy(await hand.take()), ...failed, own: false, agedMs: 0, detail });
      under.advance(20_000);
      await end(await hand.take());
      const tasks = await hand.store.listTasks({ state: null, limit: 9, after: 0 });
      expect(tasks).toMatchObject([{ code, detail: null }]);
    });

    describe('absence', () => {
      test('ends when the resource is there again, and begins anew', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        await absentOnce(await hand.take());
        under.advance(600_000);
        await hand.finish(await hand.take(), draftOf('1', 'a'));
        await hand.put([hintOf('1')]);
        under.advance(1000);
        expect((await hand.take()).absentSinceMs).toBeNull();
      });

      test('is forgotten by a read that found the resource, even if it cannot be trusted', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        await absentOnce(await hand.take());
        under.advance(600_000);
        await hand.quarantine(await hand.take(), 'malformed-document');
        await hand.put([hintOf('1')]);
        under.advance(1000);
        expect((await hand.take()).absentSinceMs).toBeNull();
      });

      test('that is certain is read once more, which finds what is there again', async () => {
        const settleMs = 30_000;
        await hand.publish('1', 'a');
        for (const change of ['deleted', null]) {
          await hand.put([hintOf('1')]);
          under.advance(1000);
          expect(await hand.store.finishGone({ ...goneBy(await hand.take()), settleMs })).toMatchObject({
            eventIds: change === null ? [] : [expect.anything()],
            again: true,
          });
          expect(await hand.store.ledger()).toMatchObject({ waiting: 1 });
          under.advance(settleMs);
          const settling = await hand.take();
          expect(settling.settling).toBe(true);
          if (change === null) await hand.finish(settling, draftOf('1', 'a'), { settleMs });
          else
            expect(await hand.store.finishGone({ ...goneBy(settling), settleMs })).toMatchObject({
              again: false,
            });
        }
        expect(await hand.events()).toEqual(['4711 1 created', '4711 2 deleted', '4711 3 created']);
      });

      test('of what was never seen is gone without an event', async () => {
        await hand.put([hintOf('1', null)]);
        await absentOnce(await hand.take());
        expect(await hand.store.ledger()).toMatchObject({ waiting: 1 });
        under.advance(600_000);
        expect(await hand.store.finishGone(goneBy(await hand.take()))).toEqual({
          outcome: 'gone',
          eventIds: [],
          again: false,
        });
        expect(await hand.store.ledger()).toMatchObject({ gone: 1, waiting: 0 });
      });

      test('of many at once is not believed, until an operator releases them one by one', async () => {
        const ids = Array.from({ length: 30 }, (_, index) => String(index));
        for (const id of ids) await hand.publish(id, 'a');
        await hand.sendAll();
        await hand.put(ids.map((id) => hintOf(id)));
        const outcomes: string[] = [];
        for (const task of await hand.store.take(100)) {
          outcomes.push((await hand.store.finishGone(goneBy(task))).outcome);
        }
        expect(outcomes.filter((outcome) => outcome === 'gone')).toHaveLength(20);
        expect(await hand.quarantined()).toHaveLength(10);
        under.advance(1000);
        for (const { id } of await hand.store.listQuarantine({ limit: 100, after: null })) {
          expect(await hand.store.releaseQuarantine(id)).toBe('released');
        }
        for (const task of await hand.store.take(100)) {
          expect(await hand.store.finishGone(goneBy(task))).toMatchObject({ outcome: 'gone' });
        }
        expect(await hand.quarantined()).toEqual([]);
        expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 60, published: 30, gone: 30 });
      });

      test('is measured against what was there, not against what ever was', async () => {
        const ids = Array.from({ length: 60 }, (_, index) => String(index));
        for (const id of ids) await hand.publish(id, 'a');
        const goNow = async (wanted: string[]) => {
          await hand.put(wanted.map((id) => hintOf(id)));
          const gone = { goneShareMax: 0.5 };
          for (const task of await hand.store.take(100))
            await hand.store.finishGone({ ...goneBy(task), ...gone });
        };
        await goNow(ids.slice(0, 20));
        under.advance(2 * 3_600_000);
        await goNow(ids.slice(20, 50));
        expect(await hand.quarantined()).toHaveLength(10);
      });

      describe('of many at once, over a restart', () => {
        const publishAll = async (ids: string[]) => {
          for (const id of ids) await hand.publish(id, 'a');
        };
        /** How many of these are believed to be gone, hinted and found absent as they are. */
        const believed = async (wanted: string[], goneShareMax = 0.05) => {
          await hand.put(wanted.map((id) => hintOf(id)));
          let gone = 0;
          for (const task of await hand.store.take(100)) {
            const { outcome } = await hand.store.finishGone({ ...goneBy(task), goneShareMax });
            if (outcome === 'gone') gone += 1;
          }
          under.advance(1000);
          return gone;
        };

        test('is not believed, however often it is opened, until an hour later', async () => {
          const ids = Array.from({ length: 50 }, (_, index) => String(index));
          await publishAll(ids);
          expect(await believed(ids)).toBe(20);
          const left = ids.slice(20);
          for (let time = 1; time <= 2; time += 1) {
            await hand.reopenLater();
            expect(await believed(left)).toBe(0);
          }
          expect(await hand.quarantined()).toHaveLength(30);
          under.advance(3_600_000);
          expect(await believed(left)).toBe(20);
        });

        test('is measured against what was there before the first of them went', async () => {
          const ids = Array.from({ length: 100 }, (_, index) => String(index));
          await publishAll(ids);
          expect(await believed(ids.slice(0, 20), 0.6)).toBe(20);
          under.advance(40 * 60_000);
          expect(await believed(ids.slice(20, 40), 0.6)).toBe(20);
          await hand.reopenLater();
          under.advance(30 * 60_000);
          // Of a hundred sixty may go within an hour.
          expect(await believed(ids.slice(40), 0.6)).toBe(40);
        });

        test('counts for one that was forgotten and connected again as well', async () => {
          const ids = Array.from({ length: 30 }, (_, index) => String(index));
          await publishAll(ids);
          expect(await believed(ids)).toBe(20);
          await hand.store.forgetOrganization('4711');
          await hand.observe({ cause: null });
          expect(await believed(ids.slice(20))).toBe(0);
          expect(await hand.quarantined()).toEqual(['mass-disappearance']);
        });
      });

      test('of one that returns goes on in the same sequence, and a deleted event fits its schema', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        await hand.store.finishGone(goneBy(await hand.take()));
        under.advance(1000);
        await hand.publish('1', 'a');
        await hand.publish('1', 'b', { organizationId: '99' });
        await hand.observe(terms);
        expect(await hand.events()).toEqual([
          '4711 1 created',
          '4711 2 deleted',
          '4711 3 created',
          '4711 4 deleted',
          '99 1 created',
          '4711 1 blocked',
        ]);
        const [, deleted, , moved, , blocked] = (await hand.records()).map(({ value }) => JSON.parse(value));
        expect(schemaFaults('equipment', deleted)).toEqual([]);
        expect(schemaFaults('equipment', moved)).toEqual([]);
        expect(schemaFaults('organization-access', blocked)).toEqual([]);
      });
    });

    describe('the gap between two reads', () => {
      test('holds after a failure, a refusal and the end of an outage', async () => {
        await hand.put([hintOf('1')]);
        await hand.store.postpone({
          ...heldBy(await hand.take()),
          ...failed,
          dueInMs: 1,
          own: false,
          agedMs: 0,
        });
        expect(await hand.store.nextDueInMs('task')).toBe(1000);
        expect(await hand.store.hasten()).toBe(1);
        expect(await hand.store.take(1)).toEqual([]);
        under.advance(1000);
        const unattributed = {
          code: 'refused-unattributed',
          probe: null,
          dueInMs: 1,
          agedMs: 0,
          detail: null,
        };
        await hand.store.giveBack({ ...heldBy(await hand.take()), ...unattributed });
        expect(await hand.store.take(1)).toEqual([]);
        expect(await hand.store.nextDueInMs('task')).toBe(1000);
      });
    });

    describe('a refused client key', () => {
      const refused = { ...failed, dueInMs: 300_000, code: 'client-refused', own: false, agedMs: 0 };
      const takenIds = async () => (await hand.store.take(10)).map(({ address }) => address);

      test('is answered again: what waits for it is due, once for all that was refused before', async () => {
        expect(await hand.store.refusedHastenedAgoMs()).toBeNull();
        await hand.put([hintOf('1'), hintOf('2'), hintOf('3')]);
        const [first, second, third] = await hand.store.take(3);
        const refusedAtMs = under.nowMs();
        for (const task of [first, second]) await hand.store.postpone({ ...heldBy(task!), ...refused });
        await hand.store.postpone({ ...heldBy(third!), ...refused, code: 'status-503' });
        under.advance(2000);
        expect(await hand.store.hastenRefused(refusedAtMs)).toBe(2);
        const again = await hand.store.take(10);
        expect(again).toMatchObject(
          [first, second].map((task) => ({ taskId: task!.taskId, failedAtMs: refusedAtMs })),
        );
        expect(again.map(({ code }) => code)).toEqual(['client-refused', 'client-refused']);
        under.advance(1000);
        expect(await hand.store.refusedHastenedAgoMs()).toBe(1000);
        // Another thing is still refused: what was refused before the last time makes it due no more.
        await hand.store.postpone({ ...heldBy(again[1]!), ...refused });
        expect(await hand.store.hastenRefused(refusedAtMs)).toBe(0);
        under.advance(1000);
        expect(await takenIds()).toEqual([]);
        expect(await hand.store.hastenRefused(under.nowMs() - 1000)).toBe(1);
        expect(await takenIds()).toEqual([second!.address]);
      });

      test('is answered where it is not known when it was refused, and after a clock that was ahead', async () => {
        await hand.put([hintOf('1')]);
        await hand.store.postpone({ ...heldBy(await hand.take()), ...refused });
        under.advance(2000);
        expect(await hand.store.hastenRefused(null)).toBe(1);
        const task = await hand.take();
        under.advance(-3_600_000);
        await hand.store.postpone({ ...heldBy(task), ...refused });
        expect(await hand.store.hastenRefused(under.nowMs())).toBe(1);
        expect(await hand.store.refusedHastenedAgoMs()).toBe(0);
      });
    });

    describe('set aside', () => {
      test('ends with the hint that earns another attempt', async () => {
        await hand.put([hintOf('1')]);
        await hand.quarantine(await hand.take());
        expect(await hand.quarantined()).toEqual(['no-access']);
        await hand.put([hintOf('1')]);
        expect(await hand.quarantined()).toEqual([]);
        under.advance(1000);
        const attempt = await hand.take();
        await hand.quarantine(attempt);
        expect(await hand.quarantined()).toEqual(['no-access']);
        expect(await hand.store.counts()).toMatchObject({ quarantined: 1 });
      });

      test('for good keeps its age: one more failure of its own is enough', async () => {
        await hand.put([hintOf('1')]);
        await hand.store.postpone({ ...heldBy(await hand.take()), ...failed, own: false, agedMs: 0 });
        under.advance(20_000);
        await hand.store.postpone({ ...heldBy(await hand.take()), ...failed, own: true, agedMs: 20_000 });
        under.advance(20_000);
        await hand.quarantine(await hand.take());
        await hand.put([hintOf('1')]);
        under.advance(1000);
        expect((await hand.take()).agedMs).toBe(20_000);
      });

      const bad: Element = { line: 'quarantined', reason: 'malformed-notification', path: '/x', raw: '{}' };
      const entryId = async () => (await hand.store.listQuarantine({ limit: 1, after: null }))[0]!.id;

      test('a notification judged again counts as what it is now, and the ledger adds up', async () => {
        const { deliveryId } = await hand.put([bad, bad, bad, bad]);
        expect(await hand.store.rejudge(await entryId(), hintOf('1'))).toBe('released');
        const action = { line: 'acted', eventTypeId: 'a', probeOrganizationId: '4711', dueAt: null } as const;
        expect(await hand.store.rejudge(await entryId(), action)).toBe('released');
        const ignored = { line: 'ignored', eventTypeId: 'i', address: null } as const;
        expect(await hand.store.rejudge(await entryId(), ignored)).toBe('released');
        expect(await hand.store.rejudge(await entryId(), bad)).toBe('refused');
        const expected = { accepted: 4, waiting: 1, acted: 1, ignored: 1, quarantined: 1, discarded: 0 };
        expect(await hand.store.ledger()).toMatchObject(expected);
        expect(await hand.store.discardQuarantine(await entryId())).toBe('discarded');
        expect(await hand.store.takeProbes(1, 1000)).toMatchObject([{ organizationId: '4711' }]);
        await hand.finish(await hand.take(), draftOf('1', 'a'));
        expect(await hand.ledgerAtRest()).toMatchObject({
          accepted: 4,
          published: 1,
          discarded: 1,
          waiting: 0,
        });
        const steps = (await hand.store.explain(deliveryId))!.steps.map(({ step }) => step);
        expect(steps).toEqual([
          'accepted',
          'hint',
          'acted',
          'ignored',
          'quarantined',
          'decided',
          'published',
          'sent',
        ]);
      });

      test('orders for many entries that come together end each as one alone does, and the second for one finds nothing', async () => {
        await hand.put([bad, bad, { ...bad, reason: 'unauthenticated' }]);
        await hand.put([hintOf('1'), hintOf('2'), hintOf('3')]);
        for (let task = 0; task < 3; task += 1) await hand.quarantine(await hand.take());
        const { store } = hand;
        const listed = await store.listQuarantine({ limit: 10, after: null });
        const of = (what: string) => listed.filter((one) => one.what === what).map(({ id }) => id);
        const [notifications, tasks] = [of('notification'), of('task')];
        const shown = await Promise.all(
          [...notifications, 'q999', ...tasks].map((id) => store.showQuarantine(id)),
        );
        expect(shown.map((one) => one?.id)).toEqual([...notifications, undefined, ...tasks]);
        const judged = [...notifications, notifications[0]!, 'q999'].map((id) =>
          store.rejudge(id, hintOf('4')),
        );
        expect(await Promise.all(judged)).toEqual([
          'released',
          'released',
          'refused',
          'not-found',
          'not-found',
        ]);
        const [first, second, third] = tasks as [string, string, string];
        const released = [first, 'x', notifications[2]!, second, first].map((id) =>
          store.releaseQuarantine(id),
        );
        expect(await Promise.all(released)).toEqual([
          'released',
          'not-found',
          'refused',
          'released',
          'not-found',
        ]);
        const discarded = [third, notifications[2]!, second, third].map((id) => store.discardQuarantine(id));
        expect(await Promise.all(discarded)).toEqual(['discarded', 'discarded', 'not-found', 'not-found']);
        expect(await store.ledger()).toMatchObject({ accepted: 6, waiting: 4, discarded: 2, quarantined: 0 });
        under.advance(1000);
        const due = await store.take(10);
        expect(due).toHaveLength(3);
        for (const task of due) await hand.finish(task, draftOf(task.address.split('/').at(-1)!, 'a'));
        const ledger = { accepted: 6, published: 3, merged: 1, discarded: 2, waiting: 0 };
        expect(await hand.ledgerAtRest()).toMatchObject(ledger);
      });

      test('what was set aside by a read names the delivery that had hinted at it last, and no later one', async () => {
        const shown = async (id: string) => (await hand.store.showQuarantine(id))?.deliveryId;
        await hand.put([hintOf('1')]);
        under.advance(1000);
        const { deliveryId } = await hand.put([hintOf('1')]);
        await hand.quarantine(await hand.take());
        const first = await entryId();
        expect(await shown(first)).toBe(deliveryId);
        expect(await hand.store.listQuarantine({ limit: 1, after: null })).toMatchObject([{ deliveryId }]);
        under.advance(1000);
        const later = await hand.put([hintOf('1')]);
        await hand.quarantine(await hand.take());
        expect([await shown(first), await shown(await entryId())]).toEqual([deliveryId, later.deliveryId]);
      });

      test('what was not authenticated is not judged again, nor is what is no notification', async () => {
        await hand.put([{ ...bad, reason: 'unauthenticated' }, hintOf('1')]);
        expect(await hand.store.rejudge(await entryId(), hintOf('2'))).toBe('refused');
        await hand.store.discardQuarantine(await entryId());
        await hand.quarantine(await hand.take());
        expect(await hand.store.rejudge(await entryId(), hintOf('2'))).toBe('not-found');
        expect(await hand.store.rejudge('q999', hintOf('2'))).toBe('not-found');
      });
    });

    test('a name that nothing can have is unknown, whoever asks', async () => {
      const { store } = hand;
      await hand.publish('1', 'a');
      await hand.sendAll();
      const none = '4711\0';
      expect(await store.access(none)).toBeNull();
      expect(await store.requestProbe(none, true)).toBe(false);
      expect(await store.findConnection(none)).toBeNull();
      expect(await store.revokeConnection(none)).toBeNull();
      expect(await store.findConsent(none)).toBeNull();
      expect(await store.explain(none)).toBeNull();
      const filter = { after: 0, limit: 10, type: none, organizationId: none };
      expect((await store.listEvents(filter)).events).toEqual([]);
    });

    test('a journey tells what waits to be sent, and what was quarantined on its way out', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      const last = async (asked: string) => (await hand.store.explain(asked))!.steps.at(-1)!;
      for (const asked of ['d1', row!.eventId])
        expect(await last(asked)).toMatchObject({
          step: 'unsent',
          text: `event ${row!.eventId} waits to be sent to ${row!.topic}`,
        });
      await hand.store.quarantineRecord(row!, 'record-too-large', 'x');
      const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
      const told = { step: 'quarantined', entry: entry!.id };
      for (const asked of ['d1', row!.eventId])
        expect(await last(asked)).toMatchObject({
          ...told,
          text: expect.stringContaining('record-too-large'),
        });
      await hand.store.discardQuarantine(entry!.id);
      expect((await last('d1')).text).toMatch(/discarded$/);
    });

    test('what is accepted takes room that is measured', async () => {
      const before = await hand.store.storeBytes();
      const raw = randomBytes(400_000).toString('base64');
      await hand.put([{ line: 'quarantined', reason: 'malformed-notification', path: '', raw }]);
      const after = await hand.store.storeBytes();
      // A database of the server may have had room for it.
      if (name === 'sqlite') expect(after).toBeGreaterThan(before + 400_000);
      else expect(after).toBeGreaterThan(Math.max(1_000_000, before - 1));
    });

    test('a sample of a body that cannot be read is kept once, and the store says when it is', async () => {
      const sample = { bodyHash: 'h1', detail: 'not-json', raw: '{' };
      expect(await hand.store.keepSample(sample)).toBe(true);
      expect(await hand.store.keepSample(sample)).toBe(false);
      expect(await hand.store.keepSample({ ...sample, bodyHash: 'h2' })).toBe(true);
      expect(await hand.quarantined()).toEqual(['malformed-body', 'malformed-body']);
    });

    describe('retention', () => {
      const sweepAll = async () => {
        while ((await hand.store.sweep()).more);
      };

      test('folds what still waits into its task, and counts it until it is decided', async () => {
        await hand.put([hintOf('1'), hintOf('1'), hintOf('2'), hintOf('3')]);
        await hand.observe(terms);
        under.advance(40 * dayMs);
        await hand.put([hintOf('9', '99')]);
        await sweepAll();
        expect(await hand.store.ledger()).toMatchObject({ accepted: 5, parked: 4, waiting: 1 });
        expect((await hand.store.explain('d1'))?.steps).toMatchObject([{ step: 'expired' }]);
        expect(await hand.store.explain('d999999')).toBeNull();
        await hand.observe({ cause: null });
        for (let round = 0; round < 4; round += 1) {
          for (const task of await hand.store.take(10)) {
            await hand.finish(task, draftOf(task.address.split('/').at(-1)!, 'a'));
          }
        }
        const ledger = await hand.ledgerAtRest();
        expect(ledger).toMatchObject({ accepted: 1, waiting: 0, parked: 0 });
        expect(sumOf(ledger)).toBe(1);
      });

      test('explains how many notifications it folded, and that those which led to an event are gone', async () => {
        const stepsOf = async (of: string) => (await hand.store.explain(of))!.steps;
        const parkTwo = async () => {
          const first = new Date(under.nowMs()).toISOString();
          await hand.put([hintOf('1')]);
          under.advance(dayMs);
          const last = new Date(under.nowMs()).toISOString();
          await hand.put([hintOf('1')]);
          await hand.observe(terms);
          under.advance(40 * dayMs);
          await hand.put([hintOf('9', '99')]);
          await sweepAll();
          return { step: 'expired', at: last, notifications: 2, first, last };
        };
        const parked = await parkTwo();
        expect(await stepsOf(address('1'))).toMatchObject([parked, { step: 'parked' }]);
        await hand.observe({ cause: null });
        await hand.finish(await hand.takeAt(address('1')), draftOf('1', 'a'));
        const { eventId } = (await hand.records()).find(({ key }) => key.endsWith('/1'))!;
        const told = (await stepsOf(eventId)).map(({ step }) => step);
        expect(told.slice(0, 3)).toEqual(['expired', 'decided', 'published']);
        expect((await stepsOf(address('1'))).map(({ step }) => step)).not.toContain('expired');
        const again = await parkTwo();
        const counted = (await stepsOf(address('1'))).filter(
          ({ notifications }) => notifications !== undefined,
        );
        expect(counted).toMatchObject([again]);
      });

      test('leaves no hint of a joined task behind', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        await hand.finish(await hand.take(), draftOf('1', 'a'));
        await hand.sendAll();
        under.advance(40 * dayMs);
        await hand.put([hintOf('2')]);
        await sweepAll();
        const ledger = await hand.store.ledger();
        expect(ledger).toMatchObject({ accepted: 1, waiting: 1 });
        expect(sumOf(ledger)).toBe(1);
      });

      test('keeps the delivery of what waits for an operator, and takes what was discarded along', async () => {
        const bad: Element = { line: 'quarantined', reason: 'unauthenticated', path: '', raw: '{}' };
        await hand.put([bad]);
        await hand.put([bad]);
        const [first] = await hand.store.listQuarantine({ limit: 1, after: null });
        await hand.store.discardQuarantine(first!.id);
        under.advance(40 * dayMs);
        await hand.put([hintOf('2')]);
        await sweepAll();
        expect(await hand.store.ledger()).toMatchObject({
          accepted: 2,
          quarantined: 1,
          discarded: 0,
          waiting: 1,
        });
        expect(await hand.quarantined()).toEqual(['unauthenticated']);
      });

      test('names the highest position that it has taken from the log', async () => {
        await hand.publish('1', 'a');
        await hand.publish('2', 'a');
        await hand.publish('2', 'b');
        await hand.sendAll();
        under.advance(40 * dayMs);
        await sweepAll();
        const page = await hand.store.listEvents({ after: 0, limit: 10, type: null, organizationId: null });
        expect(page.events.map(({ position }) => position)).toEqual([1, 3]);
        expect(page.floor).toBe(2);
      });
    });

    describe('a refused record that came through an address that shows another resource by now', () => {
      const refused = async () => {
        await hand.publishThroughOther();
        const row = (await hand.records()).find(({ key }) => key === '4711/equipment/1');
        await hand.store.quarantineRecord(row!, 'record-too-large', 'x');
        await hand.sendAll();
        return (await hand.store.listQuarantine({ limit: 1, after: null }))[0]!;
      };

      test('is shown at the address of its own', async () => {
        const entry = await refused();
        expect(entry).toMatchObject({ what: 'record', address: address('1') });
        expect(await hand.store.showQuarantine(entry.id)).toEqual(entry);
      });

      test('has its own read once it is released', async () => {
        expect(await hand.store.releaseQuarantine((await refused()).id)).toBe('released');
        expect((await hand.records()).map(({ key, sequence }) => [key, sequence])).toEqual([
          ['4711/equipment/1', 2],
        ]);
        expect((await hand.store.take(10)).map((task) => task.address)).toEqual([address('1')]);
      });

      test('has its own published anew once it is discarded', async () => {
        expect(await hand.store.discardQuarantine((await refused()).id)).toBe('discarded');
        expect(await hand.publish('2', 'a')).toMatchObject({ outcome: 'unchanged' });
        expect(await hand.publish('1', 'b')).toMatchObject({ outcome: 'published' });
      });
    });

    describe('retention of a key whose next record was refused', () => {
      const refuse = async () => {
        const [first] = await hand.records();
        await hand.store.quarantineRecord(first!, 'record-too-large', 'x');
      };
      const sequences = async () => {
        const all = { after: 0, limit: 10, type: null, organizationId: null };
        return (await hand.store.listEvents(all)).events.map(({ record }) =>
          Number(header(record, 'ce_sequence')),
        );
      };
      const sweepLater = async () => {
        under.advance(31 * dayMs);
        while ((await hand.store.sweep()).more);
      };
      let nextOffset = 0;
      const send = async () => {
        const rows = await hand.records();
        await hand.store.markSent(rows.map((record) => sentTo(record, 1, String(nextOffset++))));
      };

      test('the event before it is the newest one, and stays until another was published', async () => {
        await hand.publish('1', 'a');
        await hand.publish('1', 'b');
        await send();
        for (const content of ['c', 'd']) {
          await hand.publish('1', content);
          await refuse();
        }
        await sweepLater();
        expect(await sequences()).toEqual([2]);
        await hand.publish('1', 'e');
        await sweepLater();
        expect(await sequences()).toEqual([2]);
        await send();
        await sweepLater();
        expect(await sequences()).toEqual([5]);
      });

      test.each([
        ['a notification', async () => void (await hand.put([hintOf('1')]))],
        [
          'a replay',
          async () => {
            const { replay, counts } = await hand.store.beginReplay('x');
            const selected = { events: null, keys: null, organizationId: null, kind: null };
            const { events } = await hand.store.selectReplay(selected, 0, 1e9, 100);
            const rows = events.filter(({ newest }) => newest).map(({ row }) => row);
            expect(await hand.store.readAgain({ replay, from: 0, after: 9, counts }, rows)).toBe(1);
          },
        ],
      ])('what an operator discards of it is published anew by the next read, for %s', async (_who, ask) => {
        await hand.publish('1', 'a');
        await send();
        await hand.publish('1', 'b');
        await refuse();
        const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
        await hand.store.discardQuarantine(entry!.id);
        expect(await hand.store.ledger()).toMatchObject({ published: 1, discarded: 1 });
        await ask();
        const read = await hand.finish(await hand.take(), draftOf('1', 'b'));
        expect(read).toMatchObject({ outcome: 'published' });
        await send();
        expect(await sequences()).toEqual([1, 3]);
        expect(await hand.store.ledger()).toMatchObject({ discarded: 1, quarantined: 0, waiting: 0 });
      });

      test('a deletion that an operator discards is published by the next read that finds it gone', async () => {
        await hand.publish('1', 'a');
        await send();
        for (const sequence of [2, 3]) {
          await hand.put([hintOf('1')]);
          await hand.store.finishGone(goneBy(await hand.take()));
          under.advance(1000);
          expect((await hand.records()).map((record) => record.sequence)).toEqual([sequence]);
          if (sequence === 3) break;
          await refuse();
          const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
          await hand.store.discardQuarantine(entry!.id);
        }
      });

      test('the deletion of what moved on that an operator discards is published where that is read again', async () => {
        const there = { organizationId: '99' };
        await hand.publish('1', 'a');
        await hand.sendAll();
        await hand.publish('1', 'a', there);
        const [first, second] = await hand.records();
        const deleted = [first!, second!].find(({ key }) => key === '4711/equipment/1')!;
        await hand.store.quarantineRecord(deleted, 'record-refused', 'x');
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        await hand.store.discardQuarantine(entry!.id);
        await hand.sendAll();
        await hand.publish('1', 'a', there);
        const again = await hand.records();
        expect(again.map(({ key, sequence }) => [key, sequence])).toEqual([
          ['4711/equipment/1', 3],
          ['99/equipment/1', 2],
        ]);
        await hand.sendAll();
        await hand.publish('1', 'a', there);
        expect(await hand.records()).toEqual([]);
      });

      test('what an operator discards of an older one is not published anew: a newer one tells of it', async () => {
        await hand.publish('1', 'a');
        await refuse();
        await hand.publish('1', 'b');
        await send();
        const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
        await hand.store.discardQuarantine(entry!.id);
        expect(await hand.publish('1', 'b')).toMatchObject({ outcome: 'unchanged' });
      });

      test('a replay sends that one, until another is decided or the refused one is released', async () => {
        const newest = async () => {
          const all = { events: null, keys: null, organizationId: null, kind: null };
          const { events } = await hand.store.selectReplay(all, 0, 1e9, 100);
          return events.filter(({ newest, waits }) => newest && waits === null).map(({ row }) => row);
        };
        await hand.publish('1', 'a');
        await hand.publish('1', 'b');
        const [, second] = await hand.records();
        await send();
        await hand.publish('1', 'c');
        expect(await newest()).toEqual([]);
        await refuse();
        const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
        const { replay, counts } = await hand.store.beginReplay('x');
        expect(await newest()).toEqual([second!.row]);
        expect(await hand.store.resendNewest({ replay, from: 0, after: 9, counts }, await newest())).toBe(1);
        expect((await hand.records()).map(({ sequence }) => sequence)).toEqual([2]);
        await send();
        await hand.store.releaseQuarantine(entry!.id);
        expect(await newest()).toEqual([]);
        await refuse();
        expect(await newest()).toEqual([second!.row]);
        await hand.finish(await hand.take(), draftOf('1', 'd'));
        await send();
        expect(await sequences()).toEqual([1, 2, 4]);
        expect((await newest()).length).toBe(1);
        expect(await newest()).not.toEqual([second!.row]);
      });
    });

    describe('retention of what nobody notified, and of what Kafka refused', () => {
      const sweepAll = async () => {
        while ((await hand.store.sweep()).more);
      };
      let nextOffset = 0;
      const send = async () => {
        const rows = await hand.records();
        await hand.store.markSent(rows.map((record) => sentTo(record, 1, String(nextOffset++))));
        return rows;
      };

      test('reads that replays asked for go by their own age, but for the one that decided the newest event', async () => {
        await hand.publish('1', 'a');
        const [sent] = await send();
        const selection = { events: null, keys: null, organizationId: null, kind: null };
        const kept: number[] = [];
        for (const content of ['b', 'b', 'b', 'b']) {
          under.advance(31 * dayMs);
          await hand.put([hintOf('9', '99')]);
          const { replay, counts } = await hand.store.beginReplay('x');
          const { events } = await hand.store.selectReplay(selection, 0, 1e9, 9);
          const newest = events.filter((event) => event.newest).map(({ row }) => row);
          await hand.store.readAgain({ replay, from: 0, after: 1, counts }, newest);
          await hand.store.endReplay(replay);
          await hand.finish(await hand.takeAt(address('1')), draftOf('1', content));
          await send();
          await sweepAll();
          const { steps } = (await hand.store.explain(address('1')))!;
          kept.push(steps.filter(({ step }) => step === 'published' || step === 'unchanged').length);
        }
        expect(kept).toEqual([1, 2, 2, 2]);
        expect((await hand.store.explain(sent!.eventId))!.steps).toMatchObject([{ step: 'expired' }]);
      });

      test.each(['discarded', 'merged'] as const)(
        'the line %s of a refused record stays as long as its delivery is kept',
        async (line) => {
          const bad = { reason: 'malformed-notification', path: '', raw: '{}' } as const;
          await hand.put([hintOf('1'), { line: 'quarantined', ...bad }]);
          await hand.finish(await hand.takeAt(address('1')), draftOf('1', 'a'));
          const [record] = await hand.records();
          await hand.store.quarantineRecord(record!, 'record-too-large', 'x');
          under.advance(1000);
          await hand.publish('1', 'b');
          await send();
          const entries = await hand.store.listQuarantine({ limit: 9, after: null });
          const entry = entries.find(({ what }) => what === 'record');
          if (line === 'discarded') await hand.store.discardQuarantine(entry!.id);
          else await hand.store.releaseQuarantine(entry!.id);
          const there = { quarantined: 1, [line]: 1 };
          expect(await hand.store.ledger()).toMatchObject({ accepted: 3, published: 1, ...there });
          under.advance(31 * dayMs);
          await hand.put([hintOf('9', '99')]);
          await sweepAll();
          expect(await hand.store.ledger()).toMatchObject(there);
          expect((await hand.store.explain('d1'))!.steps[1]!.ledger).toBe(line);
          const [notification] = await hand.store.listQuarantine({ limit: 1, after: null });
          await hand.store.discardQuarantine(notification!.id);
          await sweepAll();
          expect(await hand.store.explain(record!.eventId)).toBeNull();
        },
      );

      test('a refused record goes once somebody has discarded it and its time is over, however new it is', async () => {
        const refused: string[] = [];
        for (const content of ['a', 'b']) {
          await hand.publish('1', content);
          const [record] = await hand.records();
          refused.push(record!.eventId);
          await hand.store.quarantineRecord(record!, 'record-too-large', 'x');
        }
        const [first] = await hand.store.listQuarantine({ limit: 1, after: null });
        await hand.store.discardQuarantine(first!.id);
        const there = async () => {
          await sweepAll();
          const told = await Promise.all(refused.map((id) => hand.store.explain(id)));
          return told.map((explained) => explained !== null);
        };
        expect(await there()).toEqual([true, true]);
        under.advance(31 * dayMs);
        await hand.put([hintOf('9', '99')]);
        const ledger = await hand.store.ledger();
        expect(await there()).toEqual([false, true]);
        expect(sumOf(ledger)).toBe(ledger.accepted);
        const after = await hand.store.ledger();
        expect(sumOf(after)).toBe(after.accepted);
        const [second] = await hand.store.listQuarantine({ limit: 1, after: null });
        await hand.store.discardQuarantine(second!.id);
        expect(await there()).toEqual([false, false]);
        await hand.publish('1', 'c');
        expect((await hand.records()).map(({ sequence }) => sequence)).toEqual([3]);
      });
    });

    describe('a pause that the provider asked for', () => {
      const taken = async () => [await hand.store.take(10), await hand.store.takeProbes(10, 30_000)];

      test('holds tasks and probes until it is over, and says how long it still lasts', async () => {
        expect(await hand.store.readingPause()).toBeNull();
        await hand.put([hintOf('1')]);
        await hand.store.requestProbe('4711', true);
        const sinceMs = under.nowMs();
        await hand.store.pauseReading(30_000.5);
        expect(await hand.store.readingPause()).toEqual({ sinceMs, leftMs: 30_001 });
        expect(await taken()).toEqual([[], []]);
        for (const what of ['task', 'probe'] as const)
          expect(await hand.store.nextDueInMs(what)).toBe(30_001);
        under.advance(30_000);
        expect(await taken()).toEqual([[], []]);
        under.advance(1);
        expect(await hand.store.readingPause()).toBeNull();
        expect(await taken()).toMatchObject([[{ address: address('1') }], [{ organizationId: '4711' }]]);
      });

      test('outlives the process, and a task keeps its place', async () => {
        await hand.put([hintOf('1')]);
        const untilMs = under.nowMs() + 600_000;
        await hand.store.pauseReading(600_000);
        await hand.reopen();
        expect(await hand.store.take(10)).toEqual([]);
        expect(await hand.store.readingPause()).toMatchObject({ leftMs: untilMs - under.nowMs() });
        under.advance(600_000);
        expect(await hand.store.take(10)).toHaveLength(1);
      });

      test('is not ended by a shorter one, goes on with a longer one, and begins anew after its end', async () => {
        const sinceMs = under.nowMs();
        await hand.store.pauseReading(30_000);
        under.advance(1000);
        await hand.store.pauseReading(1000);
        expect(await hand.store.readingPause()).toEqual({ sinceMs, leftMs: 29_000 });
        await hand.store.pauseReading(60_000);
        expect(await hand.store.readingPause()).toEqual({ sinceMs, leftMs: 60_000 });
        under.advance(60_000);
        await hand.store.pauseReading(5000);
        expect(await hand.store.readingPause()).toEqual({ sinceMs: under.nowMs(), leftMs: 5000 });
      });
    });
  });
}
