/**
 * What we made for deliveries to be known by: tokens of subscriptions and values of the Authorization header, sealed, and
 * when each subscription was heard of last. Nothing is opened here.
 */
import type { SavedWebhookSecret, StoredWebhookSecret } from '../../model/subscription';
import { listenedOf, listenedSince, listeningNames } from '../listening';
import { beatAfter, storedSecret } from '../secret-row';
import type { Context } from './context';

export function listWebhookSecrets(context: Context): StoredWebhookSecret[] {
  return context.database.all('SELECT * FROM webhook_secrets ORDER BY made_at, id').map(storedSecret);
}

export function saveWebhookSecret(context: Context, secret: SavedWebhookSecret): void {
  const { id, kind, state, sealed, user, connectionId, subscriptionId } = secret;
  context.database.run(
    `INSERT INTO webhook_secrets (id, kind, state, sealed, user_name, connection_id, subscription_id, made_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, user_name = excluded.user_name,
       connection_id = excluded.connection_id, subscription_id = excluded.subscription_id`,
    id,
    kind,
    state,
    sealed,
    user,
    connectionId,
    subscriptionId,
    context.nowMs(),
  );
}

export function resealWebhookSecret(
  { database }: Context,
  id: string,
  replaces: string,
  sealed: string,
): boolean {
  const statement = 'UPDATE webhook_secrets SET sealed = ? WHERE id = ? AND sealed = ?';
  return database.run(statement, sealed, id, replaces) === 1;
}

export function dropWebhookSecret(context: Context, id: string): void {
  context.database.run('DELETE FROM webhook_secrets WHERE id = ?', id);
}

export function noteHeartbeat(context: Context, id: string): void {
  const row = context.database.get(
    'SELECT heard_at, beat, beat_agreed FROM webhook_secrets WHERE id = ?',
    id,
  );
  if (row === undefined) return;
  const nowMs = context.nowMs();
  const { beatMs, agreed } = beatAfter(row, nowMs);
  context.database.run(
    'UPDATE webhook_secrets SET heard_at = ?, beat = ?, beat_agreed = ? WHERE id = ?',
    nowMs,
    beatMs,
    agreed,
    id,
  );
}

export function noteListening({ database, nowMs }: Context, forMs: number, lapseMs: number): number {
  const { sinceMs: since, untilMs: until } = listeningNames;
  const now = nowMs();
  const noted = listenedOf(database.all('SELECT name, value FROM meta WHERE name IN (?, ?)', since, until));
  const sinceMs = listenedSince(noted, now - forMs, lapseMs);
  database.run(
    `INSERT INTO meta (name, value) VALUES (?, ?), (?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value <> excluded.value`,
    since,
    sinceMs,
    until,
    now,
  );
  return sinceMs;
}

export function countLooks({ database }: Context, more: 0 | 1): number {
  if (more === 1) {
    database.run(
      `INSERT INTO meta (name, value) VALUES ('looks', 1)
       ON CONFLICT (name) DO UPDATE SET value = meta.value + 1`,
    );
  }
  return Number(database.get(`SELECT value FROM meta WHERE name = 'looks'`)?.value ?? 0);
}
