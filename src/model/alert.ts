/**
 * A signal says that a state which needs a person holds now; an alert is its life in the store, from firing to
 * resolved. Identity is the label set: never a time, a pod or an error text. Everything here is plain JSON.
 */
import type { Cause } from './organization';

export type Severity = 'critical' | 'warning' | 'info';
export type Owner = 'customer-success' | 'on-call' | 'platform';
export type AlertState = 'firing' | 'resolved';

/** States of the platform that the running process knows and the store does not. Each has a row in the catalogue. */
export type ConditionName =
  | 'client-refused'
  | 'clock-off'
  | 'decryption-failed'
  | 'delivery-secret-unopened'
  | 'kafka-unavailable'
  | 'listings-unread'
  | 'organization-unread'
  | 'organizations-unlisted'
  | 'provider-unavailable'
  | 'rate-limited'
  | 'sandbox-limit'
  | 'sandbox-near'
  | 'store-behind-topics'
  | 'store-log-stuck'
  | 'store-unavailable'
  | 'subscription-ended'
  | 'subscription-expired'
  | 'subscription-silent'
  | 'token-expiring'
  | 'topic-denied';

/** What an alert may be about: a receiver tells incidents of one name apart by these, so each has to know of all. */
export const identityLabels = [
  'organization_id',
  'connection_id',
  'subscription_id',
  'cause',
  'group',
  'limit',
  'origin',
  'scope',
  'topic',
] as const;

export type IdentityLabels = Partial<Record<(typeof identityLabels)[number], string>>;

/** A state of the platform that holds now. It ends by not being named any more. */
export interface Condition {
  name: ConditionName;
  sinceMs: number;
  /** What is known, for a person: one or two sentences. */
  detail: string;
  /** Of what the detail names, ids that the provider gave, and names that are ours: no secrets, however much they look like one. */
  ids?: string[];
  /** Further identity, from a bounded set such as topics or origins; none when left out. */
  labels?: IdentityLabels;
  /** When it becomes a loss: the nearer, the more urgent. Left out where no such time is known. */
  endsAtMs?: number;
  /** When it is over by itself, and nothing was lost by it. Left out where nobody knows. */
  overAtMs?: number;
  /** What to do about this one, where it is not what its name asks for. */
  firstStep?: string;
  /** What is left to do once it is over, in one sentence, where that is not what its name says. */
  whenOver?: string;
  /** Nothing is lost by it, however long it lasts, whatever its name stands for otherwise. */
  losesNothing?: boolean;
}

/** What a living process tells of the platform; nothing when it knows of no trouble. */
export interface Told {
  holder: string;
  conditions: Condition[];
}

export interface Covers {
  names: readonly string[];
  /** Identity labels, as `subjectOf` writes them. */
  subjects: readonly string[];
  /** Set when it stands for many: those alerts end at once; when the youngest state that it covers began. */
  untilMs: number | null;
}

export interface Signal {
  /** `alertname`, CamelCase, prefixed Tramline. */
  name: string;
  severity: Severity;
  /** Besides alertname, service and severity. */
  labels: IdentityLabels;
  /** `summary`, `description`, `runbook_url`, `owner`, `action_url`, … */
  annotations: Record<string, string>;
  sinceMs: number;
  /** What else it tells of: an alert of these names and subjects that has no signal any more is not over, it goes on here. */
  covers?: Covers;
}

/** What a sink has of an alert. */
export interface SentState {
  /** The state that it took last; null when it has taken none yet. */
  state: AlertState | null;
  /** The severity under which it took it. */
  severity: Severity;
  /** When it first took this state. */
  sinceMs: number;
  /** When it last took this state, or refused one. */
  atMs: number;
  /** Attempts in a row that failed. */
  failures: number;
  /** What it refused since it last took anything: the same is offered again in a while only. */
  refused?: { state: AlertState; severity: Severity; atMs: number };
  /** Other severities under which it was offered since it took anything: it may know the alert by them, too. */
  offered?: Severity[];
}

export interface Alert {
  /** Deterministic text of name and identity labels. */
  fingerprint: string;
  name: string;
  severity: Severity;
  state: AlertState;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  startsAtMs: number;
  /** When it was resolved; null while firing. */
  resolvedAtMs: number | null;
  /** How often its state came back soon after it had ended: each time it is held for longer. */
  returns: number;
  /** When the state behind it ended, while it is still held against flapping; null otherwise. */
  quietSinceMs: number | null;
  /** For one that stands for many: when the youngest state that it covers began; null for others. */
  coversUntilMs: number | null;
  /** Per sink; without an entry the sink was never offered it. */
  sent: Record<string, SentState>;
}

/** What the evaluator looks at. */
export interface AlertInputs {
  blocked: {
    organizationId: string;
    name: string | null;
    cause: Cause;
    sinceMs: number;
    actionUrl: string | null;
    message: string | null;
    parked: number;
    /** When the oldest hint came that still waits; null when none does. */
    waitsSinceMs: number | null;
    /** True when it was active before, or has work waiting, which alone counts where `revoked`: otherwise it is only listed. */
    concerns: boolean;
    connectionId: string | null;
    /** True when its connection was revoked here, by an operator: the provider refused nothing. */
    revoked: boolean;
    /** When the last consent that sees it ends for good; null when one is renewed, or names no end, or none sees it. */
    consentEndsAtMs: number | null;
  }[];
  /** Connections that the provider refuses: how many organizations each sees, and how many of those no valid one does. */
  refusedConnections: { connectionId: string; message: string | null; sees: number; alone: number }[];
  /**
   * Required Customer Actions that were announced, one for each time, of organizations that are not blocked, or for a
   * connection or a consent only, which are not what was announced. Of one that no connection sees and that never was read
   * nothing is told: it is read by nobody here, whatever its customer does.
   */
  announced: {
    organizationId: string;
    name: string | null;
    dueAtMs: number;
    /** What it is blocked by meanwhile; left out while it may be read. */
    blockedBy?: Cause;
    /** Blocked since an operator revoked its connection here; left out while it may be read. */
    revoked?: boolean;
  }[];
  quarantined: { reason: string; count: number; oldestMs: number }[];
  /** How many that may be read now are being asked whether they are blocked, or wait to be asked. */
  suspected: number;
  /** Of those, how many since a request of theirs was refused: their work waits for it. */
  refused: number;
}

/** There is nothing to tell. Not to be changed in place. */
export const noInputs: AlertInputs = {
  blocked: [],
  refusedConnections: [],
  announced: [],
  quarantined: [],
  suspected: 0,
  refused: 0,
};
