/**
 * Brings a database to this version's schema. Replicas that start at once migrate once: an advisory lock lets one after
 * the other look. Steps that a newer version has recorded are fine unless one of them took something away.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, ClientConfig, QueryConfig } from 'pg';
import { Problem } from '../../model/problem';
import { hintFunctionNames } from './hint-functions';
import { type ToldWaits, watchWaits } from './migration-waits';
import { type Migration, migrations } from './migrations';
import { BoundedClient } from './server/client';
import { problemOf } from './server/faults';
import { mustKeepSessions } from './server/keep-sessions';
import { lockNumbers } from './server/lock-numbers';
import { namesOptions } from './server/session';
import { refusesParameter, wordsOf } from './server/words';

const turnLookMs = 100;
/** Of those the last is there from PostgreSQL 17 on. */
const limits = `'lock_timeout', 'statement_timeout', 'transaction_timeout'`;
/** What only looks is answered in this time, or the server has fallen silent; a step may take as long as it takes. */
const answerMs = 3500;

function ask<Row extends object>(client: Client, text: string): Promise<{ rows: Row[] }> {
  return client.query<Row>({ text, query_timeout: answerMs } as QueryConfig);
}

/**
 * Throws `store.newer` when a newer version has contracted the schema, `settings.invalid` for a server that is too old,
 * does not keep what it commits or does not let us in, a pooler that keeps no sessions or no `options` of the address, and a
 * database that cannot hold every text, `store.unavailable` when it cannot be reached, or is a standby. `waits` hears whom the
 * steps wait for; they are this version's own unless a test says otherwise. Resolves to the schema that the store is in.
 */
export async function migrate(
  config: ClientConfig,
  waits: ToldWaits | null = null,
  steps: Migration[] = migrations,
): Promise<string> {
  return atServer(config, async (client) => {
    // A limit of the role's or the database's is meant for other statements: a step waits for those before it, and takes its time.
    await ask(client, `SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN (${limits})`);
    const { rows } = await ask<{ pid: number }>(client, 'SELECT pg_backend_pid() AS pid');
    const endWatch = waits === null ? () => {} : watchWaits(rows[0]!.pid, config, waits);
    try {
      await waitForTurn(client);
      await applySteps(client, steps);
      await grantAgain(client);
      return await schemaOf(client);
    } finally {
      endWatch();
      await ask(client, `SELECT pg_advisory_unlock(${lockNumbers.migration})`).catch(() => {});
    }
  });
}

