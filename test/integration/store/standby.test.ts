/**
 * A start on a server that is a standby is refused for now, and one that runs says in plain words what its server became, and
 * goes on once it is promoted. Method: a server of its own, started again as a standby that follows nobody.
 */
import type { Store } from '../../../src/model/store';
import { mustBeMigrated } from '../../../src/store/postgres/migrate';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { poolConfig } from '../../../src/store/postgres/server/database';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { runCommand } from '../../support/command';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a server that is a standby', () => {
  let server: PostgresServer;
  let url: string;
  let store: Store;
  beforeAll(async () => {
    server = await startPostgres({ settings: { wal_level: 'replica' } });
    url = server.url(await server.createDatabase());
    store = await openPostgres(postgresSettingsFor(url));
    await server.becomeStandby();
  }, 60_000);
  afterAll(async () => {
    await store?.close();
    await server?.stop();
  });
  const put = () =>
    store.put(deliveryOf(1, [hintOf('1')])).then(
      () => 'kept',
      ({ message }: Error) => message,
    );

  test('starts nobody, though its tables are of this version', async () => {
    const message = 'the server is a standby, which takes no writes: the address must lead to the primary';
    const refused = { code: 'store.unavailable', message };
    await expect(openPostgres(postgresSettingsFor(url))).rejects.toMatchObject(refused);
    await expect(mustBeMigrated(poolConfig({ url, connections: 1 }))).rejects.toMatchObject(refused);
  });

  test('ends a service or a command with 1, and is not told as one that is not there', async () => {
    const said = `the store of DATABASE_URL at ${new URL(url).host} can only be read now: the server is a standby`;
    const served = await runCommand(['serve'], {
      DATABASE_URL: url,
      ROLE: 'receiver',
      PORT: '0',
      OPERATIONS_PORT: '0',
      WEBHOOK_AUTHORIZATION: 'Bearer of-the-provider-0123456789',
    });
    expect(served).toMatchObject({ code: 1, out: '', error: expect.stringContaining(said) });
    const migrated = await runCommand(['migrate'], { DATABASE_URL: url });
    expect(migrated).toMatchObject({ code: 1, error: expect.stringContaining(said) });
    const checked = await runCommand(['check', '--json'], { DATABASE_URL: url });
    const lines = JSON.parse(checked.out) as { name: string; detail: string }[];
    expect(lines.find(({ name }) => name === 'store')?.detail).toContain(said);
  });

  test('tells who runs what it became, and is served again once it is promoted', async () => {
    const plain = 'the database takes no writes now: it is a standby, or set read-only';
    // The first meet connections that ended with the server as it was.
    await until(async () => (await put()) === plain, { withinMs: 20_000 });
    await server.query('SELECT pg_promote()');
    await until(async () => (await put()) === 'kept', { withinMs: 20_000 });
    await (await openPostgres(postgresSettingsFor(url))).close();
  }, 60_000);
});
