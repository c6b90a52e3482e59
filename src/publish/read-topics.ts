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
  /** Of every partition of these topics that has a leader: the end of what it has taken, seen or not, or its beginning. */
  offsets(topics: string[], which: 'end' | 'start'): Promise<TopicEnd[]>;
  /** Partitions of these topics that have none, as known now; all of a topic of which no partition is known, and why. */
  leaderless(topics: string[]): Promise<Unread[]>;
  /** Of this topic, as known now; 0 where nothing is known of it. */
  partitionsOf(topic: string): number;
  /** A piece of one partition from this place on, of what can be seen: it ends where it began where that is nothing yet. */
  readPage(from: TopicEnd): Promise<FoundPage>;
}

/** Where a partition is read on from, how far, and what is said of it first. */
interface Place {
  next: bigint;
  end: TopicEnd;
  first: FoundPage[];
}

/**
 * `heard` takes each piece before the next is asked for; false ends the reading: null then, else what was not read. Of another
 * log it takes a piece without records first, at the log's beginning: what was known of the former one is over. So it does of one
 * that begins later than is known; of a topic's, the first tells what is gone of all. What came while all this was read is read
 * as well, once: a broker that stood still takes up only then what another had sent before it ended.
 */
export async function readOn(
  reader: TopicReader,
  topics: string[],
  known: KnownEnd[],
  heard: (page: FoundPage) => Promise<boolean>,
): Promise<LeftUnread | null> {
  const left = { unread: await reader.leaderless(topics), denied: [] as string[] };
  const isLeft = (at: Pick<TopicEnd, 'topic' | 'partition'>) =>
    left.denied.includes(at.topic) || left.unread.some((one) => nameOf(one) === nameOf(at));
  const places = new Map((await placesOf(reader, topics, known)).map((place) => [nameOf(place.end), place]));
  // One that lost its leader since was not listed.
  for (const at of topics.flatMap((topic) => partitionsOf(reader, topic)))
    if (!places.has(nameOf(at)) && !isLeft(at)) left.unread.push(at);
  if (!(await readAll(reader, [...places.values()], heard, left))) return null;
  const grown = (await reader.offsets(topics, 'end')).flatMap((end) => {
    const place = places.get(nameOf(end));
    return place === undefined || isLeft(end) ? [] : [{ next: place.next, end, first: [] }];
  });
  if (!(await readAll(reader, grown, heard, left))) return null;
  const ends = grown.filter(({ end }) => !isLeft(end));
  return { ...left, ends: ends.map(({ next, end }) => ({ ...end, nextOffset: String(next) })) };
}

function partitionsOf(reader: TopicReader, topic: string): Unread[] {
  const partitions = reader.partitionsOf(topic);
  return Array.from({ length: partitions }, (_, partition) => ({ topic, partition, partitions }));
}

async function placesOf(reader: TopicReader, topics: string[], known: KnownEnd[]): Promise<Place[]> {
  const ends = await reader.offsets(topics, 'end');
  const starts = new Map((await reader.offsets(topics, 'start')).map((end) => [nameOf(end), end.nextOffset]));
  const from = new Map(known.map((end) => [nameOf(end), end]));
  const beginnings = [];
  const gone = new Map<string, bigint>();
  for (const end of ends) {
    const start = BigInt(starts.get(nameOf(end)) ?? 0);
    const before = from.get(nameOf(end));
    const isAnother =
      before !== undefined && (await isAnotherLog(reader, before, start, BigInt(end.nextOffset)));
    const place = isAnother ? start : BigInt(before?.nextOffset ?? 0);
    beginnings.push({ end, start, isAnother, place });
    if (place < start) gone.set(end.topic, (gone.get(end.topic) ?? 0n) + start - place);
  }
  return beginnings.map(({ end, start, isAnother, place }) => {
    const next = place < start ? start : place;
    const beginning: FoundPage = { ...end, nextOffset: String(next), records: [] };
    const first: FoundPage[] = isAnother ? [{ ...beginning, anotherLog: true }] : [];
    if (place < start) {
      const lost = Number(gone.get(end.topic) ?? 0);
      gone.delete(end.topic);
      first.push(lost > 0 ? { ...beginning, lost } : beginning);
    }
    return { next, end, first };
  });
}

/** Moves the places on to their ends, and notes what is left. False where nobody listens any more. */
async function readAll(
  reader: TopicReader,
  places: Place[],
  heard: (page: FoundPage) => Promise<boolean>,
  left: Pick<LeftUnread, 'unread' | 'denied'>,
): Promise<boolean> {
  for (const place of places) {
    const { end, first } = place;
    for (const page of first) if (!(await heard(page))) return false;
    while (place.next < BigInt(end.nextOffset)) {
      const page = await readPage(reader, { ...end, nextOffset: String(place.next) });
      if (page === null) {
        if (!left.denied.includes(end.topic)) left.denied.push(end.topic);
        break;
      }
      if (BigInt(page.nextOffset) <= place.next) {
        // Written, and not to be seen before all replicas in sync have it: what is sent now would stand behind it.
        const { topic, partition } = end;
        left.unread.push({ topic, partition, partitions: reader.partitionsOf(topic) });
        break;
      }
      place.next = BigInt(page.nextOffset);
      if (!(await heard(page))) return false;
    }
  }
  return true;
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

function nameOf({ topic, partition }: Pick<TopicEnd, 'topic' | 'partition'>): string {
  return `${topic}/${partition}`;
}
