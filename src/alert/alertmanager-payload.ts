/**
 * An alert as Alertmanager's API v2 wants it (`postableAlert`): labels are identity, so nothing that changes may stand
 * in them. Checked here, since one bad label makes Alertmanager answer 400 for a whole post. Pure.
 */
import type { Alert, Severity } from '../model/alert';

export interface PostableAlert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  startsAt: string;
  endsAt: string;
  generatorURL?: string;
}

const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const labelBytesMax = 1024;

/** The labels under which Alertmanager knows the alert; `owner` is for routing. */
export function labelsOf(alert: Alert, severity: Severity): Record<string, string> {
  const { owner } = alert.annotations;
  return {
    ...alert.labels,
    alertname: alert.name,
    service: 'tramline',
    severity,
    ...(owner === undefined ? {} : { owner }),
  };
}

/** Whether Alertmanager would take these: names of its form, values not empty, well-formed and at most 1 KiB. */
export function areLabelsValid(labels: Record<string, string>): boolean {
  return Object.entries(labels).every(
    ([name, value]) =>
      labelName.test(name) &&
      value !== '' &&
      value.isWellFormed() &&
      Buffer.byteLength(value) <= labelBytesMax,
  );
}

/** The same on a clock that is ahead by so much: an instance goes by its own. */
export function onClock(alert: PostableAlert, aheadMs: number): PostableAlert {
  if (aheadMs === 0) return alert;
  const there = (time: string) => new Date(Date.parse(time) + aheadMs).toISOString();
  return { ...alert, startsAt: there(alert.startsAt), endsAt: there(alert.endsAt) };
}

/** Start and end are always said: without a start, an end that lies ahead would become the start. */
export function postable(
  alert: Alert,
  severity: Severity,
  endsAtMs: number,
  generatorUrl: string | null,
): PostableAlert {
  const annotations = Object.entries(alert.annotations).filter(
    ([name, value]) => labelName.test(name) && value !== '',
  );
  return {
    labels: labelsOf(alert, severity),
    annotations: Object.fromEntries(annotations.map(([name, value]) => [name, value.toWellFormed()])),
    startsAt: new Date(Math.min(alert.startsAtMs, endsAtMs)).toISOString(),
    endsAt: new Date(endsAtMs).toISOString(),
    ...(generatorUrl === null ? {} : { generatorURL: generatorUrl }),
  };
}
