// The store under proof, from outside: its setting, its tables as they are, and ways to take it away for a while.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { type Row, type Tables, tablesBy } from '../support/evidence';
import { startPostgres } from '../support/postgres';
import { temporaryFolder } from '../support/service';

/** What is known of organizations and alerts, and the syncs that ran, as rows; the same in every store. */
export type States = Record<'organizations' | 'history' | 'alerts' | 'syncs', Row[]>;

async function statesBy(ask: (sql: string) => Promise<Row[]>): Promise<States> {
  return {
    organizations: await ask('SELECT * FROM organizations ORDER BY id'),
    history: await ask('SELECT * FROM organization_history ORDER BY organization_id, epoch'),
    alerts: await ask('SELECT alert FROM alerts ORDER BY fingerprint'),
    syncs: await ask('SELECT * FROM sync_runs'),
  };
}

export type StoreUnderProof = {
  name: 'sqlite' | 'postgres';
  environment: Record<string, string>;
  /** All tables that the checker reads. The service has stopped. */
  tables(): Promise<Tables>;
  /** The service has stopped. */
  states(): Promise<States>;
  /** Kills the store's own process and starts it again after `downMs`; null where it has none. */
  crash: ((downMs: number) => Promise<void>) | null;
  stop(): Promise<void>;
};

export async function sqliteUnderProof(): Promise<StoreUnderProof> {
  const file = join(temporaryFolder(), 'tramline.db');
  async function read<Found>(by: (ask: (sql: string) => Promise<Row[]>) => Promise<Found>): Promise<Found> {
    const database = new DatabaseSync(file);
    try {
      return await by(async (sql) => database.prepare(sql).all() as Row[]);
    } finally {
      database.close();
    }
  }
  return {
    name: 'sqlite',
    environment: { DATABASE_URL: `sqlite:${file}` },
    tables: () => read(tablesBy),
    states: () => read(statesBy),
    crash: null,
    stop: async () => {},
  };
}

export async function postgresUnderProof(): Promise<StoreUnderProof> {
  // Settings of its own: a server that somebody else owns must not be killed.
  const server = await startPostgres({ settings: { synchronous_commit: 'on' } });
  const database = await server.createDatabase();
  const ask = async (sql: string) => (await server.query(sql, database)) as Row[];
  return {
    name: 'postgres',
    environment: { DATABASE_URL: server.url(database) },
    tables: () => tablesBy(ask),
    states: () => statesBy(ask),
    async crash(downMs) {
      await server.kill();
      await delay(downMs);
      await server.restart();
    },
    stop: () => server.stop(),
  };
}
