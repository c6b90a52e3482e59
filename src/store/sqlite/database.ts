/**
 * The only file that touches node:sqlite: opening, the lock that keeps a second process out, prepared statements, and
 * telling a store that is unavailable from a call that is at fault. WAL: a commit survives the machine.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Problem } from '../../model/problem';
import { migrations } from './migrations';
import { Displaced, logOf, makePlace, mustHaveFile } from './place';

type Value = string | number | null;
export type Row = Record<string, Value>;

/** SQLite's primary result codes that say "not now" rather than "not so". */
const unavailableCodes = new Set([5, 6, 7, 8, 10, 13, 14, 23]);
/** Of a disk that takes nothing: read-only, full, or any other reason for a write, as a quota that is used up. */
const readableCodes = new Set([8, 13]);
const writeFailed = 778;

export interface Database {
  get(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** Like `all`, row by row: what is not asked for is not read. */
  each(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
  /** The number of rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  /** Like `run`, for an insert: the new row's id. */
  insert(sql: string, ...values: SQLInputValue[]): number;
  /** Rows that were changed since it was opened, also where that was taken back. */
  changes(): number;
  begin(): void;
  /** Throws `store.unavailable` while its files are not where they were opened: whoever opens them next finds nothing new. */
  mustStand(): void;
  /** On disk when it returns, with all that was committed before. */
  commit(): void;
  rollback(): void;
  /** Marks a place inside a transaction; the latest is the one that counts. */
  savepoint(): void;
  rollbackTo(): void;
  /**
   * Moves the write-ahead log into the file when enough was committed since, or when it is to be `whole`. False when it
   * was left.
   */
  checkpoint(whole: boolean): boolean;
  close(): void;
}

/**
 * `path` is `:memory:` or a path, never a URI. Throws `store.locked` when another process has the file,
 * `settings.invalid` when it is no store, not ours to write or without a write-ahead log, `store.unavailable` when its
 * disk fails. A log that became longer than 64 MiB is cut.
 */
export function openDatabase(path: string): Database {
  // SQLite takes what begins with `file:` for a URI, whose parameters can take away the disk and the lock.
  const file = path === ':memory:' ? path : resolve(path);
  const connection = openConnection(file);
  const statements = new Map<string, Prepared>();
  const prepared = (sql: string): StatementSync => preparedOf(sql).statement;
  function preparedOf(sql: string): Prepared {
    let found = statements.get(sql);
    if (found === undefined) {
      const statement = connection.prepare(sql);
      statement.setReturnArrays(true);
      const names = statement.columns().map(({ name }) => name);
      found = { statement, names, blank: blankOf(names) };
      statements.set(sql, found);
    }
    return found;
  }
  let commits = 0;
  let commitsDue = commitsAtFirst;
  let marked = false;
  const database: Database = {
    get(sql, ...values) {
      const found = preparedOf(sql);
      const row = found.statement.get(...values) as unknown as Value[] | undefined;
      return row === undefined ? undefined : rowOf(found, row);
    },
    all(sql, ...values) {
      const found = preparedOf(sql);
      return (found.statement.all(...values) as unknown as Value[][]).map((row) => rowOf(found, row));
    },
    *each(sql, ...values) {
      const found = preparedOf(sql);
      for (const row of found.statement.iterate(...values)) yield rowOf(found, row as unknown as Value[]);
    },
    run: (sql, ...values) => Number(prepared(sql).run(...values).changes),
    insert: (sql, ...values) => Number(prepared(sql).run(...values).lastInsertRowid),
    changes: () => Number(database.get('SELECT total_changes() AS count')!.count),
    begin() {
      if (connection.isTransaction) connection.exec('ROLLBACK');
      prepared('BEGIN IMMEDIATE').run();
      marked = false;
    },
    mustStand: () => {},
    commit() {
      prepared('COMMIT').run();
      commits += 1;
    },
    rollback: () => {
      if (connection.isTransaction) connection.exec('ROLLBACK');
    },
    savepoint() {
      if (marked) prepared('RELEASE calls').run();
      prepared('SAVEPOINT calls').run();
      marked = true;
    },
    rollbackTo: () => void prepared('ROLLBACK TO calls').run(),
    checkpoint(whole) {
      if (!whole && commits < commitsDue) return false;
      // The file keeps its length: writing over a log that is there costs half of what making it longer does.
      const mode = walBytes(file) > walBytesMax ? 'TRUNCATE' : 'PASSIVE';
      const [, pages] = prepared(`PRAGMA wal_checkpoint(${mode})`).get() as unknown as number[];
      if (commits > 0) commitsDue = commitsUntilFull(commits, pages as number);
      commits = 0;
      return true;
    },
    close() {
      statements.clear();
      connection.close();
    },
  };
  if (file !== ':memory:') database.mustStand = makePlace(file);
  migrate(connection, database);
  return database;
}

/** With the lock that keeps others out, and with the log without which a commit would not be on disk. */
function openConnection(file: string): DatabaseSync {
  let connection: DatabaseSync | null = null;
  try {
    if (file !== ':memory:') makeFolder(dirname(file));
    mustBeOurs(file);
    mustHaveFile(file);
    connection = new DatabaseSync(file, { timeout: 0 });
    connection.exec('PRAGMA page_size = 8192; PRAGMA locking_mode = EXCLUSIVE');
    const answer = connection.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string };
    connection.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -12288;
      PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE; COMMIT`);
    // SQLite does not fail where it cannot: it names the mode that it keeps.
    if (file === ':memory:' || answer.journal_mode === 'wal') return connection;
    const problem = `${file} has no write-ahead log but the journal mode ${answer.journal_mode}`;
    throw new Problem('settings.invalid', problem);
  } catch (error) {
    connection?.close();
    throw error instanceof Problem ? error : openingFault(file, error);
  }
}

/**
 * Like `openDatabase`, of a file that is there already. Throws `settings.invalid`, which names the whole path, when
 * there is none or when it is no store of ours; nothing is made or changed then. Bounds as `openDatabase` does.
 */
export function openExisting(file: string): Database {
  mustBeStore(resolve(file));
  return openDatabase(file);
}

/** `file` is a whole path. Throws `settings.invalid` when no store of ours is there, `store.locked`, `store.unavailable`. */
export function mustBeStore(file: string): void {
  recordedSteps(file);
}

/** As `mustBeStore`, and throws `store.older` when a step to this version is not made yet; makes none. */
export function mustBeCurrent(file: string): void {
  const recorded = recordedSteps(file);
  if (migrations.every(({ name }) => recorded.has(name))) return;
  throw new Problem('store.older', `${file} is of an older version`);
}

/** Nothing is made or changed. */
function recordedSteps(file: string): Set<string> {
  mustHaveFile(file);
  if (!existsSync(file)) throw new Problem('settings.invalid', `${file} is not there: no store was found`);
  let connection: DatabaseSync | null = null;
  try {
    mustBeOurs(file);
    connection = new DatabaseSync(file, { timeout: 0 });
    connection.exec('PRAGMA locking_mode = EXCLUSIVE');
    const rows = connection.prepare('SELECT name FROM migrations').all() as { name: string }[];
    const names = new Set(rows.map(({ name }) => name));
    if (names.has(migrations[0]!.name)) return names;
  } catch (error) {
    if (!isUnknownName(error)) throw openingFault(file, error);
  } finally {
    connection?.close();
  }
  throw new Problem('settings.invalid', `${file} is not a store of Tramline`);
}

/** What may only be read is opened by SQLite all the same, and its lock then fails as if the disk did. */
function mustBeOurs(file: string): void {
  if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK);
}

/** SQLite's answer to a table or column that is not there. */
function isUnknownName(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === 1;
}

/** Whether a store could be made here, which nobody does. Throws `settings.invalid` where it could not. */
export function mustBeMakeable(file: string): void {
  mustHaveFile(file);
  let folder = dirname(file);
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    // The dot: what is no folder is told as such.
    accessSync(`${folder}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw openingFault(file, error);
  }
}

/** On a file system that has no room for folders, such as /proc, Node's own recursion never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder) || dirname(folder) === folder) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
  flushNames(dirname(folder));
}

const unflushable = new Set(['EINVAL', 'ENOTSUP', 'EACCES', 'EPERM']);

/**
 * A power cut loses what is flushed in a folder whose own name is not on disk. SQLite does so for its files, and leaves it,
 * as is done here, where a file system cannot flush a folder or lets nobody read it.
 */
function flushNames(folder: string): void {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(folder, 'r');
    fsyncSync(descriptor);
  } catch (error) {
    if (!unflushable.has((error as { code?: string }).code ?? '')) throw error;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** No permission, read-only, cannot be opened, not a database. */
const unusableCodes = new Set([3, 8, 14, 26]);
/** What a disk says that is full or fails, or a system that has no file handle left. */
const passing = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'EAGAIN']);

