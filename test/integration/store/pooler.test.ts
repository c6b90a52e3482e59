/**
 * A pooler between the service and its PostgreSQL: one that keeps sessions serves, one that lends them for a transaction is
 * refused before anything is made.
 */
import { Client } from 'pg';
import { poolConfig } from '../../../src/store/postgres/database';
import { migrate, mustBeMigrated } from '../../../src/store/postgres/migrate';
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

  async function through(mode: 'session' | 'transaction', how: { size?: number; inTurns?: boolean } = {}) {
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

  test('that lends its sessions is met by each of eight that start at once', async () => {
    const config = await through('transaction');
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => migrate(config)));
    const codes = outcomes.map((one) => one.status === 'rejected' && one.reason.code);
    expect(codes).toEqual(codes.map(() => 'settings.invalid'));
  });
});
