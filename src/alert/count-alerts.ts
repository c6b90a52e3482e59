/**
 * What metrics tell of the alerts: how many fire, by severity, and of what pages for the platform how long it is over.
 * Pure; ids of organizations and the like have no place here, so that the series are bounded by the catalogue.
 */
import type { Alert, Severity } from '../model/alert';
import { platformNames } from './catalogue';

export interface AlertCounts {
  firing: Record<Severity, number>;
  /** Per alert name, of critical states of the platform that the store still knows: 0 while one fires, else since its end. */
  over: { name: string; ageMs: number }[];
}

/** `alerts` as stored, resolved ones included: they stay for a day. */
export function countAlerts(alerts: readonly Alert[], nowMs: number): AlertCounts {
  const firing = { critical: 0, warning: 0, info: 0 };
  const over = new Map<string, number>();
  for (const { name, severity, state, resolvedAtMs } of alerts) {
    if (state === 'firing') firing[severity] += 1;
    if (severity !== 'critical' || !platformNames.has(name)) continue;
    const ageMs = state === 'firing' ? 0 : Math.max(0, nowMs - (resolvedAtMs ?? nowMs));
    over.set(name, Math.min(ageMs, over.get(name) ?? ageMs));
  }
  return { firing, over: [...over].map(([name, ageMs]) => ({ name, ageMs })) };
}
