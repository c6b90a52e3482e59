/**
 * Moves an embedded store into a scaled one: table by table, resumable, verified by counts and hashes. While a move is not
 * complete the target refuses to serve, also through a process that had it open before; when it is, the source does, for ever. A source that served in between is moved
 * anew from its beginning: what it changed could not be found any more.
 */
import { randomInt } from 'node:crypto';
import { isProblem, Problem } from '../../model/problem';
import { forgettingPrefix } from '../forgetting';
import { migrate } from '../postgres/migrate';
import type { ToldWaits } from '../postgres/migration-waits';
import {
  openDatabase as openTarget,
  poolConfig,
  type Statements,
  type Database as Target,
} from '../postgres/server/database';
import { lockNumbers } from '../postgres/server/lock-numbers';
import { clockName } from '../set-back';
import { openExisting, type Database as Source } from '../sqlite/database';
import { lostFloorPrefix, numberFloorPrefix, untoldPrefix } from '../store-rules';
import {
  type CopyOptions,
  copyTable,
  holdToken,
  type PageSize,
  type Place,
  pageSize,
  placesTable,
  readAnew,
  readBack,
} from './copy-table';
import { begunWith, keepPlan, planOf } from './plan';
import { type MovedTable, movedNames, tablesToMove } from './tables';

export interface MoveOptions {
  /** Of the embedded store. */
  file: string;
  /** `postgres://…` of the target. */
  url: string;
  /** After each page that is on disk: how many rows of the table are. */
  paged(table: string, rows: number): void;
  /** After each page that was read back: how many rows of the table were. */
  readBack?(table: string, rows: number): void;
  page?: PageSize;
  /** Whom the target waits for before its tables can be brought to this version. */
  waits?: ToldWaits;
  /** An earlier move is not gone on with, since another version began it. */
  begunAnew?(): void;
  /**
   * Asked for once there is something to go on with: until it is aborted, the move goes on. Before that the file is looked
   * at without a pause in which a signal could be heard, and whoever ends the process has begun nothing.
   */
  interrupted?(): AbortSignal;
  /** What is thrown for a failure of one of both, which says itself at most where its file is. */
  faultOf?(end: 'from' | 'to', error: unknown): unknown;
}

export interface Moved {
  /** `already`: an earlier move had come to its end; `stopped`: this one was interrupted, and has not. */
  outcome: 'moved' | 'already' | 'stopped';
  /** Those that were copied; of a move that was stopped the last one perhaps in part. */
  tables: { name: string; rows: number; hash: string }[];
  /** How many tables there are to copy. */
  of: number;
  /** Of one that was stopped: every row is there, and what is left is to read them back. */
  isCopied: boolean;
}

const longMs = 600_000;

/**
 * Throws `settings.invalid` when `file` is no embedded store and `store.refused` when it is damaged (nothing is made then),
 * `store.locked` when it is served, `store.moved` when it was moved elsewhere, `store.refused` when the target is in use or
 * does not hold what was copied, `store.unavailable`. To be repeated after whatever ended it.
 */
export async function moveStore(options: MoveOptions): Promise<Moved> {
  const {
    file,
    url,
    page = pageSize,
    waits,
    begunAnew,
    interrupted,
    faultOf = (_end, error) => error,
  } = options;
  const told = (error: unknown) => faultOf(isOfFile(error) ? 'from' : 'to', error);
  const source = openSource(file, faultOf);
  const target = openTarget({ url, connections: 2 });
  const begin = async () => {
    await migrate(poolConfig({ url, connections: 1 }), waits);
    return target.transact((statements) => beginMove(statements, source, file), {
      lock: lockNumbers.move,
      statementMs: longMs,
    });
  };
  try {
    mustBeWhole(source, file);
    const { token, isAnew } = await begin().catch((error) => {
      throw told(forbidden(error) ?? error);
    });
    if (token === null) return { outcome: 'already', tables: [], of: 0, isCopied: true };
    if (isAnew) begunAnew?.();
    const stop = interrupted?.() ?? new AbortController().signal;
    return await goOn(source, target, token, { ...options, page, stop }).catch((error) => {
      throw brokenOff(told(error));
    });
  } finally {
    source.close();
    await target.close();
  }
}

function openSource(file: string, faultOf: NonNullable<MoveOptions['faultOf']>): Source {
  try {
    return openExisting(file);
  } catch (error) {
    throw faultOf('from', error);
  }
}

/** Did SQLite say it? What it says in the middle of a transaction of the target comes from there as that one's cause. */
function isOfFile(error: unknown): boolean {
  const { cause = error } = error as Error;
  return typeof (cause as { errcode?: unknown }).errcode === 'number';
}

