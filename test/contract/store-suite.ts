/**
 * What every store promises, as one suite that each implementation must pass. The clock is moved by hand.
 */
import type { EventDraft } from '../../src/model/event';
import type { Ledger } from '../../src/model/ledger';
import type { Delivery } from '../../src/model/notification';
import type { Store } from '../../src/model/store';
import type { TakenTask } from '../../src/model/task';
import { settingsFor } from './open-sqlite';
import {
  address,
  deliveryOf,
  draftOf,
  header,
  heldBy,
  hintOf,
  type StoreUnderTest,
  sentTo,
  sumOf,
} from './store-hand';

export function storeSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`store contract: ${name}`, () => {
    let under: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      under = await open();
      store = under.store;
    });
    afterEach(() => under.close());

    const put = (elements: Delivery['elements'], extra: Partial<Delivery> = {}) =>
      store.put(deliveryOf(under.nowMs(), elements, extra));
    const take = async (): Promise<TakenTask> => {
      const [task] = await store.take(1);
      if (task === undefined) throw new Error('nothing was due');
      return task;
    };
    const finish = (task: TakenTask, draft: EventDraft, extra: { settleMs?: number } = {}) =>
      store.finish({
        ...heldBy(task),
        draft,
        connectionId: 'c1',
        traceparent: null,
        reconciled: false,
        settleMs: extra.settleMs ?? 0,
      });
    const publish = async (id: string, content: string, extra: Partial<EventDraft> = {}) => {
      await put([hintOf(id)]);
      const task = await take();
      const result = await finish(task, draftOf(id, content, extra));
      under.advance(1000);
      return result;
    };
    const records = () => store.pickUnsent(1000, 1e9, []);
    const sendAll = async () => store.markSent((await records()).map((record) => sentTo(record, null, null)));
    /** As it is when everything that was decided has been sent. */
    const ledgerAtRest = async () => {
      await sendAll();
      return store.ledger();
    };

    describe('acceptance', () => {
      test('a hundred hints of one resource are one task', async () => {
        await put(Array.from({ length: 100 }, () => hintOf('1')));
        const tasks = await store.take(10);
        expect(tasks).toHaveLength(1);
        expect(tasks[0]).toMatchObject({ generation: 100, address: address('1'), resource: null });
      });

      test('a task says which delivery it is read for: the latest that hinted it, also when it settles', async () => {
        await put([hintOf('1')]);
        const { deliveryId } = await put([hintOf('1')]);
        const task = await take();
        expect(task.deliveryId).toBe(deliveryId);
        await finish(task, draftOf('1', 'a'), { settleMs: 1000 });
        under.advance(1000);
        expect(await take()).toMatchObject({ settling: true, deliveryId });
      });

      test('the same message id is one delivery, and of another body under it nothing is stored, but said', async () => {
        const first = await put([hintOf('1')], { messageId: 'm1', bodyHash: 'a' });
        const again = await put([hintOf('1')], { messageId: 'm1', bodyHash: 'a' });
        const other = await put([hintOf('2')], { messageId: 'm1', bodyHash: 'b' });
        const repeat = { deliveryId: first.deliveryId, repeated: true, due: 0, probes: false };
        expect(again).toEqual({ ...repeat, idReused: false });
        expect(other).toEqual({ ...repeat, idReused: true });
        expect(await store.take(10)).toHaveLength(1);
        expect(await store.listQuarantine({ limit: 10, after: null })).toEqual([]);
        expect((await store.ledger()).accepted).toBe(1);
      });

      test('an address that only another body under a known message id named is read when it is hinted', async () => {
        await put([hintOf('1')], { messageId: 'm1', bodyHash: 'a' });
        await put([hintOf('2')], { messageId: 'm1', bodyHash: 'b' });
        await put([hintOf('2')]);
        expect((await store.take(10)).map((task) => task.address)).toEqual([address('1'), address('2')]);
      });

      test('what a repeated delivery names stays as it is, also where a new one comes with it', async () => {
        await put([hintOf('1')], { messageId: 'm1', bodyHash: 'a' });
        await finish(await take(), draftOf('1', 'a'), { settleMs: 1000 });
        await Promise.all([
          put([hintOf('2')]),
          put([hintOf('1'), hintOf('3')], { messageId: 'm1', bodyHash: 'b' }),
        ]);
        const tasks = await store.listTasks({ state: null, limit: 10, after: 0 });
        expect(tasks.map((task) => task.address)).toEqual([address('1'), address('2')]);
        under.advance(1000);
        expect((await store.take(10)).map((task) => [task.address, task.settling])).toEqual([
          [address('2'), false],
          [address('1'), true],
        ]);
      });

      test('a ledger that is told while deliveries come and are read adds up', async () => {
        await put(Array.from({ length: 2100 }, (_, index) => hintOf(String(index))));
        const work = async (round: number) => {
          await put([hintOf(`${round}`), hintOf(`new ${round}`)]);
          await store.take(2);
        };
        const [first, second] = await Promise.all([
          store.ledger(),
          ...[store.ledger(), work(1), work(2), work(3), work(4)],
        ] as const);
        for (const ledger of [first, second as Ledger, await store.ledger()]) {
          expect(sumOf(ledger)).toBe(ledger.accepted);
        }
        expect((await store.ledger()).accepted).toBe(2108);
      });

      test('without a message id an equal delivery is one more hint', async () => {
        await put([hintOf('1')]);
        await put([hintOf('1')]);
        expect((await take()).generation).toBe(2);
      });

      test('elements that are no hints end in the ledger as what they are', async () => {
        await put([
          { line: 'acted', eventTypeId: 'heartbeat', probeOrganizationId: null, dueAt: null },
          { line: 'ignored', eventTypeId: 'boundary', address: null },
          { line: 'quarantined', reason: 'malformed-notification', path: '/eventTypeId', raw: '{}' },
        ]);
        expect(await store.ledger()).toMatchObject({
          accepted: 3,
          acted: 1,
          ignored: 1,
          quarantined: 1,
          waiting: 0,
        });
      });
    });

    describe('order and identity', () => {
      test('the first read of a resource publishes created, the next content updated, in sequence', async () => {
        await publish('1', 'a');
        await publish('1', 'b');
        const rows = await records();
        expect(rows.map((row) => [header(row, 'ce_type'), row.sequence])).toEqual([
          ['io.tramline.equipment.created.v1', 1],
          ['io.tramline.equipment.updated.v1', 2],
        ]);
        expect(rows.map((row) => header(row, 'ce_sequence'))).toEqual([
          '00000000000000000001',
          '00000000000000000002',
        ]);
      });

      test('unchanged content publishes nothing', async () => {
        await publish('1', 'a');
        expect(await publish('1', 'a')).toMatchObject({ outcome: 'unchanged', reason: 'same-content' });
        expect(await records()).toHaveLength(1);
      });

      test('a read that began before another was accepted does not count, and the task stays due', async () => {
        await publish('1', 'a');
        await put([hintOf('1'), { ...hintOf('1'), address: `${address('1')}?alias` }]);
        const tasks = await store.take(2);
        const [own, alias] = [
          tasks.find((task) => task.resource !== null)!,
          tasks.find((task) => task.resource === null)!,
        ];
        expect(await finish(alias, draftOf('1', 'newer'))).toMatchObject({ outcome: 'published' });
        expect(await finish(own, draftOf('1', 'older'))).toEqual({
          outcome: 'refused',
          reason: 'superseded',
        });
        under.advance(1000);
        const again = await take();
        expect(again.taskId).toBe(own.taskId);
        expect((await records()).map((row) => row.sequence)).toEqual([1, 2]);
      });

      test('two addresses of one resource are one sequence, and hints met meanwhile go on', async () => {
        await publish('1', 'a');
        const alias = { ...hintOf('1'), address: `${address('1')}?alias` };
        await put([alias]);
        const task = await take();
        await put([alias]);
        await finish(task, draftOf('1', 'b'));
        under.advance(1000);
        const later = await take();
        expect(later.resource).toEqual({ kind: 'equipment', id: '1' });
        await finish(later, draftOf('1', 'b'));
        expect((await records()).map((row) => row.sequence)).toEqual([1, 2]);
        expect(await ledgerAtRest()).toMatchObject({ accepted: 3, published: 2, unchanged: 1, waiting: 0 });
      });

      test('an older modified time is never published', async () => {
        await publish('1', 'a', { modifiedTime: '2026-01-02T00:00:00.000Z' });
        expect(await publish('1', 'b', { modifiedTime: '2026-01-01T00:00:00.000Z' })).toMatchObject({
          outcome: 'unchanged',
          reason: 'older-than-published',
        });
        expect(await publish('1', 'c', { modifiedTime: '2026-01-03T00:00:00.000Z' })).toMatchObject({
          outcome: 'published',
        });
      });

      test('another normalizer re-baselines silently where the wire facts are equal, else it publishes', async () => {
        await publish('1', 'a', { wireHash: 'w' });
        expect(await publish('1', 'b', { wireHash: 'w', normalizerVersion: 2 })).toMatchObject({
          outcome: 'unchanged',
          reason: 'new-normalizer',
        });
        expect(await publish('1', 'c', { wireHash: 'w2', normalizerVersion: 3 })).toMatchObject({
          outcome: 'published',
        });
        expect(await publish('1', 'd', { normalizerVersion: 2 })).toEqual({
          outcome: 'refused',
          reason: 'older-normalizer',
        });
      });

      test('a move to another organization is deleted under the old key and created under the new', async () => {
        await publish('1', 'a');
        await publish('1', 'b', { organizationId: '99' });
        const rows = await records();
        expect(rows.map((row) => [row.key, header(row, 'ce_type'), row.sequence])).toEqual([
          ['4711/equipment/1', 'io.tramline.equipment.created.v1', 1],
          ['4711/equipment/1', 'io.tramline.equipment.deleted.v1', 2],
          ['99/equipment/1', 'io.tramline.equipment.created.v1', 1],
        ]);
        expect(JSON.parse(rows[1]!.value)).toMatchObject({ id: '1', organizationId: '4711', movedTo: '99' });
      });

      test('a gone resource is deleted, and created again goes on in its sequence', async () => {
        await publish('1', 'a');
        await put([hintOf('1')]);
        const gone = {
          observedAt: '2026-01-01T00:00:00.000Z',
          traceparent: null,
          goneShareMax: 0.05,
          settleMs: 0,
        };
        expect(await store.finishGone({ ...heldBy(await take()), ...gone })).toMatchObject({
          outcome: 'gone',
        });
        under.advance(1000);
        await publish('1', 'a');
        expect((await records()).map((row) => [header(row, 'ce_type'), row.sequence])).toEqual([
          ['io.tramline.equipment.created.v1', 1],
          ['io.tramline.equipment.deleted.v1', 2],
          ['io.tramline.equipment.created.v1', 3],
        ]);
      });

      test('archiving and restoring have their own types', async () => {
        await publish('1', 'a');
        await publish('1', 'b', { archived: true });
        await publish('1', 'c');
        expect((await records()).map((row) => header(row, 'ce_type'))).toEqual([
          'io.tramline.equipment.created.v1',
          'io.tramline.equipment.archived.v1',
          'io.tramline.equipment.restored.v1',
        ]);
      });

      test('a document that is too large is quarantined before it gets a sequence', async () => {
        await publish('1', 'a', { value: 'x'.repeat(2_000_000) });
        expect(await records()).toEqual([]);
        await publish('1', 'b');
        expect((await records()).map((row) => row.sequence)).toEqual([1]);
        expect(await ledgerAtRest()).toMatchObject({ published: 1, merged: 1 });
      });
    });

    describe('leases and fences', () => {
      test('a lease that ran out is taken again, and the first holder changes nothing', async () => {
        await put([hintOf('1')]);
        const zombie = await take();
        under.advance(60_001);
        const owner = await take();
        expect(owner.taskId).toBe(zombie.taskId);
        expect(await finish(zombie, draftOf('1', 'a'))).toEqual({ outcome: 'refused', reason: 'fenced' });
        expect(await finish(owner, draftOf('1', 'b'))).toMatchObject({ outcome: 'published' });
      });

      test('what was given back is due at once', async () => {
        await put([hintOf('1')]);
        const task = await take();
        expect(await store.take(1)).toEqual([]);
        await store.releaseLeases([task]);
        expect((await take()).taskId).toBe(task.taskId);
      });

      test('after a kill, what was taken is due at once and what was decided is there', async () => {
        await publish('1', 'a');
        await put([hintOf('2')]);
        await take();
        await store.holdLease('relay', 'the dead', 60_000);
        const before = await records();
        store = await under.reopen();
        expect(await store.holdLease('relay', 'the living', 60_000)).toBe(true);
        expect((await take()).address).toBe(address('2'));
        expect(await records()).toEqual(before);
      });
    });

    describe('hint and state', () => {
      test('a hint while it is read keeps the task due after the gap', async () => {
        await put([hintOf('1')]);
        const task = await take();
        await put([hintOf('1')]);
        expect(await finish(task, draftOf('1', 'a'))).toMatchObject({ outcome: 'published', again: true });
        expect(await store.take(1)).toEqual([]);
        expect(await store.nextDueInMs('task')).toBe(1000);
        under.advance(1000);
        expect((await take()).generation).toBe(2);
      });

      test('a clock that is set back holds up nothing for longer than the gap after a read', async () => {
        await publish('1', 'a');
        await publish('2', 'a');
        under.advance(-3_600_000);
        await put([hintOf('1')]);
        expect(await store.nextDueInMs('task')).toBe(1000);
        under.advance(1000);
        expect((await take()).address).toBe(address('1'));
        const { run } = await store.beginRun({ organizationId: null, full: true });
        await store.hintAbsent(run, '4711', 'equipment', 0.05);
        expect(await store.nextDueInMs('task')).toBe(1000);
        under.advance(1000);
        expect((await take()).address).toBe(address('2'));
      });

      test('a read that found nothing new settles once', async () => {
        await publish('1', 'a', { modifiedTime: '2026-01-02T00:00:00.000Z' });
        await put([hintOf('1')]);
        const draft = draftOf('1', 'a', { modifiedTime: '2026-01-02T00:00:00.000Z' });
        expect(await finish(await take(), draft, { settleMs: 30_000 })).toMatchObject({ again: true });
        under.advance(30_000);
        const settling = await take();
        expect(settling.settling).toBe(true);
        expect(await finish(settling, draft, { settleMs: 30_000 })).toMatchObject({ again: false });
        under.advance(60_000);
        expect(await store.take(1)).toEqual([]);
      });

      const modified = (day: number) => ({ modifiedTime: `2026-01-0${day}T00:00:00.000Z` });
      const settleMs = 30_000;

      test('a change that was announced alone, of a kind that says when it was modified, is not read again', async () => {
        await publish('1', 'a', modified(1));
        await put([hintOf('1')]);
        const read = await finish(await take(), draftOf('1', 'b', modified(2)), { settleMs });
        expect(read).toMatchObject({ outcome: 'published', again: false });
      });

      test('what is seen for the first time settles: nothing tells whether it is what was announced', async () => {
        await put([hintOf('1')]);
        const read = await finish(await take(), draftOf('1', 'a', modified(1)), { settleMs });
        expect(read).toMatchObject({ outcome: 'published', again: true });
        under.advance(settleMs);
        const settling = await take();
        expect(await finish(settling, draftOf('1', 'b', modified(2)), { settleMs })).toMatchObject({
          again: false,
        });
      });

      test('of several changes that were announced close together a read may have seen all but the last: it settles', async () => {
        await publish('1', 'a', modified(1));
        await put([hintOf('1')]);
        // The first change is not visible yet.
        await finish(await take(), draftOf('1', 'a', modified(1)), { settleMs });
        under.advance(1000);
        await put([hintOf('1')]);
        // Now it is, and the second is not.
        const second = await finish(await take(), draftOf('1', 'b', modified(2)), { settleMs });
        expect(second).toMatchObject({ outcome: 'published', again: true });
        under.advance(settleMs);
        const last = await finish(await take(), draftOf('1', 'c', modified(3)), { settleMs });
        expect(last).toMatchObject({ outcome: 'published', again: false });
        under.advance(settleMs);
        await put([hintOf('1')]);
        const alone = await finish(await take(), draftOf('1', 'd', modified(4)), { settleMs });
        expect(alone).toMatchObject({ outcome: 'published', again: false });
      });

      test('a change that neither of two reads found is still to be found: the next that is found settles', async () => {
        await publish('1', 'a', modified(1));
        await put([hintOf('1')]);
        await finish(await take(), draftOf('1', 'a', modified(1)), { settleMs });
        under.advance(settleMs);
        expect(await finish(await take(), draftOf('1', 'a', modified(1)), { settleMs })).toMatchObject({
          again: false,
        });
        under.advance(1000);
        await put([hintOf('1')]);
        // It is visible now, and the one that is announced is not.
        const late = await finish(await take(), draftOf('1', 'b', modified(2)), { settleMs });
        expect(late).toMatchObject({ outcome: 'published', again: true });
        under.advance(settleMs);
        await finish(await take(), draftOf('1', 'c', modified(3)), { settleMs });
        under.advance(1000);
        await put([hintOf('1')]);
        const alone = await finish(await take(), draftOf('1', 'd', modified(4)), { settleMs });
        expect(alone).toMatchObject({ outcome: 'published', again: false });
      });

      test('of two reads of one change the second finds none: nothing is left to be found', async () => {
        await put([hintOf('1')]);
        await finish(await take(), draftOf('1', 'a', modified(1)), { settleMs });
        under.advance(settleMs);
        await finish(await take(), draftOf('1', 'a', modified(1)), { settleMs });
        under.advance(1000);
        await put([hintOf('1')]);
        const read = await finish(await take(), draftOf('1', 'b', modified(2)), { settleMs });
        expect(read).toMatchObject({ outcome: 'published', again: false });
      });

      test('the line of a hint is told by its settling read', async () => {
        await publish('1', 'a');
        await put([hintOf('1')]);
        await finish(await take(), draftOf('1', 'a'), { settleMs: 30_000 });
        expect(await ledgerAtRest()).toMatchObject({ published: 1, unchanged: 1 });
        under.advance(30_000);
        await finish(await take(), draftOf('1', 'b'), { settleMs: 30_000 });
        expect(await ledgerAtRest()).toMatchObject({ published: 2, unchanged: 0 });
      });

      test('a hint to a settling task makes it due now; one in back-off keeps its time', async () => {
        await put([hintOf('1'), hintOf('2')]);
        const [first, second] = await store.take(2);
        await finish(first!, draftOf('1', 'a'), { settleMs: 30_000 });
        await store.postpone({
          ...heldBy(second!),
          dueInMs: 20_000,
          own: false,
          agedMs: 0,
          code: 'http-503',
          detail: null,
        });
        under.advance(1000);
        await put([hintOf('1'), hintOf('2')]);
        expect((await store.take(2)).map((task) => task.address)).toEqual([address('1')]);
        under.advance(19_000);
        expect((await store.take(2)).map((task) => task.address)).toEqual([address('2')]);
      });

      test('a hint to a quarantined task earns one attempt, and its line is that attempt', async () => {
        await put([hintOf('1')]);
        await store.quarantineTask({
          ...heldBy(await take()),
          reason: 'no-access',
          path: '',
          detail: null,
          raw: '{}',
        });
        expect(await store.listQuarantine({ limit: 1, after: null })).toMatchObject([{ raw: '{}' }]);
        expect(await store.take(1)).toEqual([]);
        expect(await store.ledger()).toMatchObject({ quarantined: 1, waiting: 0 });
        under.advance(1000);
        await put([hintOf('1')]);
        await finish(await take(), draftOf('1', 'a'));
        expect(await ledgerAtRest()).toMatchObject({ quarantined: 0, published: 1, merged: 1 });
      });

      test('own failures age a task by the time between them, those of others do not', async () => {
        await put([hintOf('1')]);
        const failure = { dueInMs: 1000, code: 'http-500', detail: null };
        await store.postpone({ ...heldBy(await take()), ...failure, own: false, agedMs: 0 });
        under.advance(1000);
        await store.postpone({ ...heldBy(await take()), ...failure, own: true, agedMs: 1000 });
        under.advance(1000);
        const task = await take();
        expect(task).toMatchObject({ agedMs: 1000, attempts: 2 });
        await store.postpone({ ...heldBy(task), ...failure, own: false, agedMs: 0 });
        under.advance(1000);
        expect((await take()).agedMs).toBe(1000);
      });

      test('what waited for the provider alone is due when it answers again', async () => {
        await put([hintOf('1'), hintOf('2')]);
        const [first, second] = await store.take(2);
        const failure = { dueInMs: 900_000, code: 'http-500', detail: null };
        await store.postpone({ ...heldBy(first!), ...failure, own: false, agedMs: 0 });
        await store.postpone({ ...heldBy(second!), ...failure, own: true, agedMs: 1000 });
        expect(await store.hasten()).toBe(1);
        under.advance(1000);
        expect((await store.take(2)).map((task) => task.taskId)).toEqual([first!.taskId]);
      });
    });

    describe('fairness', () => {
      test('a storm of one organization leaves the other its turn', async () => {
        await put(Array.from({ length: 200 }, (_, index) => hintOf(`a${index}`, '1')));
        await put([hintOf('b', '2')]);
        const taken = await store.take(10);
        expect(taken).toHaveLength(10);
        expect(taken.map((task) => task.hintedOrganizationId)).toContain('2');
      });

      test('alone, an organization gets everything', async () => {
        await put(Array.from({ length: 50 }, (_, index) => hintOf(`a${index}`, '1')));
        expect(await store.take(32)).toHaveLength(32);
      });
    });

    describe('organization access', () => {
      const terms = {
        cause: 'terms',
        actionUrl: 'https://provider.example/terms',
        message: 'restricted',
      } as const;
      const block = async () => {
        const epoch = (await store.access('4711'))!.epoch;
        return store.observe({ organizationId: '4711', epoch, found: terms, by: 'probe' });
      };

      test('a refused request holds its organization until the probe answers', async () => {
        await put([hintOf('1'), hintOf('2')]);
        const task = await take();
        const probe = { organizationId: '4711', refusedAddress: task.address, connectionId: 'c1' };
        await store.giveBack({
          ...heldBy(task),
          code: 'action-required',
          probe,
          dueInMs: 0,
          agedMs: 0,
          detail: null,
        });
        expect(await store.take(10)).toEqual([]);
        expect(await store.takeProbes(10, 30_000)).toMatchObject([
          { organizationId: '4711', refusedAddress: task.address, connectionId: 'c1', epoch: 1 },
        ]);
        expect(await store.takeProbes(10, 30_000)).toEqual([]);
      });

      test('blocked work is parked, published as blocked once, and drains one, two, four after the acceptance', async () => {
        await put(Array.from({ length: 20 }, (_, index) => hintOf(String(index))));
        expect(await block()).toMatchObject({ changed: true, access: 'terms-required', applied: true });
        expect(await block()).toMatchObject({ changed: false });
        expect(await store.take(32)).toEqual([]);
        expect(await store.ledger()).toMatchObject({ parked: 20, waiting: 0 });
        expect(await store.listOrganizations({ limit: 1000, after: null })).toMatchObject([
          { id: '4711', access: 'terms-required', parked: 20, actionUrl: terms.actionUrl, reason: 'terms' },
        ]);
        const epoch = (await store.access('4711'))!.epoch;
        await store.observe({ organizationId: '4711', epoch, found: { cause: null }, by: 'probe' });
        const drained: number[] = [];
        for (let round = 0; round < 3; round += 1) {
          const taken = await store.take(32);
          drained.push(taken.length);
          for (const task of taken) await finish(task, draftOf(task.address.split('/').at(-1)!, 'a'));
        }
        expect(drained).toEqual([1, 2, 4]);
        const access = (await records()).filter((row) => row.topic.endsWith('organization-access.v1'));
        expect(access.map((row) => [row.key, header(row, 'ce_type'), row.sequence])).toEqual([
          ['4711/organization-access/4711', 'io.tramline.organization-access.blocked.v1', 1],
          ['4711/organization-access/4711', 'io.tramline.organization-access.unblocked.v1', 2],
        ]);
      });

      test('an answer from an earlier epoch changes nothing', async () => {
        await put([hintOf('1')]);
        const before = (await store.access('4711'))!.epoch;
        await block();
        await store.observe({
          organizationId: '4711',
          epoch: before + 1,
          found: { cause: null },
          by: 'probe',
        });
        const late = await store.observe({
          organizationId: '4711',
          epoch: before,
          found: terms,
          by: 'probe',
        });
        expect(late).toMatchObject({ applied: false, changed: false });
        expect((await store.access('4711'))!.access).toBe('active');
      });

      test('while blocked the probe comes back later and later', async () => {
        await put([hintOf('1')]);
        await block();
        expect(await store.nextDueInMs('probe')).toBe(15_000);
        under.advance(15_000);
        await store.takeProbes(1, 30_000);
        await block();
        expect(await store.nextDueInMs('probe')).toBe(30_000);
      });

      test('a required action asks for a probe at once, then at most once a minute', async () => {
        const action = { line: 'acted', eventTypeId: 'requiredCustomerAction', dueAt: null } as const;
        await put([{ ...action, probeOrganizationId: '4711' }]);
        expect(await store.takeProbes(1, 1000)).toHaveLength(1);
        await store.observe({ organizationId: '4711', epoch: 1, found: { cause: null }, by: 'probe' });
        await put([{ ...action, probeOrganizationId: '4711' }]);
        expect(await store.nextDueInMs('probe')).toBe(60_000);
        expect(await store.requestProbe('4711', true)).toBe(true);
        expect(await store.takeProbes(1, 1000)).toHaveLength(1);
        expect(await store.requestProbe('unknown', true)).toBe(false);
      });

      test('the time for which a required action is announced is known as long as nothing is blocked', async () => {
        const action = { line: 'acted', eventTypeId: 'requiredCustomerAction' } as const;
        await store.learn([{ id: '4711', name: null, connectionId: 'c1' }]);
        await put([{ ...action, probeOrganizationId: '4711', dueAt: '2031-05-01T00:00:00Z' }]);
        await put([{ ...action, probeOrganizationId: '4712', dueAt: null }]);
        const announced = { organizationId: '4711', name: null, dueAtMs: Date.UTC(2031, 4, 1) };
        expect((await store.alertInputs()).announced).toEqual([announced]);
        const terms = { cause: 'terms', actionUrl: null, message: null } as const;
        await store.observe({ organizationId: '4711', epoch: 1, found: terms, by: 'probe' });
        expect((await store.alertInputs()).announced).toEqual([]);
      });

      test('a refused grant concerns the organizations that nobody else sees', async () => {
        const connection = { user: 'u', auth: 'oauth2', sealedToken: 's', sealedTokenSecret: null } as const;
        const rest = {
          sealedRefresh: null,
          expiresAt: null,
          status: 'valid',
          organizations: [],
          importHash: 'h',
        } as const;
        await store.importConnections(
          ['c1', 'c2'].map((connectionId) => ({ ...connection, ...rest, organizations: [], connectionId })),
        );
        await store.learn([
          { id: '1', name: 'One', connectionId: 'c1' },
          { id: '2', name: 'Two', connectionId: 'c1' },
          { id: '2', name: 'Two', connectionId: 'c2' },
        ]);
        const { observed } = await store.refuseConnection('c1', 'expired', 's');
        expect(observed).toMatchObject([
          { observation: { organizationId: '1' }, transition: { changed: true, access: 'reauthorize' } },
        ]);
        expect((await store.refuseConnection('c1', 'expired', 's')).observed).toEqual([]);
        expect(
          (await store.listConnections()).map(({ connectionId, status }) => [connectionId, status]),
        ).toEqual([
          ['c1', 'refused'],
          ['c2', 'valid'],
        ]);
      });
    });

    describe('outbox', () => {
      test('what was not marked sent is picked again, byte for byte', async () => {
        await publish('1', 'a');
        await publish('2', 'b');
        const [first, second] = await records();
        await store.markSent([sentTo(first!, 3, '17')]);
        expect(await records()).toEqual([second]);
        await store.markSent([sentTo(first!, 4, '99')]);
        const { events } = await store.listEvents({ after: 0, limit: 10, type: null, organizationId: null });
        expect(events).toMatchObject([
          { position: 1, partition: 3, offset: '17', record: { key: first!.key } },
        ]);
      });

      test('a row is marked sent with the event that it holds alone', async () => {
        await publish('1', 'a');
        const [row] = await records();
        const sent = sentTo(row!, 3, '17');
        await store.markSent([{ ...sent, eventId: 'of-another' }]);
        expect(await records()).toEqual([row]);
        await store.markSent([{ ...sent, eventId: row!.eventId }]);
        expect(await records()).toEqual([]);
      });

      test('a row is set aside with the event that it holds alone', async () => {
        await publish('1', 'a');
        const [row] = await records();
        await store.quarantineRecord({ row: row!.row, eventId: 'of-another' }, 'record-refused', 'x');
        expect(await store.listQuarantine({ limit: 9, after: null })).toEqual([]);
        expect(await records()).toEqual([row]);
        await store.quarantineRecord(row!, 'record-refused', 'x');
        expect(await records()).toEqual([]);
      });

      test('events of the embedded log go to Kafka later, a page at a time, in order, with the position they have', async () => {
        for (const content of ['a', 'b', 'c']) await publish('1', content);
        await publish('2', 'a');
        await publish('2', 'b');
        await sendAll();
        expect(await records()).toEqual([]);
        const last = await store.resendLogged(0, 2);
        expect(last).not.toBeNull();
        expect(await records()).toHaveLength(2);
        // Whoever did this ended, and another begins anew.
        expect(await store.resendLogged(0, 1000)).toBeNull();
        expect(await store.resendLogged(last!, 1000)).toBeNull();
        const rows = await records();
        expect(rows.map(({ key, sequence }) => [key.at(-1), sequence])).toEqual([
          ['1', 1],
          ['1', 2],
          ['1', 3],
          ['2', 1],
          ['2', 2],
        ]);
        await store.markSent(rows.map((record) => sentTo(record, 0, '5')));
        expect(await store.resendLogged(0, 1000)).toBeNull();
        expect(await records()).toEqual([]);
        const { events } = await store.listEvents({ after: 0, limit: 10, type: null, organizationId: null });
        expect(events.map((event) => event.position)).toEqual([1, 2, 3, 4, 5]);
      });

      test('what only the embedded log has, or was to have next, goes to the topics of the prefix of today', async () => {
        for (const content of ['a', 'b', 'c']) await publish('1', content);
        const [first, ...others] = await records();
        await store.markSent([first!, ...others].map((record) => sentTo(record, null, null)));
        // Its process did not live to mark it.
        await publish('1', 'd');
        expect(await records()).toMatchObject([{ sequence: 4, topic: 'tramline.equipment.v1' }]);
        const { envelope } = settingsFor('');
        store = await under.reopen({ envelope: { ...envelope, topicPrefix: 'chosen' } });
        for (let after: number | null = 0; after !== null; ) after = await store.resendLogged(after, 2);
        const rows = await records();
        expect(rows.map(({ sequence, topic }) => [sequence, topic])).toEqual(
          [1, 2, 3, 4].map((sequence) => [sequence, 'chosen.equipment.v1']),
        );
        const { eventId, key, headers, value } = first!;
        expect(rows[0]).toMatchObject({ eventId, key, headers, value });
        await store.markSent(rows.map((record) => sentTo(record, 0, String(record.row))));
        await publish('1', 'e');
        expect(await records()).toHaveLength(1);
        // What is decided for a topic that Kafka has stays with it, whatever prefix is chosen later.
        store = await under.reopen({ envelope: { ...envelope, topicPrefix: 'another' } });
        expect(await store.resendLogged(0, 1000)).toBeNull();
        expect((await records()).map(({ topic }) => topic)).toEqual(['chosen.equipment.v1']);
        const selected = { events: null, keys: null, organizationId: null, kind: 'equipment' } as const;
        expect((await store.selectReplay(selected, 0, 1e9, 9)).events).toHaveLength(5);
      });

      test('what waits for topics that no Kafka was known to have follows a prefix that is mended', async () => {
        for (const content of ['a', 'b', 'c']) await publish('1', content);
        await sendAll();
        const { envelope } = settingsFor('');
        const reopen = async (topicPrefix: string) => {
          store = await under.reopen({ envelope: { ...envelope, topicPrefix } });
          for (let after: number | null = 0; after !== null; ) after = await store.resendLogged(after, 2);
        };
        await reopen('mistaken');
        for (const content of ['d', 'e', 'f']) await publish('1', content);
        expect((await records()).map(({ topic }) => topic)).toEqual(
          Array.from({ length: 6 }, () => 'mistaken.equipment.v1'),
        );
        await reopen('mended');
        expect((await records()).map(({ sequence, topic }) => [sequence, topic])).toEqual(
          [1, 2, 3, 4, 5, 6].map((sequence) => [sequence, 'mended.equipment.v1']),
        );
      });

      test('what brokers have is not sent again with the embedded log, wherever a page ends', async () => {
        for (const content of ['a', 'b', 'c', 'd']) await publish('1', content);
        const rows = await records();
        const places = [null, 0, null, 0].map((partition, at) =>
          sentTo(rows[at]!, partition, partition === null ? null : '5'),
        );
        await store.markSent(places);
        let pages = 0;
        for (let after: number | null = 0; after !== null; pages += 1)
          after = await store.resendLogged(after, 1);
        expect(pages).toBeGreaterThan(2);
        expect((await records()).map(({ sequence }) => sequence)).toEqual([1, 3]);
      });

      test('of what Kafka refuses of the embedded log the event before it is the newest, and a discard publishes it anew', async () => {
        for (const content of ['a', 'b']) await publish('1', content);
        await sendAll();
        await store.resendLogged(0, 1000);
        const [first, second] = await records();
        await store.markSent([sentTo(first!, 0, '5')]);
        await store.quarantineRecord(second!, 'record-refused', 'x');
        const selected = { events: null, keys: null, organizationId: null, kind: null };
        const replayed = await store.selectReplay(selected, 0, 1e9, 9);
        expect(replayed.events).toMatchObject([{ row: first!.row, newest: true }]);
        under.advance(31 * 86_400_000);
        while ((await store.sweep()).more);
        expect((await store.selectReplay(selected, 0, 1e9, 9)).events).toHaveLength(1);
        const [entry] = await store.listQuarantine({ limit: 9, after: null });
        await store.discardQuarantine(entry!.id);
        while ((await store.sweep()).more);
        await publish('1', 'b');
        expect(await records()).toMatchObject([{ sequence: 3 }]);
      });

      test('a page of the log is bounded in bytes: one of large events is shorter, and one of none is the end', async () => {
        const value = JSON.stringify({ id: '1', organizationId: '4711', filling: 'x'.repeat(890_000) });
        for (let id = 0; id < 10; id += 1) await publish(String(id), `c${id}`, { value });
        await publish('10', 'a');
        await sendAll();
        const pages: number[] = [];
        for (let after = 0; pages.at(-1) !== 0; ) {
          const page = await store.listEvents({ after, limit: 100, type: null, organizationId: null });
          pages.push(page.events.length);
          after = page.events.at(-1)?.position ?? after;
        }
        expect(pages).toEqual([8, 3, 0]);
      });

      test('a lease has one holder until it runs out, and it is known for how long nobody has it', async () => {
        expect(await store.leaseFreeMs('relay')).toBeNull();
        expect(await store.holdLease('relay', 'a', 1000)).toBe(true);
        expect(await store.holdLease('relay', 'b', 1000)).toBe(false);
        expect(await store.holdLease('relay', 'a', 1000)).toBe(true);
        under.advance(999);
        expect(await store.leaseFreeMs('relay')).toBe(0);
        under.advance(61_001);
        expect(await store.leaseFreeMs('relay')).toBe(61_000);
        expect(await store.holdLease('relay', 'b', 1000)).toBe(true);
        expect(await store.leaseFreeMs('relay')).toBe(0);
        // Given back.
        await store.holdLease('relay', 'b', 0);
        under.advance(5000);
        expect(await store.leaseFreeMs('relay')).toBe(5000);
        // Also in the next life, which has what the former one held.
        await store.holdLease('held', 'a', 60_000);
        const beforeMs = under.nowMs();
        store = await under.reopen();
        expect(await store.leaseFreeMs('relay')).toBe(5000 + under.nowMs() - beforeMs);
        expect(await store.holdLease('held', 'b', 1000)).toBe(true);
      });

      test('what a process tells of the platform, also that all is well, the others hear until its time is over', async () => {
        const slow = { name: 'kafka-unavailable', sinceMs: 1, detail: 'no broker' } as const;
        const late = { name: 'topic-denied', sinceMs: 2, detail: 'no', labels: { topic: 't' } } as const;
        expect(await store.shareConditions('a', [slow], 1000)).toEqual([]);
        const told = (holder: string, ...conditions: object[]) => [{ holder, conditions }];
        expect(await store.shareConditions('b', [late], 1000)).toEqual(told('a', slow));
        expect(await store.shareConditions('a', [], 1000)).toEqual(told('b', late));
        expect(await store.shareConditions('b', [late], 1000)).toEqual(told('a'));
        under.advance(1000);
        expect(await store.shareConditions('a', [], 1000)).toEqual([]);
      });

      test('a relay whose lease is over neither picks nor marks', async () => {
        await publish('1', 'a');
        const [row] = await records();
        const mine = { name: 'relay', holder: 'a' };
        const picked = async () => (await store.pickUnsent(10, 1e9, [], mine)).length;
        expect(await picked()).toBe(0);
        await store.holdLease('relay', 'a', 1000);
        expect(await picked()).toBe(1);
        under.advance(1000);
        expect(await picked()).toBe(0);
        await store.holdLease('relay', 'b', 1000);
        await store.markSent([sentTo(row!, 0, '1')], mine);
        expect(await store.unsentCount()).toBe(1);
        await store.markSent([sentTo(row!, 0, '1')], { name: 'relay', holder: 'b' });
        expect(await store.unsentCount()).toBe(0);
      });

      test('a quarantined record lets newer ones of its key go on, and is sent after its release', async () => {
        await publish('1', 'a');
        const [first] = await records();
        await store.quarantineRecord(first!, 'record-refused', 'too large for the broker');
        expect(await records()).toEqual([]);
        expect(await store.ledger()).toMatchObject({ quarantined: 1, published: 0, waiting: 0 });
        const [entry] = await store.listQuarantine({ limit: 10, after: null });
        const { address } = draftOf('1', 'a');
        expect(entry).toMatchObject({ what: 'record', organizationId: '4711', address });
        expect(await store.showQuarantine(entry!.id)).toEqual(entry);
        expect(await store.explain(address)).toMatchObject({ what: 'resource' });
        expect(await store.releaseQuarantine(entry!.id)).toBe('released');
        expect(await records()).toEqual([first]);
        expect((await take()).resource).toEqual({ kind: 'equipment', id: '1' });
        expect(await ledgerAtRest()).toMatchObject({ quarantined: 0, published: 1, waiting: 0 });
      });

      test('a released record that is no longer the newest of its key is not sent: its resource is read afresh', async () => {
        await publish('1', 'a');
        const [first] = await records();
        await store.quarantineRecord(first!, 'record-refused', 'too large for the broker');
        await publish('1', 'b');
        await sendAll();
        const [entry] = await store.listQuarantine({ limit: 10, after: null });
        expect(await store.releaseQuarantine(entry!.id)).toBe('released');
        expect(await records()).toEqual([]);
        await finish(await take(), draftOf('1', 'b'));
        expect(await ledgerAtRest()).toMatchObject({ accepted: 2, merged: 1, published: 1, quarantined: 0 });
      });
    });

    describe('operators', () => {
      test('a released task is read afresh; what was not authenticated is not released', async () => {
        await put([
          hintOf('1'),
          { line: 'quarantined', reason: 'unauthenticated', path: '/token', raw: '{}' },
        ]);
        await store.quarantineTask({
          ...heldBy(await take()),
          reason: 'no-access',
          path: '',
          detail: null,
          raw: null,
        });
        const entries = await store.listQuarantine({ limit: 10, after: null });
        const byReason = (reason: string) => entries.find((entry) => entry.reason === reason)!.id;
        expect(await store.releaseQuarantine(byReason('unauthenticated'))).toBe('refused');
        expect(await store.releaseQuarantine(byReason('no-access'))).toBe('released');
        expect(await store.releaseQuarantine('q999')).toBe('not-found');
        expect((await take()).address).toBe(address('1'));
      });

      test('a discarded thing is on record', async () => {
        await put([
          hintOf('1'),
          { line: 'quarantined', reason: 'unauthenticated', path: '/token', raw: '{}' },
        ]);
        await store.quarantineTask({
          ...heldBy(await take()),
          reason: 'no-access',
          path: '',
          detail: null,
          raw: null,
        });
        for (const entry of await store.listQuarantine({ limit: 10, after: null })) {
          expect(await store.discardQuarantine(entry.id)).toBe('discarded');
          expect(await store.discardQuarantine(entry.id)).toBe('not-found');
        }
        expect(await store.ledger()).toMatchObject({ discarded: 2, quarantined: 0, accepted: 2 });
      });

      test('the journey of a delivery, its event and its resource is told', async () => {
        const { deliveryId } = await put([hintOf('1')]);
        const result = await finish(await take(), draftOf('1', 'a'));
        const eventId = result.outcome === 'published' ? result.eventIds[0]! : '';
        await store.markSent((await records()).map((record) => sentTo(record, 2, '7')));
        for (const what of [deliveryId, eventId, address('1')]) {
          const steps = (await store.explain(what))!.steps.map((step) => step.step);
          expect(steps).toEqual(expect.arrayContaining(['published', 'decided', 'sent']));
        }
        expect((await store.explain(eventId))!.steps.map((step) => step.step)).toContain('hinted');
        expect(await store.explain('d999')).toBeNull();
      });

      test('retention keeps the newest event of a key and what still waits', async () => {
        await publish('1', 'a');
        await publish('1', 'b');
        await sendAll();
        await put([hintOf('2')]);
        under.advance(40 * 86_400_000);
        while ((await store.sweep()).more);
        const page = await store.listEvents({ after: 0, limit: 10, type: null, organizationId: null });
        expect(page.events.map((event) => event.position)).toEqual([2]);
        expect(page.floor).toBe(1);
        expect(await store.ledger()).toMatchObject({ waiting: 1 });
      });

      test('counts tell what is due, parked, unsent and set aside', async () => {
        await publish('1', 'a');
        await put([hintOf('2')]);
        under.advance(500);
        expect(await store.counts()).toMatchObject({
          due: 1,
          waiting: 1,
          parked: 0,
          unsent: 1,
          quarantined: 0,
          oldestWaitingAgeMs: 500,
          organizations: { active: 1 },
        });
      });
    });
  });
}
