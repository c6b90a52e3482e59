/**
 * What a statement waited for whose lock did not come in time. The server says that it gave up, and of a table not which: that
 * stands in its list of locks, as long as the lock does. Of a row its error names the table.
 */
import { Problem } from '../../model/problem';
import { allTables } from './tables';

/** Beyond this a commit that waits for a standby waits for one that is away. */
const standbySeconds = 2;

/** Locks that keep writers out, also those that are waited for: whoever comes later waits behind them. A session sees what others of its role wait for. */
const asked = `SELECT
  ARRAY(SELECT DISTINCT c.relname::text COLLATE "C" FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'relation' AND l.pid <> pg_backend_pid() AND c.relname = ANY('{${allTables.join()}}')
      AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('meta')) ORDER BY 1) AS tables,
  EXISTS(SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - interval '${standbySeconds} s') AS syncs`;

/**
 * The problem of a lock that did not come: with what held it where that is known, else with the server's words. `ask`
 * rejects where the server does not answer; so does this.
 */
export async function problemOfLock(
  error: unknown,
  ask: (sql: string) => Promise<unknown>,
): Promise<Problem> {
  const { rows } = (await ask(asked)) as { rows: [{ tables: string[]; syncs: boolean }] };
  const [{ tables, syncs }] = rows;
  const of = tables.length > 1 ? 'tables' : 'table';
  const found = tables.length === 0 ? [] : [`another session locks the ${of} ${tables.join(', ')}`];
  if (syncs) found.push('commits wait for a standby of the database that does not answer');
  const row = tableOfRow(error);
  if (found.length === 0 && row !== null) found.push(`another session locks a row of the table ${row}`);
  const { message } = error as Error;
  return new Problem('store.unavailable', found.length === 0 ? message : found.join('; '), error);
}

/** By what it was about when it gave up. Which row it was is another each time, and the words are in the server's language. */
function tableOfRow(error: unknown): string | null {
  const { where = '' } = error as { where?: string };
  const words = new Set(where.split('\n', 1)[0]!.split(/\W+/));
  const named = allTables.filter((table) => words.has(table));
  return named.length === 1 ? named[0]! : null;
}
