/**
 * What rows say that a replay is about, on either store: which are the newest of their keys, how they go out, when their
 * resources are read, and what did not go. SQL that both understand, and rows as they are handed on. Pure.
 */
import { type Reading, type ReplayRefusal, refusedNamedMax, type SelectedEvent } from '../model/replay';
import { isForgotten } from './organization-row';
import { floorBy, lostFloorPrefix, newestNumber } from './store-rules';

/** Of the journal: a record that a replay is to send again, and of which nothing is known yet. */
export const onItsWay = 'sent_at IS NULL AND topic IS NOT NULL';

/** Of those: whose row is sent already, and of one of the keys that this list holds. */
export function goesNoMore(keys: string): string {
  return `${onItsWay} AND (SELECT o.state = 2 AND o.key ${keys} FROM outbox o WHERE o.id = replayed.outbox_id)`;
}

/**
 * Not refused by Kafka, and never asked of it: something newer was found on the topic, or may be gone from it. In the journal
 * it stands where a line that was sent has its offset; one that Kafka refused has nothing there.
 */
export const storeBehind = 'store-behind' satisfies ReplayRefusal['reason'];

/**
 * Of rows `o` with the sequences `s` of their keys: whether they went out or wait to, and none that is gone can be newer. `kind` is how
 * a store takes that of `o`.
 */
export const isNewestBy = (kind: string): string =>
  `o.state < 3 AND o.sequence = ${newestNumber} AND o.sequence > ${floorBy(lostFloorPrefix, kind)}`;

/** Of rows `o`: a position is given when one goes out for the first time. */
const waits = "CASE WHEN o.position IS NULL THEN 'first' WHEN o.state = 0 THEN 'again' END";

/** Of tasks `t`: when what is due of them is read. */
export const readingOf = `coalesce((SELECT CASE WHEN o.access = 'active' THEN 'now' WHEN ${isForgotten} THEN 'forgotten' ELSE 'parked' END
  FROM organizations o WHERE o.id = t.lane), 'now')`;

/** Of rows `o` with the sequences `s` of their keys. `isNewest` and `readTask` are the store's; without that no reading is looked for. */
export const selectedBy = (
  isNewest: string,
  readTask: string | null,
): string => `o.id, o.event_id, o.key, o.bytes,
  ${isNewest} AS newest, ${waits} AS waits,
  ${readTask === null ? 'NULL' : `(SELECT ${readingOf} FROM tasks t WHERE t.id = ${readTask})`} AS reading`;

/** Of a row with those columns. */
export function selectedEvent(row: Readonly<Record<string, unknown>>): SelectedEvent {
  return {
    row: Number(row.id),
    eventId: String(row.event_id),
    key: String(row.key),
    bytes: Number(row.bytes),
    newest: Boolean(row.newest),
    waits: row.waits as SelectedEvent['waits'],
    reading: row.reading as Reading | null,
  };
}

/** As it stands with the replay's counts, beside them: a process of a former version knows the first alone, and keeps both. */
interface Refused {
  refused?: Record<string, number>;
  refusedEvents?: Record<string, string[]>;
}

/** How many records for each reason, and the first of them. */
export function refusalsOf(counts: string): ReplayRefusal[] {
  const { refused = {}, refusedEvents = {} } = JSON.parse(counts) as Refused;
  return Object.entries(refused).map(([reason, records]) => ({
    reason: reason as ReplayRefusal['reason'],
    records,
    events: refusedEvents[reason] ?? [],
  }));
}

/** The counts with so many records more that were refused for a reason, whose first events are these. */
export function withRefused(counts: string, { reason, records, events }: ReplayRefusal): string {
  const before = JSON.parse(counts) as Refused;
  const { refused = {}, refusedEvents = {} } = before;
  const named = [...(refusedEvents[reason] ?? []), ...events].slice(0, refusedNamedMax);
  return JSON.stringify({
    ...before,
    refused: { ...refused, [reason]: (refused[reason] ?? 0) + records },
    refusedEvents: { ...refusedEvents, [reason]: named },
  });
}
