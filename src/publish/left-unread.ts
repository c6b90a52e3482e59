/**
 * What reading on has left: where nothing may be sent yet, since when and why, when it is looked at again, and what a person
 * should know of it. Memory alone.
 */
import type { Condition } from '../model/alert';
import type { HeldPartition } from '../model/store';
import { named, topicDenied } from './setbacks';
import type { LeftUnread, Unread } from './target';

export interface LeftBook {
  /** What a reading has left; nothing else is. */
  take(left: LeftUnread, nowMs: number): void;
  /** A reading that found something could not go on: no task is taken before one has come to its end. */
  cutOff(detail: string, nowMs: number): void;
  /** That one is to be read again before anything is sent there. */
  hold(place: HeldPartition, nowMs: number): void;
  held(): Unread[];
  /** Until the first of it is looked at again; infinite where nothing is left. */
  pauseMs(nowMs: number): number;
  /** What comes back by itself is told once it lasts for `conditionAfterMs`. */
  conditions(nowMs: number): Condition[];
  forget(): void;
}

/** Partitions come back by themselves; a right must be given by somebody. */
export const unreadPauseMs = 1000;
const deniedPauseMs = 60_000;
/** A topic that is refused is looked at again after as long as that lasts already, but no sooner. */
const refusedPauseMs = 5_000;

/** Keeps an entry for each partition and topic that is left; never throws. */
export function makeLeftBook(conditionAfterMs: number): LeftBook {
  let unread: (Unread & { sinceMs: number })[] = [];
  /** Topics that may not be read: some of what is unread is of each. */
  let denied: { topic: string; sinceMs: number }[] = [];
  let stopped: { sinceMs: number; detail: string } | null = null;

  const sinceMs = (one: Unread, nowMs: number) =>
    unread.find((before) => isSame(before, one) && before.refused === one.refused)?.sinceMs ?? nowMs;

  return {
    take(left, nowMs) {
      stopped = null;
      unread = left.unread.map((one) => ({ ...one, sinceMs: sinceMs(one, nowMs) }));
      denied = left.denied.map(
        (topic) => denied.find((before) => before.topic === topic) ?? { topic, sinceMs: nowMs },
      );
    },
    cutOff(detail, nowMs) {
      stopped = {
        sinceMs: stopped?.sinceMs ?? nowMs,
        detail: `The topics cannot be read to their end: ${detail}.`,
      };
    },
    hold({ topic, partition, partitions }, nowMs) {
      const one = { topic, partition, partitions };
      if (!unread.some((before) => isSame(before, one))) unread.push({ ...one, sinceMs: nowMs });
    },
    held: () => unread,
    pauseMs(nowMs) {
      const pauses = unread.map((one) =>
        one.refused === undefined
          ? unreadPauseMs
          : Math.min(deniedPauseMs, Math.max(refusedPauseMs, nowMs - one.sinceMs)),
      );
      return Math.min(...pauses);
    },
    conditions(nowMs) {
      const mayBeRead = (topic: string) => denied.every((one) => one.topic !== topic);
      const refused = unread.flatMap(({ topic, refused: code, sinceMs: fromMs }) =>
        code !== undefined && mayBeRead(topic) ? [topicDenied(topic, code, fromMs)] : [],
      );
      const lasts = (one: { sinceMs: number }) => nowMs - one.sinceMs >= conditionAfterMs;
      const lasting = unread.filter((one) => one.refused === undefined && lasts(one));
      const ofKafka = [stopped, lasting.length > 0 ? notYet(lasting) : null].find(
        (one) => one !== null && lasts(one),
      );
      return [
        ...refused,
        ...denied.map(notRead),
        ...(ofKafka == null ? [] : [{ name: 'kafka-unavailable' as const, ...ofKafka }]),
      ];
    },
    forget() {
      stopped = null;
      unread = [];
      denied = [];
    },
  };
}

function isSame(one: Unread, other: Unread): boolean {
  return one.topic === other.topic && one.partition === other.partition;
}

function notRead({ topic, sinceMs }: { topic: string; sinceMs: number }): Condition {
  const detail = `Topic ${topic} may not be read, and holds what this store may not know: what would go behind that is kept and waits. Grant Read beside Write.`;
  return { name: 'topic-denied', labels: { topic }, sinceMs, detail };
}

const quotaSays =
  'a quota of the brokers (consumer_byte_rate or request_percentage) leaves this client nothing to read with';

function notYet(lasting: (Unread & { sinceMs: number })[]): { sinceMs: number; detail: string } {
  const sinceMs = Math.min(...lasting.map((one) => one.sinceMs));
  const isHeldBack = lasting.some(({ heldBack }) => heldBack);
  const why = isHeldBack
    ? quotaSays
    : 'there is no leader, or too few replicas have its last records for anybody to see them';
  const detail = `${named(lasting)} cannot be written before what stands there is read to its end: ${why}.`;
  return { sinceMs, detail };
}
