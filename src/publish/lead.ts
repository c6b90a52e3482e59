/**
 * How a relay comes to lead, and when it ceases to. Order: take the epoch, then confirm the lease, then read on where the
 * topics go further than the store knows; only after that rows may be picked. So a relay that was replaced can neither write
 * late nor mark. Picks and sends nothing.
 */
import { isProblem } from '../model/problem';
import type { LeaseHeld, Outbox } from '../model/store';
import { describeError } from './classify-error';
import type { HeldBack } from './held-back';
import type { FaultParts, KnownFaults } from './known-faults';
import type { Lease } from './lease';
import type { Marks } from './marks';
import type { RelayHooks, RelayOptions } from './relay-options';
import { resendLogged } from './resend-logged';
import { epochMsOf, type PublishTarget } from './target';

/** How often one that does not lead asks for the lease: as much later than its end it takes over. */
const standbyLookMs = 500;

const lapsedInSend =
  'The lease runs out while records are sent: the store is slow, or this process stands still.';

/** What the lead rests on, and what is forgotten when it ends. */
export interface LeadParts extends FaultParts {
  outbox: Pick<Outbox, 'resendLogged'>;
  target: PublishTarget;
  lease: Lease;
  marks: Marks;
  faults: KnownFaults;
  heldBack: HeldBack;
  /** Nothing is begun after it is aborted. */
  closing: AbortSignal;
}

/**
 * What each event does to what is remembered of failure, in the order of the calls. In this file:
 * - begins to lead: trouble, then faults take over what was told before.
 * - cannot open, or read on: trouble begins and pauses.
 * - steps down: faults keep what is told of topics; then setbacks, catchUp and marks forget. Trouble stays as it is.
 * - lapsed in a send: steps down; then trouble began with that send.
 * - fenced: catchUp forgets; trouble begins, or pauses. The lease is held still, so the others know what they knew.
 * - stands back: trouble asks for no lease for 3 s; the lease is given back; steps down.
 * - another leads: trouble is over; steps down; then faults and heldBack leave it all to that one.
 * In relay.ts:
 * - sends a page: faults know no more whether all can be written, and know it again once all of that page is.
 * - wrote: catchUp, marks (but for what stands behind what was read) and setbacks hear of each partition; then trouble is over.
 * - could not write, behind that: setbacks hear of it, but for fenced and for what is in a record; trouble, where there is any, says so.
 * - either, behind these: faults hear of both.
 * - nothing to pick: what setbacks hold no more is drained; trouble is over, where none of Kafka's is left; faults hear that.
 * - held back by a quota: trouble, then faults hold back: that is no time in which nothing could be written.
 *
 * Every method throws what the outbox throws.
 */
export class Lead {
  /** The target has a producer, which may send. */
  private isOpen = false;
  private openedAtMs = 0;
  /** What was told by who led before is known. */
  private tookOver = false;
  /** Nothing is left that only the embedded log has. */
  private resent = false;

  constructor(
    private readonly parts: LeadParts,
    private readonly options: RelayOptions,
    private readonly hooks: RelayHooks,
  ) {}

  /** True when this relay may pick rows: its producer is the newest, and after that the lease was confirmed. */
  async take(): Promise<boolean> {
    const { lease, trouble } = this.parts;
    if (trouble.isPausing()) await this.waitOn();
    else if (lease.isHeld() && this.isInVain()) await this.standBack();
    else return this.lead();
    return false;
  }

  /** Whether it has led for long and wrote nothing, at what it may be this process alone that fails: its way to Kafka, or its clock. */
  private isInVain(): boolean {
    const { setbacks, trouble } = this.parts;
    const sinceMs = setbacks.untimelySinceMs();
    return trouble.isInVain(setbacks.unavailable()) || (sinceMs !== null && trouble.hasLedSince(sinceMs));
  }

  /** Whether what `take` said still holds: before each send. */
  async mayGoOn(): Promise<boolean> {
    const { lease, closing } = this.parts;
    if (closing.aborted) return false;
    if (lease.isHeld()) return !lease.isAging() || this.confirm();
    // One that lapsed and can be had again may have been another's in between.
    await this.stepDown();
    return false;
  }

  /** As the store is to see it when it gives rows and marks them. */
  held(): LeaseHeld {
    return { ...this.parts.lease.held, ends: this.parts.catchUp.ends() };
  }

  /** Another may lead from now on: nothing that is known here is trusted any more. */
  async stepDown(): Promise<void> {
    const { lease, marks, catchUp, setbacks, faults } = this.parts;
    // First, since it is read from what is forgotten next.
    faults.keepTold();
    setbacks.forget();
    catchUp.forget();
    marks.forget();
    lease.forget();
    this.tookOver = false;
    // One without brokers may lead next, and what it takes is in the log alone.
    this.resent = false;
    await this.discard();
  }

