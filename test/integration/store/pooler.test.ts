/**
 * A pooler between the service and its PostgreSQL: one that keeps sessions serves, one that lends them for a transaction is
 * refused before anything is made.
 */
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

  async function through(mode: 'session' | 'transaction') {
    pooler = await startPgbouncer(server.url(database), mode);
    return poolConfig({ url: pooler.url, connections: 1 });
  }

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
});
