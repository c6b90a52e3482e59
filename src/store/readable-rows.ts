/**
 * Rows of the outbox as they are read back, one by one: what stands in one of them may be damaged, by a disk or by a hand,
 * and must cost the others nothing. Says which cannot be read; what becomes of those is the store's.
 */
import type { OutboxRow, PublishedEvent } from '../model/event';

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

/** A published row as it stands; `headers` and `value` null where they cannot be read at all. */
export interface StoredEvent {
  position: number;
  eventId: string;
  topic: string;
  key: string;
  headers: string | null;
  value: string | null;
  partition: number | null;
  offset: string | null;
}

/** What can be told of it; one that is damaged says so, and keeps its place. Throws nothing. */
export function publishedEvent(stored: StoredEvent, detail = 'its value is gone'): PublishedEvent {
  const { position, eventId, topic, key, partition, offset } = stored;
  const place = { position, topic, partition, offset };
  try {
    if (stored.headers === null || stored.value === null) throw new Error(detail);
    JSON.parse(stored.value);
    const record = { eventId, topic, key, headers: headersOf(stored.headers), value: stored.value };
    return { ...place, record, damaged: null };
  } catch (error) {
    const record = { eventId, topic, key, headers: [], value: 'null' };
    return { ...place, record, damaged: damagedDetail((error as Error).message) };
  }
}

export function damagedDetail(message: string): string {
  return `The record cannot be read back: ${message}.`;
}

/** Throws when the text is not the JSON of a list. */
export function headersOf(text: string): [string, string][] {
  const headers = JSON.parse(text) as unknown;
  if (!Array.isArray(headers)) throw new TypeError('its headers are no list');
  return headers as [string, string][];
}
