/**
 * What was postponed becomes due in pages, each in a transaction of its own, while other processes hold or change some of it.
 */
import { Client } from 'pg';
import type { Store } from '../../../src/model/store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

const startMs = Date.UTC(2026);
const soon = { withinMs: 20_000 };

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'more than two pages of what was postponed', () => {
  let server: PostgresServer;
  let name = '';
  let store: Store;
  let holder: Client;
  let nowMs: () => number;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    name = await server.createDatabase();
    nowMs = () => startMs;
    store = await openPostgres(postgresSettingsFor(server.url(name)), () => nowMs());
    await server.query(
      `INSERT INTO tasks (address, lane, state, generation, due_at, failed_at)
       SELECT 'a' || i, '4711', 'postponed', 1, ${startMs} + 60000 + i, 0 FROM generate_series(1, 5000) i`,
      name,
    );
    holder = new Client({ connectionString: server.url(name) });
    await holder.connect();
  });
  afterEach(async () => {
    await holder.end();
    await store.close();
    await server.dropDatabase(name);
  });

  const rows = (from: string) => server.query(`SELECT 1 FROM ${from}`, name);

  test('is due page by page, also where another holds some of the last', async () => {
    await holder.query('BEGIN; SELECT 1 FROM tasks WHERE id = 5000 FOR UPDATE');
    const hastened = store.hasten();
    await until(async () => (await rows(`tasks WHERE state = 'due'`)).length === 4000, soon);
    await holder.query('COMMIT');
    expect(await hastened).toBe(5000);
  });

  test('is due although another has made a whole page of it due meanwhile', async () => {
    await holder.query(`BEGIN; UPDATE tasks SET state = 'due' WHERE id <= 2000`);
    const hastened = store.hasten();
    await until(async () => (await rows('pg_locks WHERE NOT granted')).length > 0, soon);
    await holder.query('COMMIT');
    expect(await hastened).toBe(3000);
  });

  test('is left after a page during which the store is closed', async () => {
    await holder.query('BEGIN; SELECT 1 FROM tasks WHERE id = 1 FOR UPDATE');
    const hastened = store.hasten();
    await until(async () => (await rows('pg_locks WHERE NOT granted')).length > 0, soon);
    const closed = store.close();
    await holder.query('COMMIT');
    expect(await hastened).toBe(2000);
    await closed;
    store = await openPostgres(postgresSettingsFor(server.url(name)), () => startMs);
    expect(await store.hasten()).toBe(3000);
  });

  test('is hastened by two processes at once, each task by one', async () => {
    const other = await openPostgres(postgresSettingsFor(server.url(name)), () => startMs);
    const counts = await Promise.all([store.hasten(), other.hasten()]);
    await other.close();
    expect(counts[0]! + counts[1]!).toBe(5000);
    expect(await rows(`tasks WHERE state = 'due'`)).toHaveLength(5000);
  });

  test('is due where it failed before the first page, and waits where it failed after that', async () => {
    let transactions = 0;
    nowMs = () => startMs + 10 * transactions++;
    await server.query(`UPDATE tasks SET failed_at = ${startMs} + 5 WHERE id > 4990`, name);
    expect(await store.hasten()).toBe(4990);
  });
});
