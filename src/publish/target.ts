/**
 * Where the relay sends: a Kafka cluster or the embedded event log. A target knows partitions, producers and the errors of
 * its far side; it knows nothing of leases, back-off or the outbox.
 */

import type { OutboxRow } from '../model/event';
import type { HeldPartition } from '../model/store';
import type { FoundPage, KnownEnd, TopicEnd, TopicPlace } from '../model/topic-end';

/** Rows of one partition in the order in which they must stand there: at least one. */
export interface Batch extends HeldPartition {
  rows: OutboxRow[];
}

/**
 * What a failure asks for. `retry`: the same bytes later. `too-large`, `refused`: fewer rows at a time, until the one
 * that is at fault stands alone. `denied`, `missing`: rarely again, until somebody has changed the topic or its rights.
 * `fenced`: another producer has, or may have, taken over: confirm the lease first.
 */
export type FailureKind = 'retry' | 'too-large' | 'refused' | 'denied' | 'missing' | 'fenced';

/** Not known to be written. `code` is Kafka's name of the error where it has one; `detail` is for people, no secrets. */
export interface Failure {
  sent: false;
  kind: FailureKind;
  code: string;
  detail: string;
}

/** A place that was not read: nothing may be sent there yet. */
export interface Unread extends HeldPartition {
  /** Kafka's name of why nothing of the topic can be had before somebody changes that; absent where it comes back by itself. */
  refused?: string;
  /** A quota of the far side leaves nothing to be read. */
  heldBack?: true;
}

/** What reading on could not read, of which topics that is because they may only be written, and the end of each partition that was read to it. */
export interface LeftUnread {
  unread: Unread[];
  denied: string[];
  ends: TopicEnd[];
}

/** Every row of the batch is written; `firstOffset` is that of its first row, null where there are no offsets. */
export interface Success {
  sent: true;
  firstOffset: string | null;
}

export type Outcome = Success | Failure;

export interface SendResult {
  /** One for each batch, in their order. A batch without one is not known to be written. */
  outcomes: Outcome[];
  /** True when this producer must not send again: what it failed to send may still arrive, or its numbering is off. */
  spent: boolean;
  /** For how long a quota of the far side holds back what is sent next: 10 minutes at most. Absent where none does. */
  heldBackMs?: number;
}

/** What becomes of a batch without an outcome. */
export const unnamed: Failure = {
  sent: false,
  kind: 'retry',
  code: 'UNNAMED',
  detail: 'the answer did not name this partition',
};

export interface BrokerAddress {
  host: string;
  port: number;
}

export interface PublishTarget {
  name: 'kafka' | 'event-log';
  /**
   * Takes a new epoch: from now on a producer opened earlier, here or in another process, cannot write where this one
   * has written. Bounded in time. Throws `publish.unavailable` or `publish.refused`.
   */
  open(): Promise<void>;
  /**
   * How long after `open` the far side still knows whom the next epoch is to keep from writing; null where it does not tell.
   * Absent where nothing is forgotten.
   */
  forgottenAfterMs?(): number | null;
  /**
   * From now on `heard` is told whenever a quota of the far side holds back what is asked of it next, of sends too, for a second and
   * more: for how long, 10 minutes at most. Absent where none does.
   */
  onHeldBack?(heard: (forMs: number) => void): void;
  /** Partitions of the topic as last known, at least 1; 1 also for a topic that is not there: `send` says why. */
  partitionsOf(topic: string): Promise<number>;
  /** The broker that leads the partition, as last known; null while none does. Absent where there are no brokers. */
  leaderOf?(place: Pick<HeldPartition, 'topic' | 'partition'>): BrokerAddress | null;
  /** One call at a time, between `open` and `discard`. Bounded in time. Does not throw for what brokers do. */
  send(batches: Batch[]): Promise<SendResult>;
  /**
   * Hands over what stands on the topics beyond the places that are known, piece by piece, until `heard` says false: null
   * then, else what is left, also where nothing stands elsewhere. After `open`. Throws what the far side makes it throw.
   * `isWanted`: of which places; all when left out.
   */
  readOn(
    known: KnownEnd[],
    heard: (page: FoundPage) => Promise<boolean>,
    isWanted?: (place: TopicPlace) => boolean,
  ): Promise<LeftUnread | null>;
  /** Gives the producer up at once, without waiting for anybody. `open` comes next, or nothing. */
  discard(): Promise<void>;
  /** Ends politely, within a second. */
  close(): Promise<void>;
}

/** How old an epoch may become, at most `epochMsMax`: after it was forgotten nobody would keep its producer from writing. */
export function epochMsOf(target: PublishTarget, epochMsMax: number): number {
  return Math.min(epochMsMax, (target.forgottenAfterMs?.() ?? Number.POSITIVE_INFINITY) / 2);
}
