/**
 * What a relay that begins to lead reads before it sends: what stands on the topics and the store does not know of must
 * not be numbered again. A partition that has no leader now, or whose end nobody can see yet, is read as soon as it can be, so is a
 * topic that is missing or denied, and nothing is sent there before; the others do not wait for it. From then on it keeps which ends
 * the store was told, so that another store in its place is noticed, and looks where a former producer is not kept out yet. Nothing
 * here knows Kafka.
 */
import type { Condition } from '../model/alert';
import { isProblem } from '../model/problem';
import type { HeldPartition, TopicEnds } from '../model/store';
import type { TopicEnd, TopicPlace } from '../model/topic-end';
import type { Clock } from '../tools/clock';
import { describeError } from './classify-error';
import { makeLeftBook, unreadPauseMs } from './left-unread';
import { placeName } from './place-name';
import type { PublishTarget, Success, Unread } from './target';
import { makeUnfenced } from './unfenced';

/** What the store knows of the topics' ends. */
export type KnownEnds = Pick<TopicEnds, 'topicEnds' | 'noteFound' | 'allFound'>;

export interface CatchUp {
  /** Whether there is something to read now. */
  isDue(): boolean;
  /**
   * Reads until `mayGoOn` says no: false then. Throws what the target makes it throw while nothing was read before, and
   * what the store throws.
   */
  run(mayGoOn: () => Promise<boolean>): Promise<boolean>;
  /** Where nothing may be sent yet. */
  held(): Unread[];
  /** Whether some of it is held for what comes back by itself. */
  isWaiting(): boolean;
  /** When the next attempt is; null when all was read. */
  nextMs(): number | null;
  /** As of then, or now. */
  conditions(asOfMs?: number): Condition[];
  /** What the store must know as long as it is the same: its ends when all was read, and those that were noted since. */
  ends(): TopicEnd[];
  noted(ends: TopicEnd[]): void;
  /**
   * Whether what was acknowledged there follows what was read, asked of all that is. Where it does not, that partition
   * is to be read again, and what was acknowledged is found behind it: it must not be marked before.
   */
  follows(place: HeldPartition, success: Success): boolean;
  /** Another may have sent since: all is to be read again. */
  forget(): void;
}

/** How often it is looked whether another has written where this one has written nothing yet, and so keeps nobody out. */
const unfencedPauseMs = 60_000;

export function makeCatchUp(
  target: Pick<PublishTarget, 'readOn'>,
  known: KnownEnds,
  { clock, conditionAfterMs }: { clock: Pick<Clock, 'steadyMs'>; conditionAfterMs: number },
): CatchUp {
  let isDone = false;
  let againAtMs = Number.POSITIVE_INFINITY;
  /** The store was told of something, and not yet that it is all: nothing is taken until then. */
  let isCutOff = false;
  const noted = new Map<string, TopicEnd>();
  const note = (told: TopicEnd[]) => {
    for (const end of told) noted.set(placeName(end), end);
  };
  const left = makeLeftBook(conditionAfterMs);
  const unfenced = makeUnfenced();

  async function read(mayGoOn: () => Promise<boolean>): Promise<boolean> {
    const heard: Parameters<PublishTarget['readOn']>[1] = async (page) => {
      isCutOff = true;
      await known.noteFound(page);
      return mayGoOn();
    };
    const isHeld = ({ topic, partition }: TopicPlace) =>
      left.held().some((one) => one.topic === topic && one.partition === partition);
    const before = await known.topicEnds();
    // That a log is another under its name is asked once.
    const asked = before.map((end) => (isDone && !isHeld(end) ? { ...end, last: null } : end));
    // Where this one has written, what cannot be seen yet is its own.
    const found = await target.readOn(asked, heard, (place) => isHeld(place) || !unfenced.isFenced(place));
    if (found === null) return false;
    await known.allFound();
    isCutOff = false;
    note(await known.topicEnds());
    left.take(found, clock.steadyMs());
    unfenced.read(found.ends);
    return true;
  }

  const pauseMs = (nowMs: number) =>
    Math.min(left.pauseMs(nowMs), unfenced.isAny() ? unfencedPauseMs : Number.POSITIVE_INFINITY);

  return {
    isDue: () => !isDone || clock.steadyMs() >= againAtMs,
    async run(mayGoOn) {
      try {
        if (!(await read(mayGoOn))) return false;
      } catch (error) {
        // What could not be read at first keeps waiting for itself alone.
        if (!isDone || (isProblem(error) && error.code.startsWith('store.'))) throw error;
        if (isCutOff) left.cutOff(describeError(error).detail, clock.steadyMs());
      }
      isDone = true;
      // A look may take as long as its pause: the others are sent between.
      const nowMs = clock.steadyMs();
      againAtMs = nowMs + (isCutOff ? unreadPauseMs : pauseMs(nowMs));
      return true;
    },
    held: left.held,
    isWaiting: () => left.held().some(({ refused }) => refused === undefined),
    nextMs: () => (Number.isFinite(againAtMs) ? againAtMs : null),
    conditions: (asOfMs = clock.steadyMs()) => left.conditions(asOfMs),
    ends: () => [...noted.values()],
    noted: note,
    follows(place, success) {
      if (unfenced.written(place, success)) return true;
      const nowMs = clock.steadyMs();
      left.hold(place, nowMs);
      againAtMs = nowMs;
      return false;
    },
    forget() {
      isDone = false;
      againAtMs = Number.POSITIVE_INFINITY;
      unfenced.forget();
      noted.clear();
      left.forget();
    },
  };
}
