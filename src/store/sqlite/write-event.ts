/**
 * The one place where an event is decided: its key gets the next sequence, and its exact bytes go into the outbox, in the
 * transaction of whoever calls.
 */
import { completeRecord, type EventRecord, recordBytes, slotOf } from '../../model/event';
import type { EventToWrite } from '../decided-events';
import type { Context } from './context';

/** Gives the key its next sequence and puts the event's bytes into the outbox. */
export function writeEvent(context: Context, event: EventToWrite): EventRecord {
  const { database } = context;
  const sequence = Number(
    database.get(
      `INSERT INTO sequences (key, sequence) VALUES (?, 1)
       ON CONFLICT (key) DO UPDATE SET sequence = sequence + 1 RETURNING sequence`,
      event.key,
    )!.sequence,
  );
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
