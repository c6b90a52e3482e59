/**
 * The clock to loss: until when everything that waits is still kept one by one and may still be read, and how urgent that
 * makes an alert. After the journal's bound notifications of one resource fold into the first, the last and their count;
 * after the end of the consent nothing is read without a new one. Pure.
 */
import type { Severity } from '../model/alert';
import { plainTime } from './plain-text';

export interface KeptUntil {
  severity: Severity;
  annotations: { until_when: string; kept_until: string; consent_ends?: string };
  sentence: string;
}

export interface Waiting {
  /** Since when the oldest of it waits. */
  sinceMs: number;
  /** When the consent that it is read with ends for good; null where that is not known, or does not come. */
  consentEndsAtMs: number | null;
}

const dayMs = 86_400_000;
/** Within this of the end of time, or a quarter of it where it is short, someone must act today. */
const urgentMs = 2 * dayMs;

/** For what waits, of an alert that has `severity` as long as there is time. */
export function keptUntil(
  { sinceMs, consentEndsAtMs }: Waiting,
  journalMs: number,
  severity: Severity,
  nowMs: number,
): KeptUntil {
  const untilMs = sinceMs + journalMs;
  const until = plainTime(untilMs);
  const isUrgent = untilMs - nowMs <= Math.min(urgentMs, journalMs / 4);
  // One that ends after the bound hurries nobody before; once it has ended, nothing is read without another.
  const endsAtMs =
    consentEndsAtMs !== null && consentEndsAtMs < Math.max(untilMs, nowMs) ? consentEndsAtMs : null;
  const endsSoon = endsAtMs !== null && endsAtMs - nowMs <= urgentMs;
  return {
    severity: isUrgent || endsSoon ? 'critical' : severity,
    annotations: {
      until_when: plainTime(Math.min(endsAtMs ?? untilMs, untilMs)),
      kept_until: until,
      ...(endsAtMs === null ? {} : { consent_ends: plainTime(endsAtMs) }),
    },
    sentence: [keptSentence(until, nowMs >= untilMs), consentSentence(endsAtMs, nowMs)]
      .filter((text) => text !== '')
      .join(' '),
  };
}

function keptSentence(until: string, isOver: boolean): string {
  return isOver
    ? `Since ${until} notifications that wait longer than the journal reaches back are kept as first, last and ` +
        'count; their resources are still read.'
    : `Until ${until} everything that waits is kept one by one; nothing is lost.`;
}

function consentSentence(endsAtMs: number | null, nowMs: number): string {
  if (endsAtMs === null) return '';
  const ends = plainTime(endsAtMs);
  return endsAtMs > nowMs
    ? `A consent that reading needs ends at ${ends}: from then on a new one is needed too.`
    : `A consent that reading needs ended at ${ends}: a new one is needed too.`;
}
