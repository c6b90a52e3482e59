/**
 * A server that has no place for one more connection: whoever wants one waits for those that there are, and is refused where
 * there are none. How long is waited: unit/store/lender.test.ts.
 */
import { type Database, openDatabase } from '../../../src/store/postgres/server/database';
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

  /** Lent out until `mayEnd`. */
  const hold = (of: Database, mayEnd: Promise<unknown> = Promise.resolve()) =>
    of.transact(async (statements) => {
      const row = await statements.get('SELECT 1 AS one');
      await mayEnd;
      return row!.one as number;
    });

  test('serves six at a time, each in its turn', async () => {
    expect(await Promise.all(Array.from({ length: 6 }, () => hold(database)))).toEqual([1, 1, 1, 1, 1, 1]);
    expect(database.connected()).toBe(2);
  });

  test('is away for who has no connection while others have them all', async () => {
    const others = openDatabase({
      url: Object.assign(new URL(url), { username: 'few', password: 'few' }).href,
      connections: 2,
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = [hold(others, promise), hold(others, promise)];
    await until(async () => others.connected() === 2, {
      withinMs: 10_000,
      everyMs: 1,
      what: 'both to be held',
    });
    await expect(hold(database)).rejects.toMatchObject({ code: 'store.unavailable' });
    resolve();
    await Promise.all(held);
    await others.close();
    await allLeft();
    expect(await hold(database)).toBe(1);
  });
});
