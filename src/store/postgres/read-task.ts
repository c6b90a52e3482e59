/**
 * Of a row of the outbox: the task as which its resource is read.
 */
import { readTaskBy } from '../store-rules';

/** An id may hold anything. */
export function readTaskOf(row: string): string {
  const [organization, kind] = [`split_part(${row}.key, '/', 1)`, `split_part(${row}.key, '/', 2)`];
  return readTaskBy(row, kind, `substr(${row}.key, length(${organization}) + length(${kind}) + 3)`);
}

export const readTask = readTaskOf('o');
