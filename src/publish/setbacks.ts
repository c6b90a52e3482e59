/**
 * What the relay remembers of partitions that failed: until when each is left alone, and since when a person should
 * know. One partition's trouble never delays another's, but for a right to a topic, which is refused for all of it: that is left alone
 * whole, as if it were one partition. Pure but for its memory, which holds one entry for each troubled partition and loses
 * it with the first success.
 */
import type { Condition } from '../model/alert';
import type { HeldPartition } from '../model/store';
import { type BackoffBounds, backoffMs } from '../tools/backoff';
import { isOfTopic, needsSomebody } from './classify-error';
import type { Failure } from './target';

export interface SetbackOptions {
  /** Between attempts at what heals by itself. */
  retry: BackoffBounds;
  /** Between attempts at what somebody must change. */
  denied: BackoffBounds;
  /** How long a fault that may heal by itself must last before it is a condition. */
  conditionAfterMs: number;
  random: () => number;
}

export interface Setback extends HeldPartition {
  failure: Failure;
  sinceMs: number;
  attempts: number;
  untilMs: number;
}

type Unavailable = Pick<Condition, 'sinceMs' | 'detail'>;

export interface Setbacks {
  /** `beganMs`: when the send that failed began; where a broker is gone it takes up to 15 s to fail. */
  failed(partition: HeldPartition, failure: Failure, nowMs: number, beganMs?: number): void;
  succeeded(partition: HeldPartition): void;
  /** Nothing unsent is left outside the partitions that are held: whatever else was troubled is so no more. */
  drained(nowMs: number): void;
  /** Whoever leads now finds out anew. */
  clear(): void;
  /** Those to leave alone at this time. */
  held(nowMs: number): Setback[];
  /** What might heal by itself and has not; null when there is nothing. */
  unavailable(): Unavailable | null;
  /** What a person should know now. */
  conditions(nowMs: number): Condition[];
}

export function makeSetbacks(options: SetbackOptions): Setbacks {
  const setbacks = new Map<string, Setback>();
  return {
    failed(partition, failure, nowMs, beganMs = nowMs) {
      const ofTopic = isOfTopic(failure.code);
      const held = ofTopic ? wholeOf(partition) : only(partition);
      const name = partitionName(held);
      const before = setbacks.get(name);
      // Its other partitions of the same round say the same.
      if (ofTopic && before !== undefined && before.untilMs > nowMs) return;
      const attempts = (before?.attempts ?? 0) + 1;
      const bounds = needsSomebody(failure.kind) ? options.denied : options.retry;
      // Never sooner than the base: a missing topic is not asked for again at once.
      const pauseMs = Math.max(bounds.baseMs, backoffMs(attempts, bounds, options.random));
      const sinceMs = before?.sinceMs ?? beganMs;
      setbacks.set(name, { ...held, failure, sinceMs, attempts, untilMs: nowMs + pauseMs });
    },
    succeeded(partition) {
      setbacks.delete(partitionName(partition));
      setbacks.delete(partitionName(wholeOf(partition)));
    },
    drained(nowMs) {
      for (const [name, { untilMs }] of setbacks) if (untilMs <= nowMs) setbacks.delete(name);
    },
    clear: () => setbacks.clear(),
    held: (nowMs) => [...setbacks.values()].filter(({ untilMs }) => untilMs > nowMs),
    unavailable: () =>
      unavailable([...setbacks.values()].filter(({ failure }) => !needsSomebody(failure.kind))),
    conditions(nowMs) {
      const all = [...setbacks.values()];
      const lasting = all.filter(
        ({ failure, sinceMs }) => !needsSomebody(failure.kind) && nowMs - sinceMs >= options.conditionAfterMs,
      );
      const denied = topicsDenied(all.filter(({ failure }) => needsSomebody(failure.kind)));
      const ofKafka = unavailable(lasting);
      return ofKafka === null ? denied : [...denied, { name: 'kafka-unavailable', ...ofKafka }];
    },
  };
}

function only({ topic, partition, partitions }: HeldPartition): HeldPartition {
  return { topic, partition, partitions };
}

function wholeOf({ topic }: HeldPartition): HeldPartition {
  return { topic, partition: 0, partitions: 1 };
}

/** The same for all that mean the same partition. */
export function partitionName({ topic, partition, partitions }: HeldPartition): string {
  return `${topic}/${partition}/${partitions}`;
}

/** One for each topic. */
function topicsDenied(setbacks: Setback[]): Condition[] {
  const byTopic = Map.groupBy(setbacks, ({ topic }) => topic);
  return [...byTopic].map(([topic, ofTopic]) =>
    topicDenied(topic, String(ofTopic[0]?.failure.code), Math.min(...ofTopic.map(({ sinceMs }) => sinceMs))),
  );
}

/** Whether that was said of a send, or before anything could be sent. */
export function topicDenied(topic: string, code: string, sinceMs: number): Condition {
  const detail = `Nothing can be written to topic ${topic}: ${code}. Its events are kept and wait.`;
  return { name: 'topic-denied', labels: { topic }, sinceMs, detail };
}

/** One for all, with the first reason in full. */
function unavailable(setbacks: Setback[]): Unavailable | null {
  const [first] = setbacks;
  if (first === undefined) return null;
  const more = setbacks.length - 1;
  const others = more === 0 ? '' : ` and ${more === 1 ? '1 more partition' : `${more} more partitions`}`;
  return {
    sinceMs: Math.min(...setbacks.map(({ sinceMs }) => sinceMs)),
    detail: `${first.topic}-${first.partition}${others} cannot be written: ${first.failure.detail}.`,
  };
}
