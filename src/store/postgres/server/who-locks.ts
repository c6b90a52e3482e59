/**
 * What a statement waited for whose lock did not come in time. The server says that it gave up, and of a table not which: that
 * stands in its list of locks, as long as the lock does. Of a row its error names the table.
 */
import { Problem } from '../../../model/problem';
import { allTables } from '../tables';
import { saysLate } from './faults';
import { joinPrepared, preparedName } from './prepared-locks';

/** Beyond this a commit that waits for a standby waits for one that is away. */
const standbySeconds = 2;

/** What is prepared to be committed belongs to no session: its locks have no `pid`. */
const ours = `l.pid IS DISTINCT FROM pg_backend_pid() AND c.relname = ANY('{${allTables.join()}}')
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('meta'))`;

const keepWritersOut = "('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')";

/**
 * Locks of tables that keep writers out, also those that are waited for: whoever comes later waits behind them. Of a row all but the
 * first wait for each other. A session sees what others of its role wait for.
 */
const asked = `SELECT
  ARRAY(SELECT DISTINCT c.relname::text COLLATE "C" FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'relation' AND l.pid IS NOT NULL AND ${ours} AND l.mode IN ${keepWritersOut} ORDER BY 1) AS tables,
  (SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object('who', ${preparedName},
      'table', c.relname, 'whole', l.mode IN ${keepWritersOut})), '[]')
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation ${joinPrepared}
    WHERE l.locktype = 'relation' AND ${ours} AND l.mode <> 'AccessShareLock') AS prepared,
  ARRAY(SELECT DISTINCT c.relname::text COLLATE "C" FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'tuple' AND ${ours} ORDER BY 1) AS rows,
  EXISTS(SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - interval '${standbySeconds} s') AS syncs`;

/** Which rows it locks nobody tells: where it is not the `whole` table, they may be any. */
interface Prepared {
  who: string;
  table: string;
  whole: boolean;
}

interface Holders {
  tables: string[];
  prepared: Prepared[];
  rows: string[];
  syncs: boolean;
}

const nobody: Holders = { tables: [], prepared: [], rows: [], syncs: false };

/**
 * The problem of a lock that did not come: with what held it where that is known, else with the server's words. A statement whose whole
 * time was over may have been slow for reasons of its own, so that its words stand first. `ask` answers null where the server does not.
 */
export async function problemOfLock(
  error: unknown,
  ask: (sql: string) => Promise<{ rows: unknown[] } | null>,
): Promise<Problem> {
  const answer = await ask(asked);
  const { tables, prepared, rows, syncs } = (answer?.rows[0] ?? nobody) as Holders;
  const row = tableOfRow(error);
  const ofRows = row === null ? rows : [row];
  // What a commit locks that waits for a standby is no other session's doing.
  const found = row === null ? [...locks('', tables), ...wholeTables(prepared)] : [];
  found.push(...locks('a row of ', syncs ? [] : ofRows, prepared));
  if (syncs) found.push('commits wait for a standby of the database that does not answer');
  const { message } = error as Error;
  const held = found.join('; ');
  const words = held !== '' && saysLate(error) ? `${message}; meanwhile ${held}` : held || message;
  return new Problem('store.unavailable', words, error);
}

function locks(what: string, tables: string[], prepared: Prepared[] = []): string[] {
  if (tables.length === 0) return [];
  const others = prepared.filter(({ table }) => tables.includes(table)).map(({ who }) => `, or ${who} does`);
  const names = `the ${tables.length > 1 ? 'tables' : 'table'} ${tables.join(', ')}`;
  return [`another session locks ${what}${names}${[...new Set(others)].join('')}`];
}

function wholeTables(prepared: Prepared[]): string[] {
  return prepared.filter(({ whole }) => whole).map(({ who, table }) => `${who} locks the table ${table}`);
}

/** By what it was about when it gave up. Which row it was is another each time, and the words are in the server's language. */
function tableOfRow(error: unknown): string | null {
  const { where = '' } = error as { where?: string };
  const words = new Set(where.split('\n', 1)[0]!.split(/\W+/));
  const named = allTables.filter((table) => words.has(table));
  return named.length === 1 ? named[0]! : null;
}
