/**
 * Consents on their way, by the hash of what opens their next step. What they hold is not looked at here.
 */
import type { StoredConsent } from '../../model/consent';
import type { Context } from './context';
import { storable } from './quarantine-entries';
import type { Row } from './server/database';

/** Whoever waits for the outcome of an expired one may still ask for so long. */
const keptMs = 86_400_000;

export async function saveConsent(
  context: Context,
  { consentId, key, body }: Omit<StoredConsent, 'expiresAtMs'>,
  lifeMs: number,
): Promise<void> {
  const nowMs = context.nowMs();
  await context.database.run('DELETE FROM consents WHERE expires_at < $1', nowMs - keptMs);
  await context.database.run(
    `INSERT INTO consents (id, key, expires_at, body) VALUES ($1, $2, $3, $4)
     ON CONFLICT (id) DO UPDATE SET key = excluded.key, expires_at = excluded.expires_at, body = excluded.body`,
    consentId,
    key,
    nowMs + lifeMs,
    body,
  );
}

/** One statement: of two who come with the same key, one gets it. */
export async function takeConsent(context: Context, key: string): Promise<StoredConsent | null> {
  const row = await context.database.get(
    'UPDATE consents SET key = NULL WHERE key = $1 AND expires_at > $2 RETURNING id, key, expires_at, body',
    key,
    context.nowMs(),
  );
  return row === undefined ? null : storedConsent(row);
}

export async function findConsent(context: Context, consentId: string): Promise<StoredConsent | null> {
  const row = await context.database.get(
    'SELECT id, key, expires_at, body FROM consents WHERE id = $1',
    storable(consentId),
  );
  return row === undefined ? null : storedConsent(row);
}

function storedConsent(row: Row): StoredConsent {
  return { consentId: row.id, key: row.key, expiresAtMs: row.expires_at, body: row.body };
}
