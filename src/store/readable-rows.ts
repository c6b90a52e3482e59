/**
 * Rows of the outbox as they are read back, one by one: what stands in one of them may be damaged, by a disk or by a hand,
 * and must cost the others nothing. Says which cannot be read; what becomes of those is the store's.
 */
import type { OutboxRow } from '../model/event';

export interface ReadableRows {
  rows: OutboxRow[];
  damaged: DamagedRow[];
}

export interface DamagedRow {
  row: number;
  detail: string;
}

/** `read` throws for a row that it cannot make sense of. */
export function readableRows<Row>(
  found: Row[],
  read: (row: Row) => OutboxRow,
  idOf: (row: Row) => number,
): ReadableRows {
  const rows: OutboxRow[] = [];
  const damaged: DamagedRow[] = [];
  for (const row of found) {
    try {
      rows.push(read(row));
    } catch (error) {
      damaged.push({ row: idOf(row), detail: damagedDetail((error as Error).message) });
    }
  }
  return { rows, damaged };
}

export function damagedDetail(message: string): string {
  return `The record cannot be read back: ${message}.`;
}

/** Throws when the text is not the JSON of a list. */
export function headersOf(text: string): [string, string][] {
  const headers = JSON.parse(text) as unknown;
  if (!Array.isArray(headers)) throw new Error('its headers are no list');
  return headers as [string, string][];
}
