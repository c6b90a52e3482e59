/**
 * Sends kept events to a topic that is none of the live ones, through a producer of its own: the same bytes, in their
 * order. What was not acknowledged is sent again, so a record may stand there twice. Bounded in memory by its callers,
 * who hand over no more than `chunksOf` says.
 */
import { type OutboxRow, type RowPlace, recordBytes } from '../model/event';
import { Problem } from '../model/problem';
import type { SelectedEvent } from '../model/replay';
import { type BackoffBounds, backoffMs } from '../tools/backoff';
import type { Clock } from '../tools/clock';
import { groupByPartition, planRounds, type RoundBounds } from './plan-rounds';
import type { ReplayHold } from './replay-hold';
import type { Batch, Failure, PublishTarget } from './target';
import { makeThrottle, type Throttle } from './throttle';
import { makeWidths } from './widths';

export interface HistorySender {
  /** Throws `command.usage` for a live topic, or one that is not there. */
  refuseUnfit(topic: string): Promise<void>;
  /**
   * All of them but those that alone are too large for the topic, which are passed over; or it throws `publish.refused` or
   * `publish.unavailable`, and what `hold` throws, when it is not held any more.
   */
  send(topic: string, rows: OutboxRow[], hold: SendHold): Promise<SentHistory>;
  /** Cuts off what is opened or sent just now. */
  close(): Promise<void>;
}

export interface SentHistory {
  sent: RowPlace[];
  /** Rows of the outbox. */
  tooLarge: number[];
}

export type SendHold = Pick<ReplayHold, 'check' | 'confirm'>;

export interface HistoryDoors {
  liveTopics: string[];
  exists(topic: string): Promise<boolean>;
  target(topic: string): PublishTarget;
  clock: Clock;
}

const partitionBytesMax = 917_504;
const rowsMax = 500;
const bytesMax = 4_194_304;
const attemptsMax = 6;
/** How often whoever waits for a quota looks whether it may still send. */
const holdLookMs = 1000;
const backoff: BackoffBounds = { baseMs: 200, maxMs: 5000 };

/**
 * Pieces of what was selected, in order; each holds at least one event when any is there, and is never missing. A piece
 * has at most 500 events and 4 MiB, or one larger event.
 */
export function chunksOf(events: SelectedEvent[]): SelectedEvent[][] {
  const chunks: SelectedEvent[][] = [[]];
  let bytes = 0;
  for (const event of events) {
    const chunk = chunks.at(-1)!;
    if (chunk.length > 0 && (chunk.length === rowsMax || bytes + event.bytes > bytesMax)) {
      chunks.push([event]);
      bytes = event.bytes;
    } else {
      chunk.push(event);
      bytes += event.bytes;
    }
  }
  return chunks;
}

/**
 * Keeps one topic open at a time. Rejects with `command.usage` for a live topic and for one that does not exist, else
 * with `publish.refused` or `publish.unavailable`. A send has at most 500 events, and 896 KiB of one partition, or as many
 * as the topic takes; it is tried 6 times.
 */
export function makeHistorySender({ liveTopics, exists, target: make, clock }: HistoryDoors): HistorySender {
  let open: { topic: string; target: PublishTarget } | null = null;
  const [bounds, throttle] = [makeTopicBounds(), makeThrottle(clock)];

  /** After the epoch the lease is confirmed: whoever was replaced meanwhile has fenced its successor, but sends nothing. */
  async function opened(topic: string, hold: SendHold): Promise<PublishTarget> {
    if (open?.topic === topic) return open.target;
    await close();
    hold.check();
    const target = make(topic);
    // Known before it is open, so that it can be cut off.
    open = { topic, target };
    await target.open().catch((error: unknown) => close().then(() => Promise.reject(error)));
    await hold.confirm();
    return target;
  }

  async function close(): Promise<void> {
    await open?.target.close();
    open = null;
  }

  /** What was acknowledged of these, and the failure that asks for most: that of one event, then any but a narrower batch. */
  async function attempt(topic: string, rows: OutboxRow[], hold: SendHold) {
    const target = await opened(topic, hold);
    const partitions = new Map([[topic, await target.partitionsOf(topic)]]);
    const groups = groupByPartition(
      rows.map((row) => ({ ...row, topic })),
      partitions,
    );
    const { sent, tooLarge }: SentHistory = { sent: [], tooLarge: [] };
    for (const round of planRounds(groups, bounds.of(topic))) {
      await waitOut(throttle, hold, clock);
      const { outcomes, spent, heldBackMs = 0 } = await target.send(round);
      throttle.told(heldBackMs);
      // Held up beyond the lease: another may have sent since, and has noted more than this one may.
      hold.check();
      const failures: Failed[] = [];
      round.forEach((batch, index) => {
        const outcome = outcomes[index] ?? unanswered;
        if (outcome.sent) {
          bounds.accepted(batch);
          sent.push(...acknowledged(batch, outcome.firstOffset));
        } else failures.push(failedOf(batch, outcome));
      });
      tooLarge.push(...failures.flatMap(bounds.refused));
      // The order within a partition is kept only by whoever sends the rest again.
      if (spent || failures.length > 0) {
        await close();
        return { sent, tooLarge, failed: worstOf(failures) };
      }
    }
    return { sent, tooLarge, failed: null };
  }

  return {
    async refuseUnfit(topic) {
      if (liveTopics.includes(topic))
        throw new Problem('command.usage', `${topic} is a live topic: history goes to another one`);
      if (!(await exists(topic)))
        throw new Problem('command.usage', `there is no topic ${topic}: create it first`);
    },
    async send(topic, rows, hold) {
      const done: SentHistory = { sent: [], tooLarge: [] };
      for (let left = rows, attempts = 1; ; ) {
        if (left.length === 0) return done;
        const { sent, tooLarge, failed } = await attempt(topic, left, hold);
        done.sent.push(...sent);
        done.tooLarge.push(...tooLarge);
        const gone = new Set([...sent.map(({ row }) => row), ...tooLarge]);
        left = left.filter(({ row }) => !gone.has(row));
        // Halved batches come to single events soon: they are no attempts, nor is an event that is passed over.
        if (failed === null || failed.next === 'narrow' || failed.next === 'pass') continue;
        const detail = `${topic}: ${failed.detail}`;
        if (failed.next === 'stop') throw new Problem('publish.refused', detail);
        if (attempts >= attemptsMax) throw new Problem('publish.unavailable', detail);
        await clock.wait(backoffMs(attempts, backoff, () => 1));
        attempts += 1;
      }
    },
    close,
  };
}

