/**
 * The one place where an event is decided: its key gets the next sequence, and its exact bytes go into the outbox, in the
 * transaction of whoever calls.
 */
import { completeRecord, type EventRecord, recordBytes, slotOf } from '../../model/event';
import type { EventToWrite } from '../decided-events';
import { newestNumber, numberFloorPrefix } from '../store-rules';
import type { Context } from './context';
import type { Database } from './database';

/** Gives the key its next sequence and puts the event's bytes into the outbox. */
export function writeEvent(context: Context, event: EventToWrite): EventRecord {
  const { database } = context;
  const sequence = nextSequence(database, event);
  const record = completeRecord({ ...event, sequence }, context.settings.envelope);
  database.run(
    `INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, task_id, cause, accepted_at,
       decided_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
       iif(? >= coalesce((SELECT since FROM organizations WHERE id = ?), 0), ?, NULL), ?)`,
    record.eventId,
    record.topic,
    record.key,
    slotOf(record.key),
    sequence,
    JSON.stringify(record.headers),
    record.value,
    recordBytes(record),
    event.taskId,
    event.cause,
    event.acceptedAtMs,
    event.key.slice(0, event.key.indexOf('/')),
    event.acceptedAtMs,
    context.nowMs(),
  );
  return record;
}

/** Looked up and written apart: what RETURNING takes to be undone by itself costs more than the second statement. */
function nextSequence(database: Database, { key, kind }: EventToWrite): number {
  const { known, floor } = database.get(
    `SELECT (SELECT sequence FROM sequences WHERE key = ?) AS known, (SELECT value FROM meta WHERE name = ?) AS floor`,
    key,
    numberFloorPrefix + kind,
  )!;
  const sequence = Math.max(Number(known), Number(floor)) + 1;
  if (known === null) database.run('INSERT INTO sequences (key, sequence) VALUES (?, ?)', key, sequence);
  else if (Number(known) < Number(floor)) goOnAbove(database, key, Number(floor));
  else database.run('UPDATE sequences SET sequence = ? WHERE key = ?', sequence, key);
  return sequence;
}

/** No record of the numbers between is known of: while the first above the floor is refused, the newest is the one that was before. */
function goOnAbove(database: Database, key: string, floor: number): void {
  database.run(
    `UPDATE sequences AS s SET sequence = ?1 + 1, refused = ?1, below_refused = ${newestNumber} WHERE key = ?2`,
    floor,
    key,
  );
}
