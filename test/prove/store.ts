// The store under proof, from outside: its setting, its tables as they are, and ways to take it away for a while.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Row, type Tables, tablesBy } from '../support/evidence';
import { startPostgres } from '../support/postgres';
import { temporaryFolder } from '../support/service';

export type StoreUnderProof = {
  name: 'sqlite' | 'postgres';
  environment: Record<string, string>;
  /** All tables that the checker reads. The service has stopped. */
  tables(): Promise<Tables>;
  /** Kills the store's own process and starts it again; null where it has none. */
  crash: (() => Promise<void>) | null;
  stop(): Promise<void>;
};

export function sqliteUnderProof(): StoreUnderProof {
  const file = join(temporaryFolder(), 'tramline.db');
  return {
    name: 'sqlite',
    environment: { DATABASE_URL: `sqlite:${file}` },
    async tables() {
      const database = new DatabaseSync(file);
      try {
        return await tablesBy(async (sql) => database.prepare(sql).all() as never);
      } finally {
        database.close();
      }
    },
    crash: null,
    stop: async () => {},
  };
}

export async function postgresUnderProof(): Promise<StoreUnderProof> {
  // Settings of its own: a server that somebody else owns must not be killed.
  const server = await startPostgres({ settings: { synchronous_commit: 'on' } });
  const database = await server.createDatabase();
  return {
    name: 'postgres',
    environment: { DATABASE_URL: server.url(database) },
    tables: () => tablesBy(async (sql) => (await server.query(sql, database)) as Row[]),
    async crash() {
      await server.kill();
      await server.restart();
    },
    stop: () => server.stop(),
  };
}
