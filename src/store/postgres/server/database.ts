/**
 * The only file that touches pg, but for single connections: the pool, transactions, and telling a store that is
 * unavailable from a call that is at fault. A transaction is READ COMMITTED and on disk when it resolves
 * (synchronous_commit=on, whatever the server's default is). One that lost against another (deadlock, serialization, two
 * tasks that became one resource) is made once more from its beginning.
 */
import { hash } from 'node:crypto';
import { type Client, Pool, type PoolClient, type PoolConfig, types } from 'pg';
import { Problem } from '../../../model/problem';
import { type Line, makeLine, type StatementResult, type Value, writtenValue } from './burst';
import { BoundedClient } from './client';
import { isBroken, isLost, isOvertaken, mayBeLocked, problemOf, saysAborted, saysReadOnly } from './faults';
import { makeLender } from './lender';
import { makeReplicated } from './replicated';
import { askAgain, sessionLimits, sessionOptions } from './session';
import { problemOfLock } from './who-locks';

export type { Value } from './burst';
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
  /** Its first statements leave with its beginning: it asks for the clock only after one of them was answered. */
  ahead?: boolean;
  /** One statement that is a transaction by itself: nothing begins or commits it. It is asked for neither the clock nor a lock. */
  single?: boolean;
}

export interface Database {
  /** Throws `store.unavailable` when nothing was changed or nobody can tell, `store.refused` when the call is at fault. */
  transact<Result>(
    work: (statements: Statements, nowMs: () => number) => Promise<Result>,
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
/** What a statement may take beyond its limit before the server is given up. */
const silentMs = 500;
/** So often what lost is tried in all: a deadlock takes a second to be seen, and who was overtaken hears of it at once. */
const lostMax = 2;
const overtakenMax = 5;

/**
 * `nowMs` replaces the database's clock, for tests; `schema` holds the store's tables, which those of the same names in another do not
 * stand for. A statement may take 3 s, unless a call says otherwise. A transaction that lost against
 * another is made 2 times at most, 5 where another made rows for its resources first.
 */
export function openDatabase(
  settings: DatabaseSettings,
  nowMs: (() => number) | null = null,
  schema: string | null = null,
): Database {
  const pool = openPool(settings, settings.connections);
  const { borrow, giveBack, isOld } = makeLender(pool, connectMs);
  const replicated = makeReplicated(pool);
  const lackOf = askSessions(pool, schema);
  let connected = 0;
  pool.on('connect', () => {
    connected += 1;
  });
  const lineOf = makeLines();

  async function attempt<Result>(
    work: (statements: Statements, nowMs: () => number) => Promise<Result>,
    options: TransactionOptions,
  ): Promise<Result> {
    const { statementMs = statementMsMax } = options;
    const client = await borrow();
    const lacking = await lackOf(client);
    if (lacking !== null) {
      giveBack(client, lacking);
      throw lacking;
    }
    let failed: Error | undefined;
    const course: Course = { isOver: false, last: [] };
    const line = lineOf(client);
    const send = (sql: string, values: Value[] = []) =>
      line.send(sql, values.map(writtenValue), statementMs + silentMs);
    try {
      let beganMs = Number.NaN;
      if (options.single) return replicated(client, await work(statementsOf(send, course), () => beganMs));
      const begun = begin(send, options, statementMs, (atMs) => {
        beganMs = nowMs?.() ?? atMs;
      });
      if (options.ahead === true) process.nextTick(() => awaitBegun(course, begun));
      else await begun;
      const statements = statementsOf(send, course);
      const [result] = await Promise.all([work(statements, () => beganMs), begun]);
      const lastOnes = course.last.map(({ sql, values }) => statements.run(sql, ...values));
      course.isOver = true;
      // Where a statement failed it takes all back, and says so.
      const [{ command }] = await Promise.all([send('COMMIT'), ...lastOnes]);
      if (command !== 'COMMIT') throw course.causeOfAbort ?? new Error(`ended by ${command}`);
      return replicated(client, result);
    } catch (error) {
      course.isOver = true;
      failed = error as Error;
      // After the ROLLBACK each of them would stand alone.
      line.drop(failed);
      // A new one is asked for now and then: a server may take no writes for hours.
      if (isBroken(failed) || (saysReadOnly(failed) && isOld(client))) throw failed;
      const undone = options.single ? Promise.resolve() : query(client, 'ROLLBACK', statementMs);
      await undone.then(
        () => (failed = undefined),
        () => {},
      );
      // By the answer to ROLLBACK all earlier ones have come.
      const cause = saysAborted(error) ? (course.causeOfAbort ?? error) : error;
      if (!mayBeLocked(cause) || failed !== undefined) throw cause;
      throw await problemOfLock(cause, (sql) =>
        query(client, sql, 0).catch((unanswered: Error) => {
          if (isBroken(unanswered)) failed = unanswered;
          return null;
        }),
      );
    } finally {
      giveBack(client, failed);
    }
  }

  return {
    async transact(work, options = {}) {
      for (let attempts = 1; ; attempts += 1) {
        try {
          return await attempt(work, options);
        } catch (error) {
          if (!isLost(error) || attempts >= (isOvertaken(error) ? overtakenMax : lostMax))
            throw problemOf(error);
        }
      }
    },
    connected: () => connected,
    close: () => pool.end(),
  };
}

/**
 * Asks each session as it connects for what the store's rules stand on. Answers before it is lent for the first time why it
 * lacks that, or null: somebody may cancel that one statement, and what follows would be done by whatever the server's defaults are.
 */
function askSessions(pool: Pool, schema: string | null): (client: Client) => Promise<Error | null> {
  const asked = new WeakMap<Client, Promise<Error | null>>();
  pool.on('connect', (client) => {
    const answer = query(client, askAgain(statementMsMax), statementMsMax, [schema]);
    const lack = answer.then(
      () => null,
      (error: Error) => error,
    );
    asked.set(client, lack);
  });
  return async (client) => {
    const lack = asked.get(client);
    asked.delete(client);
    return lack === undefined ? null : lack;
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
 * What the address says of `options` and what every session needs, joined: pg would take the address's alone. Of two words
 * on one setting the server takes the last.
 */
function sessionOf(url: string): Pick<PoolConfig, 'connectionString' | 'options'> {
  const address = new URL(url);
  const { searchParams } = address;
  const theirs = searchParams.getAll('options').at(-1);
  // Of two, pg takes the last as well.
  const mode = searchParams.getAll('sslmode').at(-1) ?? '';
  const asVerified = verifiedModes.has(mode) && !searchParams.has('uselibpqcompat');
  if (theirs === undefined && !asVerified) return { connectionString: url, options: sessionOptions };
  searchParams.delete('options');
  if (asVerified) searchParams.set('sslmode', 'verify-full');
  const options = theirs === undefined ? sessionOptions : `${theirs} ${sessionOptions}`;
  return { connectionString: address.href, options };
}

/** What pg takes for `verify-full`, with a warning of seven lines. */
const verifiedModes = new Set(['prefer', 'require', 'verify-ca']);

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
    ...sessionLimits,
    types: { getTypeParser: parserOf as typeof types.getTypeParser },
  };
}

const int8Array = 1016 as number;

/** Whole numbers of 64 bits as numbers. */
function parserOf(type: number): (text: string) => unknown {
  if (type === types.builtins.INT8) return Number;
  if (type !== int8Array) return types.getTypeParser(type, 'text');
  const parse = types.getTypeParser(int8Array as never, 'text') as (text: string) => string[];
  return (text) => parse(text).map(Number);
}

/** What whoever is refused is to do. */
export const halfMoved = 'a move into this store is not complete: repeat `tramline migrate --from`';

/** Of the statements of one transaction. */
type Send = (sql: string, values?: Value[]) => Promise<StatementResult>;

/** Begins, takes the lock, and notes the store's clock after it, before anything else is heard of what was sent with it. */
async function begin(
  send: Send,
  { lock, snapshot = false, readsMuch = false, served = false }: TransactionOptions,
  statementMs: number,
  note: (nowMs: number) => void,
): Promise<void> {
  const before = [`BEGIN${snapshot ? ' ISOLATION LEVEL REPEATABLE READ READ ONLY' : ''}`];
  if (statementMs !== statementMsMax) before.push(`SET LOCAL statement_timeout = ${statementMs}`);
  if (readsMuch) before.push(...readingMuch);
  if (lock !== undefined) before.push(`SELECT pg_advisory_xact_lock(${lock})`);
  const begun = before.map((sql) => send(sql));
  const told = send(served ? clockOfServed : clock).then(({ rows: [row] }) => {
    if (served && row!.moving !== null) throw new Problem('store.unavailable', halfMoved);
    note(row!.now);
  });
  await Promise.all([told, ...begun]);
}

const readingMuch = ['enable_seqscan = on', 'enable_bitmapscan = on', 'plan_cache_mode = auto'].map(
  (setting) => `SET LOCAL ${setting}`,
);

const clock = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now';
/** What is read stays locked until the end, and a move locks all of it before it looks whether the store is empty. */
const clockOfServed = `${clock}, (SELECT value FROM meta WHERE name = 'moving') AS moving`;

interface Course {
  /** Of what is done at once one may have failed while the others still go on. */
  isOver: boolean;
  /** What leaves with the commit. */
  last: { sql: string; values: Value[] }[];
  /** The beginning, where others that leave later wait for it. */
  begun?: Promise<void> | undefined;
  /** The error since which statements are refused, also where the caller of all of them hears of another first. */
  causeOfAbort?: unknown;
}

/** What did not leave with the beginning waits for it from now on: should that fail, it would stand alone. */
function awaitBegun(course: Course, begun: Promise<void>): void {
  course.begun = begun;
  // Where it fails, so does the transaction.
  begun.then(
    () => (course.begun = undefined),
    () => {},
  );
}

/** They throw once the transaction is over: what they would write stood alone, or in another's transaction. */
function statementsOf(send: Send, course: Course): Statements {
  const sendOn = async (sql: string, values: Value[]) => {
    if (course.begun !== undefined) await course.begun;
    if (course.isOver) throw new Problem('store.unavailable', 'its transaction is over');
    try {
      return await send(sql, values);
    } catch (error) {
      if (!saysAborted(error)) course.causeOfAbort ??= error;
      throw error;
    }
  };
  return {
    get: async (sql, ...values) => (await sendOn(sql, values)).rows[0],
    all: async (sql, ...values) => (await sendOn(sql, values)).rows,
    run: async (sql, ...values) => (await sendOn(sql, values)).rowCount,
    last: (sql, ...values) => void course.last.push({ sql, values }),
  };
}

/**
 * One for each connection. A statement's name follows from its text: where a pooler mixes up the sessions of processes, they
 * meet no statement of another.
 */
function makeLines(): (client: PoolClient) => Line {
  const names = new Map<string, string>();
  const nameOf = (sql: string): string => {
    const name = names.get(sql) ?? hash('sha256', sql, 'base64url');
    names.set(sql, name);
    return name;
  };
  const lines = new WeakMap<PoolClient, Line>();
  return (client) => {
    const line = lines.get(client) ?? makeLine(client as unknown as Client, nameOf, parserOf);
    lines.set(client, line);
    return line;
  };
}

/** A server that says nothing at all is not waited for. */
function query(
  client: PoolClient,
  text: string,
  statementMs: number,
  values?: (string | null)[],
): Promise<{ rows: unknown[] }> {
  return client.query({ text, values, query_timeout: statementMs + silentMs } as { text: string });
}
