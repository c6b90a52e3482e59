// The store under proof, from outside: its setting, its tables as they are, and ways to take it away for a while.
import { execFile } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Row, type Tables, tablesBy } from '../support/evidence';
import { installedPrograms, startPostgres } from '../support/postgres';
import { temporaryFolder } from '../support/service';
import { sentToKafka } from './check-rest';
import type { Random } from './random';
import { type EndStutter, stutter } from './stutter';

/** What is known of organizations and alerts, the syncs that ran, and what says that it is behind its topics, as rows; the same in every store. */
export type States = Record<'organizations' | 'history' | 'alerts' | 'syncs' | 'behind', Row[]>;

async function statesBy(ask: (sql: string) => Promise<Row[]>): Promise<States> {
  return {
    organizations: await ask('SELECT * FROM organizations ORDER BY id'),
    history: await ask('SELECT * FROM organization_history ORDER BY organization_id, epoch'),
    alerts: await ask('SELECT alert FROM alerts ORDER BY fingerprint'),
    syncs: await ask('SELECT * FROM sync_runs'),
    behind: await ask(`SELECT * FROM meta WHERE name IN ('behind', 'reading-on')`),
  };
}

/** Backups as the README takes them, and the way back. */
export type Backups = {
  /** Whether one may be taken while processes serve; else all must have ended. */
  whileServed: boolean;
  /** Its place. */
  take(): Promise<string>;
  /** All processes have ended. The store is as that backup has it; null: it is a new one. */
  replace(backup: string | null): Promise<void>;
  /**
   * The same while processes serve, as a database does that fails over to a replica which lacks the last commits: nobody is
   * connected while `between` is told what it will hold; then it is there. Null where a store has no replica.
   */
  failOver: ((backup: string, between: Between) => Promise<void>) | null;
  /** Starts a real replica of its server. Null where a store has none. */
  follow: (() => Promise<Replica>) | null;
};

/** What the store will hold, and of which events it will know nothing although they had been sent; null: of some. */
export type Between = (tables: Tables, lost: ReadonlySet<string> | null) => Promise<void>;

/** Follows the server of the store, which does not wait for it. */
export type Replica = {
  /** From now on it hears of no commit. */
  fallBehind(): Promise<void>;
  /**
   * Kills the server while processes serve, and has the replica take its place, which for `standbyMs` may only be read. Nobody
   * is connected while `between` is told; of what was sent in the last moment before the kill it need not be told.
   */
  promote(standbyMs: number, between: Between): Promise<void>;
};

export type StoreUnderProof = {
  name: 'sqlite' | 'postgres';
  environment: Record<string, string>;
  /** All tables that the checker reads. The service has stopped. */
  tables(): Promise<Tables>;
  /** The service has stopped, unless the store is a server. */
  states(): Promise<States>;
  /** Kills the store's own process and starts it again after `downMs`; null where it has none. */
  crash: ((downMs: number) => Promise<void>) | null;
  backups: Backups;
  /** From now on its sessions stand still now and then, until that is ended; null where it has none. */
  stutter: ((random: Random) => Promise<EndStutter>) | null;
  stop(): Promise<void>;
};

export async function sqliteUnderProof(): Promise<StoreUnderProof> {
  const file = join(temporaryFolder(), 'tramline.db');
  const folder = dirname(file);
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
    stutter: null,
    backups: {
      whileServed: false,
      async take() {
        const backup = join(temporaryFolder(), 'backup');
        cpSync(folder, backup, { recursive: true });
        return backup;
      },
      async replace(backup) {
        for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
        if (backup !== null) cpSync(backup, folder, { recursive: true });
      },
      failOver: null,
      follow: null,
    },
    stop: async () => {},
  };
}

const run = promisify(execFile);

/** `isInstalled`: the server that the system installed, which has programs for backups. */
export async function postgresUnderProof(isInstalled = false): Promise<StoreUnderProof> {
  // Settings of its own: a server that somebody else owns must not be killed.
  const settings = { synchronous_commit: 'on' };
  let server = await startPostgres(isInstalled ? { settings, installed: true } : { settings });
  const database = await server.createDatabase();
  const ask = async (sql: string) => (await server.query(sql, database)) as Row[];
  const restore = (backup: string, to: string) =>
    run(join(installedPrograms()!, 'pg_restore'), ['--exit-on-error', `--dbname=${server.url(to)}`, backup]);
  return {
    name: 'postgres',
    environment: { DATABASE_URL: server.url(database) },
    tables: () => tablesBy(ask),
    states: () => statesBy(ask),
    stutter: (random) => stutter(server.url('postgres'), database, random),
    async crash(downMs) {
      await server.kill();
      await delay(downMs);
      await server.restart();
    },
    backups: {
      whileServed: true,
      async take() {
        const file = join(temporaryFolder(), 'backup.dump');
        const words = ['--format=custom', `--file=${file}`, server.url(database)];
        await run(join(installedPrograms()!, 'pg_dump'), words);
        return file;
      },
      async replace(backup) {
        await server.dropDatabase(database);
        await server.query(`CREATE DATABASE ${database}`);
        if (backup !== null) await restore(backup, database);
      },
      async failOver(backup, between) {
        const replica = `${database}_replica`;
        await server.query(`CREATE DATABASE ${replica}`);
        await restore(backup, replica);
        await server.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
        await server.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
        );
        await between(await tablesBy(async (sql) => (await server.query(sql, replica)) as Row[]), null);
        await server.dropDatabase(database);
        await server.query(`ALTER DATABASE ${replica} RENAME TO ${database}`);
      },
      async follow() {
        const replica = await server.startReplica();
        return {
          fallBehind: () => replica.fallBehind(),
          async promote(standbyMs, between) {
            const sent = await ask(`SELECT event_id FROM outbox WHERE state = ${sentToKafka}`);
            await server.kill();
            await replica.showAll();
            const tables = await tablesBy(async (sql) => (await replica.query(sql, database)) as Row[]);
            const known = new Set(tables.outbox.map(({ event_id }) => event_id));
            const lost = sent.map(({ event_id }) => event_id).filter((id) => !known.has(id));
            await between(tables, new Set(lost.map(String)));
            await replica.takeAddress();
            await server.stop();
            server = replica;
            await delay(standbyMs);
            await server.query('SELECT pg_promote()');
          },
        };
      },
    },
    stop: () => server.stop(),
  };
}
