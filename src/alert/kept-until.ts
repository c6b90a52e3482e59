/**
 * The clock to loss: until when everything that waits is still kept one by one, and how urgent that makes an alert. After
 * the journal's bound notifications of one resource fold into the first, the last and their count; the resource itself is
 * still read. Pure.
 */
import type { Severity } from '../model/alert';
import { plainTime } from './plain-text';

export interface KeptUntil {
  severity: Severity;
  annotations: { kept_until: string };
  sentence: string;
}

const dayMs = 86_400_000;
/** Within this of the end of time, or a quarter of it where it is short, someone must act today. */
const urgentMs = 2 * dayMs;

/** For what waits since `sinceMs` or later, of an alert that has `severity` as long as there is time. */
export function keptUntil(sinceMs: number, journalMs: number, severity: Severity, nowMs: number): KeptUntil {
  const untilMs = sinceMs + journalMs;
  const until = plainTime(untilMs);
  const isOver = nowMs >= untilMs;
  const isUrgent = untilMs - nowMs <= Math.min(urgentMs, journalMs / 4);
  return {
    severity: isUrgent ? 'critical' : severity,
    annotations: { kept_until: until },
    sentence: isOver
      ? `Since ${until} notifications that wait longer than the journal reaches back are kept as first, last and ` +
        'count; their resources are still read.'
      : `Until ${until} everything that waits is kept one by one; nothing is lost.`,
  };
}
