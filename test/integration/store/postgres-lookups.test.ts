/**
 * What the statements of the path read on a store that was empty when they were planned: what they are asked for, and never
 * a table that has grown since from end to end.
 */
import type { EquipmentNames } from '../../../src/model/equipment-names';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, draftOf, heldBy, hintOf } from '../../contract/store-hand';
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
        await store.markSent(rows.map(({ row }) => ({ row, partition: null, offset: null })));
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
