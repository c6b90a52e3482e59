/**
 * Consents on their way, by the hash of what opens their next step. What they hold is not looked at here.
 */
import type { StoredConsent } from '../../model/consent';
import type { Context } from './context';
import type { Row } from './database';

/** Whoever waits for the outcome of an expired one may still ask for so long. */
const keptMs = 86_400_000;

export function saveConsent(
  context: Context,
  { consentId, key, body }: Omit<StoredConsent, 'expiresAtMs'>,
  lifeMs: number,
): void {
  const nowMs = context.nowMs();
  context.database.run('DELETE FROM consents WHERE expires_at < ?', nowMs - keptMs);
  context.database.run(
    `INSERT INTO consents (id, key, expires_at, body) VALUES (?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET key = excluded.key, expires_at = excluded.expires_at, body = excluded.body`,
    consentId,
    key,
    nowMs + lifeMs,
    body,
  );
}

/** One statement: of two who come with the same key, one gets it. */
export function takeConsent(context: Context, key: string): StoredConsent | null {
  const row = context.database.get(
    'UPDATE consents SET key = NULL WHERE key = ? AND expires_at > ? RETURNING *',
    key,
    context.nowMs(),
  );
  return row === undefined ? null : { ...storedConsent(row), key: null };
}

export function findConsent(context: Context, consentId: string): StoredConsent | null {
  const row = context.database.get('SELECT * FROM consents WHERE id = ?', consentId);
  return row === undefined ? null : storedConsent(row);
}

function storedConsent(row: Row): StoredConsent {
  return {
    consentId: String(row.id),
    key: row.key as string | null,
    expiresAtMs: Number(row.expires_at),
    body: String(row.body),
  };
}
