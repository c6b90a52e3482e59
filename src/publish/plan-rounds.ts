/**
 * From the rows that were picked to the sends they make: each partition's rows in their order, no more bytes and rows at
 * a time than the partition takes. What does not fit a round waits for the next. Pure.
 */
import { type OutboxRow, recordBytes, slotOf } from '../model/event';
import type { HeldPartition } from '../model/store';
import { partitionName } from './place-name';
import type { Batch } from './target';

/** Rows by partition; rows of one key stay together and in order. `partitionsOf` knows every topic of the rows. */
export function groupByPartition(rows: OutboxRow[], partitionsOf: ReadonlyMap<string, number>): Batch[] {
  const groups = new Map<string, Batch>();
  for (const row of rows) {
    const partitions = partitionsOf.get(row.topic) ?? 1;
    const place = { topic: row.topic, partition: slotOf(row.key) % partitions, partitions };
    const name = partitionName(place);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, { ...place, rows: [row] });
    else group.rows.push(row);
  }
  return [...groups.values()];
}

export interface RoundBounds {
  /** Of one batch; a row that is larger goes alone. */
  partitionBytesMax: number;
  rowsMax(partition: HeldPartition): number;
  /** A row of so many bytes goes alone, as one that is likely to be refused; absent: none is. */
  aloneBytesMin?: number;
}

/** One send after the other; the bounds are asked for each anew. */
export function* planRounds(groups: Batch[], bounds: RoundBounds): Generator<Batch[], void> {
  const starts = groups.map(() => 0);
  for (;;) {
    const round: Batch[] = [];
    groups.forEach((group, index) => {
      const start = starts[index] as number;
      const end = endOfBatch(group.rows, start, bounds, bounds.rowsMax(group));
      if (end > start) round.push({ ...group, rows: group.rows.slice(start, end) });
      starts[index] = end;
    });
    if (round.length === 0) return;
    yield round;
  }
}

function endOfBatch(
  rows: OutboxRow[],
  start: number,
  { partitionBytesMax, aloneBytesMin = Number.POSITIVE_INFINITY }: RoundBounds,
  rowsMax: number,
): number {
  let end = start;
  let bytes = 0;
  for (; end < rows.length && end - start < rowsMax; end += 1) {
    const ofRow = recordBytes(rows[end] as OutboxRow);
    bytes += ofRow;
    if (end > start && (bytes > partitionBytesMax || ofRow >= aloneBytesMin)) break;
    if (ofRow >= aloneBytesMin) return end + 1;
  }
  return end;
}
