/**
 * What a sync keeps in the store: its run, the listings that the run reads (which are its cursor), what a page of a
 * listing said, and how many calls were counted. Shapes only; times are milliseconds since the epoch.
 */
import type { EventDraft } from './event';
import type { ResourceKind } from './resource';

/** What a run is asked for. */
export interface SyncWanted {
  /** null: all that any connection sees. */
  organizationId: string | null;
  /** Without change tokens, and judging every document anew. */
  full: boolean;
}

/** Counts of one run, as commands print them. */
export interface SyncCounts {
  /** Resources that listings held. */
  listed: number;
  /** Of them, those that are news: new, other content than published, or there again. */
  changed: number;
  unchanged: number;
  /** Events that were decided. */
  published: number;
  /** Of them, those that a page alone cannot finish: each is read, or waits for a read or an operator already. */
  left: number;
  /** Pages that were read, unchanged listings included. */
  pages: number;
  /** Calls to the provider, repeated ones included. */
  calls: number;
}

/** As they are kept of a run that ended. */
export interface RunCounts extends SyncCounts {
  /** Listings that it knew of. */
  listings: number;
  standing: SyncStanding;
}

/** How syncs stand after the run that ended last, whichever it was. */
export interface SyncStanding {
  /** When one of everything last ended that left nothing unread; null while none did. */
  wholeAtMs: number | null;
  /** At most 100. */
  unread: UnreadListing[];
}

/** The same, with which run that was. */
export interface StandingOfRun extends SyncStanding {
  run: number;
}

/** A listing that was not read to its end, though nothing of it waits for a customer. */
export interface UnreadListing {
  scope: string;
  /** By so many runs in a row that came to it. */
  runs: number;
  /** When the first of them ended. */
  sinceMs: number;
  /** Why, as the last of them met it; at most 300 characters. */
  detail: string;
  /** What refused it last was the client key. */
  refused?: ClientRefusal;
}

/** A scope or licence is missing for a listing, until the provider answers it in any other way. */
export interface ClientRefusal {
  sinceMs: number;
  /** The provider's words, at most 300 characters; null where it gave none. */
  message: string | null;
}

/** How a run ended, for whoever watches: at most 5 listings are named, with at most 300 characters each. */
export interface SyncEnd extends SyncCounts {
  /** `whole`: nothing was left but what waits for customers, or is not shown to a user. `stopped`: it is gone on with. */
  outcome: SyncOutcome;
  run: number;
  organizationId: string | null;
  full: boolean;
  resumed: boolean;
  tookMs: number;
  listings: number;
  skipped: number;
  /** 100 says that there are as many or more. */
  partial: number;
  named: { scope: string; detail: string }[];
  /** Why it stopped, or saw nothing of the organization that was asked for; null otherwise. */
  reason: string | null;
}

export const syncOutcomes = ['whole', 'partial', 'stopped'] as const;
export type SyncOutcome = (typeof syncOutcomes)[number];

export interface SyncRun {
  run: number;
  /** True when a former process began it and did not end it. */
  resumed: boolean;
  /** Listings that it has read to their end already. */
  listingsRead: number;
  /** Listings that the last run for the same knew of at its end; null when none has ended. */
  listingsLast: number | null;
}

/** What was begun last. */
export interface LastRun {
  run: number;
  organizationId: string | null;
  full: boolean;
  /** How long ago, by the store's clock; 0 where that was set back since. */
  agoMs: number;
  ended: boolean;
  /** How many it has read to their end, and how many the last one for the same knew of; `read` is 0 once it has ended. */
  listings: { read: number; last: number | null };
  /** The last full run of all organizations that has ended, also where others were begun since; null when none has. */
  endedFull: number | null;
}

/**
 * The gravest thing that a run met: nothing; listings that the provider may answer later; listings that it answers in a
 * way that no waiting changes; organizations or connections that wait for a customer or user.
 */
export type SyncTrouble = (typeof syncTroubles)[number];
/** The gravest last. */
export const syncTroubles = ['none', 'later', 'failed', 'customer-must-act'] as const;

