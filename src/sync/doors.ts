/**
 * What a sync stands on: listings of the provider, the store's verbs for runs, and the judgement of one item, which is
 * pure and made by the rooms that know documents. Types only.
 */
import type { Answer } from '../model/answer';
import type { KnownEquipment } from '../model/equipment-names';
import type { EventDraft } from '../model/event';
import type { ResourceKind } from '../model/resource';
import type { Organizations, Outbox, Syncs } from '../model/store';
import type { ListedResource, ListingRequest, SyncEnd } from '../model/sync';
import type { Clock } from '../tools/clock';

export interface SeenOrganization {
  id: string;
  name: string | null;
  unconnected: boolean;
  connectUrl: string | null;
  /** Relationship → address, as received. */
  links: ReadonlyMap<string, string>;
  /** Relationship → why its link cannot be read; under `''` where that may be any of them. */
  unread: ReadonlyMap<string, string>;
}

export interface Item {
  id: string | null;
  address: string | null;
  /** Where the operations of a field are listed. */
  operations: string | null;
  /** A list of changes says that it is not there any more. */
  deleted: boolean;
  body: unknown;
  /** As what a piece of equipment is known here, whatever the provider calls it by. */
  known?: KnownEquipment | null;
}

export interface PartialEnd {
  partial: true;
  reason: string;
  detail: string;
  answer: Answer | null;
}

export type ItemsPage =
  | {
      partial: false;
      /** The reader's own: it may empty them. */
      items: Item[];
      address: string;
      mediaType: string;
      next: string | null;
      /** How many items the list has, as it says of itself; null when it does not. */
      total: number | null;
      changeToken: string | null;
    }
  | PartialEnd;

export interface SyncProvider {
  organizations(
    connectionId: string,
    signal: AbortSignal,
  ): AsyncIterable<{ partial: false; organizations: SeenOrganization[] } | PartialEnd>;
  listing(request: ListingRequest, signal: AbortSignal): AsyncIterable<ItemsPage>;
  /** Its links of today; null when it is not listed to the connection's user. */
  organization(
    organizationId: string,
    connectionId: string,
    signal: AbortSignal,
  ): Promise<{ organization: SeenOrganization | null } | { answer: Answer }>;
}

/** Pure. */
export interface ItemJudge {
  /** What tells this state of a resource from another; null for what is not a document that can be published. */
  summaryOf(item: Item, kind: ResourceKind, organizationId: string): ListedResource | null;
  /** What is published of it; null when the page does not hold it whole, or not as it must be: then it is read. */
  draftOf(
    item: Item,
    read: { kind: ResourceKind; connectionId: string; mediaType: string; observedAt: string },
  ): EventDraft | null;
  /** When the provider says that it was modified, ISO 8601; null when it does not, or when it must be read anyhow. */
  modifiedTimeOf(item: Item, kind: ResourceKind): string | null;
}

export interface SyncDoors {
  store: Syncs &
    Pick<Outbox, 'holdLease'> &
    Pick<Organizations, 'access' | 'epochs' | 'learn' | 'requestProbe'>;
  provider: SyncProvider;
  judge: ItemJudge;
  /** As what the equipment of each body is known; null for what is none. */
  nameEquipment(bodies: unknown[]): Promise<(KnownEquipment | null)[]>;
  /** Ids of the valid ones. */
  connections(): string[];
  /** Of them, those that see the organization: the one that it is kept with first. */
  connectionsOf(organizationId: string, keptWith: string | null): string[];
  /** What the connection is known to see, whether today's listing holds it or not. */
  organizationsSeen(connectionId: string): string[];
  /** Organizations that only connections see whose users must consent anew. */
  closedOrganizations(): string[];
  /** A listing showed that its customer has not connected it. */
  unconnected(organizationId: string, actionUrl: string | null, epoch: number): Promise<void>;
  /** What the connections see was learned. */
  learned(): Promise<void>;
  /** The token of the connection was refused. */
  refused(connectionId: string, message: string | null, sealedToken: string): Promise<void>;
  /** A listing that the client was refused is answered: what else waits since then is to be made due. */
  clientServed(): void;
  /** Milliseconds that nothing may be asked of the provider; 0 when it may. */
  coolDownMs(): number;
  /** Why no more calls may be made for a sync; null when they may. */
  forbidden(): string | null;
  /** Events were decided. */
  decided(): void;
  /** A run ended, or stopped while the process goes on. Never throws. */
  ended(end: SyncEnd): void;
  /** Tasks or probes were made due. */
  due(): void;
  clock: Clock;
}

export interface SyncOptions {
  /** Pages of listings asked for at the same time. */
  requestsAtOnce: number;
  /** Listings in hand at the same time: while a page of one is written, another one asks. */
  listingsAtOnce: number;
  /** Organizations worked on at the same time. */
  organizationsAtOnce: number;
  goneShareMax: number;
  /** Times that a page is asked for again. */
  repeatsMax: number;
  backoff: { baseMs: number; maxMs: number };
  /** In which units documents are asked for: what the provider gave for changes is for these alone. */
  units: string;
  random(): number;
}
