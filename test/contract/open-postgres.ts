// The scaled store under test: one server for a suite, a database of its own for each case, a clock that is moved by hand.
import { openPostgres as open } from '../../src/store/postgres/open-postgres';
import { type PostgresServer, startPostgres } from '../support/postgres';
import { settingsFor } from './open-sqlite';
import type { StoreUnderTest } from './store-hand';

export function postgresSettingsFor(url: string) {
  const { file: _file, ...settings } = settingsFor('');
  return { ...settings, url, connections: 4 };
}

/** A server and how to open stores on it; `stop` ends it. */
export async function startPostgresStores(): Promise<{
  server: PostgresServer;
  openPostgres(): Promise<StoreUnderTest>;
  stop(): Promise<void>;
}> {
  const server = await startPostgres();
  const template = await server.createDatabase();
  await (await open(postgresSettingsFor(server.url(template)))).close();

  async function openPostgres(): Promise<StoreUnderTest> {
    const database = await server.createDatabase(template);
    const settings = postgresSettingsFor(server.url(database));
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    let store = await open(settings, () => nowMs);
    return {
      store,
      advance: (ms) => {
        nowMs += ms;
      },
      nowMs: () => nowMs,
      async reopen() {
        await store.close();
        // What a dead process held runs out: nobody can know that it is dead.
        nowMs += settings.leaseMs;
        store = await open(settings, () => nowMs);
        return store;
      },
      async close() {
        await store.close();
        await server.dropDatabase(database);
      },
    };
  }

  return {
    server,
    openPostgres,
    async stop() {
      await server.dropDatabase(template);
      await server.stop();
    },
  };
}
