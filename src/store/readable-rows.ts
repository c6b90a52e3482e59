/**
 * Rows of the outbox as they are read back, one by one: what stands in one of them may be damaged, by a disk or by a hand,
 * and must cost the others nothing. Says which cannot be read; what becomes of those is the store's.
 */
import type { OutboxRow, PublishedEvent } from '../model/event';

/** By the names of its columns. */
type Row = Readonly<Record<string, unknown>>;

export interface ReadableRows {
  rows: OutboxRow[];
  damaged: DamagedRow[];
}

export interface DamagedRow {
  row: number;
  detail: string;
}

/** Throws for a row that it cannot make sense of. */
export function outboxRow(row: Row): OutboxRow {
  return {
    row: Number(row.id),
    topic: String(row.topic),
    key: String(row.key),
    sequence: Number(row.sequence),
    eventId: String(row.event_id),
    headers: headersOf(row),
    value: String(row.value),
    acceptedAtMs: row.accepted_at as number | null,
  };
}

export function readableRows(found: Row[]): ReadableRows {
  const rows: OutboxRow[] = [];
  const damaged: DamagedRow[] = [];
  for (const row of found) {
    try {
      rows.push(outboxRow(row));
    } catch (error) {
      damaged.push({ row: Number(row.id), detail: damagedDetail((error as Error).message) });
    }
  }
  return { rows, damaged };
}

/** What can be told of a published row; one that is damaged says so, and keeps its place. Throws nothing. */
export function publishedEvent(row: Row, detail = 'its value is gone'): PublishedEvent {
  const topic = String(row.topic);
  const place = {
    position: Number(row.position),
    topic,
    partition: row.partition as number | null,
    offset: row.log_offset as string | null,
  };
  const named = { eventId: String(row.event_id), topic, key: String(row.key) };
  try {
    if (row.headers === null || row.value === null) throw new Error(detail);
    const value = String(row.value);
    JSON.parse(value);
    return { ...place, record: { ...named, headers: headersOf(row), value }, damaged: null };
  } catch (error) {
    const damaged = damagedDetail((error as Error).message);
    return { ...place, record: { ...named, headers: [], value: 'null' }, damaged };
  }
}

export function damagedDetail(message: string): string {
  return `The record cannot be read back: ${message}.`;
}

/** Throws when the text is not the JSON of a list. */
function headersOf(row: Row): [string, string][] {
  const headers = JSON.parse(String(row.headers)) as unknown;
  if (!Array.isArray(headers)) throw new TypeError('its headers are no list');
  return headers as [string, string][];
}
