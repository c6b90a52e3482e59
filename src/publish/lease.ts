/**
 * The lease that makes one relay the leader, as seen from the relay: confirmed by the store, and trusted only for as long
 * as the store granted it, counted from before it was asked. Pure but for the store's verb.
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
  /** Whether nobody else can have it. */
  isHeld(): boolean;
  /** Whether a third of its time is over. */
  isAging(): boolean;
  /** Ends it, so that another need not wait; does nothing when it is not held. */
  giveBack(): Promise<void>;
}

export function makeLease(outbox: Outbox, { clock, leaseName, holder, leaseMs }: LeaseOptions): Lease {
  let sinceMs = Number.NEGATIVE_INFINITY;
  const ageMs = () => clock.nowMs() - sinceMs;
  return {
    held: { name: leaseName, holder },
    async confirm() {
      const askedMs = clock.nowMs();
      const held = await outbox.holdLease(leaseName, holder, leaseMs);
      sinceMs = held ? askedMs : Number.NEGATIVE_INFINITY;
      return held;
    },
    isHeld: () => ageMs() < leaseMs,
    isAging: () => ageMs() >= leaseMs / 3,
    async giveBack() {
      if (ageMs() >= leaseMs) return;
      sinceMs = Number.NEGATIVE_INFINITY;
      await outbox.holdLease(leaseName, holder, 0);
    },
  };
}