/** Throws what `hold` throws, within a second. */
async function waitOut(throttle: Throttle, hold: SendHold, clock: Clock): Promise<void> {
  hold.check();
  for (let leftMs = throttle.leftMs(); leftMs > 0; leftMs = throttle.leftMs()) {
    await clock.wait(Math.min(leftMs, holdLookMs));
    hold.check();
  }
}

/** A batch that is not known to be written, and what comes next: fewer rows at a time, the same again, what is behind it, or the end. */
interface Failed {
  batch: Batch;
  next: 'stop' | 'again' | 'narrow' | 'pass';
  detail: string;
}

const unanswered: Failure = { sent: false, kind: 'retry', code: 'UNNAMED', detail: 'no answer' };

/** Where one event alone is at fault, it is named. */
function failedOf(batch: Batch, { kind, detail }: Failure): Failed {
  if (kind === 'retry') return { batch, next: 'again', detail };
  if (kind !== 'too-large' && kind !== 'refused') return { batch, next: 'stop', detail };
  if (batch.rows.length > 1) return { batch, next: 'narrow', detail };
  if (kind === 'too-large') return { batch, next: 'pass', detail };
  return { batch, next: 'stop', detail: `event ${batch.rows[0]?.eventId}: ${detail}` };
}

/**
 * What topics take: so many rows at a time, and below the size of the smallest record that each refused alone. Batches are
 * not compressed, so that one as large is likely to be refused as well: alone it costs one producer, among others one for each halving.
 */
function makeTopicBounds() {
  const widths = makeWidths(rowsMax);
  const least = new Map<string, number>();
  const leastRefused = (topic: string) => least.get(topic) ?? Number.POSITIVE_INFINITY;
  const largest = ({ rows }: Batch) => Math.max(...rows.map(recordBytes));
  return {
    of: (topic: string): RoundBounds => ({
      partitionBytesMax,
      rowsMax: widths.of,
      aloneBytesMin: leastRefused(topic),
    }),
    /**
     * The row that is passed over. The width stays: where one was too large others often are, and from all rows at once each is
     * looked for anew.
     */
    refused({ batch, next }: Failed): number[] {
      if (next === 'narrow') widths.refused(batch, batch.rows.length);
      if (next !== 'pass') return [];
      least.set(batch.topic, Math.min(leastRefused(batch.topic), largest(batch)));
      return batch.rows.map(({ row }) => row);
    },
    /** One as large as what was refused: the topic takes more by now. */
    accepted(batch: Batch): void {
      widths.accepted(batch);
      if (least.has(batch.topic) && largest(batch) >= leastRefused(batch.topic)) least.delete(batch.topic);
    },
  };
}

function worstOf(failures: Failed[]): Failed | null {
  const first = (wanted: Failed['next']) => failures.find(({ next }) => next === wanted);
  return first('stop') ?? first('again') ?? failures[0] ?? null;
}

function acknowledged({ rows, partition }: Batch, firstOffset: string | null): RowPlace[] {
  const first = BigInt(firstOffset ?? 0);
  return rows.map(({ row }, index) => ({ row, partition, offset: String(first + BigInt(index)) }));
}
