/**
 * What of an embedded store is moved, and how a row of it looks in the scaled one: the columns that both have under one
 * name, or under the names given here. A table or column that this version would leave behind stops the move before it
 * begins. Leases and conditions are of processes that are gone; `meta` is told apart by name, and lanes are made anew.
 */
import { addressBytesMax } from '../../model/address-bytes';
import { Problem } from '../../model/problem';
import { storable } from '../postgres/quarantine-entries';
import type { Statements } from '../postgres/server/database';
import type { Database, Row } from '../sqlite/database';

export type MovedValue = string | number | boolean | null;

export interface MovedTable {
  name: string;
  key: string[];
  /** In the target's order; `from` is an expression of the source. */
  columns: { name: string; type: string; from: string }[];
  /** Of the source: which of its rows are moved. */
  where: string;
}

const keys: Record<string, string[]> = {
  deliveries: ['id'],
  tasks: ['id'],
  aliases: ['address'],
  hints: ['task_id', 'generation'],
  reads: ['task_id', 'fence'],
  sequences: ['key'],
  outbox: ['id'],
  organizations: ['id'],
  organization_history: ['organization_id', 'epoch'],
  connections: ['id'],
  sights: ['connection_id', 'organization_id'],
  quarantine: ['id'],
  alerts: ['fingerprint'],
  sync_runs: ['id'],
  listings: ['id'],
  provider_calls: ['month'],
  consents: ['id'],
  webhook_secrets: ['id'],
  replays: ['id'],
  replayed: ['id'],
  equipment: ['id', 'side', 'organization_id'],
  topic_ends: ['topic', 'partition'],
  unclaimed: ['kind', 'resource_id', 'organization_id'],
};

export const movedNames = Object.keys(keys);

const leftBehind = new Set(['meta', 'migrations', 'leases', 'conditions', 'lanes']);

/** Versions before took longer ones as keys, which no index of the target holds: they lead to nothing that was ever read. */
const keyedByAddress = `octet_length(address) <= ${addressBytesMax}`;

/** Names of the source that are others in the target. */
const renamed: Record<string, Record<string, string>> = { connections: { user_name: 'user' } };
/** What the target wants where the source has nothing. */
const expressions: Record<string, Record<string, string>> = {
  organizations: { probed_at: 'coalesce(probed_at, 0)', gone_at: `'{' || trim(gone_at, '[]') || '}'` },
};

/** Throws `store.refused` when something of the source would be left behind. */
export async function tablesToMove(source: Database, target: Statements): Promise<MovedTable[]> {
  const stored = source.all(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
  );
  for (const { name } of stored) {
    const known = movedNames.includes(String(name)) || leftBehind.has(String(name));
    if (!known) throw leaves(`the table ${name}`);
  }
  const tables: MovedTable[] = [];
  for (const name of movedNames) tables.push(await tableToMove(source, target, name));
  return tables;
}

async function tableToMove(source: Database, target: Statements, name: string): Promise<MovedTable> {
  const has = new Set(
    source.all(`SELECT name FROM pragma_table_info('${name}')`).map((row) => String(row.name)),
  );
  const wanted = await target.all(
    `SELECT attname AS name, typname AS type FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    name,
  );
  const columns = wanted.flatMap((column) => {
    const from = renamed[name]?.[column.name] ?? column.name;
    if (!has.delete(from)) return [];
    return [{ name: column.name, type: column.type, from: expressions[name]?.[from] ?? `"${from}"` }];
  });
  const [left] = has;
  if (left !== undefined) throw leaves(`the column ${left} of ${name}`);
  const key = keys[name]!;
  return { name, key, columns, where: key.includes('address') ? keyedByAddress : 'TRUE' };
}

function leaves(what: string): Problem {
  return new Problem('store.refused', `the move would leave ${what} behind: nothing was moved`);
}

/** A row of the source as the target keeps it: no NUL, and no half of a pair of surrogates, which UTF-8 cannot say. */
export function valuesOf({ columns }: MovedTable, row: Row): MovedValue[] {
  return columns.map(({ name, type }) => {
    const value = row[name] ?? null;
    if (value === null) return null;
    if (type === 'bool') return value === 1;
    return typeof value === 'string' ? storable(value)!.toWellFormed() : value;
  });
}

export function sourceColumns({ columns }: MovedTable): string {
  return columns.map(({ name, from }) => `${from} AS "${name}"`).join(', ');
}

/** The key as the target compares it: texts by their bytes, as the source does. */
export function targetKey({ key, columns }: MovedTable): string[] {
  return key.map((name) =>
    columns.find((column) => column.name === name)!.type === 'text' ? `${name} COLLATE "C"` : name,
  );
}

/** Places of the key among the columns. */
export function keyPlaces({ key, columns }: MovedTable): number[] {
  return key.map((name) => columns.findIndex((column) => column.name === name));
}
