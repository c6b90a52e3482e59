// A topic as its consumers have it: one partition that is never compacted. What is written to it in an order, or with
// bytes, that the contract forbids is told at once.
import { type Acknowledgement, bytesHashOf, type OutboxRow } from '../../src/model/event';
import type { FoundPage, FoundRecord } from '../../src/model/topic-end';
import { header } from './store-hand';

export class ModelTopic {
  private readonly records: FoundRecord[] = [];
  private readonly first = new Map<string, FoundRecord>();
  private readonly highest = new Map<string, number>();

  constructor(readonly name: string) {}

  /** First appearances come in the order of sequences; whatever comes again is the same bytes. */
  write({ row, key, sequence, eventId, value, headers }: OutboxRow): Acknowledgement {
    const bytesHash = bytesHashOf(JSON.stringify(headers), value);
    const before = this.first.get(eventId);
    if (before !== undefined)
      expect([key, sequence, bytesHash]).toEqual([before.key, before.sequence, before.bytesHash]);
    else expect([key, sequence]).toEqual([key, Math.max(sequence, this.highestOf(key) + 1)]);
    return {
      ...{ row, eventId },
      partition: 0,
      offset: this.append({
        key,
        sequence,
        eventId,
        bytesHash,
        deleted: /deleted/.test(header({ headers }, 'ce_type')!),
      }),
    };
  }

  /** What another life of the store has written, of which this one knows nothing. */
  writeStranger(key: string, sequence: number): void {
    this.append({ key, sequence, eventId: `stranger ${key} ${sequence}`, bytesHash: '', deleted: false });
  }

  keys(): string[] {
    return [...this.highest.keys()];
  }

  highestOf(key: string): number {
    return this.highest.get(key) ?? 0;
  }

  /** Once nothing is left to be sent, the last record of each key is the newest, whatever was repeated. */
  check(): void {
    for (const key of this.highest.keys()) this.lastOf(key);
  }

  /** The event that a consumer who keeps the last record of each key has in the end. */
  lastOf(key: string): string | null {
    const last = this.records.findLast((record) => record.key === key);
    if (last !== undefined) expect([key, last.sequence]).toEqual([key, this.highestOf(key)]);
    return last?.eventId ?? null;
  }

  /** What stands there from an offset on, in pages. */
  pagesFrom(offset: number): FoundPage[] {
    const pages: FoundPage[] = [];
    for (let at = offset; at < this.records.length; at += 3) {
      const records = this.records.slice(at, at + 3);
      const nextOffset = String(at + records.length);
      pages.push({ topic: this.name, partition: 0, from: String(at), nextOffset, records });
    }
    return pages;
  }

  private append(record: Omit<FoundRecord, 'offset'>): string {
    const placed = { ...record, offset: String(this.records.length) };
    this.records.push(placed);
    if (!this.first.has(record.eventId)) this.first.set(record.eventId, placed);
    this.highest.set(record.key, Math.max(this.highestOf(record.key), record.sequence));
    return placed.offset;
  }
}
