/**
 * A signal says that a state which needs a person holds now; an alert is its life in the store, from firing to
 * resolved. Identity is the label set: never a time, a pod or an error text.
 */

export type Severity = 'critical' | 'warning' | 'info';
export type Owner = 'customer-success' | 'on-call' | 'platform';

export interface Signal {
  /** `alertname`, CamelCase, prefixed Tramline. */
  name: string;
  severity: Severity;
  /** Identity labels besides alertname, service and severity, e.g. `organization_id`. */
  labels: Record<string, string>;
  /** `summary`, `description`, `runbook_url`, `owner`, `action_url`, … */
  annotations: Record<string, string>;
  sinceMs: number;
}

export interface Alert {
  /** Deterministic text of name and identity labels. */
  fingerprint: string;
  name: string;
  severity: Severity;
  state: 'firing' | 'resolved';
  labels: Record<string, string>;
  annotations: Record<string, string>;
  startsAtMs: number;
  /** When it was resolved; null while firing. */
  resolvedAtMs: number | null;
  /** When the state behind it ended, while it is still held against flapping; null otherwise. */
  quietSinceMs: number | null;
  /** Per sink: when it last took this state, and what it took. */
  sent: Record<string, { atMs: number; state: 'firing' | 'resolved'; severity: Severity; failures: number }>;
}

/** What the evaluator looks at. */
export interface AlertInputs {
  blocked: {
    organizationId: string;
    name: string | null;
    cause: import('./organization').Cause;
    sinceMs: number;
    actionUrl: string | null;
    message: string | null;
    parked: number;
    /** True when it was active before, or has work waiting: otherwise it is only listed. */
    concerns: boolean;
    connectionId: string | null;
  }[];
  quarantined: { reason: string; count: number; oldestMs: number }[];
}