/** On one connection, once the server is found to be one that may be used. */
async function atServer<Result>(
  config: ClientConfig,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new BoundedClient(config);
  client.on('error', () => {});
  try {
    await client.connect();
    await checkServer(client);
    await mustKeepSessions(client, config, answerMs);
    await mustKeepOptions(client, config);
    return await work(client);
  } catch (error) {
    throw unusable(error) ?? problemOf(error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Who waited in a statement would hold up whoever makes an index: that waits for the end of every statement before it. */
async function waitForTurn(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await ask<{ ours: boolean }>(
      client,
      `SELECT pg_try_advisory_lock(${lockNumbers.migration}) AS ours`,
    );
    if (rows[0]!.ours) return;
    await delay(turnLookMs);
  }
}

/**
 * Whether the database is of this version, without making or changing anything. Throws `store.older` when a step is not
 * made yet, or none is, and otherwise as `migrate` does.
 */
export async function mustBeMigrated(config: ClientConfig): Promise<void> {
  await atServer(config, async (client) => {
    if (!(await isBegun(client)))
      throw new Problem('store.older', 'the database holds no table of Tramline yet');
    const applied = await appliedSteps(client, migrations);
    if (migrations.every(({ name }) => applied.has(name))) return;
    throw new Problem('store.older', 'the database is of an older version');
  });
}

/** A server that is there and does not let us in will not tomorrow: credentials, the database's name, its schema, rights. */
function unusable(error: unknown): Problem | null {
  const { code, message } = error as { code?: unknown; message?: string };
  // The driver's own words, where the server asks for one and the address has none.
  if (message?.includes('client password must be a string') === true)
    return new Problem('settings.invalid', noPassword, error);
  if (refusesParameter(error)) return new Problem('settings.invalid', wordsOf(error), error);
  const isWrong = typeof code === 'string' && /^(28...|3D000|3F000|42501)$/.test(code);
  return isWrong ? new Problem('settings.invalid', String(message), error) : null;
}

const noPassword = 'the database asks for a password, and neither the address nor PGPASSWORD has one';

/**
 * Is a store of ours where a new one would be made, or else where the search path leads? A table of this name that is not ours
 * is in the way in the first case only. Throws `settings.invalid` then.
 */
async function isBegun(client: Client): Promise<boolean> {
  const { rows } = await ask<{ at: string; ours: boolean; first: boolean }>(
    client,
    `SELECT n.nspname AS at, n.nspname = current_schema() AS first,
       2 = (SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid AND attname IN ('name', 'kind')) AS ours
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('migrations')`,
  );
  const [found] = rows;
  if (found === undefined) return false;
  if (found.first && !found.ours)
    throw new Problem('settings.invalid', inTheWay(`table ${found.at}.migrations`));
  return found.ours;
}

async function schemaOf(client: Client): Promise<string> {
  const { rows } = await ask<{ at: string }>(
    client,
    `SELECT n.nspname AS at FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('migrations')`,
  );
  return rows[0]!.at;
}

function inTheWay(what: string): string {
  return (
    `another program's ${what} is in the way: Tramline needs a schema of its own, ` +
    'which `?options=-csearch_path=…` in the address names'
  );
}

async function applySteps(client: Client, steps: Migration[]): Promise<void> {
  // Asked first: a role that may create nothing can serve what another one has migrated.
  const begun = await isBegun(client);
  const applied = begun ? await appliedSteps(client, steps) : new Set();
  const lacking = steps.filter(({ name }) => !applied.has(name));
  for (const [index, step] of lacking.entries()) {
    const isThere = begun || index > 0;
    await applyStep(client, step, isThere).catch((error) => {
      throw stepFault(
        error,
        isThere ? `is older than this version (${step.name} is to come)` : 'holds no table yet',
      );
    });
  }
}

/** The first makes the list of them as well: where it is refused, it leaves nothing among what it met. */
async function applyStep(client: Client, step: Migration, isThere: boolean): Promise<void> {
  if ('indexes' in step) await makeIndexes(client, step.indexes);
  await client.query('BEGIN');
  if (!isThere) await client.query(list);
  if ('sql' in step) await client.query(step.sql);
  await client.query('INSERT INTO migrations (name, kind) VALUES ($1, $2)', [step.name, step.kind]);
  await client.query('COMMIT');
}

const list = `CREATE TABLE IF NOT EXISTS migrations (
  name TEXT PRIMARY KEY, kind TEXT NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())`;

/** `is`: what the schema is, so that the step was made. */
function stepFault(error: unknown, is: string): unknown {
  const { code, message } = error as { code?: unknown; message: string };
  // A step is made once, and with it what it is recorded by.
  if (code === '42P07') return new Problem('settings.invalid', inTheWay(`table (${message})`), error);
  if (code !== '42501') return error;
  const next = 'have its owner run `tramline migrate` first';
  return new Problem(
    'settings.invalid',
    `the schema ${is}, which this role may not change (${message}): ${next}`,
    error,
  );
}

/**
 * The step that made the functions let everybody call them. What was restored into a database whose defaults keep others from
 * that lost it. Whoever lets some of them call a function has decided that, and is left alone; another than its owner can grant nothing.
 */
async function grantAgain(client: Client): Promise<void> {
  const { rows } = await ask<{ called: string }>(
    client,
    `SELECT p.oid::regprocedure AS called FROM pg_proc p
     WHERE p.oid IN (SELECT to_regproc(name) FROM unnest(ARRAY['${hintFunctionNames.join("', '")}']) AS n (name))
       AND pg_has_role(p.proowner, 'USAGE') AND current_setting('transaction_read_only') = 'off'
       AND NOT EXISTS (SELECT 1 FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) WHERE grantee <> p.proowner)`,
  );
  for (const { called } of rows) await client.query(`GRANT EXECUTE ON FUNCTION ${called} TO PUBLIC`);
}

/** What was left half made is no index that anybody uses, and is made anew. */
async function makeIndexes(client: Client, indexes: Record<string, string>): Promise<void> {
  for (const [name, on] of Object.entries(indexes)) {
    const { rows } = await client.query<{ whole: boolean }>(
      `SELECT indisvalid AS whole FROM pg_index JOIN pg_class c ON c.oid = indexrelid
       WHERE indrelid = to_regclass($1) AND relname = $2`,
      [on.slice(0, on.indexOf(' ')), name],
    );
    if (rows[0]?.whole) continue;
    if (rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY ${name}`);
    await client.query(`CREATE INDEX CONCURRENTLY ${name} ON ${on}`);
  }
}

async function appliedSteps(client: Client, steps: Migration[]): Promise<Set<string>> {
  const { rows } = await ask<{ name: string; kind: string }>(client, 'SELECT name, kind FROM migrations');
  const known = new Set(steps.map(({ name }) => name));
  const newer = rows.find(({ name, kind }) => kind === 'contract' && !known.has(name));
  if (newer !== undefined) {
    throw new Problem('store.newer', `the schema is of a newer version (${newer.name}): update this one`);
  }
  return new Set(rows.map(({ name }) => name));
}

/** Of databases that take every text: the second keeps bytes as they come. */
const encodings = ['UTF8', 'SQL_ASCII'];

/** A search path that is dropped would have the tables made somewhere else. Throws `settings.invalid`. */
async function mustKeepOptions(client: Client, { options }: ClientConfig): Promise<void> {
  if (!namesOptions(options)) return;
  const { rows } = await ask<{ kept: boolean }>(
    client,
    `SELECT current_setting('enable_seqscan') = 'off' AS kept`,
  );
  if (rows[0]!.kept) return;
  throw new Problem('settings.invalid', optionsDropped);
}

const optionsDropped =
  'a pooler drops the `options` of the address: leave them out of it, and set them for its role, as by ' +
  '`ALTER ROLE … SET search_path`';

interface Answer {
  standby: boolean;
  version: string;
  commit: string;
  fsync: string;
  encoding: string;
}

/** It may be promoted: whoever starts again then is let in. */
const isStandby = 'the server is a standby, which takes no writes: the address must lead to the primary';

/** Whoever was answered 204 relies on these. */
async function checkServer(client: Client): Promise<void> {
  const { rows } = await ask<Answer>(
    client,
    `SELECT pg_is_in_recovery() AS standby, current_setting('server_version_num') AS version,
       current_setting('synchronous_commit') AS commit, current_setting('fsync') AS fsync,
       current_setting('server_encoding') AS encoding`,
  );
  const { standby, version, commit, fsync, encoding } = rows[0]!;
  if (Number(version) < 140_000) throw new Problem('settings.invalid', 'PostgreSQL 14 or later is needed');
  // The stronger one is a default that a pooler left: whoever serves asks again.
  if (commit !== 'on' && commit !== 'remote_apply') {
    throw new Problem(
      'settings.invalid',
      `the server insists on synchronous_commit=${commit}: it must be on`,
    );
  }
  if (fsync !== 'on') {
    throw new Problem(
      'settings.invalid',
      `the server runs with fsync=${fsync}, so that a power cut takes what it has acknowledged: it must be on`,
    );
  }
  // The cause is what the server itself would say to the first write.
  if (standby)
    throw new Problem('store.unavailable', isStandby, Object.assign(new Error(isStandby), { code: '25006' }));
  if (!encodings.includes(encoding)) {
    throw new Problem(
      'settings.invalid',
      `the database has the encoding ${encoding}, which cannot hold every text: it must be UTF8`,
    );
  }
}
