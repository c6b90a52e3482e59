/**
 * What stands on a partition a second time: whoever wrote it had no answer and wrote it again, and ended before what came
 * after it was written again as well. Then an older event of its key stands last. Pure.
 */
import type { FoundRecord } from '../model/topic-end';

/**
 * The last record of each key that is a repeat. `places`: by event id, where the events stand that are known to be on this
 * partition. Records come in the order of their offsets.
 */
export function lastRepeats(records: FoundRecord[], places: ReadonlyMap<string, string>): FoundRecord[] {
  const seen = new Set<string>();
  const last = new Map<string, FoundRecord | null>();
  for (const record of records) {
    const before = places.get(record.eventId);
    const repeated = seen.has(record.eventId) || (before !== undefined && isBefore(before, record.offset));
    seen.add(record.eventId);
    last.set(record.key, repeated ? record : null);
  }
  return [...last.values()].filter((record) => record !== null);
}

/**
 * Keys of which a number stands on this page for one of ours and for another's: who takes the first of both drops the second.
 * It comes of a writer that ours did not keep out before it wrote there itself.
 */
export function keysNumberedTwice(
  records: FoundRecord[],
  isOurs: (record: FoundRecord) => boolean,
): string[] {
  const whose = new Map<string, boolean>();
  const keys = new Set<string>();
  for (const record of records) {
    const number = `${record.key} ${record.sequence}`;
    const before = whose.get(number);
    if (before !== undefined && before !== isOurs(record)) keys.add(record.key);
    whose.set(number, isOurs(record));
  }
  return [...keys];
}

/** An event that was sent, as far as its order needs it. */
export interface SentRow {
  id: number;
  key: string;
  sequence: number;
  offset: string;
}

/** Those that must go again to be the last of their keys: the newest of each key that has an older one after it. */
export function rowsToSendAgain(repeats: FoundRecord[], sent: SentRow[]): number[] {
  return repeats.flatMap(({ key, sequence, offset }) => {
    const newest = sent
      .filter((row) => row.key === key)
      .reduce<SentRow | null>(
        (best, row) => (best === null || row.sequence > best.sequence ? row : best),
        null,
      );
    const isLast = newest === null || newest.sequence <= sequence || !isBefore(newest.offset, offset);
    return isLast ? [] : [newest.id];
  });
}

function isBefore(one: string, other: string): boolean {
  return BigInt(one) < BigInt(other);
}
