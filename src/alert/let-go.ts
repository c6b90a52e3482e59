/**
 * Ends that a sink could not be told for so long that nobody waits for them any more: whoever reads there has seen to
 * it, or the sink is no longer among the settings. Without this an alert would be kept for a sink that never comes back.
 * Pure.
 */
import type { Alert } from '../model/alert';

/** Far longer than a sink is away, or a wrong key goes unnoticed. */
const untoldMsMax = 30 * 86_400_000;

export interface LetGo {
  alert: Alert;
  /** Who was never told of its end. */
  sinks: string[];
}

/** The alerts, those that ended 30 days ago counted as told to every sink; and which of them were not. */
export function letGo(alerts: Alert[], nowMs: number): { alerts: Alert[]; gone: LetGo[] } {
  const gone: LetGo[] = [];
  const after = alerts.map((alert) => {
    if (alert.resolvedAtMs === null || nowMs - alert.resolvedAtMs < untoldMsMax) return alert;
    const sinks = Object.keys(alert.sent).filter((sink) => alert.sent[sink]?.state !== 'resolved');
    if (sinks.length === 0) return alert;
    gone.push({ alert, sinks });
    const told = Object.entries(alert.sent).map(([sink, sent]) => [
      sink,
      { ...sent, state: 'resolved' as const },
    ]);
    return { ...alert, sent: Object.fromEntries(told) };
  });
  return { alerts: gone.length === 0 ? alerts : after, gone };
}
