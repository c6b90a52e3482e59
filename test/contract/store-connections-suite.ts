/**
 * What every store promises about connections and the consents that lead to them: what replaces what, what is kept, and
 * that each step of a consent is opened once.
 */
import type { SealedConnection } from '../../src/model/connection';
import type { SavedWebhookSecret } from '../../src/model/subscription';
import { address, draftOf, Hand, heldBy, hintOf, type StoreUnderTest } from './store-hand';

const connection = (connectionId: string, more: Partial<SealedConnection> = {}): SealedConnection => ({
  connectionId,
  user: 'u',
  auth: 'oauth1',
  sealedToken: 'sealed-1',
  sealedTokenSecret: 'secret-1',
  sealedRefresh: null,
  expiresAt: '2026-12-01T00:00:00.000Z',
  status: 'valid',
  organizations: [],
  ...more,
});

export function storeConnectionsSuite(name: string, openStore: () => Promise<StoreUnderTest>): void {
  describe(`store connections: ${name}`, () => {
    let under: StoreUnderTest;
    let hand: Hand;
    beforeEach(async () => {
      under = await openStore();
      hand = new Hand(under);
    });
    afterEach(() => under.close());

    const learn = (connectionId: string, ...ids: string[]) =>
      hand.store.learn(ids.map((id) => ({ id, name: id, connectionId })));
    const access = async (id = '4711') => (await hand.store.access(id))!.access;

    test('a consent is a new connection, found by its id', async () => {
      await hand.store.saveConnection(connection('c1'));
      expect(await hand.store.findConnection('c1')).toEqual(connection('c1'));
      expect(await hand.store.findConnection('c2')).toBeNull();
      expect(await hand.store.listConnections()).toEqual([connection('c1')]);
    });

    test('a consent replaces tokens and method, keeps what is seen, and probes whose grant was refused', async () => {
      await hand.store.saveConnection(connection('c1'));
      await learn('c1', '4711');
      await hand.put([hintOf('1')]);
      await hand.store.refuseConnection('c1', 'expired', 'sealed-1');
      expect(await access()).toBe('reauthorize');
      under.advance(5000);
      const other = connection('c1', {
        auth: 'oauth2',
        sealedToken: 'sealed-2',
        sealedTokenSecret: null,
        sealedRefresh: 'refresh-2',
      });
      await hand.store.saveConnection(other);
      expect(await hand.store.findConnection('c1')).toEqual({ ...other, organizations: ['4711'] });
      expect((await hand.store.takeProbes(10, 30_000)).map((due) => due.organizationId)).toEqual(['4711']);
    });

    test('a token of the settings is not imported over a later consent', async () => {
      const imported = { ...connection('c1'), importHash: 'hash' };
      await hand.store.importConnections([imported]);
      await hand.store.saveConnection(connection('c1', { sealedToken: 'consented' }));
      await hand.store.importConnections([imported]);
      expect((await hand.store.findConnection('c1'))!.sealedToken).toBe('consented');
      await hand.store.importConnections([{ ...imported, sealedToken: 'named', importHash: 'another' }]);
      expect((await hand.store.findConnection('c1'))!.sealedToken).toBe('named');
    });

    test('tokens are replaced only where those are that they replace', async () => {
      await hand.store.saveConnection(connection('c1'));
      const tokens = { sealedToken: 'b', sealedTokenSecret: null, sealedRefresh: 'r', expiresAt: null };
      expect(await hand.store.replaceTokens('c1', 'sealed-1', tokens)).toBe(true);
      expect(await hand.store.replaceTokens('c1', 'sealed-1', { ...tokens, sealedToken: 'c' })).toBe(false);
      expect(await hand.store.replaceTokens('c2', 'b', tokens)).toBe(false);
      expect(await hand.store.findConnection('c1')).toMatchObject(tokens);
    });

    test('a revoked connection is erased, and blocks what no other valid one sees', async () => {
      const imported = { ...connection('c1'), importHash: 'hash' };
      await hand.store.importConnections([imported]);
      await hand.store.saveConnection(connection('c2'));
      await learn('c1', '4711', '4712');
      await learn('c2', '4712');
      const revoked = await hand.store.revokeConnection('c1');
      expect(revoked!.observed.map(({ observation }) => observation.organizationId)).toEqual(['4711']);
      expect([await access('4711'), await access('4712')]).toEqual(['reauthorize', 'active']);
      expect(await hand.store.findConnection('c1')).toBeNull();
      expect((await hand.store.listConnections()).map(({ connectionId }) => connectionId)).toEqual(['c2']);
      expect(await hand.store.revokeConnection('c1')).toBeNull();
      // What the settings still name does not bring it back; a consent does.
      await hand.store.importConnections([imported]);
      expect(await hand.store.findConnection('c1')).toBeNull();
      const tokens = { sealedToken: 'b', sealedTokenSecret: null, sealedRefresh: null, expiresAt: null };
      expect(await hand.store.replaceTokens('c1', '', tokens)).toBe(false);
      await hand.store.saveConnection(connection('c1'));
      expect(await hand.store.findConnection('c1')).toEqual(connection('c1'));
    });

    test('a token that is taken again is valid, and probes whose grant was refused; no other is touched', async () => {
      await hand.store.saveConnection(connection('c1'));
      await learn('c1', '4711');
      expect(await hand.store.acceptConnection('c1')).toBe(false);
      await hand.store.refuseConnection('c1', 'a mistake', 'sealed-1');
      expect([(await hand.store.findConnection('c1'))!.status, await access()]).toEqual([
        'refused',
        'reauthorize',
      ]);
      const mark = await hand.store.connectionsMark();
      expect(await hand.store.acceptConnection('c1')).toBe(true);
      expect((await hand.store.findConnection('c1'))!.status).toBe('valid');
      expect(await hand.store.connectionsMark()).not.toBe(mark);
      const [due] = await hand.store.takeProbes(10, 30_000);
      expect(due).toMatchObject({ organizationId: '4711', askedBy: 'schedule' });
      await hand.store.revokeConnection('c1');
      expect(await hand.store.acceptConnection('c1')).toBe(false);
      expect(await hand.store.acceptConnection('unknown')).toBe(false);
    });

    test('a refusal of tokens that were replaced meanwhile ends nothing; one of those that are there does', async () => {
      for (const id of ['c1', 'c2']) await hand.store.saveConnection(connection(id));
      await learn('c1', '4711', '4712');
      await learn('c2', '4712');
      await hand.store.saveConnection(connection('c1', { sealedToken: 'consented' }));
      const seen = async () => ({
        mark: await hand.store.connectionsMark(),
        status: (await hand.store.findConnection('c1'))!.status,
        access: await access(),
        listedBy: (await hand.store.access('4712'))!.connectionId,
      });
      const before = await seen();
      expect(before).toMatchObject({ status: 'valid', access: 'active', listedBy: 'c1' });
      expect(await hand.store.refuseConnection('c1', 'expired', 'sealed-1')).toEqual({ observed: [] });
      expect(await seen()).toEqual(before);
      expect(await hand.store.refuseConnection('unknown', null, 'sealed-1')).toEqual({ observed: [] });
      const { observed } = await hand.store.refuseConnection('c1', 'expired', 'consented');
      expect(observed.map(({ observation }) => observation.organizationId)).toEqual(['4711']);
      expect(await seen()).toMatchObject({ status: 'refused', access: 'reauthorize', listedBy: 'c2' });
    });

    test.each(['refuse', 'revoke'])(
      '%sd it passes what it listed on to another that sees it, for good',
      async (verb) => {
        for (const id of ['c1', 'c2']) await hand.store.saveConnection(connection(id));
        await learn('c1', '4711', '4712');
        await learn('c2', '4712');
        const keptWith = async (id: string) => (await hand.store.access(id))!.connectionId;
        expect([await keptWith('4711'), await keptWith('4712')]).toEqual(['c1', 'c1']);
        if (verb === 'refuse') await hand.store.refuseConnection('c1', null, 'sealed-1');
        else await hand.store.revokeConnection('c1');
        expect([await keptWith('4711'), await keptWith('4712')]).toEqual(['c1', 'c2']);
        await hand.store.saveConnection(connection('c1'));
        await learn('c1', '4711', '4712');
        expect([await keptWith('4711'), await keptWith('4712')]).toEqual(['c1', 'c2']);
      },
    );

    test.each(['refused', 'revoked', 'lost'])(
      'what no other saw when it was %s is kept with the next that is shown it, for good',
      async (verb) => {
        for (const id of ['c1', 'c2']) await hand.store.saveConnection(connection(id));
        await learn('c1', '4711');
        const keptWith = async () => (await hand.store.access('4711'))!.connectionId;
        if (verb === 'refused') await hand.store.refuseConnection('c1', null, 'sealed-1');
        else if (verb === 'revoked') await hand.store.revokeConnection('c1');
        else {
          await learn('c2', '4711');
          await hand.store.refuseConnection('c2', null, 'sealed-1');
          await hand.store.keepSights('c1', []);
          await hand.store.saveConnection(connection('c2'));
        }
        expect(await keptWith()).toBe('c1');
        await learn('c2', '4711');
        expect(await keptWith()).toBe('c2');
        await hand.store.saveConnection(connection('c1'));
        await learn('c1', '4711');
        expect(await keptWith()).toBe('c2');
      },
    );

    test('every change of a connection changes the mark, and nothing else does', async () => {
      const marks: string[] = [];
      const mark = async (change: Promise<unknown>) => {
        await change;
        marks.push(await hand.store.connectionsMark());
      };
      const tokens = { sealedToken: 'b', sealedTokenSecret: null, sealedRefresh: null, expiresAt: null };
      await mark(hand.store.importConnections([{ ...connection('c1'), importHash: 'hash' }]));
      await mark(hand.store.saveConnection(connection('c2')));
      await mark(hand.store.replaceTokens('c2', 'sealed-1', tokens));
      await mark(hand.store.refuseConnection('c1', null, 'sealed-1'));
      await mark(hand.store.revokeConnection('c2'));
      expect(new Set(marks).size).toBe(5);
      await hand.store.refuseConnection('c1', null, 'sealed-1');
      await hand.store.importConnections([{ ...connection('c1'), importHash: 'hash' }]);
      await learn('c1', '4711');
      expect(await hand.store.connectionsMark()).toBe(marks.at(-1));
    });

    test('what was announced to a user whom nobody could read for is read once that user’s consent was listed', async () => {
      const announced = (id: string, user: string | null) => hand.put([{ ...hintOf(id), user }]);
      await hand.publish('9', 'a');
      for (const [id, user] of [...'1234'].map((id, nth) => [id, ['u', 'c1', 'v', null][nth]!] as const))
        await announced(id, user);
      await announced('5', 'u');
      await announced('9', 'u');
      for (const task of await hand.store.take(10))
        await hand.quarantine(task, task.address === address('5') ? 'no-access' : 'no-connection');
      await hand.store.saveConnection(connection('c1'));
      await hand.store.refuseConnection('c1', 'expired', 'sealed-1');
      await hand.store.keepSights('c1', ['4711']);
      expect(await hand.quarantined()).toHaveLength(6);
      await hand.store.saveConnection(connection('c1', { sealedToken: 'sealed-2' }));
      await hand.store.keepSights('c1', ['4711']);
      expect((await hand.quarantined()).toSorted()).toEqual(['no-access', ...Array(3).fill('no-connection')]);
      const due = await hand.store.take(10);
      expect(due.map((task) => task.address).toSorted()).toEqual([address('1'), address('2')]);
      expect(await hand.finish(due[0]!, draftOf(due[0]!.address.slice(-1), 'a'))).toMatchObject({
        outcome: 'published',
      });
      await hand.store.keepSights('c1', ['4711']);
      expect(await hand.store.take(10)).toEqual([]);
    });

    test('what only another connection can say is gone is read once that one’s consent was listed', async () => {
      for (const id of ['c1', 'c2']) await hand.store.saveConnection(connection(id));
      for (const id of ['c1', 'c2']) await learn(id, '4711');
      await hand.publish('1', 'a');
      await hand.store.refuseConnection('c1', 'expired', 'sealed-1');
      await hand.put([hintOf('1')]);
      await hand.quarantine(await hand.take(), 'no-connection');
      await hand.store.keepSights('c2', ['4711']);
      await hand.store.keepSights('c1', ['4711']);
      expect(await hand.quarantined()).toEqual(['no-connection']);
      await hand.store.saveConnection(connection('c1', { sealedToken: 'sealed-2' }));
      await hand.store.keepSights('c1', ['4711']);
      expect(await hand.quarantined()).toEqual([]);
      under.advance(1000);
      expect(await hand.take()).toMatchObject({ address: address('1'), connectionId: 'c1' });
    });

    test('a hint without a user counts as the first where nobody could read for the user before', async () => {
      const ofAnn = { ...hintOf('1'), user: 'ann' };
      const next = async () => {
        under.advance(1000);
        return hand.take();
      };
      await hand.put([ofAnn]);
      await hand.quarantine(await hand.take(), 'no-access');
      await hand.put([hintOf('1')]);
      const task = await next();
      expect(task.hintedUser).toBe('ann');
      await hand.quarantine(task, 'no-connection');
      await hand.put([hintOf('1', null)]);
      const unnamed = await next();
      expect(unnamed.hintedUser).toBe('ann');
      await hand.quarantine(unnamed, 'no-connection');
      await hand.put([hintOf('1')]);
      const first = await next();
      expect(first).toMatchObject({ hintedUser: null, hintedOrganizationId: '4711' });
      await hand.finish(first, draftOf('1', 'a'));
      await hand.put([ofAnn]);
      await hand.put([hintOf('1')]);
      expect(await next()).toMatchObject({ hintedUser: 'ann', organizationId: '4711' });
    });

    test('what a whole listing does not hold is seen through another connection, if there is one', async () => {
      await hand.store.saveConnection(connection('c1'));
      await hand.store.saveConnection(connection('c2'));
      await learn('c1', '1', '2', '3');
      await learn('c2', '2');
      const shownWith = async () =>
        (await hand.store.listOrganizations({ limit: 9, after: null })).map(({ connection }) => connection);
      expect(await shownWith()).toEqual(['c1', 'c1', 'c1']);
      await hand.store.keepSights('c1', ['1']);
      expect((await hand.store.findConnection('c1'))!.organizations).toEqual(['1', '3']);
      expect(await shownWith()).toEqual(['c1', 'c2', 'c1']);
      await hand.store.refuseConnection('c1', null, 'sealed-1');
      await hand.store.keepSights('c2', []);
      expect((await hand.store.findConnection('c2'))!.organizations).toEqual(['2']);
    });

    test('what a whole listing does not hold and only refused consents saw waits for one of these, and is probed when listed', async () => {
      for (const id of ['c0', 'c1', 'c2', 'c3']) await hand.store.saveConnection(connection(id));
      await hand.store.revokeConnection('c0');
      // Its listing was under way when it was revoked.
      await learn('c0', '4711', '4714');
      await learn('c1', '4711', '4712', '4713');
      await learn('c2', '4711', '4712', '4713', '4714');
      await learn('c3', '4711', '4713');
      await hand.put([hintOf('1')]);
      await hand.store.refuseConnection('c1', 'expired', 'sealed-1');
      await hand.store.refuseConnection('c3', null, 'sealed-1');
      const mark = await hand.store.connectionsMark();
      const kept = await hand.store.keepSights('c2', ['4711', '4712', '4713']);
      expect([kept, await hand.store.connectionsMark()]).toEqual([{ observed: [] }, mark]);

      const { observed } = await hand.store.keepSights('c2', ['4712']);
      expect(observed).toMatchObject(
        ['4711', '4713'].map((organizationId) => ({
          observation: {
            organizationId,
            by: 'grant',
            found: { cause: 'refused-grant', connectionId: 'c1', message: 'expired' },
          },
          transition: { access: 'reauthorize', previous: 'active', changed: true },
        })),
      );
      expect(await hand.store.connectionsMark()).not.toBe(mark);
      const sees = async (id: string) => (await hand.store.findConnection(id))!.organizations;
      // What is shown to no other in force stays: absence is a hint.
      expect(await sees('c2')).toEqual(['4712', '4714']);
      expect(await sees('c1')).toEqual(['4711', '4712', '4713']);
      expect([await access('4712'), await access('4714')]).toEqual(['active', 'active']);
      expect(await hand.store.take(10)).toEqual([]);
      const { refusedConnections, blocked } = await hand.store.alertInputs();
      expect(refusedConnections.map(({ connectionId, sees, alone }) => [connectionId, sees, alone])).toEqual([
        ['c1', 3, 2],
        ['c3', 2, 2],
      ]);
      expect(blocked.map(({ organizationId, parked }) => [organizationId, parked])).toEqual([
        ['4711', 1],
        ['4713', 0],
      ]);
      expect(await hand.store.keepSights('c2', ['4712'])).toEqual({ observed: [] });

      await learn('c2', '4711');
      expect(await hand.store.takeProbes(10, 30_000)).toMatchObject([
        { organizationId: '4711', askedBy: 'listing' },
      ]);
    });

    test('what waits for a consent is probed at once when a connection is first shown it, and as a hint from then on', async () => {
      await hand.store.saveConnection(connection('c1'));
      await learn('c1', '4711');
      await hand.store.revokeConnection('c1');
      const probe = async () => {
        const probes = await hand.store.takeProbes(10, 30_000);
        for (const { organizationId, epoch } of probes)
          await hand.store.postponeProbe(organizationId, epoch, 'later', 'no-connection');
        return probes.map(({ askedBy }) => askedBy);
      };
      await hand.store.requestProbe('4711', true);
      expect(await probe()).toEqual(['operator']);
      await hand.store.saveConnection(connection('c2'));
      await learn('c2', '4711');
      expect(await probe()).toEqual(['listing']);
      await learn('c2', '4711');
      expect(await probe()).toEqual([]);
    });

    test('a switch of connections is in the journey of the resource, and publishes nothing', async () => {
      const read = async (connectionId: string) => {
        await hand.put([hintOf('1')]);
        const task = await hand.takeAt(address('1'));
        const told = { connectionId, traceparent: null, reconciled: false, settleMs: 0 };
        await hand.store.finish({ ...heldBy(task), draft: draftOf('1', 'same'), ...told });
        under.advance(1000);
      };
      for (const connectionId of ['c1', 'c1', 'c2', 'c2']) await read(connectionId);
      const { steps } = (await hand.store.explain(address('1')))!;
      expect(steps.filter(({ step }) => step === 'connection-switched')).toEqual([
        expect.objectContaining({ from: 'c1', to: 'c2' }),
      ]);
      expect(await hand.events()).toEqual(['4711 1 created']);
    });

    describe('a consent on its way', () => {
      const consent = { consentId: 'one', key: 'hash-of-link', body: '{"step":"link"}' };

      test('is opened once by its key, within its time', async () => {
        await hand.store.saveConsent(consent, 1000);
        expect(await hand.store.takeConsent('another')).toBeNull();
        const taken = await hand.store.takeConsent('hash-of-link');
        expect(taken).toEqual({ ...consent, key: null, expiresAtMs: under.nowMs() + 1000 });
        expect(await hand.store.takeConsent('hash-of-link')).toBeNull();
        expect(await hand.store.findConsent('one')).toEqual(taken);
      });

      test('of two who open it at once, one gets it', async () => {
        await hand.store.saveConsent(consent, 1000);
        const both = await Promise.all([
          hand.store.takeConsent(consent.key),
          hand.store.takeConsent(consent.key),
        ]);
        expect(both.filter((taken) => taken !== null)).toHaveLength(1);
      });

      test('goes on under another key', async () => {
        await hand.store.saveConsent(consent, 1000);
        await hand.store.saveConsent({ ...consent, key: 'hash-of-state', body: '{"step":"asked"}' }, 2000);
        expect(await hand.store.takeConsent('hash-of-link')).toBeNull();
        expect(await hand.store.takeConsent('hash-of-state')).toMatchObject({ body: '{"step":"asked"}' });
      });

      test('opens nothing when its time is over, and is forgotten a day later', async () => {
        await hand.store.saveConsent(consent, 1000);
        under.advance(1000);
        expect(await hand.store.takeConsent(consent.key)).toBeNull();
        expect(await hand.store.findConsent('one')).not.toBeNull();
        under.advance(86_400_001);
        await hand.store.saveConsent({ ...consent, consentId: 'two' }, 1000);
        expect(await hand.store.findConsent('one')).toBeNull();
      });

      test('is there after a restart', async () => {
        await hand.store.saveConsent(consent, 600_000);
        await hand.reopen();
        expect(await hand.store.takeConsent(consent.key)).toMatchObject({ consentId: 'one' });
      });
    });

    describe('secrets of webhooks', () => {
      const token = (id: string, more: Partial<SavedWebhookSecret> = {}): SavedWebhookSecret => ({
        id,
        kind: 'token',
        state: 'offered',
        sealed: `sealed-${id}`,
        user: 'u',
        connectionId: 'c1',
        subscriptionId: null,
        ...more,
      });
      const unheard = { heardAtMs: null, beatMs: null };
      const listed = () => hand.store.listWebhookSecrets();

      test('they are listed from the oldest on, and are as they were saved after the store was opened anew', async () => {
        const madeAtMs = under.nowMs();
        await hand.store.saveWebhookSecret(token('b'));
        under.advance(1000);
        const value = token('a', { kind: 'authorization', user: null, connectionId: null });
        await hand.store.saveWebhookSecret(value);
        const store = await under.reopen();
        expect(await store.listWebhookSecrets()).toEqual([
          { ...token('b'), ...unheard, madeAtMs },
          { ...value, ...unheard, madeAtMs: madeAtMs + 1000 },
        ]);
      });

      test('one that is saved again keeps its sealed text, when it was made and what was heard', async () => {
        const madeAtMs = under.nowMs();
        await hand.store.saveWebhookSecret(token('a'));
        under.advance(1000);
        await hand.store.noteHeartbeat('a');
        const active = token('a', { state: 'active', subscriptionId: 's1' });
        await hand.store.saveWebhookSecret({ ...active, sealed: 'as a process read it earlier' });
        expect(await listed()).toEqual([{ ...active, madeAtMs, heardAtMs: madeAtMs + 1000, beatMs: null }]);
      });

      test('one is sealed anew only as it was read, once it was dropped not at all, and nothing else of it changes', async () => {
        await hand.store.saveWebhookSecret(token('a'));
        const [before] = await listed();
        await hand.store.saveWebhookSecret(token('a', { state: 'active', subscriptionId: 's1' }));
        const reseal = (id: string) => hand.store.resealWebhookSecret(id, 'sealed-a', 'anew');
        expect([await reseal('a'), await reseal('a'), await reseal('b')]).toEqual([true, false, false]);
        const after = { ...before, state: 'active', subscriptionId: 's1', sealed: 'anew' };
        expect(await listed()).toEqual([after]);
      });

      test('the time between heartbeats is learned once several gaps agree, one of nobody is nothing', async () => {
        await hand.store.saveWebhookSecret(token('a'));
        await hand.store.noteHeartbeat('a');
        const beats: (number | null | undefined)[] = [];
        for (const ms of [2, 60_000, 61_000, 60_000, 101_000]) {
          under.advance(ms);
          await hand.store.noteHeartbeat('a');
          beats.push((await listed())[0]?.beatMs);
        }
        await hand.store.noteHeartbeat('nobody');
        expect(beats).toEqual([null, null, null, 61_000, 71_000]);
        expect(await listed()).toMatchObject([{ id: 'a', heardAtMs: under.nowMs(), beatMs: 71_000 }]);
      });

      test('since when somebody listens goes on over another start, and begins anew after a break', async () => {
        const { store } = hand;
        const beganMs = under.nowMs();
        expect(await store.noteListening(0, 1000)).toBe(beganMs);
        under.advance(1000);
        expect(await store.noteListening(0, 1000)).toBe(beganMs);
        under.advance(5000);
        // It looked for long, and lived all the while.
        expect(await store.noteListening(4500, 1000)).toBe(beganMs);
        under.advance(1001);
        expect(await store.noteListening(0, 1000)).toBe(under.nowMs());
        expect(await store.noteListening(2000, 1000)).toBe(under.nowMs() - 2000);
      });

      test('whole looks are counted, whoever looked', async () => {
        const { store } = hand;
        expect([await store.countLooks(0), await store.countLooks(1)]).toEqual([0, 1]);
        expect([await store.countLooks(1), await store.countLooks(0)]).toEqual([2, 2]);
      });

      test('one that is dropped is gone, and dropping it again changes nothing', async () => {
        await hand.store.saveWebhookSecret(token('a'));
        await hand.store.saveWebhookSecret(token('b'));
        for (const id of ['a', 'a']) await hand.store.dropWebhookSecret(id);
        expect((await listed()).map(({ id }) => id)).toEqual(['b']);
      });
    });
  });
}
