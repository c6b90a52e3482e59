/**
 * The relay drains the outbox: one send in flight, rows of a key in order, the same bytes until they are acknowledged.
 * Order of a step: take the epoch, then confirm the lease, then pick rows, so that a relay that was replaced can neither
 * write late nor mark. What a send does not name as written was not sent. Nothing here knows Kafka.
 */
import type { OutboxRow } from '../model/event';
import { isProblem } from '../model/problem';
import type { LeaseHeld, Outbox } from '../model/store';
import { type CatchUp, makeCatchUp } from './catch-up';
import { describeError } from './classify-error';
import { type KnownFaults, makeKnownFaults, type Told } from './known-faults';
import { type Lease, makeLease } from './lease';
import { type Marks, makeMarks } from './marks';
import { groupByPartition, planRounds } from './plan-rounds';
import type { RelayHooks, RelayOptions } from './relay-options';
import { resendLogged } from './resend-logged';
import { makeSetbacks, type Setbacks } from './setbacks';
import { type Batch, epochMsOf, type Failure, type PublishTarget, unnamed } from './target';
import { makeTrouble, type Trouble } from './trouble';
import { makeWidths, type Widths } from './widths';

/** Each send costs the store a commit and the broker a request, whatever is in it: by the dozen, rows are picked so far apart. */
const gatheredRowsMin = 12;
const pickedApartMs = 10;
/** How often one that does not lead asks for the lease: as much later than its end it takes over. */
const standbyLookMs = 500;

export interface Relay extends Told {
  /**
   * One turn: `worked` when there was something to send, `empty` when nothing is unsent, `waiting` when what is unsent
   * must wait (for a lease, a back-off, a broker). Turns never overlap. Throws what the outbox throws.
   */
  step(): Promise<'worked' | 'empty' | 'waiting'>;
  /** How long to let rows gather before the next step: while they come by the dozen, what is left since the last were picked. */
  gatherMs(): number;
  /** When a waiting relay should be stepped again, by its clock; null when nothing but new rows can make a difference. */
  holdUntilMs(): number | null;
  /** Ends: waits for the step under way, `withinMs` at most where that is given, and gives producer and lease back. */
  close(withinMs?: number): Promise<void>;
}

/**
 * Starts nothing until it is run or stepped; in memory is at most one page of the outbox. A step rejects as the outbox
 * does; what the target did not confirm is sent again, byte for byte.
 */
export function makeRelay(
  outbox: Outbox,
  target: PublishTarget,
  options: RelayOptions,
  hooks: RelayHooks = {},
): Relay {
  return new OutboxRelay(outbox, target, options, hooks);
}

class OutboxRelay implements Relay {
  private readonly lease: Lease;
  private readonly setbacks: Setbacks;
  private readonly widths: Widths;
  private readonly catchUp: CatchUp;
  private readonly marks: Marks;
  private readonly trouble: Trouble;
  private readonly faults: KnownFaults;
  private turn: Promise<unknown> = Promise.resolve();
  private closing = false;
  private isOpen = false;
  private openedAtMs = 0;
  private tookOver = false;
  private resent = false;
  private picked = { rows: 0, atMs: 0 };
  readonly conditions = () => this.faults.conditions();
  readonly settled = () => this.faults.settled();
  readonly isOver: Told['isOver'] = (...state) => this.faults.isOver(...state);

  constructor(
    private readonly outbox: Outbox,
    private readonly target: PublishTarget,
    private readonly options: RelayOptions,
    private readonly hooks: RelayHooks,
  ) {
    this.lease = makeLease(outbox, options);
    this.setbacks = makeSetbacks(options);
    this.widths = makeWidths(options.batchRows);
    this.catchUp = makeCatchUp(target, options.ends, options);
    this.marks = makeMarks(outbox);
    this.trouble = makeTrouble(options);
    const { setbacks, catchUp, trouble } = this;
    this.faults = makeKnownFaults({ setbacks, catchUp, trouble }, options);
  }

  step(): Promise<'worked' | 'empty' | 'waiting'> {
    const step = this.turn.then(() => this.takeTurn());
    this.turn = step.catch(() => {});
    return step;
  }

  gatherMs(): number {
    const { rows, atMs } = this.picked;
    const gathers = rows >= gatheredRowsMin && rows < this.options.batchRows;
    return gathers ? Math.max(0, atMs + pickedApartMs - this.nowMs()) : 0;
  }

  holdUntilMs(): number | null {
    const nowMs = this.nowMs();
    const times = this.setbacks.held(nowMs).map(({ untilMs }) => untilMs);
    for (const atMs of [this.trouble.untilMs(), this.catchUp.nextMs() ?? 0])
      if (atMs > nowMs) times.push(atMs);
    return times.length === 0 ? null : Math.min(...times);
  }

  async close(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    this.closing = true;
    const { clock, closeWithinMs } = this.options;
    const ended = new AbortController();
    await Promise.race([this.turn, clock.wait(Math.min(closeWithinMs, withinMs), ended.signal)]);
    ended.abort();
    // Whatever still runs fails now, and is sent again by whoever leads next.
    await this.target.close();
    await this.turn;
    await this.lease.giveBack();
  }

