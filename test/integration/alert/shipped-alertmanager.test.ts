// Goal: what strikes the platform is one incident for whoever is on call, however many processes and names tell of it.
// Method: the shipped configuration as it is, in a real Alertmanager, which is asked which groups it has for whom and which
// of their alerts it silences: its times are too long to wait for, and its receivers are far away. What it posts to Slack
// is recorded: for that it waits for no company, and reads the recorder's address from its file.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Alertmanager,
  alertmanagerAvailable,
  recordNotifications,
  startAlertmanager,
} from '../../support/alertmanager';
import { describeWithNeighbour } from '../../support/neighbour';
import { repositoryRoot } from '../../support/repository';
import { until } from '../../support/until';

type Labels = Record<string, string>;
type Group = {
  receiver: { name: string };
  alerts: { labels: Labels; status: { state: 'active' | 'suppressed' | 'unprocessed' } }[];
};

const within = { withinMs: 15_000 };
const shipped = readFileSync(join(repositoryRoot(), 'deploy/alertmanager/alertmanager.yml'), 'utf8');

/** ISO 8601, this long after now. */
const at = (afterMs: number): string => new Date(Date.now() + afterMs).toISOString();

type Posted = { labels: Labels; annotations?: Labels; startsAt: string; endsAt: string };

async function postTo(manager: Alertmanager, alerts: Posted[]): Promise<void> {
  const response = await fetch(`${manager.url}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alerts),
  });
  expect(response.status).toBe(200);
}

describeWithNeighbour('Alertmanager', alertmanagerAvailable(), 'the shipped configuration', () => {
  let manager: Alertmanager;
  let firing: Labels[] = [];

  beforeAll(async () => {
    manager = await startAlertmanager(shipped);
  });
  afterEach(async () => {
    await end(() => true);
  });
  afterAll(() => manager.stop());

  async function post(alerts: Labels[], endsInMs: number): Promise<void> {
    await postTo(
      manager,
      alerts.map((labels) => ({ labels, startsAt: at(-60_000), endsAt: at(endsInMs) })),
    );
  }

  /** `severity owner Name label=value …` of each. */
  async function fire(...alerts: string[]): Promise<void> {
    const read = alerts.map((text): Labels => {
      const [severity = '', owner = '', alertname = '', ...more] = text.split(' ');
      const others = more.map((pair) => pair.split('=') as [string, string]);
      return { service: 'tramline', severity, owner, alertname, ...Object.fromEntries(others) };
    });
    firing.push(...read);
    await post(read, 600_000);
  }

  async function end(isOver: (labels: Labels) => boolean): Promise<void> {
    const over = firing.filter(isOver);
    firing = firing.filter((labels) => !isOver(labels));
    await post(over, -1000);
  }

  async function groups(): Promise<Group[]> {
    return (await (await fetch(`${manager.url}/api/v2/alerts/groups`)).json()) as Group[];
  }

  /** Each incident that somebody is told of: to whom, of what, and in brackets what it holds silently. */
  async function incidents(): Promise<string[]> {
    const told = (await groups()).filter(
      ({ receiver, alerts }) =>
        receiver.name !== 'nobody' && alerts.some(({ status }) => status.state === 'active'),
    );
    return told
      .map(({ receiver, alerts }) => {
        const shown = alerts.map(({ labels, status }) => {
          const text = [labels.alertname, labels.instance].filter(Boolean).join(' ');
          return status.state === 'active' ? text : `(${text})`;
        });
        return `${receiver.name}: ${shown.sort().join(', ')}`;
      })
      .sort();
  }

  /** Groups and silences are settled beside the post, one alert after the other. */
  async function told(expected: string[]): Promise<void> {
    const isComplete = async () => (await groups()).flatMap(({ alerts }) => alerts).length === firing.length;
    await until(isComplete, { ...within, what: 'every alert to be in a group' });
    let found = await incidents();
    const isAsExpected = async () => {
      found = await incidents();
      return found.join('\n') === expected.join('\n');
    };
    await until(isAsExpected, within).catch(() => undefined);
    expect(found).toEqual(expected);
  }

  const unreachable = ['a', 'b', 'c'].map((id) => `critical on-call TramlineStoreUnreachable instance=${id}`);

  test('a dead store is one incident, however many processes say so and whichever of its names ends first', async () => {
    await fire(...unreachable);
    await told([
      'on-call: TramlineStoreUnreachable a, TramlineStoreUnreachable b, TramlineStoreUnreachable c',
    ]);
    await fire(
      'critical on-call TramlineStoreUnavailable',
      'critical on-call TramlineIntakeBudgetBurn slo=tramline-intake window=1h',
      'warning on-call TramlineBacklogOld',
    );
    await told([
      'on-call: (TramlineStoreUnreachable a), (TramlineStoreUnreachable b), (TramlineStoreUnreachable c), TramlineStoreUnavailable',
    ]);
    await end(({ alertname }) => alertname === 'TramlineStoreUnavailable');
    await told([
      'on-call: TramlineStoreUnreachable a, TramlineStoreUnreachable b, TramlineStoreUnreachable c',
    ]);
  });

  test('a log that is stuck, which the service tells beside its store only for another cause, is an incident of its own', async () => {
    await fire(
      ...unreachable,
      'critical on-call TramlineStoreUnavailable',
      'critical on-call TramlineStoreLogStuck',
    );
    await told([
      'on-call: (TramlineStoreUnreachable a), (TramlineStoreUnreachable b), (TramlineStoreUnreachable c), TramlineStoreUnavailable',
      'on-call: TramlineStoreLogStuck',
    ]);
  });

  test('what an outage left in the windows of a budget is no second incident, and what burns without one is', async () => {
    const burn = (slo: string, window: string) =>
      `critical on-call Tramline${slo}BudgetBurn slo=tramline-${slo.toLowerCase()} window=${window}`;
    const aftermath = (slo: string, window: string) =>
      `none on-call TramlineOutageAftermath slo=tramline-${slo} window=${window}`;
    await fire(
      'critical on-call TramlineStoreUnavailable',
      ...unreachable,
      burn('Intake', '1h'),
      aftermath('intake', '1h'),
      aftermath('intake', '6h'),
      aftermath('freshness', '1h'),
    );
    await told([
      'on-call: (TramlineStoreUnreachable a), (TramlineStoreUnreachable b), (TramlineStoreUnreachable c), TramlineStoreUnavailable',
    ]);
    await end(({ alertname = '' }) => alertname.startsWith('TramlineStore'));
    await fire(burn('Intake', '6h'), burn('Freshness', '1h'));
    await told([]);
    await end(({ alertname, window }) => alertname === 'TramlineOutageAftermath' && window === '1h');
    await told([
      'on-call: (TramlineIntakeBudgetBurn), TramlineIntakeBudgetBurn',
      'on-call: TramlineFreshnessBudgetBurn',
    ]);
  });

  test('a service that is down is one incident, whether some of it or all is gone', async () => {
    await fire(...['a', 'b', 'c'].map((id) => `critical on-call TramlineDown instance=${id} job=tramline`));
    await told(['on-call: TramlineDown a, TramlineDown b, TramlineDown c']);
    await fire('critical on-call TramlineMetricsAbsent');
    await told(['on-call: (TramlineDown a), (TramlineDown b), (TramlineDown c), TramlineMetricsAbsent']);
    await fire('critical platform TramlineRestarting instance=a job=tramline');
    await told([
      'on-call: (TramlineDown a), (TramlineDown b), (TramlineDown c), TramlineMetricsAbsent, TramlineRestarting a',
    ]);
  });

  test('workers that are gone are one incident, with what waits for them, and none beside a store that is away', async () => {
    await fire(
      'critical on-call TramlineWorkersAbsent',
      'critical on-call TramlineDown instance=a job=tramline',
      'critical on-call TramlineOutboxStuck',
      'warning on-call TramlineBacklogOld',
      'critical on-call TramlineFreshnessBudgetBurn slo=tramline-freshness window=1h',
    );
    await told(['on-call: TramlineDown a, TramlineWorkersAbsent']);
    await end(({ alertname }) => alertname === 'TramlineDown');
    await fire('critical on-call TramlineMetricsAbsent');
    await told(['on-call: (TramlineWorkersAbsent), TramlineMetricsAbsent']);
    await end(({ alertname }) => alertname !== 'TramlineWorkersAbsent');
    await fire(...unreachable);
    await told([
      'on-call: TramlineStoreUnreachable a, TramlineStoreUnreachable b, TramlineStoreUnreachable c',
    ]);
  });

  test('a wrong clock is one incident, with whatever is refused for it', async () => {
    await fire('critical platform TramlineTimestampsRefused');
    await told(['on-call: TramlineTimestampsRefused']);
    await fire(
      'critical platform TramlineClockOff',
      'warning platform TramlineProviderClockOffset',
      'warning on-call TramlineProviderErrors',
      'critical on-call TramlineFreshnessBudgetBurn slo=tramline-freshness window=1h',
    );
    await told(['on-call: (TramlineTimestampsRefused), TramlineClockOff']);
  });

  test('brokers that are away are one incident, also until the last event is known to be sent', async () => {
    await fire('critical on-call TramlineKafkaUnavailable', 'critical on-call TramlineOutboxStuck');
    await told(['on-call: (TramlineOutboxStuck), TramlineKafkaUnavailable']);
  });

  test('keys that open nothing are one incident, with the reads that wait for them', async () => {
    await fire(
      'critical platform TramlineDecryptionFailed',
      'warning on-call TramlineBacklogOld',
      'critical on-call TramlineFreshnessBudgetBurn slo=tramline-freshness window=1h',
    );
    await told(['on-call: TramlineDecryptionFailed']);
  });

  test('a secret of deliveries that no key opens silences nothing that is told of reads', async () => {
    await fire(
      'critical platform TramlineDeliverySecretUnopened',
      'critical on-call TramlineFreshnessBudgetBurn slo=tramline-freshness window=1h',
    );
    await told(['on-call: TramlineDeliverySecretUnopened', 'on-call: TramlineFreshnessBudgetBurn']);
  });

  test('a warning silences warnings, and no page', async () => {
    await fire(
      'warning platform TramlineRateLimited',
      'warning on-call TramlineBacklogOld',
      'critical on-call TramlineFreshnessBudgetBurn slo=tramline-freshness window=1h',
    );
    await told(['on-call: TramlineFreshnessBudgetBurn', 'platform: TramlineRateLimited']);
  });

  test('what strikes one topic or one sink is an incident of its own', async () => {
    await fire(
      'critical platform TramlineTopicDenied topic=a',
      'critical platform TramlineTopicDenied topic=b',
      'critical platform TramlineAlertSinkFailing sink=slack',
      'critical platform TramlineFault place=pipeline',
    );
    await told([
      'on-call: TramlineAlertSinkFailing',
      'on-call: TramlineFault',
      'on-call: TramlineTopicDenied',
      'on-call: TramlineTopicDenied',
    ]);
  });
});

type SlackPost = { attachments: { title: string; text: string; mrkdwn_in: string[] }[] };

describeWithNeighbour(
  'Alertmanager',
  alertmanagerAvailable(),
  'what the shipped configuration posts to Slack',
  () => {
    test('the name of an organization neither mentions, links nor formats', async () => {
      const recorder = await recordNotifications();
      const folder = mkdtempSync(join(tmpdir(), 'tramline-slack-'));
      const file = join(folder, 'url');
      writeFileSync(file, recorder.url);
      const ready = shipped
        .replaceAll('/etc/alertmanager/secrets/slack-webhook-url', file)
        .replace('group_wait: 15s', 'group_wait: 0s');
      const manager = await startAlertmanager(ready);
      const labels = { service: 'tramline', owner: 'customer-success', severity: 'warning' };
      const annotations = {
        summary: 'A&B waits.',
        description: '*Farm* <!channel> <https://evil.example|accept here> is blocked.',
        action_url: 'https://terms.example/accept?a=1&b=2',
      };
      const times = { startsAt: at(-60_000), endsAt: at(600_000) };
      try {
        await postTo(manager, [
          { labels: { ...labels, alertname: 'TramlineTermsRequired' }, annotations, ...times },
        ]);
        await until(() => recorder.notifications.length > 0, { ...within, what: 'a post to Slack' });
        const [{ attachments }] = recorder.notifications as unknown as [SlackPost];
        const { title, text, mrkdwn_in: read } = attachments[0]!;
        expect(title).toBe('FIRING TramlineTermsRequired (warning)');
        // Slack reads asterisks as markup in the fields named here only, and angle brackets everywhere.
        expect(read).toEqual(['pretext']);
        expect(attachments[0]).not.toHaveProperty('pretext', expect.anything());
        expect(text.split('\n').slice(0, 2)).toEqual([
          'A&amp;B waits.',
          '*Farm* &lt;!channel&gt; &lt;https://evil.example|accept here&gt; is blocked.',
        ]);
        expect(text).toContain('Where: https://terms.example/accept?a=1&amp;b=2\n');
      } finally {
        await manager.stop();
        await recorder.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  },
);
