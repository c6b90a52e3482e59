import { countAlerts } from '../../../src/alert/count-alerts';
import { anAlert, minuteMs, noonMs } from './samples';

const kafka = { name: 'TramlineKafkaUnavailable', severity: 'critical', labels: {} } as const;

test('firing alerts are counted by severity', () => {
  const { firing } = countAlerts(
    [anAlert(), anAlert(kafka), anAlert({ ...kafka, state: 'resolved', resolvedAtMs: noonMs })],
    noonMs,
  );
  expect(firing).toEqual({ critical: 1, warning: 1, info: 0 });
});

test('of what pages for the platform it is told how long it is over, the last of a name counting', () => {
  const denied = (topic: string, endedMs: number | null) =>
    anAlert({
      ...kafka,
      name: 'TramlineTopicDenied',
      labels: { topic },
      state: endedMs === null ? 'firing' : 'resolved',
      resolvedAtMs: endedMs,
    });
  const overAt = (...alerts: ReturnType<typeof anAlert>[]) => countAlerts(alerts, noonMs).over;
  const name = 'TramlineTopicDenied';
  expect(overAt(denied('a', noonMs - 3 * minuteMs), denied('b', noonMs - minuteMs))).toEqual([
    { name, ageMs: minuteMs },
  ]);
  expect(overAt(denied('a', null), denied('b', noonMs - minuteMs))).toEqual([{ name, ageMs: 0 }]);
  expect(overAt(denied('a', noonMs + minuteMs))).toEqual([{ name, ageMs: 0 }]);
});

test('what woke nobody, or is of one organization, has no such age', () => {
  const rateLimited = anAlert({ name: 'TramlineRateLimited', severity: 'warning', labels: {} });
  const terms = anAlert({ severity: 'critical' });
  expect(countAlerts([rateLimited, terms], noonMs).over).toEqual([]);
});
