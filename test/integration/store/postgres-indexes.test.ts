/**
 * Indexes that a step makes of a large table: others write meanwhile, several replicas that start at once make each once,
 * and what was left half made is made anew. A transaction that is held open makes the step last.
 */
import { Client } from 'pg';
import type { Store } from '../../../src/model/store';
import { migrate } from '../../../src/store/postgres/migrate';
import { migrations } from '../../../src/store/postgres/migrations';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { poolConfig } from '../../../src/store/postgres/server/database';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const soon = { withinMs: 20_000 };
const later = {
  name: '9001-later',
  kind: 'expand' as const,
  indexes: { tasks_later: 'tasks (attempts) WHERE attempts > 0', tasks_later_too: 'tasks (aged_ms)' },
};

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a step that makes indexes', () => {
  let server: PostgresServer;
  let name = '';
  let store: Store;
  let holder: Client;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    name = await server.createDatabase();
    store = await openPostgres(postgresSettingsFor(server.url(name)), () => nowMs);
    await store.put(deliveryOf(nowMs, [hintOf('1')]));
    holder = new Client({ connectionString: server.url(name) });
    await holder.connect();
    await holder.query('BEGIN; UPDATE tasks SET attempts = 1');
  });
  afterEach(async () => {
    await holder.end();
    await store.close();
    await server.dropDatabase(name);
  });

  const begin = () =>
    migrate(poolConfig({ url: server.url(name), connections: 1 }), null, [...migrations, later]);
  const making = (what: string) =>
    server.query(
      `SELECT ${what} FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'`,
      name,
    );
  const indexes = () =>
    server.query(
      `SELECT relname AS name, indisvalid AS whole FROM pg_index JOIN pg_class ON oid = indexrelid
       WHERE relname LIKE 'tasks_later%' ORDER BY relname`,
      name,
    );
  const whole = Object.keys(later.indexes).map((index) => ({ name: index, whole: true }));
  const recorded = () => server.query(`SELECT 1 FROM migrations WHERE name = '${later.name}'`, name);

  test('K13, T7: lets others write while it makes them, and is made once by all who start', async () => {
    const starting = [begin(), begin(), begin()];
    await until(async () => (await making('1')).length > 0, soon);
    for (const id of ['2', '3']) await store.put(deliveryOf(nowMs, [hintOf(id)]));
    expect(await recorded()).toEqual([]);
    await holder.query('COMMIT');
    await Promise.all(starting);
    expect(await indexes()).toEqual(whole);
    expect(await recorded()).toHaveLength(1);
    expect(await store.take(10)).toHaveLength(3);
  });

  test('makes anew what was left half made', async () => {
    const first = begin();
    const failed = expect(first).rejects.toMatchObject({ code: 'store.unavailable' });
    await until(async () => (await making('1')).length > 0, soon);
    await making('pg_terminate_backend(pid, 5000)');
    await failed;
    expect(await indexes()).toEqual([{ name: 'tasks_later', whole: false }]);
    await holder.query('COMMIT');
    await begin();
    expect(await indexes()).toEqual(whole);
  });
});
