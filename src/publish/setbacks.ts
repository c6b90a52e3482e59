/**
 * What the relay remembers of partitions that failed: until when each is left alone, and since when a person should
 * know. One partition's trouble never delays another's, but for a right to a topic, which is refused for all of it: that is left alone
 * whole, as if it were one partition, unless others of its partitions are written, since brokers hear of a right one by one. Pure but for its memory, which holds one entry for each troubled partition and loses
 * it with the first success.
 */
import type { Condition } from '../model/alert';
import { topicOf } from '../model/event';
import { shellWord } from '../model/shell-word';
import type { HeldPartition } from '../model/store';
import { type BackoffBounds, backoffMs } from '../tools/backoff';
import { isOfClient, isOfClock, isOfTopic, kindOf, needsSomebody } from './classify-error';
import { partitionName } from './place-name';
import type { Failure } from './target';
import { boundsUntilTold } from './untold';

export interface SetbackOptions {
  /** Between attempts at what heals by itself. */
  retry: BackoffBounds;
  /** Between attempts at what somebody must change. */
  denied: BackoffBounds;
  /** How long a fault that is none of a topic's must last before it is a condition. */
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
  /**
   * `beganMs`: when the send that failed began; where a broker is gone it takes up to 15 s to fail. `writtenBeside`: it wrote
   * other partitions of the topic.
   */
  failed(
    partition: HeldPartition,
    failure: Failure,
    nowMs: number,
    beganMs?: number,
    writtenBeside?: boolean,
  ): void;
  /** Its topic has as many partitions as that says: what was held whole, or of another number, is so no more. */
  succeeded(partition: HeldPartition, nowMs: number): void;
  /**
   * Nothing unsent is left outside the partitions that are held, here or as `others`: whatever else was troubled is so no more.
   */
  drained(nowMs: number, others: HeldPartition[]): void;
  /** Whoever leads now finds out anew. */
  forget(): void;
  /** Those to leave alone at this time. */
  held(nowMs: number): Setback[];
  /** What is refused or fails of Kafka, and not of a topic that somebody must change; null when there is nothing. */
  unavailable(): Unavailable | null;
  /** Since when this process's time is refused of a topic; null when it is not. */
  untimelySinceMs(): number | null;
  /** What a person should know now. */
  conditions(nowMs: number): Condition[];
}

export function makeSetbacks(options: SetbackOptions): Setbacks {
  const setbacks = new Map<string, Setback>();
  /** Topics that were held whole until a send wrote to them: since when, and when that was. */
  const freed = new Map<string, { sinceMs: number; atMs: number }>();

  /**
   * One that was refused beside others says nothing new of them where it is refused alone. Where a topic has one partition, as
   * long as nobody may say how many, that is all of it by itself.
   */
  function isOfWhole(partition: HeldPartition, { code }: Failure): boolean {
    const own = setbacks.get(partitionName(partition));
    return partition.partitions > 1 && isOfTopic(code) && !(own && isOfTopic(own.failure.code));
  }

  /** What its partitions were refused one by one, since when at the earliest: that is of the whole from now on. */
  function takeParts(topic: string): number {
    const parts = [...setbacks].filter(([, one]) => one.topic === topic && isOfTopic(one.failure.code));
    for (const [name] of parts) setbacks.delete(name);
    return Math.min(...parts.map(([, { sinceMs }]) => sinceMs));
  }

  /** What the send that freed a topic was refused of it has been refused since. */
  function freedSince(topic: string, code: string, beganMs: number): number {
    const last = freed.get(topic);
    return last !== undefined && isOfTopic(code) && beganMs <= last.atMs ? last.sinceMs : beganMs;
  }

  return {
    failed(partition, failure, nowMs, beganMs = nowMs, writtenBeside = false) {
      const ofTopic = !writtenBeside && isOfWhole(partition, failure);
      const held = ofTopic ? wholeOf(partition) : only(partition);
      const name = partitionName(held);
      const before = setbacks.get(name);
      // Its other partitions of the same round say the same.
      if (ofTopic && before !== undefined && before.untilMs > nowMs) return;
      const attempts = (before?.attempts ?? 0) + 1;
      const partsSinceMs = ofTopic ? takeParts(held.topic) : Number.POSITIVE_INFINITY;
      const sinceMs =
        before?.sinceMs ?? Math.min(freedSince(held.topic, failure.code, beganMs), partsSinceMs);
      const bounds = needsSomebody(failure.kind)
        ? options.denied
        : boundsUntilTold(options.retry, nowMs - sinceMs, options.conditionAfterMs);
      // Never sooner than the base: a missing topic is not asked for again at once.
      const pauseMs = Math.max(bounds.baseMs, backoffMs(attempts, bounds, options.random));
      setbacks.set(name, { ...held, failure, sinceMs, attempts, untilMs: nowMs + pauseMs });
    },
    succeeded({ topic, partition, partitions }, nowMs) {
      setbacks.delete(partitionName({ topic, partition, partitions }));
      const whole = setbacks.get(partitionName(wholeOf({ topic })));
      if (whole !== undefined) freed.set(topic, { sinceMs: whole.sinceMs, atMs: nowMs });
      for (const [name, one] of setbacks)
        if (one.topic === topic && one.partitions !== partitions) setbacks.delete(name);
    },
    drained(nowMs, others) {
      const kept = new Set(others.map(partitionName));
      for (const [name, { untilMs }] of setbacks)
        if (untilMs <= nowMs && !kept.has(name)) setbacks.delete(name);
    },
    forget() {
      setbacks.clear();
      freed.clear();
    },
    held: (nowMs) => [...setbacks.values()].filter(({ untilMs }) => untilMs > nowMs),
    unavailable: () => unavailable([...setbacks.values()].filter(({ failure }) => !isOfItsTopic(failure))),
    untimelySinceMs() {
      const untimely = [...setbacks.values()].filter(({ failure }) => isOfClock(failure.code));
      return untimely.length === 0 ? null : Math.min(...untimely.map(({ sinceMs }) => sinceMs));
    },
    conditions(nowMs) {
      const all = [...setbacks.values()];
      const lasting = all.filter(
        ({ failure, sinceMs }) => !isOfItsTopic(failure) && nowMs - sinceMs >= options.conditionAfterMs,
      );
      const denied = topicsDenied(all.filter(({ failure }) => isOfItsTopic(failure)));
      const ofKafka = unavailable(lasting);
      return ofKafka === null ? denied : [...denied, { name: 'kafka-unavailable', ...ofKafka }];
    },
  };
}

