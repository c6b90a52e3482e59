/**
 * Of a row of the outbox: its kind, and the task as which its resource is read.
 */
import { readTaskBy } from '../store-rules';

export const kindOfRow = (row: string) => `split_part(${row}.key, '/', 2)`;

/** An id may hold anything. */
export function readTaskOf(row: string): string {
  const [organization, kind] = [`split_part(${row}.key, '/', 1)`, kindOfRow(row)];
  return readTaskBy(row, kind, `substr(${row}.key, length(${organization}) + length(${kind}) + 3)`);
}

export const readTask = readTaskOf('o');
