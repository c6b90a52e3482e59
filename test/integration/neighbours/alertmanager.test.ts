// Goal: the Alertmanager that other suites rely on is a real one, and what is posted to it reaches a person on call.
// Method: alerts as any client posts them to /api/v2/alerts; the receiver is a recording webhook.
import {
  type Alertmanager,
  alertmanagerAvailable,
  type NotificationRecorder,
  recordNotifications,
  startAlertmanager,
} from '../../support/alertmanager';
import { describeWithNeighbour } from '../../support/neighbour';
import { until } from '../../support/until';

describeWithNeighbour('Alertmanager', alertmanagerAvailable(), 'a real Alertmanager', () => {
  let recorder: NotificationRecorder;
  let alertmanager: Alertmanager;

  beforeAll(async () => {
    recorder = await recordNotifications();
    alertmanager = await startAlertmanager({ webhookUrl: recorder.url });
  });

  afterAll(async () => {
    await alertmanager?.stop();
    await recorder?.stop();
  });

  async function post(organization: string, endsAt: Date): Promise<number> {
    const alert = {
      labels: { alertname: 'TermsRequired', organization_id: organization },
      annotations: { summary: 'An organization must accept the terms.' },
      endsAt: endsAt.toISOString(),
    };
    const response = await fetch(`${alertmanager.url}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([alert]),
    });
    return response.status;
  }

  function told(organization: string): string[] {
    const alerts = recorder.notifications.flatMap((notification) => notification.alerts);
    return alerts
      .filter((alert) => alert.labels.organization_id === organization)
      .map((alert) => alert.status);
  }

  const minutes = (count: number) => new Date(Date.now() + count * 60_000);

  test('a firing alert reaches the receiver once, its resolve after it', async () => {
    expect(await post('4711', minutes(5))).toBe(200);
    await until(() => told('4711').length > 0, { withinMs: 10_000 });
    expect(await post('4711', minutes(5))).toBe(200);
    expect(await post('4711', minutes(0))).toBe(200);
    await until(() => told('4711').includes('resolved'), { withinMs: 10_000 });
    expect(told('4711')).toEqual(['firing', 'resolved']);
  });

  test('a killed one answers nothing, and takes alerts again on its address after a restart', async () => {
    const before = alertmanager.pid;
    await alertmanager.kill();
    await expect(post('12', minutes(5))).rejects.toThrow('fetch failed');
    await alertmanager.restart();
    expect(alertmanager.pid).not.toBe(before);
    expect(await post('12', minutes(5))).toBe(200);
    await until(() => told('12').length > 0, { withinMs: 10_000 });
    expect(told('12')).toEqual(['firing']);
  });
});
