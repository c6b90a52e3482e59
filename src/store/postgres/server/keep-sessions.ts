/**
 * Whether each connection has a session of its own for as long as it lasts: the lock of migrations, what a session asks for and
 * who listens hang on that. A pooler that lends its sessions for a transaction at a time gives what one connection has set to
 * the other.
 */
import { randomUUID } from 'node:crypto';
import type { Client, ClientConfig, QueryConfig } from 'pg';
import { Problem } from '../../../model/problem';
import { BoundedClient } from './client';
import { lendsSessions } from './words';

/** A pooler that gives another session for once is met in the next round. */
const rounds = 3;
/** A second connection that cannot be had, or is silent for so long, proves nothing: the start goes on without. */
const answerMs = 1000;
/**
 * Throws `settings.invalid` where a connection was seen in another's session. `config` is that of `client`, which is what the
 * start goes on with and of no use once a statement was given up: its answers are waited for `withinMs`.
 */
export async function mustKeepSessions(
  client: Client,
  config: ClientConfig,
  withinMs: number,
): Promise<void> {
  const other = new BoundedClient({ ...config, connectionTimeoutMillis: answerMs });
  other.on('error', () => {});
  const shared = await other
    .connect()
    .then(() => areShared(client, other, withinMs))
    .catch(() => false);
  await other.end().catch(() => {});
  if (!shared) return;
  throw new Problem('settings.invalid', lendsSessions);
}

async function areShared(client: Client, other: Client, withinMs: number): Promise<boolean> {
  // Those of other processes name themselves as well.
  const [own, others] = [randomUUID(), randomUUID()];
  for (let round = 0; round < rounds; round += 1) {
    await name(client, own, withinMs);
    await name(other, others, answerMs);
    // Twice: one that lends two sessions in turns would have the first read where it was named.
    for (const whose of [await nameOf(client, withinMs), await nameOf(client, withinMs)])
      if (whose !== own) return true;
  }
  return false;
}

async function name(client: Client, own: string, withinMs: number): Promise<void> {
  const text = `SELECT set_config('tramline.connection', $1, false)`;
  await client.query({ text, values: [own], query_timeout: withinMs } as QueryConfig);
}

async function nameOf(client: Client, withinMs: number): Promise<string> {
  const text = `SELECT current_setting('tramline.connection', true) AS whose`;
  const { rows } = await client.query<{ whose: string }>({
    text,
    query_timeout: withinMs,
  } as QueryConfig);
  return rows[0]!.whose;
}
