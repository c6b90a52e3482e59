/**
 * The lease that makes one relay the leader, as seen from the relay: confirmed by the store, and trusted only for as long
 * as the store granted it, counted from before it was asked; renewed while something long is under way. Pure but for the
 * store's verb.
 */
import type { LeaseHeld, Outbox } from '../model/store';
import type { Clock } from '../tools/clock';

export interface LeaseOptions {
  clock: Clock;
  leaseName: string;
  /** Another text for each process. */
  holder: string;
  leaseMs: number;
}

export interface Lease {
  /** For the store, which looks itself whether it is held. */
  readonly held: LeaseHeld;
  /** Takes or renews it; false when another has it. Throws what the store throws. */
  confirm(): Promise<boolean>;
  /** Renews it; false when another has it, and once it has run out. Throws what the store throws. */
  renew(): Promise<boolean>;
  /** Whether nobody else can have it. */
  isHeld(): boolean;
  /** Whether a third of its time is over. */
  isAging(): boolean;
  /** The store says that it is not held: it is to be confirmed before it is trusted again. */
  forget(): void;
  /**
   * What `work` answers or throws, once no renewal is under way any more. Until then it is renewed each time a third of it is
   * over, and never once it has run out; where the store does not answer, it runs out as ever.
   */
  during<T>(work: Promise<T>): Promise<T>;
  /** Ends it, so that another need not wait; does nothing when it is not held. */
  giveBack(): Promise<void>;
}

/** Why a wait is over; a reason of its own, since the default one is an error with its stack. */
const over = 'over';

export function makeLease(
  outbox: Pick<Outbox, 'holdLease'>,
  { clock, leaseName, holder, leaseMs }: LeaseOptions,
): Lease {
  let sinceMs = Number.NEGATIVE_INFINITY;
  const ageMs = () => clock.steadyMs() - sinceMs;
  async function confirm(): Promise<boolean> {
    const askedMs = clock.steadyMs();
    const held = await outbox.holdLease(leaseName, holder, leaseMs);
    sinceMs = held ? askedMs : Number.NEGATIVE_INFINITY;
    return held;
  }
  const isHeld = () => ageMs() < leaseMs;
  /** What lapsed may have been another's since, however soon it is held again: it stays lapsed. */
  async function renew(): Promise<boolean> {
    const untilMs = sinceMs + leaseMs;
    if (!isHeld()) return false;
    try {
      await confirm();
    } finally {
      if (clock.steadyMs() >= untilMs) sinceMs = Number.NEGATIVE_INFINITY;
    }
    return isHeld();
  }
  async function renewUntil(ended: AbortSignal): Promise<void> {
    for (;;) {
      await clock.wait(leaseMs / 3, ended);
      if (ended.aborted || !isHeld()) return;
      await renew().catch(() => false);
    }
  }
  return {
    held: { name: leaseName, holder },
    confirm,
    renew,
    async during(work) {
      const ended = new AbortController();
      const renewal = renewUntil(ended.signal);
      try {
        return await work;
      } finally {
        ended.abort(over);
        await renewal;
      }
    },
    isHeld,
    isAging: () => ageMs() >= leaseMs / 3,
    forget() {
      sinceMs = Number.NEGATIVE_INFINITY;
    },
    async giveBack() {
      if (ageMs() >= leaseMs) return;
      sinceMs = Number.NEGATIVE_INFINITY;
      await outbox.holdLease(leaseName, holder, 0);
    },
  };
}
