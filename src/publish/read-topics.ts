/**
 * Reads what stands on topics after given places, a piece of one partition at a time: no consumer, no group, nothing is
 * committed. Where nothing is beyond, it costs two lists of offsets and the last record that is known of each partition. One
 * that ends before the place that is known, or holds another record there, is another log under the same name, or one that was
 * cut: it is read from its beginning. Where a log begins after the place that is known, it is said how much of it is gone. Memory is bounded by one answer of a broker.
 */
import type { FoundPage, KnownEnd, TopicEnd, TopicPlace } from '../model/topic-end';
import { describeError, isOfPartition, kindOf } from './classify-error';
import { placeName } from './place-name';
import type { LeftUnread, Unread } from './target';

/** Who asked for it knows where it begins. `heldBack`: a quota of the brokers leaves nothing to be read. */
type Piece = Omit<FoundPage, 'from'> & { heldBack?: true };

export interface TopicReader {
  /** Of every partition of these topics whose leader tells: the end of what it has taken, seen or not, or its beginning. */
  offsets(topics: string[], which: 'end' | 'start'): Promise<TopicEnd[]>;
  /** Partitions of these topics that have none, as known now; all of a topic of which no partition is known, and why. */
  leaderless(topics: string[]): Promise<Unread[]>;
  /** Of this topic, as known now; 0 where nothing is known of it. */
  partitionsOf(topic: string): number;
  /** A piece of one partition from this place on, of what can be seen within that time: it ends where it began where that is nothing. */
  readPage(from: TopicEnd, withinMs: number): Promise<Piece>;
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
 * as well, once: a broker that stood still takes up only then what another had sent before it ended. Of places that are not
 * wanted nothing is said. Throws what the reader throws, but for what a broker says of one partition: that is left.
 */
export async function readOn(
  reader: TopicReader,
  topics: string[],
  known: KnownEnd[],
  heard: (page: FoundPage) => Promise<boolean>,
  isWanted: (place: TopicPlace) => boolean = () => true,
): Promise<LeftUnread | null> {
  const left = { unread: (await reader.leaderless(topics)).filter(isWanted), denied: [] as string[] };
  const isLeft = (at: TopicPlace) => left.unread.some((one) => placeName(one) === placeName(at));
  const places = new Map(
    (await placesOf(reader, topics, known, isWanted)).map((place) => [placeName(place.end), place]),
  );
  // One that has no leader any more, or whose leader cannot say its end yet, is not listed.
  const wanted = topics.flatMap((topic) => partitionsOf(reader, topic)).filter(isWanted);
  const unlisted = (listed: { has(name: string): boolean }) =>
    wanted.filter((at) => !listed.has(placeName(at)) && !isLeft(at));
  left.unread.push(...unlisted(places));
  if (!(await readAll(reader, [...places.values()], heard, left))) return null;
  const ends = new Map((await reader.offsets(topics, 'end')).map((end) => [placeName(end), end]));
  left.unread.push(...unlisted(ends));
  const grown = [...places].flatMap(([name, { end: before, next }]) => {
    const end = ends.get(name);
    return end === undefined || isLeft(before) ? [] : [{ next, end, first: [] }];
  });
  if (!(await readAll(reader, grown, heard, left))) return null;
  const read = grown.filter(({ end }) => !isLeft(end));
  return { ...left, ends: read.map(({ next, end }) => ({ ...end, nextOffset: String(next) })) };
}

function partitionsOf(reader: TopicReader, topic: string): Unread[] {
  const partitions = reader.partitionsOf(topic);
  return Array.from({ length: partitions }, (_, partition) => ({ topic, partition, partitions }));
}

async function placesOf(
  reader: TopicReader,
  topics: string[],
  known: KnownEnd[],
  isWanted: (place: TopicPlace) => boolean,
): Promise<Place[]> {
  const ends = (await reader.offsets(topics, 'end')).filter(isWanted);
  const starts = new Map(
    (await reader.offsets(topics, 'start')).map((end) => [placeName(end), end.nextOffset]),
  );
  const from = new Map(known.map((end) => [placeName(end), end]));
  const beginnings = [];
  const gone = new Map<string, bigint>();
  for (const end of ends) {
    const told = starts.get(placeName(end));
    if (told === undefined) continue;
    const start = BigInt(told);
    const before = from.get(placeName(end));
    const isAnother =
      before !== undefined && (await isAnotherLog(reader, before, start, BigInt(end.nextOffset)));
    const place = isAnother ? start : BigInt(before?.nextOffset ?? 0);
    beginnings.push({ end, start, isAnother, place });
    if (place < start) gone.set(end.topic, (gone.get(end.topic) ?? 0n) + start - place);
  }
  return beginnings.map(({ end, start, isAnother, place }) => {
    const next = place < start ? start : place;
    const beginning: FoundPage = { ...end, from: null, nextOffset: String(next), records: [] };
    const first: FoundPage[] = isAnother ? [{ ...beginning, anotherLog: true }] : [];
    if (place < start) {
      const lost = Number(gone.get(end.topic) ?? 0);
      gone.delete(end.topic);
      first.push(lost > 0 ? { ...beginning, lost } : beginning);
    }
    return { next, end, first };
  });
}

/**
 * What cannot be seen yet most often can within some milliseconds. It is waited for once in a reading: nothing is sent elsewhere
 * meanwhile, and beside a broker that stands still many partitions wait.
 */
const seenWithinMs = 50;

/**
 * Moves the places on to their ends, and notes what is left: of a topic that may not be read each partition that holds more than is
 * known, since it may be newer than what is sent. False where nobody listens any more.
 */
async function readAll(
  reader: TopicReader,
  places: Place[],
  heard: (page: FoundPage) => Promise<boolean>,
  left: Pick<LeftUnread, 'unread' | 'denied'>,
): Promise<boolean> {
  let withinMs = seenWithinMs;
  for (const place of places) {
    const { end, first } = place;
    for (const page of first) if (!(await heard(page))) return false;
    while (place.next < BigInt(end.nextOffset)) {
      const page = await readPage(reader, { ...end, nextOffset: String(place.next) }, withinMs);
      const { topic, partition } = end;
      if (page !== null && 'denied' in page) {
        if (!left.denied.includes(topic)) left.denied.push(topic);
        left.unread.push({ ...placeOf(reader, topic, partition), refused: page.denied });
        break;
      }
      // Written, and not to be seen before all replicas in sync have it: what is sent now would stand behind it.
      if (page === null || BigInt(page.nextOffset) <= place.next) {
        const heldBack = page?.heldBack ? { heldBack: true as const } : {};
        left.unread.push({ ...placeOf(reader, topic, partition), ...heldBack });
        withinMs = 0;
        break;
      }
      const from = String(place.next);
      place.next = BigInt(page.nextOffset);
      if (!(await heard({ ...page, from }))) return false;
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
  const page = await readPage(reader, { topic, partition, nextOffset: last.offset }, 0);
  if (page === null || 'denied' in page) return false;
  const there = page.records.find(({ offset }) => offset === last.offset);
  return there !== undefined && there.eventId !== last.eventId;
}

function placeOf(reader: TopicReader, topic: string, partition: number): Unread {
  return { topic, partition, partitions: reader.partitionsOf(topic) };
}

/** `denied`: the topic may not be read, and why; that starves no other. null: its leader may be another now. */
async function readPage(
  reader: TopicReader,
  from: TopicEnd,
  withinMs: number,
): Promise<Piece | { denied: string } | null> {
  try {
    return await reader.readPage(from, withinMs);
  } catch (error) {
    const { code } = describeError(error);
    if (kindOf(code) === 'denied') return { denied: code };
    if (isOfPartition(code)) return null;
    throw error;
  }
}
