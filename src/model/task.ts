/**
 * A task is a resource that is due. It is taken under a lease with a fence, read, and given back by exactly one of the
 * endings below. The store refuses an ending whose fence is old.
 */
import type { KnownEquipment, NamedEquipment } from './equipment-names';
import type { EventDraft } from './event';
import type { QuarantineReason } from './notification';
import type { ResourceIdentity } from './resource';

/** As shown; `parked` is derived: the organization of a waiting task is not active. */
export type TaskState = 'due' | 'taken' | 'postponed' | 'settling' | 'quarantined' | 'done';

export interface TakenTask {
  taskId: number;
  /** Rises with each take; an ending with another fence changes nothing. */
  fence: number;
  /** The generation that this read covers. */
  generation: number;
  /** The store's revision before the read's first request. */
  revision: number;
  address: string;
  /** When it fell due, by the store's clock. */
  dueAtMs: number;
  /** null for a provisional task, whose resource is not known yet. */
  resource: ResourceIdentity | null;
  /** The owner as known from the last finish; null when unknown. */
  organizationId: string | null;
  /** `metadata.orgId` of the latest hint. */
  hintedOrganizationId: string | null;
  /** The user whose subscription sent the latest hint. */
  hintedUser: string | null;
  /** The connection that last read it: sticky. */
  connectionId: string | null;
  /** The connection whose listing has shown it since; null when none has. */
  shownBy: string | null;
  /** The organization's epoch at the time of taking; 0 when it has none. */
  epoch: number;
  settling: boolean;
  attempts: number;
  /** Milliseconds of own failure so far. */
  agedMs: number;
  /** When its previous attempt ended in failure, by the store's clock; null when it has not. */
  failedAtMs: number | null;
  /** How its previous attempt ended, as it was kept for `explain`; null when none ended so. */
  code: string | null;
  /** When it was taken, by the store's clock. */
  takenAtMs: number;
  /** When it was first found absent, with the address then used, by the store's clock; null when it was not. */
  absentSinceMs: number | null;
  /** When the earliest notification it covers was accepted; null when none is. */
  acceptedAtMs: number | null;
  /** Of the latest delivery that hinted it. */
  traceparent: string | null;
  /** That delivery; null where no delivery made it due, or it is not kept any more. */
  deliveryId: string | null;
  /** True when only a sync made it due. */
  reconciled: boolean;
}

/** What every ending says of the read, or of the attempt at one, that it ends. */
export interface Ending {
  taskId: number;
  fence: number;
  generation: number;
  revision: number;
}

/** The read succeeded: the store decides whether it is news. */
export interface FinishedRead extends Ending {
  draft: EventDraft;
  /** Of equipment: what the document calls it, and as what the draft takes it to be known. */
  named?: NamedEquipment;
  connectionId: string;
  /** Of the span to carry on: decided into the record. */
  traceparent: string | null;
  reconciled: boolean;
  settleMs: number;
}

/** The resource is not there, after all that must be tried before saying so. */
export interface FinishedGone extends Ending {
  /** Which resource its address names, where nothing but the address tells. */
  named?: ResourceIdentity;
  observedAt: string;
  traceparent: string | null;
  /** Stops when more than this share of the organization's resources, at least 20, goes at once. */
  goneShareMax: number;
  /** It is read once more after so long: the provider may have said so of what is there again. 0: it is not. */
  settleMs: number;
}

/** Not found once: asked again later before it is believed. */
export interface FoundAbsent extends Ending {
  /** Which resource its address names, where nothing but the address tells. */
  named?: ResourceIdentity;
  againInMs: number;
}

/** Failed for now. */
export interface Postponed extends Ending {
  dueInMs: number;
  /** True when the failure is the item's own: what is not may be hastened by somebody else's success. */
  own: boolean;
  /** By how many milliseconds the failure ages the item; 0 for what is not its own. */
  agedMs: number;
  /** A stable code of the classification, for `explain`. */
  code: string;
  detail: string | null;
}

/** A refused request and the organization that it may speak of. */
export interface RefusedRequest {
  organizationId: string;
  /** To be repeated by the probe; null when it is not proven that it is this organization's. */
  refusedAddress: string | null;
  connectionId: string;
}

/** Refused because of its organization: goes back to waiting as it was; the organization is probed. */
export interface GivenBack extends Ending {
  code: string;
  /** The organization to probe; null when none is known: then the task alone waits. */
  probe: RefusedRequest | null;
  /** How long the task alone waits: no organization is known, or the one that was probed was found not to be blocked. */
  dueInMs: number;
  /** By how many milliseconds the task alone ages while it waits so, and why it does. */
  agedMs: number;
  detail: string | null;
  /** When it had fallen due: what waits for its organization keeps its place among what else waits for it. */
  dueAtMs: number;
}

export interface QuarantinedTask extends Ending {
  reason: QuarantineReason;
  /** JSON pointer or address part where the fault is. */
  path: string;
  detail: string | null;
  /** The document that was refused, as JSON text, bounded; null when there was none. */
  raw: string | null;
}

export type FinishResult =
  | { outcome: 'published'; eventIds: string[]; again: boolean }
  | { outcome: 'unchanged'; reason: string; again: boolean }
  | { outcome: 'gone'; eventIds: string[]; again: boolean }
  | {
      outcome: 'refused';
      /** `hinted-since`: it would have been set aside, but a hint that it does not cover keeps it due. */
      reason:
        | 'fenced'
        | 'superseded'
        | 'older-normalizer'
        | 'hinted-since'
        | 'another-resource'
        | 'record-too-large'
        | 'mass-disappearance';
    };

/** Nothing has ended, the task is still taken: the same read is finished with a draft of what it is known as. */
export interface KnownOtherwise {
  outcome: 'known-otherwise';
  known: KnownEquipment;
}
