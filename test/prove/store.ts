// The store under proof, from outside: its setting, its tables as they are, and ways to take it away for a while.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Tables, tablesBy } from '../support/evidence';
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
