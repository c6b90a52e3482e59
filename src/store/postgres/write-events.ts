/**
 * The one place where events are decided: each key gets its next sequences, and the exact bytes go into the outbox, in the
 * transaction of whoever calls. A key's sequence stays locked until the commit, and its rows get their numbers after
 * that lock: within a key, the order of rows is the order of sequences.
 */
import { completeRecord, type EventRecord, recordBytes, slotOf } from '../../model/event';
import type { EventToWrite } from '../decided-events';
import { newestNumber, numberFloorPrefix } from '../store-rules';
import type { Context } from './context';

/** The records in the order of the events; they are stored with the commit. */
export async function writeEvents(context: Context, events: EventToWrite[]): Promise<EventRecord[]> {
  if (events.length === 0) return [];
  context.news.add('events');
  const last = await lastSequences(context, events);
  const sequences = events.map(({ key }) => {
    last.set(key, last.get(key)! + 1);
    return last.get(key)!;
  });
  const records = events.map((event, index) =>
    completeRecord({ ...event, sequence: sequences[index]! }, context.settings.envelope),
  );
  context.database.last(
    `INSERT INTO outbox (event_id, topic, key, slot, sequence, headers, value, bytes, task_id, cause, accepted_at,
       decided_at)
     SELECT event_id, topic, key, slot, sequence, headers, value, bytes, task_id, cause,
       CASE WHEN accepted_at >= coalesce((SELECT since FROM organizations o WHERE o.id = split_part(key, '/', 1)), 0)
         THEN accepted_at END, $12
     FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[], $7::text[], $8::bigint[],
       $9::bigint[], $10::text[], $11::bigint[]) WITH ORDINALITY
       AS e (event_id, topic, key, slot, sequence, headers, value, bytes, task_id, cause, accepted_at, nth)
     ORDER BY nth`,
    records.map(({ eventId }) => eventId),
    records.map(({ topic }) => topic),
    records.map(({ key }) => key),
    records.map(({ key }) => slotOf(key)),
    sequences,
    records.map(({ headers }) => JSON.stringify(headers)),
    records.map(({ value }) => value),
    records.map(recordBytes),
    events.map(({ taskId }) => taskId),
    events.map(({ cause }) => cause),
    events.map(({ acceptedAtMs }) => acceptedAtMs),
    context.nowMs(),
  );
  return records;
}

/** At or below it no number is given to the key. */
const floor = `coalesce((SELECT value FROM meta WHERE name = '${numberFloorPrefix}' || split_part(key, '/', 2)), 0)`;

/**
 * Reserves as many sequences of each key as there are events of it; what each key had before. Where it goes on above a floor no record
 * of the numbers between is known of: while the first above is refused, the newest is the one that was before.
 */
async function lastSequences(context: Context, events: EventToWrite[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { key } of events) counts.set(key, (counts.get(key) ?? 0) + 1);
  // Nobody raises a floor meanwhile: that waits for all who give numbers, and they for it.
  const rows = await context.database.all(
    `INSERT INTO sequences AS s (key, sequence, refused)
     SELECT key, floor + count, floor FROM (
       SELECT key, count, ${floor} AS floor FROM unnest($1::text[], $2::bigint[]) AS u (key, count)) n
     ORDER BY key COLLATE "C" ON CONFLICT (key) DO UPDATE
       SET sequence = greatest(s.sequence - excluded.refused, 0) + excluded.sequence,
         refused = CASE WHEN s.sequence < excluded.refused THEN excluded.refused ELSE s.refused END,
         below_refused = CASE WHEN s.sequence < excluded.refused THEN ${newestNumber} ELSE s.below_refused END
     RETURNING key, sequence`,
    [...counts.keys()],
    [...counts.values()],
  );
  return new Map(rows.map(({ key, sequence }) => [key, Number(sequence) - counts.get(key)!]));
}
