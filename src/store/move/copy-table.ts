/**
 * One table's way from the embedded to the scaled store: pages in the order of its key, each with its place in one
 * transaction, so that whoever is killed goes on where the last page ended. Every row goes into a running hash, on its way
 * in and when it is read back.
 */
import { createHash } from 'node:crypto';
import { Problem } from '../../model/problem';
import type { Statements, Database as Target } from '../postgres/server/database';
import type { Database as Source } from '../sqlite/database';
import { keyPlaces, type MovedTable, type MovedValue, sourceColumns, targetKey, valuesOf } from './tables';

export interface Place {
  /** Of the last row that was copied; null before the first. */
  after: MovedValue[] | null;
  rows: number;
  hash: string;
}

/** A page is no larger than either, but never empty. */
export interface PageSize {
  rows: number;
  bytes: number;
}

export interface CopyOptions {
  page: PageSize;
  /** Called after each page that is on disk: how many rows of the table are. */
  paged(table: string, rows: number): void;
  /** The same of what was read back. */
  readBack?(table: string, rows: number): void;
  /** Once it is aborted no further page is begun. */
  stop: AbortSignal;
}

export const pageSize: PageSize = { rows: 2000, bytes: 4_194_304 };

const begin: Place = { after: null, rows: 0, hash: '' };
const statementMs = 60_000;

export const placesTable = `CREATE TABLE IF NOT EXISTS moves (
  name TEXT COLLATE "C" PRIMARY KEY, after TEXT NOT NULL, rows BIGINT NOT NULL, hash TEXT NOT NULL)`;

/**
 * Copies what is not there yet, in pages of a bounded size, to the end of the table or until it is to stop. Throws
 * `store.refused` once another move into the target has begun, and what the stores throw.
 */
export async function copyTable(
  source: Source,
  target: Target,
  token: number,
  table: MovedTable,
  { page, paged, stop }: CopyOptions,
): Promise<Place> {
  let place = await target.transact((statements) => placeOf(statements, table.name));
  for (;;) {
    const rows = stop.aborted ? [] : readPage(source, table, place.after, page);
    if (rows.length === 0) return place;
    const next = advance(place, table, rows);
    await target.transact(
      async (statements) => {
        await holdToken(statements, token);
        await insertRows(statements, table, rows);
        await keepPlace(statements, table.name, next);
      },
      { statementMs },
    );
    place = next;
    paged(table.name, place.rows);
  }
}

async function placeOf(statements: Statements, name: string): Promise<Place> {
  const row = await statements.get('SELECT after, rows, hash FROM moves WHERE name = $1', name);
  return row === undefined ? begin : { after: JSON.parse(row.after), rows: row.rows, hash: row.hash };
}

async function keepPlace(statements: Statements, name: string, place: Place): Promise<void> {
  await statements.run(
    `INSERT INTO moves (name, after, rows, hash) VALUES ($1, $2, $3, $4)
     ON CONFLICT (name) DO UPDATE SET after = excluded.after, rows = excluded.rows, hash = excluded.hash`,
    name,
    JSON.stringify(place.after),
    place.rows,
    place.hash,
  );
}

/** Nobody else moves into this target until the transaction ends. Throws `store.refused` where another has begun. */
export async function holdToken(statements: Statements, token: number): Promise<void> {
  const row = await statements.get(`SELECT value FROM meta WHERE name = 'moving' FOR UPDATE`);
  if (row?.value === token) return;
  throw new Problem('store.refused', 'another move into this store has begun: this one ends');
}

function readPage(
  source: Source,
  table: MovedTable,
  after: MovedValue[] | null,
  size: PageSize,
): MovedValue[][] {
  const key = table.key.map((name) => `"${name}"`).join(', ');
  const further = after === null ? '' : `AND (${key}) > (${after.map(() => '?').join(', ')})`;
  const from = `${table.name} WHERE ${table.where} ${further}`;
  const sql = `SELECT ${sourceColumns(table)} FROM ${from} ORDER BY ${key} LIMIT ?`;
  const page: MovedValue[][] = [];
  let bytes = 0;
  for (const row of source.each(sql, ...((after ?? []) as (string | number)[]), size.rows)) {
    const values = valuesOf(table, row);
    bytes += values.reduce<number>((sum, value) => sum + String(value).length, 0);
    if (bytes > size.bytes && page.length > 0) break;
    page.push(values);
  }
  return page;
}

