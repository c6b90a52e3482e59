/**
 * What a statement waited for whose lock did not come in time. The server says that it gave up, and of a table not which: that
 * stands in its list of locks, as long as the lock does. Of a row its error names the table.
 */
import { Problem } from '../../model/problem';
import { saysLate } from './server-faults';
import { allTables } from './tables';

/** Beyond this a commit that waits for a standby waits for one that is away. */
const standbySeconds = 2;

const ours = `l.pid <> pg_backend_pid() AND c.relname = ANY('{${allTables.join()}}')
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('meta'))`;

/**
 * Locks of tables that keep writers out, also those that are waited for: whoever comes later waits behind them. Of a row all but the
 * first wait for each other. A session sees what others of its role wait for.
 */
const asked = `SELECT
  ARRAY(SELECT DISTINCT c.relname::text COLLATE "C" FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'relation' AND ${ours}
      AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') ORDER BY 1) AS tables,
  ARRAY(SELECT DISTINCT c.relname::text COLLATE "C" FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'tuple' AND ${ours} ORDER BY 1) AS rows,
  EXISTS(SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - interval '${standbySeconds} s') AS syncs`;

interface Holders {
  tables: string[];
  rows: string[];
  syncs: boolean;
}

/**
 * The problem of a lock that did not come: with what held it where that is known, else with the server's words. A statement whose whole
 * time was over may have been slow for reasons of its own, so that its words stand first. `ask` answers null where the server does not.
 */
export async function problemOfLock(
  error: unknown,
  ask: (sql: string) => Promise<{ rows: unknown[] } | null>,
): Promise<Problem> {
  const answer = await ask(asked);
  const { tables, rows, syncs } = (answer?.rows[0] ?? { tables: [], rows: [], syncs: false }) as Holders;
  const row = tableOfRow(error);
  const ofRows = row === null ? rows : [row];
  // What a commit locks that waits for a standby is no other session's doing.
  const found = [...locks('', row === null ? tables : []), ...locks('a row of ', syncs ? [] : ofRows)];
  if (syncs) found.push('commits wait for a standby of the database that does not answer');
  const { message } = error as Error;
  const held = found.join('; ');
  const words = held !== '' && saysLate(error) ? `${message}; meanwhile ${held}` : held || message;
  return new Problem('store.unavailable', words, error);
}

function locks(what: string, tables: string[]): string[] {
  if (tables.length === 0) return [];
  return [`another session locks ${what}the ${tables.length > 1 ? 'tables' : 'table'} ${tables.join(', ')}`];
}

/** By what it was about when it gave up. Which row it was is another each time, and the words are in the server's language. */
function tableOfRow(error: unknown): string | null {
  const { where = '' } = error as { where?: string };
  const words = new Set(where.split('\n', 1)[0]!.split(/\W+/));
  const named = allTables.filter((table) => words.has(table));
  return named.length === 1 ? named[0]! : null;
}