  private async takeTurn(): Promise<'worked' | 'empty' | 'waiting'> {
    if (this.closing) return 'waiting';
    if (this.trouble.isPausing()) return this.waitOn();
    if (this.lease.isHeld() && this.trouble.isInVain(this.setbacks.unavailable())) return this.standBack();
    if (!(await this.lead())) return 'waiting';
    await this.mark();
    const { batchRows, batchBytes, partitionBytesMax } = this.options;
    const held = [...this.setbacks.held(this.nowMs()), ...this.catchUp.held()];
    const atMs = this.nowMs();
    const rows = await this.outbox.pickUnsent(batchRows, batchBytes, held, this.leader());
    this.picked = { rows: rows.length, atMs };
    if (rows.length === 0) {
      // By its word it is another's, or the store is not the one that was told of the topics' ends.
      if (!(await this.outbox.leads(this.leader()))) {
        await this.stepDown();
        return 'worked';
      }
      this.setbacks.drained(this.nowMs(), this.catchUp.held());
      if (this.setbacks.unavailable() === null && !this.catchUp.isWaiting()) this.trouble.over();
      this.faults.couldWriteBut(held, true);
      return held.length === 0 ? 'empty' : 'waiting';
    }
    const groups = groupByPartition(rows, await this.countPartitions(rows));
    const bounds = { partitionBytesMax, rowsMax: this.widths.of };
    this.faults.sends();
    for (const round of planRounds(groups, bounds)) if (!(await this.send(round))) return 'worked';
    this.faults.couldWriteBut(held, false);
    return 'worked';
  }

  /**
   * The lease is kept through a pause, since another would most likely meet the same. But it may be this process alone that
   * cannot reach Kafka, so from time to time another may try. Until one does, this one goes on telling.
   */
  private async waitOn(): Promise<'waiting'> {
    const standing = this.trouble.standing();
    if (standing === 'over') await this.confirm();
    if (standing !== null || !this.lease.isHeld()) return 'waiting';
    if (this.trouble.lastsLong()) return this.standBack();
    if (this.lease.isAging()) await this.confirm();
    return 'waiting';
  }

  private async standBack(): Promise<'waiting'> {
    this.trouble.standBack();
    try {
      await this.lease.giveBack();
    } finally {
      await this.stepDown();
    }
    return 'waiting';
  }

  /** True when this relay may pick rows: its producer is the newest, and after that the lease was confirmed. */
  private async lead(): Promise<boolean> {
    // A lease that lapsed may have been another's since, with an epoch newer than ours.
    if (!this.lease.isHeld()) await this.stepDown();
    const epochMs = epochMsOf(this.target, this.options.epochMsMax);
    if (this.isOpen && this.nowMs() - this.openedAtMs >= epochMs) await this.discard();
    if (!this.isOpen) {
      // Asked before as well: whoever does not hold the lease must not fence the one who does.
      if (!(await this.confirm())) return false;
      await this.takeOver();
      if (!(await this.open()) || !(await this.confirm())) return false;
    } else if (this.lease.isAging() && !(await this.confirm())) return false;
    // Before the topics are read: only what is unsent is held against what stands there.
    this.resent ||=
      this.target.name !== 'kafka' || (await resendLogged(this.outbox, () => this.stillLeads()));
    if (!this.resent) return false;
    return !this.catchUp.isDue() || this.readOn();
  }

  /** As the store is to see it when it gives rows and marks them. */
  private leader(): LeaseHeld {
    return { ...this.lease.held, ends: this.catchUp.ends() };
  }

  private async confirm(): Promise<boolean> {
    this.trouble.asks();
    if (await this.lease.confirm()) return true;
    this.trouble.over();
    this.trouble.wait(Math.min(standbyLookMs, this.options.leaseMs / 10));
    await this.stepDown();
    this.faults.leave();
    return false;
  }

  /** What was told of Kafka and its topics before this relay led lasts until it could write. */
  private async takeOver(): Promise<void> {
    if (this.tookOver) return;
    const [sinceMs, topics] = [await this.options.troubleSinceMs(), await this.options.toldTopics()];
    this.tookOver = true;
    this.trouble.takeOver(sinceMs);
    this.faults.takeOver(topics);
  }

  private async stillLeads(): Promise<boolean> {
    if (this.closing) return false;
    if (this.lease.isHeld()) return !this.lease.isAging() || this.confirm();
    // One that lapsed and can be had again may have been another's in between.
    await this.stepDown();
    return false;
  }

  private async readOn(): Promise<boolean> {
    try {
      return await this.lease.during(this.catchUp.run(() => this.stillLeads()));
    } catch (error) {
      if (isProblem(error) && error.code.startsWith('store.')) throw error;
      await this.discard();
      const { code, detail } = describeError(error);
      this.hooks.unopened?.(code, detail);
      this.trouble.pause(this.options.retry, `The topics cannot be read: ${detail}.`);
      return false;
    }
  }

