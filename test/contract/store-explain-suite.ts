/**
 * What every store tells of a journey: each event with its own sequence and its own place, by its id, by the delivery
 * that announced it and by every address of its resource; whatever decided it. The suite compares whole texts, so that
 * all stores tell the same.
 */
import type { ExplainStep } from '../../src/model/inspection';
import type { Element } from '../../src/model/notification';
import {
  address,
  aliasHintOf,
  aliasOf,
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

const organizationId = '4711';

export function storeExplainSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`journeys: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await open();
      hand = new Hand(under);
      nextOffset = 0;
    });
    afterEach(() => under.close());

    let nextOffset = 0;
    /** To a partition of its owner's number: each record has a place of its own. */
    const sendToKafka = async () => {
      const rows = await hand.records();
      await hand.store.markSent(
        rows.map((record) => sentTo(record, Number(record.key.split('/')[0]), String(nextOffset++))),
      );
      return rows;
    };
    const steps = async (of: string): Promise<ExplainStep[]> => (await hand.store.explain(of))!.steps;
    const names = async (of: string) => (await steps(of)).map(({ step }) => step);
    /** `key sequence -> partition@offset` of each event, in the order in which they are told. */
    const events = async (of: string): Promise<string[]> => {
      const told = await steps(of);
      return told
        .filter(({ step }) => step === 'decided')
        .map(({ eventId, key, sequence }) => {
          const sent = told.find((one) => one.step === 'sent' && one.eventId === eventId);
          return `${key} ${sequence} -> ${sent?.partition}@${sent?.offset}`;
        });
    };
    const list = async (id: string, content: string): Promise<number> => {
      const { run } = await hand.store.beginRun({ organizationId: null, full: true });
      const wanted = [{ scope: '4711/equipment', organizationId }];
      const { listings, revision } = await hand.store.openListings(run, wanted);
      await hand.store.finishPage({
        run,
        revision,
        listingId: listings[0]!.id,
        connectionId: 'c1',
        from: null,
        drafts: [draftOf(id, content)],
        hints: [],
        after: { end: true, whole: true, changeToken: null },
      });
      await hand.store.endRun(run, emptyRun, true);
      under.advance(1000);
      return run;
    };

    test.each(['a\\b', 'ab\\', 'a_b', 'a%b', 'AB'])(
      'a resource whose id is %s is told as any other',
      async (id) => {
        await hand.put([hintOf('1')]);
        await hand.finish(await hand.take(), draftOf(id, 'x', { address: address('1') }));
        const { steps } = (await hand.store.explain(address('1')))!;
        expect(steps.map(({ step }) => step)).toEqual(['hinted', 'decided', 'published', 'unsent']);
      },
    );

    test('each event of a move is told with its own sequence, topic, partition and offset', async () => {
      await hand.publish('1', 'a');
      await sendToKafka();
      await hand.put([hintOf('1')]);
      await hand.finish(await hand.takeAt(address('1')), draftOf('1', 'a', { organizationId: '9' }));
      const [left, made] = await sendToKafka();
      const before = '4711/equipment/1 1 -> 4711@0';
      const moved = ['4711/equipment/1 2 -> 4711@1', '9/equipment/1 1 -> 9@2'];
      expect(await events(left!.eventId)).toEqual([moved[0]]);
      expect(await events(made!.eventId)).toEqual([moved[1]]);
      expect(await events('d2')).toEqual(moved);
      expect(await events(address('1'))).toEqual([before, ...moved]);
      for (const { eventId } of [left!, made!])
        expect(await names(eventId)).toEqual(['hinted', 'decided', 'published', 'sent']);
      expect((await steps(left!.eventId))[0]).toMatchObject({ deliveryId: 'd2' });
      expect((await steps(left!.eventId))[1]!.text).toContain('with sequence 2 of 4711/equipment/1');
    });

    test('each event is told as what it was decided, and a move as a move, with where it went', async () => {
      await hand.publish('1', 'a');
      await hand.publish('1', 'b');
      await hand.publish('1', 'c', { archived: true });
      await hand.publish('1', 'b');
      await hand.publish('1', 'b', { organizationId: '9' });
      await hand.put([hintOf('1')]);
      await hand.store.finishGone(goneBy(await hand.take()));
      under.advance(1000);
      await hand.publish('1', 'b', { organizationId: '9' });
      const told = (await steps(address('1'))).filter(({ step }) => step !== 'hinted' && step !== 'unsent');
      const moved = { text: expect.stringContaining('since its resource moved to organization 9') };
      expect(told).toMatchObject([
        { step: 'decided', change: 'created', movedTo: null },
        { step: 'published', text: 'read and decided: published (first-seen)' },
        { step: 'decided', change: 'updated' },
        { step: 'published', text: 'read and decided: published (content)' },
        { step: 'decided', change: 'archived' },
        { step: 'published', text: 'read and decided: published (archived-flag)' },
        { step: 'decided', change: 'restored' },
        { step: 'published', text: 'read and decided: published (archived-flag)' },
        { step: 'decided', key: '4711/equipment/1', change: 'deleted', movedTo: '9', ...moved },
        { step: 'decided', key: '9/equipment/1', change: 'created', movedTo: null },
        { step: 'published', text: 'read and decided: published (moved)' },
        { step: 'decided', key: '9/equipment/1', change: 'deleted', movedTo: null },
        { step: 'gone', text: 'read and decided: gone' },
        { step: 'decided', key: '9/equipment/1', change: 'created', movedTo: null },
        { step: 'published', text: 'read and decided: published (seen-again)' },
      ]);
      const texts = told.filter(({ step }) => step === 'decided').map(({ text, eventId }) => [eventId, text]);
      expect(texts.slice(-4)).toEqual(
        [
          'deleted, since its resource moved to organization 9, with sequence 5 of 4711/equipment/1',
          'created with sequence 1 of 9/equipment/1',
          'deleted with sequence 2 of 9/equipment/1',
          'created with sequence 3 of 9/equipment/1',
        ].map((text, nth) => {
          const [eventId] = texts.slice(-4)[nth]!;
          return [eventId, `event ${eventId} was decided as ${text}`];
        }),
      );
      expect((await steps('d5'))[1]!.text).toContain('→ waiting: its event is decided (moved), not sent yet');
    });

    test('each line says which event it is of, in the order of time', async () => {
      await hand.put([hintOf('1'), hintOf('2')]);
      const [first, second] = await hand.store.take(2);
      for (const task of [second!, first!]) {
        await hand.finish(task, draftOf(task.address.split('/').at(-1)!, 'a'));
        under.advance(1000);
      }
      const unsent = await hand.records();
      const [row] = unsent;
      expect((await steps(row!.eventId)).at(-1)!.text).toBe(
        `event ${row!.eventId} waits to be sent to ${row!.topic}`,
      );
      await sendToKafka();
      under.advance(1000);
      const { replay, counts } = await hand.store.beginReplay('x');
      const places = [sentTo(row!, 0, '7')];
      await hand.store.noteHistory({ replay, from: 0, after: 0, counts }, 'audit', places);
      under.advance(1000);
      await hand.store.resendNewest({ replay, from: 0, after: 9, counts }, [row!.row]);
      const asked = ['d1', address('1'), address('2'), ...unsent.map(({ eventId }) => eventId)];
      for (const of of asked) {
        const told = await steps(of);
        expect(told.map(({ at }) => at)).toEqual(told.map(({ at }) => at).toSorted());
        for (const { text, eventId } of told.filter(({ step }) => /sent|decided|replay/.test(step)))
          expect(text).toContain(`event ${eventId} `);
      }
      expect((await names('d1')).slice(3)).toEqual([
        ...['decided', 'published', 'decided', 'published'],
        ...['sent', 'sent', 'replayed', 'replaying'],
      ]);
    });

    test('a notification to a receiver whose clock is ahead is told before the read that answers it', async () => {
      await hand.publish('1', 'a');
      await sendToKafka();
      under.advance(1000);
      const receivedAtMs = under.nowMs() + 7_200_000;
      await hand.put([hintOf('1')], { receivedAtMs });
      await hand.finish(await hand.take(), draftOf('1', 'b'));
      under.advance(1000);
      const [sent] = await sendToKafka();
      const told = ['hinted', 'decided', 'published', 'sent'];
      expect(await names(address('1'))).toEqual([...told, ...told]);
      for (const asked of [address('1'), sent!.eventId]) {
        const journey = await steps(asked);
        expect(journey.map(({ at }) => at)).toEqual(journey.map(({ at }) => at).toSorted());
        expect(journey.findLast(({ step }) => step === 'hinted')!.text).toContain(
          `at ${new Date(receivedAtMs).toISOString()} by the clock of its receiver`,
        );
      }
    });

    test('a journey is told the same by a store that was opened since, whatever it is asked by', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'));
      const [row] = (await sendToKafka()).slice(1);
      const { replay, counts } = await hand.store.beginReplay('x');
      await hand.store.resendNewest({ replay, from: 0, after: 9, counts }, [row!.row]);
      await sendToKafka();
      const asked = ['d1', 'd2', row!.eventId, address('1')];
      const before = await Promise.all(asked.map(steps));
      expect(before.map(({ length }) => length)).toEqual(expect.not.arrayContaining([0]));
      await hand.reopenLater();
      expect(await Promise.all(asked.map(steps))).toEqual(before);
    });

    test('an event is traced to the notifications that its own read covers', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      await hand.put([hintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'), { settleMs: 10 });
      under.advance(1000);
      await hand.finish(await hand.take(), draftOf('1', 'c'));
      for (const row of (await sendToKafka()).slice(1)) {
        const hinted = (await steps(row.eventId)).filter(({ step }) => step === 'hinted');
        expect(hinted.map(({ deliveryId }) => deliveryId)).toEqual(['d2', 'd3']);
      }
    });

    test('a delivery is told by its settling read, as the ledger tells it, with the event that this one decided', async () => {
      await hand.publish('1', 'a');
      await hand.put([hintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'a'), { settleMs: 30_000 });
      await sendToKafka();
      expect((await steps('d2'))[1]).toMatchObject({ ledger: 'unchanged' });
      under.advance(30_000);
      await hand.finish(await hand.take(), draftOf('1', 'b'));
      await sendToKafka();
      expect(await hand.store.ledger()).toMatchObject({ published: 2, unchanged: 0 });
      expect((await steps('d2'))[1]).toMatchObject({
        ledger: 'published',
        text: `notification 0 (equipment) ${address('1')} → published (content)`,
      });
      expect(await events('d2')).toEqual(['4711/equipment/1 2 -> 4711@1']);
    });

    test('what a sync run published is told by its address, and so is what a replay sent again', async () => {
      const run = await list('1', 'a');
      const [row] = await sendToKafka();
      const place = '4711/equipment/1 1 -> 4711@0';
      expect(await events(address('1'))).toEqual([place]);
      expect((await steps(address('1')))[0]!.text).toContain(`run ${run} of the sync found it`);
      const { replay, counts } = await hand.store.beginReplay('x');
      await hand.store.resendNewest({ replay, from: 0, after: 9, counts }, [row!.row]);
      await sendToKafka();
      expect((await steps(address('1'))).at(-1)).toMatchObject({
        step: 'replayed',
        replay,
        partition: 4711,
        offset: '1',
        eventId: row!.eventId,
      });
      under.advance(5000);
      await hand.put([hintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'a'));
      expect(await events(address('1'))).toEqual([place]);
      expect(await names(address('1'))).toEqual(['decided', 'sent', 'replayed', 'hinted', 'unchanged']);
    });

    test('what a sync or a replay had read is traced to it by the address as well', async () => {
      await hand.publish('1', 'a');
      const [row] = await sendToKafka();
      const { replay, counts } = await hand.store.beginReplay('x');
      await hand.store.readAgain({ replay, from: 0, after: 9, counts }, [row!.row]);
      await hand.finish(await hand.take(), draftOf('1', 'b'), { reconciled: true });
      under.advance(1000);
      const { run } = await hand.store.beginRun({ organizationId: null, full: true });
      await hand.store.hintAbsent(run, organizationId, 'equipment', 0.05);
      await hand.store.finishGone(goneBy(await hand.take()));
      await sendToKafka();
      const told = await steps(address('1'));
      expect(told.map(({ step }) => step).filter((step) => step !== 'sent')).toEqual([
        ...['hinted', 'decided', 'published'],
        ...['read-again', 'decided', 'published'],
        ...['listed', 'decided', 'gone'],
      ]);
      expect(told.find(({ step }) => step === 'read-again')).toMatchObject({ replay });
      expect(told.find(({ step }) => step === 'listed')).toMatchObject({ run });
    });

    test('what was read through any address of a resource is told by each of them, the newest included', async () => {
      await hand.publish('1', 'a');
      await hand.put([aliasHintOf('1')]);
      await hand.finish(await hand.takeAt(aliasOf('1')), draftOf('1', 'b'));
      under.advance(1000);
      await hand.publish('1', 'c');
      await sendToKafka();
      const all = [0, 1, 2].map((offset) => `4711/equipment/1 ${offset + 1} -> 4711@${offset}`);
      for (const asked of [address('1'), aliasOf('1')]) expect(await events(asked)).toEqual(all);
      expect(await steps(address('1'))).toEqual(await steps(aliasOf('1')));
    });

    describe('an event of a resource that was asked since another of its addresses found nothing', () => {
      const named = { kind: 'equipment', id: '1' } as const;
      /** What the read at the other address said stands published; the settling read after it finds nothing there. */
      const passOn = async ({ reconciled = false, meanwhile = async (): Promise<unknown> => null } = {}) => {
        under.advance(1000);
        const alias = await hand.takeAt(aliasOf('1'));
        await hand.finish(alias, draftOf('1', 'b'), { reconciled, settleMs: 30_000 });
        under.advance(30_000);
        const settling = await hand.takeAt(aliasOf('1'));
        await meanwhile();
        await hand.store.foundAbsent({ ...heldBy(settling), againInMs: 600_000, named });
        under.advance(1000);
      };
      const lastEvent = async () => (await sendToKafka()).at(-1)!.eventId;
      const deliveries = async (of: string) =>
        (await steps(of)).flatMap(({ deliveryId }) => (deliveryId === undefined ? [] : [deliveryId]));

      test.each([['by a notification'], ['by a sync']])(
        'is traced to the notification at that address where it was known %s',
        async (how) => {
          if (how === 'by a sync') await list('1', 'a');
          else await hand.publish('1', 'a');
          await hand.put([aliasHintOf('1')]);
          await passOn();
          await hand.store.finishGone(goneBy(await hand.take()));
          const eventId = await lastEvent();
          expect(await names(eventId)).toEqual(['hinted', 'passed-on', 'decided', 'gone', 'sent']);
          expect(await deliveries(eventId)).toEqual([how === 'by a sync' ? 'd1' : 'd2']);
          expect((await steps(eventId))[1]).toMatchObject({
            text: 'a read at another of its addresses found nothing there: the resource itself is read',
          });
          expect((await names(address('1'))).filter((step) => step === 'passed-on')).toHaveLength(1);
          expect((await steps(how === 'by a sync' ? 'd1' : 'd2'))[1]).toMatchObject({ ledger: 'published' });
          expect(await hand.store.ledger()).toMatchObject({ gone: 0, waiting: 0 });
        },
      );

      test('is traced to it also where the settling read of the resource decided it', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        await passOn();
        await hand.finish(await hand.take(), draftOf('1', 'b'), { settleMs: 30_000 });
        under.advance(30_000);
        await hand.store.finishGone(goneBy(await hand.take()));
        expect(await deliveries(await lastEvent())).toEqual(['d2']);
      });

      test('is traced to what the resource was due for as well', async () => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        await passOn({ meanwhile: () => hand.put([hintOf('1')]) });
        await hand.finish(await hand.take(), draftOf('1', 'c'), { settleMs: 30_000 });
        const eventId = await lastEvent();
        expect(await names(eventId)).toEqual([
          ...['hinted', 'hinted', 'passed-on'],
          ...['decided', 'published', 'sent'],
        ]);
        expect(await deliveries(eventId)).toEqual(['d2', 'd3']);
        under.advance(30_000);
        await hand.store.finishGone(goneBy(await hand.take()));
        expect(await deliveries(await lastEvent())).toEqual(['d2', 'd3']);
      });

      test.each([null, organizationId])('is traced to the sync of %s that named that address', async (of) => {
        await hand.publish('1', 'a');
        const { run } = await hand.store.beginRun({ organizationId: of, full: true });
        const { listings, revision } = await hand.store.openListings(run, [{ scope: 'x', organizationId }]);
        const hint = { address: aliasOf('1'), organizationId, resource: null, modifiedTime: null };
        await hand.store.finishPage({
          ...{
            run,
            revision,
            listingId: listings[0]!.id,
            connectionId: 'c1',
            from: null,
            drafts: [],
            hints: [hint],
          },
          after: { end: true, whole: true, changeToken: null },
        });
        await passOn({ reconciled: true });
        // It lists nothing of this organization.
        await hand.store.beginRun({ organizationId: '999', full: true });
        under.advance(1000);
        await hand.store.finishGone(goneBy(await hand.take()));
        const eventId = await lastEvent();
        expect(await names(eventId)).toEqual(['listed', 'passed-on', 'decided', 'gone', 'sent']);
        expect((await steps(eventId))[0]).toMatchObject({ run });
      });

      test.each(['a notification', 'a sync'])('is traced to %s that came after all that', async (what) => {
        await hand.publish('1', 'a');
        await hand.put([aliasHintOf('1')]);
        await passOn();
        await hand.finish(await hand.take(), draftOf('1', 'b'));
        under.advance(1000);
        if (what === 'a sync') {
          const { run } = await hand.store.beginRun({ organizationId: null, full: true });
          await hand.store.hintAbsent(run, organizationId, 'equipment', 0.05);
        } else await hand.put([hintOf('1')]);
        await hand.store.finishGone(goneBy(await hand.take()));
        const eventId = await lastEvent();
        const asker = what === 'a sync' ? 'listed' : 'hinted';
        expect(await names(eventId)).toEqual([asker, 'decided', 'gone', 'sent']);
        expect(await deliveries(eventId)).toEqual(what === 'a sync' ? [] : ['d3']);
      });
    });

    test('an event is traced to the sync of the organization that it is of, also once its resource has moved', async () => {
      await hand.publish('1', 'a');
      for (const id of ['4712', organizationId]) {
        const { run } = await hand.store.beginRun({ organizationId: id, full: true });
        await hand.store.endRun(run, emptyRun, true);
        under.advance(1000);
      }
      const run = 2;
      await hand.put([hintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'), { reconciled: true });
      const eventId = (await hand.records()).at(-1)!.eventId;
      const listed = async (of: string) => (await steps(of)).filter(({ step }) => step === 'listed');
      expect(await listed(eventId)).toMatchObject([{ run }]);
      under.advance(1000);
      await hand.publish('1', 'b', { organizationId: '4712' });
      expect(await listed(eventId)).toMatchObject([{ run }]);
      expect(await listed(address('1'))).toMatchObject([{ run }]);
    });

    test('a resource is told nothing of the one that was read at its address before', async () => {
      await hand.publish('1', 'a');
      await hand.put([aliasHintOf('1')]);
      await hand.finish(await hand.take(), draftOf('1', 'b'), { settleMs: 30_000 });
      under.advance(30_000);
      await hand.finish(await hand.take(), draftOf('2', 'x', { address: address('2') }));
      const told = await steps('4711/equipment/2');
      expect(told.filter(({ step }) => step === 'decided')).toMatchObject([{ key: '4711/equipment/2' }]);
      expect(told.filter(({ step }) => step === 'published')).toHaveLength(1);
    });

    test('an access event is traced to the transition, and to what said so', async () => {
      await hand.put([hintOf('1')]);
      const { epoch } = (await hand.store.access(organizationId))!;
      const observed = { organizationId, epoch, found: terms, by: 'probe', askedBy: 'notification' } as const;
      await hand.store.observe(observed);
      const [row] = await sendToKafka();
      const [transition, ...rest] = await steps(row!.eventId);
      expect(transition).toMatchObject({
        step: 'access',
        text: 'the access of its organization 4711 went from active to terms-required: so said a probe, which a notification asked for (terms)',
        organizationId,
        previous: 'active',
        access: 'terms-required',
        by: 'probe',
        askedBy: 'notification',
      });
      expect(rest.map(({ step }) => step)).toEqual(['decided', 'sent']);
    });

    describe('the access of an organization is told by the key of its records', () => {
      const key = '4711/organization-access/4711';

      test('each with what said so, its place, and where a replay sent it again', async () => {
        await hand.put([hintOf('1'), hintOf('2', '47')]);
        expect(await hand.store.explain(key)).toBeNull();
        await hand.observe(terms);
        await hand.observe(terms, '47');
        under.advance(1000);
        await hand.observe({ cause: null });
        under.advance(1000);
        const rows = await sendToKafka();
        const [blocked, unblocked] = rows.filter((row) => row.key === key);
        under.advance(1000);
        const { replay, counts } = await hand.store.beginReplay('x');
        await hand.store.resendNewest({ replay, from: 0, after: 9, counts }, [unblocked!.row]);
        expect(await hand.store.explain(key)).toMatchObject({ of: key, what: 'resource' });
        const told = await steps(key);
        expect(told.map(({ step }) => step)).toEqual([
          ...['access', 'decided', 'access', 'decided'],
          ...['sent', 'sent', 'replaying'],
        ]);
        expect(told[0]).toMatchObject({ previous: 'active', access: 'terms-required', by: 'probe' });
        expect(told[2]).toMatchObject({ previous: 'terms-required', access: 'active' });
        expect(told[1]).toMatchObject({ eventId: blocked!.eventId, change: 'blocked', sequence: 1, key });
        expect(told.at(-1)).toMatchObject({ eventId: unblocked!.eventId, replay });
        expect(await events(key)).toEqual([`${key} 1 -> 4711@0`, `${key} 2 -> 4711@2`]);
        for (const unknown of [
          '4711/organization-access/47',
          '4711/organization-access',
          '9/organization-access/9',
        ])
          expect(await hand.store.explain(unknown)).toBeNull();
      });

      test('the newest two hundred, and that there are more; a change that is not kept says expired', async () => {
        await hand.put([hintOf('1')]);
        for (let nth = 0; nth < 201; nth += 1) {
          await hand.observe(nth % 2 === 0 ? terms : { cause: null });
          under.advance(1000);
        }
        const told = await steps(key);
        const oldest = told.find(({ step }) => step === 'decided')!;
        expect(told.find(({ step }) => step === 'left-out')).toMatchObject({ at: oldest.at });
        const count = (wanted: string) => told.filter(({ step }) => step === wanted).length;
        expect(['decided', 'unsent', 'access', 'expired', 'left-out'].map(count)).toEqual([
          200, 200, 100, 100, 1,
        ]);
      });
    });

    test('every resource of a delivery is told, in one order', async () => {
      const ids = Array.from({ length: 256 }, (_, id) => String(id));
      await hand.put(ids.map((id) => hintOf(id)));
      const taken = await hand.store.take(255);
      await Promise.all(
        taken.map((task) => hand.finish(task, draftOf(task.address.split('/').at(-1)!, 'a'))),
      );
      await sendToKafka();
      const told = await names('d1');
      const count = (wanted: string) => told.filter((step) => step === wanted).length;
      expect(['hint', 'published', 'decided', 'sent', 'due'].map(count)).toEqual([256, 255, 255, 255, 1]);
      expect(told).not.toContain('left-out');
    });

    test('of each notification its type, its address, its line of the ledger and its entry are told', async () => {
      const bad: Element = {
        line: 'quarantined',
        reason: 'malformed-notification',
        path: '/metadata',
        raw: JSON.stringify({ eventTypeId: 'equipment', targetResource: address('7'), metadata: 5 }),
      };
      await hand.put([
        ...[hintOf('1'), hintOf('1'), hintOf('2'), hintOf('3')],
        { line: 'ignored', eventTypeId: 'weather', address: null },
        ...[bad, { ...bad, path: '', raw: '{"cut' }, bad],
      ]);
      await hand.finish(await hand.takeAt(address('1')), draftOf('1', 'a'));
      await sendToKafka();
      const [, forgotten, again] = await hand.store.listQuarantine({ limit: 3, after: null });
      await hand.store.discardQuarantine(forgotten!.id);
      await hand.store.rejudge(again!.id, hintOf('4'));
      const told = async () =>
        (await steps('d1')).filter(({ notification }) => notification !== undefined).map(({ text }) => text);
      expect(await told()).toEqual([
        `notification 0 (equipment) ${address('1')} → merged: one read answers it and a newer one of the same resource`,
        `notification 1 (equipment) ${address('1')} → published (first-seen)`,
        `notification 2 (equipment) ${address('2')} → waiting, taken`,
        `notification 3 (equipment) ${address('3')} → waiting, taken`,
        'notification 4 (weather) → ignored',
        `notification 5 (equipment) ${address('7')} → quarantined as q1: malformed-notification at /metadata`,
        'notification 6 (type unknown) → discarded as q2: malformed-notification, by an operator',
        `notification 7 (equipment) ${address('4')} → waiting, due; before, it was q3: malformed-notification at /metadata, which was released`,
      ]);
      expect((await steps('d1'))[7]).toMatchObject({
        notification: 6,
        ledger: 'discarded',
        entry: 'q2',
        entryState: 'discarded',
      });
    });

    test('an address of which all was set aside as it came tells of that, until something is known of it', async () => {
      const refused = (id: string): Element => ({
        line: 'quarantined',
        reason: 'malformed-notification',
        path: '/metadata',
        raw: JSON.stringify({ eventTypeId: 'equipment', targetResource: address(id), metadata: 5 }),
      });
      await hand.put([refused('77'), refused('7')]);
      const cameAt = new Date(under.nowMs()).toISOString();
      under.advance(1000);
      await hand.put([refused('7'), { line: 'ignored', eventTypeId: 'weather', address: address('8') }]);
      await hand.store.discardQuarantine('q2');
      const of = (notification: number, delivery: string, as: string) =>
        `notification ${notification} (equipment) of delivery ${delivery} named it, and was set aside as it came, as ${as}`;
      expect(await hand.store.explain(address('7'))).toMatchObject({
        what: 'resource',
        steps: [
          {
            ...{ at: cameAt, step: 'quarantined', entry: 'q2', entryState: 'discarded', deliveryId: 'd1' },
            text: of(1, 'd1', 'q2: malformed-notification at /metadata, and was discarded'),
          },
          {
            entry: 'q3',
            entryState: 'waiting',
            text: of(0, 'd2', 'q3: malformed-notification at /metadata'),
          },
        ],
      });
      for (const unknown of [address('8'), address(''), address('777'), '']) {
        expect(await hand.store.explain(unknown)).toBeNull();
      }
      await hand.publish('7', 'a');
      expect(await names(address('7'))).toEqual(['hinted', 'decided', 'published', 'unsent']);
    });

    test('an address that was set aside since it is too long is told as any other', async () => {
      const long = address(`${'7'.repeat(7000)}é`);
      const raw = JSON.stringify({ eventTypeId: 'equipment', targetResource: long });
      await hand.put([
        { line: 'quarantined', reason: 'malformed-notification', path: '/targetResource', raw },
      ]);
      expect(await steps(long)).toMatchObject([{ step: 'quarantined', entry: 'q1', deliveryId: 'd1' }]);
      expect(await hand.store.explain(`${long}7`)).toBeNull();
    });

    test('of what was set aside of an address the newest are told, and that there is more', async () => {
      const raw = JSON.stringify({ eventTypeId: 'equipment', targetResource: address('7') });
      const refused: Element = { line: 'quarantined', reason: 'malformed-notification', path: '', raw };
      await hand.put(Array.from({ length: 201 }, () => refused));
      const told = await steps(address('7'));
      expect([told.length, told[0], told[1]]).toMatchObject([201, { step: 'left-out' }, { entry: 'q2' }]);
      const longer = JSON.stringify({ eventTypeId: 'equipment', targetResource: address('77') });
      await hand.put(Array.from({ length: 202 }, () => ({ ...refused, raw: longer })));
      expect(await steps(address('7'))).toEqual(told);
    });

    test('a notification that was judged again is told by its own read', async () => {
      await hand.put([
        hintOf('1'),
        { line: 'quarantined', reason: 'malformed-notification', path: '', raw: '{}' },
      ]);
      await hand.finish(await hand.take(), draftOf('1', 'a'));
      under.advance(1000);
      const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
      await hand.store.rejudge(entry!.id, hintOf('1'));
      const lines = async () => (await steps('d1')).slice(1, 3).map(({ ledger }) => ledger);
      await sendToKafka();
      expect(await lines()).toEqual(['published', 'waiting']);
      await hand.finish(await hand.take(), draftOf('1', 'b'));
      await sendToKafka();
      expect(await lines()).toEqual(['published', 'published']);
      expect(await hand.store.ledger()).toMatchObject({ accepted: 2, published: 2 });
      expect(await events('d1')).toEqual(['4711/equipment/1 1 -> 4711@0', '4711/equipment/1 2 -> 4711@1']);
    });

    test('a resource that was set aside is told with its entry and the time of it, and when it is given up', async () => {
      await hand.put([hintOf('1'), hintOf('2')]);
      const [first] = await hand.store.take(2);
      await hand.quarantine(first!);
      const atEntry = new Date(under.nowMs()).toISOString();
      under.advance(60_000);
      const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
      const line = async () => (await steps('d1'))[1]!;
      expect(await line()).toMatchObject({ ledger: 'quarantined', entry: entry!.id, entryState: 'waiting' });
      expect((await line()).text).toContain(`→ quarantined as ${entry!.id}: ${entry!.reason}`);
      for (const asked of ['d1', address('1')])
        expect((await steps(asked)).find(({ step }) => step === 'quarantined')).toMatchObject({
          at: atEntry,
          entry: entry!.id,
          text: expect.stringContaining(`quarantined as ${entry!.id}: ${entry!.reason}`),
        });
      await hand.store.discardQuarantine(entry!.id);
      expect(await line()).toMatchObject({ ledger: 'discarded', entry: entry!.id, entryState: 'discarded' });
      const discarded = `discarded as ${entry!.id}: ${entry!.reason}, by an operator`;
      expect((await line()).text).toContain(`→ ${discarded}`);
      // Nothing was read by that; why it was set aside is told as before.
      for (const asked of ['d1', address('1')]) {
        const told = (await steps(asked)).filter((step) => ['quarantined', 'discarded'].includes(step.step));
        expect(told).toMatchObject([
          {
            at: atEntry,
            entry: entry!.id,
            detail: entry!.detail,
            text: `quarantined as ${entry!.id}: ${entry!.reason}`,
          },
          { entry: entry!.id, entryState: 'discarded', text: discarded },
        ]);
        expect(JSON.stringify(await steps(asked))).not.toContain('read and decided');
      }
    });

    test('a resource that was released is told with what it was set aside as, and with what came of it', async () => {
      await hand.put([hintOf('1')]);
      const [first] = await hand.store.take(1);
      await hand.quarantine(first!);
      const atEntry = new Date(under.nowMs()).toISOString();
      under.advance(60_000);
      const [entry] = await hand.store.listQuarantine({ limit: 1, after: null });
      await hand.store.releaseQuarantine(entry!.id);
      const aside = {
        at: atEntry,
        step: 'quarantined',
        entry: entry!.id,
        entryState: 'released',
        detail: entry!.detail,
        text: `quarantined as ${entry!.id}: ${entry!.reason}, and tried once more since`,
      };
      const told = async () => (await steps(address('1'))).slice(1);
      expect(await told()).toMatchObject([aside, { step: 'due', entry: null }]);
      const [again] = await hand.store.take(1);
      await hand.finish(again!, draftOf('1', 'a'));
      expect((await told()).slice(0, 3)).toMatchObject([aside, { step: 'decided' }, { step: 'published' }]);
    });

    test('what waited for an organization that was forgotten is told so, and as what it was set aside', async () => {
      await hand.put([hintOf('1', '99'), hintOf('2', '99')]);
      const [first] = await hand.store.take(1);
      await hand.quarantine(first!);
      under.advance(1000);
      await hand.store.discardQuarantine('q1');
      under.advance(1000);
      await hand.put([hintOf('1', '99'), hintOf('3', '99')]);
      await hand.quarantine(await hand.takeAt(address('3')));
      under.advance(1000);
      await hand.store.forgetOrganization('99');
      const texts = async (of: string) => (await steps(of)).map(({ text }) => text);
      const forgotten = 'since an operator forgot its organization';
      expect((await texts('d2')).slice(1, 3)).toEqual([
        `notification 0 (equipment) ${address('1')} → discarded, ${forgotten}`,
        `notification 1 (equipment) ${address('3')} → discarded as q2: no-access, ${forgotten}`,
      ]);
      expect((await texts(address('1'))).slice(-2)).toEqual([
        'delivery d2 said that it changed',
        `discarded, ${forgotten}`,
      ]);
      expect((await texts(address('3'))).slice(-2)).toEqual([
        'quarantined as q2: no-access',
        `discarded as q2: no-access, ${forgotten}`,
      ]);
    });

    test('what came for an organization that was forgotten before is told so', async () => {
      await hand.put([hintOf('1', '99')]);
      await hand.store.forgetOrganization('99');
      await hand.put([hintOf('2', '99')]);
      const last = async (of: string) => (await steps(of)).at(-1)?.text;
      expect(await last(address('2'))).toBe('now parked: its organization is forgotten');
      expect(await last('d2')).toBe('now parked: its organization is forgotten');
      await hand.observe({ cause: 'terms', actionUrl: null, message: null }, '99');
      expect(await last(address('2'))).toBe('now parked: its organization is terms-required');
    });

    test('where a bound is, what it leaves out is said', async () => {
      await hand.publish('1', 'a');
      const [row] = await sendToKafka();
      await hand.put(Array.from({ length: 250 }, () => hintOf('1')));
      const { replay, counts } = await hand.store.beginReplay('x');
      const again = Array.from({ length: 201 }, () => sentTo(row!, 0, '7'));
      await hand.store.noteHistory({ replay, from: 0, after: 9, counts }, 'audit', again);
      const told = await steps(address('1'));
      const of = (wanted: string) => told.filter(({ step }) => step === wanted);
      expect([of('hinted').length, of('replayed').length]).toEqual([200, 200]);
      expect(
        of('left-out')
          .map(({ text }) => text)
          .sort(),
      ).toEqual([
        'the newest 200 notifications of it are told here, older ones are not',
        'the newest 200 times that it was sent again are told here, older ones are not',
      ]);
      expect(of('hinted')[0]).toMatchObject({ generation: 52 });
    });

    describe('what retention took', () => {
      const dayMs = 86_400_000;
      const bad: Element = { line: 'quarantined', reason: 'malformed-notification', path: '/x', raw: '{}' };
      const sweepLater = async () => {
        under.advance(40 * dayMs);
        await hand.put([hintOf('9')]);
        while ((await hand.store.sweep()).more);
      };

      test('an event that was taken is told as expired, by its id, its delivery and its address', async () => {
        // What waits for an operator keeps its delivery.
        await hand.put([bad, hintOf('1')]);
        await hand.finish(await hand.take(), draftOf('1', 'a'));
        under.advance(1000);
        await hand.publish('1', 'b');
        const [taken, kept] = await sendToKafka();
        await sweepLater();
        const { eventId } = taken!;
        const journey = [
          'delivery d1 said that it changed',
          'read and decided: published (first-seen)',
          `event ${eventId}, which it decided, is no longer kept`,
        ];
        const texts = async (of: string) => (await steps(of)).map(({ text }) => text);
        expect(await texts(eventId)).toEqual(journey);
        expect((await texts('d1')).slice(-2)).toEqual(journey.slice(1));
        expect((await texts(address('1'))).slice(0, 3)).toEqual(journey);
        expect((await steps(address('1'))).at(-1)).toMatchObject({ step: 'sent', eventId: kept!.eventId });
        expect(await names('d2')).toEqual(['expired']);
      });

      test('an event whose read was taken is told, and that what led to it is not', async () => {
        await hand.publish('1', 'a');
        const [row] = await sendToKafka();
        await sweepLater();
        for (const asked of [row!.eventId, address('1')]) {
          expect(await names(asked)).toEqual(['expired', 'decided', 'sent']);
          expect(await events(asked)).toEqual(['4711/equipment/1 1 -> 4711@0']);
        }
      });

      test('a resource is found by the key of its records, also by that of an organization that it left', async () => {
        await hand.publish('1', 'a');
        under.advance(1000);
        await hand.publish('1', 'b', { organizationId: '4712' });
        const journey = await steps(address('1'));
        expect(journey.filter(({ step }) => step === 'decided').length).toBeGreaterThan(1);
        for (const organization of ['4711', '4712'])
          expect(await steps(`${organization}/equipment/1`)).toEqual(journey);
        expect(await hand.store.explain('4711/field-operation/1')).toBeNull();
        expect(await hand.store.explain('9999/equipment/1')).toBeNull();
        expect(await hand.store.explain('4711')).toBeNull();
      });

      test('what had an event read says the replay as well, where the notification is not kept', async () => {
        await hand.publish('1', 'a');
        const [row] = await sendToKafka();
        await hand.put([hintOf('1')]);
        await hand.quarantine(await hand.take());
        for (let days = 0; days < 3; days += 1) await sweepLater();
        await hand.finish(await hand.takeAt(address('9')), draftOf('9', 'a'));
        const { replay, counts } = await hand.store.beginReplay('x');
        await hand.store.readAgain({ replay, from: 0, after: 9, counts }, [row!.row]);
        under.advance(1000);
        const task = await hand.takeAt(address('1'));
        await hand.finish(task, draftOf('1', 'b'), { reconciled: task.reconciled });
        const event = (await sendToKafka()).find(({ key }) => key.endsWith('/1'));
        expect((await names(event!.eventId)).slice(0, 2).sort()).toEqual(['expired', 'read-again']);
      });

      test('a resource of which nothing is kept says so', async () => {
        await hand.put([hintOf('1')]);
        await hand.store.finishGone(goneBy(await hand.take()));
        expect(await names(address('1'))).toEqual(['hinted', 'gone']);
        await sweepLater();
        expect(await names(address('1'))).toEqual(['expired']);
      });

      test('an event id that is not kept may have been, once something was taken', async () => {
        await hand.publish('1', 'a');
        await hand.publish('1', 'b');
        await sendToKafka();
        const unknown = '0123456789abcdef0123456789abcdef';
        expect(await hand.store.explain(unknown)).toBeNull();
        await sweepLater();
        expect((await hand.store.explain(unknown))!).toMatchObject({
          what: 'event',
          steps: [
            { step: 'expired', text: expect.stringContaining('up to position 1 only the newest'), floor: 1 },
          ],
        });
        expect(await hand.store.explain('no-event-id')).toBeNull();
      });
    });
  });
}
