// The scaled store under test: one server for a suite, and for each case a database that looks like a new one. A database
// is emptied and used again, since making one takes longer than most cases. The clock is moved by hand. Whoever migrated it
// owns it; the store is opened as a role that owns nothing, may create nothing, and has been granted what README says.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { QuarantineReason } from '../../src/model/notification';
import { isProblem } from '../../src/model/problem';
import { openPostgres as open } from '../../src/store/postgres/open-postgres';
import type { StoreRules } from '../../src/store/store-rules';
import { type PostgresServer, startPostgres } from '../support/postgres';
import { settingsFor } from './open-sqlite';
import type { DamageableStore } from './store-hand';

export function postgresSettingsFor(url: string) {
  const { file: _file, ...settings } = settingsFor('');
  return { ...settings, url, connections: 4 };
}

/** All that a role needs to serve what another one has migrated. `app` is such a role. */
export const grants = `REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app;
  GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO app`;

export function asApp(url: string): string {
  return Object.assign(new URL(url), { username: 'app' }).href;
}

/** Where a transaction of the store may be torn: it waits for one of these, and its connection ends. */
const tornAt = ['deliveries', 'tasks', 'hints', 'reads', 'outbox'];

/** Ends every connection of a store to the database, and waits until the server has let go of what they held. */
const cuttingOff = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
  WHERE datname = current_database() AND usename = 'app'`;

async function waits(holder: Client): Promise<boolean> {
  const { rowCount } = await holder.query('SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1');
  return rowCount !== 0;
}

/**
 * A new database was never looked at, and the server plans look-ups for what it knows nothing of. One that autovacuum saw
 * between two cases is known to hold nothing: the next case's look-ups by 200 ids read its tables 200 times, for seconds.
 */
const unanalyzed = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = false)', name);
  END LOOP; END $$`;

/** A database, and its owner's connection, which stays: a new one for each case costs the server more than what is asked. */
type Owned = { database: string; owner: Client };

/** A server and how to open stores on it; `stop` ends it. */
export async function startPostgresStores(): Promise<{
  server: PostgresServer;
  openPostgres(rules?: Partial<StoreRules>): Promise<DamageableStore>;
  stop(): Promise<void>;
}> {
  const server = await startPostgres();
  // What a session needs of its settings it asks for itself.
  await server.query(
    'CREATE ROLE app LOGIN; ALTER ROLE app SET array_nulls = off; ALTER ROLE app SET datestyle = German',
  );
  const free: Owned[] = [];
  const made: Owned[] = [];
  let empty = '';

  async function take(): Promise<Owned> {
    const emptied = free.pop();
    if (emptied !== undefined) return emptied;
    const database = await server.createDatabase();
    await (await open(postgresSettingsFor(server.url(database)))).close();
    const owner = new Client({ connectionString: server.url(database) });
    await owner.connect();
    const owned = { database, owner };
    made.push(owned);
    await owner.query(unanalyzed);
    await owner.query(grants);
    empty = await emptying(owner);
    return owned;
  }

  async function openPostgres(rules: Partial<StoreRules> = {}): Promise<DamageableStore> {
    const owned = await take();
    const { database, owner } = owned;
    let settings = { ...postgresSettingsFor(asApp(server.url(database))), ...rules };
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    const setAside: QuarantineReason[] = [];
    const openAgain = () =>
      open(
        settings,
        () => nowMs,
        (reason) => setAside.push(reason),
      );
    let store = await openAgain();

    async function reopen(changed: Partial<StoreRules> = {}) {
      settings = { ...settings, ...changed };
      // What is done in several transactions begins no other from now on.
      const closed = store.close();
      await Promise.all([owner.query(cuttingOff), closed]);
      // What a dead process held runs out: nobody can know that it is dead.
      nowMs += settings.leaseMs;
      store = await openAgain();
      return store;
    }

    return {
      store,
      setAside,
      advance: (ms) => {
        nowMs += ms;
      },
      nowMs: () => nowMs,
      reopen,
      async tear(work, place) {
        const holder = new Client({ connectionString: server.url(database) });
        await holder.connect();
        await holder.query(`BEGIN; LOCK TABLE ${tornAt[place % tornAt.length]} IN ACCESS EXCLUSIVE MODE`);
        let ended = false;
        const working = work().finally(() => {
          ended = true;
        });
        try {
          while (!ended && !(await waits(holder))) await delay(2);
          await holder.query(cuttingOff);
          await working.catch((error: unknown) => {
            if (!isProblem(error, 'store.unavailable')) throw error;
          });
        } finally {
          await holder.end();
        }
        return reopen();
      },
      async damage(sql) {
        await owner.query(sql);
        return store;
      },
      async close() {
        await store.close();
        await owner.query(empty);
        free.push(owned);
      },
    };
  }

  return {
    server,
    openPostgres,
    async stop() {
      for (const { database, owner } of made) {
        await owner.end();
        await server.dropDatabase(database);
      }
      await server.stop();
    },
  };
}

/** The statements that bring a database back to what it is now, just migrated. */
async function emptying(client: Client): Promise<string> {
  const tables = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'`,
  );
  const statements: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await client.query<{ rows: string }>(
      `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${name} t`,
    );
    statements.push(`DELETE FROM ${name}`);
    // Most have nothing to put back, and there are hundreds of cases.
    if (rows[0]!.rows === '[]') continue;
    statements.push(
      `INSERT INTO ${name} OVERRIDING SYSTEM VALUE
       SELECT * FROM json_populate_recordset(NULL::${name}, '${rows[0]!.rows.replaceAll("'", "''")}')`,
    );
  }
  const sequences = await client.query<{ name: string; last: string | null }>(
    `SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = 'public'`,
  );
  for (const { name, last } of sequences.rows) {
    statements.push(`SELECT setval('${name}', ${last ?? 1}, ${last !== null})`);
  }
  return statements.join(';\n');
}
