/**
 * A relay that did not hear whether the store took its marks tells them again. Had it taken them, a row among them that is
 * unsent was made so by a replay since, and waits for the place of another record. Pure.
 */
import type { Acknowledgement, EventRow } from '../model/event';

/** An unsent row that was acknowledged at this place. */
export interface ToldRow {
  id: number;
  eventId: string;
  /** null while it was not published. */
  position: number | null;
  topic: string;
  /** null for the embedded log, as is the offset. */
  partition: number | null;
  offset: string | null;
  /** Where it was sent first, if it was. */
  firstPartition: number | null;
  firstOffset: string | null;
}

/** Whether `row` is the one that was told, and none that has its number since a failover lost that one. */
export function holdsEvent(row: Readonly<Record<string, unknown>>, { eventId }: EventRow): boolean {
  return row.event_id === eventId;
}

/** `row` is the one that is acknowledged, by the names of its columns. */
export function toldRow(
  row: Readonly<Record<string, unknown>>,
  { row: id, partition, offset }: Acknowledgement,
): ToldRow {
  return {
    ...{ id, partition, offset },
    topic: String(row.topic),
    eventId: String(row.event_id),
    position: row.position as number | null,
    firstPartition: row.partition as number | null,
    firstOffset: row.log_offset as string | null,
  };
}

/** null where nothing is known of it. */
export type NextOffsetOf = (topic: string, partition: number) => string | null;

/**
 * Those of marks told again that the store had taken: their places lie before the end that it knows of their partition. A row
 * of which no end was noted, as where the store has lost others of its batch, is known by its own place. `nextOffsetOf`: the
 * end as it was before these were told. A row of `passed` is none of them, since something newer of its key was sent.
 */
export function toldBefore(
  rows: ToldRow[],
  passed: number[],
  nextOffsetOf: NextOffsetOf,
): ReadonlySet<number> {
  // Marks are taken whole: beside a row that was never sent, places below the end are those of a topic made anew, and what
  // waited here would go out again after a newer event of its key.
  if (rows.some(({ firstOffset }) => firstOffset === null)) return new Set();
  const known = rows.filter(({ id, topic, partition, offset, firstPartition, firstOffset }) => {
    if (partition === null || offset === null || passed.includes(id)) return false;
    if (partition === firstPartition && offset === firstOffset) return true;
    return BigInt(offset) < BigInt(nextOffsetOf(topic, partition) ?? 0);
  });
  return new Set(known.map(({ id }) => id));
}
