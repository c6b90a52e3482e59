/**
 * Whether each connection has a session of its own for as long as it lasts: the lock of migrations, what a session asks for and
 * who listens hang on that. A pooler that lends its sessions for a transaction at a time gives what one connection has set to
 * the other.
 */
import { randomUUID } from 'node:crypto';
import type { Client, ClientConfig, QueryConfig } from 'pg';
import { Problem } from '../../model/problem';
import { BoundedClient } from './client';

/** A pooler that gives another session for once is met in the next round. */
const rounds = 3;
/** A second connection that cannot be had, or is silent for so long, proves nothing: the start goes on without. */
const answerMs = 1000;

/** Throws `settings.invalid` where a connection was seen in another's session. `config` is that of `client`. */
export async function mustKeepSessions(client: Client, config: ClientConfig): Promise<void> {
  const other = new BoundedClient({ ...config, connectionTimeoutMillis: answerMs });
  other.on('error', () => {});
  const shared = await other
    .connect()
    .then(() => areShared(client, other))
    .catch(() => false);
  await other.end().catch(() => {});
  if (!shared) return;
  throw new Problem(
    'settings.invalid',
    'DATABASE_URL leads to a pooler that lends a session for one transaction: it must keep one for each connection',
  );
}

async function areShared(client: Client, other: Client): Promise<boolean> {
  // Those of other processes name themselves as well.
  const [own, others] = [randomUUID(), randomUUID()];
  for (let round = 0; round < rounds; round += 1) {
    await ask(client, `SELECT set_config('tramline.connection', $1, false)`, [own]);
    await ask(other, `SELECT set_config('tramline.connection', $1, false)`, [others]);
    const { rows } = await ask(client, `SELECT current_setting('tramline.connection', true) AS whose`);
    if (rows[0]!.whose !== own) return true;
  }
  return false;
}

function ask(client: Client, text: string, values: string[] = []): Promise<{ rows: { whose?: string }[] }> {
  return client.query<{ whose?: string }>({ text, values, query_timeout: answerMs } as QueryConfig);
}
