/**
 * How a relay goes about it: how much it picks and sends at a time, and how long it waits for what fails.
 */
import type { OutboxRow } from '../model/event';
import type { BackoffBounds } from '../tools/backoff';
import type { LeaseOptions } from './lease';

/** A topic of which a person is told that it cannot be written, and since when. */
export interface DeniedTopic {
  topic: string;
  sinceMs: number;
}

/** What a person is told by whoever led before. */
export interface ToldBefore {
  /** Since when Kafka is unavailable; null where nobody is told that it is. */
  kafkaSinceMs: number | null;
  /** The topics that are denied. */
  topics: DeniedTopic[];
}

export interface RelayOptions extends LeaseOptions {
  /** Rows and bytes picked at a time. */
  batchRows: number;
  batchBytes: number;
  /** Bytes of one partition's batch; below what brokers take (1 MiB unless told otherwise). */
  partitionBytesMax: number;
  retry: BackoffBounds;
  denied: BackoffBounds;
  conditionAfterMs: number;
  /** Asked when a relay begins to lead. A step throws what it throws. */
  toldBefore(): Promise<ToldBefore>;
  /** The topics that are declared today, whatever what is unsent was decided for. */
  liveTopics: readonly string[];
  /** How long `close` waits for the step that is under way before it gives the producer up. */
  closeWithinMs: number;
  /** A producer as old takes a new epoch between two sends; sooner where brokers forget its transactional id before twice that. */
  epochMsMax: number;
  random: () => number;
}

/** What the composition counts and traces. None may throw. */
export interface RelayHooks {
  /** Rows that were acknowledged, and are marked or found when their partition is read again; the time of their send. */
  sent?(rows: OutboxRow[], tookMs: number): void;
  /** A batch of so many rows of the topic failed, so long after its send began. */
  failed?(topic: string, code: string, rows: number, tookMs: number): void;
  /** The target could not be opened, or the topics not be read. */
  unopened?(code: string, detail: string): void;
  /** A quota of the far side holds back what is sent next, for so long from now; `again`: as it did less than a minute before. */
  heldBack?(forMs: number, again: boolean): void;
  /** So much of it has passed since this was last told. */
  waited?(passedMs: number): void;
  /** No quota has held anything back for a minute; since it began, so much was waited. */
  letGo?(waitedMs: number): void;
  /** The producer was given up: what it did not acknowledge is sent again by the next. */
  discarded?(): void;
}

/** `leaseMs` is well above what the store needs to renew it, which happens during a send as well. */
export const relayDefaults = {
  leaseName: 'relay-0',
  leaseMs: 60_000,
  batchRows: 500,
  batchBytes: 8_388_608,
  partitionBytesMax: 917_504,
  retry: { baseMs: 100, maxMs: 10_000 },
  denied: { baseMs: 5_000, maxMs: 60_000 },
  conditionAfterMs: 15_000,
  toldBefore: async (): Promise<ToldBefore> => ({ kafkaSinceMs: null, topics: [] }),
  liveTopics: [] as readonly string[],
  closeWithinMs: 5_000,
  epochMsMax: 21_600_000,
  random: Math.random,
};
