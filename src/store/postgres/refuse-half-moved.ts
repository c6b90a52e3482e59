/**
 * A store that is being moved into is not served before all of it is there. Who had it open when the move began is
 * refused by each transaction.
 */
import { Problem } from '../../model/problem';
import { type Database, halfMoved } from './database';

/** Throws `store.moved`; the database is closed then. */
export async function refuseHalfMoved(database: Database): Promise<void> {
  const moving = await database.transact((statements) =>
    statements.get(`SELECT value FROM meta WHERE name = 'moving'`),
  );
  if (moving === undefined) return;
  await database.close();
  throw new Problem('store.moved', halfMoved);
}
