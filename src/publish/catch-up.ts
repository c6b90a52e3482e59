/**
 * What a relay that begins to lead reads before it sends: what stands on the topics and the store does not know of must
 * not be numbered again. A partition that has no leader now is read as soon as it has one, a topic that is missing or denied
 * as soon as it can be had, and nothing is sent there before; the others do not wait for it. From then on it keeps which ends the store was told, so that another store in its
 * place is noticed. Nothing here knows Kafka.
 */
import type { Condition } from '../model/alert';
import { isProblem } from '../model/problem';
import type { HeldPartition, TopicEnds } from '../model/store';
import type { TopicEnd } from '../model/topic-end';
import { topicDenied } from './setbacks';
import type { PublishTarget, Success, Unread } from './target';
import { makeUnfenced } from './unfenced';

/** What the store knows of the topics' ends. */
export type KnownEnds = Pick<TopicEnds, 'topicEnds' | 'noteFound' | 'allFound'>;

export interface CatchUp {
  /** Whether there is something to read at this time. */
  isDue(nowMs: number): boolean;
  /**
   * Reads until `mayGoOn` says no: false then. Throws what the target makes it throw while nothing was read before, and
   * what the store throws.
   */
  run(nowMs: number, mayGoOn: () => Promise<boolean>): Promise<boolean>;
  /** Where nothing may be sent yet. */
  held(): Unread[];
  /** When the next attempt is; null when all was read. */
  nextMs(): number | null;
  conditions(): Condition[];
  /** What the store must know as long as it is the same: its ends when all was read, and those that were noted since. */
  ends(): TopicEnd[];
  noted(ends: TopicEnd[]): void;
  /**
   * Whether what was acknowledged there follows what was read, asked of all that is. Where another's stands between, all is to be
   * read again, and what was acknowledged is found behind it: it must not be marked before.
   */
  follows(place: HeldPartition, success: Success): boolean;
  /** Another may have sent since: all is to be read again. */
  reset(): void;
}

/** How often it is looked whether another has written where this one has written nothing yet, and so keeps nobody out. */
const unfencedPauseMs = 60_000;
/** Partitions come back by themselves; a right must be given by somebody. */
const unreadPauseMs = 1000;
const deniedPauseMs = 60_000;
/** A topic that is refused is looked at again after as long as that lasts already, but no sooner. */
const refusedPauseMs = 5_000;

/** By topic: since when, and why. */
type Refused = ReadonlyMap<string, { sinceMs: number; code: string }>;

/** `ends` null: what stands on the topics is taken on trust. */
export function makeCatchUp(target: Pick<PublishTarget, 'readOn'>, ends: KnownEnds | null): CatchUp {
  let isDone = false;
  let unread: Unread[] = [];
  /** Topics of which nothing can be had, and since when that is known. */
  let refused: Refused = new Map();
  /** Topics that may not be read, and since when that is known. */
  let denied = new Map<string, number>();
  let againAtMs = Number.POSITIVE_INFINITY;
  /** The store was told of something, and not yet that it is all: nothing is taken until then. */
  let isCutOff = false;
  const noted = new Map<string, TopicEnd>();
  const note = (told: TopicEnd[]) => {
    for (const end of told) noted.set(`${end.topic}/${end.partition}`, end);
  };
  const unfenced = makeUnfenced();

  async function read(known: KnownEnds, nowMs: number, mayGoOn: () => Promise<boolean>): Promise<boolean> {
    const left = await target.readOn(await known.topicEnds(), async (page) => {
      isCutOff = true;
      await known.noteFound(page);
      return mayGoOn();
    });
    if (left === null) return false;
    await known.allFound();
    isCutOff = false;
    note(await known.topicEnds());
    unread = left.unread;
    unfenced.read(left.ends);
    refused = refusedIn(unread, refused, nowMs);
    denied = new Map(left.denied.map((topic) => [topic, denied.get(topic) ?? nowMs]));
    return true;
  }

  /** Until the first of what is left is looked at again. */
  function pauseMs(nowMs: number): number {
    const pauses = [...refused.values()].map(({ sinceMs }) =>
      Math.min(deniedPauseMs, Math.max(refusedPauseMs, nowMs - sinceMs)),
    );
    if (denied.size > 0) pauses.push(deniedPauseMs);
    if (unread.some((one) => one.refused === undefined)) pauses.push(unreadPauseMs);
    if (unfenced.isAny()) pauses.push(unfencedPauseMs);
    return Math.min(...pauses);
  }

  return {
    isDue: (nowMs) => !isDone || nowMs >= againAtMs,
    async run(nowMs, mayGoOn) {
      try {
        if (ends !== null && !(await read(ends, nowMs, mayGoOn))) return false;
      } catch (error) {
        // What could not be read at first keeps waiting for itself alone.
        if (!isDone || (isProblem(error) && error.code.startsWith('store.'))) throw error;
      }
      isDone = true;
      againAtMs = nowMs + (isCutOff ? unreadPauseMs : pauseMs(nowMs));
      return true;
    },
    held: () => unread,
    nextMs: () => (Number.isFinite(againAtMs) ? againAtMs : null),
    conditions: () => [
      ...[...refused].map(([topic, { code, sinceMs }]) => topicDenied(topic, code, sinceMs)),
      ...[...denied].map(notRead),
    ],
    ends: () => [...noted.values()],
    noted: note,
    follows(place, success) {
      const follows = unfenced.written(place, success);
      if (!follows) isDone = false;
      return follows;
    },
    reset() {
      isDone = false;
      unfenced.forget();
      noted.clear();
      unread = [];
      refused = new Map();
      denied = new Map();
      againAtMs = Number.POSITIVE_INFINITY;
    },
  };
}

function refusedIn(unread: Unread[], before: Refused, nowMs: number): Refused {
  return new Map(
    unread.flatMap(({ topic, refused: code }) =>
      code === undefined ? [] : [[topic, { code, sinceMs: before.get(topic)?.sinceMs ?? nowMs }]],
    ),
  );
}

function notRead([topic, sinceMs]: [topic: string, sinceMs: number]): Condition {
  const detail = `Topic ${topic} may not be read: a store that is behind it would not be noticed. Grant Read beside Write.`;
  return { name: 'topic-denied', labels: { topic }, sinceMs, detail };
}
