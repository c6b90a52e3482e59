/**
 * The lease in the store that keeps other processes from renewing a connection while this one does. Nothing is decided here.
 */
import { GrantRefusal } from './grant-refusal';
import type { RenewalDoors } from './renewal';

/** A renewal may read the issuer's metadata twice before its call: so many calls, and one to spare. */
const callsMax = 4;

/** The lease under which a connection's tokens are renewed and stored: `take` asks for it, and `mayShow` says whether it lasts. */
export function leaseOf(
  { store, holder, callMsMax, clock }: Pick<RenewalDoors, 'store' | 'holder' | 'callMsMax' | 'clock'>,
  connectionId: string,
) {
  const name = `renew ${connectionId}`;
  let askedAtMs = clock.steadyMs();
  return {
    take(): Promise<boolean> {
      askedAtMs = clock.steadyMs();
      return store.holdLease(name, holder, callsMax * callMsMax);
    },
    /** Throws where one more call may outlast it: a process that stood still may find that another has had the token turned. */
    mayShow(): void {
      if (clock.steadyMs() - askedAtMs > (callsMax - 1) * callMsMax)
        throw new GrantRefusal(
          'unavailable',
          'it took so long to come to it that another process may renew it',
        );
    },
    giveBack: () => store.holdLease(name, holder, 0).catch(() => false),
  };
}
