/**
 * The only file that touches pg, but for single connections: the pool, transactions, and telling a store that is
 * unavailable from a call that is at fault. A transaction is READ COMMITTED and on disk when it resolves
 * (synchronous_commit=on, whatever the server's default is). One that lost against another (deadlock, serialization, two
 * tasks that became one resource) is made once more from its beginning.
 */
import { Pool, type PoolClient, type PoolConfig, types } from 'pg';
import { Problem } from '../../model/problem';
import { BoundedClient, socketOf } from './client';

export type Value = string | number | boolean | null | Date | readonly unknown[];
// biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says; each verb reads it as such
export type Row = Record<string, any>;

/** Statements of one transaction, in order. Values stand for $1, $2, …; whole numbers of 64 bits come as numbers. */
export interface Statements {
  get(sql: string, ...values: Value[]): Promise<Row | undefined>;
  all(sql: string, ...values: Value[]): Promise<Row[]>;
  /** The number of rows changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
  /** Nobody sees its answer: it leaves in one write with the commit, after those that were told so before. */
  last(sql: string, ...values: Value[]): void;
}

export interface TransactionOptions {
  /** Waits for this advisory lock first and holds it until the end. */
  lock?: number;
  /** A statement that takes longer is ended: `store.unavailable`. */
  statementMs?: number;
  /** Only reads, and all of its statements see the same. */
  snapshot?: boolean;
  /** Its statements read much of a table: the server may read it from end to end. */
  readsMuch?: boolean;
  /** Throws `store.unavailable` while a move into this store is not complete; one that begins waits for its end. */
  served?: boolean;
}

