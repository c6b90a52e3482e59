/**
 * How large the database is on the server's disk. What was deleted in it is used again, and makes it no smaller.
 */
import type { Context } from './context';

export async function storeBytes({ database }: Context): Promise<number> {
  return (await database.get('SELECT pg_database_size(current_database()) AS bytes'))!.bytes;
}