/** From where an earlier one was interrupted to the end, or to where it is to stop. */
async function goOn(source: Source, target: Target, token: number, how: CopyOptions): Promise<Moved> {
  const tables = await target.transact((statements) => tablesToMove(source, statements));
  const moved: { table: MovedTable; place: Place }[] = [];
  for (const table of tables) {
    if (how.stop.aborted) break;
    const place = await copyTable(source, target, token, table, how);
    moved.push({ table, place });
  }
  const isCopied = !how.stop.aborted;
  const isVerified = isCopied && (await verify(source, target, token, moved, how));
  // From here on there is nothing to go on with: what is begun now is the end.
  if (isVerified)
    await target.transact((statements) => complete(statements, source, token), { statementMs: longMs });
  return {
    outcome: isVerified ? 'moved' : 'stopped',
    tables: moved.map(({ table, place: { rows, hash } }) => ({ name: table.name, rows, hash })),
    of: tables.length,
    isCopied,
  };
}

/** Numbers begin anew and tables are emptied, which only their owner may do. */
function forbidden(error: unknown): Problem | null {
  const { cause, message } = error as { cause?: { code?: unknown }; message: string };
  if (cause?.code !== '42501') return null;
  return new Problem(
    'settings.invalid',
    `whoever moves into a store must own its tables, and this role does not (${message}): nothing was moved`,
    error,
  );
}

/** A server that is away says nothing of what is to be done. */
function brokenOff(error: unknown): unknown {
  if (!isProblem(error, 'store.unavailable')) return error;
  const next = 'repeat the command, and it goes on where it was interrupted';
  return new Problem('store.unavailable', `${error.message}; the move is not complete: ${next}`, error);
}

/** Every page of every table is looked at before anything is written: a copy would break off in the middle of it. */
function mustBeWhole(source: Source, file: string): void {
  const tables = source.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
  for (const { name } of tables) {
    const said = checked(source, String(name));
    if (said === 'ok') continue;
    throw new Problem(
      'store.refused',
      `${file} is damaged: its table ${name} cannot be read (${said}); nothing was moved or changed, ` +
        'here or there: move a copy that is whole, such as a backup',
    );
  }
}

/** `ok`, or the first that SQLite finds wrong. */
function checked(source: Source, table: string): string {
  try {
    const [said] = Object.values(source.get(`PRAGMA quick_check('${table}')`)!);
    return String(said).replace(/\s+/g, ' ').trim();
  } catch (error) {
    return (error as Error).message;
  }
}

function markOf(source: Source, name: 'moving' | 'moved'): number | null {
  const row = source.get('SELECT value FROM meta WHERE name = ?', name);
  return row === undefined ? null : Number(row.value);
}

/** What was taken is due again: its holder is gone. What another target holds of this source is void with its token. */
function markSource(source: Source): number {
  const token = randomInt(1, 2 ** 47);
  source.begin();
  source.run(`UPDATE tasks SET state = 'due', due_at = ? WHERE state = 'taken'`, Date.now());
  source.run(`INSERT OR REPLACE INTO meta (name, value) VALUES ('moving', ?)`, token);
  source.commit();
  return token;
}

interface Begun {
  /** What the source shares with this target alone; null when the move is complete. */
  token: number | null;
  /** Another version began it, and what that one left was thrown away. */
  isAnew: boolean;
}

