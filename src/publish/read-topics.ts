/**
 * Reads what stands on topics after given places, a piece of one partition at a time: no consumer, no group, nothing is
 * committed. Where nothing is beyond, it costs two lists of offsets and the last record that is known of each partition. One
 * that ends before the place that is known, or holds another record there, is another log under the same name, or one that was
 * cut: it is read from its beginning. Where a log begins after the place that is known, it is said how much of it is gone. Memory is bounded by one answer of a broker.
 */
import type { FoundPage, KnownEnd, TopicEnd } from '../model/topic-end';
import { describeError, kindOf } from './classify-error';
import type { LeftUnread, Unread } from './target';

export interface TopicReader {
  /** Of every partition of these topics that has a leader: its end, or its beginning. */
  offsets(topics: string[], which: 'end' | 'start'): Promise<TopicEnd[]>;
  /** Partitions of these topics that have none, as known now; all of a topic of which no partition is known, and why. */
  leaderless(topics: string[]): Promise<Unread[]>;
  /** A piece of one partition from this place on; empty when nothing of it is left there. */
  readPage(from: TopicEnd): Promise<FoundPage>;
}

/**
 * `heard` takes each piece before the next is asked for; false ends the reading: null then, else what was not read. Of another
 * log it takes a piece without records first, at the log's beginning: what was known of the former one is over. So it does of one
 * that begins later than is known; of a topic's, the first tells what is gone of all.
 */
export async function readOn(
  reader: TopicReader,
  topics: string[],
  known: KnownEnd[],
  heard: (page: FoundPage) => Promise<boolean>,
): Promise<LeftUnread | null> {
  const unread = await reader.leaderless(topics);
  const denied = new Set<string>();
  const ends = await reader.offsets(topics, 'end');
  const starts = new Map((await reader.offsets(topics, 'start')).map((end) => [nameOf(end), end.nextOffset]));
  const from = new Map(known.map((end) => [nameOf(end), end]));
  const beginnings = [];
  const gone = new Map<string, bigint>();
  for (const end of ends) {
    const until = BigInt(end.nextOffset);
    const start = BigInt(starts.get(nameOf(end)) ?? 0);
    const before = from.get(nameOf(end));
    const isAnother = before !== undefined && (await isAnotherLog(reader, before, start, until));
    const place = isAnother ? start : BigInt(before?.nextOffset ?? 0);
    beginnings.push({ end, until, start, isAnother, place });
    if (place < start) gone.set(end.topic, (gone.get(end.topic) ?? 0n) + start - place);
  }
  for (const { end, until, start, isAnother, place } of beginnings) {
    let next = larger(place, start);
    const beginning: FoundPage = { ...end, nextOffset: String(next), records: [] };
    if (isAnother && !(await heard({ ...beginning, anotherLog: true }))) return null;
    if (place < start) {
      const lost = Number(gone.get(end.topic) ?? 0);
      gone.delete(end.topic);
      if (!(await heard(lost > 0 ? { ...beginning, lost } : beginning))) return null;
    }
    while (next < until) {
      const page = await readPage(reader, { ...end, nextOffset: String(next) });
      if (page === null) {
        denied.add(end.topic);
        break;
      }
      // Compaction may leave nothing of a piece.
      next = larger(BigInt(page.nextOffset), next + 1n);
      if (!(await heard({ ...page, nextOffset: String(next) }))) return null;
    }
  }
  return { unread, denied: [...denied] };
}

/** What compaction or retention took from its place, or may not be read, says nothing. */
async function isAnotherLog(
  reader: TopicReader,
  { topic, partition, nextOffset, last }: KnownEnd,
  start: bigint,
  until: bigint,
): Promise<boolean> {
  if (BigInt(nextOffset) > until) return true;
  if (last === null || BigInt(last.offset) < start) return false;
  const page = await readPage(reader, { topic, partition, nextOffset: last.offset });
  const there = page?.records.find(({ offset }) => offset === last.offset);
  return there !== undefined && there.eventId !== last.eventId;
}

/** null where we may not read: a topic that may only be written is taken on trust, and starves no other. */
async function readPage(reader: TopicReader, from: TopicEnd): Promise<FoundPage | null> {
  try {
    return await reader.readPage(from);
  } catch (error) {
    if (kindOf(describeError(error).code) === 'denied') return null;
    throw error;
  }
}

function nameOf({ topic, partition }: TopicEnd): string {
  return `${topic}/${partition}`;
}

function larger(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