function advance(place: Place, table: MovedTable, rows: MovedValue[][]): Place {
  const last = rows.at(-1)!;
  const hash = rows.reduce(chain, place.hash);
  return { after: keyPlaces(table).map((at) => last[at]!), rows: place.rows + rows.length, hash };
}

function chain(hash: string, values: MovedValue[]): string {
  return createHash('sha256').update(hash).update(JSON.stringify(values)).digest('base64');
}

async function insertRows(statements: Statements, table: MovedTable, rows: MovedValue[][]): Promise<void> {
  const { name, columns } = table;
  const names = columns.map((column) => column.name).join(', ');
  const cast = columns.map((column) => `${column.name}::${column.type}`).join(', ');
  await statements.run(
    `INSERT INTO ${name} (${names}) SELECT ${cast}
     FROM unnest(${columns.map((column, index) => `$${index + 1}::${wireType(column)}[]`).join(', ')}) AS moved (${names})`,
    ...columns.map((_, index) => rows.map((values) => values[index]!)),
  );
}

/** A list is one text on its way, there and back: lists of lists of several lengths are nothing that PostgreSQL knows. */
function wireType({ type }: { type: string }): string {
  return type.startsWith('_') ? 'text' : type;
}

const rowsReadMax = 500;

/** Under this name stands how far the table was read back. */
const readName = ({ name }: MovedTable) => `read:${name}`;

/**
 * Reads the table back, at most 500 rows at once, from where an earlier move ended to do so; null where it is to stop before
 * the end. To be called once all of it was copied, from a source that nobody serves meanwhile. Throws `store.refused` once
 * another move into the target has begun.
 */
export async function readBack(
  target: Target,
  token: number,
  table: MovedTable,
  { page, readBack: told, stop }: CopyOptions,
): Promise<Place | null> {
  let place = await target.transact((statements) => placeOf(statements, readName(table)));
  while (!stop.aborted) {
    const next = await target.transact(
      async (statements) => {
        await holdToken(statements, token);
        const rows = await rowsBehind(statements, table, place, Math.min(page.rows, rowsReadMax));
        if (rows.length === 0) return null;
        // A place that is lost is read from once more: none is worth waiting for the disk.
        await statements.run('SET LOCAL synchronous_commit = off');
        const reached = advance(place, table, rows);
        await keepPlace(statements, readName(table), reached);
        return reached;
      },
      { statementMs },
    );
    if (next === null) return place;
    place = next;
    told?.(table.name, place.rows);
  }
  return null;
}

/** Values of one page may be large: what is read at once is bounded by its rows, and those by their number. */
async function rowsBehind(
  statements: Statements,
  table: MovedTable,
  { after }: Place,
  limit: number,
): Promise<MovedValue[][]> {
  const key = targetKey(table).join(', ');
  const columns = table.columns
    .map((column) => `${column.name}::${wireType(column)} AS ${column.name}`)
    .join(', ');
  const where = after === null ? '' : `WHERE (${key}) > (${after.map((_, at) => `$${at + 2}`).join(', ')})`;
  const rows = await statements.all(
    `SELECT ${columns} FROM ${table.name} ${where} ORDER BY ${key} LIMIT $1`,
    limit,
    ...(after ?? []),
  );
  return rows.map((row) => table.columns.map(({ name }) => row[name] as MovedValue));
}

/** What is found to be other than it was copied is read from its beginning by the next move. */
export async function readAnew(target: Target, table: MovedTable): Promise<void> {
  await target.transact((statements) => statements.run('DELETE FROM moves WHERE name = $1', readName(table)));
}
