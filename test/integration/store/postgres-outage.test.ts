/**
 * PostgreSQL in trouble under a store: whatever fails says `store.unavailable` before a sender has given up, what was
 * accepted is there afterwards, and the same store goes on by itself.
 */
import { Client } from 'pg';
import type { Store } from '../../../src/model/store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

const ours = process.env.TEST_DATABASE_URL === undefined;
const availability = ours
  ? postgresAvailable()
  : ({ available: false, reason: 'the server of TEST_DATABASE_URL is not ours to stop' } as const);

describeWithNeighbour('PostgreSQL', availability, 'a store whose PostgreSQL is in trouble', () => {
  let server: PostgresServer;
  let database = '';
  let store: Store;
  let accepted = 0;

  beforeAll(async () => {
    server = await startPostgres();
    database = await server.createDatabase();
    store = await openPostgres(postgresSettingsFor(server.url(database)));
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
  });

  const put = async () => {
    await store.put(deliveryOf(0, [hintOf(String(accepted))]));
    accepted += 1;
  };
  /** What calls at once meet, and how long the slowest waited. */
  const refusedWithinMs = async (): Promise<number> => {
    const beganMs = performance.now();
    const calls = [store.put(deliveryOf(0, [hintOf('lost')])), store.ready(), store.take(1)];
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'store.unavailable' } });
    }
    return performance.now() - beganMs;
  };
  const goesOn = async () => {
    await until(() => put().then(() => true), { withinMs: 15_000, what: 'the store to go on' });
    const { accepted: kept } = await store.ledger();
    expect(kept).toBeGreaterThanOrEqual(accepted);
  };

  test('D4: that was killed and started again goes on, with everything that was accepted', async () => {
    await put();
    await server.kill();
    expect(await refusedWithinMs()).toBeLessThan(4000);
    await server.restart();
    await goesOn();
  });

  test('D4: that is killed while calls are under way fails them and nothing else', async () => {
    const other = new Client({ connectionString: server.url(database) });
    other.on('error', () => {});
    await other.connect();
    await other.query('BEGIN; LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE');
    const calls = [
      ...Array.from({ length: 20 }, () => store.put(deliveryOf(0, [hintOf('lost')]))),
      store.take(10),
      store.counts(),
    ];
    const settled = Promise.allSettled(calls);
    await until(
      async () =>
        Number((await other.query('SELECT count(*) FROM pg_locks WHERE NOT granted')).rows[0].count) > 0,
      { withinMs: 5000, what: 'somebody to wait for the lock' },
    );
    await server.kill();
    for (const call of await settled) {
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'store.unavailable' } });
    }
    await server.restart();
    await goesOn();
  });

  test('that says nothing any more is given up in time', async () => {
    server.pause();
    try {
      expect(await refusedWithinMs()).toBeLessThan(4500);
    } finally {
      server.resume();
    }
    await goesOn();
  });

  test('whose tables somebody has locked is given up in time', async () => {
    const client = new Client({ connectionString: server.url(database) });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE meta, tasks, aliases, deliveries IN ACCESS EXCLUSIVE MODE');
    expect(await refusedWithinMs()).toBeLessThan(4000);
    await client.end();
    await goesOn();
  });

  test('D8: that became read-only is away until it may be written again', async () => {
    const toggle = (value: string) =>
      server.query(`ALTER DATABASE ${database} SET default_transaction_read_only = ${value}`);
    const disconnect = () =>
      server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
    await toggle('on');
    await disconnect();
    await until(
      () =>
        put().then(
          () => false,
          (error: { message: string }) => error.message.includes('read-only'),
        ),
      { withinMs: 10_000 },
    );
    await expect(store.ready()).rejects.toMatchObject({ code: 'store.unavailable' });
    await toggle('off');
    await disconnect();
    await goesOn();
  });
});