  private async open(): Promise<boolean> {
    try {
      this.openedAtMs = this.nowMs();
      await this.lease.during(this.target.open());
      this.isOpen = true;
      return true;
    } catch (error) {
      if (!isProblem(error)) throw error;
      const { code, message } = error;
      const { denied, retry } = this.options;
      this.hooks.unopened?.(code, message);
      this.trouble.began(this.setbacks.unavailable()?.sinceMs ?? this.openedAtMs, message);
      this.trouble.pause(code === 'publish.refused' ? denied : retry, message);
      return false;
    }
  }

  private async countPartitions(rows: OutboxRow[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { topic } of rows) {
      if (!counts.has(topic) && !this.closing) counts.set(topic, await this.target.partitionsOf(topic));
    }
    return counts;
  }

  /** Sends one round and deals with what came of it. True when the next may follow. */
  private async send(round: Batch[]): Promise<boolean> {
    if (!(await this.stillLeads())) return false;
    const startedMs = this.nowMs();
    const { outcomes, spent } = await this.lease.during(this.target.send(round));
    // Held up beyond the lease: another may have sent since, and what is newest is no longer ours to say.
    if (!this.lease.isHeld()) {
      await this.stepDown();
      this.trouble.began(startedMs, lapsed);
      return false;
    }
    const sentRows: OutboxRow[] = [];
    const failures: [Batch, Failure][] = [];
    let isBehind = false;
    round.forEach((batch, index) => {
      const outcome = outcomes[index] ?? unnamed;
      if (outcome.sent) {
        if (this.catchUp.follows(batch, outcome)) this.marks.acknowledged(batch, outcome);
        else isBehind = true;
        this.setbacks.succeeded(batch, this.nowMs());
        this.widths.accepted(batch);
        sentRows.push(...batch.rows);
      } else failures.push([batch, outcome]);
    });
    const nowMs = this.nowMs();
    const isSpent = spent || outcomes.length < round.length;
    if (isSpent) await this.discard();
    if (sentRows.length > 0) {
      this.trouble.over();
      await this.mark();
      this.hooks.sent?.(sentRows, nowMs - startedMs);
    }
    for (const [{ topic, rows }, { code }] of failures)
      this.hooks.failed?.(topic, code, rows.length, nowMs - startedMs);
    const written = new Set(sentRows.map(({ topic }) => topic));
    await this.setBack(failures, startedMs, written);
    this.faults.sent(written, new Set(failures.map(([{ topic }]) => topic)));
    return failures.length === 0 && !isSpent && !isBehind;
  }

  private async mark(): Promise<void> {
    this.catchUp.noted(await this.marks.write(this.leader()));
  }

  /** `written`: topics that the same round wrote to. */
  private async setBack(failures: [Batch, Failure][], sinceMs: number, written: Set<string>): Promise<void> {
    for (const [batch, failure] of failures) {
      if (failure.kind === 'too-large' || failure.kind === 'refused') await this.narrow(batch, failure);
      else if (failure.kind !== 'fenced')
        this.setbacks.failed(batch, failure, this.nowMs(), sinceMs, written.has(batch.topic));
    }
    const failing = this.setbacks.unavailable();
    if (failing !== null) this.trouble.met(failing.detail);
    const fenced = failures.find(([, { kind }]) => kind === 'fenced');
    if (fenced === undefined) return;
    // The lease of this store is ours: whoever has the epoch now may be of another, and may have written.
    this.catchUp.reset();
    const detail = `Another producer took over (${fenced[1].detail}). If this lasts, another installation uses the same KAFKA_CLIENT_ID.`;
    // The first time at once, since the lease decides; then slower, since two installations may be at war.
    if (this.trouble.isOver()) this.trouble.began(sinceMs, detail);
    else this.trouble.pause(this.options.retry, detail);
  }

  /** A batch was refused for what is in it: fewer rows next time, and one that stands alone is set aside. */
  private async narrow(batch: Batch, { kind, detail }: Failure): Promise<void> {
    const [row] = batch.rows;
    if (batch.rows.length > 1 || row === undefined) return this.widths.refused(batch, batch.rows.length);
    const reason = kind === 'too-large' ? 'record-too-large' : 'record-refused';
    await this.outbox.quarantineRecord(row.row, reason, detail);
    this.widths.clear(batch);
  }

  private async stepDown(): Promise<void> {
    this.faults.clear();
    this.tookOver = false;
    this.lease.drop();
    this.marks.forget();
    this.catchUp.reset();
    // One without brokers may lead next, and what it takes is in the log alone.
    this.resent = false;
    this.setbacks.clear();
    await this.discard();
  }

  private async discard(): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    await this.target.discard();
    this.hooks.discarded?.();
  }

  private nowMs(): number {
    return this.options.clock.steadyMs();
  }
}

const lapsed = 'The lease runs out while records are sent: the store is slow, or this process stands still.';
