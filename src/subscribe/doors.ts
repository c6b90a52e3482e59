/**
 * What this room needs of others to act on a person's behalf. Types only.
 */
import type { Connection } from '../model/connection';
import type { ListingFault, RawFault } from '../model/provider-data';
import type { SubscriptionCalls } from '../model/subscription';
import type { Clock } from '../tools/clock';
import type { SecretBook } from './secret-book';

export interface SubscribeDoors {
  book: SecretBook;
  /** Asked for once `ready` has resolved. */
  calls(): SubscriptionCalls;
  connections(): readonly Connection[];
  sees(connectionId: string): ReadonlySet<string>;
  /** What each connection sees is known, and what is stored is read. */
  ready(): Promise<void>;
  /** Resolves when every process accepts what was offered. */
  spread(): Promise<void>;
  /** Where deliveries are to go; null when it is not known how the provider reaches us. */
  target: string | null;
  /** Whether a delivery must carry an Authorization value. */
  needsAuthorization: boolean;
  /** Whether each of its elements must carry a token that is known. */
  needsToken: boolean;
  problemOf(fault: RawFault): Error;
  listingFaultOf(fault: RawFault): ListingFault;
  clock: Clock;
}