export interface Database {
  /** Throws `store.unavailable` when nothing was changed or nobody can tell, `store.refused` when the call is at fault. */
  transact<Result>(
    work: (statements: Statements, nowMs: number) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /** How many connections were made so far: the server behind a new one may lack what another has told. */
  connected(): number;
  close(): Promise<void>;
}

export interface DatabaseSettings {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** Connections of this process at most. */
  connections: number;
}

/** A sender waits for four seconds at most: what takes longer has failed before. */
const connectMs = 2000;
const statementMsMax = 3000;
const lockMsMax = 2500;
/** What a statement may take beyond its limit before the server is given up. */
const silentMs = 500;

/** SQLSTATE classes and codes that say "not now" rather than "not so". */
const unavailableClasses = new Set(['08', '53', '57', '58', '25', '28', '3D', 'XX']);
const unavailableCodes = new Set(['55P03', '40003']);
/** The last is a plan that a schema outdated which was expanded meanwhile; servers say so in their own languages. */
const lostCodes = new Set(['40001', '40P01', '0A000']);

/** `nowMs` replaces the database's clock, for tests. A statement may take 3 s, unless a call says otherwise. */
export function openDatabase(settings: DatabaseSettings, nowMs: (() => number) | null = null): Database {
  const pool = openPool(settings, settings.connections);
  const { borrow, giveBack } = makeLender(pool);
  let connected = 0;
  pool.on('connect', (client) => {
    connected += 1;
    // Not as it connects: the address may say otherwise there, and a pooler drop or refuse it. Where it fails, so does what follows.
    query(client, { text: `SET statement_timeout = ${statementMsMax}` }, statementMsMax).catch(() => {});
  });
  const names = new Map<string, string>();
  const nameOf = (sql: string): string => {
    const name = names.get(sql) ?? `s${names.size}`;
    names.set(sql, name);
    return name;
  };

  async function attempt<Result>(
    work: (statements: Statements, nowMs: number) => Promise<Result>,
    options: TransactionOptions,
  ): Promise<Result> {
    const { statementMs = statementMsMax } = options;
    const client = await borrow();
    let failed: Error | undefined;
    const course: Course = { isOver: false, last: [] };
    try {
      const begun = await begin(client, options, statementMs);
      const statements = statementsOf(client, nameOf, statementMs, course);
      const result = await work(statements, nowMs?.() ?? begun);
      const lastOnes = course.last.map(({ sql, values }) => statements.run(sql, ...values));
      course.isOver = true;
      // Where a statement failed it takes all back, and says so.
      const [{ command }] = await Promise.all([query(client, { text: 'COMMIT' }, statementMs), ...lastOnes]);
      if (command !== 'COMMIT') throw course.causeOfAbort ?? new Error(`ended by ${command}`);
      return result;
    } catch (error) {
      course.isOver = true;
      failed = error as Error;
      if (isBroken(failed)) throw failed;
      await query(client, { text: 'ROLLBACK' }, statementMs).then(
        () => (failed = undefined),
        () => {},
      );
      // By the answer to ROLLBACK all earlier ones have come.
      throw saysAborted(error) ? (course.causeOfAbort ?? error) : error;
    } finally {
      giveBack(client, failed);
    }
  }

  return {
    async transact(work, options = {}) {
      try {
        return await attempt(work, options).catch((error: unknown) => {
          if (!isLost(error)) throw error;
          return attempt(work, options);
        });
      } catch (error) {
        throw problemOf(error);
      }
    },
    connected: () => connected,
    close: () => pool.end(),
  };
}

/**
 * One that failed may not be the only one: where the server's address moved, each that was made before is silent, and would
 * cost its borrower the time limit of a statement. All that are idle are replaced with it; what is lent out shows by itself
 * whether it still holds.
 */
function makeLender(pool: Pool) {
  /** How many losses there had been when it was made, or was last seen to hold. */
  const heldAfter = new WeakMap<PoolClient, number>();
  const idle = new Set<PoolClient>();
  let losses = 0;
  pool.on('connect', (client) => heldAfter.set(client, losses));
  pool.on('remove', (client) => idle.delete(client));
  return {
    async borrow(): Promise<PoolClient> {
      for (;;) {
        const client = await pool.connect();
        idle.delete(client);
        if (!socketOf(client).destroyed) return client;
        client.release(true);
      }
    },
    /** `failed`: it is of no more use. */
    giveBack(client: PoolClient, failed: Error | undefined): void {
      if (failed === undefined) {
        heldAfter.set(client, losses);
        idle.add(client);
      } else if (heldAfter.get(client) === losses) {
        // Of several that were lent out when it happened, the first says it for all.
        losses += 1;
        for (const one of idle) socketOf(one).destroy();
      }
      client.release(failed);
    },
  };
}

/**
 * A connection that breaks fails the calls that it has, or is replaced by the next call; and it says so beside, also
 * while it is lent out, when the pool does not listen: unheard, that would end the process.
 */
export function openPool(settings: DatabaseSettings, connections: number): Pool {
  const pool = new Pool({ ...poolConfig(settings), max: connections, Client: BoundedClient });
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', () => {});
  return pool;
}

/**
 * A statement is planned when it is first made, often on tables that are empty yet, and that plan is kept until the server
 * has looked at them again: without this, every look-up by id would read a table that has grown since from end to end.
 * Nor may it collect what an index names before it looks: only a plain walk of the index forgets rows that are no more,
 * and leases leave many. No statement is worth compiling.
 */
const lookUps = '-c enable_seqscan=off -c enable_bitmapscan=off -c jit=off';

/**
 * A host that vanishes in the middle of a statement ends nothing by itself, and what it locked stays locked for as long as
 * the server believes in it: two hours by default. Looked after like this it is over after ten seconds.
 */
const vanished =
  '-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000';
const sessionOptions = `-c synchronous_commit=on -c default_transaction_isolation=read\\ committed ${lookUps} ${vanished}`;

/**
 * What the address says of `options` and what every session needs, joined: pg would take the address's alone. Of two words
 * on one setting the server takes the last.
 */
function sessionOf(url: string): Pick<PoolConfig, 'connectionString' | 'options'> {
  const address = new URL(url);
  const theirs = address.searchParams.getAll('options').at(-1);
  if (theirs === undefined) return { connectionString: url, options: sessionOptions };
  address.searchParams.delete('options');
  return { connectionString: address.href, options: `${theirs} ${sessionOptions}` };
}

/**
 * Connection settings of every client; `options` speaks before the defaults of role and database do. A lock is waited
 * for 2,500 ms.
 */
export function poolConfig({ url, connections }: DatabaseSettings): PoolConfig {
  return {
    ...sessionOf(url),
    max: connections,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // Statements that do not need each other's answers are sent at once: a round trip costs more than most of them.
    pipeline: true,
    application_name: 'tramline',
    lock_timeout: lockMsMax,
    // A process that was stopped in the middle must not keep what others wait for.
    idle_in_transaction_session_timeout: 4000,
    types: {
      getTypeParser: ((oid: number, format: 'text') =>
        oid === types.builtins.INT8
          ? Number
          : oid === int8Array
            ? (text: string) => (types.getTypeParser(int8Array, format)(text) as string[]).map(Number)
            : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  };
}

const int8Array = 1016 as number;

/** What whoever is refused is to do. */
export const halfMoved = 'a move into this store is not complete: repeat `tramline migrate --from`';

/** Begins, takes the lock, and reads the store's clock after it: the answer is of the last statement. */
async function begin(
  client: PoolClient,
  { lock, snapshot = false, readsMuch = false, served = false }: TransactionOptions,
  statementMs: number,
): Promise<number> {
  const isolation = snapshot ? ' ISOLATION LEVEL REPEATABLE READ READ ONLY' : '';
  const limit = statementMs === statementMsMax ? '' : `SET LOCAL statement_timeout = ${statementMs};`;
  const planned = readsMuch ? 'SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on;' : '';
  const locked = lock === undefined ? '' : `SELECT pg_advisory_xact_lock(${lock});`;
  const [, { rows }] = await Promise.all([
    query(client, { text: `BEGIN${isolation}; ${limit} ${planned} ${locked}` }, statementMs),
    query(client, served ? clockOfServed : clock, statementMs),
  ]);
  if (served && rows[0]!.moving !== null) throw new Problem('store.unavailable', halfMoved);
  return Number(rows[0]!.now);
}

const nowSql = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now';
const clock = { name: 'clock', text: nowSql };
/** What is read stays locked until the end, and a move locks all of it before it looks whether the store is empty. */
const clockOfServed = {
  name: 'clock-of-served',
  text: `${nowSql}, (SELECT value FROM meta WHERE name = 'moving') AS moving`,
};

interface Course {
  /** Of what is done at once one may have failed while the others still go on. */
  isOver: boolean;
  /** What leaves with the commit. */
  last: { sql: string; values: Value[] }[];
  /** The error since which statements are refused, also where the caller of all of them hears of another first. */
  causeOfAbort?: unknown;
}

/** They throw once the transaction is over: what they would write stood alone, or in another's transaction. */
function statementsOf(
  client: PoolClient,
  nameOf: (sql: string) => string,
  statementMs: number,
  course: Course,
): Statements {
  const send = async (sql: string, values: Value[]) => {
    if (course.isOver) throw new Error('its transaction is over');
    try {
      return await query(client, { name: nameOf(sql), text: sql, values }, statementMs);
    } catch (error) {
      if (!saysAborted(error)) course.causeOfAbort = error;
      throw error;
    }
  };
  return {
    get: async (sql, ...values) => (await send(sql, values)).rows[0],
    all: async (sql, ...values) => (await send(sql, values)).rows,
    run: async (sql, ...values) => (await send(sql, values)).rowCount ?? 0,
    last: (sql, ...values) => void course.last.push({ sql, values }),
  };
}

/** A server that says nothing at all is not waited for. */
function query(
  client: PoolClient,
  config: { name?: string; text: string; values?: unknown[] },
  statementMs: number,
): Promise<{ command: string; rows: Row[]; rowCount: number | null }> {
  return client.query({ ...config, query_timeout: statementMs + silentMs } as typeof config);
}

function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** What has no SQLSTATE did not come from the server. The system's EPIPE is as long as one. */
function stateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/**
 * Was a statement refused only since an earlier one of its transaction had failed? Statements are sent without waiting for
 * each other, and all after the one that failed are answered so: which of them a caller hears of first is chance.
 */
function saysAborted(error: unknown): boolean {
  return codeOf(error) === '25P02';
}

/** Is the connection itself of no more use? Not for a fault of ours beside it. */
function isBroken(error: Error): boolean {
  if (error instanceof Problem) return false;
  const state = stateOf(error);
  return state === undefined ? isOutside(error) : /^(08|57P|0A000)/.test(state);
}

/** Did it lose against another, or against a schema that was expanded meanwhile? */
function isLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code === '23505') return (error as { constraint?: string }).constraint === 'tasks_resource';
  return code !== undefined && lostCodes.has(code);
}

/** Did the server meet something on its disk that it cannot read? Also where the answer was made a problem already. */
export function saysDamaged(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return codeOf(error) === 'XX001' || (cause !== undefined && saysDamaged(cause));
}

/** What a failed call means to its caller. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const state = stateOf(error);
  const fault = state === undefined && !isOutside(error);
  const unavailable =
    !fault &&
    (state === undefined ||
      unavailableClasses.has(state.slice(0, 2)) ||
      unavailableCodes.has(state) ||
      isLost(error));
  return new Problem(
    unavailable ? 'store.unavailable' : 'store.refused',
    error instanceof Error ? error.message : String(error),
    error,
  );
}

/** Errors of sockets have a code; those of the driver are about a connection. What is left is a fault of ours. */
function isOutside(error: unknown): boolean {
  if (codeOf(error) !== undefined) return true;
  return error instanceof Error && /connection|timeout|terminated|ended|pool/i.test(error.message);
}
