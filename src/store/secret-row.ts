/**
 * What the row of a webhook secret says, on either store. Pure.
 */
import type { StoredWebhookSecret } from '../model/subscription';
import { type Beat, believedBeat, learnBeat } from './learn-beat';

/** By the names of its columns; which of them are there is up to the statement. */
type Row = Readonly<Record<string, unknown>>;

function beatOf(row: Row): Beat {
  return { beatMs: row.beat as number | null, agreed: Number(row.beat_agreed) };
}

/** The time between heartbeats once another one arrived. */
export function beatAfter(row: Row, nowMs: number): Beat {
  const before = beatOf(row);
  return row.heard_at === null ? before : learnBeat(before, nowMs - Number(row.heard_at));
}

export function storedSecret(row: Row): StoredWebhookSecret {
  return {
    id: String(row.id),
    kind: row.kind as StoredWebhookSecret['kind'],
    state: row.state as StoredWebhookSecret['state'],
    sealed: String(row.sealed),
    user: row.user_name as string | null,
    connectionId: row.connection_id as string | null,
    subscriptionId: row.subscription_id as string | null,
    madeAtMs: Number(row.made_at),
    heardAtMs: row.heard_at as number | null,
    beatMs: believedBeat(beatOf(row)),
  };
}
