/**
 * A store that is behind its topics learns from them: what is known becomes sent, what is not raises sequences, and
 * nothing goes out under a number that is taken. Every store must pass.
 */
import { bytesHashOf, type OutboxRow } from '../../src/model/event';
import type { FoundRecord } from '../../src/model/topic-end';
import {
  aliasHintOf,
  draftOf,
  emptyRun,
  goneBy,
  Hand,
  heldBy,
  hintOf,
  type StoreUnderTest,
  sentTo,
  terms,
} from './store-hand';

const topic = 'tramline.equipment.v1';

export function storeBehindSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`a store behind its topics: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    const find = (records: FoundRecord[], nextOffset = '100') =>
      hand.store.noteFound({ topic, partition: 2, from: null, nextOffset, records });
    const lose = (lost: number, partition = 2, from = topic) =>
      hand.store.noteFound({ topic: from, partition, from: null, nextOffset: '100', records: [], lost });
    /** `id sequence` of each event that waits to be sent, which are sent then. */
    const sequences = async () => {
      const rows = await hand.records();
      await hand.sendAll();
      return rows.map(({ key, sequence }) => `${key.split('/').at(-1)} ${sequence}`);
    };
    /** As it stands on the topic when the relay sent it as it is. */
    const sentAt = ({ key, sequence, eventId, headers, value }: OutboxRow, offset: number): FoundRecord => ({
      ...{ key, sequence, eventId, offset: String(offset) },
      bytesHash: bytesHashOf(JSON.stringify(headers), value),
      deleted: false,
    });
    /** Acknowledged at offset 7 of its partition, and made unsent by a replay. */
    const sentAndToBeSentAgain = async (): Promise<OutboxRow> => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      await hand.store.markSent([sentTo(row!, 2, '7')]);
      const { replay } = await hand.store.beginReplay('x');
      const step = { replay, from: 0, after: 1, counts: { selected: 0, keys: 0, replayed: 0 } };
      expect(await hand.store.resendNewest(step, [row!.row])).toBe(1);
      return row!;
    };
    const stranger = (sequence: number, key = '4711/equipment/1'): FoundRecord => ({
      key,
      sequence,
      offset: String(sequence),
      eventId: `stranger${sequence}`,
      bytesHash: '',
      deleted: false,
    });
    /** Kind and id of each key whose newest event a replay would send, in the order of the events. */
    const newest = async () => {
      const all = { events: null, keys: null, organizationId: null, kind: null, withReading: false };
      const { events } = await hand.store.selectReplay(all, 0, 99, 99);
      return events.filter((event) => event.newest).map(({ key }) => key.slice(key.indexOf('/') + 1));
    };
    const named = { kind: 'equipment', id: '1' } as const;
    /** What a listing of the organization shows, on one page. */
    const list = async (organizationId: string, content: string) => {
      const { run } = await hand.store.beginRun({ organizationId: null, full: true });
      const { listings, revision } = await hand.store.openListings(run, [
        { scope: organizationId, organizationId },
      ]);
      const drafts = [draftOf('1', content, { organizationId })];
      const after = { end: true as const, whole: true, changeToken: null };
      const place = { run, listingId: listings[0]!.id, revision, connectionId: 'c1', from: null };
      return hand.store.finishPage({ ...place, drafts, hints: [], after });
    };

    test('each acknowledgement keeps where its partition goes on, and after which event', async () => {
      await hand.publish('1', 'a');
      await hand.publish('1', 'b');
      const rows = await hand.records();
      await hand.store.markSent(rows.map((record, index) => sentTo(record, 2, `${7 + index}`)));
      const last = { offset: '8', eventId: rows[1]!.eventId };
      expect(await hand.store.topicEnds()).toEqual([{ topic, partition: 2, nextOffset: '9', last }]);
    });

    test('what is read keeps after which event it goes on, and another log begins without one', async () => {
      await find([stranger(1), stranger(2)], '7');
      const end = { topic, partition: 2 };
      const last = { offset: '2', eventId: 'stranger2' };
      expect(await hand.store.topicEnds()).toEqual([{ ...end, nextOffset: '7', last }]);
      await find([], '0');
      expect(await hand.store.topicEnds()).toEqual([{ ...end, nextOffset: '0', last: null }]);
    });

    test('a leader that noted more than the store knows is given nothing, and marks nothing', async () => {
      for (const content of ['a', 'b']) await hand.publish('1', content);
      const rows = await hand.records();
      const lease = { name: 'relay', holder: 'a' };
      await hand.store.holdLease(lease.name, lease.holder, 60_000);
      await hand.store.markSent([sentTo(rows[0]!, 2, '7')], lease);
      const noted = (nextOffset: string, partition = 2) => ({
        ...lease,
        ends: [{ topic, partition, nextOffset }],
      });
      for (const lost of [noted('9'), noted('10'), noted('1', 3)]) {
        expect(await hand.store.leads(lost)).toBe(false);
        expect(await hand.store.pickUnsent(9, 1e9, [], lost)).toEqual([]);
        await hand.store.markSent([sentTo(rows[1]!, 2, '11')], lost);
      }
      expect(await hand.store.leads(noted('8'))).toBe(true);
      expect(await hand.store.pickUnsent(9, 1e9, [], noted('8'))).toEqual([rows[1]]);
      expect(await hand.store.topicEnds()).toMatchObject([{ topic, partition: 2, nextOffset: '8' }]);
      expect(await hand.store.leads({ ...noted('8'), holder: 'b' })).toBe(false);
    });

    test('an acknowledgement of what the store does not have moves no end', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      await hand.store.markSent([
        sentTo(row!, 2, '7'),
        sentTo({ row: row!.row + 1000, eventId: 'lost' }, 2, '8'),
      ]);
      expect(await hand.store.unsentCount()).toBe(0);
      expect(await hand.store.topicEnds()).toEqual([]);
    });

    test('what was written and not marked becomes sent with its place, and nothing is behind', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      expect(await find([sentAt(row!, 41)], '42')).toBe(0);
      expect(await hand.records()).toEqual([]);
      const { events } = await hand.store.listEvents({
        after: 0,
        limit: 9,
        type: null,
        organizationId: null,
      });
      expect(events).toMatchObject([{ position: 1, partition: 2, offset: '41' }]);
      expect(await hand.store.topicEnds()).toMatchObject([{ topic, partition: 2, nextOffset: '42' }]);
      expect(await hand.store.behindSince()).toBeNull();
    });

    test('what was written and not marked is told in the order in which it stands there', async () => {
      for (const content of ['a', 'b', 'c'])
        for (const id of ['1', '2']) {
          await hand.publish(id, content);
          under.advance(2000);
        }
      const rows = await hand.records();
      const places = [3, 5, 0, 1, 4, 2];
      const there = rows.map((row, at) => sentAt(row, places[at]!));
      await find(there.toSorted((left, right) => Number(left.offset) - Number(right.offset)));
      const { events } = await hand.store.listEvents({
        after: 0,
        limit: 9,
        type: null,
        organizationId: null,
      });
      expect(events.map(({ offset }) => offset)).toEqual(['0', '1', '2', '3', '4', '5']);
    });

    test('where an older event was written again after the newest of its key, that one goes again and stands last', async () => {
      for (const content of ['a', 'b']) await hand.publish('1', content);
      const rows = await hand.records();
      const at = (nth: number, offset: number) => sentAt(rows[nth]!, offset);
      const unsent = async () => (await hand.records()).map(({ sequence }) => sequence);
      expect(await find([at(0, 41), at(1, 42)], '43')).toBe(0);
      expect(await unsent()).toEqual([]);
      expect(await find([at(0, 43)], '44')).toBe(0);
      expect(await unsent()).toEqual([2]);
      expect((await hand.records())[0]).toMatchObject({ value: rows[1]!.value, headers: rows[1]!.headers });
      await find([at(1, 44)], '45');
      expect(await unsent()).toEqual([]);
      await find([at(0, 45), at(1, 46), at(0, 47)], '48');
      expect(await unsent()).toEqual([2]);
      await find([at(1, 48)], '49');
      // Read from the beginning, everything stands where it is known to stand.
      await find([at(0, 41), at(1, 42)], '49');
      expect(await unsent()).toEqual([]);
      expect(await hand.store.behindSince()).toBeNull();
    });

    test('so does the newest of a key where all of that is found at once, and nothing of it was known', async () => {
      for (const content of ['a', 'b']) await hand.publish('1', content);
      const [older, newer] = await hand.records();
      await find([sentAt(older!, 41), sentAt(newer!, 42), sentAt(older!, 43)], '44');
      expect((await hand.records()).map(({ sequence }) => sequence)).toEqual([2]);
    });

    test('so does that of each key of which an older event was written again, and none that stands after it', async () => {
      for (const id of ['1', '2', '3']) for (const content of ['a', 'b']) await hand.publish(id, content);
      await hand.publish('2', 'c');
      const rows = await hand.records();
      const places = [41, 42, 43, 44, 45, 60, 46];
      await hand.store.markSent(rows.map((record, nth) => sentTo(record, 2, String(places[nth]))));
      await find([sentAt(rows[0]!, 51), sentAt(rows[2]!, 52), sentAt(rows[4]!, 53)], '61');
      const unsent = (await hand.records()).map(({ key, sequence }) => `${key} ${sequence}`);
      expect(unsent).toEqual(['4711/equipment/1 2', '4711/equipment/2 3']);
    });

    test('what a stranger wrote twice is found as what it wrote once', async () => {
      expect(await find([stranger(2), { ...stranger(2), offset: '3' }])).toBe(1);
      await hand.store.allFound();
      await hand.publish('1', 'a');
      expect((await hand.records()).map(({ sequence }) => sequence)).toEqual([3]);
    });

    test('a key goes on above what was found, also where nothing was known of it', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      expect(await find([stranger(2), stranger(3), stranger(9, '4711/equipment/2')])).toBe(2);
      await hand.store.allFound();
      await hand.publish('1', 'b');
      await hand.publish('2', 'a');
      expect((await hand.records()).map((row) => [row.key, row.sequence])).toEqual([
        ['4711/equipment/1', 4],
        ['4711/equipment/2', 10],
      ]);
      expect(await hand.store.behindSince()).not.toBeNull();
    });

    test('what is unsent under a taken number never goes out, and the same content is published above it', async () => {
      await hand.publish('1', 'a');
      expect(await find([stranger(1)])).toBe(1);
      await hand.store.allFound();
      expect(await hand.records()).toEqual([]);
      expect(await hand.publish('1', 'a')).toMatchObject({ outcome: 'published' });
      expect((await hand.records()).map(({ sequence }) => sequence)).toEqual([2]);
    });

    test('an event that stands there with other bytes never goes out under its id, and is published above it', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      const another = { ...row!, value: `${row!.value} ` };
      expect(await find([sentAt(another, 41)], '42')).toBe(1);
      await hand.store.allFound();
      expect(await hand.records()).toEqual([]);
      expect(await hand.store.behindSince()).not.toBeNull();
      expect(await hand.store.ledger()).toMatchObject({ waiting: 1, published: 0 });
      expect(await hand.publish('1', 'a')).toMatchObject({ outcome: 'published' });
      const [above] = await hand.records();
      expect([above!.sequence, above!.eventId === row!.eventId]).toEqual([2, false]);
      await hand.sendAll();
      expect(await hand.store.ledger()).toMatchObject({ merged: 1, published: 1, waiting: 0 });
    });

    test('how far the log goes is told beside its events, whether any is asked for', async () => {
      const page = { limit: 10, type: null, organizationId: null };
      expect(await hand.store.listEvents({ ...page, after: 0 })).toEqual({ events: [], floor: 0, last: 0 });
      for (const content of ['a', 'b']) await hand.publish('1', content);
      await hand.sendAll();
      const { last } = await hand.store.listEvents({ ...page, after: 0 });
      expect(last).toBeGreaterThan(0);
      expect(await hand.store.listEvents({ ...page, after: last + 1 })).toEqual({
        events: [],
        floor: 0,
        last,
      });
      const { events } = await hand.store.listEvents({ ...page, after: last - 1 });
      expect(events.map(({ position }) => position)).toEqual([last]);
    });

    test('what was sent under a number that another wrote before it is sent, and published anew above it', async () => {
      await hand.publish('1', 'a');
      await hand.publish('2', 'a');
      const [row, other] = await hand.records();
      const before = { ...stranger(1), offset: '40' };
      expect(await find([before, sentAt(row!, 41), sentAt(other!, 42)], '43')).toBe(1);
      await hand.store.allFound();
      expect(await hand.records()).toEqual([]);
      expect(await hand.store.ledger()).toMatchObject({ published: 2, waiting: 0 });
      expect(await hand.store.behindSince()).not.toBeNull();
      expect(await hand.publish('2', 'a')).toMatchObject({ outcome: 'unchanged' });
      expect(await hand.publish('1', 'a')).toMatchObject({ outcome: 'published' });
      expect(await sequences()).toEqual(['1 2']);
    });

    test('what was sent is sent as well where the other of its number stands on a page before', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      expect(await find([{ ...stranger(1), offset: '40' }], '41')).toBe(1);
      expect(await hand.store.ledger()).toMatchObject({ published: 0, waiting: 1 });
      await find([sentAt(row!, 41)], '42');
      await hand.store.allFound();
      expect(await hand.store.ledger()).toMatchObject({ published: 1, waiting: 0 });
      expect(await hand.records()).toEqual([]);
      await hand.publish('1', 'a');
      expect(await sequences()).toEqual(['1 2']);
    });

    test('what another wrote under a lower number than what was sent after it is no reason to publish it anew', async () => {
      for (const content of ['a', 'b']) await hand.publish('1', content);
      const [first, second] = await hand.records();
      await hand.store.markSent([sentTo(first!, 2, '7')]);
      expect(await find([stranger(1), sentAt(second!, 9)], '10')).toBe(0);
      expect(await hand.publish('1', 'b')).toMatchObject({ outcome: 'unchanged' });
    });

    test('other bytes after those that were sent are no news to the store: what they tell is published anew', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      await hand.store.markSent([sentTo(row!, 2, '7')]);
      const headers = row!.headers.map(([name, text]): [string, string] => [
        name,
        name === 'traceparent' ? `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01` : text,
      ]);
      expect(await find([sentAt(row!, 7)], '8')).toBe(0);
      expect(await find([sentAt({ ...row!, headers }, 8)], '9')).toBe(1);
      await hand.store.allFound();
      await hand.publish('1', 'a');
      expect((await hand.records()).map(({ sequence }) => sequence)).toEqual([2]);
    });

    test.each([
      ['on a topic that was made anew', '0'],
      ['by whoever was fenced meanwhile', '8'],
    ])(
      'an event that a replay is to send again is no stranger where it is found at its place %s',
      async (_how, end) => {
        const row = await sentAndToBeSentAgain();
        await find([], end);
        expect(await find([sentAt(row, 7)], '8')).toBe(0);
        expect(await hand.store.behindSince()).toBeNull();
        expect(await hand.publish('1', 'a')).toMatchObject({ outcome: 'unchanged' });
      },
    );

    test('what was numbered above all that is found goes out as it is', async () => {
      for (const content of ['a', 'b', 'c']) await hand.publish('1', content);
      expect(await find([stranger(2)])).toBe(1);
      expect((await hand.records()).map(({ sequence }) => sequence)).toEqual([3]);
    });

    test('older records that retention has taken from the store are no strangers', async () => {
      for (const content of ['a', 'b', 'c']) await hand.publish('1', content);
      await hand.sendAll();
      expect(await find([stranger(2)])).toBe(0);
      expect(await hand.store.behindSince()).toBeNull();
    });

    test('what was sent once and is to be sent again never goes out under a number that is taken', async () => {
      await sentAndToBeSentAgain();
      expect(await find([stranger(2)])).toBe(1);
      expect(await hand.records()).toEqual([]);
    });

    test('a deletion that never goes out is found and published again', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      await hand.put([hintOf('1')]);
      const gone = goneBy(await hand.take());
      await hand.store.finishGone(gone);
      expect(await hand.events()).toEqual(['4711 2 deleted']);
      under.advance(1000);
      await find([stranger(2)]);
      await hand.store.allFound();
      const { run } = await hand.store.beginRun({ organizationId: null, full: true });
      expect(await hand.store.hintAbsent(run, '4711', 'equipment', 0.05)).toBe(1);
      await hand.store.finishGone(goneBy(await hand.take()));
      expect(await hand.events()).toEqual(['4711 3 deleted']);
    });

    test('what only the topics know of, and is absent where it was notified, is deleted once a read of it confirms that', async () => {
      await find([stranger(3)]);
      await hand.store.allFound();
      await hand.put([hintOf('1')]);
      await hand.store.foundAbsent({ ...heldBy(await hand.take()), againInMs: 1000, named });
      under.advance(1000);
      const again = await hand.take();
      expect(again).toMatchObject({ resource: named, organizationId: '4711' });
      expect(await hand.store.finishGone({ ...goneBy(again), named })).toMatchObject({ outcome: 'gone' });
      expect(await hand.events()).toEqual(['4711 4 deleted']);
      expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 1, gone: 1 });
      under.advance(1000);
      await hand.put([hintOf('1')]);
      expect(await hand.store.finishGone(goneBy(await hand.take()))).toMatchObject({ outcome: 'gone' });
      expect(await hand.events()).toEqual([]);
    });

    test('what only the topics know of, and is said to be gone for certain, is read as its resource before it is deleted', async () => {
      await find([stranger(3)]);
      await hand.store.allFound();
      await hand.put([hintOf('1')]);
      const first = { ...goneBy(await hand.take()), named };
      expect(await hand.store.finishGone(first)).toMatchObject({ reason: 'superseded' });
      expect(await hand.events()).toEqual([]);
      under.advance(1000);
      await hand.store.finishGone(goneBy(await hand.take()));
      expect(await hand.events()).toEqual(['4711 4 deleted']);
    });

    test.each<[string, FoundRecord[], string]>([
      ['its last event there was a deletion', [stranger(2), { ...stranger(3), deleted: true }], '1'],
      ['it stands there for another organization', [stranger(3, '9/equipment/1')], '1'],
      ['another stands there', [stranger(3, '4711/equipment/12')], '1'],
    ])('nothing is deleted of what is gone where %s', async (_what, records, id) => {
      for (const record of records) await find([record]);
      await hand.store.allFound();
      await hand.put([hintOf(id)]);
      await hand.store.finishGone({ ...goneBy(await hand.take()), named });
      expect(await hand.events()).toEqual([]);
      expect(await hand.ledgerAtRest()).toMatchObject({ accepted: 1, gone: 1 });
    });

    test('nothing is deleted of what stands at another address than the one where it is gone', async () => {
      await find([stranger(3)]);
      await hand.store.allFound();
      await list('4711', 'a');
      await hand.sendAll();
      await hand.put([aliasHintOf('1')]);
      await hand.store.finishGone({ ...goneBy(await hand.take()), named });
      expect(await hand.events()).toEqual([]);
    });

    test('what the topics know in another organization moved: it is deleted there when it is first published', async () => {
      await find([stranger(3), stranger(4, '9/equipment/1')]);
      await hand.store.allFound();
      await hand.publish('1', 'a', { organizationId: '4724' });
      expect(await hand.events()).toEqual(['4711 4 deleted', '9 5 deleted', '4724 1 created']);
      const [left] = await hand.records();
      expect(JSON.parse(left!.value)).toMatchObject({ organizationId: '4711', movedTo: '4724' });
      expect((await hand.store.explain(left!.eventId))!.steps.map(({ step }) => step)).toContain('decided');
      await hand.publish('1', 'b', { organizationId: '4724' });
      expect((await hand.events()).slice(3)).toEqual(['4724 2 updated']);
    });

    test('what a listing shows first, and the topics know in another organization, is deleted there', async () => {
      await find([stranger(3)]);
      await hand.store.allFound();
      expect(await list('4724', 'a')).toMatchObject({ changed: 1 });
      expect(await hand.events()).toEqual(['4711 4 deleted', '4724 1 created']);
      await hand.sendAll();
      await find([stranger(2, '4724/equipment/1')]);
      await hand.store.allFound();
      await list('4724', 'b');
      expect(await hand.events()).toEqual(['4724 3 updated']);
    });

    test('what the topics know in the organization where it is published is no move', async () => {
      await find([stranger(3)]);
      await hand.store.allFound();
      await hand.publish('1', 'a');
      expect(await hand.events()).toEqual(['4711 4 created']);
      await hand.publish('1', 'a', { organizationId: '4724' });
      expect((await hand.events()).slice(1)).toEqual(['4711 5 deleted', '4724 1 created']);
    });

    test('access that was to be told under a taken number is told above it', async () => {
      await hand.put([hintOf('1')]);
      await hand.observe(terms);
      expect(await hand.events()).toEqual(['4711 1 blocked']);
      const key = '4711/organization-access/4711';
      expect(await find([stranger(1, key), stranger(2, key)])).toBe(1);
      expect(await hand.events()).toEqual(['4711 3 blocked']);
      const [row] = await hand.records();
      expect(JSON.parse(row!.value)).toMatchObject({ access: 'terms-required', previousAccess: 'active' });
      expect((await hand.store.explain(row!.eventId))!.steps[0]!.text).toContain(
        'access of its organization',
      );
    });

    test('access that others told of is told anew as it is here, where the organization is known', async () => {
      await hand.put([hintOf('1')]);
      expect(
        await find([stranger(4, '4711/organization-access/4711'), stranger(1, '9/organization-access/9')]),
      ).toBe(2);
      expect(await hand.events()).toEqual(['4711 5 unblocked']);
    });

    test('access of an organization that is not known yet is told as soon as it is learned, once', async () => {
      await find([stranger(4, '9/organization-access/9')]);
      expect(await hand.events()).toEqual([]);
      const learned = [{ id: '9', name: 'North', connectionId: 'c1' }];
      for (let times = 0; times < 2; times += 1) await hand.store.learn(learned);
      expect(await hand.events()).toEqual(['9 5 unblocked']);
    });

    test('where records are gone that it did not know of, every key of their kind goes on above all that they can have had', async () => {
      for (const content of ['a', 'b']) await hand.publish('1', content);
      await hand.publish('2', 'a');
      await hand.sendAll();
      const nowMs = under.nowMs();
      expect(await lose(15)).toBe(15);
      await hand.store.allFound();
      for (const id of ['1', '2', '3']) await hand.publish(id, 'c');
      expect(await sequences()).toEqual(['1', '2', '3'].map((id) => `${id} ${nowMs + 1}`));
      await hand.publish('3', 'd');
      await lose(50_000, 1);
      await hand.store.allFound();
      for (const id of ['1', '3', '4']) await hand.publish(id, 'e');
      // A clock that was right has not come so far: two numbers, and what is gone.
      expect(await sequences()).toEqual(['1', '3', '4'].map((id) => `${id} ${nowMs + 2 + 50_001}`));
      await hand.observe(terms);
      expect(await hand.events()).toEqual(['4711 1 blocked']);
      const ends = [1, 2].map((partition) => ({ topic, partition, nextOffset: '100', last: null }));
      expect(await hand.store.topicEnds()).toEqual(expect.arrayContaining(ends));
    });

    test('where records are gone that it did not know of it is behind until a full sync, and all of their kind is published anew', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      await hand.publish('2', 'a');
      const nowMs = under.nowMs();
      await lose(15);
      expect(await hand.store.readingOn()).toBe(true);
      expect(await hand.records()).toEqual([]);
      await hand.store.allFound();
      for (const id of ['1', '2'])
        expect(await hand.publish(id, 'a')).toMatchObject({ outcome: 'published' });
      expect(await sequences()).toEqual([`1 ${nowMs + 1}`, `2 ${nowMs + 1}`]);
      const full = await hand.store.beginRun({ organizationId: null, full: true });
      expect(await hand.store.behindSince()).not.toBeNull();
      await hand.store.endRun(full.run, emptyRun, true);
      expect(await hand.store.behindSince()).toBeNull();
    });

    test('a deletion that waits where records are gone is found again, and none that went out is told twice', async () => {
      for (const id of ['1', '2']) await hand.publish(id, 'a');
      await hand.put([hintOf('1')]);
      await hand.store.finishGone(goneBy(await hand.take()));
      await hand.sendAll();
      under.advance(1000);
      await hand.put([hintOf('2')]);
      await hand.store.finishGone(goneBy(await hand.take()));
      expect(await hand.events()).toEqual(['4711 2 deleted']);
      await lose(3);
      await hand.store.allFound();
      under.advance(1000);
      const { run } = await hand.store.beginRun({ organizationId: null, full: true });
      expect(await hand.store.hintAbsent(run, '4711', 'equipment', 0.05)).toBe(1);
      await hand.store.finishGone(goneBy(await hand.take()));
      expect(await hand.records()).toMatchObject([{ key: '4711/equipment/2' }]);
    });

    test('what other lives left is judged as ever where records before it are gone: a deletion is told again', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      await hand.store.finishGone(goneBy(await hand.take()));
      await hand.sendAll();
      under.advance(1000);
      await lose(5, 1);
      expect(await find([stranger(3)])).toBe(1);
      await hand.store.allFound();
      const { run } = await hand.store.beginRun({ organizationId: null, full: true });
      expect(await hand.store.hintAbsent(run, '4711', 'equipment', 0.05)).toBe(1);
    });

    test('what other lives left is judged as ever where records before it are gone: a former place is left again', async () => {
      for (const organizationId of ['9', '4711']) await hand.publish('1', 'a', { organizationId });
      await hand.sendAll();
      await lose(5, 1);
      const moved = [stranger(3, '9/equipment/1'), { ...stranger(2), deleted: true }];
      expect(await find(moved)).toBe(2);
      await hand.store.allFound();
      await hand.publish('1', 'a');
      expect(await hand.events()).toEqual([
        expect.stringMatching(/^9 \d+ deleted$/),
        expect.stringMatching(/^4711 \d+ updated$/),
      ]);
    });

    test('where records are gone no event of their kind is replayed as the newest of its key before it is published anew', async () => {
      for (const id of ['1', '2']) await hand.publish(id, 'a');
      await hand.sendAll();
      await lose(3);
      await hand.store.allFound();
      await hand.publish('1', 'a');
      await hand.sendAll();
      expect(await newest()).toEqual(['equipment/1']);
      under.advance(40 * 86_400_000);
      for (let page = 0; page < 9; page += 1) await hand.store.sweep();
      // Each key keeps its newest, whatever is replayed.
      expect((await hand.store.explain('4711/equipment/2'))!.steps).toContainEqual(
        expect.objectContaining({ step: 'sent' }),
      );
    });

    test('a restored store goes on above what it gave after its topic was made anew, though all of that is gone', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      const given = under.nowMs() + 1;
      under.advance(1000);
      await lose(3);
      await hand.store.allFound();
      await hand.publish('1', 'b');
      expect((await hand.records())[0]!.sequence).toBeGreaterThan(given);
    });

    test('where records of access are gone it is told anew as it is here, above all that they can have had', async () => {
      await hand.put([hintOf('1')]);
      await hand.observe(terms);
      await hand.sendAll();
      await hand.publish('2', 'a', { organizationId: '9' });
      const nowMs = under.nowMs();
      await lose(4, 0, 'tramline.organization-access.v1');
      expect(await hand.events()).toEqual(['9 1 created', `4711 ${nowMs + 1} blocked`]);
    });

    const another = () =>
      hand.store.noteFound({
        topic,
        partition: 2,
        from: null,
        nextOffset: '0',
        records: [],
        anotherLog: true,
      });

    test('what is published anew is read once more: it may not be yet what a notification announced', async () => {
      const modifiedTime = '2026-01-02T00:00:00.000Z';
      await hand.publish('1', 'a', { modifiedTime });
      await find([stranger(3)]);
      await hand.store.allFound();
      await hand.put([hintOf('1')]);
      const anew = await hand.finish(await hand.take(), draftOf('1', 'a', { modifiedTime }), {
        settleMs: 5000,
      });
      expect(anew).toMatchObject({ outcome: 'published', again: true });
      under.advance(5000);
      const announced = draftOf('1', 'b', { modifiedTime: '2026-01-03T00:00:00.000Z' });
      const found = await hand.finish(await hand.take(), announced, { settleMs: 5000 });
      expect(found).toMatchObject({ outcome: 'published', again: false });
    });

    test('numbers go on above all that another log can have had, and what was sent before is replayed as it is', async () => {
      const row = await sentAndToBeSentAgain();
      const nowMs = under.nowMs();
      expect(await another()).toBe(0);
      await hand.store.allFound();
      expect(await hand.store.behindSince()).toBeNull();
      expect((await hand.records()).map(({ eventId }) => eventId)).toEqual([row.eventId]);
      await hand.sendAll();
      expect(await hand.publish('1', 'a')).toMatchObject({ outcome: 'unchanged' });
      for (const id of ['1', '3']) await hand.publish(id, 'b');
      expect(await sequences()).toEqual([`1 ${nowMs + 1}`, `3 ${nowMs + 1}`]);
      await another();
      await hand.publish('3', 'c');
      expect((await hand.records())[0]!.sequence).toBeGreaterThan(nowMs + 2);
    });

    test('the newest of a key is the one before, while Kafka refuses the first above what another log can have had', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      await another();
      await hand.store.allFound();
      await hand.publish('1', 'b');
      const [above] = await hand.records();
      await hand.store.quarantineRecord(above!, 'record-too-large', '2 MB');
      expect(await newest()).toEqual(['equipment/1']);
    });

    test.each([
      ['decided', async () => {}],
      [
        'in the embedded log alone',
        async () => {
          await hand.store.markSent([sentTo((await hand.records())[0]!, null, null)]);
          await hand.store.resendLogged(0, 1000);
          await hand.store.markSent([sentTo((await hand.records())[0]!, 0, '1')]);
        },
      ],
    ])(
      'what was %s, refused, and is released under a number that another log can have had, is published anew',
      async (_where, log) => {
        await hand.publish('1', 'a');
        await hand.sendAll();
        await hand.publish('1', 'b');
        await log();
        await hand.store.quarantineRecord((await hand.records())[0]!, 'record-too-large', '2 MB');
        await another();
        await hand.store.allFound();
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        expect(await hand.store.releaseQuarantine(entry!.id)).toBe('released');
        expect(await hand.records()).toEqual([]);
        expect(await hand.store.ledger()).toMatchObject({ waiting: 1 });
        expect(await hand.finish(await hand.take(), draftOf('1', 'b'))).toMatchObject({
          outcome: 'published',
        });
        expect((await hand.records())[0]!.sequence).toBeGreaterThan(1e12);
        await hand.sendAll();
        expect(await hand.ledgerAtRest()).toMatchObject({ merged: 1, published: 1 });
      },
    );

    test('access that was refused, and is released under a number that another log can have had, is told above it', async () => {
      await hand.put([hintOf('1')]);
      await hand.observe(terms);
      await hand.store.quarantineRecord((await hand.records())[0]!, 'record-refused', 'x');
      const from = 'tramline.organization-access.v1';
      await hand.store.noteFound({
        topic: from,
        partition: 0,
        from: null,
        nextOffset: '0',
        records: [],
        anotherLog: true,
      });
      await hand.store.allFound();
      const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
      expect(await hand.store.releaseQuarantine(entry!.id)).toBe('released');
      expect(await hand.events()).toEqual([expect.stringMatching(/^4711 \d{13} blocked$/)]);
    });

    test('a deletion of what moved, refused and released under such a number, is told once that is published anew', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      await hand.publish('1', 'a', { organizationId: '9' });
      const rows = await hand.records();
      const left = rows.find(({ key }) => key.startsWith('4711/'))!;
      await hand.store.quarantineRecord(left, 'record-refused', 'x');
      await hand.sendAll();
      await another();
      await hand.store.allFound();
      const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
      await hand.store.releaseQuarantine(entry!.id);
      await hand.publish('1', 'a', { organizationId: '9' });
      expect(await hand.events()).toContainEqual(expect.stringMatching(/^4711 \d{13} deleted$/));
    });

    test.each<{ anotherLog: true } | { lost: number }>([{ anotherLog: true }, { lost: 3 }])(
      'a place that a resource has left, of which the deletion never goes out, is left once it is published anew: %j',
      async (gone) => {
        await hand.publish('1', 'a');
        await hand.sendAll();
        await hand.publish('1', 'a', { organizationId: '9' });
        await hand.store.noteFound({
          topic,
          partition: 2,
          from: null,
          nextOffset: '0',
          records: [],
          ...gone,
        });
        await hand.store.allFound();
        expect(await hand.records()).toEqual([]);
        await hand.publish('1', 'a', { organizationId: '9' });
        expect((await hand.records()).map(({ key }) => key).sort()).toEqual([
          '4711/equipment/1',
          '9/equipment/1',
        ]);
      },
    );

    test('what waits under a number that another log can have had never goes out, and is published anew', async () => {
      await hand.publish('1', 'a');
      await hand.observe(terms);
      expect(await another()).toBe(1);
      expect(await hand.store.behindSince()).not.toBeNull();
      expect(await hand.events()).toEqual(['4711 1 blocked']);
      await hand.store.noteFound({
        ...{
          topic: 'tramline.organization-access.v1',
          partition: 0,
          from: null,
          nextOffset: '0',
          records: [],
        },
        anotherLog: true,
      });
      const [told] = await hand.records();
      expect(told!.sequence).toBeGreaterThan(1e12);
      await hand.observe({ cause: null });
      await hand.sendAll();
      await hand.store.allFound();
      expect(await hand.publish('1', 'a')).toMatchObject({ outcome: 'published' });
      expect((await hand.records())[0]!.sequence).toBeGreaterThan(1e12);
    });

    describe('what Kafka refused before the backup', () => {
      let refused: OutboxRow;
      const refuse = async (content: string): Promise<OutboxRow> => {
        await hand.publish('1', content);
        const [row] = await hand.records();
        await hand.store.quarantineRecord(row!, 'record-too-large', '2 MB');
        return row!;
      };
      /** Content and number of the event that a replay would send of the key. */
      const newestSent = async () => {
        const selection = { events: null, keys: null, organizationId: null, kind: null };
        const { events } = await hand.store.selectReplay(selection, 0, 99, 99);
        const rows = await hand.store.readHistory(events.flatMap((one) => (one.newest ? [one.row] : [])));
        return rows.map(({ value, sequence }) => [JSON.parse(value).content, sequence]);
      };
      beforeEach(async () => {
        await hand.publish('1', 'a');
        await hand.store.markSent([sentTo((await hand.records())[0]!, 2, '40')]);
        refused = await refuse('b');
      });

      test('and was released and sent after it, is published as it is found: it waits for no operator, and is what a replay sends', async () => {
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        expect(await newestSent()).toEqual([['a', 1]]);
        expect(await find([sentAt(refused, 41)], '42')).toBe(0);
        expect([await hand.quarantined(), await hand.records()]).toEqual([[], []]);
        expect(await hand.store.releaseQuarantine(entry!.id)).toBe('not-found');
        expect(await hand.store.ledger()).toMatchObject({ published: 2, quarantined: 0 });
        const page = { after: 0, limit: 9, type: null, organizationId: null };
        const { events } = await hand.store.listEvents(page);
        expect(events.at(-1)).toMatchObject({ position: 2, partition: 2, offset: '41' });
        expect(await newestSent()).toEqual([['b', 2]]);
        expect(await hand.store.behindSince()).toBeNull();
        expect(await hand.publish('1', 'b')).toMatchObject({ outcome: 'unchanged' });
      });

      test('and is found, is the newest of its key while Kafka refuses the one above it', async () => {
        await find([sentAt(refused, 41)], '42');
        await refuse('c');
        expect([await newestSent(), await hand.quarantined()]).toEqual([[['b', 2]], ['record-too-large']]);
      });

      test('and is found below another that was refused as well, leaves that one with the operator', async () => {
        const above = await refuse('c');
        expect(await find([sentAt(refused, 41)], '42')).toBe(0);
        expect([await newestSent(), await hand.quarantined()]).toEqual([[['b', 2]], ['record-too-large']]);
        await find([sentAt(above, 42)], '43');
        expect([await newestSent(), await hand.quarantined()]).toEqual([[['c', 3]], []]);
      });

      test('and an operator gave up, is published all the same where it is found', async () => {
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        await hand.store.discardQuarantine(entry!.id);
        expect(await hand.store.ledger()).toMatchObject({ published: 1, discarded: 1 });
        await find([sentAt(refused, 41)], '42');
        expect(await hand.store.ledger()).toMatchObject({ published: 2, discarded: 0 });
      });

      test('and stands there with other bytes, never goes out under its id, and nor does what is older: it is published above it', async () => {
        const another = sentAt({ ...refused, value: `${refused.value} ` }, 41);
        expect(await find([another], '42')).toBe(1);
        await hand.store.allFound();
        expect([await hand.quarantined(), await newestSent()]).toEqual([[], []]);
        expect(await hand.store.ledger()).toMatchObject({ published: 1, quarantined: 0, waiting: 1 });
        expect(await hand.publish('1', 'b')).toMatchObject({ outcome: 'published' });
        expect(await hand.events()).toEqual(['4711 3 updated']);
        await hand.sendAll();
        expect(await hand.store.ledger()).toMatchObject({ published: 2, merged: 1, waiting: 0 });
      });

      test('and something newer of its key is found, is read once it is released, and published above that', async () => {
        expect(await find([stranger(3)])).toBe(1);
        await hand.store.allFound();
        expect(await hand.store.ledger()).toMatchObject({ published: 1, quarantined: 1 });
        const [entry] = await hand.store.listQuarantine({ limit: 9, after: null });
        expect(await hand.store.releaseQuarantine(entry!.id)).toBe('released');
        expect(await hand.records()).toEqual([]);
        await hand.finish(await hand.take(), draftOf('1', 'b'));
        expect(await hand.events()).toEqual(['4711 4 updated']);
        expect(await hand.ledgerAtRest()).toMatchObject({ published: 1, merged: 1 });
      });

      test('and is found with what is newer, is published, and so is what is read then', async () => {
        expect(await find([sentAt(refused, 41), stranger(3)])).toBe(1);
        await hand.store.allFound();
        expect([await hand.quarantined(), await newestSent()]).toEqual([[], []]);
        await hand.publish('1', 'b');
        expect(await hand.events()).toEqual(['4711 4 updated']);
        expect(await hand.ledgerAtRest()).toMatchObject({ published: 3 });
      });
    });

    test('nothing is taken while the topics are still read', async () => {
      await hand.put([hintOf('5')]);
      await find([]);
      expect(await hand.store.readingOn()).toBe(false);
      await find([stranger(1)]);
      expect(await hand.store.readingOn()).toBe(true);
      expect(await hand.store.take(10)).toEqual([]);
      expect(await hand.store.nextDueInMs('task')).toBeGreaterThan(0);
      await hand.store.allFound();
      expect(await hand.store.readingOn()).toBe(false);
      expect(await hand.store.take(10)).toHaveLength(1);
    });

    test('the journey of what is set aside says at its own time that it never goes out from here, and why', async () => {
      await hand.publish('1', 'a');
      const [row] = await hand.records();
      await find([stranger(1)]);
      await hand.store.allFound();
      under.advance(60_000);
      for (const asked of [row!.eventId, 'd1']) {
        const [decided, last] = (await hand.store.explain(asked))!.steps.slice(-2);
        const text = expect.stringMatching(
          new RegExp(`^event ${row!.eventId} .*held sequence 1 .*under this id`),
        );
        expect(last).toMatchObject({ step: 'set-aside', at: decided!.at, eventId: row!.eventId, text });
      }
      await hand.publish('1', 'a');
      const { steps } = (await hand.store.explain(hintOf('1').address))!;
      const told = steps.map(({ step }) => step).filter((step) => /decided|set-aside|unsent/.test(step));
      expect(told).toEqual(['decided', 'set-aside', 'decided', 'unsent']);
    });

    test('what is set aside waits for its own resource, also where its address shows another one by now', async () => {
      for (const id of ['1', '2']) await hand.publish(id, 'a');
      await hand.sendAll();
      await hand.put([aliasHintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'), { settleMs: 5000 });
      under.advance(5000);
      await hand.finish(await hand.take(), draftOf('2', 'a'));
      await find([stranger(2)]);
      await hand.store.allFound();
      const line = async () => (await hand.store.explain('d3'))!.steps[1]!.ledger;
      expect([await line(), await hand.store.ledger()]).toMatchObject([
        'waiting',
        { published: 2, waiting: 1 },
      ]);
      await hand.publish('1', 'b');
      await hand.sendAll();
      expect([await line(), await hand.store.ledger()]).toMatchObject([
        'merged',
        { published: 3, merged: 1 },
      ]);
    });

    test('an event of what a sync missed is traced to its run', async () => {
      await hand.publish('1', 'a');
      await hand.sendAll();
      const { run } = await hand.store.beginRun({ organizationId: null, full: true });
      await hand.store.hintAbsent(run, '4711', 'equipment', 0.05);
      await hand.store.finishGone(goneBy(await hand.take()));
      const [row] = await hand.records();
      const { steps } = (await hand.store.explain(row!.eventId))!;
      expect(steps.map(({ step }) => step)).toEqual(['listed', 'decided', 'gone', 'unsent']);
      expect(steps[0]).toMatchObject({ run });
    });

    test('what is set aside waits in the ledger until it is published anew, and is merged then', async () => {
      await hand.publish('1', 'a');
      await find([stranger(1)]);
      await hand.store.allFound();
      const line = async () => (await hand.store.explain('d1'))!.steps[1]!.ledger;
      expect(await hand.store.ledger()).toMatchObject({ accepted: 1, waiting: 1, published: 0 });
      expect(await line()).toBe('waiting');
      await hand.publish('1', 'a');
      await hand.sendAll();
      expect(await line()).toBe('merged');
      expect(await hand.store.ledger()).toMatchObject({ accepted: 2, merged: 1, published: 1, waiting: 0 });
    });

    test('what is to be published anew is listed whole, also by the sync after the one that cannot list it', async () => {
      const { run } = await hand.store.beginRun({ organizationId: null, full: false });
      const names = ['4711', '9'].map((organizationId) => ({ scope: organizationId, organizationId }));
      const { listings, revision } = await hand.store.openListings(run, names);
      for (const { id: listingId } of listings) {
        const after = { end: true as const, whole: true, changeToken: { token: 't', asked: 'a' } };
        const page = {
          run,
          listingId,
          revision,
          connectionId: 'c1',
          from: null,
          drafts: [],
          hints: [],
          after,
        };
        await hand.store.finishPage(page);
      }
      await find([stranger(1)]);
      const again = await hand.store.openListings(run + 1, names);
      expect(again.listings.map(({ changeToken }) => changeToken?.token ?? null)).toEqual([null, 't']);
    });

    test('a sync that began before the last of it was found does not end it', async () => {
      await find([stranger(5, '4711/equipment/9')]);
      under.advance(1000);
      const early = await hand.store.beginRun({ organizationId: null, full: true });
      under.advance(1000);
      await find([stranger(3)]);
      await hand.store.endRun(early.run, emptyRun, true);
      expect(await hand.store.behindSince()).toBe(under.nowMs());
    });

    test('a clock that was set back since it was found lets the next full sync end it, and none from before', async () => {
      const early = await hand.store.beginRun({ organizationId: null, full: true });
      under.advance(-3_600_000);
      await find([stranger(5, '4711/equipment/9')]);
      await hand.store.endRun(early.run, emptyRun, true);
      expect(await hand.store.behindSince()).not.toBeNull();
      under.advance(-3_600_000);
      const full = await hand.store.beginRun({ organizationId: null, full: true });
      await hand.store.endRun(full.run, emptyRun, true);
      expect(await hand.store.behindSince()).toBeNull();
    });

    test('it is behind until a full sync of all that began since has ended', async () => {
      const before = await hand.store.beginRun({ organizationId: null, full: false });
      await find([stranger(1)]);
      await hand.store.endRun(before.run, emptyRun, true);
      under.advance(1000);
      expect(await hand.store.behindSince()).toBe(under.nowMs() - 1000);
      const one = await hand.store.beginRun({ organizationId: '4711', full: true });
      await hand.store.endRun(one.run, emptyRun, true);
      expect(await hand.store.behindSince()).not.toBeNull();
      const left = await hand.store.beginRun({ organizationId: null, full: true });
      await hand.store.endRun(left.run, emptyRun, false);
      expect(await hand.store.behindSince()).not.toBeNull();
      const full = await hand.store.beginRun({ organizationId: null, full: true });
      await hand.store.endRun(full.run, emptyRun, true);
      expect(await hand.store.behindSince()).toBeNull();
    });
  });
}
