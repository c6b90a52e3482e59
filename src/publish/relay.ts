/**
 * The relay drains the outbox: one send in flight, rows of a key in order, the same bytes until they are acknowledged. A turn
 * leads, picks rows, and sends them round by round; while a page is sent, the one before is marked and the next is picked.
 * Whether this relay leads is decided in lead.ts. What a send does not name as written was not sent, and nothing that was
 * picked meanwhile goes before it. Nothing here knows Kafka.
 */
import type { OutboxRow } from '../model/event';
import type { HeldPartition, Outbox } from '../model/store';
import { endsWithin } from '../tools/clock';
import { type CatchUp, type KnownEnds, makeCatchUp } from './catch-up';
import { type HeldBack, makeHeldBack } from './held-back';
import { type FaultReport, type KnownFaults, makeKnownFaults } from './known-faults';
import { Lead } from './lead';
import { type Lease, makeLease } from './lease';
import { type Marks, makeMarks } from './marks';
import { Picks } from './picks';
import { groupByPartition, planRounds } from './plan-rounds';
import type { RelayHooks, RelayOptions } from './relay-options';
import { makeSetbacks, type Setbacks } from './setbacks';
import { type Batch, type Failure, type Outcome, type PublishTarget, unnamed } from './target';
import { makeTrouble, type Trouble } from './trouble';
import { makeWidths, type Widths } from './widths';

/** After this no page follows within a turn: whether to read on, or to take a new epoch, is asked between two. */
const turnMs = 1000;

