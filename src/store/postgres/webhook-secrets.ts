/**
 * What we made for deliveries to be known by: tokens of subscriptions and values of the Authorization header, sealed, and
 * when each subscription was heard of last. Nothing is opened here.
 */
import type { SavedWebhookSecret, StoredWebhookSecret } from '../../model/subscription';
import { listenedOf, listenedSince, listeningNames } from '../listening';
import { beatAfter, storedSecret } from '../secret-row';
import type { Context } from './context';
import { storable } from './quarantine-entries';

const columns = `id, kind, state, sealed, user_name, connection_id, subscription_id, made_at, heard_at, beat,
  beat_agreed`;

export async function listWebhookSecrets({ database }: Context): Promise<StoredWebhookSecret[]> {
  const rows = await database.all(`SELECT ${columns} FROM webhook_secrets ORDER BY made_at, id`);
  return rows.map(storedSecret);
}

export async function saveWebhookSecret(context: Context, secret: SavedWebhookSecret): Promise<void> {
  const { id, kind, state, sealed, user, connectionId, subscriptionId } = secret;
  await context.database.run(
    `INSERT INTO webhook_secrets (id, kind, state, sealed, user_name, connection_id, subscription_id, made_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, user_name = excluded.user_name,
       connection_id = excluded.connection_id, subscription_id = excluded.subscription_id`,
    id,
    kind,
    state,
    sealed,
    user === null ? null : storable(user),
    connectionId,
    subscriptionId === null ? null : storable(subscriptionId),
    context.nowMs(),
  );
}

export async function resealWebhookSecret(
  { database }: Context,
  id: string,
  replaces: string,
  sealed: string,
): Promise<boolean> {
  const statement = 'UPDATE webhook_secrets SET sealed = $3 WHERE id = $1 AND sealed = $2';
  return (await database.run(statement, id, replaces, sealed)) === 1;
}

export async function dropWebhookSecret({ database }: Context, id: string): Promise<void> {
  await database.run('DELETE FROM webhook_secrets WHERE id = $1', storable(id));
}

export async function noteHeartbeat({ database, nowMs }: Context, id: string): Promise<void> {
  const row = await database.get(
    'SELECT heard_at, beat, beat_agreed FROM webhook_secrets WHERE id = $1 FOR UPDATE',
    storable(id),
  );
  if (row === undefined) return;
  const now = nowMs();
  const { beatMs, agreed } = beatAfter(row, now);
  await database.run(
    'UPDATE webhook_secrets SET heard_at = $1, beat = $2, beat_agreed = $3 WHERE id = $4',
    now,
    beatMs,
    agreed,
    id,
  );
}

export async function noteListening(
  { database, nowMs }: Context,
  forMs: number,
  lapseMs: number,
): Promise<number> {
  const names = [listeningNames.sinceMs, listeningNames.untilMs];
  const now = nowMs();
  const rows = await database.all(
    'SELECT name, value FROM meta WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE',
    names,
  );
  const sinceMs = listenedSince(listenedOf(rows), now - forMs, lapseMs);
  await database.run(
    `INSERT INTO meta AS m (name, value) SELECT * FROM unnest($1::text[], $2::bigint[])
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE m.value <> excluded.value`,
    names,
    [sinceMs, now],
  );
  return sinceMs;
}

export async function countLooks({ database }: Context, more: 0 | 1): Promise<number> {
  if (more === 0) return (await database.get(`SELECT value FROM meta WHERE name = 'looks'`))?.value ?? 0;
  const counted = await database.get(
    `INSERT INTO meta AS m (name, value) VALUES ('looks', 1)
     ON CONFLICT (name) DO UPDATE SET value = m.value + 1 RETURNING value`,
  );
  return counted!.value;
}
