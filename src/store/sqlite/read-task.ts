/**
 * Of a row of the outbox: its organization, its kind, and the task as which its resource is read.
 */
import { readTaskBy } from '../store-rules';

const kindAndIdOf = (row: string) => `substr(${row}.key, instr(${row}.key, '/') + 1)`;
const endOf = (row: string) => `instr(${kindAndIdOf(row)}, '/')`;

export function kindOfRow(row: string): string {
  return `substr(${kindAndIdOf(row)}, 1, ${endOf(row)} - 1)`;
}

/** Of its key; an id of an organization holds no slash. */
export function organizationOf(row: string): string {
  return `substr(${row}.key, 1, instr(${row}.key, '/') - 1)`;
}

/** An id may hold anything. */
export function readTaskOf(row: string): string {
  return readTaskBy(row, kindOfRow(row), `substr(${kindAndIdOf(row)}, ${endOf(row)} + 1)`);
}

export const readTask = readTaskOf('o');