export interface Relay extends FaultReport {
  /**
   * One turn, of a second and a page at most: `worked` when there was something to send, `empty` when nothing is unsent,
   * `waiting` when what is unsent must wait (for a lease, a back-off, a broker). Turns never overlap. Throws what the outbox
   * throws.
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
 * Starts nothing until it is run or stepped; in memory are at most two pages of the outbox. A step rejects as the outbox
 * does; what the target did not confirm is sent again, byte for byte.
 */
export function makeRelay(
  outbox: Outbox & KnownEnds,
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
  private readonly heldBack: HeldBack;
  private readonly lead: Lead;
  private readonly closing = new AbortController();
  private turn: Promise<unknown> = Promise.resolve();
  private readonly picks: Picks;
  /** What was acknowledged is being marked; settled between turns. */
  private marking: Promise<void> = Promise.resolve();
  readonly conditions = () => this.faults.conditions();
  readonly settled = () => this.faults.settled();
  readonly isOver: FaultReport['isOver'] = (...state) => this.faults.isOver(...state);

  constructor(
    private readonly outbox: Outbox & KnownEnds,
    private readonly target: PublishTarget,
    private readonly options: RelayOptions,
    private readonly hooks: RelayHooks,
  ) {
    this.lease = makeLease(outbox, options);
    this.setbacks = makeSetbacks(options);
    this.widths = makeWidths(options.batchRows);
    this.catchUp = makeCatchUp(target, outbox, options);
    this.marks = makeMarks(outbox);
    this.trouble = makeTrouble(options);
    this.heldBack = makeHeldBack(options.clock, hooks);
    target.onHeldBack?.(this.heldBack.began);
    const { lease, setbacks, catchUp, marks, trouble, heldBack } = this;
    this.faults = makeKnownFaults({ setbacks, catchUp, trouble }, options);
    const parts = { outbox, target, lease, setbacks, catchUp, marks, trouble, heldBack };
    this.lead = new Lead({ ...parts, faults: this.faults, closing: this.closing.signal }, options, hooks);
    this.picks = new Picks({ outbox, lead: this.lead }, options);
  }

  step(): Promise<'worked' | 'empty' | 'waiting'> {
    const step = this.turn.then(() => this.takeTurn());
    this.turn = step.catch(() => {});
    return step;
  }

  gatherMs(): number {
    return this.picks.gatherMs();
  }

  holdUntilMs(): number | null {
    const nowMs = this.nowMs();
    const times = this.setbacks.held(nowMs).map(({ untilMs }) => untilMs);
    for (const atMs of [this.trouble.untilMs(), this.catchUp.nextMs() ?? 0])
      if (atMs > nowMs) times.push(atMs);
    return times.length === 0 ? null : Math.min(...times);
  }

  async close(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    this.closing.abort('closing');
    const { clock, closeWithinMs } = this.options;
    await endsWithin(this.turn, Math.min(closeWithinMs, withinMs), clock);
    // Whatever still runs fails now, and is sent again by whoever leads next.
    await this.target.close();
    await this.turn;
    await this.lease.giveBack();
  }

  private async takeTurn(): Promise<'worked' | 'empty' | 'waiting'> {
    this.heldBack.look();
    if (this.closing.signal.aborted || !(await this.lead.take())) return 'waiting';
    await this.mark();
    const held = [...this.setbacks.held(this.nowMs()), ...this.catchUp.held()];
    const rows = await this.picks.first(held);
    if (rows.length === 0) return this.pickedNothing(held);
    this.faults.sends();
    try {
      if (await this.sendPages(rows, held)) this.faults.couldWriteBut(held, false);
    } finally {
      await this.marked();
    }
    return 'worked';
  }

  /** This page, and what is picked meanwhile. True when all was written: what was not keeps all that follows from going out. */
  private async sendPages(first: OutboxRow[], held: HeldPartition[]): Promise<boolean> {
    const untilMs = this.nowMs() + turnMs;
    let isWhole = true;
    for (let rows = first; isWhole && rows.length > 0; ) {
      const sending = this.sendPage(rows).finally(() => this.picks.settle());
      const picking = this.nowMs() < untilMs ? this.picks.next(held, rows, this.marking) : [];
      // Whatever becomes of the one, the other is waited for.
      await Promise.allSettled([sending, picking]);
      [isWhole, rows] = await Promise.all([sending, picking]);
    }
    return isWhole;
  }

  private async sendPage(rows: OutboxRow[]): Promise<boolean> {
    const groups = groupByPartition(rows, await this.countPartitions(rows));
    const { partitionBytesMax } = this.options;
    for (const round of planRounds(groups, { partitionBytesMax, rowsMax: this.widths.of }))
      if (!(await this.send(round))) return false;
    return true;
  }

  private async pickedNothing(held: HeldPartition[]): Promise<'worked' | 'empty' | 'waiting'> {
    // By its word it is another's, or the store is not the one that was told of the topics' ends.
    if (!(await this.outbox.leads(this.lead.held()))) {
      await this.lead.stepDown();
      return 'worked';
    }
    this.setbacks.drained(this.nowMs(), this.catchUp.held());
    if (this.setbacks.unavailable() === null && !this.catchUp.isWaiting())
      this.trouble.over(this.setbacks.untimelySinceMs() === null);
    this.faults.couldWriteBut(held, true);
    return held.length === 0 ? 'empty' : 'waiting';
  }

  private async countPartitions(rows: OutboxRow[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { topic } of rows) {
      if (!counts.has(topic) && !this.closing.signal.aborted)
        counts.set(topic, await this.target.partitionsOf(topic));
    }
    return counts;
  }

  /** Sends one round and deals with what came of it. True when the next may follow. */
  private async send(round: Batch[]): Promise<boolean> {
    if (!(await this.lead.mayGoOn())) return false;
    const startedMs = this.nowMs();
    const { outcomes, spent, heldBackMs = 0 } = await this.lease.during(this.target.send(round));
    if (!this.lease.isHeld()) {
      await this.lead.lapsed(startedMs);
      return false;
    }
    const { sentRows, failures, isBehind } = this.hear(round, outcomes);
    const tookMs = this.nowMs() - startedMs;
    const isSpent = spent || outcomes.length < round.length;
    const isWhole = failures.length === 0 && !isSpent && !isBehind;
    if (isSpent) await this.lead.discard();
    if (sentRows.length > 0) this.trouble.over();
    try {
      if (sentRows.length > 0) {
        await this.beginMark();
        if (!isWhole) await this.marked();
        this.hooks.sent?.(sentRows, tookMs);
      }
    } finally {
      // Also where the store did not take the marks: who was fenced reads on before it sends again.
      for (const [{ topic, rows }, { code }] of failures)
        this.hooks.failed?.(topic, code, rows.length, tookMs);
      const written = new Set(sentRows.map(({ topic }) => topic));
      await this.setBack(failures, startedMs, written);
      this.faults.sent(written, new Set(failures.map(([{ topic }]) => topic)));
      if (heldBackMs > 0) this.holdBack(heldBackMs);
    }
    return isWhole && heldBackMs === 0;
  }

  /** Nothing is sent before the far side takes it: in a send it would wait until that is taken for an outage. The lease is kept. */
  private holdBack(forMs: number): void {
    this.trouble.holdBack(forMs);
    this.faults.heldBack();
  }

  /** Notes what was written of a round. `isBehind`: some of it stands where it does not follow what was read. */
  private hear(round: Batch[], outcomes: Outcome[]) {
    const sentRows: OutboxRow[] = [];
    const failures: [Batch, Failure][] = [];
    let isBehind = false;
    for (const [index, batch] of round.entries()) {
      const outcome = outcomes[index] ?? unnamed;
      if (!outcome.sent) {
        failures.push([batch, outcome]);
        continue;
      }
      if (this.catchUp.follows(batch, outcome)) this.marks.acknowledged(batch, outcome);
      else isBehind = true;
      this.setbacks.succeeded(batch, this.nowMs());
      this.widths.accepted(batch);
      sentRows.push(...batch.rows);
    }
    return { sentRows, failures, isBehind };
  }

  private async mark(): Promise<void> {
    this.catchUp.noted(await this.marks.write(this.lead.held()));
  }

  /**
   * Marks while the next is sent; once what was before is marked, and what comes next is picked: made unsent again by a replay
   * in between, a row would be left out of a pick that has what is newer of its key. Throws what the mark before met.
   */
  private async beginMark(): Promise<void> {
    await this.marked();
    await this.picks.settle();
    this.marking = this.mark();
    this.marking.catch(() => {});
  }

  /** Waits until what was begun to be marked is marked. Throws what the store threw, once. */
  private async marked(): Promise<void> {
    const { marking } = this;
    this.marking = Promise.resolve();
    await marking;
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
    if (fenced !== undefined) this.lead.fenced(fenced[1].detail, sinceMs);
  }

  /** A batch was refused for what is in it: fewer rows next time, and one that stands alone is set aside. */
  private async narrow(batch: Batch, { kind, detail }: Failure): Promise<void> {
    const [row] = batch.rows;
    if (batch.rows.length > 1 || row === undefined) return this.widths.refused(batch, batch.rows.length);
    const reason = kind === 'too-large' ? 'record-too-large' : 'record-refused';
    await this.outbox.quarantineRecord({ row: row.row, eventId: row.eventId }, reason, detail);
    this.widths.clear(batch);
  }

  private nowMs(): number {
    return this.options.clock.steadyMs();
  }
}
