// Alerts, signals and blocked organizations as the suites of this folder need them; each names only what it is about.
import type { Blocked } from '../../../src/alert/evaluate-organizations';
import { fingerprintOf } from '../../../src/alert/fingerprint';
import type { Alert, Signal } from '../../../src/model/alert';

export const minuteMs = 60_000;
/** 2026-03-01T12:00:00Z */
export const noonMs = Date.UTC(2026, 2, 1, 12);

export function aBlocked(of: Partial<Blocked> = {}): Blocked {
  return {
    organizationId: '4711',
    name: 'Green Acres',
    cause: 'terms',
    sinceMs: noonMs,
    actionUrl: 'https://provider.example/terms',
    message: null,
    parked: 3,
    waitsSinceMs: of.sinceMs ?? noonMs,
    concerns: true,
    connectionId: 'c1',
    revoked: false,
    consentEndsAtMs: null,
    ...of,
  };
}

export function aSignal(of: Partial<Signal> = {}): Signal {
  return {
    name: 'TramlineTermsRequired',
    severity: 'warning',
    labels: { organization_id: '4711' },
    annotations: { summary: 'Terms.', owner: 'customer-success' },
    sinceMs: noonMs,
    ...of,
  };
}

export function anAlert(of: Partial<Alert> = {}): Alert {
  const name = of.name ?? 'TramlineTermsRequired';
  const labels = of.labels ?? { organization_id: '4711' };
  return {
    fingerprint: fingerprintOf(name, labels),
    name,
    severity: 'warning',
    state: 'firing',
    labels,
    annotations: { summary: 'Terms.', owner: 'customer-success' },
    startsAtMs: noonMs,
    resolvedAtMs: null,
    quietSinceMs: null,
    returns: 0,
    coversUntilMs: null,
    sent: {},
    ...of,
  };
}

/** How alerting is set in the tests of its parts: sent again each minute, held for half of one. */
export const alertingOptions = {
  resendMs: 60_000,
  leaseMs: 15_000,
  holdMs: 30_000,
  groupAbove: 50,
  gatherMs: 1000,
  resolveRepeatMs: 600_000,
  journalMs: 30 * 86_400_000,
  runbookBase: 'https://runbooks.example',
  ownNames: [],
};
