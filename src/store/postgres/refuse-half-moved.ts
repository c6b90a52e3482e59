/**
 * A store that is being moved into is not served before all of it is there: neither by who opens it, nor by who had it
 * open when the move began.
 */
import { Problem } from '../../model/problem';
import type { Database, Statements } from './database';

const mark = `SELECT value FROM meta WHERE name = 'moving'`;
const incomplete = 'a move into this store is not complete: repeat `tramline migrate --from`';

/** Throws `store.moved`; the database is closed then. */
export async function refuseHalfMoved(database: Database): Promise<void> {
  const moving = await database.transact((statements) => statements.get(mark));
  if (moving === undefined) return;
  await database.close();
  throw new Problem('store.moved', incomplete);
}

/**
 * What `work` gives, whose statements are of one transaction. Throws `store.unavailable` while a move is not complete, so
 * that nothing is kept of it, and otherwise what `work` throws.
 */
export async function unlessHalfMoved<Result>(
  statements: Statements,
  work: () => Promise<Result>,
): Promise<Result> {
  // Sent first and waited for last: it costs no round trip. What it reads stays locked until the transaction ends, and a
  // move waits for that before it looks whether the store is empty.
  const marked = statements.get(mark).then((row) => row !== undefined);
  marked.catch(() => {});
  try {
    const result = await work();
    if (!(await marked)) return result;
  } catch (error) {
    // Rows of the move may be in its way.
    if (!(await marked.catch(() => false))) throw error;
  }
  throw new Problem('store.unavailable', incomplete);
}
