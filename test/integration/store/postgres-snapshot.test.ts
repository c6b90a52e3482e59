/**
 * While somebody's snapshot stays open, as a backup's does, what rows were before stays in their indexes. A claim begins where a
 * lane may have something due, and does not walk past all that was done meanwhile.
 */
import { Client } from 'pg';
import type { TakenTask } from '../../../src/model/task';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, draftOf, heldBy, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'claims beside a snapshot that stays open', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  async function begin() {
    const name = await server.createDatabase();
    const clock = { nowMs: Date.UTC(2026) };
    const settings = { ...postgresSettingsFor(server.url(name)), leaseMs: 2000 };
    const store = await openPostgres(settings, () => clock.nowMs);
    const snapshot = new Client({ connectionString: server.url(name) });
    await snapshot.connect();
    await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await snapshot.query('SELECT count(*) FROM tasks');
    const put = (ids: string[]) =>
      Promise.all(ids.map((id) => store.put(deliveryOf(clock.nowMs, [hintOf(id, 'org-1')]))));
    const end = async () => {
      await snapshot.end();
      await store.close();
    };
    return { name, clock, store, put, end };
  }

  const finish = { connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 0 };

  test.each([
    ['all that is taken ends', []],
    ['the lease of one task runs out each time', ['left']],
  ])(
    'what was taken and ended before is not looked at again by each, where %s',
    async (_what, left) => {
      const { name, clock, store, put, end } = await begin();
      const ids = Array.from({ length: 10 }, (_, at) => `${at}`);
      await put(left);
      let ended = 0;
      for (let round = 0; round < 120; round += 1) {
        clock.nowMs += 1000;
        await put(ids);
        clock.nowMs += 1000;
        const tasks = await store.take(20);
        expect(tasks).toHaveLength(ids.length + left.length);
        expect(await store.nextDueInMs('task')).toBe(2000);
        const resourceOf = ({ address }: TakenTask) => address.split('/').at(-1)!;
        const ending = tasks.filter((task) => ids.includes(resourceOf(task)));
        await Promise.all(
          ending.map((task) =>
            store.finish({ ...heldBy(task), draft: draftOf(resourceOf(task), `${round}`), ...finish }),
          ),
        );
        ended += ending.length;
      }
      await end();
      expect(ended).toBe(1200);
      const [read] = await server.query(
        `SELECT sum(idx_tup_read)::int AS entries FROM pg_stat_user_indexes
       WHERE indexrelname IN ('tasks_waiting', 'tasks_taken')`,
        name,
      );
      expect((read!.entries as number) / ended).toBeLessThan(50);
    },
    60_000,
  );

  test('a lease that ran out while its task was kept locked is found by a look at all', async () => {
    const { name, clock, store, put, end } = await begin();
    await put(['1', '2']);
    clock.nowMs += 1000;
    expect(await store.take(20)).toHaveLength(2);
    // Somebody kept them locked for longer than it takes the claims to pass them.
    const holder = new Client({ connectionString: server.url(name) });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM tasks FOR UPDATE');
    for (let second = 0; second < 30; second += 1) {
      clock.nowMs += 1000;
      expect(await store.take(20)).toEqual([]);
    }
    // Nor does whoever waits ask for them without a pause.
    expect(await store.nextDueInMs('task')).not.toBe(0);
    await holder.end();
    clock.nowMs += 60_000;
    expect(await store.take(20)).toHaveLength(2);
    await end();
  });

  test('leases of a server that took over are found at once, however long ago they ran out', async () => {
    const { name, clock, store, put, end } = await begin();
    await put(['1']);
    clock.nowMs += 1000;
    expect(await store.take(20)).toHaveLength(1);
    clock.nowMs += 30_000;
    expect(await store.take(20)).toHaveLength(1);
    await server.query('UPDATE tasks SET lease_until = lease_until - 30000', name);
    await server.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND application_name = 'tramline'`,
    );
    clock.nowMs += 2000;
    // The first may hear of its end.
    expect(await store.take(20).catch(() => store.take(20))).toHaveLength(1);
    await end();
  });
});
