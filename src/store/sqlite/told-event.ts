/**
 * Loads what happened to an event since it was decided: where it went again, and what an operator has of it. Rows only,
 * each found by an index.
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

export function toldEvent(context: Context, event: EventToTell): ToldEvent {
  const replays = rows<ReplayToTell>(
    context,
    `SELECT ${replayColumns} FROM replayed WHERE outbox_id = ? AND topic IS NOT NULL ORDER BY id DESC LIMIT ?`,
    event.id,
    rowsMax,
  );
  const [entry] = rows<EntryToTell>(
    context,
    'SELECT id, reason, at, state FROM quarantine WHERE outbox_id = ? ORDER BY id DESC LIMIT 1',
    event.id,
  );
  return { ...event, replays: replays.reverse(), entry: entry ?? null };
}
