/**
 * Sending again what was published: the newest of each key as the same row, history whole, resources due for a read; and
 * the journal that says where each record went. Every store must pass.
 */
import { bytesHashOf, type OutboxRow } from '../../src/model/event';
import { type ReplayRun, type ReplaySelection, replayLease } from '../../src/model/replay';
import type { TakenTask } from '../../src/model/task';
import {
  address,
  aliasHintOf,
  type DamageableStore,
  draftOf,
  goneBy,
  Hand,
  header,
  hintOf,
  sentTo,
  terms,
} from './store-hand';

const all: ReplaySelection = { events: null, keys: null, organizationId: null, kind: null };
const topic = 'tramline.equipment.v1';
/** One more than is counted. */
const unsentMany = 100_001;

export function storeReplaySuite(name: string, open: () => Promise<DamageableStore>): void {
  describe(`replays: ${name}`, () => {
    let under: DamageableStore;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    let nextOffset = 0;
    const sendToKafka = async () => {
      const rows = await hand.records();
      await hand.store.markSent(rows.map((record) => sentTo(record, 2, String(nextOffset++))));
      return rows;
    };
    const stepOf = ({ replay, after: begun, counts }: ReplayRun, after: number, from = begun) => ({
      ...{ replay, from, after, counts },
    });
    const select = async (selection: Partial<ReplaySelection> = {}) =>
      (await hand.store.selectReplay({ ...all, ...selection }, 0, 1e9, 100)).events;
    const rowsOf = (events: { row: number }[]) => events.map(({ row }) => row);

    test('only the newest event of a key is unsent again, as the same bytes', async () => {
      await hand.publish('1', 'a');
      await hand.publish('1', 'b');
      const [, newest] = await sendToKafka();
      const run = await hand.store.beginReplay('x');
      expect(await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()))).toBe(1);
      const again = await hand.records();
      expect(again).toEqual([{ ...newest, acceptedAtMs: null }]);
    });

    test('what was published stays so in the ledger and in its journey while a replay has it go again', async () => {
      await hand.publish('1', 'a');
      await sendToKafka();
      const before = await hand.store.ledger();
      expect(before).toMatchObject({ published: 1, waiting: 0 });
      const run = await hand.store.beginReplay('x');
      expect(await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()))).toBe(1);
      expect(await hand.store.ledger()).toEqual(before);
      const { steps } = (await hand.store.explain('d1'))!;
      expect(steps[1]).toMatchObject({
        ledger: 'published',
        text: `notification 0 (equipment) ${address('1')} → published (first-seen)`,
      });
      expect(steps.at(-1)).toMatchObject({ step: 'replaying', replay: run.replay });
      await sendToKafka();
      expect(await hand.store.ledger()).toEqual(before);
    });

    test('what waits to be sent, or has an unsent successor, is left alone', async () => {
      await hand.publish('1', 'a');
      await sendToKafka();
      await hand.publish('1', 'b');
      const run = await hand.store.beginReplay('x');
      const selected = await select();
      expect(selected).toMatchObject([
        { newest: false, waits: null },
        { newest: true, waits: 'first' },
      ]);
      expect(await hand.store.resendNewest(stepOf(run, 9), rowsOf(selected))).toBe(0);
      expect((await hand.records()).map((row) => row.sequence)).toEqual([2]);
    });

    test('an event of a read that a replay asked for is traced to it, and to no delivery', async () => {
      await hand.publish('1', 'a');
      await sendToKafka();
      const run = await hand.store.beginReplay('x');
      await hand.store.readAgain(stepOf(run, 9), rowsOf(await select()));
      const task = await hand.take();
      expect(task.deliveryId).toBeNull();
      await hand.finish(task, draftOf('1', 'b'), { reconciled: true });
      const [row] = await hand.records();
      const { steps } = (await hand.store.explain(row!.eventId))!;
      expect(steps.map(({ step }) => step)).toEqual(['read-again', 'decided', 'published', 'unsent']);
      expect(steps[0]).toMatchObject({ replay: run.replay });
    });

    describe('what a replay finds later', () => {
      const lines = async () => {
        await hand.sendAll();
        const told = Object.entries(await hand.store.ledger());
        return Object.fromEntries(told.filter(([, count]) => count > 0));
      };
      const lineOf = async (delivery: string) =>
        (await hand.store.explain(delivery))!.steps.find(({ notification }) => notification === 0)!.ledger;
      /** A day later a replay has it read again; what that found is what a settling read of it finds once more. */
      const readLater = async (content: string) => {
        under.advance(86_400_000);
        const run = await hand.store.beginReplay(`read ${content}`);
        await hand.store.readAgain(stepOf(run, 9), rowsOf(await select()));
        await hand.finish(await hand.take(), draftOf('1', content), { reconciled: true, settleMs: 5000 });
        under.advance(5000);
        for (const task of await hand.store.take(1))
          await hand.finish(task, draftOf('1', `${content}, settled`), { reconciled: true, settleMs: 5000 });
      };

      test.each([
        ['unchanged', async (task: TakenTask) => void (await hand.finish(task, draftOf('1', 'a')))],
        ['gone', async (task: TakenTask) => void (await hand.store.finishGone(goneBy(task)))],
        [
          'discarded',
          async (task: TakenTask) => {
            await hand.quarantine(task);
            const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
            await hand.store.discardQuarantine(entry!.id);
          },
        ],
      ])('leaves a notification %s that was', async (line, end) => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1')]);
        await end(await hand.take());
        const before = { accepted: 2, published: 1, [line]: 1 };
        expect(await lines()).toEqual(before);
        for (const content of ['a', 'b', 'b', 'c']) {
          await readLater(content);
          expect(await lines()).toEqual(before);
          expect(await lineOf('d2')).toBe(line);
        }
      });

      test('is what an operator gave up of it, and does not tell of the notification', async () => {
        await hand.publish('1', 'a');
        await hand.publish('1', 'a');
        const before = await lines();
        const run = await hand.store.beginReplay('x');
        await hand.store.readAgain(stepOf(run, 9), rowsOf(await select()));
        await hand.quarantine(await hand.take());
        const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
        await hand.store.discardQuarantine(entry!.id);
        expect(await lines()).toEqual(before);
      });

      test('leaves a notification what it was when its organization was forgotten before it had settled', async () => {
        await hand.publish('1', 'a');
        await hand.sendAll();
        await hand.put([hintOf('1')]);
        await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs: 5000 });
        await hand.store.forgetOrganization('4711');
        await hand.observe({ cause: null });
        const before = await lines();
        expect(before).toMatchObject({ published: 1, unchanged: 1 });
        await readLater('b');
        expect(await lines()).toEqual(before);
      });
    });

    test('what was acknowledged before a replay, and is told again after it began, is not taken for its repeat', async () => {
      await hand.publish('1', 'a');
      const sends = async (offset: string) =>
        (await hand.records()).map((record) => sentTo(record, 2, offset));
      let told = await sends('7');
      await hand.store.markSent(told);
      for (const offset of ['8', '9']) {
        const run = await hand.store.beginReplay(offset);
        await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
        await hand.store.markSent(told, undefined, true);
        expect(await hand.store.replayPending(run.replay)).toBe(1);
        told = await sends(offset);
        expect(told).toHaveLength(1);
        await hand.store.markSent(told);
        expect(await hand.store.replayPending(run.replay)).toBe(0);
      }
      const [row] = await select();
      const { steps } = (await hand.store.explain(row!.eventId))!;
      expect(steps.slice(-3).map((step) => 'offset' in step && step.offset)).toEqual(['7', '8', '9']);
    });

    test('nor where the store lacks another of what is told', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      const told = [sentTo(row!, 2, '7'), sentTo({ row: row!.row + 1000, eventId: 'lost' }, 2, '8')];
      await hand.store.markSent(told);
      const run = await hand.store.beginReplay('x');
      await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
      await hand.store.markSent(told, undefined, true);
      expect(await hand.store.replayPending(run.replay)).toBe(1);
    });

    test('nor where it went again, since an older event of its key was found after it', async () => {
      for (const content of ['a', 'b']) await hand.publish('1', content);
      const rows = await hand.records();
      await hand.store.markSent(rows.map((record, nth) => sentTo(record, 2, String(7 + nth))));
      const [{ key, sequence, eventId, headers, value }] = rows as [OutboxRow];
      const bytesHash = bytesHashOf(JSON.stringify(headers), value);
      const found = { key, sequence, eventId, bytesHash, offset: '9', deleted: false };
      await hand.store.noteFound({ topic, partition: 2, from: null, nextOffset: '10', records: [found] });
      const told = (await hand.records()).map((record) => sentTo(record, 2, '20'));
      await hand.store.markSent(told);
      const run = await hand.store.beginReplay('x');
      await hand.store.resendNewest(stepOf(run, 9), [told[0]!.row]);
      await hand.store.markSent(told, undefined, true);
      expect(await hand.store.replayPending(run.replay)).toBe(1);
    });

    test.each([
      ['behind its first place', 2, '8'],
      ['at the same offset of another partition', 3, '7'],
      ['first on another partition', 3, '0'],
    ])(
      'but it is where the store had not taken that it was sent again: %s',
      async (_where, partition, offset) => {
        await hand.publish('1', 'a');
        const [row] = await hand.records();
        await hand.store.markSent([sentTo(row!, 2, '7')]);
        const run = await hand.store.beginReplay('x');
        await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
        await hand.store.markSent([sentTo(row!, partition, offset)], undefined, true);
        expect(await hand.store.replayPending(run.replay)).toBe(0);
        expect(await hand.records()).toEqual([]);
      },
    );

    describe('on a topic that was made anew', () => {
      /** Two keys at the places that the former topic had, both to go again, and then a newer event of the first. */
      const waiting = async (places: string[]) => {
        for (const id of ['1', '2']) await hand.publish(id, 'a');
        const rows = await hand.records();
        await hand.store.markSent(rows.map((record, nth) => sentTo(record, 2, places[nth]!)));
        const run = await hand.store.beginReplay('x');
        await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
        await hand.publish('1', 'b');
        const again = await hand.records();
        expect(again.map(({ sequence }) => sequence)).toEqual([1, 1, 2]);
        return { run, told: again.map((record, nth) => sentTo(record, 2, String(nth))) };
      };

      test.each([
        ['', false],
        [', also where nobody heard that it was marked', true],
      ])('an event goes out no more after a newer one of its key%s', async (_when, again) => {
        const { run, told } = await waiting(['0', '1']);
        await hand.store.markSent(told, undefined, again);
        expect(await hand.records()).toEqual([]);
        expect(await hand.store.replayPending(run.replay)).toBe(0);
      });

      test.each([
        ['at its old place', ['0', '1']],
        ['before its old place', ['70', '71']],
      ])('nor where it was marked in a round of its own, %s', async (_where, places) => {
        const { run, told } = await waiting(places);
        for (const one of told) await hand.store.markSent([one]);
        expect(await hand.records()).toEqual([]);
        expect(await hand.store.replayPending(run.replay)).toBe(0);
      });

      test('nor where it is told again, before the newer one, as passed by that', async () => {
        const { told } = await waiting(['70', '71']);
        await hand.store.markSent(told.slice(0, 2), undefined, true, [told[0]!.row]);
        await hand.store.markSent(told.slice(2));
        expect(await hand.records()).toMatchObject([{ row: told[1]!.row, sequence: 1 }]);
      });

      test('nor is one sent once more where what was never sent stands on another partition', async () => {
        const { run, told } = await waiting(['70', '71']);
        const spread = told.map((one, nth) => ({ ...one, partition: nth === 1 ? 2 : 3 }));
        await hand.store.markSent(spread, undefined, true);
        expect(await hand.records()).toEqual([]);
        expect(await hand.store.replayPending(run.replay)).toBe(0);
      });
    });

    describe('a record that is refused when it goes again', () => {
      /** Three that were sent go again, and two of them are refused. */
      const refused = async () => {
        for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
        await sendToKafka();
        const ledger = await hand.store.ledger();
        const run = await hand.store.beginReplay('x');
        const events = await select();
        const rows = rowsOf(events);
        await hand.store.resendNewest(stepOf(run, rows[1]!), rows.slice(0, 2));
        await hand.store.quarantineRecord(events[0]!, 'record-too-large', 'x');
        await hand.store.resendNewest(stepOf(run, rows[2]!, rows[1]!), rows.slice(2));
        await hand.store.quarantineRecord(events[1]!, 'record-too-large', 'x');
        return { run, rows, last: events[2]!, ledger };
      };

      test('stands as it was sent, is counted to its replay by its reason, and is in no quarantine', async () => {
        const { run, last, ledger } = await refused();
        expect(await hand.store.listQuarantine({ limit: 9, after: null })).toEqual([]);
        expect(await hand.store.replayPending(run.replay)).toBe(1);
        expect((await hand.records()).map(({ row }) => row)).toEqual([last.row]);
        await hand.store.quarantineRecord(last, 'record-refused', 'x');
        expect(await hand.store.ledger()).toEqual(ledger);
        const ids = (await select()).map(({ eventId }) => eventId);
        const told = await hand.store.endReplay(run.replay);
        expect(told.toSorted((one, other) => one.records - other.records)).toEqual([
          { reason: 'record-refused', records: 1, events: [ids[2]] },
          { reason: 'record-too-large', records: 2, events: ids.slice(0, 2) },
        ]);
      });

      test('is told with its event, and goes again with the next replay, which sends it', async () => {
        const { run, rows } = await refused();
        await hand.store.endReplay(run.replay);
        await sendToKafka();
        const next = await hand.store.beginReplay('y');
        expect(await hand.store.resendNewest(stepOf(next, 9), rowsOf(await select()))).toBe(3);
        const [row] = await sendToKafka();
        expect(row!.row).toBe(rows[0]);
        const { steps } = (await hand.store.explain(row!.eventId))!;
        expect(steps.slice(-2)).toMatchObject([
          { step: 'replay-refused', replay: run.replay, topic },
          { step: 'replayed', replay: next.replay, partition: 2 },
        ]);
        expect(await hand.store.endReplay(next.replay)).toEqual([]);
      });

      test('is set aside where no replay sends it: an older event of its key was found after it', async () => {
        for (const content of ['a', 'b']) await hand.publish('1', content);
        const rows = await hand.records();
        await hand.store.markSent(rows.map((record, nth) => sentTo(record, 2, String(7 + nth))));
        const [{ key, sequence, eventId, headers, value }] = rows as [OutboxRow];
        const bytesHash = bytesHashOf(JSON.stringify(headers), value);
        const found = { key, sequence, eventId, bytesHash, offset: '9', deleted: false };
        await hand.store.noteFound({ topic, partition: 2, from: null, nextOffset: '10', records: [found] });
        const [again] = await hand.records();
        await hand.store.quarantineRecord(again!, 'record-too-large', 'x');
        expect(await hand.store.listQuarantine({ limit: 9, after: null })).toMatchObject([
          { reason: 'record-too-large' },
        ]);
      });
    });

    describe.each(['records are gone', 'a higher number was found'])(
      'a record that was to go again when %s',
      (why) => {
        const foundOf = (row: OutboxRow, more: { sequence?: number; eventId?: string; offset: string }) => {
          const { key, sequence, eventId } = row;
          const bytesHash = bytesHashOf(JSON.stringify(row.headers), row.value);
          return { key, sequence, eventId, bytesHash, deleted: false, ...more };
        };
        /** One that was sent goes again, and its topic is read meanwhile. Its events, the older first, and the replay. */
        const overtaken = async () => {
          for (const content of ['a', 'b']) await hand.publish('1', content);
          const rows = await hand.records();
          await hand.store.markSent(rows.map((record, nth) => sentTo(record, 2, String(7 + nth))));
          const run = await hand.store.beginReplay('x');
          const step = { ...stepOf(run, 99), counts: { selected: 2, keys: 1, replayed: 0 } };
          expect(await hand.store.resendNewest(step, rowsOf(rows))).toBe(1);
          const stranger = foundOf(rows[1]!, { sequence: 9, eventId: 'stranger', offset: '8' });
          const page =
            why === 'records are gone'
              ? { topic, partition: 1, from: null, nextOffset: '9', records: [], lost: 3 }
              : { topic, partition: 1, from: null, nextOffset: '9', records: [stranger] };
          expect(await hand.store.noteFound(page)).toBeGreaterThan(0);
          return { rows, run };
        };

        test('stands as it was sent, and the replay and its event tell that it did not go', async () => {
          const { rows, run } = await overtaken();
          expect([await hand.store.unsentCount(), await hand.store.replayPending(run.replay)]).toEqual([
            0, 0,
          ]);
          const { steps } = (await hand.store.explain(rows[1]!.eventId))!;
          expect(steps.at(-1)).toMatchObject({
            step: 'replay-refused',
            replay: run.replay,
            text: expect.stringContaining('did not send'),
          });
          expect(await hand.store.endReplay(run.replay)).toEqual([
            { reason: 'store-behind', records: 1, events: [rows[1]!.eventId] },
          ]);
        });

        test('is set aside where it had to go again later, and Kafka refused that', async () => {
          const { rows } = await overtaken();
          await hand.store.noteFound({
            topic,
            partition: 2,
            from: null,
            nextOffset: '11',
            records: [foundOf(rows[0]!, { offset: '10' })],
          });
          await hand.store.allFound();
          const again = await hand.records();
          expect(rowsOf(again)).toEqual([rows[1]!.row]);
          await hand.store.quarantineRecord(again[0]!, 'record-too-large', 'x');
          expect(await hand.store.listQuarantine({ limit: 9, after: null })).toMatchObject([
            { reason: 'record-too-large' },
          ]);
        });
      },
    );

    test('an event that was decided meanwhile goes out after the repeat', async () => {
      await hand.publish('1', 'a');
      await sendToKafka();
      const run = await hand.store.beginReplay('x');
      await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
      await hand.publish('1', 'b');
      expect((await hand.records()).map((row) => row.sequence)).toEqual([1, 2]);
    });

    test('what a replay has still to send is told, whatever else is unsent', async () => {
      await hand.publish('1', 'a');
      await hand.publish('2', 'a');
      await sendToKafka();
      const run = await hand.store.beginReplay('x');
      await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
      await hand.publish('3', 'a');
      expect(await hand.store.replayPending(run.replay)).toBe(2);
      expect(await hand.store.replayPending(run.replay + 1)).toBe(0);
      expect(await hand.store.replayPending(run.replay + 1, 0)).toBe(2);
      expect(await hand.store.replayPending(run.replay - 1, 0)).toBe(0);
      await sendToKafka();
      expect(await hand.store.replayPending(run.replay)).toBe(0);
    });

    test('much that is unsent is counted up to a bound, and what a replay has still to send exactly', async () => {
      await hand.publish('1', 'a');
      await sendToKafka();
      const run = await hand.store.beginReplay('x');
      await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
      hand.store = await under.damage(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${unsentMany})
         INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, cause, decided_at)
         SELECT 'e' || i, 't', '1/equipment/' || i, 0, 1, '[]', '{}', 9, 'sync 1', 0 FROM n`,
      );
      expect(await hand.store.unsentCount()).toBe(100_000);
      expect((await hand.store.counts()).unsent).toBe(100_000);
      expect(await hand.store.replayPending(run.replay)).toBe(1);
    });

    test('the journal keeps the first place of an event and adds that of the repeat', async () => {
      await hand.publish('1', 'a');
      const [row] = await sendToKafka();
      const run = await hand.store.beginReplay('x');
      await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
      const steps = async () => (await hand.store.explain(row!.eventId))!.steps.map(({ step }) => step);
      expect(await steps()).toEqual(['hinted', 'decided', 'published', 'sent', 'replaying']);
      const before = await hand.store.explain(row!.eventId);
      await sendToKafka();
      const after = await hand.store.explain(row!.eventId);
      expect(after!.steps.at(-2)).toEqual(before!.steps.at(-2));
      expect(after!.steps.at(-1)).toMatchObject({
        step: 'replayed',
        topic,
        partition: 2,
        offset: String(nextOffset - 1),
        replay: run.replay,
      });
      const { events } = await hand.store.listEvents({
        after: 0,
        limit: 9,
        type: null,
        organizationId: null,
      });
      expect(events).toHaveLength(1);
    });

    test('what only the embedded log has is not sent again', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      const run = await hand.store.beginReplay('x');
      expect(await hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()))).toBe(0);
    });

    test('a selection is by event, by key, by organization or by kind', async () => {
      await hand.publish('1', 'a');
      await hand.publish('2', 'a', { organizationId: '99' });
      const [first] = await sendToKafka();
      const keys = async (selection: Partial<ReplaySelection>) =>
        (await select(selection)).map(({ key }) => key);
      expect(await keys({ events: [first!.eventId] })).toEqual([first!.key]);
      expect(await keys({ keys: [first!.key, 'x/y/z'] })).toEqual([first!.key]);
      expect(await keys({ organizationId: '99' })).toEqual(['99/equipment/2']);
      expect(await keys({ organizationId: '9' })).toEqual([]);
      await hand.publish('3', 'a', { organizationId: 'abc' });
      await hand.publish('4', 'a', { organizationId: 'ABC' });
      await hand.sendAll();
      expect(await keys({ organizationId: 'abc' })).toEqual(['abc/equipment/3']);
      const ofAbc = { after: 0, limit: 10, type: null, organizationId: 'abc' };
      expect((await hand.store.listEvents(ofAbc)).events.map(({ record }) => record.key)).toEqual([
        'abc/equipment/3',
      ]);
      // The id of an organization, and not how keys begin.
      for (const organizationId of ['abc/equipment', 'abc/equipment/3', 'abc/', 'ab', '']) {
        expect(await keys({ organizationId })).toEqual([]);
        expect((await hand.store.listEvents({ ...ofAbc, organizationId })).events).toEqual([]);
      }
      expect(await keys({ kind: 'equipment' })).toHaveLength(4);
      expect(await keys({ kind: 'field-operation' })).toEqual([]);
    });

    test('a page looks at a bounded number of rows and says where the next begins', async () => {
      for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
      await sendToKafka();
      const first = await hand.store.selectReplay(all, 0, 1e9, 2);
      expect(first.events).toHaveLength(2);
      const second = await hand.store.selectReplay(all, first.after!, 1e9, 2);
      expect(second).toMatchObject({ after: null, events: [{ newest: true }] });
    });

    describe('a replay that was left', () => {
      const soonMs = 600_000;
      const begin = (asked: string) => hand.store.beginReplay(asked, soonMs);
      const counts = { selected: 1, keys: 1, replayed: 0 };
      let begun: ReplayRun;
      let row: number;
      let leftAtMs: number;
      beforeEach(async () => {
        await hand.publish('1', 'a');
        await sendToKafka();
        begun = await begin('x');
        row = (await select())[0]!.row;
        leftAtMs = under.nowMs();
        await hand.store.resendNewest({ ...stepOf(begun, row), counts }, [row]);
      });
      const anew = { leftAtMs: null, after: 0, counts: { selected: 0, keys: 0, replayed: 0 } };

      test('goes on where its last page ended, to what is there now', async () => {
        expect(begun).toMatchObject({ ...anew, until: row });
        await hand.publish('2', 'a');
        await hand.reopenLater();
        under.advance(soonMs / 2);
        const run = await begin('x');
        expect(run).toEqual({
          replay: begun.replay,
          leftAtMs,
          after: row,
          until: row + 1,
          counts: { ...counts, replayed: 1 },
        });
        expect(await begin('x')).toEqual(run);
      });

      test('is ended once it was left for so long, or is asked for without a time, and another begins', async () => {
        expect(await hand.store.beginReplay('x')).toMatchObject(anew);
        expect(await hand.store.resendNewest({ ...stepOf(begun, row), counts }, [row])).toBeNull();
      });

      test.each([
        ['later', soonMs],
        ['before, by a clock that was set back', -soonMs],
      ])('begins anew %s', async (_when, ms) => {
        under.advance(ms);
        const run = await begin('x');
        expect(run).toMatchObject(anew);
        expect(run.replay).toBeGreaterThan(begun.replay);
      });

      test('begins anew when another was begun since, or it had ended', async () => {
        expect(await begin('y')).toMatchObject(anew);
        const again = await begin('x');
        expect(again).toMatchObject(anew);
        await hand.store.endReplay(again.replay);
        expect(await begin('x')).toMatchObject(anew);
      });

      test('begins anew when nothing was done of it', async () => {
        const again = await hand.store.beginReplay('x');
        await hand.publish('2', 'a');
        const run = await begin('x');
        expect(run).toMatchObject({ ...anew, until: row + 1 });
        expect(run.replay).toBeGreaterThan(again.replay);
      });
    });

    test('what a topic does not take of history for its size is counted, told, and not asked of it again', async () => {
      await hand.publish('1', 'a');
      await hand.publish('2', 'a');
      await sendToKafka();
      const run = await hand.store.beginReplay('x');
      const [first, second] = await select();
      const sent = [sentTo(first!, 0, '7')];
      expect(await hand.store.noteHistory(stepOf(run, second!.row), 'audit', sent, [second!.row])).toBe(1);
      expect(await hand.store.endReplay(run.replay)).toEqual([
        { reason: 'record-too-large', records: 1, events: [second!.eventId] },
      ]);
      const { steps } = (await hand.store.explain(address('2')))!;
      expect(steps).toContainEqual(expect.objectContaining({ step: 'replay-refused', topic: 'audit' }));
      expect(await hand.store.ledger()).toMatchObject({ published: 2 });
    });

    test('of what a topic does not take of history the first five are named, over all its steps', async () => {
      for (let nth = 0; nth < 7; nth += 1) await hand.publish(String(nth), 'a');
      await sendToKafka();
      const events = await select();
      const rows = rowsOf(events);
      const counts = { selected: 7, keys: 7, replayed: 0 };
      const pass = async (from: number, to: number) => {
        const run = await hand.store.beginReplay('x', 1000);
        const lacked = rows.slice(from, to).toReversed();
        const step = { ...stepOf(run, rows[to - 1]!), counts };
        expect(await hand.store.noteHistory(step, 'audit', [], lacked)).toBe(0);
        return run.replay;
      };
      const replay = await pass(0, 3);
      expect(await pass(3, 7)).toBe(replay);
      const named = events.slice(0, 5).map(({ eventId }) => eventId);
      expect(await hand.store.endReplay(replay)).toEqual([
        { reason: 'record-too-large', records: 7, events: named },
      ]);
    });

    describe('a step of a replay is nothing', () => {
      const lease = { name: replayLease, holder: 'a' };
      const sent = (rows: number[]) => rows.map((row) => ({ row, partition: 0, offset: '7' }));
      let run: ReplayRun;
      let row: number;
      beforeEach(async () => {
        await hand.publish('1', 'a');
        await hand.publish('2', 'a');
        await sendToKafka();
        run = await hand.store.beginReplay('x');
        row = (await select())[0]!.row;
        await hand.store.holdLease(lease.name, lease.holder, 1000);
      });
      const stepOn = (after: number) => ({ ...stepOf(run, after), lease });
      /** Each way to move it on: answers null, and leaves no unsent row, no due task and no line. */
      const expectNothing = async (after: number) => {
        const { store } = hand;
        const before = await store.explain(address('1'));
        expect(await store.noteHistory(stepOn(after), 'audit', sent([row]))).toBeNull();
        expect(await store.resendNewest(stepOn(after), [row])).toBeNull();
        expect(await store.readAgain(stepOn(after), [row])).toBeNull();
        expect(await store.unsentCount()).toBe(0);
        expect(await store.take(9)).toEqual([]);
        expect(await store.explain(address('1'))).toEqual(before);
      };

      test('once its lease ran out, or is another holder', async () => {
        under.advance(1000);
        await expectNothing(row);
        await hand.store.holdLease(lease.name, 'b', 1000);
        await expectNothing(row);
      });

      test('once it has ended', async () => {
        await hand.store.endReplay(run.replay);
        await expectNothing(row);
      });

      test('once it is further: it only goes on', async () => {
        expect(await hand.store.noteHistory(stepOn(row + 1), 'audit', sent([row, row + 1]))).toBe(2);
        await expectNothing(row);
      });

      test('where the replay does not stand at its beginning', async () => {
        const behind = { ...stepOn(row + 1), from: row };
        expect(await hand.store.noteHistory(behind, 'audit', sent([row]))).toBeNull();
        expect(await hand.store.resendNewest(behind, [row])).toBeNull();
        expect(await hand.store.readAgain(behind, [row])).toBeNull();
        expect(await hand.store.unsentCount()).toBe(0);
      });
    });

    test('resources of the newest events are due for one read each, and their journey says why', async () => {
      await hand.publish('1', 'a');
      await hand.publish('1', 'b');
      await sendToKafka();
      const run = await hand.store.beginReplay('x');
      expect(await hand.store.readAgain(stepOf(run, 9), rowsOf(await select()))).toBe(1);
      expect((await hand.store.take(10)).map((task) => task.address)).toEqual([address('1')]);
      const steps = (await hand.store.explain(address('1')))!.steps;
      expect(steps).toContainEqual(expect.objectContaining({ step: 'read-again', replay: run.replay }));
    });

    test.each<[string, () => Promise<unknown>]>([
      ['its first', async () => {}],
      [
        'one after what was sent',
        async () => {
          await sendToKafka();
          await hand.publish('1', 'b');
        },
      ],
      [
        'one that another replay sends again',
        async () => {
          await sendToKafka();
          const run = await hand.store.beginReplay('x');
          return hand.store.resendNewest(stepOf(run, 9), rowsOf(await select()));
        },
      ],
    ])(
      'a resource is due whose newest event waits to be sent, as %s, and that goes out all the same',
      async (_as, bring) => {
        await hand.publish('1', 'a');
        await bring();
        const unsent = await hand.records();
        const run = await hand.store.beginReplay('y');
        const selected = await select({ withReading: true });
        expect(selected.at(-1)).toMatchObject({ newest: true, reading: 'now' });
        expect(await hand.store.readAgain(stepOf(run, 9), rowsOf(selected))).toBe(1);
        expect((await hand.store.take(10)).map((task) => task.address)).toEqual([address('1')]);
        expect(unsent).toHaveLength(1);
        expect(await hand.records()).toEqual(unsent);
      },
    );

    describe('a resource that was set aside', () => {
      beforeEach(async () => {
        await hand.publish('1', 'a');
        await sendToKafka();
        await hand.put([hintOf('1')]);
        await hand.quarantine(await hand.take());
      });
      const readThem = async () => {
        const run = await hand.store.beginReplay('x');
        return hand.store.readAgain(stepOf(run, 9), rowsOf(await select()));
      };

      test('gets one attempt, not before the gap after its last read, and waits for no operator any more', async () => {
        expect(await readThem()).toBe(1);
        expect(await hand.quarantined()).toEqual([]);
        expect(await hand.store.take(10)).toEqual([]);
        under.advance(1000);
        const task = await hand.take();
        // A notification announced it, as it did before.
        expect(task).toMatchObject({ reconciled: false, deliveryId: 'd2' });
        await hand.finish(task, draftOf('1', 'b'));
        const [event] = await hand.records();
        const { steps } = (await hand.store.explain(event!.eventId))!;
        expect(steps.map(({ step }) => step).slice(0, 2)).toEqual(['hinted', 'read-again']);
        expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 2, published: 2, quarantined: 0 });
      });

      test('is entered anew when that attempt fails, and its journey tells of both and of the replay between', async () => {
        await readThem();
        under.advance(1000);
        await hand.quarantine(await hand.take());
        expect(await hand.quarantined()).toEqual(['no-access']);
        const { steps } = (await hand.store.explain(address('1')))!;
        expect(steps.map(({ step }) => step)).toEqual(expect.arrayContaining(['read-again', 'quarantined']));
        expect(steps.filter(({ step }) => step === 'quarantined')).toHaveLength(2);
      });
    });

    test('a resource whose newest event came through another address of it is read where it stands, also when set aside', async () => {
      await hand.publish('1', 'a');
      await hand.put([aliasHintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'));
      await sendToKafka();
      under.advance(1000);
      await hand.put([hintOf('1')]);
      await hand.quarantine(await hand.take());
      under.advance(1000);
      const run = await hand.store.beginReplay('x');
      expect(await hand.store.readAgain(stepOf(run, 9), rowsOf(await select()))).toBe(1);
      expect(await hand.quarantined()).toEqual([]);
      const [task, ...others] = await hand.store.take(10);
      expect([task?.address, others]).toEqual([address('1'), []]);
      await hand.finish(task!, draftOf('1', 'c'), { reconciled: task!.reconciled });
      const [row] = await hand.records();
      const { steps } = (await hand.store.explain(row!.eventId))!;
      expect(steps).toContainEqual(expect.objectContaining({ step: 'read-again', replay: run.replay }));
    });

    test('a resource is read whose event came through an address that shows another one by now', async () => {
      await hand.publish('1', 'a');
      await hand.publish('2', 'a');
      await hand.put([aliasHintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'), { settleMs: 5000 });
      await sendToKafka();
      under.advance(5000);
      await hand.finish(await hand.take(), draftOf('2', 'a'));
      under.advance(1000);
      const run = await hand.store.beginReplay('x');
      const events = (await select({ keys: ['4711/equipment/1'] })).filter(({ newest }) => newest);
      expect(await hand.store.readAgain(stepOf(run, 9), rowsOf(events))).toBe(1);
      expect((await hand.store.take(10)).map((task) => task.address)).toEqual([address('1')]);
    });

    test.each([
      ['due', async () => {}],
      ['taken', async () => void (await hand.take())],
      [
        'settling',
        async () => void (await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs: 5000 })),
      ],
    ])('what is %s is read anyway, and counts', async (_state, bring) => {
      await hand.publish('1', 'a');
      await sendToKafka();
      await hand.put([hintOf('1')]);
      await bring();
      const run = await hand.store.beginReplay('x');
      expect(await hand.store.readAgain(stepOf(run, 9), rowsOf(await select()))).toBe(1);
    });

    test('of a forgotten organization nothing is due, journalled or counted; of a blocked one it waits, and counts', async () => {
      for (const [id, organizationId] of [
        ['1', '4711'],
        ['2', '99'],
      ] as const)
        await hand.publish(id, 'a', { organizationId });
      await sendToKafka();
      await hand.observe(terms, '99');
      await hand.store.forgetOrganization('4711');
      const selected = (await select({ withReading: true })).filter(({ reading }) => reading !== null);
      const unasked = (await select()).filter(({ reading }) => reading !== null);
      expect(unasked).toEqual([]);
      expect(selected.map(({ reading }) => reading)).toEqual(['forgotten', 'parked']);
      const before = await hand.store.explain(address('1'));
      const run = await hand.store.beginReplay('x');
      expect(await hand.store.readAgain(stepOf(run, 9), rowsOf(selected))).toBe(1);
      expect(await hand.store.take(10)).toEqual([]);
      expect(await hand.store.explain(address('1'))).toEqual(before);
      const views = await hand.store.listOrganizations({ limit: 9, after: null });
      expect(views.map(({ id, parked }) => [id, parked])).toEqual(
        expect.arrayContaining([
          ['4711', 0],
          ['99', 1],
        ]),
      );
    });

    test('a page names what waits to be sent, and leaves out what the replay sent that goes on', async () => {
      for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
      const records = await hand.records();
      const rows = rowsOf(records);
      await hand.store.markSent([sentTo(records[1]!, 2, '0')]);
      const run = await hand.store.beginReplay('x');
      const page = (selection: Partial<ReplaySelection> = {}, after = 0) =>
        hand.store.selectReplay({ ...all, ...selection }, after, 1e9, 100);
      const waits = async () => (await page()).events.map((event) => event.waits);
      expect(rowsOf((await page()).events)).toEqual(rows);
      expect(await waits()).toEqual(['first', null, 'first']);
      expect(rowsOf((await page({}, rows[0])).events)).toEqual([rows[1], rows[2]]);
      expect(await page({ kind: 'field-operation' })).toEqual({ events: [], after: null });
      await hand.store.noteHistory(stepOf(run, rows[0]! - 1), 'audit', [
        { row: rows[1]!, partition: 0, offset: '7' },
      ]);
      await sendToKafka();
      const left = await page({ notSentBy: run.replay });
      expect(rowsOf(left.events)).toEqual([rows[0], rows[2]]);
      expect(rowsOf((await page({ notSentBy: run.replay + 1 })).events)).toEqual(rows);
      expect(await hand.store.resendNewest(stepOf(run, rows[2]!, rows[0]! - 1), [rows[2]!])).toBe(1);
      expect(await waits()).toEqual([null, null, 'again']);
      expect(await hand.store.resendNewest(stepOf(run, rows[2]!, rows[2]!), [rows[2]!])).toBe(0);
      expect(await hand.store.replayPending(run.replay)).toBe(1);
    });

    test('history is handed out whole and in order, and each record of it is journalled with its place', async () => {
      await hand.publish('1', 'a');
      await hand.publish('1', 'b');
      const sent = await sendToKafka();
      const run = await hand.store.beginReplay('x');
      const rows = await hand.store.readHistory(rowsOf(await select()).reverse());
      expect(rows.map((row) => [row.sequence, row.value, header(row, 'ce_id')])).toEqual(
        sent.map((row) => [row.sequence, row.value, header(row, 'ce_id')]),
      );
      await hand.store.noteHistory(
        stepOf(run, 9),
        'audit',
        rows.map((record) => sentTo(record, 0, '7')),
      );
      const { steps } = (await hand.store.explain(sent[0]!.eventId))!;
      expect(steps.at(-1)).toMatchObject({ step: 'replayed', topic: 'audit', partition: 0, offset: '7' });
      expect(await hand.records()).toEqual([]);
    });
  });
}