function openingFault(file: string, error: unknown): Problem {
  const { errcode, code = '', message } = error as Error & { errcode?: number; code?: string };
  // The extended code tells in its higher bits why.
  const primary = errcode === undefined ? null : errcode & 0xff;
  if (primary === 5) return new Problem('store.locked', `${file} is in use by another process`, error);
  const wrong = primary === null ? !passing.has(code) : unusableCodes.has(primary);
  return new Problem(
    wrong ? 'settings.invalid' : 'store.unavailable',
    `${file} cannot be opened: ${message}`,
    error,
  );
}

/** The names of a row's columns are asked for once: the driver makes them anew for each row. */
interface Prepared {
  statement: StatementSync;
  names: string[];
  /** A row of nothing but its columns: a copy is filled in less than half the time in which forty columns are added. */
  blank: Row;
}

/** Parsed, since what is put together column by column becomes a table that is searched. */
function blankOf(names: string[]): Row {
  return JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`) as Row;
}

function rowOf({ names, blank }: Prepared, values: Value[]): Row {
  const row = { ...blank };
  for (let at = 0; at < names.length; at += 1) row[names[at] as string] = values[at] as Value;
  return row;
}

/** The log is moved into the file after at most so many commits; one that became longer than this is cut. */
const commitsPerCheckpoint = 100;
const walBytesMax = 67_108_864;
/** Half of that: where commits are large the log is moved after so many pages, and need not be cut. */
const walPagesWanted = 4096;
/** Until it is known how large they are. */
const commitsAtFirst = 10;

/** How many commits come before the next move, when so many before this one wrote so many pages. */
function commitsUntilFull(commits: number, pages: number): number {
  if (pages * commitsPerCheckpoint <= walPagesWanted * commits) return commitsPerCheckpoint;
  return Math.max(1, Math.floor((commits * walPagesWanted) / pages));
}

function walBytes(file: string): number {
  return statSync(logOf(file), { throwIfNoEntry: false })?.size ?? 0;
}

/** Applies the steps that are not recorded yet, each in a transaction of its own. */
function migrate(connection: DatabaseSync, database: Database): void {
  connection.exec(
    'CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT',
  );
  const applied = new Set(database.all('SELECT name FROM migrations').map((row) => row.name));
  for (const migration of migrations) {
    if (applied.has(migration.name)) continue;
    connection.exec('BEGIN IMMEDIATE');
    connection.exec(migration.sql);
    database.run('INSERT INTO migrations (name, at) VALUES (?, ?)', migration.name, Date.now());
    connection.exec('COMMIT');
  }
}

/** What takes nothing may still be read, and each call finds out for itself. */
export function mayBeRead(error: unknown): boolean {
  if (error instanceof Displaced) return true;
  const code = (error as { errcode?: number }).errcode;
  return code !== undefined && (code === writeFailed || readableCodes.has(code & 0xff));
}

/** What a failed call means to its caller: `store.unavailable` (nothing was changed) or `store.refused`. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const code = (error as { errcode?: number }).errcode;
  const unavailable = code !== undefined && unavailableCodes.has(code & 0xff);
  return new Problem(
    unavailable ? 'store.unavailable' : 'store.refused',
    error instanceof Error ? error.message : String(error),
    error,
  );
}