async function beginMove(statements: Statements, source: Source, file: string): Promise<Begun> {
  // Whoever has the store open reads of this table first: what they began has ended, and what they begin sees the mark.
  await statements.run('LOCK TABLE meta IN ACCESS EXCLUSIVE MODE');
  const marks = await statements.all(
    `SELECT name, value FROM meta WHERE name IN ('moving', 'moved-from') FOR UPDATE`,
  );
  const mark = (name: string) => marks.find((row) => row.name === name)?.value as number | undefined;
  const moved = markOf(source, 'moved');
  if (moved !== null && mark('moved-from') === moved) return { token: null, isAnew: false };
  const held = moved ?? markOf(source, 'moving');
  const isHeld = held !== null && mark('moving') === held;
  if (moved !== null && !isHeld) throw movedElsewhere(file);
  const plan = await planOf(source, statements);
  if (isHeld && (await begunWith(statements)) === plan) return { token: held, isAnew: false };
  if (mark('moving') === undefined) await mustBeEmpty(statements);
  // A source that is marked as moved is this target's, and must stay so wherever this is interrupted.
  const token = moved ?? markSource(source);
  // An earlier move that is not gone on with: whatever it left was never served.
  await statements.run(`TRUNCATE ${movedNames.join(', ')} RESTART IDENTITY`);
  await statements.run('DROP TABLE IF EXISTS moves');
  await statements.run(placesTable);
  await keepPlan(statements, plan);
  await statements.run(
    `INSERT INTO meta (name, value) VALUES ('moving', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    token,
  );
  return { token, isAnew: isHeld };
}

function movedElsewhere(file: string): Problem {
  const next = 'name that one in DATABASE_URL, or repeat the move into it if it was interrupted';
  return new Problem('store.moved', `${file} was moved to another store: ${next}`);
}

async function mustBeEmpty(statements: Statements): Promise<void> {
  for (const name of movedNames) {
    const row = await statements.get(`SELECT 1 AS there FROM ${name} LIMIT 1`);
    if (row === undefined) continue;
    throw new Problem('store.refused', `the target is not empty: it has rows in ${name}; nothing was moved`);
  }
}

/** False where it is to stop before its end. */
async function verify(
  source: Source,
  target: Target,
  token: number,
  moved: { table: MovedTable; place: Place }[],
  how: CopyOptions,
): Promise<boolean> {
  for (const { table, place } of moved) {
    const there = await readBack(target, token, table, how);
    if (there === null) return false;
    const had = Number(source.get(`SELECT count(*) AS rows FROM ${table.name} WHERE ${table.where}`)!.rows);
    if (there.rows === had && place.rows === had && there.hash === place.hash) continue;
    const rows = `of ${had} rows ${place.rows} were copied, ${there.rows} are there`;
    await readAnew(target, table);
    throw new Problem(
      'store.refused',
      `${table.name} is not what was copied (${rows}): empty the target, begin anew`,
    );
  }
  return true;
}

/** What follows from the rows is made of them; then the source may serve no more, and from the commit on the target may. */
async function complete(statements: Statements, source: Source, token: number): Promise<void> {
  await holdToken(statements, token);
  const meta = new Map(
    source.all('SELECT name, value FROM meta').map(({ name, value }) => [String(name), Number(value)]),
  );
  await statements.run(`SELECT setval('revision', $1)`, Math.max(1, meta.get('revision') ?? 1));
  const isState = (name: string) =>
    ['behind', 'behind-run', 'reading-on', 'pause-since', 'pause-until', clockName].includes(name) ||
    name.startsWith(untoldPrefix) ||
    name.startsWith(forgettingPrefix) ||
    name.startsWith(numberFloorPrefix) ||
    name.startsWith(lostFloorPrefix);
  const states = [...meta.keys()].filter(isState);
  for (const name of ['position', 'floor', 'marked', 'unmarked', 'connections', ...states]) {
    await statements.run(
      `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      name,
      meta.get(name) ?? 0,
    );
  }
  await goOnNumbering(statements);
  await statements.run(
    `INSERT INTO lanes (id, open_at, next_due_at)
     SELECT coalesce(o.id, t.lane), CASE WHEN coalesce(o.access, 'active') = 'active' THEN 0 END, t.due_at
     FROM organizations o
     FULL JOIN (SELECT lane, min(due_at) AS due_at FROM tasks GROUP BY lane) t ON t.lane = o.id
     ON CONFLICT (id) DO UPDATE SET open_at = excluded.open_at, next_due_at = excluded.next_due_at`,
  );
  const halfOpen = source.all('SELECT id, width FROM lanes');
  await statements.run(
    `UPDATE lanes l SET width = n.width FROM unnest($1::text[], $2::int[]) AS n (id, width) WHERE l.id = n.id`,
    halfOpen.map(({ id }) => String(id)),
    halfOpen.map(({ width }) => Number(width)),
  );
  await statements.run('DROP TABLE moves');
  await statements.run(`DELETE FROM meta WHERE name = 'moving'`);
  await statements.run(
    `INSERT INTO meta (name, value) VALUES ('moved-from', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    token,
  );
  await statements.run('ANALYZE');
  // All that may fail has been done: whoever dies between this and the commit has a move that a repeat completes.
  source.run(`INSERT OR REPLACE INTO meta (name, value) VALUES ('moved', ?)`, token);
}

/** Columns that number their rows go on above those that were moved. */
async function goOnNumbering(statements: Statements): Promise<void> {
  const numbered = await statements.all(
    `SELECT name, attname AS column FROM unnest($1::text[]) AS n (name)
     JOIN pg_attribute ON attrelid = to_regclass(name) AND attidentity <> ''`,
    movedNames,
  );
  for (const { name, column } of numbered) {
    await statements.run(
      `SELECT setval(pg_get_serial_sequence('${name}', '${column}'), max(${column})) FROM ${name}
       HAVING max(${column}) IS NOT NULL`,
    );
  }
}
