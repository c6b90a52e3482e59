/**
 * What every store promises about what alerts are made of and how organizations are shown: announced actions, since when
 * work waits, whose consent was refused, what is told by a mark, pages.
 */
import { evaluate, openOf } from '../../src/alert/evaluate';
import { makeGather } from '../../src/alert/gather';
import type { Alert, AlertState } from '../../src/model/alert';
import type { OrganizationView } from '../../src/model/organization';
import {
  address,
  draftOf,
  Hand,
  heldBy,
  hintOf,
  type StoreUnderTest,
  sealedConnection,
  terms,
} from './store-hand';

const open: { cause: null } = { cause: null };
const dayMs = 86_400_000;

export function storeAlertsSuite(name: string, openStore: () => Promise<StoreUnderTest>): void {
  describe(`store alerts: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await openStore();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    test('a blocked organization comes with the time of the oldest hint that waits, also when its cause changes', async () => {
      const blocked = async () =>
        (await hand.store.alertInputs()).blocked.map(({ parked, waitsSinceMs }) => [parked, waitsSinceMs]);
      const firstMs = under.nowMs();
      await hand.put([hintOf('a')]);
      under.advance(5 * dayMs);
      await hand.put([hintOf('a'), hintOf('b')]);
      await hand.observe(terms);
      expect(await blocked()).toEqual([[2, firstMs]]);
      under.advance(dayMs);
      await hand.observe({ cause: 'refused-grant', actionUrl: null, message: null, connectionId: 'c1' });
      expect(await blocked()).toEqual([[2, firstMs]]);
      await hand.observe(open);
      await hand.observe(terms);
      await hand.store.forgetOrganization('4711');
      expect(await blocked()).toEqual([[0, null]]);
    });

    test('a resolved alert goes after a day, but not before every sink was told of its end', async () => {
      const endedMs = under.nowMs();
      const told = { severity: 'warning', sinceMs: endedMs, atMs: endedMs, failures: 0 } as const;
      const alert = (id: string, states: (AlertState | null)[]): Alert => ({
        fingerprint: id,
        name: 'TramlineTermsRequired',
        severity: 'warning',
        state: 'resolved',
        labels: { organization_id: id },
        annotations: { description: 'The provider says: "state":"firing"' },
        startsAtMs: endedMs - 1000,
        resolvedAtMs: endedMs,
        returns: 0,
        quietSinceMs: null,
        coversUntilMs: null,
        sent: Object.fromEntries(states.map((state, sink) => [`sink${sink}`, { ...told, state }])),
      });
      const missed = [alert('firing', ['resolved', 'firing']), alert('unanswered', [null])];
      await hand.store.saveAlerts([...missed, alert('told', ['resolved', 'resolved']), alert('nobody', [])]);
      const kept = async () => (await hand.store.listAlerts()).map(({ fingerprint }) => fingerprint);
      await hand.store.sweep();
      expect(await kept()).toHaveLength(4);
      under.advance(dayMs + 1);
      await hand.store.sweep();
      expect(await kept()).toEqual(['firing', 'unanswered']);
      await hand.store.saveAlerts(missed.map(({ fingerprint }) => alert(fingerprint, ['resolved'])));
      await hand.store.sweep();
      expect(await kept()).toEqual([]);
    });

    test('what waits is as old as its notification, however it is put off', async () => {
      const age = async () => (await hand.store.counts()).oldestWaitingAgeMs;
      await hand.put([hintOf('a')]);
      const put = { dueInMs: 60_000, own: true, agedMs: 0, code: 'server-error', detail: null };
      for (const sinceMs of [0, 60_000]) {
        const task = await hand.take();
        expect(await age()).toBe(sinceMs);
        await hand.store.postpone({ ...heldBy(task), ...put });
        under.advance(59_000);
        expect(await age()).toBe(sinceMs + 59_000);
        under.advance(1000);
      }
      await hand.observe(terms);
      expect(await age()).toBeNull();
    });

    test('what settles is waited for on purpose, and is not old before its time', async () => {
      const age = async () => (await hand.store.counts()).oldestWaitingAgeMs;
      await hand.put([hintOf('a')]);
      await hand.observe(terms);
      await hand.observe(open);
      await hand.store.foundAbsent({ ...heldBy(await hand.take()), againInMs: 600_000 });
      under.advance(599_999);
      expect(await age()).toBeNull();
      under.advance(1);
      expect(await age()).toBe(600_000);
      await hand.finish(await hand.take(), draftOf('a', '1'), { settleMs: 30_000 });
      under.advance(30_000);
      expect(await age()).toBeNull();
      expect(await hand.take()).toMatchObject({ settling: true });
      expect(await age()).toBeNull();
    });

    test('what waited for the customer is no delay of ours', async () => {
      await hand.put([hintOf('a'), hintOf('b')]);
      await hand.observe(terms);
      under.advance(dayMs);
      await hand.observe(open);
      under.advance(5000);
      expect((await hand.store.counts()).oldestWaitingAgeMs).toBe(5000);
      await hand.put([hintOf('c')]);
      const acceptedAtMs = under.nowMs();
      for (let read = 0; read < 3; read += 1) {
        const task = await hand.take();
        await hand.finish(task, draftOf(task.address.slice(-1), '1'));
      }
      const rows = (await hand.records()).filter(({ topic }) => topic.includes('equipment'));
      expect(rows.map((row) => [row.key.slice(-1), row.acceptedAtMs])).toEqual([
        ['a', null],
        ['b', null],
        ['c', acceptedAtMs],
      ]);
    });

    test('a refused consent is told as the connection that was refused, whichever was known first', async () => {
      const consent = async (connectionId: string) => {
        await hand.store.saveConnection(sealedConnection(connectionId));
        await hand.store.learn([{ id: '4711', name: null, connectionId }]);
      };
      const told = async () => (await hand.store.alertInputs()).blocked.map((one) => one.connectionId);
      await consent('c1');
      await hand.store.refuseConnection('c1', null, 's');
      expect(await told()).toEqual(['c1']);
      await consent('c2');
      await hand.observe(open);
      await hand.store.refuseConnection('c2', null, 's');
      expect(await told()).toEqual(['c2']);
    });

    test('a connection is told as refused until it is valid or revoked, with what it sees and what no valid one does', async () => {
      const told = async () =>
        (await hand.store.alertInputs()).refusedConnections.map(Object.values).map((row) => row.join(' '));
      const learn = (connectionId: string, ...ids: string[]) =>
        hand.store.learn(ids.map((id) => ({ id, name: null, connectionId })));
      for (const id of ['c1', 'c2', 'c3']) await hand.store.saveConnection(sealedConnection(id));
      await learn('c2', '4711', '4724');
      await learn('c3', '4724', '4737');
      expect(await told()).toEqual([]);
      await hand.store.refuseConnection('c1', 'expired', 's');
      await hand.store.refuseConnection('c2', null, 's');
      expect(await told()).toEqual(['c1 expired 0 0', 'c2  2 1']);
      await learn('c3', '4711');
      expect(await told()).toEqual(['c1 expired 0 0', 'c2  2 0']);
      await hand.store.refuseConnection('c3', null, 's');
      expect(await told()).toEqual(['c1 expired 0 0', 'c2  2 2', 'c3  3 3']);
      await hand.store.acceptConnection('c2');
      await hand.store.revokeConnection('c1');
      expect(await told()).toEqual(['c3  3 1']);
      await hand.store.saveConnection(sealedConnection('c3'));
      expect(await told()).toEqual([]);
    });

    /** As people see them, which is as alerts are made. */
    async function shown(): Promise<OrganizationView[]> {
      const blocked = (await hand.store.alertInputs()).blocked;
      const views = await hand.store.listOrganizations({ limit: 9, after: null });
      const concerning = views.filter(({ concerns }) => concerns).map(({ id }) => id);
      expect(concerning).toEqual(blocked.filter(({ concerns }) => concerns).map((one) => one.organizationId));
      return views;
    }

    test('a link that is shown to a new consent ends the refusal: who was never connected concerns nobody', async () => {
      const notConnected = { cause: 'not-connected', actionUrl: null, message: null } as const;
      const told = async () =>
        (await shown()).map(({ id, reason, connection, concerns }) => [id, reason, connection, concerns]);
      await hand.store.saveConnection(sealedConnection('c1'));
      await hand.store.learn(['4711', '4712'].map((id) => ({ id, name: null, connectionId: 'c1' })));
      await hand.observe(open);
      await hand.observe(notConnected, '4712');
      await hand.store.refuseConnection('c1', null, 's');
      expect(await told()).toEqual([
        ['4711', 'refused-grant', 'c1', true],
        ['4712', 'refused-grant', 'c1', true],
      ]);
      await hand.store.saveConnection(sealedConnection('c1'));
      await hand.observe(notConnected);
      await hand.observe(notConnected, '4712');
      expect(await told()).toEqual([
        ['4711', 'not-connected', 'c1', true],
        ['4712', 'not-connected', 'c1', false],
      ]);
      expect(await hand.store.accessHistory('4712', 1)).toMatchObject([
        { from: 'reauthorize', to: 'not-connected', by: 'connections-link', cause: 'not-connected' },
      ]);
    });

    test('a connection that an operator revoked is no refusal, and concerns somebody only while work waits', async () => {
      await hand.put([hintOf('a')]);
      await hand.store.saveConnection(sealedConnection('c1'));
      await hand.store.learn(['4711', '4712'].map((id) => ({ id, name: null, connectionId: 'c1' })));
      await hand.store.revokeConnection('c1');
      const told = (await hand.store.alertInputs()).blocked;
      expect(told).toMatchObject([
        { organizationId: '4711', cause: 'refused-grant', connectionId: 'c1', revoked: true, concerns: true },
        {
          organizationId: '4712',
          cause: 'refused-grant',
          connectionId: 'c1',
          revoked: true,
          concerns: false,
        },
      ]);
      expect(await hand.store.accessHistory('4711', 9)).toMatchObject([
        { from: 'active', to: 'reauthorize', by: 'operator', cause: 'refused-grant' },
      ]);
      // Its row is erased: there is none to give consent for anew.
      const erased = { access: 'reauthorize', connection: null };
      expect(await shown()).toMatchObject([
        { ...erased, id: '4711', concerns: true },
        { ...erased, id: '4712', concerns: false },
      ]);
      // It is not forgotten: the next consent brings it back.
      await hand.store.saveConnection(sealedConnection('c1'));
      await hand.store.learn([{ id: '4711', name: null, connectionId: 'c1' }]);
      expect((await hand.store.takeProbes(2, 60_000)).map((probe) => probe.organizationId)).toContain('4711');
      await hand.observe(open);
      await hand.store.refuseConnection('c1', null, 's');
      expect((await hand.store.alertInputs()).blocked[0]).toMatchObject({ revoked: false, concerns: true });
      expect((await shown())[0]).toMatchObject({ connection: 'c1', concerns: true });
      await hand.store.forgetOrganization('4711');
      expect((await shown())[0]).toMatchObject({ access: 'not-connected', concerns: false });
    });

    test('it is told how many are to be asked, or are being asked, whether they are blocked', async () => {
      const suspected = async () => {
        const inputs = await hand.store.alertInputs();
        return [inputs.suspected, inputs.refused];
      };
      await hand.put([hintOf('a'), hintOf('x', '4712'), hintOf('y', '4713')]);
      expect(await suspected()).toEqual([0, 0]);
      for (const id of ['4711', '4712']) await hand.store.requestProbe(id, false);
      await hand.store.requestProbe('4713', true);
      expect(await suspected()).toEqual([3, 2]);
      expect(await hand.store.takeProbes(2, 60_000)).toHaveLength(2);
      expect(await suspected()).toEqual([3, 2]);
      await hand.observe(open, '4713');
      expect(await suspected()).toEqual([2, 2]);
      await hand.observe(terms, '4711');
      expect(await suspected()).toEqual([1, 1]);
      await hand.store.takeProbes(2, 60_000);
      await hand.observe(open, '4712');
      expect(await suspected()).toEqual([0, 0]);
    });

    test('a block is told within two seconds, also while thousands are asked that were only announced to act', async () => {
      const announced = Array.from({ length: 2500 }, (_, index) => ({
        ...({ line: 'acted', eventTypeId: 'requiredCustomerAction' } as const),
        probeOrganizationId: String(10_000 + index),
        dueAt: new Date(under.nowMs() + 60 * dayMs).toISOString(),
      }));
      await hand.put([...announced, hintOf('a')]);
      const gather = makeGather({ gatherMs: 1000, groupAbove: 50 });
      const said = { ...{ groupAbove: 50, journalMs: 30 * dayMs, ownNames: [] }, ...openOf([]) };
      const told = async () => {
        const nowMs = under.nowMs();
        const inputs = await hand.store.alertInputs();
        const signals = evaluate({ ...inputs, conditions: [], nowMs }, { runbookBase: 'https://r', ...said });
        return gather(signals, inputs, [], nowMs).passed.map(({ labels }) => labels.organization_id);
      };
      const probeAll = async () => {
        for (const { organizationId } of await hand.store.takeProbes(4, 30_000)) {
          await hand.observe(organizationId === '4711' ? terms : open, organizationId);
        }
      };
      for (let round = 0; round < 50; round += 1) await probeAll();
      const probe = { organizationId: '4711', refusedAddress: address('a'), connectionId: 'c1' };
      const task = await hand.takeAt(address('a'));
      await hand.store.giveBack({
        ...heldBy(task),
        code: 'action-required',
        probe,
        dueInMs: 0,
        agedMs: 0,
        detail: null,
      });
      const refusedMs = under.nowMs();
      let paged: unknown[] = [];
      while (paged.length === 0 && under.nowMs() - refusedMs < 60_000) {
        under.advance(100);
        await probeAll();
        paged = await told();
      }
      expect(paged).toEqual(['4711']);
      expect(under.nowMs() - refusedMs).toBeLessThan(2000);
    });

    test('its mark is another once an access changed or something was set aside, and the same while work comes and goes', async () => {
      const marks = [await hand.store.alertMark()];
      const marked = async (work: () => Promise<unknown>) => {
        await work();
        marks.push(await hand.store.alertMark());
      };
      await hand.put([hintOf('a'), hintOf('x', '4712')]);
      await marked(() => hand.observe(terms));
      await marked(() => hand.observe(terms, '4712'));
      const blocked = marks.at(-1);
      await hand.put([hintOf('a'), hintOf('b')]);
      await hand.observe(terms);
      expect(await hand.store.alertMark()).toBe(blocked);
      await marked(() => hand.observe({ cause: 'required-action', actionUrl: null, message: null }));
      await marked(() => hand.observe(open));
      await marked(async () => hand.quarantine(await hand.takeAt(address('a'))));
      await marked(() => hand.store.forgetOrganization('4712'));
      expect(new Set(marks).size).toBe(7);
      const last = await hand.store.alertMark();
      await hand.reopen();
      expect(await hand.store.alertMark()).toBe(last);
    });

    test('organizations come in pages in the order of their ids, and one by its id', async () => {
      await hand.put([
        hintOf('a', '9'),
        hintOf('b', '10'),
        hintOf('c', '2'),
        hintOf('d', '10'),
        hintOf('e', '30'),
      ]);
      await hand.observe(terms, '10');
      const ids = async (limit: number, after: string | null) =>
        (await hand.store.listOrganizations({ limit, after })).map(({ id }) => id);
      expect(await ids(2, null)).toEqual(['10', '2']);
      expect(await ids(2, '2')).toEqual(['30', '9']);
      expect(await ids(2, '25')).toEqual(['30', '9']);
      expect(await ids(2, '9')).toEqual([]);
      const { announced, ...one } = (await hand.store.findOrganization('10'))!;
      expect(announced).toEqual([]);
      expect(one).toMatchObject({ id: '10', access: 'terms-required', reason: 'terms', parked: 2 });
      expect(await hand.store.listOrganizations({ limit: 1, after: null })).toEqual([one]);
      expect(await hand.store.findOrganization('9')).toMatchObject({
        access: 'active',
        parked: 0,
        since: null,
      });
      expect(await hand.store.findOrganization('1')).toBeNull();
      expect(await hand.store.findOrganization('\u0000')).toBeNull();
    });

    describe('an announced action', () => {
      const announceTo = (organizationId: string, ...dueAtMs: number[]) =>
        hand.put(
          dueAtMs.map((timeMs) => ({
            line: 'acted',
            eventTypeId: 'requiredCustomerAction',
            probeOrganizationId: organizationId,
            dueAt: new Date(timeMs).toISOString(),
          })),
        );
      const announce = (...dueAtMs: number[]) => announceTo('4711', ...dueAtMs);
      const dueNow = async () => (await hand.store.alertInputs()).announced.map(({ dueAtMs }) => dueAtMs);
      const tomorrow = () => under.nowMs() + dayMs;
      const learn = (id: string) => hand.store.learn([{ id, name: null, connectionId: 'c1' }]);
      beforeEach(async () => {
        await hand.store.saveConnection(sealedConnection('c1'));
        await learn('4711');
      });

      test('of who is seen by no connection and never was read is told nobody, until it is', async () => {
        await announceTo('999999', tomorrow());
        await announceTo('888888', tomorrow());
        await hand.put([hintOf('x', '777777')]);
        await announceTo('777777', tomorrow());
        expect(await dueNow()).toEqual([]);
        await learn('999999');
        await hand.observe(open, '888888');
        expect((await hand.store.alertInputs()).announced).toMatchObject([
          { organizationId: '888888' },
          { organizationId: '999999' },
        ]);
      });

      test('is over when a block is ended, and the same one announced again is not due again', async () => {
        const dueMs = tomorrow();
        await announce(dueMs);
        expect(await dueNow()).toEqual([dueMs]);
        await hand.observe(terms);
        expect(await dueNow()).toEqual([]);
        await hand.observe(open);
        expect(await dueNow()).toEqual([]);
        await announce(dueMs);
        expect(await dueNow()).toEqual([]);
        await announce(dueMs + dayMs);
        await announce(dueMs);
        expect(await dueNow()).toEqual([dueMs + dayMs]);
      });

      test('lasts when a connection or a consent comes back, which are not what was announced', async () => {
        const dueMs = tomorrow();
        await announce(dueMs);
        await hand.observe({ cause: 'not-connected', actionUrl: null, message: null });
        await hand.observe(open);
        expect(await dueNow()).toEqual([dueMs]);
        await hand.observe({ cause: 'refused-grant', actionUrl: null, message: null, connectionId: 'c1' });
        await hand.observe(open);
        await announce(dueMs);
        expect(await dueNow()).toEqual([dueMs]);
        await hand.observe({ cause: 'required-action', actionUrl: null, message: null });
        await hand.observe({ cause: 'refused-grant', actionUrl: null, message: null, connectionId: 'c1' });
        await hand.observe(open);
        expect(await dueNow()).toEqual([]);
      });

      test('is told while a connection or a consent is missing, and shown with the organization', async () => {
        const dueMs = tomorrow();
        await announce(dueMs, dueMs + dayMs);
        const told = async () => (await hand.store.alertInputs()).announced.map(({ blockedBy }) => blockedBy);
        const shown = async () => (await hand.store.findOrganization('4711'))?.announced;
        const times = [dueMs, dueMs + dayMs].map((timeMs) => new Date(timeMs).toISOString());
        expect(await told()).toEqual([undefined, undefined]);
        expect(await shown()).toEqual(times);
        await hand.observe(open);
        await hand.observe({ cause: 'not-connected', actionUrl: null, message: null });
        expect(await told()).toEqual(['not-connected', 'not-connected']);
        await hand.observe({ cause: 'refused-grant', actionUrl: null, message: null, connectionId: 'c1' });
        expect(await told()).toEqual(['refused-grant', 'refused-grant']);
        expect(await shown()).toEqual(times);
        await hand.observe({ cause: 'required-action', actionUrl: null, message: null });
        expect(await told()).toEqual([]);
        expect(await shown()).toEqual(times);
        await hand.store.forgetOrganization('4711');
        expect([await told(), await shown()]).toEqual([[], []]);
      });

      test('tells a connection that an operator revoked from a consent that is refused', async () => {
        await hand.put([hintOf('a')]);
        await announce(tomorrow());
        await hand.observe(open);
        const told = async () => (await hand.store.alertInputs()).announced;
        await hand.store.refuseConnection('c1', null, 's');
        expect(await told()).toMatchObject([{ blockedBy: 'refused-grant', revoked: false }]);
        await hand.store.revokeConnection('c1');
        expect(await told()).toMatchObject([{ blockedBy: 'refused-grant', revoked: true }]);
      });

      test('stays beside those for other times, and each is asked for at its own', async () => {
        const nextInMs = async () => (await hand.store.nextDueInMs('probe')) ?? Number.NaN;
        const [firstMs, secondMs, thirdMs] = [tomorrow(), tomorrow() + 9 * dayMs, tomorrow() + 39 * dayMs];
        await announce(secondMs);
        await announce(firstMs, thirdMs, firstMs);
        await announce(secondMs);
        expect(await dueNow()).toEqual([firstMs, secondMs, thirdMs]);
        await hand.store.takeProbes(1, 30_000);
        await hand.observe(open);
        await hand.reopen();
        for (const later of [[secondMs, thirdMs], [thirdMs], []]) {
          expect(await dueNow()).toHaveLength(later.length + 1);
          under.advance((await nextInMs()) - 1);
          expect(await hand.store.takeProbes(1, 30_000)).toEqual([]);
          under.advance(1);
          expect(await hand.store.takeProbes(1, 30_000)).toHaveLength(1);
          await hand.observe(open);
          expect(await dueNow()).toEqual(later);
        }
        expect(under.nowMs()).toBe(thirdMs);
        expect(await nextInMs()).toBeNaN();
      });

      test('for a later time outlives the block that another ended in', async () => {
        const dueMs = tomorrow();
        await announce(dueMs, dueMs + dayMs);
        await hand.observe(terms);
        await hand.observe(open);
        expect(await dueNow()).toEqual([dueMs + dayMs]);
        await announce(dueMs);
        expect(await dueNow()).toEqual([dueMs + dayMs]);
        await hand.observe(terms);
        under.advance(dayMs);
        await hand.observe(open);
        expect(await dueNow()).toEqual([]);
        await announce(dueMs + 2 * dayMs);
        expect(await dueNow()).toEqual([dueMs + 2 * dayMs]);
        await hand.store.forgetOrganization('4711');
        await hand.observe(open);
        expect(await dueNow()).toEqual([]);
      });

      test('whose time is past when it comes only asks for a probe', async () => {
        await announce(under.nowMs() - 3_600_000);
        expect(await dueNow()).toEqual([]);
        expect(await hand.store.takeProbes(1, 30_000)).toMatchObject([{ organizationId: '4711' }]);
        const dueMs = tomorrow();
        await announce(dueMs);
        await announce(under.nowMs() - 1);
        expect(await dueNow()).toEqual([dueMs]);
      });

      test('is asked for at its time, by itself', async () => {
        const taken = async () =>
          (await hand.store.takeProbes(9, 30_000)).map((probe) => probe.organizationId);
        await announce(tomorrow());
        expect(await taken()).toEqual(['4711']);
        await hand.observe(open);
        expect((await hand.store.alertInputs()).suspected).toBe(0);
        under.advance(dayMs - 1);
        expect(await taken()).toEqual([]);
        under.advance(1);
        expect(await taken()).toEqual(['4711']);
        await hand.observe(open);
        expect(await dueNow()).toEqual([]);
        under.advance(dayMs);
        expect(await taken()).toEqual([]);
      });

      test('lasts while it is read before its time, and is over when it is read after it', async () => {
        const dueMs = tomorrow();
        await announce(dueMs);
        await hand.observe(open);
        expect(await dueNow()).toEqual([dueMs]);
        under.advance(dayMs);
        await hand.observe(open);
        expect(await dueNow()).toEqual([]);
      });
    });
  });
}