  /** Held up in a send beyond the lease: another may have sent since, and what is newest is no longer ours to say. */
  async lapsed(sendBeganMs: number): Promise<void> {
    await this.stepDown();
    this.parts.trouble.began(sendBeganMs, lapsedInSend);
  }

  /** The lease of this store is ours: whoever has the epoch now may be of another, and may have written. */
  fenced(by: string, sendBeganMs: number): void {
    const { catchUp, trouble } = this.parts;
    catchUp.forget();
    const detail = `Another producer took over (${by}). If this lasts, another installation uses the same KAFKA_CLIENT_ID.`;
    // The first time at once, since the lease decides; then slower, since two installations may be at war.
    if (trouble.isOver()) trouble.began(sendBeganMs, detail);
    else trouble.pause(this.options.retry, detail);
  }

  /** Gives the producer up: the next send waits for a new epoch. */
  async discard(): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    await this.parts.target.discard();
    this.hooks.discarded?.();
  }

  /**
   * The lease is kept through a pause, since another would most likely meet the same. But it may be this process alone that
   * cannot reach Kafka, so from time to time another may try. Until one does, this one goes on telling.
   */
  private async waitOn(): Promise<void> {
    const { lease, trouble } = this.parts;
    const standing = trouble.standing();
    if (standing === 'over') await this.confirm();
    if (standing !== null) return;
    if (!lease.isHeld()) return this.askAgain();
    if (trouble.lastsLong()) await this.standBack();
    else if (lease.isAging()) await this.confirm();
  }

  /** Lapsed in a pause, the lease may be another's, or have been: whoever has it tells what it knows. Asked until the store answers. */
  private async askAgain(): Promise<void> {
    if (!this.tookOver || !(await this.confirm())) return;
    await this.stepDown();
    await this.confirm();
  }

  private async standBack(): Promise<void> {
    this.parts.trouble.standBack();
    try {
      await this.parts.lease.giveBack();
    } finally {
      await this.stepDown();
    }
  }

  private async lead(): Promise<boolean> {
    const { outbox, target, lease, catchUp } = this.parts;
    // A lease that lapsed may have been another's since, with an epoch newer than ours.
    if (!lease.isHeld()) await this.stepDown();
    const epochMs = epochMsOf(target, this.options.epochMsMax);
    if (this.isOpen && this.nowMs() - this.openedAtMs >= epochMs) await this.discard();
    if (!this.isOpen) {
      // Asked before as well: whoever does not hold the lease must not fence the one who does.
      if (!(await this.confirm())) return false;
      await this.takeOver();
      if (!(await this.open()) || !(await this.confirm())) return false;
    } else if (lease.isAging() && !(await this.confirm())) return false;
    // Before the topics are read: only what is unsent is held against what stands there.
    this.resent ||= target.name !== 'kafka' || (await resendLogged(outbox, () => this.mayGoOn()));
    if (!this.resent) return false;
    return !catchUp.isDue() || this.readOn();
  }

  private async confirm(): Promise<boolean> {
    this.parts.trouble.asks();
    if (await this.parts.lease.confirm()) return true;
    await this.anotherLeads();
    return false;
  }

  private async anotherLeads(): Promise<void> {
    const { trouble, faults, heldBack } = this.parts;
    trouble.over();
    trouble.wait(Math.min(standbyLookMs, this.options.leaseMs / 10));
    // First, since it keeps what is to be left.
    await this.stepDown();
    faults.leave();
    heldBack.leave();
  }

  /** What was told of Kafka and its topics before this relay led lasts until it could write. */
  private async takeOver(): Promise<void> {
    if (this.tookOver) return;
    const { kafkaSinceMs, topics } = await this.options.toldBefore();
    this.tookOver = true;
    this.parts.trouble.takeOver(kafkaSinceMs);
    this.parts.faults.takeOver(topics);
  }

  private async open(): Promise<boolean> {
    const { target, lease, setbacks, trouble } = this.parts;
    try {
      this.openedAtMs = this.nowMs();
      await lease.during(target.open());
      this.isOpen = true;
      return true;
    } catch (error) {
      if (!isProblem(error)) throw error;
      const { code, message } = error;
      const { denied, retry } = this.options;
      this.hooks.unopened?.(code, message);
      trouble.began(setbacks.unavailable()?.sinceMs ?? this.openedAtMs, message);
      trouble.pause(code === 'publish.refused' ? denied : retry, message);
      return false;
    }
  }

  private async readOn(): Promise<boolean> {
    const { lease, catchUp, trouble } = this.parts;
    try {
      return await lease.during(catchUp.run(() => this.mayGoOn()));
    } catch (error) {
      if (isProblem(error) && error.code.startsWith('store.')) throw error;
      await this.discard();
      const { code, detail } = describeError(error);
      this.hooks.unopened?.(code, detail);
      trouble.pause(this.options.retry, `The topics cannot be read: ${detail}.`);
      return false;
    }
  }

  private nowMs(): number {
    return this.options.clock.steadyMs();
  }
}
