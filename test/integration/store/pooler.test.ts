/**
 * A pooler between the service and its PostgreSQL: one that keeps sessions serves, one that lends them for a transaction is
 * refused before anything is made.
 */
import { Client } from 'pg';
import { migrate, mustBeMigrated } from '../../../src/store/postgres/migrate';
import { type Database, openDatabase, poolConfig } from '../../../src/store/postgres/server/database';
import { describeWithNeighbour } from '../../support/neighbour';
import { type Pooler, pgbouncerAvailable, startPgbouncer } from '../../support/pgbouncer';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';

const both = [postgresAvailable(), pgbouncerAvailable()];
const missing = both.find(({ available }) => !available) ?? { available: true as const };

describeWithNeighbour('PgBouncer', missing, 'a pooler between', () => {
  let server: PostgresServer;
  let pooler: Pooler | undefined;
  let database: string;
  beforeAll(async () => {
    server = await startPostgres();
  });
  beforeEach(async () => {
    database = await server.createDatabase();
  });
  afterEach(async () => {
    await pooler?.stop();
    pooler = undefined;
  });
  afterAll(() => server.stop());

  async function through(
    mode: 'session' | 'transaction',
    how: { size?: number; inTurns?: boolean; ignored?: string } = {},
  ) {
    pooler = await startPgbouncer(server.url(database), mode, how);
    return poolConfig({ url: pooler.url, connections: 1 });
  }

  test('a server that has one place for who starts serves without a pooler as well', async () => {
    await server.query(`CREATE ROLE lone LOGIN CONNECTION LIMIT 1`);
    await server.query(`GRANT CREATE, USAGE ON SCHEMA public TO lone`, database);
    const url = Object.assign(new URL(server.url(database)), { username: 'lone' });
    await migrate(poolConfig({ url: url.href, connections: 1 }));
  });

  test('that lends a session for one transaction is refused, and nothing is made', async () => {
    const config = await through('transaction');
    const problem = { code: 'settings.invalid', message: expect.stringContaining('pooler') };
    for (const look of [migrate, mustBeMigrated]) await expect(look(config)).rejects.toMatchObject(problem);
    expect(await server.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`, database)).toEqual([]);
  });

  test('that keeps a session for each connection serves', async () => {
    const config = await through('session');
    await migrate(config);
    await mustBeMigrated(config);
  });

  test.each(['', 'lock_timeout', 'lock_timeout, idle_in_transaction_session_timeout'])(
    'that lets only “%s” pass of what a session is asked for is refused with the line that it needs',
    async (ignored) => {
      const config = await through('session', { ignored });
      for (const look of [migrate, mustBeMigrated])
        await expect(look(config)).rejects.toMatchObject({
          code: 'settings.invalid',
          message: expect.stringMatching(
            /^unsupported startup parameter: \w+; a pooler must .*`ignore_startup_parameters = lock_timeout, idle_/,
          ),
        });
    },
  );

  test('that drops what a session is asked for as it connects leaves it all the same, once it is connected', async () => {
    await through('session');
    const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    names.push('enable_seqscan', 'enable_bitmapscan', 'jit', 'plan_cache_mode');
    names.push('default_transaction_isolation');
    const shown = async (url: string) => {
      const opened = openDatabase({ url, connections: 1 });
      const sql = `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join()}`;
      const row = await opened.transact((statements) => statements.get(sql));
      await opened.close();
      return row;
    };
    await server.query(`ALTER DATABASE "${database}" SET default_transaction_isolation = 'repeatable read'`);
    const direct = await shown(server.url(database));
    expect(direct).toMatchObject({ lock_timeout: '2500ms', enable_seqscan: 'off', jit: 'off' });
    expect(await shown(pooler!.url)).toEqual(direct);
  });

  test('that drops the search path of the address is refused, and nothing is made in another schema', async () => {
    await through('session');
    const url = `${pooler!.url}?options=-csearch_path%3Delsewhere`;
    await expect(migrate(poolConfig({ url, connections: 1 }))).rejects.toMatchObject({
      code: 'settings.invalid',
      message: expect.stringContaining('drops the `options` of the address'),
    });
    expect(await server.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`, database)).toEqual([]);
  });

  test('that has one session left for who starts serves all the same', async () => {
    const config = await through('session', { size: 1 });
    await migrate(config);
    await mustBeMigrated(config);
  });

  test.each([1, 2, 3, 4])('that lends %i sessions in turns is refused', async (sessions) => {
    const config = await through('transaction', { inTurns: true });
    const clients = Array.from({ length: sessions }, () => new Client({ connectionString: pooler!.url }));
    for (const client of clients) {
      await client.connect();
      await client.query('BEGIN');
    }
    for (const client of clients) await client.query('COMMIT');
    await expect(migrate(config)).rejects.toMatchObject({ code: 'settings.invalid' });
    for (const client of clients) await client.end();
  });

  test('that begins to lend its sessions while others serve is told to them as that', async () => {
    await through('transaction', { size: 1 });
    const all = [1, 2].map(() => openDatabase({ url: pooler!.url, connections: 1 }));
    const look = (one: Database) => one.transact((statements) => statements.get('SELECT 1 AS one'));
    expect(await look(all[0]!)).toEqual({ one: 1 });
    // Of another process, with statements of the same names.
    await expect(look(all[1]!)).rejects.toMatchObject({
      code: 'store.unavailable',
      message: expect.stringMatching(/^DATABASE_URL leads to a pooler that lends a session /),
    });
    for (const one of all) await one.close();
  });

  test('that lends its sessions is met by each of eight that start at once', async () => {
    const config = await through('transaction');
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => migrate(config)));
    const codes = outcomes.map((one) => one.status === 'rejected' && one.reason.code);
    expect(codes).toEqual(codes.map(() => 'settings.invalid'));
  });
});
