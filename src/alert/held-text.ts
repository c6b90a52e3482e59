/**
 * What an alert says while it is held: what it told of has ended, and it stays open only until it is known that this does
 * not come back, or until its end can be told. Whoever reads it then must not be sent to act. Pure.
 */
import type { Alert } from '../model/alert';
import { catalogue } from './catalogue';
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

/** The alert as people are told of it: one that is held asks nobody to act, but for what its end leaves to do. The same object when it is not. */
export function toldOf(alert: Alert): Alert {
  const { over_since: since, closes_at: until, goes_on_as: as } = alert.annotations;
  if (alert.state !== 'firing' || since === undefined || until === undefined) return alert;
  const closes = `closes at ${until} unless it comes back.`;
  const text = idleText(alert, `${overWords(since, as)}; this alert ${closes}`, `None: it ${closes}`);
  return { ...alert, annotations: { ...text, over_since: since, closes_at: until } };
}

/** One that ended, as it is told where it must be shown as open before its end is. */
export function toldAgainOf(alert: Alert): Alert {
  const { name, resolvedAtMs, annotations } = alert;
  if (resolvedAtMs === null || catalogue.find((row) => row.name === name)?.asksNobody) return alert;
  const over = `${overWords(plainTime(resolvedAtMs), annotations.folded_into)}.`;
  const step = 'None: it is told once more, so that its end is told as well.';
  return { ...alert, annotations: idleText(alert, over, step) };
}

function overWords(since: string, goesOnAs: string | undefined): string {
  return goesOnAs === undefined ? `It is over since ${since}` : `It goes on as ${goesOnAs} since ${since}`;
}

/** What is left of an alert's annotations where nobody has to act. */
function idleText({ name, annotations }: Alert, summary: string, firstStep: string): Record<string, string> {
  const { owner, runbook_url, goes_on_as, folded_into } = annotations;
  const left = (goes_on_as ?? folded_into) === undefined ? annotations.when_over : undefined;
  return {
    summary,
    description: `${left ?? 'Nobody has to act on it.'} It told: ${annotations.summary ?? name}`,
    ...(owner === undefined ? {} : { owner }),
    first_step: left ?? firstStep,
    ...(left === undefined ? {} : { when_over: left }),
    ...(runbook_url === undefined ? {} : { runbook_url }),
  };
}
