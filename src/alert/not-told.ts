/**
 * Which sinks have not taken an alert as it is now: there somebody misses a page, or sees one that is over. Pure.
 */
import type { Alert, SentState } from '../model/alert';
import { isOverUntaken } from './due';
import type { AlertSink } from './sink';

export interface NotTold {
  sink: AlertSink['name'];
  /** Since when it should have it; of what is repeated, when it last took it. */
  sinceMs: number;
  /** Its last attempt failed; false while it was not tried yet. */
  fails: boolean;
}

/** Of `sinks`, those that the settings name: what was told to others is of no concern any more. */
export function notTold(alert: Alert, sinks: readonly Pick<AlertSink, 'name' | 'repeats'>[]): NotTold[] {
  return sinks.flatMap(({ name: sink, repeats }) => {
    const sent = alert.sent[sink];
    const fails = (sent?.failures ?? 0) > 0;
    // What is over is begun nowhere any more; that a sink fails is worth knowing until its end is told.
    if (isOverUntaken(alert, sent) && !fails) return [];
    if (!isMissing(alert, sent, repeats && fails)) return [];
    return [{ sink, sinceMs: missingSinceMs(alert, sent), fails }];
  });
}

function isMissing(alert: Alert, sent: SentState | undefined, isForgotten: boolean): boolean {
  // What ended before it was offered is missed by nobody.
  if (alert.state === 'resolved') return sent !== undefined && sent.state !== 'resolved';
  return sent?.state !== 'firing' || sent.severity !== alert.severity || isForgotten;
}

function missingSinceMs({ state, startsAtMs, resolvedAtMs }: Alert, sent: SentState | undefined): number {
  if (state === 'resolved') return resolvedAtMs ?? startsAtMs;
  return sent?.state === 'firing' ? sent.atMs : startsAtMs;
}