/** A run as operators see it; times are ISO 8601 UTC. */
export interface SyncView extends SyncCounts {
  /** `idle`: none since the start of the process. `stopped`: it goes on with the next one. */
  state: 'idle' | 'running' | 'ended' | 'stopped';
  run: number | null;
  /** The one organization that was asked for. */
  organizationId: string | null;
  full: boolean;
  resumed: boolean;
  startedAt: string | null;
  tookMs: number;
  /** Organizations that it is done with, and those that it is to list, as far as connections are known to see them. */
  organizations: { done: number; known: number };
  /**
   * `done`: read to their end, `read` of them in this life of the process. `known`: met so far. `total`: how many there
   * will be, as the lists say once each was met, and before that as the last run had; null while neither tells.
   */
  listings: { done: number; read: number; known: number; total: number | null };
  /** Organizations that are not active, or `forgotten`: nothing of theirs was listed. At most 100. */
  skipped: { id: string; access: string }[];
  /** Listings that were not read to their end: nothing is concluded from what they do not hold. At most 100. */
  partial: { scope: string; detail: string }[];
  trouble: SyncTrouble;
  /** Until when the provider asked for a pause that the run waits for; null while it waits for none. */
  waitsUntil: string | null;
  /** Why it stopped; null unless it did. */
  reason: string | null;
}

/** One listing of an organization, known by what it lists and never by its address. */
export interface ListingName {
  /** `4711/equipment`, `4711/fields`, `4711/fields/<id>`. */
  scope: string;
  organizationId: string;
}

/** A listing as the run finds it. */
export interface OpenedListing extends ListingName {
  id: number;
  /** The run has read it to its end. */
  ended: boolean;
  /** Where the run goes on: the address of the next page; null at the beginning. */
  nextAddress: string | null;
  /** What the provider gave to ask for changes only, and for which question it did; null when it gave none. */
  changeToken: { token: string; asked: string } | null;
  /** Some run has read it to its end. */
  known: boolean;
}

/** What a listing says of a resource, as far as it takes to see that nothing changed. */
export interface ListedResource {
  kind: ResourceKind;
  id: string;
  organizationId: string;
  wireHash: string;
  normalizerVersion: number;
}

/** A resource that a page alone cannot finish: it is read, when the store does not know this state of it. */
export interface ListedHint {
  /** Where it is read; null when the page does not say: then it is read only where it is known. */
  address: string | null;
  organizationId: string;
  /** null when it is not known which resource stands there. */
  resource: { kind: ResourceKind; id: string } | null;
  /** As the page says it, ISO 8601; a resource known with the same one is not read. null: it is read in any case. */
  modifiedTime: string | null;
}

/** One page of a listing and all that follows from it: in one transaction, with the place from where to go on. */
export interface ListedPage {
  run: number;
  listingId: number;
  /** The store's revision before the page was asked for: what was read since is newer. */
  revision: number;
  connectionId: string;
  drafts: EventDraft[];
  hints: ListedHint[];
  /** Where it was asked for, which must be where the listing stands; null: at the beginning. */
  from: string | null;
  /**
   * `next`: its address; null when there is no more, but not all of it could be read: then it is begun anew, with the
   * change token from before. `end`: there is no more, and nothing of it was left.
   */
  after:
    | { next: string | null }
    | {
        end: true;
        /** False when only changes were listed, or nothing: what was listed before is still there. */
        whole: boolean;
        changeToken: { token: string; asked: string } | null;
      };
}

export interface ListedResult {
  changed: number;
  unchanged: number;
  published: number;
  /** Left to a read: waiting for one anyway, read since, or not to be finished from a page. */
  left: number;
  /** The store's revision now: before whatever is asked for next. */
  revision: number;
  /** An operator let go of the listing's organization meanwhile: nothing more of it is to be asked for. */
  forgotten: boolean;
}

/** What is asked of the provider for one listing of a connection. */
export interface ListingRequest {
  connectionId: string;
  of:
    | { what: 'equipment'; organizationId: string }
    | { what: 'fields' | 'field-operations'; address: string };
  /** The page to go on from; null: from the beginning. */
  from: string | null;
  /** What the provider gave for changes only; '' asks for one; null says nothing of it. Not for equipment. */
  changeToken: string | null;
  /** The whole list at once, as far as an answer may be large. */
  unpaged: boolean;
}
