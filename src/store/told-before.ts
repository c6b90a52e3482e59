/**
 * Of marks that a relay tells again, since nobody heard that the store had taken them, those that it had: made unsent by a
 * replay since, their rows wait for the place of another record. Pure.
 */
/** An unsent row that was acknowledged at this place. */
export interface ToldRow {
  id: number;
  topic: string;
  /** null for the embedded log, as is the offset. */
  partition: number | null;
  offset: string | null;
  /** Where it was sent first, if it was. */
  firstPartition: number | null;
  firstOffset: string | null;
}

/** null where nothing is known of it. */
export type NextOffsetOf = (topic: string, partition: number) => string | null;

/**
 * Those that were told before: their places lie before the end that their partition is known to have. A row of which no end
 * was noted, as where the store has lost others of its batch, is known by its own place. `nextOffsetOf`: the end as it was
 * before these were told.
 */
export function toldBefore(rows: ToldRow[], nextOffsetOf: NextOffsetOf): ReadonlySet<number> {
  // Marks are taken whole: beside a row that was never sent, places below the end are those of a topic made anew, and what
  // waited here would go out again after a newer event of its key.
  const fresh = new Set(rows.filter(({ firstOffset }) => firstOffset === null).map(nameOf));
  const known = rows.filter((row) => {
    const { topic, partition, offset } = row;
    if (partition === null || offset === null || fresh.has(nameOf(row))) return false;
    if (partition === row.firstPartition && offset === row.firstOffset) return true;
    return BigInt(offset) < BigInt(nextOffsetOf(topic, partition) ?? 0);
  });
  return new Set(known.map(({ id }) => id));
}

function nameOf({ topic, partition }: ToldRow): string {
  return `${topic}/${partition}`;
}
