/**
 * The lease of whoever is at a replay: taken once, renewed as long as the replay is under way, and over for good once it
 * has run out, since another may have gone on with the same replay meanwhile and have ended it.
 */
import { replayLease } from '../model/replay';
import type { LeaseHeld, Outbox } from '../model/store';
import type { Clock } from '../tools/clock';
import { makeLease } from './lease';

/** Why a replay ended before its end. */
export class Stopped extends Error {}

export interface ReplayHold {
  /** For the store, which looks itself whether it is held. */
  readonly held: LeaseHeld;
  /** What `work` answers or throws, with the lease, which is then given back. Throws `Stopped` when another has it. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Before and after whatever may be done by the lease's holder alone. Throws `Stopped` when it is not held any more. */
  check(): void;
  /** Before each page, also of what needs no lease. Throws `Stopped` when the process stops. */
  goOn(): void;
  /** As `check`, by the store's word: for after an epoch was taken. */
  confirm(): Promise<void>;
  /** From now on it is as if it were not held. */
  stop(): void;
}

export interface ReplayHoldOptions {
  clock: Clock;
  /** Another text for each process. */
  holder: string;
  leaseMs: number;
}

/** Of one process at a time. `failed` hears why the lease could not be given back. */
export function makeReplayHold(
  store: Pick<Outbox, 'holdLease'>,
  options: ReplayHoldOptions,
  failed: (error: unknown) => void,
): ReplayHold {
  const lease = makeLease(store, { ...options, leaseName: replayLease });
  let stopping = false;
  function goOn(): void {
    if (stopping) throw new Stopped('the process stops');
  }
  function check(): void {
    goOn();
    if (!lease.isHeld()) throw new Stopped('the lease ran out: another process may be at one');
  }
  return {
    held: lease.held,
    check,
    goOn,
    async during(work) {
      goOn();
      if (!(await lease.confirm()))
        throw new Stopped(
          `another process is at one: where that was killed, this can begin within ${Math.ceil(options.leaseMs / 1000)} s (LEASE_SECONDS)`,
        );
      try {
        return await lease.during(work());
      } finally {
        await lease.giveBack().catch(failed);
      }
    },
    async confirm() {
      check();
      await lease.renew();
      check();
    },
    stop() {
      stopping = true;
    },
  };
}
