/**
 * The closed list of what is logged and measured: each fact the service tells of itself, with its fields. Values that
 * become metric labels are unions here, so that no name, address or id of a stranger can become a series. Types, and the lists they are made of.
 */

import type { Inspection } from '../model/inspection';
import type { QuarantineReason } from '../model/notification';
import type { Access, Cause } from '../model/organization';
import type { SandboxLimit } from '../model/sandbox';

/** Why a delivery was refused to keep strangers out. */
export const securityReasons = [
  'authorization-missing',
  'authorization-wrong',
  'signature-missing',
  'signature-wrong',
  'timestamp-too-old',
  'timestamp-in-the-future',
  'token-missing',
  'token-wrong',
  'token-unreadable',
  'too-many-failures',
] as const;

export type SecurityReason = (typeof securityReasons)[number];

/** Why a delivery was not accepted. */
export type RefusalReason =
  | SecurityReason
  | 'body-unreadable'
  | 'body-too-large'
  | 'body-cut-short'
  | 'not-http'
  | 'headers-too-large'
  | 'media-type'
  | 'content-encoding'
  | 'expectation'
  | 'not-found'
  | 'method'
  | 'slow-sender'
  | 'aborted'
  | 'too-many-connections'
  | 'overloaded'
  | 'late'
  | 'store-unavailable'
  | 'connection-failed'
  | 'fault';

export interface DeliveryAccepted {
  deliveryId: string;
  /** Elements by what became of them on receipt. */
  hints: number;
  acted: number;
  ignored: number;
  /** One reason for each quarantined element. */
  quarantined: QuarantineReason[];
  bytes: number;
  /** From the request's last byte to the commit. */
  tookMs: number;
  /** True when the message id was stored before. */
  repeated: boolean;
  /** True when it was stored before with another body: an event of security. */
  idReused: boolean;
  /** Tasks that became due. */
  due: number;
  /** Required actions whose due time cannot be read, where there are any: they are announced to nobody before it. */
  unreadDueTimes?: number;
  traceparent: string | null;
}

export interface DeliveryRefused {
  /** 0 where no answer could be given. */
  status: number;
  reason: RefusalReason;
  /** null where it was not measured. */
  tookMs: number | null;
}

/** How one attempt ended. */
export type AttemptOutcome =
  | 'published'
  | 'unchanged'
  | 'gone'
  | 'absent'
  | 'postponed'
  | 'given-back'
  | 'quarantined'
  | 'superseded'
  | 'fenced'
  | 'aborted'
  | 'failed';

export interface Attempt {
  /** The latest delivery that it reads for; null where none made it due, or it is not kept any more. */
  deliveryId: string | null;
  taskId: number;
  generation: number;
  /** Which attempt this was, from 1. */
  attempt: number;
  kind: string | null;
  resourceId: string | null;
  organizationId: string | null;
  connectionId: string | null;
  address: string;
  outcome: AttemptOutcome;
  /** The stable code behind the outcome: of the answer, the decision or the refusal. */
  code: string;
  detail: string | null;
  /** Set when the attempt put the task, or a record, into quarantine. */
  quarantine: QuarantineReason | null;
  eventIds: string[];
  calls: number;
  bytes: number;
  status: number | null;
  tookMs: number;
  /** When it is tried again; null when it is not. */
  dueInMs: number | null;
  /** From the change at the provider to its notification; null where nothing published says. */
  providerLagMs: number | null;
  /** Paths of fields, and of unit ids, that are not known, where the document had any; list indices are `*`. */
  unknownFields?: string[];
  traceparent: string | null;
}

export interface ProviderCall {
  method: string;
  /** The configured origin that was called. */
  origin: string;
  /** What was read, as a word of ours: `catalog`, `organization`, `equipment`, … Never an address. */
  route: string;
  /** null when no answer came. */
  status: number | null;
  /** A stable code on failure; null on success. */
  errorType: string | null;
  tookMs: number;
  bytes: number;
  /** The provider's clock minus ours, from its `Date` header; null when it sent none. */
  clockOffsetMs: number | null;
  /** What the provider says it took itself, from its `Elapsed-Ms` header; null when it said nothing usable. */
  elapsedMs: number | null;
}

export interface Sent {
  system: 'kafka' | 'event-log';
  topic: string;
  /** Records sent in this call, or that a call failed to send. */
  count: number;
  bytes: number;
  tookMs: number;
  /** The broker's error name, or a stable code; null when all records were acknowledged. */
  errorType: string | null;
  /** From acceptance to acknowledgement, of each acknowledged record that a notification caused. */
  freshnessMs: number[];
}

export const alertSinks = ['alertmanager', 'pagerduty', 'slack', 'log'] as const;
export type Sink = (typeof alertSinks)[number];

/** `partial`: some of the sink's instances took it, and others did not. */
export const postOutcomes = ['accepted', 'partial', 'refused', 'unreachable'] as const;

export interface AlertPost {
  sink: Sink;
  outcome: (typeof postOutcomes)[number];
  alerts: number;
  status: number | null;
  tookMs: number;
  /** Addresses of the instances that did not take it. */
  missed?: string[];
}

export interface AccessChange {
  organizationId: string;
  from: Access;
  to: Access;
  cause: Cause | null;
  by: string;
}

export interface ProbeLine {
  organizationId: string;
  found: string;
  tookMs: number;
}

/** What takes events, in the words of spans and metrics, so that one is found with the other. */
export const messagingSystems = { kafka: 'kafka', 'event-log': 'tramline_event_log' } as const;

/** Where trouble is: a room, what it talks to, or the process, which a fault ended. */
export const places = [
  'store',
  'provider',
  'kafka',
  'alert',
  'webhook',
  'operations',
  'pipeline',
  'connections',
  'sync',
  'telemetry',
  'process',
] as const;

export type Place = (typeof places)[number];

/** Trouble that heals itself: the same place and code is written at most once in ten seconds. */
export interface Trouble {
  place: Place;
  code: string;
  detail: string;
}

/** What the store says of itself, as the gauges show it. */
export interface Gauges {
  /** Rejects while deliveries cannot be stored. */
  ready: Inspection['ready'];
  counts: Inspection['counts'];
  /** What the provider's sandbox leaves, by limit; none in production. */
  sandboxLeft?(): { limit: SandboxLimit; left: number }[];
  /** Firing alerts by severity, and by name how long ago what paged for the platform ended; 0 while it fires. */
  alerts(): Promise<{
    firing: Record<'critical' | 'warning' | 'info', number>;
    over: { name: string; ageMs: number }[];
    /** For how long no process evaluates them: 0 while one does, null where none ever did. */
    unattendedMs: number | null;
  }>;
  /** How long ago a sync of everything last left nothing unread, null where none did; how many listings the last ones left. */
  syncs(): Promise<{ wholeAgeMs: number | null; unread: number }>;
  /** How long ago a fault ended a process that shares the store; null where none did. */
  endedByFaultMs(): Promise<number | null>;
}
