/**
 * One resource that is to be read: where, through which connection, and for whom. A shape only.
 */
import type { Connection } from '../model/connection';
import type { ResourceIdentity } from '../model/resource';
import type { Owner } from './attribute-refusal';
import type { Operation } from './options';

export interface Wanted {
  /** Admitted by the gate; it may be changed here. */
  url: URL;
  /** null when it is not known yet which resource stands there. */
  identity: ResourceIdentity | null;
  owner: Owner;
  connection: Connection;
  /** Counted as this; by default after the kind of resource. */
  operation?: Operation;
}
