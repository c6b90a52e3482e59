/**
 * Whether a commit is where it is to be. Where somebody cancels its wait for the standbys of `synchronous_standby_names`, the server
 * warns and says that it is done: it is on that server alone, and whoever takes its place may lack it (PostgreSQL, Synchronous
 * Replication). Nobody is told that it is kept then.
 */
import type { Client, Pool } from 'pg';
import { Problem } from '../../../model/problem';

/** The function that warns: its words are in the server's language. */
const warns = 'SyncRepWaitForLSN';

/** Of what was committed on a connection last: its result, or throws `store.unavailable`. */
export function makeReplicated(pool: Pool): <Result>(client: Client, result: Result) => Result {
  const alone = new WeakSet<Client>();
  pool.on('connect', (client) =>
    client.on('notice', ({ routine }) => {
      if (routine === warns) alone.add(client);
    }),
  );
  return (client, result) => {
    if (!alone.delete(client)) return result;
    const words = 'somebody cancelled the wait of a commit for its standby: it is on this server alone';
    throw new Problem('store.unavailable', words);
  };
}