function only({ topic, partition, partitions }: HeldPartition): HeldPartition {
  return { topic, partition, partitions };
}

function wholeOf({ topic }: Pick<HeldPartition, 'topic'>): HeldPartition {
  return { topic, partition: 0, partitions: 1 };
}

/** Must somebody change the topic, or a right to it? A login or a certificate that is refused is none of the topic's. */
function isOfItsTopic({ kind, code }: Failure): boolean {
  return needsSomebody(kind) && !isOfClient(code);
}

/** One for each topic. */
function topicsDenied(setbacks: Setback[]): Condition[] {
  const byTopic = Map.groupBy(setbacks, ({ topic }) => topic);
  return [...byTopic].map(([topic, ofTopic]) => ({
    name: 'topic-denied',
    labels: { topic },
    sinceMs: Math.min(...ofTopic.map(({ sinceMs }) => sinceMs)),
    detail: deniedWords(topic, ofTopic),
    ...(ofTopic.some(({ failure }) => failure.kind === 'missing') ? { whenOver: madeAnew(topic) } : {}),
  }));
}

/** Of a topic that is denied before anything could be sent, as of one that a send was refused for. */
export function topicDenied(topic: string, code: string, sinceMs: number): Condition {
  const left = kindOf(code) === 'missing' ? { whenOver: madeAnew(topic) } : {};
  return { name: 'topic-denied', labels: { topic }, sinceMs, detail: wholeDenied(topic, code), ...left };
}

const eventKinds = ['equipment', 'field-operation', 'organization-access'] as const;

/** Of a topic that is not there: whether it ever was is not known here. */
function madeAnew(topic: string): string {
  const kind = eventKinds.find((one) => topic.endsWith(topicOf('', one))) ?? 'KIND';
  return `A topic that was made anew holds only what was sent since: \`tramline replay --kind ${shellWord(kind)}\` sends the newest event of each key there.`;
}

function wholeDenied(topic: string, code: string): string {
  return `Nothing can be written to topic ${topic}: ${code}. Its events are kept and wait.`;
}

function deniedWords(topic: string, setbacks: Setback[]): string {
  const code = String(setbacks[0]?.failure.code);
  if (isAll(setbacks)) return wholeDenied(topic, code);
  const whose = setbacks.length === 1 ? 'Its' : 'Their';
  return `${named(setbacks)} cannot be written: ${code}. ${whose} events are kept and wait.`;
}

/** Whether these are all partitions of their topic. */
function isAll(setbacks: Setback[]): boolean {
  const byCount = Map.groupBy(setbacks, ({ partitions }) => partitions);
  return [...byCount].some(
    ([count, ofCount]) => new Set(ofCount.map(({ partition }) => partition)).size === count,
  );
}

/** The first by its name; `partitions` is not empty. */
export function named([first, ...others]: HeldPartition[]): string {
  const more = others.length === 1 ? '1 more partition' : `${others.length} more partitions`;
  return `${first?.topic}-${first?.partition}${others.length === 0 ? '' : ` and ${more}`}`;
}

/** One for all, with the first reason in full. */
function unavailable(setbacks: Setback[]): Unavailable | null {
  const [first] = setbacks;
  if (first === undefined) return null;
  return {
    sinceMs: Math.min(...setbacks.map(({ sinceMs }) => sinceMs)),
    detail: `${named(setbacks)} cannot be written: ${first.failure.detail}.`,
  };
}
