/**
 * What the rules of every store depend on, whatever keeps the rows.
 */
import type { EventEnvelope } from '../model/event';

export interface StoreRules {
  envelope: EventEnvelope;
  /** Address and media type that access events name as their source. */
  catalogAddress: string;
  catalogMediaType: string;
  leaseMs: number;
  /** A resource is read at most once in this time. */
  readGapMs: number;
  probeMs: number;
  probeMsMax: number;
  journalMs: number;
  eventMs: number;
}
