/**
 * Loads what happened to events since they were decided: where they went again, and what an operator has of them. Rows only,
 * in sets, each found by an index.
 */
import {
  type EntryToTell,
  type EventToTell,
  eventColumnsBy,
  type ReplayToTell,
  replayColumns,
  type ToldEvent,
} from '../event-steps';
import { rowsMax } from '../left-out';
import { rows } from './asked-for';
import type { Context } from './context';
import { readTaskOf } from './read-task';

export const eventColumns = eventColumnsBy(readTaskOf('outbox'));

/** In the order of the rows. */
export async function toldEvents(context: Context, events: EventToTell[]): Promise<ToldEvent[]> {
  if (events.length === 0) return [];
  const ids = events.map(({ id }) => id);
  const replays = await rows<ReplayToTell & { outbox_id: number }>(
    context,
    `SELECT r.* FROM unnest($1::bigint[]) AS e (id) CROSS JOIN LATERAL (
       SELECT id, outbox_id, ${replayColumns} FROM replayed WHERE outbox_id = e.id AND topic IS NOT NULL
       ORDER BY id DESC LIMIT $2) r
     ORDER BY r.id`,
    ids,
    rowsMax,
  );
  const entries = await rows<EntryToTell & { outbox_id: number }>(
    context,
    `SELECT DISTINCT ON (outbox_id) outbox_id, id, reason, at, state FROM quarantine
     WHERE outbox_id = ANY($1::bigint[]) ORDER BY outbox_id, id DESC`,
    ids,
  );
  const ofRow = Map.groupBy(replays, ({ outbox_id }) => outbox_id);
  const entryOf = new Map(entries.map((entry) => [entry.outbox_id, entry]));
  return events.map((event) => ({
    ...event,
    replays: ofRow.get(event.id) ?? [],
    entry: entryOf.get(event.id) ?? null,
  }));
}
