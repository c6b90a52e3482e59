/**
 * A server that has no place for one more connection: whoever wants one waits for those that there are, and is refused where
 * there are none, or where none is given back in time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '../../../src/store/postgres/database';
import { type PostgresServer, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

describe('a server with two places', () => {
  let server: PostgresServer;
  let url: string;
  let database: Database;
  beforeAll(async () => {
    server = await startPostgres();
    url = server.url(await server.createDatabase());
    await server.query(`CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 2`);
  }, 60_000);
  afterAll(async () => {
    await server.query('DROP ROLE few');
    await server.stop();
  });
  /** A session ends at the server a moment after its connection. */
  const allLeft = () =>
    until(
      async () => (await server.query(`SELECT 1 FROM pg_stat_activity WHERE usename = 'few'`)).length === 0,
      { withinMs: 10_000, everyMs: 10, what: 'its sessions to end' },
    );
  beforeEach(async () => {
    await allLeft();
    const limited = Object.assign(new URL(url), { username: 'few', password: 'few' });
    database = openDatabase({ url: limited.href, connections: 6 });
  });
  afterEach(() => database.close());

  const hold = (of: Database, ms: number) =>
    of.transact(async (statements) => {
      await delay(ms);
      return (await statements.get('SELECT 1 AS one'))!.one as number;
    });

  test('serves six at a time, each in its turn', async () => {
    expect(await Promise.all(Array.from({ length: 6 }, () => hold(database, 100)))).toEqual([
      1, 1, 1, 1, 1, 1,
    ]);
    expect(database.connected()).toBe(2);
  });

  test('is away for who has no connection while others have them all', async () => {
    const others = openDatabase({
      url: Object.assign(new URL(url), { username: 'few', password: 'few' }).href,
      connections: 2,
    });
    await Promise.all([hold(others, 100), hold(others, 100)]);
    await expect(hold(database, 0)).rejects.toMatchObject({ code: 'store.unavailable' });
    await others.close();
    await allLeft();
    expect(await hold(database, 0)).toBe(1);
  });

  test('is away for who waited too long for one that is lent out', async () => {
    const long = [hold(database, 2500), hold(database, 2500)];
    await delay(50);
    await expect(hold(database, 0)).rejects.toMatchObject({ code: 'store.unavailable' });
    await Promise.all(long);
  });
});
