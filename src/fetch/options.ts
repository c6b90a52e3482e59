/**
 * What the fetch room is given: the provider's addresses and bounds, fixed at the start, and the doors to what changes
 * while it runs. Types only; they are checked where each is used.
 */
import type { Connection } from '../model/connection';
import type { TokenRenewal } from '../model/consent';
import type { EquipmentNames, EquipmentSought } from '../model/equipment-names';
import type { Clock } from '../tools/clock';
import type { Secret } from '../tools/secret';

export interface ProviderOptions {
  /** The provider's name inside media types and headers. */
  vendor: string;
  /** The only fixed address of the platform. */
  catalogUrl: string;
  /** The base of the equipment API. */
  equipmentUrl: string;
  /** `old`: equipment is read at the machine and implement endpoints while these have it. */
  equipmentApi: 'new' | 'old';
  /** Further exact origins that links may lead to. */
  origins: string[];
  /** OAuth 2 issuer; null when there is none. */
  issuer: string | null;
  clientKey: string;
  clientSecret: Secret;
  /** One deadline per attempt, over headers and bodies of all its calls. */
  timeoutMs: number;
  /** Of one answer, after decompression. */
  bodyBytesMax: number;
  /** Nesting of a JSON answer. */
  depthMax: number;
  /** Pages of one listing. */
  pagesMax: number;
  /** Sockets per origin. */
  connectionsMax: number;
  /** Lists that one command reads of several organizations ask at once for so many. */
  listsAtOnce: number;
  /** Sent as the preferred unit system; null = the provider's own choice. */
  unitSystem: 'metric' | 'english' | 'mixed' | null;
  /** Sent as the preferred kind of yields; null = the provider's own choice. */
  yieldPreference: 'mass' | 'volume' | null;
  /** From one probe of whoever is blocked to the next, doubling up to the bound. */
  probeMs: number;
  probeMsMax: number;
}

/** What a call was for: a closed list, used as a metric label. */
export type Operation =
  | 'catalog'
  | 'equipment'
  | 'equipment-list'
  | 'equipment-write'
  | 'equipment-reference'
  | 'field-operation'
  | 'field-operations'
  | 'fields'
  | 'file'
  | 'files'
  | 'organization'
  | 'organizations'
  | 'relocation'
  | 'subscription-write'
  | 'subscriptions'
  | 'probe';

/** One call to the provider, as the metrics see it. */
export interface Called {
  method: string;
  operation: Operation;
  /** null when no answer came. */
  status: number | null;
  tookMs: number;
  /** Of the body, as received. */
  bytes: number;
  /** What the provider says it took; null when it does not. */
  elapsedMs: number | null;
  /** The provider's clock, milliseconds since the epoch; null when it does not say. */
  serverDateMs: number | null;
}

/** What the provider asked the client key for, whoever asked it: by any process, and before whichever start. */
export interface ClientPause {
  /** Milliseconds that nothing may be asked of it; 0 when it may. */
  leftMs(): number;
  /** It wants a pause, from now on. */
  asked(forMs: number): void;
}

export interface ProviderDoors {
  connections(): readonly Connection[];
  /** Ids of the organizations that a connection sees, as last learned. */
  sees(connectionId: string): ReadonlySet<string>;
  /** Why nobody knows what a connection sees now: its list was refused, or could not be read; null where neither is known. */
  unlisted?(connectionId: string): string | null;
  /** What was seen of a piece of equipment before; left out where each id is taken as it is. */
  equipmentRecords?(sought: EquipmentSought): Promise<EquipmentNames[]>;
  /** Left out where tokens are used as they are. */
  renewal?: TokenRenewal;
  clock: Clock;
  /** Left out where a 429 is told to whoever asked, and to nobody else. */
  pause?: ClientPause;
  /** A call was answered, or will not be. */
  called(call: Called): void;
  /**
   * One more call is about to be sent and counts at the provider from then on, whatever becomes of its answer. null: it may
   * go at once; otherwise when this resolves, which must not reject. Left out where nobody counts.
   */
  sends?(): Promise<void> | null;
  /** Resolves when a probe may make another call than its first; left out where they cost nothing. Must not reject. */
  payProbeCall?(): Promise<void>;
  /** The provider refuses this token, as stored, of the connection's user, whatever is asked with it. */
  refused?(connectionId: string, message: string | null, sealedToken: string): void;
  /** The provider takes again what it refused of the connection's user: resolves when it counts as valid. Must not reject. */
  accepted?(connectionId: string): Promise<void>;
}
