/**
 * What an alert says while it is held: what it told of has ended, and it stays open only until it is known that this does
 * not come back. Whoever reads it then must not be sent to act. Pure.
 */
import type { Alert } from '../model/alert';
import { plainTime } from './plain-text';

/** Why an alert is still open although what it told of has ended. */
export interface Hold {
  quietSinceMs: number;
  closesAtMs: number;
  /** The name of the alert in which it goes on; null when it is over. */
  goesOnAs: string | null;
}

/** Annotations of a held alert beside its own, which come back when it does. */
export function holdAnnotations({ quietSinceMs, closesAtMs, goesOnAs }: Hold): Record<string, string> {
  return {
    over_since: plainTime(quietSinceMs),
    closes_at: plainTime(closesAtMs),
    ...(goesOnAs === null ? {} : { goes_on_as: goesOnAs }),
  };
}

/** The annotations without what only a held alert has. */
export function withoutHold(annotations: Record<string, string>): Record<string, string> {
  const { over_since: _since, closes_at: _until, goes_on_as: _as, ...own } = annotations;
  return own;
}

/** The alert as people are told of it: one that is held asks nobody to act. The same object when it is not. */
export function toldOf(alert: Alert): Alert {
  const { over_since: since, closes_at: until, goes_on_as: as, owner, runbook_url } = alert.annotations;
  if (alert.state !== 'firing' || since === undefined || until === undefined) return alert;
  const what = as === undefined ? `It is over since ${since}` : `It goes on as ${as} since ${since}`;
  return {
    ...alert,
    annotations: {
      summary: `${what}; this alert closes at ${until} unless it comes back.`,
      description: `Nobody has to act on it. It told: ${alert.annotations.summary ?? alert.name}`,
      ...(owner === undefined ? {} : { owner }),
      first_step: `None: it closes at ${until} unless it comes back.`,
      ...(runbook_url === undefined ? {} : { runbook_url }),
      over_since: since,
      closes_at: until,
    },
  };
}
