/**
 * Whether the alert sinks that the settings name take what they are told: Alertmanager is asked, and of all of them the
 * store knows what they have not taken. Nobody is paged for it.
 */
import { makeAlertmanagerInstance } from '../alert/alertmanager-instance';
import { notTold } from '../alert/not-told';
import { plainTime } from '../alert/plain-text';
import type { AlertSink, SinkName } from '../alert/sink';
import type { Settings } from '../config';
import type { Alert } from '../model/alert';
import { CheckFailure, type Found } from '../operations/check';

const shownNames: Record<SinkName, string> = {
  alertmanager: 'Alertmanager',
  pagerduty: 'PagerDuty',
  slack: 'Slack',
  log: 'the log',
};

const askMsMax = 3000;

/**
 * What is worth knowing of each. Throws `CheckFailure` where one does not answer as one, or did not take what it was offered
 * last. Takes at most 3 s beside what `listAlerts` takes; where that fails it warns that nothing is known of what was taken.
 */
export async function checkSinks(
  { alertmanagerUrls }: Pick<Settings, 'alertmanagerUrls'>,
  sinks: readonly Pick<AlertSink, 'name' | 'repeats'>[],
  listAlerts: () => Promise<Alert[]>,
): Promise<string | Found> {
  const [silent, alerts] = await Promise.all([
    silentAlertmanagers(alertmanagerUrls ?? []),
    listAlerts().catch(() => null),
  ]);
  const failing = new Map(sinks.map(({ name }) => [name, failingText(name, sinks, alerts ?? [])]));
  const said = sinks.map(({ name }) => {
    const failed = failing.get(name) ?? null;
    if (name !== 'alertmanager')
      return failed ?? `${shownNames[name]} is set (\`tramline alerts test\` pages it)`;
    return [...silent, ...(failed === null ? [] : [failed])].join('; ') || answering(alertmanagerUrls ?? []);
  });
  // What to do about the store is told in a line of its own.
  const unknown = alerts === null ? ['what was taken is not known: the store does not answer'] : [];
  const detail = [...said, ...unknown].join('; ');
  if ([...failing.values()].some((text) => text !== null)) throw new CheckFailure(detail, testThem);
  if (silent.length > 0) throw new CheckFailure(detail, 'Look at the sinks’ addresses.');
  // Whoever is sent here by a page that is not told must not read that all is well.
  return alerts === null ? { detail, next: testThem } : detail;
}

const testThem = '`tramline alerts test` says what each answers.';

/** What it has not taken; null when it took all, or what it did not take was not tried yet. */
function failingText(
  name: SinkName,
  sinks: readonly Pick<AlertSink, 'name' | 'repeats'>[],
  alerts: Alert[],
): string | null {
  const missing = alerts.flatMap((alert) =>
    notTold(alert, sinks)
      .filter(({ sink, fails }) => sink === name && fails)
      .map(({ sinceMs }) => ({ name: alert.name, sinceMs })),
  );
  const [oldest] = missing.toSorted((left, right) => left.sinceMs - right.sinceMs);
  if (oldest === undefined) return null;
  const what = missing.length === 1 ? oldest.name : `${missing.length} alerts`;
  return `${shownNames[name]} did not take ${what}, to be told since ${plainTime(oldest.sinceMs)}`;
}

function answering(urls: readonly string[]): string {
  return urls.length === 1 ? '1 Alertmanager answers' : `${urls.length} Alertmanagers answer`;
}

/** A sentence for each that does not answer, or not with its status. */
async function silentAlertmanagers(urls: readonly string[]): Promise<string[]> {
  const deadline = AbortSignal.timeout(askMsMax);
  const silent = urls.map(async (url) => {
    const instance = makeAlertmanagerInstance(url);
    const look = await instance.look(deadline).catch(() => null);
    if (look === null) return [`Alertmanager at ${instance.name} does not answer`];
    return look.life === null
      ? [`Alertmanager at ${instance.name} answers ${look.status}, but not with its status`]
      : [];
  });
  return (await Promise.all(silent)).flat();
}
