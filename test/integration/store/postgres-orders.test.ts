/**
 * Organizations, probes, grants and operators' orders on one PostgreSQL, from several processes at the same moment: each is
 * a store of its own. One of two who do the same thing does it, and the ledger adds up.
 */
import { Client, Connection, Pool } from 'pg';
import type { Element } from '../../../src/model/notification';
import type { Store } from '../../../src/model/store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import {
  address,
  aliasOf,
  draftOf,
  Hand,
  hintOf,
  sealedConnection,
  sentTo,
  sumOf,
  terms,
} from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

const dayMs = 86_400_000;

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'orders from several processes', () => {
  let server: PostgresServer;
  let stores: Store[];
  let hands: Hand[];
  let nowMs: number;
  let url: string;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    nowMs = Date.parse('2026-01-01T00:00:00Z');
    url = server.url(await server.createDatabase());
    const settings = postgresSettingsFor(url);
    stores = await Promise.all([0, 1, 2].map(() => openPostgres(settings, () => nowMs)));
    hands = stores.map(
      (store) =>
        new Hand({
          store,
          advance: (ms) => {
            nowMs += ms;
          },
          nowMs: () => nowMs,
          reopen: async () => store,
          close: () => store.close(),
        }),
    );
  });
  afterEach(() => Promise.all(stores.map((store) => store.close())));

  const range = (count: number) => Array.from({ length: count }, (_, index) => index);
  const everywhere = <Result>(work: (store: Store, index: number) => Promise<Result>) =>
    Promise.all(stores.map(work));
  const connectionOf = (connectionId: string) => ({ ...sealedConnection(connectionId), importHash: 'h' });
  const bad: Element = { line: 'quarantined', reason: 'malformed-notification', path: '', raw: '{}' };
  const entries = async () => stores[0]!.listQuarantine({ limit: 1000, after: null });

  test('grants that are refused at the same moment do not count on each other', async () => {
    const ids = ['c0', 'c1', 'c2'];
    await everywhere((store) => store.importConnections(ids.map(connectionOf)));
    const seen = range(20).flatMap((id) =>
      ids.map((connectionId) => ({ id: String(id), name: null, connectionId })),
    );
    await everywhere((store) => store.learn(seen));
    const refused = await everywhere((store, index) => store.refuseConnection(ids[index]!, 'expired', 's'));
    expect(refused.map(({ observed }) => observed.length).sort((a, b) => a - b)).toEqual([0, 0, 20]);
    const views = await stores[0]!.listOrganizations({ limit: 1000, after: null });
    expect(new Set(views.map(({ access }) => access))).toEqual(new Set(['reauthorize']));
    expect(await hands[0]!.events()).toHaveLength(20);
  });

  test('a refused consent blocks thousands of organizations in a few statements, and tells of each', async () => {
    const [store] = stores as [Store];
    const count = 900;
    await store.importConnections([connectionOf('c0')]);
    await store.learn(range(count).map((id) => ({ id: String(id), name: null, connectionId: 'c0' })));
    const asked = jest.spyOn(Connection.prototype, 'bind');
    const { observed } = await store.refuseConnection('c0', 'expired', 's');
    const statements = asked.mock.calls.length;
    asked.mockRestore();
    // One after the other they took seconds, in which the store seemed to be away.
    expect(statements).toBeLessThan(40);
    expect(observed).toHaveLength(count);
    for (const id of ['0', '500', '899']) {
      expect(await store.access(id)).toMatchObject({ access: 'reauthorize', epoch: 2 });
      expect(await store.accessHistory(id, 10)).toMatchObject([
        { from: 'active', to: 'reauthorize', by: 'grant' },
      ]);
    }
    const told = range(count).map((id) => `${id} 1 blocked`);
    expect((await hands[0]!.events()).sort()).toEqual(told.sort());
  });

  test('a probe is taken by one process', async () => {
    await hands[0]!.put(range(30).map((id) => hintOf(String(id), String(id))));
    for (const id of range(30)) await stores[id % 3]!.requestProbe(String(id), true);
    const taken = (await everywhere((store) => store.takeProbes(30, 30_000))).flat();
    // What was passed over because another looked at it is taken by the next who looks.
    taken.push(...(await stores[0]!.takeProbes(30, 30_000)));
    expect(taken.map(({ organizationId }) => Number(organizationId)).sort((a, b) => a - b)).toEqual(
      range(30),
    );
  });

  test('all processes share one budget of probes', async () => {
    await hands[0]!.put(
      range(700).map((id) => ({
        ...({ line: 'acted', eventTypeId: 'x', dueAt: null } as const),
        probeOrganizationId: String(id),
      })),
    );
    const taken = (await everywhere((store) => store.takeProbes(300, 30_000))).flat();
    expect(new Set(taken.map(({ organizationId }) => organizationId)).size).toBe(150);
    expect(taken).toHaveLength(150);
    expect(await stores[1]!.takeProbes(1, 30_000)).toEqual([]);
    expect(await stores[2]!.nextDueInMs('probe')).toBe(22);
    nowMs += 22;
    const next = (await everywhere((store) => store.takeProbes(1, 30_000))).flat();
    expect(next).toHaveLength(1);
  });

  test('what several processes observe at the same moment changes the access once', async () => {
    await hands[0]!.put([hintOf('1')]);
    const observation = { organizationId: '4711', epoch: 1, found: terms, by: 'probe' } as const;
    const observed = await everywhere((store) => store.observe(observation));
    expect(observed.map(({ changed }) => changed).filter(Boolean)).toHaveLength(1);
    expect(observed.map(({ applied }) => applied).filter(Boolean)).toHaveLength(1);
    expect(await hands[1]!.events()).toEqual(['4711 1 blocked']);
    expect(await stores[2]!.take(10)).toEqual([]);
    expect(await stores[2]!.access('4711')).toMatchObject({ access: 'terms-required', epoch: 2 });
  });

  test('of a release, a discard and a hint of one task at the same moment each finds it whole', async () => {
    const ids = range(12).map(String);
    await hands[0]!.put(ids.map((id) => hintOf(id)));
    for (const task of await stores[0]!.take(100)) await hands[0]!.quarantine(task);
    const waiting = await entries();
    nowMs += 1000;
    const ordered = await Promise.all(
      waiting.map(async ({ id, address: at }) =>
        Promise.all([
          stores[0]!.releaseQuarantine(id),
          stores[1]!.discardQuarantine(id),
          hands[2]!.put([{ ...hintOf('x'), address: at! }]),
        ]),
      ),
    );
    for (const [released, discarded] of ordered) {
      expect([released === 'released', discarded === 'discarded']).not.toEqual([true, true]);
    }
    for (let round = 0; round < 3; round += 1) {
      nowMs += 1000;
      for (const task of await stores[1]!.take(100)) {
        await hands[1]!.finish(task, draftOf(task.address.split('/').at(-1)!, 'a'));
      }
    }
    const ledger = await hands[0]!.ledgerAtRest();
    expect(ledger).toMatchObject({ accepted: 24, waiting: 0, parked: 0, quarantined: 0 });
    expect(sumOf(ledger)).toBe(24);
    expect(ledger.published).toBe(12);
  });

  test('a notification that is judged again by two is released once', async () => {
    await hands[0]!.put(range(10).map(() => bad));
    const judged = await Promise.all(
      (await entries()).map(({ id }) => everywhere((store, index) => store.rejudge(id, hintOf(`r${index}`)))),
    );
    for (const results of judged) {
      expect(results.filter((result) => result === 'released')).toHaveLength(1);
    }
    const ledger = await stores[0]!.ledger();
    expect(ledger).toMatchObject({ accepted: 10, waiting: 10, quarantined: 0 });
  });

  test('orders that come together are one transaction, however many they are, and each has its own line', async () => {
    const ids = range(60).map(String);
    await hands[0]!.put(ids.map((id) => hintOf(id)));
    await hands[0]!.put(range(40).map(() => bad));
    for (const task of await stores[0]!.take(100)) await hands[0]!.quarantine(task);
    const found = await entries();
    const of = (what: string) => found.filter((entry) => entry.what === what).map(({ id }) => id);
    const [tasks, notifications] = [of('task'), of('notification')];
    await Promise.all(tasks.slice(0, 30).map((id) => stores[0]!.releaseQuarantine(id)));
    await Promise.all(tasks.slice(30).map((id) => stores[0]!.discardQuarantine(id)));
    await Promise.all(notifications.map((id, index) => stores[0]!.rejudge(id, hintOf(`n${index}`))));
    const pool = new Pool({ connectionString: url });
    const { rows } = await pool.query(
      'SELECT count(DISTINCT xmin::text)::int AS transactions FROM quarantine',
    );
    await pool.end();
    expect(rows).toEqual([{ transactions: 3 }]);
    const ledger = await stores[0]!.ledger();
    expect(ledger).toMatchObject({ accepted: 100, waiting: 70, discarded: 30, quarantined: 0 });
    expect(await stores[0]!.take(100)).toHaveLength(70);
  });

  test('many records that are released together are sent only while each is the newest of its key', async () => {
    for (const id of range(6)) await hands[0]!.publish(`r${id}`, 'a');
    for (const record of await hands[0]!.records())
      await stores[0]!.quarantineRecord(record, 'record-refused', 'x');
    const refused = await entries();
    nowMs += 2000;
    for (const id of range(3)) await hands[0]!.publish(`r${id}`, 'b');
    await hands[0]!.sendAll();
    const released = await Promise.all(refused.map(({ id }) => stores[0]!.releaseQuarantine(id)));
    expect(new Set(released)).toEqual(new Set(['released']));
    const unsent = (await hands[0]!.records()).map(({ key }) => key.split('/').at(-1));
    expect(unsent.sort()).toEqual(['r3', 'r4', 'r5']);
    expect(await stores[0]!.take(100)).toHaveLength(6);
  });

  describe('beside somebody who holds a task', () => {
    let other: Client;
    beforeEach(async () => {
      other = new Client({ connectionString: url });
      await other.connect();
    });
    afterEach(() => other.end());

    const waiting = async (count: number) => {
      const sql = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await until(() => other.query(sql).then(({ rows }) => rows.length === count), {
        withinMs: 2000,
        what: `${count} who wait`,
      });
    };
    const hold = (id: string) =>
      other.query('SELECT id FROM tasks WHERE address = $1 FOR UPDATE NOWAIT', [address(id)]);

    test('discards of records hold no other task and no entry while they wait for it', async () => {
      await hands[0]!.put([hintOf('first'), hintOf('second')]);
      const tasks = await stores[0]!.take(2);
      for (const id of ['second', 'first'])
        await hands[0]!.finish(tasks.find((task) => task.address === address(id))!, draftOf(id, 'a'));
      for (const record of await hands[0]!.records())
        await stores[0]!.quarantineRecord(record, 'record-refused', 'x');
      await other.query('BEGIN');
      await hold('first');
      const orders = (await entries()).map(({ id }) => stores[0]!.discardQuarantine(id));
      await waiting(1);
      await hold('second');
      await other.query('SELECT id FROM quarantine FOR UPDATE NOWAIT');
      await other.query('COMMIT');
      expect(await Promise.all(orders)).toEqual(['discarded', 'discarded']);
    });

    test('an ending holds no lane while it waits for who is adding an address of its resource', async () => {
      await hands[0]!.put([hintOf('1')]);
      const [task] = await stores[0]!.take(1);
      await other.query('BEGIN');
      await other.query('INSERT INTO aliases (address, task_id) VALUES ($1, 0)', [aliasOf('1')]);
      const ending = hands[0]!.finish(task!, draftOf('1', 'a', { address: aliasOf('1') }), {
        settleMs: 1000,
      });
      await waiting(1);
      await other.query('SELECT id FROM lanes FOR NO KEY UPDATE NOWAIT');
      await other.query('ROLLBACK');
      expect(await ending).toMatchObject({ outcome: 'published', again: true });
    });

    test('a discard of a task and of a notification that is judged again holds no task while it waits for the latter', async () => {
      await hands[0]!.put([hintOf('first'), hintOf('second')]);
      for (const task of await stores[0]!.take(2)) await hands[0]!.quarantine(task);
      await hands[0]!.put([bad, bad]);
      const found = await entries();
      const [one, two] = found.filter(({ what }) => what === 'notification');
      const second = found.find((entry) => entry.address === address('second'));
      await other.query('BEGIN');
      await hold('first');
      const judged = [
        stores[0]!.rejudge(one!.id, hintOf('first')),
        stores[0]!.rejudge(two!.id, hintOf('second')),
      ];
      await waiting(1);
      const orders = [second!, one!].map(({ id }) => stores[1]!.discardQuarantine(id));
      await waiting(2);
      await hold('second');
      await other.query('COMMIT');
      expect(await Promise.all(judged)).toEqual(['released', 'released']);
      // The hint has released it.
      expect(await Promise.all(orders)).toEqual(['not-found', 'not-found']);
    });

    test('an organization that is forgotten while a replay has its resources read keeps no work', async () => {
      await hands[0]!.publish('1', 'a');
      await hands[0]!.sendAll();
      const { replay, counts, until: last } = await stores[0]!.beginReplay('x');
      await other.query('BEGIN');
      await other.query('SELECT key FROM sequences FOR UPDATE');
      const again = stores[0]!.readAgain({ replay, from: 0, after: last, counts }, [last]);
      await waiting(1);
      const forgot = stores[1]!.forgetOrganization('4711');
      await Promise.race([forgot, waiting(2)]);
      await other.query('COMMIT');
      expect([await again, (await forgot)?.discarded]).toEqual([1, 1]);
      const views = await stores[0]!.listOrganizations({ limit: 9, after: null });
      expect(views).toMatchObject([{ id: '4711', forgotten: true, parked: 0 }]);
    });
  });

  test('a record that is released while a newer one of its key is decided is never sent after it', async () => {
    for (const round of range(8)) {
      const id = `k${round}`;
      await hands[0]!.publish(id, 'a');
      const first = (await hands[0]!.records()).find(({ key }) => key.endsWith(id))!;
      await stores[0]!.quarantineRecord(first, 'record-refused', 'x');
      const [entry] = await entries();
      await hands[0]!.put([hintOf(id)]);
      const task = await hands[0]!.takeAt(address(id));
      await Promise.all([stores[1]!.releaseQuarantine(entry!.id), hands[2]!.finish(task, draftOf(id, 'b'))]);
      const rows = (await hands[0]!.records()).filter(({ key }) => key.endsWith(id));
      expect(rows.at(-1)!.sequence).toBe(2);
      expect(rows.map(({ sequence }) => sequence)).toEqual([...rows.map(({ sequence }) => sequence)].sort());
      await hands[0]!.sendAll();
      nowMs += 2000;
    }
  });

  test('retention beside the end of reads folds or forgets every hint, and counts none twice', async () => {
    const ids = range(60).map(String);
    for (const id of ids) await hands[0]!.put([hintOf(id), hintOf(id)]);
    nowMs += 40 * dayMs;
    const tasks = await stores[0]!.take(100);
    const half = tasks.slice(0, 30);
    await Promise.all([
      ...half.map((task, index) =>
        hands[index % 3]!.finish(task, draftOf(task.address.split('/').at(-1)!, 'a')),
      ),
      ...stores.map(async (store) => {
        while ((await store.sweep()).more);
      }),
    ]);
    const ledger = await hands[0]!.ledgerAtRest();
    expect(ledger.waiting).toBe((tasks.length - 30) * 2);
    expect(sumOf(ledger)).toBe(ledger.accepted);
    for (const task of tasks.slice(30)) {
      await hands[1]!.finish(task, draftOf(task.address.split('/').at(-1)!, 'a'));
    }
    expect(await hands[0]!.ledgerAtRest()).toMatchObject({ accepted: 0, waiting: 0 });
  });

  test('whatever one process did the others explain', async () => {
    const { deliveryId } = await hands[0]!.put([hintOf('1')]);
    const task = await hands[1]!.take();
    await hands[1]!.finish(task, draftOf('1', 'a'));
    const [row] = await hands[2]!.records();
    await stores[2]!.markSent([sentTo(row!, 4, '17')]);
    for (const what of [deliveryId, row!.eventId, address('1')]) {
      const told = await everywhere((store) => store.explain(what));
      expect(told[0]!.steps.map(({ step }) => step)).toEqual(
        expect.arrayContaining(['published', 'decided', 'sent']),
      );
      expect(told[0]!.steps.at(-1)).toMatchObject({ partition: 4, offset: '17' });
      expect(told[1]).toEqual(told[0]);
      expect(told[2]).toEqual(told[0]);
    }
  });
});
