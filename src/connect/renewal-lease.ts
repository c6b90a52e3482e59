/**
 * The lease in the store that keeps other processes from renewing a connection while this one does. Nothing is decided here.
 */
import type { Outbox } from '../model/store';
import type { Clock } from '../tools/clock';

export interface LeaseDoors {
  store: Pick<Outbox, 'holdLease'>;
  clock: Clock;
  /** This process, as the holder of leases. */
  holder: string;
  /** How long one call may take. Nobody else shows the same refresh token while one may be under way. */
  callMsMax: number;
}

/** A renewal may read the issuer's metadata twice before its call: so many calls, and one to spare. */
const callsMax = 4;

/**
 * The lease under which a connection's tokens are renewed and stored: it lasts for 4 calls. `take` rejects as the store does.
 * Nothing else throws.
 */
export function leaseOf({ store, holder, callMsMax, clock }: LeaseDoors, connectionId: string) {
  const name = `renew ${connectionId}`;
  let askedAtMs = clock.steadyMs();
  return {
    take(): Promise<boolean> {
      askedAtMs = clock.steadyMs();
      return store.holdLease(name, holder, callsMax * callMsMax);
    },
    /** False where one more call may outlast it: after a process stood still, another may have had the token turned. */
    lasts: (): boolean => clock.steadyMs() - askedAtMs <= (callsMax - 1) * callMsMax,
    giveBack: () => store.holdLease(name, holder, 0).catch(() => false),
  };
}
