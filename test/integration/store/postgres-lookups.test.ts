/**
 * What the statements of the path read on a store that was empty when they were planned: what they are asked for, and never
 * a table that has grown since from end to end.
 */
import type { EquipmentNames } from '../../../src/model/equipment-names';
import type { Observation } from '../../../src/model/organization';
import type { Store } from '../../../src/model/store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import {
  deliveryOf,
  draftOf,
  emptyRun,
  goneBy,
  heldBy,
  hintOf,
  sealedConnection,
  sentTo,
  terms,
} from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

describeWithNeighbour(
  'PostgreSQL',
  postgresAvailable(),
  'statements that were planned on empty tables',
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      // What a server has counted stays as it is.
      server = await startPostgres({ settings: { autovacuum: 'off' } });
    });
    afterAll(() => server.stop());

    test('ten thousand hints that come together are taken, however their statements were planned', async () => {
      const name = await server.createDatabase();
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => Date.UTC(2026));
      let next = 0;
      const group = (deliveries: number, each: number) =>
        Promise.all(
          Array.from({ length: deliveries }, () => {
            const hints = Array.from({ length: each }, () => {
              next += 1;
              return { ...hintOf(`${next}`, `org-${next % 50}`), user: `user-${next}` };
            });
            return store.put(
              deliveryOf(1, hints, { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01` }),
            );
          }),
        );
      // Enough for a plan that is made for no values.
      for (let times = 0; times < 60; times += 1) await group(10, 1);
      for (let times = 0; times < 3; times += 1) await group(500, 20);
      next -= 10_000;
      await group(500, 20);
      expect(await store.ledger()).toMatchObject({ accepted: 40_600, waiting: 40_600 });
      await store.close();
    }, 60_000);

    test('from a hint to what is sent each row is looked up, however few the server had counted', async () => {
      const name = await server.createDatabase();
      let nowMs = Date.UTC(2026);
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => nowMs);
      await server.query('ANALYZE', name);
      let next = 0;
      const round = async (ids: string[]) => {
        nowMs += 10_000;
        await Promise.all(
          ids.map((id) => store.put(deliveryOf(nowMs, [hintOf(id, `org-${Number(id) % 10}`)]))),
        );
        nowMs += 10_000;
        const tasks = await store.take(ids.length);
        const finish = { connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 0 };
        await Promise.all(
          tasks.map((task) => {
            next += 1;
            const draft = draftOf(task.address.split('/').at(-1)!, `content ${next}`);
            return store.finish({ ...heldBy(task), draft, ...finish });
          }),
        );
        const rows = await store.pickUnsent(1000, 1e9, []);
        await store.markSent(rows.map((record) => sentTo(record, null, null)));
        return rows.length;
      };
      const ids = Array.from({ length: 400 }, (_, at) => `${at}`);
      let sent = 0;
      // Enough for plans that are made for no values; then new resources, and those that are known.
      for (let at = 0; at < 24; at += 2) sent += await round(ids.slice(at, at + 2));
      for (const start of [24, 0])
        for (let at = start; at < 400; at += 25) sent += await round(ids.slice(at, at + 25));
      expect(sent).toBe(800);
      // What a session has read is told when it ends.
      await store.close();
      const read = await server.query(
        `SELECT relname AS name, idx_tup_fetch::int + seq_tup_read::int AS looked_at FROM pg_stat_user_tables
         WHERE relname IN ('tasks', 'aliases', 'hints', 'outbox', 'sequences', 'reads')`,
        name,
      );
      for (const { name: table, looked_at } of read)
        expect([table, (looked_at as number) < 12 * sent]).toEqual([table, true]);
    });

    test('a group that falls due looks its lanes up, however many there are by now', async () => {
      const name = await server.createDatabase();
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => Date.UTC(2026));
      let next = 0;
      const group = () =>
        Promise.all(
          Array.from({ length: 10 }, () => {
            next += 1;
            return store.put(deliveryOf(1, [hintOf(`${next}`, `org-${next % 10}`)]));
          }),
        );
      for (let times = 0; times < 12; times += 1) await group();
      await server.query(`INSERT INTO lanes (id) SELECT 'idle-' || i FROM generate_series(1, 5000) i`, name);
      for (let times = 0; times < 12; times += 1) await group();
      await store.close();
      const [read] = await server.query(
        `SELECT idx_tup_fetch::int + seq_tup_read::int AS looked_at FROM pg_stat_user_tables WHERE relname = 'lanes'`,
        name,
      );
      expect(read!.looked_at).toBeLessThan(4 * next);
    });

    /** Rows beside those that a test works on, in every table that grows: more than it may look at. */
    const many = 4000;
    const beside = `
      INSERT INTO tasks (id, kind, resource_id, address, organization_id, lane, state, generation, published, wire_hash,
        content_hash, normalizer_version, listed_in)
        SELECT 1000000 + i, 'equipment', 'beside' || i, 'beside' || i, 'o' || i, 'o' || i, 'done', 1, true, 'w', 'c', 1, 1000000 + i
        FROM generate_series(1, ${many}) i;
      INSERT INTO aliases SELECT 'beside' || i, 1000000 + i FROM generate_series(1, ${many}) i;
      INSERT INTO lanes (id) SELECT 'o' || i FROM generate_series(1, ${many}) i;
      INSERT INTO organizations (id) SELECT 'o' || i FROM generate_series(1, ${many}) i;
      INSERT INTO organization_history (organization_id, epoch, at, access, previous, said_by)
        SELECT 'o' || i, 1, 0, 'active', 'active', 'operator' FROM generate_series(1, ${many}) i;
      INSERT INTO sights SELECT 'c9', 'o' || i, 0 FROM generate_series(1, ${many}) i;
      INSERT INTO listings (id, scope, organization_id, begun)
        SELECT 1000000 + i, 'o' || i, 'o' || i, 1 FROM generate_series(1, ${many}) i;
      INSERT INTO unclaimed SELECT 'equipment', 'unclaimed' || i, 'o' || i FROM generate_series(1, ${many}) i;
      INSERT INTO sequences (key, sequence) SELECT 'o' || i || '/equipment/beside' || i, 1 FROM generate_series(1, ${many}) i;
      INSERT INTO outbox (id, event_id, topic, key, slot, sequence, headers, value, bytes, cause, decided_at, sent_at, position, state)
        SELECT 1000000 + i, 'e' || i, 'held', 'o' || i || '/equipment/beside' || i, 1, 1, '[]', '{}', 100, 'x', 0,
          1e15, CASE WHEN i % 2 = 0 THEN 1000000 + i END, CASE WHEN i % 2 = 0 THEN 2 ELSE 0 END
        FROM generate_series(1, ${many}) i;
      INSERT INTO replayed (replay, outbox_id, task_id, at, topic, sent_at)
        SELECT 1000000, 1000000 + i, 1000000 + i, 1e15, 'held', 0 FROM generate_series(1, ${many}) i;
      INSERT INTO deliveries (id, received_at, body_hash, bytes, notifications, acted, ignored, quarantined, elements)
        SELECT 1000000 + i, 0, 'h', 1, 1, 0, 1, 0, '[]' FROM generate_series(1, ${many}) i;
      INSERT INTO hints SELECT 1000000 + i, 1, 1000000 + i, 0 FROM generate_series(1, ${many}) i;
      INSERT INTO reads (task_id, fence, generation, outcome, event_id, at)
        SELECT 1000000 + i, 1, 0, 'published', 'e' || i, 0 FROM generate_series(1, ${many}) i;
      INSERT INTO quarantine (what, reason, path, task_id, at)
        SELECT 'task', 'no-access', '', 1000000 + i, 1e15 FROM generate_series(1, ${many}) i`;

    /** Works once on what was counted as empty, and once beside many rows. What it looked at, of the tables of which that is much. */
    const lookedAtMuch = async (
      work: (store: Store, nth: number, later: (ms: number) => void) => Promise<void>,
      most = many,
    ) => {
      const name = await server.createDatabase();
      let nowMs = Date.UTC(2026);
      const open = () => openPostgres(postgresSettingsFor(server.url(name)), () => nowMs);
      const later = (ms: number) => {
        nowMs += ms;
      };
      await (await open()).close();
      // As it is once a session has made a statement a few times.
      await server.query(`ALTER DATABASE ${name} SET plan_cache_mode = force_generic_plan`);
      await server.query('ANALYZE', name);
      const store = await open();
      await work(store, 1, later);
      await server.query(beside, name);
      await work(store, 2, later);
      await store.close();
      const sessions = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`;
      await until(async () => (await server.query(sessions)).length === 0, { withinMs: 20_000 });
      const read = await server.query(
        `SELECT relname AS name FROM pg_stat_user_tables WHERE idx_tup_fetch + seq_tup_read >= ${most}`,
        name,
      );
      return read.map((row) => row.name);
    };

    /** From hints to what is sent. */
    const publish = async (store: Store, ids: string[], later: (ms: number) => void) => {
      const hints = ids.map((id) => hintOf(id));
      await store.put(deliveryOf(Date.UTC(2026), hints, { messageId: ids.join() }));
      const finish = { connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 0 };
      for (const task of await store.take(100))
        await store.finish({
          ...heldBy(task),
          draft: draftOf(task.address.split('/').at(-1)!, 'a'),
          ...finish,
        });
      const rows = await store.pickUnsent(1000, 1e9, [{ topic: 'held', partition: 0, partitions: 1 }]);
      await store.markSent(rows.map((record) => sentTo(record, 0, `${record.row}`)));
      later(10_000);
      // What waited from before goes first.
      return rows.map(({ row }) => row).slice(-ids.length);
    };

    test('deliveries, claims, endings and the relay look at what they work on, whatever else there is', async () => {
      const work = async (store: Store, nth: number, later: (ms: number) => void) => {
        await publish(store, [`${nth}-1`, `${nth}-2`], later);
        const hints = [1, 2, 3].map((id) => hintOf(`${nth}-${id}`));
        await store.put(deliveryOf(Date.UTC(2026), hints, { messageId: `${nth}` }));
        const [gone, absent, refused] = await store.take(3);
        await store.finishGone(goneBy(gone!));
        await store.foundAbsent({ ...heldBy(absent!), againInMs: 1000 });
        const probe = { organizationId: '4711', refusedAddress: refused!.address, connectionId: 'c1' };
        const wait = { dueInMs: 0, agedMs: 0, detail: null };
        await store.giveBack({ ...heldBy(refused!), code: 'action-required', probe, ...wait });
        await store.nextDueInMs('task');
        for (const found of [terms, { cause: null }]) {
          const { epoch } = (await store.access('4711'))!;
          await store.observe({ organizationId: '4711', epoch, found, by: 'probe' } as Observation);
        }
        later(60_000);
        for (const task of await store.take(3))
          await store.quarantineTask({
            ...heldBy(task),
            reason: 'no-access',
            path: '',
            detail: null,
            raw: null,
          });
        const [unsent] = await store.pickUnsent(1, 1e9, [{ topic: 'held', partition: 0, partitions: 1 }]);
        await store.quarantineRecord(unsent!, 'record-refused', 'no');
        for (const { id } of await store.listQuarantine({ limit: 9, after: null }))
          await store.releaseQuarantine(id);
      };
      expect(await lookedAtMuch(work)).toEqual([]);
    });

    test('a page of a listing looks at what it shows, whatever else there is', async () => {
      const work = async (store: Store, nth: number, later: (ms: number) => void) => {
        await publish(store, [`${nth}`], later);
        const { run } = await store.beginRun({ organizationId: '4711', full: false });
        const scope = { scope: `4711/${nth}`, organizationId: '4711' };
        const { listings, revision } = await store.openListings(run, [scope]);
        const listingId = listings[0]!.id;
        const of = { kind: 'equipment' as const, organizationId: '4711', normalizerVersion: 1 };
        const seen = [
          { ...of, id: `${nth}`, wireHash: 'a' },
          { ...of, id: `${nth}-new`, wireHash: 'a' },
        ];
        expect(await store.compareListed(run, listingId, seen, 'c1')).toEqual([1]);
        const hint = {
          resource: null,
          address: hintOf(`${nth}`).address,
          organizationId: '4711',
          modifiedTime: null,
        };
        const after = { end: true, whole: true, changeToken: null } as const;
        await store.finishPage({
          ...{ run, revision, listingId, connectionId: 'c1', from: null, after },
          ...{ drafts: [draftOf(`${nth}-new`, 'b')], hints: [hint] },
        });
        await store.hintAbsent(run, '4711', 'equipment', 0.05);
        await store.endRun(run, emptyRun, true);
      };
      expect(await lookedAtMuch(work)).toEqual([]);
    });

    test('a replay looks at what it sends again and has read, whatever else there is', async () => {
      const all = { events: null, keys: null, organizationId: null, kind: null };
      const work = async (store: Store, nth: number, later: (ms: number) => void) => {
        const rows = await publish(store, [`${nth}-1`, `${nth}-2`, `${nth}-3`], later);
        const { replay, counts } = await store.beginReplay(`${nth}`);
        const selection = { ...all, withReading: true, notSentBy: replay };
        const { events } = await store.selectReplay(selection, rows[0]! - 1, rows.at(-1)!, 10);
        expect(events).toHaveLength(3);
        const [sent, read] = [events.slice(0, 1), events.slice(1)].map((some) => some.map(({ row }) => row));
        await store.resendNewest({ replay, counts, from: 0, after: rows[0]! }, sent!);
        await store.readAgain({ replay, counts, from: rows[0]!, after: rows.at(-1)! }, read!);
      };
      expect(await lookedAtMuch(work)).toEqual([]);
    });

    test('what listings show to a connection, and its grant, look at its organizations, whatever else there is', async () => {
      const work = async (store: Store, nth: number) => {
        const connectionId = `c${nth}`;
        await store.saveConnection(sealedConnection(connectionId));
        for (const id of ['4711', `${nth}`]) await store.learn([{ id, name: id, connectionId }]);
        expect((await store.listConnections()).at(-1)!.organizations).toEqual([`${nth}`, '4711']);
        await store.keepSights(connectionId, [`${nth}`]);
        const { observed } = await store.refuseConnection(connectionId, null, 's');
        expect(observed.length).toBeGreaterThan(0);
        await store.acceptConnection(connectionId);
      };
      // All are read whose consent may have come back.
      expect(await lookedAtMuch(work)).toEqual(['organizations']);
    });

    test('retention looks at each row a few times, however much there is of others', async () => {
      const work = async (store: Store, nth: number, later: (ms: number) => void) => {
        await publish(store, [`${nth}`], later);
        for (let times = 0; times < 6; times += 1) await store.sweep();
      };
      expect(await lookedAtMuch(work, 10 * many)).toEqual([]);
    });

    test('an address that has lost its task is the fault of the delivery that names it alone', async () => {
      const name = await server.createDatabase();
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => Date.UTC(2026));
      await store.put(deliveryOf(1, [hintOf('1')]));
      await server.query('DELETE FROM tasks; DELETE FROM hints', name);
      const put = (id: string) => store.put(deliveryOf(1, [hintOf(id)]));
      const [named, beside] = await Promise.allSettled([put('1'), put('2')]);
      expect(named).toMatchObject({ reason: { code: 'store.refused', message: 'an address has no task' } });
      expect(beside).toMatchObject({ value: { due: 1 } });
      await store.close();
    });

    test('naming new equipment reads the rows of its names alone, however much is known', async () => {
      const [calls, pieces] = [40, 25];
      const name = await server.createDatabase();
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => Date.UTC(2026));
      for (let call = 0; call < calls; call += 1) {
        const named = Array.from({ length: pieces }, (_, nth): EquipmentNames => {
          const id = `${call}-${nth}`;
          return {
            side: 'new',
            id,
            organizationId: '4711',
            principalId: `p${id}`,
            erid: null,
            serialNumber: `s${id}`,
          };
        });
        await store.nameEquipment(named);
      }
      // What a session has read is told when it ends.
      await store.close();
      const [read] = await server.query(
        `SELECT n_tup_ins::int AS added, idx_tup_fetch::int + seq_tup_read::int AS looked_at
       FROM pg_stat_user_tables WHERE relname = 'equipment'`,
        name,
      );
      expect(read!.added).toBe(calls * pieces);
      expect(read!.looked_at).toBeLessThan(3 * calls * pieces);
    });

    test('a pick looks at what it picks, however much waits on a topic that is left alone', async () => {
      const name = await server.createDatabase();
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => Date.UTC(2026));
      const fill = (topic: string, from: number, to: number) =>
        server.query(
          `INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, cause, decided_at)
           SELECT 'e' || i, '${topic}', '1/equipment/' || i, i, 1, '[]', '{}', 100, 'x', 0
           FROM generate_series(${from}, ${to}) i`,
          name,
        );
      await fill('held', 1, 20_000);
      await fill('other', 20_001, 20_010);
      const held = [{ topic: 'held', partition: 0, partitions: 1 }];
      for (let times = 0; times < 7; times += 1) expect(await store.pickUnsent(5, 1e9, held)).toHaveLength(5);
      await store.close();
      const [read] = await server.query(
        `SELECT idx_tup_fetch::int + seq_tup_read::int AS looked_at FROM pg_stat_user_tables WHERE relname = 'outbox'`,
        name,
      );
      expect(read!.looked_at).toBeLessThan(7 * 30);
    });

    describe('with many rows that were counted', () => {
      let name: string;
      beforeEach(async () => {
        name = await server.createDatabase();
      });

      /** How many rows of the table were looked at by a store that does this after they are there. */
      async function lookedAt(table: string, fill: string, act: (store: Store) => Promise<unknown>) {
        const store = await openPostgres(postgresSettingsFor(server.url(name)), () => Date.UTC(2026));
        await server.query(fill, name);
        await server.query('ANALYZE', name);
        await server.query('SELECT pg_stat_reset()', name);
        await act(store);
        await store.close();
        const [read] = await server.query(
          `SELECT idx_tup_fetch::int + seq_tup_read::int AS count FROM pg_stat_user_tables WHERE relname = '${table}'`,
          name,
        );
        return read!.count as number;
      }

      test('a page of organizations is read from its beginning on', async () => {
        const fill = `INSERT INTO organizations (id) SELECT lpad(i::text, 5, '0') FROM generate_series(1, 20000) i`;
        const read = await lookedAt('organizations', fill, async (store) => {
          const page = await store.listOrganizations({ limit: 10, after: '19980' });
          expect(page.map(({ id }) => id).slice(0, 2)).toEqual(['19981', '19982']);
          expect(await store.listOrganizations({ limit: 10, after: null })).toHaveLength(10);
        });
        expect(read).toBeLessThan(100);
      });

      test('named events are looked up, however many there are', async () => {
        const fill = `INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, cause, decided_at, state)
          SELECT 'e' || i, 'tramline.equipment.v1', '1/equipment/' || i, i, 1, '[]', '{}', 100, 'x', 0, 2
          FROM generate_series(1, 20000) i;
          INSERT INTO sequences (key, sequence) SELECT '1/equipment/' || i, 1 FROM generate_series(1, 20000) i`;
        const selection = { events: ['e1', 'e7000'], keys: null, organizationId: null, kind: null };
        const read = await lookedAt('outbox', fill, async (store) => {
          const page = await store.selectReplay(selection, 0, 20_000, 20_000);
          expect(page.events.map(({ eventId }) => eventId)).toEqual(selection.events);
        });
        // The end of the page is counted up to.
        expect(read).toBeLessThan(20_000 + 100);
      });

      test('what stands published is forgotten by its numbers, a page at a time', async () => {
        const fill = `INSERT INTO tasks (address, lane, state, generation, kind, resource_id, organization_id, published, content_hash)
          SELECT 'a' || i, '1', 'done', 1, 'equipment', i, '1', true, 'x' FROM generate_series(1, 20000) i`;
        const page = { topic: 'tramline.equipment.v1', partition: 0, from: null, nextOffset: '5', lost: 5 };
        const read = await lookedAt('tasks', fill, (store) => store.noteFound({ ...page, records: [] }));
        // Looked for, locked and written.
        expect(read).toBeLessThan(4 * 20_000);
      });
    });

    test.each([
      ['an outage', 'hasten' as const],
      ['a refusal', 'hastenRefused' as const],
    ])('at the end of %s what is not due yet is looked at alone, each three times', async (_, verb) => {
      const name = await server.createDatabase();
      const nowMs = Date.UTC(2026);
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => nowMs);
      const end = () => (verb === 'hasten' ? store.hasten() : store.hastenRefused(null));
      const fill = (from: number, to: number, dueMs: number) =>
        server.query(
          `INSERT INTO tasks (address, lane, state, generation, due_at, failed_at, code)
           SELECT 'a' || i, '4711', 'postponed', 1, ${dueMs} + i, 0, 'client-refused'
           FROM generate_series(${from}, ${to}) i`,
          name,
        );
      // A session plans a statement anew until it has made it a few times.
      for (let times = 0; times < 7; times += 1) expect(await end()).toBe(0);
      await fill(1, 20_000, nowMs - 20_000);
      expect(await end()).toBe(0);
      await fill(20_001, 25_000, nowMs);
      expect(await end()).toBe(5000);
      await store.close();
      const lookedAt = async () => {
        const [read] = await server.query(
          `SELECT idx_tup_fetch::int + seq_tup_read::int AS count FROM pg_stat_user_tables WHERE relname = 'tasks'`,
          name,
        );
        return read!.count as number;
      };
      await until(async () => (await lookedAt()) >= 3 * 5000, { withinMs: 20_000 });
      expect(await lookedAt()).toBe(3 * 5000);
    });
  },
);
