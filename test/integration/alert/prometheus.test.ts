// Goal: a symptom that the service shows on /metrics reaches the one who owns it, once, and is taken back when it is over,
// through a real Prometheus with the shipped rules and a real Alertmanager with the shipped configuration.
// Method: a page in the place of the service shows counters of faults and of deliveries that cannot be read: two rules that
// wait for nothing, and end when a quarter of an hour has passed. So its samples are a little less old than that. Alertmanager's
// addresses lead to receivers that record, and its waits are a second; all else is as it is shipped.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Alertmanager,
  alertmanagerAvailable,
  type NotificationRecorder,
  recordNotifications,
  startAlertmanager,
} from '../../support/alertmanager';
import { describeWithNeighbour } from '../../support/neighbour';
import { type Prometheus, prometheusAvailable, startPrometheus } from '../../support/prometheus';
import { repositoryRoot } from '../../support/repository';
import { until } from '../../support/until';

const soon = { withinMs: 60_000 };
/** What the page shows happened so long ago: in twenty seconds the rules have forgotten it. */
const agoMs = 880_000;

const installed = [alertmanagerAvailable(), prometheusAvailable()];
const missing = installed.find(({ available }) => !available);

type Page = {
  event_action: string;
  dedup_key: string;
  payload?: { summary: string; severity: string; class: string };
};
type Message = { channel: string; attachments: { title: string; text: string }[] };
type DeadMan = { alerts: { labels: Record<string, string> }[] };

/** A page of metrics as they were `agoMs` ago; nothing has happened until `strike`. */
async function startMetrics() {
  let count = 0;
  const server = createServer((_request, response) => {
    const at = Date.now() - agoMs;
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(
      [
        '# TYPE tramline_faults_total counter',
        `tramline_faults_total{place="pipeline"} ${count} ${at}`,
        '# TYPE tramline_deliveries_total counter',
        `tramline_deliveries_total{outcome="body-unreadable"} ${count} ${at}`,
        '',
      ].join('\n'),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    strike: () => {
      count = 1;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

describeWithNeighbour(
  'Prometheus and Alertmanager',
  missing ?? { available: true },
  'the shipped rules and the shipped configuration',
  () => {
    let folder: string;
    let pager: NotificationRecorder;
    let slack: NotificationRecorder;
    let deadMan: NotificationRecorder;
    let metrics: Awaited<ReturnType<typeof startMetrics>>;
    let manager: Alertmanager;
    let prometheus: Prometheus;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'tramline-chain-'));
      [pager, slack, deadMan] = await Promise.all([
        recordNotifications(),
        recordNotifications(),
        recordNotifications(),
      ]);
      metrics = await startMetrics();
      manager = await startAlertmanager(configuration());
      prometheus = await startPrometheus({
        rulesFile: join(repositoryRoot(), 'deploy/prometheus/rules.yml'),
        scraped: metrics.url,
        alertmanagerUrl: manager.url,
      });
    }, 90_000);
    afterAll(async () => {
      await prometheus.stop();
      await manager.stop();
      await Promise.all([metrics, pager, slack, deadMan].map((one) => one.stop()));
      rmSync(folder, { recursive: true, force: true });
    });

    function configuration(): string {
      const file = (name: string, text: string) => {
        writeFileSync(join(folder, name), text);
        return join(folder, name);
      };
      const shipped = readFileSync(join(repositoryRoot(), 'deploy/alertmanager/alertmanager.yml'), 'utf8');
      const changes: [string, string][] = [
        ['/etc/alertmanager/secrets/slack-webhook-url', file('slack', slack.url)],
        ['/etc/alertmanager/secrets/pagerduty-routing-key', file('key', 'key')],
        ['http://dead-man.monitoring.svc:8080/tramline', deadMan.url],
        ['group_wait: 15s', 'group_wait: 1s'],
        ['group_interval: 1m', 'group_interval: 1s'],
      ];
      for (const [text] of changes) expect(shipped).toContain(text);
      const changed = changes.reduce((before, [from, to]) => before.replaceAll(from, to), shipped);
      return `global:\n  pagerduty_url: ${pager.url}\n${changed}`;
    }

    const pages = () =>
      (pager.notifications as unknown as Page[]).map(({ event_action, payload }) =>
        [event_action, payload?.class, payload?.severity].join(' '),
      );
    const messages = () =>
      (slack.notifications as unknown as Message[]).map(
        ({ channel, attachments }) => `${channel} ${attachments[0]!.title}`,
      );

    test('a symptom is told once to whoever owns it, and taken back when it is over', async () => {
      const isWatched = () =>
        (deadMan.notifications as unknown as DeadMan[]).some(({ alerts }) =>
          alerts.some(({ labels }) => labels.alertname === 'TramlineWatchdog'),
        );
      await until(isWatched, { ...soon, what: 'the dead man to hear of the chain' });
      const scraped = async () => {
        const query = encodeURIComponent('count_over_time(tramline_faults_total[20m]) > 1');
        const answer = await fetch(`${prometheus.url}/api/v1/query?query=${query}`);
        return ((await answer.json()) as { data: { result: unknown[] } }).data.result.length > 0;
      };
      await until(scraped, { ...soon, what: 'the counters to be known before they count' });
      expect([pages(), messages()]).toEqual([[], []]);

      metrics.strike();
      await until(() => pages().length > 0 && messages().length > 0, { ...soon, what: 'both to be told' });
      expect(pages()).toEqual(['trigger TramlineFault critical']);
      expect(messages()).toEqual(['#tramline-platform FIRING TramlineMalformedDeliveries (warning)']);
      const [page] = pager.notifications as unknown as [Page];
      expect(page.payload?.summary).toBe('A fault of our own: something happened that must not happen.');

      await until(() => pages().length > 1 && messages().length > 1, {
        ...soon,
        what: 'both to be taken back',
      });
      expect(pages()).toEqual(['trigger TramlineFault critical', 'resolve TramlineFault critical']);
      expect(messages()).toEqual([
        '#tramline-platform FIRING TramlineMalformedDeliveries (warning)',
        '#tramline-platform RESOLVED TramlineMalformedDeliveries (warning)',
      ]);
      const keys = new Set((pager.notifications as unknown as Page[]).map(({ dedup_key }) => dedup_key));
      expect(keys.size).toBe(1);
    }, 240_000);
  },
);
