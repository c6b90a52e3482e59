/**
 * Locks of what is prepared to be committed: they belong to no session, and the server names their transaction by another lock of
 * it alone, the one on its own number. Pure.
 */

/** To be joined to `pg_locks l`: only those are left that a prepared transaction `x` of `pg_prepared_xacts` holds. */
export const joinPrepared = `JOIN pg_locks o ON o.virtualtransaction = l.virtualtransaction
      AND o.pid IS NULL AND l.pid IS NULL AND o.locktype = 'transactionid'
    JOIN pg_prepared_xacts x ON x.transaction = o.transactionid`;

/** What it is called. */
export const preparedName = `format('the prepared transaction %L of %s', x.gid, x.owner)`;
