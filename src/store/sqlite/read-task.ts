/**
 * Of a row of the outbox: the task as which its resource is read.
 */
import { readTaskBy } from '../store-rules';

/** An id may hold anything. */
export function readTaskOf(row: string): string {
  const kindAndId = `substr(${row}.key, instr(${row}.key, '/') + 1)`;
  const end = `instr(${kindAndId}, '/')`;
  return readTaskBy(row, `substr(${kindAndId}, 1, ${end} - 1)`, `substr(${kindAndId}, ${end} + 1)`);
}

export const readTask = readTaskOf('o');
