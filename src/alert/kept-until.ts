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
  const ends = consentEndsAtMs !== null && consentEndsAtMs < untilMs ? plainTime(consentEndsAtMs) : null;
  const endsSoon = ends !== null && (consentEndsAtMs as number) - nowMs <= urgentMs;
  return {
    severity: isUrgent || endsSoon ? 'critical' : severity,
    annotations: {
      until_when: ends ?? until,
      kept_until: until,
      ...(ends === null ? {} : { consent_ends: ends }),
    },
    sentence: [keptSentence(until, nowMs >= untilMs), consentSentence(ends)]
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

function consentSentence(ends: string | null): string {
  return ends === null
    ? ''
    : `The consent that it is read with ends at ${ends}: from then on a new one is needed too.`;
}
