/**
 * Whether each connection has a session of its own for as long as it lasts: the lock of migrations, what a session asks for and
 * who listens hang on that. A pooler that lends its sessions for a transaction at a time gives what one connection has set to
 * the other.
 */
import type { Client, ClientConfig } from 'pg';
import { Problem } from '../../model/problem';
import { BoundedClient } from './client';

/** A pooler that gives another session for once is met in the next round. */
const rounds = 3;
const set = `SELECT set_config('tramline.connection', $1, false)`;
const read = `SELECT current_setting('tramline.connection', true) AS whose`;

/** Throws `settings.invalid` where two connections were seen in one session. `config` is that of `client`. */
export async function mustKeepSessions(client: Client, config: ClientConfig): Promise<void> {
  const other = new BoundedClient(config);
  other.on('error', () => {});
  try {
    await other.connect();
    for (let round = 0; round < rounds; round += 1) {
      await client.query(set, ['first']);
      await other.query(set, ['second']);
      const { rows } = await client.query<{ whose: string | null }>(read);
      if (rows[0]!.whose !== 'first') {
        throw new Problem(
          'settings.invalid',
          'DATABASE_URL leads to a pooler that lends a session for one transaction: it must keep one for each connection',
        );
      }
    }
  } finally {
    await other.end().catch(() => {});
  }
}
