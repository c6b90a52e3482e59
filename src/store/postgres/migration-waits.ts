/**
 * What a start that brings the tables up to date waits for, so that somebody who sees no line of it knows whose end that is: a
 * backup's, another session's that was left open, or that of another process which makes the same steps.
 */
import type { ClientConfig, QueryConfig } from 'pg';
import { BoundedClient } from './server/client';
import { lockNumbers } from './server/lock-numbers';
import { joinPrepared, preparedName } from './server/prepared-locks';

/** A step of a large table takes longer than this as well: only what it waits for is told. */
const lookEveryMs = 10_000;
const answerMs = 3500;

/**
 * Whom the session `$1` waits for: in a statement, or for its turn, which it asks for again and again. What is prepared to be
 * committed belongs to no session any more, and the server names it as the session 0: of those it is who holds a lock on what is
 * waited for. An index that is made beside others waits for whoever looks here as well.
 */
const asked = `SELECT format('session %s of the database (%s)', pid, coalesce(nullif(application_name, ''), usename::text, 'no name')) AS who
  FROM pg_stat_activity
  WHERE pid <> pg_backend_pid() AND (pid = ANY(pg_blocking_pids($1)) OR pid IN (SELECT l.pid FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.classid = 0 AND l.objid = ${lockNumbers.migration} AND l.granted AND l.pid <> $1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())))
  UNION SELECT ${preparedName}
  FROM pg_locks w JOIN pg_locks l ON l.locktype = w.locktype AND (l.database, l.relation, l.transactionid, l.virtualxid)
      IS NOT DISTINCT FROM (w.database, w.relation, w.transactionid, w.virtualxid)
    ${joinPrepared}
  WHERE w.pid = $1 AND NOT w.granted AND l.granted AND 0 = ANY(pg_blocking_pids($1))
  ORDER BY who`;

/** Whose words are told, each once; `lookEveryMs` is ten seconds unless a test says otherwise. */
export interface ToldWaits {
  tell(detail: string): void;
  lookEveryMs?: number;
}

/** Of the server's session `pid`. Looks on connections of its own until what it answers is called; what hinders a look is no news. */
export function watchWaits(
  pid: number,
  config: ClientConfig,
  { tell, lookEveryMs: everyMs = lookEveryMs }: ToldWaits,
): () => void {
  let told = '';
  let ended = false;
  let looking = false;
  const look = async () => {
    if (looking) return;
    looking = true;
    const found = await waitedFor(config, pid).catch(() => []);
    looking = false;
    const detail = `The store's tables are brought to this version, which waits for ${found.join(' and ')}.`;
    if (ended || found.length === 0 || detail === told) return;
    told = detail;
    tell(detail);
  };
  const timer = setInterval(() => void look(), everyMs);
  return () => {
    ended = true;
    clearInterval(timer);
  };
}

async function waitedFor(config: ClientConfig, pid: number): Promise<string[]> {
  const client = new BoundedClient(config);
  client.on('error', () => {});
  try {
    await client.connect();
    const question = { text: asked, values: [pid], query_timeout: answerMs } as QueryConfig;
    const { rows } = await client.query<{ who: string }>(question);
    return rows.map(({ who }) => who);
  } finally {
    await client.end().catch(() => {});
  }
}
