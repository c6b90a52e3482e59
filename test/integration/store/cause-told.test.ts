/**
 * Of a server that lets nobody in any more it is told what it says to who asks it now, not what those met whose connections
 * broke before, and whom nobody repeats.
 */
import { Client } from 'pg';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { watchStore } from '../../../src/store/watch-store';
import { systemClock } from '../../../src/tools/clock';
import { asApp, grants, postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'what is told of a server', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.stop());

  test('that lets nobody in any more is what it says now', async () => {
    const database = await server.createDatabase();
    await (await openPostgres(postgresSettingsFor(server.url(database)))).close();
    await server.query(`CREATE ROLE app LOGIN; ${grants}`, database);
    const opened = await openPostgres(postgresSettingsFor(asApp(server.url(database))));
    const { store, trouble } = watchStore(opened, systemClock);
    const holder = new Client({ connectionString: server.url(database) });
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE');
    const put = expect(store.put(deliveryOf(1, [hintOf('1')]))).rejects.toMatchObject({
      code: 'store.unavailable',
    });
    const waits = () => holder.query('SELECT FROM pg_locks WHERE NOT granted');
    await until(async () => (await waits()).rowCount !== 0, { withinMs: 2000 });
    await server.query('ALTER ROLE app NOLOGIN');
    await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`);
    await put;
    await holder.end();
    await until(
      async () => {
        await store.unsentCount().catch(() => {});
        return trouble() !== null;
      },
      { withinMs: 10_000 },
    );
    expect(trouble()).toMatchObject({
      detail: 'the database refuses the login: role "app" is not permitted to log in',
    });
    await store.close();
  }, 20_000);
});
