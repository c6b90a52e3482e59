/**
 * What every store promises about the access of organizations: who is probed and when, what an answer changes, and how
 * blocked work is let go.
 */
import type { Alert } from '../../src/model/alert';
import type { SealedConnection } from '../../src/model/connection';
import type { ProbeAgain } from '../../src/model/organization';
import {
  address,
  draftOf,
  goneBy,
  Hand,
  header,
  heldBy,
  hintOf,
  type StoreUnderTest,
  sealedConnection,
  sumOf,
  terms,
} from './store-hand';

const open: { cause: null } = { cause: null };
const notConnected = { cause: 'not-connected', actionUrl: null, message: null } as const;
const refusedGrant = { cause: 'refused-grant', actionUrl: null, message: null, connectionId: 'c1' } as const;
const minuteMs = 60_000;
const connection = sealedConnection('c1');

export function storeAccessSuite(name: string, openStore: () => Promise<StoreUnderTest>): void {
  describe(`store access: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await openStore();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    const hints = (count: number) => Array.from({ length: count }, (_, index) => hintOf(String(index)));
    const refused = (
      task: Parameters<typeof heldBy>[0] & { address: string },
      {
        refusedAddress = task.address,
        dueInMs = 0,
        agedMs = 0,
        detail = null,
      }: { refusedAddress?: string | null; dueInMs?: number; agedMs?: number; detail?: string | null } = {},
    ) =>
      hand.store.giveBack({
        ...heldBy(task),
        code: 'action-required',
        probe: { organizationId: '4711', refusedAddress, connectionId: 'c1' },
        dueInMs,
        agedMs,
        detail,
      });
    const probesNow = async () =>
      (await hand.store.takeProbes(10, 30_000)).map(({ organizationId }) => organizationId);

    describe('a refusal', () => {
      test('of a request from before the acceptance holds nothing and asks for nothing', async () => {
        await hand.put(hints(2));
        const [late] = await hand.store.take(1);
        await hand.observe(terms);
        await hand.observe(open);
        await refused(late!);
        expect(await hand.store.nextDueInMs('probe')).toBeNull();
        expect(await hand.store.take(1)).toHaveLength(1);
      });

      test('after a probe that found nothing is probed a minute later, and the organization waits for it', async () => {
        await hand.put(hints(2));
        await refused(await hand.take());
        expect(await probesNow()).toEqual(['4711']);
        await hand.observe(open);
        under.advance(1000);
        await refused(await hand.takeAt(address('1')));
        expect(await hand.store.take(10)).toEqual([]);
        expect(await hand.store.nextDueInMs('probe')).toBe(minuteMs - 1000);
        under.advance(minuteMs - 1000);
        expect(await hand.store.take(10)).toEqual([]);
        expect(await probesNow()).toEqual(['4711']);
        await hand.observe(terms);
        expect(await hand.store.take(10)).toEqual([]);
      });

      test('of a task whose organization was found open since leaves it alone, and the others go on', async () => {
        await hand.put(hints(1));
        await refused(await hand.take(), { dueInMs: 5000 });
        expect(await probesNow()).toEqual(['4711']);
        await hand.observe(open);
        under.advance(1000);
        await refused(await hand.take(), { dueInMs: 5000 });
        expect((await hand.store.listTasks({ state: 'postponed', limit: 9, after: 0 })).length).toBe(1);
        expect(await hand.store.nextDueInMs('task')).toBe(5000);
        expect(await hand.store.nextDueInMs('probe')).toBe(minuteMs - 1000);
        await hand.put([hintOf('other')]);
        expect(await hand.store.take(10)).toMatchObject([{ address: address('other') }]);
      });

      test('ages its task only while that is left alone, which says why', async () => {
        const why = { dueInMs: 5000, agedMs: 3000, detail: 'terms' };
        const waiting = () => hand.store.listTasks({ state: null, limit: 9, after: 0 });
        await hand.put(hints(1));
        await refused(await hand.take(), why);
        expect(await waiting()).toMatchObject([{ code: 'action-required', detail: null }]);
        await probesNow();
        await hand.observe(open);
        under.advance(1000);
        const held = await hand.take();
        expect(held).toMatchObject({ agedMs: 0, failedAtMs: null });
        await refused(held, why);
        expect(await waiting()).toMatchObject([{ code: 'action-required', detail: 'terms' }]);
        under.advance(5000);
        expect(await hand.take()).toMatchObject({ agedMs: 3000, failedAtMs: under.nowMs() - 5000 });
      });

      test('of what is not proven to be the organization’s lets that be asked itself, and holds it once', async () => {
        const unproven = { refusedAddress: null, dueInMs: 5000 };
        await hand.put(hints(2));
        await refused(await hand.take(), unproven);
        expect(await hand.store.take(10)).toEqual([]);
        const [probe] = await hand.store.takeProbes(10, 30_000);
        expect(probe).toMatchObject({ organizationId: '4711', refusedAddress: null, knownAddress: null });
        await hand.observe(open);
        await refused(await hand.take(), unproven);
        expect(await hand.store.nextDueInMs('probe')).toBe(minuteMs);
        under.advance(1000);
        expect(await hand.store.take(10)).toHaveLength(1);
      });

      test('of what is not proven to be the organization’s does not replace the address that was refused', async () => {
        await hand.publish('1', 'a');
        await hand.put([hintOf('1'), hintOf('2')]);
        under.advance(1000);
        const [own, other] = await hand.store.take(2);
        await refused(own!);
        await refused(other!, { refusedAddress: null });
        expect(await hand.store.takeProbes(10, 30_000)).toMatchObject([{ refusedAddress: own!.address }]);
      });

      test('of what would be read as the known resource names another that waits, or none', async () => {
        await hand.publish('1', 'a');
        await hand.publish('2', 'a');
        await hand.put([hintOf('1')]);
        under.advance(1000);
        const first = await hand.take();
        await refused(first);
        const refusedAddress = first.address;
        expect(await hand.store.takeProbes(10, 30_000)).toMatchObject([
          { refusedAddress, knownAddress: null },
        ]);
        await hand.observe(terms);
        await hand.put([hintOf('2')]);
        under.advance(minuteMs);
        expect(await hand.store.takeProbes(10, 30_000)).toMatchObject([
          { refusedAddress, knownAddress: address('2') },
        ]);
      });

      test('after an acceptance is probed at once: it is news', async () => {
        await hand.put(hints(2));
        await refused(await hand.take());
        await probesNow();
        await hand.observe(terms);
        await hand.observe(open);
        await refused(await hand.take());
        expect(await probesNow()).toEqual(['4711']);
      });

      test('lets the organization go when its probe brings no answer', async () => {
        await hand.put(hints(1));
        await refused(await hand.take());
        await probesNow();
        await hand.postponeProbe('later');
        under.advance(1000);
        expect(await hand.store.take(1)).toHaveLength(1);
        expect(await hand.store.nextDueInMs('probe')).toBe(14_000);
      });

      test('lets the organization go by itself when nobody probes', async () => {
        await hand.put(hints(1));
        await refused(await hand.take());
        expect(await hand.store.take(1)).toEqual([]);
        expect(await hand.store.nextDueInMs('task')).toBe(30_000);
        under.advance(30_000);
        expect(await hand.store.take(1)).toHaveLength(1);
      });

      test('anew while the probe is still to come waits for it, and is due when that finds the organization open', async () => {
        await hand.put(hints(1));
        await refused(await hand.take(), { dueInMs: 5 * minuteMs });
        under.advance(30_000);
        await refused(await hand.take(), { dueInMs: 5 * minuteMs });
        expect(await hand.store.take(1)).toEqual([]);
        expect(await probesNow()).toEqual(['4711']);
        under.advance(30_000);
        const again = await hand.take();
        await refused(again, { dueInMs: 5 * minuteMs });
        await hand.observe(open);
        under.advance(1000);
        expect(await hand.store.take(1)).toMatchObject([{ taskId: again.taskId, attempts: 0 }]);
      });

      test('keeps the place of what was refused: the oldest due drains first', async () => {
        for (const id of ['first', 'second', 'third']) {
          await hand.put([hintOf(id)]);
          under.advance(10);
        }
        await refused(await hand.takeAt(address('first'), 1), { dueInMs: 5000 });
        await hand.observe(terms);
        under.advance(minuteMs);
        await hand.observe(open);
        const drained: string[] = [];
        for (let left = 3; left > 0; left -= 1) {
          const task = await hand.take();
          drained.push(task.address);
          await hand.finish(task, draftOf(task.address.split('/').at(-1)!, 'a'));
        }
        expect(drained).toEqual([address('first'), address('second'), address('third')]);
      });

      test('is not read again before the gap is over, whatever its place; then it goes first', async () => {
        await hand.put([hintOf('first'), hintOf('second'), hintOf('third')]);
        await refused(await hand.takeAt(address('first'), 1));
        await hand.observe(terms);
        under.advance(400);
        await hand.observe(open);
        const second = await hand.takeAt(address('second'), 1);
        under.advance(599);
        await hand.finish(second, draftOf('second', 'a'));
        await hand.takeAt(address('third'), 2);
        expect(await hand.store.nextDueInMs('task')).toBe(1);
        under.advance(1);
        await hand.takeAt(address('first'), 1);
      });

      test('whose owner is only claimed makes nobody the owner', async () => {
        await hand.put(hints(1));
        await refused(await hand.take());
        await probesNow();
        await hand.observe(open);
        under.advance(1000);
        expect((await hand.take()).organizationId).toBeNull();
      });
    });

    describe('an organization', () => {
      const seen = async () =>
        (await hand.store.listOrganizations({ limit: 10, after: null })).map((one) => [one.id, one.seen]);

      const active = async () => (await hand.store.counts()).organizations.active;

      test('that only deliveries named is said to be seen by nobody, until a listing shows it', async () => {
        await hand.put(hints(1));
        expect([await seen(), await active()]).toEqual([[['4711', false]], 0]);
        await hand.store.learn([{ id: '4711', name: null, connectionId: 'c1' }]);
        expect([await seen(), await active()]).toEqual([[['4711', true]], 1]);
        expect(await hand.store.findOrganization('4711')).toMatchObject({ access: 'active', seen: true });
      });

      test('of which something was read is seen', async () => {
        await hand.publish('0', 'a');
        expect([await seen(), await active()]).toEqual([[['4711', true]], 1]);
      });
    });

    describe('an organization that is forgotten', () => {
      const learn = (connectionId: string) => hand.store.learn([{ id: '4711', name: 'Farm', connectionId }]);

      test('is not connected, nameless and seen by nobody, and its waiting work is discarded on record', async () => {
        await hand.store.saveConnection(connection);
        await learn('c1');
        await hand.put([hintOf('a'), hintOf('b'), hintOf('c'), hintOf('a')]);
        await hand.put([hintOf('x', '4712')]);
        await hand.finish(await hand.takeAt(address('c')), draftOf('c', '1'));
        expect(await hand.store.findOrganization('4711')).toMatchObject({ forgotten: false });
        const forgotten = await hand.store.forgetOrganization('4711');
        expect(forgotten).toMatchObject({
          discarded: 2,
          transition: { changed: true, previous: 'active', access: 'not-connected' },
        });
        const [row] = await hand.store.listOrganizations({ limit: 1000, after: null });
        expect(row).toMatchObject({
          id: '4711',
          name: null,
          access: 'not-connected',
          parked: 0,
          forgotten: true,
        });
        expect(await hand.store.access('4711')).toMatchObject({ access: 'not-connected', forgotten: true });
        expect(await hand.store.listConnections()).toMatchObject([{ organizations: [] }]);
        expect(await hand.store.ledger()).toMatchObject({ accepted: 5, discarded: 3, parked: 0 });
        expect(sumOf(await hand.store.ledger())).toBe(5);
        expect((await hand.store.alertInputs()).blocked).toMatchObject([{ concerns: false }]);
        expect(await hand.store.forgetOrganization('unknown')).toBeNull();
      });

      test('is named by no stored alert any more, and others keep their texts', async () => {
        await learn('c1');
        const told = (fingerprint: string, description: string): Alert => ({
          fingerprint,
          name: 'TramlineTermsRequired',
          severity: 'warning',
          state: 'resolved',
          labels: {},
          annotations: { description },
          startsAtMs: 0,
          resolvedAtMs: 1,
          returns: 0,
          quietSinceMs: null,
          coversUntilMs: null,
          sent: {},
        });
        const other = told('b', 'Farm (organization 1) is blocked.');
        await hand.store.saveAlerts([told('a', 'Farm (organization 4711) is blocked.'), other]);
        await hand.store.forgetOrganization('4711');
        expect(await hand.store.listAlerts()).toEqual([told('a', 'Organization 4711 is blocked.'), other]);
      });

      test('gives no ending of a read that was under way a meaning', async () => {
        await hand.put([hintOf('a')]);
        const taken = await hand.take();
        await hand.store.forgetOrganization('4711');
        expect(await hand.finish(taken, draftOf('a', '1'))).toMatchObject({ outcome: 'refused' });
        expect(await hand.store.ledger()).toMatchObject({ discarded: 1, published: 0, waiting: 0 });
      });

      test('takes what was quarantined with it', async () => {
        await hand.put([hintOf('a')]);
        await hand.store.quarantineTask({
          ...heldBy(await hand.take()),
          reason: 'no-access',
          path: '',
          detail: null,
          raw: null,
        });
        await hand.store.forgetOrganization('4711');
        expect((await hand.store.alertInputs()).quarantined).toEqual([]);
        expect(await hand.store.ledger()).toMatchObject({ discarded: 1, quarantined: 0 });
      });

      test('is told as a block once, with who said so, and every time on record', async () => {
        await hand.put([hintOf('a')]);
        await hand.observe(terms);
        await hand.store.forgetOrganization('4711');
        const again = await hand.store.forgetOrganization('4711');
        expect(again).toMatchObject({ discarded: 0, transition: { changed: false } });
        const history = await hand.store.accessHistory('4711', 10);
        expect(history.map(({ from, to, by, cause }) => [from, to, by, cause])).toEqual([
          ['active', 'terms-required', 'probe', 'terms'],
          ['terms-required', 'not-connected', 'operator', 'not-connected'],
          ['not-connected', 'not-connected', 'operator', 'not-connected'],
        ]);
        expect(await hand.store.accessHistory('4711', 1)).toHaveLength(1);
        expect(await hand.store.accessHistory('unknown', 10)).toEqual([]);
        const rows = await hand.store.pickUnsent(10, 1e6, []);
        // Nobody's request led to them: each begins a trace of its own.
        const traces = rows.map((row) => header(row, 'traceparent'));
        for (const trace of traces) expect(trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
        expect(new Set(traces).size).toBe(rows.length);
        expect(rows.map((row) => header(row, 'ce_type'))).toEqual([
          'io.tramline.organization-access.blocked.v1',
          'io.tramline.organization-access.blocked.v1',
        ]);
      });

      test('is not probed, and no answer from before brings it back; a later listing asks anew', async () => {
        await hand.put([hintOf('a')]);
        const { epoch } = (await hand.store.access('4711'))!;
        await hand.store.requestProbe('4711', true);
        await probesNow();
        await hand.store.forgetOrganization('4711');
        const late = { organizationId: '4711', epoch, found: open, by: 'probe' } as const;
        expect(await hand.store.observe(late)).toMatchObject({ applied: false, access: 'not-connected' });
        under.advance(3_600_000);
        expect(await probesNow()).toEqual([]);
        await hand.put([hintOf('a')]);
        expect((await hand.store.alertInputs()).blocked).toMatchObject([{ concerns: false, parked: 1 }]);
        await learn('c1');
        expect(await probesNow()).toEqual(['4711']);
        expect(await hand.store.findOrganization('4711')).toMatchObject({ forgotten: true, name: null });
        await hand.observe(open);
        await learn('c1');
        expect(await hand.store.findOrganization('4711')).toMatchObject({ forgotten: false, name: 'Farm' });
        expect(await hand.store.access('4711')).toMatchObject({ access: 'active', forgotten: false });
        expect(await hand.store.take(10)).toHaveLength(1);
      });

      test('waits for no consent, whatever becomes of the connection that still sees it', async () => {
        await hand.store.saveConnection(connection);
        await learn('c1');
        await hand.store.forgetOrganization('4711');
        await learn('c1');
        expect((await hand.store.refuseConnection('c1', 'expired', 's')).observed).toEqual([]);
        expect(await hand.store.access('4711')).toMatchObject({ access: 'not-connected', forgotten: true });
        expect(await hand.store.findOrganization('4711')).toMatchObject({ name: null });
      });
    });

    test('a blocked organization comes with the end of the last consent that sees it, where all end', async () => {
      const endsOf = async () =>
        (await hand.store.alertInputs()).blocked.map(({ consentEndsAtMs }) => consentEndsAtMs);
      const consent = (connectionId: string, more: Partial<SealedConnection>) =>
        hand.store.saveConnection({ ...connection, connectionId, ...more });
      await consent('c1', { auth: 'oauth1', expiresAt: '2026-02-01T00:00:00.000Z' });
      await consent('c2', { expiresAt: '2026-03-01T00:00:00.000Z' });
      for (const connectionId of ['c1', 'c2'])
        await hand.store.learn([{ id: '4711', name: null, connectionId }]);
      expect(await endsOf()).toEqual([]);
      await hand.observe(terms);
      expect(await endsOf()).toEqual([Date.parse('2026-03-01T00:00:00.000Z')]);
      await hand.store.refuseConnection('c2', null, 's');
      expect(await endsOf()).toEqual([Date.parse('2026-02-01T00:00:00.000Z')]);
      await consent('c2', { expiresAt: '2026-01-02T00:00:00.000Z', sealedRefresh: 'r' });
      expect(await endsOf()).toEqual([null]);
      await consent('c2', { expiresAt: null });
      expect(await endsOf()).toEqual([null]);
      await hand.store.revokeConnection('c1');
      await hand.store.revokeConnection('c2');
      expect(await endsOf()).toEqual([null]);
    });

    describe('a probe', () => {
      test('is one at a time, also when another is asked for meanwhile: that one follows', async () => {
        await hand.put(hints(1));
        await hand.store.requestProbe('4711', true);
        expect(await probesNow()).toEqual(['4711']);
        await hand.store.requestProbe('4711', true);
        expect(await probesNow()).toEqual([]);
        await hand.observe(terms);
        expect(await hand.store.nextDueInMs('probe')).toBe(0);
        expect(await probesNow()).toEqual(['4711']);
        await hand.observe(open);
        expect(await hand.store.nextDueInMs('probe')).toBeNull();
      });

      test('that is never answered is made again when its lease has run out', async () => {
        await hand.put(hints(1));
        await hand.store.requestProbe('4711', true);
        await probesNow();
        expect(await hand.store.nextDueInMs('probe')).toBe(30_000);
        under.advance(30_000);
        expect(await probesNow()).toEqual(['4711']);
      });

      test('that was under way at a kill is made again at once', async () => {
        await hand.put(hints(1));
        await hand.store.requestProbe('4711', true);
        await probesNow();
        await hand.reopen();
        expect(await probesNow()).toEqual(['4711']);
      });

      test('without an answer about access is made later and later while the organization is blocked', async () => {
        await hand.put(hints(1));
        await hand.observe(terms);
        const waits: (number | null)[] = [];
        for (let round = 0; round < 9; round += 1) {
          waits.push(await hand.store.nextDueInMs('probe'));
          under.advance(waits.at(-1) ?? 0);
          await probesNow();
          await hand.postponeProbe('later');
        }
        expect(waits).toEqual([15, 30, 60, 120, 240, 480, 900, 900, 900].map((seconds) => seconds * 1000));
      });

      test('that is asked for or under way is told as such, until it has ended', async () => {
        const probing = async () => (await hand.store.probing('4711')).probing;
        expect([await probing(), (await hand.store.probing('unknown')).probing]).toEqual([false, false]);
        await hand.put(hints(1));
        await hand.observe(terms);
        expect(await probing()).toBe(false);
        await hand.store.requestProbe('4711', true);
        expect(await probing()).toBe(true);
        expect(await probesNow()).toEqual(['4711']);
        expect(await probing()).toBe(true);
        // What is asked for meanwhile is asked after it.
        await hand.store.requestProbe('4711', true);
        await hand.observe(terms);
        expect(await probing()).toBe(true);
        expect(await probesNow()).toEqual(['4711']);
        await hand.observe(open);
        expect(await probing()).toBe(false);
        await hand.store.requestProbe('4711', true);
        expect(await probesNow()).toEqual(['4711']);
        await hand.postponeProbe('later');
        expect(await probing()).toBe(false);
        // Whose worker is gone is made anew: its lease runs out, and nothing of it has ended.
        await hand.store.requestProbe('4711', true);
        expect(await probesNow()).toEqual(['4711']);
        under.advance(3_600_000);
        expect(await probing()).toBe(true);
      });

      test('may be asked for of whom a resource was when it was read last', async () => {
        const owners = () =>
          Promise.all(['1', '2', '\u0000'].map((id) => hand.store.ownerOf({ kind: 'equipment', id })));
        await hand.put(hints(1));
        expect(await owners()).toEqual([null, null, null]);
        await hand.publish('1', 'a');
        expect(await owners()).toEqual(['4711', null, null]);
        expect(await hand.store.ownerOf({ kind: 'field-operation', id: '1' })).toBeNull();
        await hand.publish('1', 'a', { organizationId: '4712' });
        expect(await owners()).toEqual(['4712', null, null]);
      });

      test('leaves what it found, until the next one on demand', async () => {
        const found = async () => (await hand.store.probing('4711')).found;
        const ask = async () => {
          await hand.store.requestProbe('4711', true);
          return found();
        };
        const answered = async (probed: string, epoch: number) => {
          const said = { organizationId: '4711', epoch, found: terms, by: 'probe', probed } as const;
          await hand.store.observe(said);
          return found();
        };
        await hand.put(hints(1));
        expect([await found(), (await hand.store.probing('unknown')).found]).toEqual([null, null]);
        expect(await ask()).toBeNull();
        const [probe] = await hand.store.takeProbes(1, 30_000);
        // What is asked for meanwhile wants another answer than that of the one under way.
        expect(await answered('action-required', probe!.epoch)).toBe('action-required');
        expect(await ask()).toBeNull();
        await probesNow();
        await hand.postponeProbe('later');
        expect(await found()).toBe('transient');
        // What others say of its access is no answer, and a hint asks for no other.
        await hand.observe(notConnected);
        await hand.store.requestProbe('4711', false);
        expect(await found()).toBe('transient');
        // The provider has answered, though from before it was known to be blocked.
        expect(await answered('ok', probe!.epoch)).toBe('ok');
        expect(await ask()).toBeNull();
        await probesNow();
        await hand.postponeProbe(3000, 'left-alone');
        expect(await found()).toBe('left-alone');
        expect(await hand.store.probing('4711')).toEqual({ probing: false, found: 'left-alone' });
      });

      test('of who is not known to be blocked goes before those that are asked again', async () => {
        await hand.put([hintOf('a'), hintOf('b', '4712')]);
        await hand.observe(terms);
        under.advance(20_000);
        await hand.store.requestProbe('4712', true);
        expect(await probesNow()).toEqual(['4712', '4711']);
      });

      test('that an operator waits for goes before all others, also where it was asked for before', async () => {
        await hand.put([hintOf('a', '1'), hintOf('b', '2'), hintOf('c', '3')]);
        await hand.store.requestProbe('1', false);
        await hand.store.requestProbe('2', false);
        await hand.store.requestProbe('3', false);
        under.advance(1);
        await hand.store.requestProbe('3', true);
        await hand.store.requestProbe('3', false);
        expect(await hand.store.takeProbes(2, 1000)).toMatchObject([
          { organizationId: '3', askedBy: 'operator' },
          { organizationId: '1', askedBy: 'refused-request' },
        ]);
      });

      test('that waiting work asked for goes before what notifications asked for, also where one did before', async () => {
        const told = (id: string) => ({
          ...({ line: 'acted', eventTypeId: 'requiredCustomerAction', dueAt: null } as const),
          probeOrganizationId: id,
        });
        await hand.put([told('1'), told('2'), told('3')]);
        under.advance(1);
        await hand.put([hintOf('a'), told('4711'), told('4')]);
        under.advance(1);
        await refused(await hand.take());
        await hand.store.requestProbe('3', false);
        await hand.store.requestProbe('4', true);
        await hand.put([told('4711')]);
        await hand.reopen();
        expect(await hand.store.takeProbes(4, 1000)).toMatchObject([
          { organizationId: '4', askedBy: 'operator' },
          { organizationId: '3', askedBy: 'refused-request' },
          { organizationId: '4711', askedBy: 'refused-request' },
          { organizationId: '1', askedBy: 'notification' },
        ]);
      });

      test('begins within the budget of the minute, however many are due, also after a restart', async () => {
        const asked = Array.from({ length: 4000 }, (_, index) => ({
          ...({ line: 'acted', eventTypeId: 'requiredCustomerAction', dueAt: null } as const),
          probeOrganizationId: String(1000 + index),
        }));
        await hand.put(asked);
        let begun = (await hand.store.takeProbes(4000, 3_600_000)).length;
        expect(begun).toBe(150);
        await hand.reopen();
        expect(await hand.store.nextDueInMs('probe')).toBeLessThanOrEqual(22);
        const beganMs = under.nowMs();
        begun = (await hand.store.takeProbes(4000, 3_600_000)).length;
        for (let round = 0; round < 20; round += 1) {
          const inMs = await hand.store.nextDueInMs('probe');
          expect(inMs).toBeGreaterThan(0);
          expect(inMs).toBeLessThanOrEqual(22);
          under.advance(2999);
          begun += (await hand.store.takeProbes(4000, 3_600_000)).length;
        }
        expect(under.nowMs() - beganMs).toBeLessThan(minuteMs);
        expect(begun).toBeLessThanOrEqual(3000);
        expect(begun).toBeGreaterThan(2800);
        under.advance(22);
        await hand.store.requestProbe('4999', true);
        expect(await hand.store.takeProbes(1, 1000)).toMatchObject([{ organizationId: '4999' }]);
      });

      test('pays for its further calls from the same budget', async () => {
        await hand.put([hintOf('a', '1'), hintOf('b', '2')]);
        await hand.store.requestProbe('1', true);
        await hand.store.requestProbe('2', true);
        const beganMs = under.nowMs();
        let granted = (await hand.store.takeProbes(1, 3_600_000)).length;
        for (let call = 0; call < 200; call += 1) {
          const inMs = await hand.store.payProbeCall(false);
          expect(inMs).toBeLessThanOrEqual(22);
          if (inMs === 0) granted += 1;
        }
        granted += (await hand.store.takeProbes(1, 3_600_000)).length;
        // A database that is asked over and over takes its time, in which the budget grows again.
        const grown = Math.ceil((under.nowMs() - beganMs) / 21);
        expect(granted).toBeGreaterThanOrEqual(150);
        expect(granted).toBeLessThanOrEqual(150 + grown);
        expect(await hand.store.payProbeCall(true)).toBe(0);
        expect(await hand.store.payProbeCall(true)).toBe(0);
        under.advance(66);
        expect((await hand.store.takeProbes(2, 1000)).length + granted).toBeGreaterThan(150);
      });

      test('of one that no connection was ever shown goes behind the blocked, whom their customers wait for', async () => {
        const told = (id: string) => ({
          ...({ line: 'acted', eventTypeId: 'requiredCustomerAction', dueAt: null } as const),
          probeOrganizationId: id,
        });
        await hand.put([told('1'), told('2'), told('3'), told('shown'), hintOf('a')]);
        await hand.observe(terms);
        await hand.store.learn([{ id: 'shown', name: null, connectionId: 'c1' }]);
        under.advance(20_000);
        const taken = async (limit: number) =>
          (await hand.store.takeProbes(limit, 1000)).map(({ organizationId }) => organizationId);
        await hand.reopen();
        expect(await taken(3)).toEqual(['shown', '4711', '1']);
        await hand.store.learn([{ id: '3', name: null, connectionId: 'c1' }]);
        expect(await taken(2)).toEqual(['3', '2']);
      });

      test('that asked nobody gives its call back, also where the provider is left alone; one that asked does not', async () => {
        await hand.put(
          Array.from({ length: 700 }, (_, index) => ({
            ...({ line: 'acted', eventTypeId: 'requiredCustomerAction', dueAt: null } as const),
            probeOrganizationId: String(1000 + index),
          })),
        );
        const beganMs = under.nowMs();
        const ended = async (again: ProbeAgain) => {
          const taken = await hand.store.takeProbes(150, 3_600_000);
          for (const { organizationId, epoch } of taken)
            await hand.store.postponeProbe(organizationId, epoch, again, 'transient');
          return taken.length;
        };
        expect([await ended('never'), await ended(3_600_000), await ended('later')]).toEqual([150, 150, 150]);
        // Only the last of them asked, and time that a database takes lets the budget grow.
        const grown = Math.ceil((under.nowMs() - beganMs) / 21);
        expect((await hand.store.takeProbes(200, 1000)).length).toBeLessThanOrEqual(Math.min(grown, 150));
      });

      test('that has waited longest goes first', async () => {
        await hand.put([hintOf('a', '1'), hintOf('b', '2'), hintOf('c', '3')]);
        await hand.store.requestProbe('3', true);
        under.advance(1);
        await hand.store.requestProbe('1', true);
        await hand.store.requestProbe('2', true);
        expect(await hand.store.takeProbes(1, 1000)).toMatchObject([{ organizationId: '3' }]);
      });

      test('where nothing was refused asks for a resource that was read, also after a restart', async () => {
        await hand.publish('1', 'a');
        await hand.reopenLater();
        await hand.store.requestProbe('4711', true);
        const [probe] = await hand.store.takeProbes(1, 1000);
        expect(probe).toMatchObject({ refusedAddress: null, connectionId: 'c1' });
        expect(probe!.knownAddress).toMatch(/equipment\/1$/);
      });

      test('answered late, from an earlier epoch, changes nothing and ends', async () => {
        await hand.put(hints(1));
        await hand.store.requestProbe('4711', true);
        const [probe] = await hand.store.takeProbes(1, 30_000);
        await hand.store.observe({ organizationId: '4711', epoch: 1, found: notConnected, by: 'sync' });
        const late = { organizationId: '4711', epoch: probe!.epoch, found: open, by: 'probe' } as const;
        expect(await hand.store.observe(late)).toMatchObject({ applied: false, access: 'not-connected' });
        under.advance(15_000);
        expect(await probesNow()).toEqual(['4711']);
      });
    });

    test('a change is on record with what asked for the probe that found it', async () => {
      await hand.put([hintOf('a')]);
      const asked = async () =>
        (await hand.store.accessHistory('4711', 9)).map(({ by, askedBy }) => [by, askedBy]);
      const answered = async (found: typeof terms | typeof open) => {
        under.advance((await hand.store.nextDueInMs('probe')) ?? 0);
        const [{ epoch, askedBy } = { epoch: 0 }] = await hand.store.takeProbes(1, 1000);
        await hand.store.observe({
          organizationId: '4711',
          epoch,
          askedBy: askedBy ?? null,
          found,
          by: 'probe',
        });
      };
      await refused(await hand.take());
      await answered(terms);
      await answered(open);
      await hand.put([
        { line: 'acted', eventTypeId: 'x', probeOrganizationId: '4711', dueAt: null } as never,
      ]);
      await answered(terms);
      await hand.store.requestProbe('4711', true);
      await answered(open);
      const { epoch } = (await hand.store.access('4711'))!;
      await hand.store.observe({ organizationId: '4711', epoch, found: notConnected, by: 'sync' });
      expect(await asked()).toEqual([
        ['probe', 'refused-request'],
        ['probe', 'schedule'],
        ['probe', 'notification'],
        ['probe', 'operator'],
        ['sync', null],
      ]);
    });

    describe('a probe that brings no answer', () => {
      const waitsOf = async (rounds: number, again: ProbeAgain) => {
        const waits: (number | null)[] = [];
        for (let round = 0; round < rounds; round += 1) {
          under.advance((await hand.store.nextDueInMs('probe')) ?? 0);
          await probesNow();
          await hand.postponeProbe(again);
          waits.push(await hand.store.nextDueInMs('probe'));
        }
        return waits;
      };

      test('is made later and later also while the organization is not known to be blocked, until one does', async () => {
        await hand.put(hints(1));
        await hand.store.requestProbe('4711', true);
        expect(await waitsOf(4, 'later')).toEqual([15_000, 30_000, 60_000, 120_000]);
        await hand.observe(open);
        await hand.store.requestProbe('4711', true);
        expect(await waitsOf(1, 'later')).toEqual([15_000]);
      });

      test('since nobody may ask is not made again until something asks for it, but goes on where it is blocked', async () => {
        await hand.put(hints(1));
        await hand.store.requestProbe('4711', true);
        expect(await waitsOf(1, 'never')).toEqual([null]);
        await hand.reopen();
        expect(await probesNow()).toEqual([]);
        await hand.observe(terms);
        expect(await waitsOf(1, 'never')).toEqual([30_000]);
      });

      test('since the provider is left alone comes when that is over, and no later the next time', async () => {
        await hand.put(hints(1));
        await hand.observe(terms);
        expect(await waitsOf(3, 2000)).toEqual([2000, 2000, 2000]);
        expect(await waitsOf(1, 'later')).toEqual([30_000]);
      });

      test('for an organization that was forgotten meanwhile is over', async () => {
        await hand.put(hints(1));
        await hand.store.requestProbe('4711', true);
        const [probe] = await hand.store.takeProbes(1, 30_000);
        await hand.store.forgetOrganization('4711');
        await hand.store.postponeProbe('4711', probe!.epoch, 'later', 'transient');
        expect(await hand.store.nextDueInMs('probe')).toBeNull();
      });
    });

    describe('causes', () => {
      test('stand beside each other, and are shown by the one that must be dealt with first', async () => {
        await hand.put(hints(1));
        await hand.observe(terms);
        await hand.observe(notConnected);
        const causes = (await hand.store.access('4711'))!.causes;
        expect(Object.keys(causes).sort()).toEqual(['not-connected', 'terms']);
        expect(await hand.observe(refusedGrant)).toMatchObject({
          access: 'reauthorize',
          previous: 'not-connected',
          changed: true,
        });
        expect(await hand.observe(terms)).toMatchObject({ access: 'terms-required', changed: true });
        expect(Object.keys((await hand.store.access('4711'))!.causes)).toEqual(['terms']);
        expect(await hand.events()).toEqual([1, 2, 3, 4].map((sequence) => `4711 ${sequence} blocked`));
      });

      test('that follow each other are each a change on record, also where the access stays the same', async () => {
        await hand.put(hints(1));
        await hand.observe(terms);
        const { epoch } = (await hand.store.access('4711'))!;
        const action = { cause: 'required-action', actionUrl: null, message: 'verify' } as const;
        expect(await hand.observe(action)).toMatchObject({ changed: true, previous: 'terms-required' });
        expect((await hand.store.access('4711'))!.epoch).toBe(epoch + 1);
        expect((await hand.store.accessHistory('4711', 9)).map(({ cause }) => cause)).toEqual([
          'terms',
          'required-action',
        ]);
        expect(await hand.events()).toEqual(['4711 1 blocked', '4711 2 blocked']);
      });

      test('said again keep their beginning', async () => {
        await hand.put(hints(1));
        await hand.observe(terms);
        const { sinceMs } = (await hand.store.access('4711'))!.causes.terms!;
        under.advance(5000);
        await hand.observe({ ...terms, message: 'other words' });
        expect((await hand.store.access('4711'))!.causes.terms).toMatchObject({
          sinceMs,
          message: 'other words',
        });
      });
    });

    describe('a refused grant', () => {
      const connection = (connectionId: string, importHash: string) => ({
        ...sealedConnection(connectionId),
        importHash,
      });
      const seen = (connectionId: string) => [{ id: '4711', name: 'One', connectionId }];
      const access = async () => (await hand.store.access('4711'))!.access;
      beforeEach(async () => {
        await hand.store.importConnections([connection('c1', 'first')]);
        await hand.store.learn(seen('c1'));
        await hand.put(hints(2));
      });

      test('blocks what nobody else sees in the transaction that refuses it', async () => {
        await hand.store.refuseConnection('c1', 'expired', 's');
        await hand.reopen();
        expect(await access()).toBe('reauthorize');
        expect(await hand.store.take(10)).toEqual([]);
        expect(await hand.store.ledger()).toMatchObject({ parked: 2 });
        expect(await hand.events()).toEqual(['4711 1 blocked']);
      });

      test('said by many reads at once puts no probe off', async () => {
        for (let count = 0; count < 32; count += 1) await hand.store.refuseConnection('c1', 'expired', 's');
        expect(await hand.store.nextDueInMs('probe')).toBe(15_000);
      });

      test('is tried again at once when another token is imported, and then its work goes on', async () => {
        await hand.store.refuseConnection('c1', 'expired', 's');
        under.advance(5000);
        await hand.store.importConnections([connection('c1', 'first')]);
        expect(await probesNow()).toEqual([]);
        expect((await hand.store.listConnections())[0]!.status).toBe('refused');
        await hand.store.importConnections([connection('c1', 'second')]);
        expect((await hand.store.listConnections())[0]!.status).toBe('valid');
        expect(await probesNow()).toEqual(['4711']);
        await hand.observe(open);
        expect(await hand.store.take(10)).toHaveLength(1);
      });

      test('is tried again when another connection shows the organization', async () => {
        await hand.store.refuseConnection('c1', 'expired', 's');
        await hand.store.importConnections([connection('c2', 'other')]);
        await hand.store.learn(seen('c2'));
        expect(await probesNow()).toEqual(['4711']);
      });

      test('concerns nobody while another valid connection sees them', async () => {
        await hand.store.importConnections([connection('c2', 'other')]);
        await hand.store.learn(seen('c2'));
        await hand.store.refuseConnection('c1', 'expired', 's');
        expect(await access()).toBe('active');
        await hand.store.refuseConnection('c2', 'expired', 's');
        expect(await access()).toBe('reauthorize');
      });
    });

    describe('half-open', () => {
      const drained = async (end: (task: Awaited<ReturnType<Hand['take']>>) => Promise<unknown>) => {
        await hand.put(hints(40));
        await hand.observe(terms);
        await hand.observe(open);
        const taken: number[] = [];
        for (let round = 0; round < 3; round += 1) {
          const tasks = await hand.store.take(32);
          taken.push(tasks.length);
          for (const task of tasks) await end(task);
        }
        return taken;
      };

      test('opens with every answer that shows that the organization may be read', async () => {
        expect(await drained((task) => hand.store.finishGone(goneBy(task)))).toEqual([1, 2, 4]);
      });

      test('opens also when what was read cannot be trusted', async () => {
        expect(await drained((task) => hand.quarantine(task, 'malformed-document'))).toEqual([1, 2, 4]);
      });

      test('goes on as wide as it was after a kill, and ends there like before', async () => {
        expect(await drained((task) => hand.store.finishGone(goneBy(task)))).toEqual([1, 2, 4]);
        await hand.put([]);
        hand.store = await under.reopen();
        const taken: number[] = [];
        for (let reads = 0; reads < 4; reads += 1) {
          await hand.put(hints(200));
          under.advance(2000);
          const tasks = await hand.store.take(100);
          taken.push(tasks.length);
          for (const task of tasks) await hand.store.finishGone(goneBy(task));
        }
        expect(taken).toEqual([8, 16, 32, 64]);
        await hand.put(hints(200));
        hand.store = await under.reopen();
        under.advance(2000);
        expect(await hand.store.take(100)).toHaveLength(100);
      });

      test('stays narrow while reads fail', async () => {
        const failure = { dueInMs: 60_000, own: false, agedMs: 0, code: 'status-503', detail: null };
        expect(await drained((task) => hand.store.postpone({ ...heldBy(task), ...failure }))).toEqual([
          1, 1, 1,
        ]);
      });

      test('lets nothing more through while its one is under way', async () => {
        await hand.put(hints(3));
        await hand.observe(terms);
        await hand.observe(open);
        const [only] = await hand.store.take(32);
        expect(await hand.store.take(32)).toEqual([]);
        expect(await hand.store.nextDueInMs('task')).toBe(60_000);
        await hand.finish(only!, draftOf('0', 'a'));
        expect(await hand.store.take(32)).toHaveLength(2);
      });
    });
  });
}
