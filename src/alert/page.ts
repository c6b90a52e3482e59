/**
 * An alert as text for a person: the page in full, in plain sentences, without markup. Pure; the sentences themselves
 * are made where signals are.
 */
import type { Alert } from '../model/alert';
import { plainName, plainTime } from './plain-text';

/** Several lines, the first of which says what it is; texts come from the alert's annotations. */
export function pageOf(alert: Alert): string {
  const {
    summary,
    description,
    owner,
    first_step,
    action_url,
    runbook_url,
    folded_into,
    until_when,
    closes_at,
    when_over: whenOver,
  } = alert.annotations;
  const start = plainTime(alert.startsAtMs);
  if (alert.resolvedAtMs !== null) {
    return textOf([
      `RESOLVED ${alert.name} (${alert.severity}) from ${start} to ${plainTime(alert.resolvedAtMs)}`,
      folded_into === undefined
        ? whenOver === undefined
          ? 'It is over; nothing is left to do.'
          : `It is over. ${whenOver}`
        : `It goes on as a part of ${folded_into}.`,
      labelled('While it fired, it said', description),
    ]);
  }
  return textOf([
    `FIRING ${alert.name} (${alert.severity}) since ${start}`,
    summary,
    description,
    labelled('About', subject(alert)),
    labelled('Who acts', closes_at === undefined ? owner : undefined),
    labelled('Until when', until_when),
    labelled('Where', action_url),
    labelled('First step', first_step),
    labelled('Runbook', runbook_url),
  ]);
}

/** The ids to act on, also where the sentences name none. */
function subject({ labels }: Alert): string | undefined {
  const pairs = Object.entries(labels).map(([label, value]) => `${label} ${plainName(value, 200)}`);
  return pairs.length === 0 ? undefined : pairs.join(', ');
}

function labelled(label: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${label}: ${text}`;
}

function textOf(lines: (string | undefined)[]): string {
  return lines.filter((line) => line !== undefined).join('\n');
}
