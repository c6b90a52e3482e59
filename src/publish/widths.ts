/**
 * How many rows a partition is given at a time: all there are, until a batch is refused for its size or for a record in
 * it. Then half as many, and half again, until one row stands alone and is known to be at fault; after each success a
 * tenth more. So a topic that takes less than others finds its size, and keeps it. Pure but for its memory.
 */
import type { HeldPartition } from '../model/store';
import { partitionName } from './place-name';

export interface Widths {
  of(partition: HeldPartition): number;
  /** The batch was refused; at least two rows. */
  refused(partition: HeldPartition, rows: number): void;
  accepted(partition: HeldPartition): void;
  /** The row at fault is out of the way. */
  clear(partition: HeldPartition): void;
}

/** `rowsMax`: as many rows as are ever given; a partition that takes them is forgotten. */
export function makeWidths(rowsMax: number): Widths {
  const widths = new Map<string, number>();
  return {
    of: (partition) => widths.get(partitionName(partition)) ?? rowsMax,
    refused: (partition, rows) => void widths.set(partitionName(partition), Math.floor(rows / 2)),
    accepted(partition) {
      const name = partitionName(partition);
      const width = widths.get(name);
      if (width === undefined) return;
      const wider = width + Math.ceil(width / 10);
      if (wider < rowsMax) widths.set(name, wider);
      else widths.delete(name);
    },
    clear: (partition) => void widths.delete(partitionName(partition)),
  };
}
