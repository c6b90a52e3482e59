// Goal: a real Alertmanager tells on-call the true state: paged once with everything that is needed, and told the end,
// also when Alertmanager is killed in between.
// Method: the service's alerting on a store in memory, driven by real time with short settings; a receiver that keeps
// every notification. What would reach a person is what the receiver has.
import { type Alerting, makeAlerting } from '../../../src/alert/alerting';
import { makeAlertmanagerSink } from '../../../src/alert/alertmanager';
import type { AlertSink } from '../../../src/alert/sink';
import { testSinks } from '../../../src/alert/test-sinks';
import { loadSettings } from '../../../src/config';
import type { Alert, Condition } from '../../../src/model/alert';
import { systemClock } from '../../../src/tools/clock';
import { testSinksOf } from '../../../src/wire/sinks';
import {
  type Alertmanager,
  type AlertmanagerOptions,
  alertmanagerAvailable,
  type NotificationRecorder,
  type NotifiedAlert,
  recordNotifications,
  startAlertmanager,
} from '../../support/alertmanager';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { describeWithNeighbour } from '../../support/neighbour';
import { until } from '../../support/until';
import { aBlocked, anAlert } from '../../unit/alert/samples';

const base = 'https://runbooks.example';

/** Alertings under test, by hand: each wait is made of their steps. */
const running = new Set<Pick<Alerting, 'step'>>();

/** Steps until Alertmanager, another process, has come to what is awaited. */
function stepUntil(condition: () => boolean): Promise<true> {
  const stepped = async () => {
    for (const alerting of running) await alerting.step();
    return condition();
  };
  return until(stepped, { withinMs: 50_000, what: condition.toString() }) as Promise<true>;
}

describeWithNeighbour('Alertmanager', alertmanagerAvailable(), 'alerts at a real Alertmanager', () => {
  const started: { stop(): Promise<void> }[] = [];

  afterEach(async () => {
    for (const part of started.splice(0).reverse()) await part.stop();
  });

  async function receiver(): Promise<NotificationRecorder> {
    const recorder = await recordNotifications();
    started.push(recorder);
    return recorder;
  }

  async function alertmanager(options: AlertmanagerOptions): Promise<Alertmanager> {
    const instance = await startAlertmanager(options);
    started.push(instance);
    return instance;
  }

  /** The service's alerting at work: a step in each round of a wait, until it is stopped. */
  function run(urls: string[], store = makeMemoryAlerts(), holdMs = 0, holder = 'a', openMs = 600) {
    const sink = makeAlertmanagerSink({ urls, openMs });
    const conditions: Condition[] = [];
    const alerting = makeAlerting({
      store,
      holder,
      sinks: [sink],
      clock: systemClock,
      conditions: () => conditions,
      options: {
        resendMs: 300,
        leaseMs: 15_000,
        holdMs,
        groupAbove: 50,
        gatherMs: 0,
        resolveRepeatMs: 5_000,
        journalMs: 30 * 86_400_000,
        runbookBase: 'https://runbooks.example',
        ownNames: [],
      },
      random: () => 0,
    });
    running.add(alerting);
    const service = {
      store,
      conditions,
      /** Alertmanager does not gather what began long ago, so only a fresh state shows what gathering does. */
      block: (agoMs = 60_000) => store.inputs.blocked.push(aBlocked({ sinceMs: Date.now() - agoMs })),
      accept: () => {
        store.inputs.blocked = [];
      },
      /** Waits until a post that began later than now was taken. */
      async nextPost() {
        const nowMs = Date.now();
        await stepUntil(() => store.rows().some(({ sent }) => (sent.alertmanager?.atMs ?? 0) > nowMs));
      },
      async stop() {
        running.delete(alerting);
      },
    };
    started.push(service);
    return service;
  }

  const told = ({ notifications }: NotificationRecorder): NotifiedAlert[] =>
    notifications.flatMap((notification) => notification.alerts);
  const states = (recorder: NotificationRecorder): string[] => told(recorder).map((alert) => alert.status);
  const isOver = (recorder: NotificationRecorder) => () => states(recorder).at(-1) === 'resolved';

  test('a block is one page with who, since when, where and what to do, and one end', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url });
    const service = run([url]);
    service.block();
    await stepUntil(() => told(recorder).length > 0);
    for (let round = 0; round < 3; round += 1) await service.nextPost();
    const [sinceMs] = service.store.rows().map((alert) => alert.startsAtMs) as [number];
    expect(told(recorder)).toMatchObject([
      {
        status: 'firing',
        labels: {
          alertname: 'TramlineTermsRequired',
          service: 'tramline',
          severity: 'warning',
          owner: 'customer-success',
          organization_id: '4711',
        },
        annotations: {
          description: expect.stringMatching(
            /^Green Acres \(organization 4711\) is blocked since .+ 3 tasks wait/,
          ),
          action_url: 'https://provider.example/terms',
          runbook_url: 'https://runbooks.example/TramlineTermsRequired.md',
        },
      },
    ]);
    service.accept();
    await stepUntil(isOver(recorder));
    await service.nextPost();
    expect(states(recorder)).toEqual(['firing', 'resolved']);
    // Alertmanager writes times without trailing zeros.
    expect(told(recorder).map((alert) => Date.parse(alert.startsAt))).toEqual([sinceMs, sinceMs]);
  });

  test('the page of a test ends by itself, once the time for which it is open and `group_interval` have passed', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url, groupIntervalMs: 500 });
    const sink = makeAlertmanagerSink({ urls: [url], openMs: 600 });
    expect(await testSinks([sink], base, Date.now())).toMatchObject([{ outcome: 'accepted' }]);
    await until(isOver(recorder), { withinMs: 20_000, what: 'the test page to end' });
    expect(states(recorder)).toEqual(['firing', 'resolved']);
  });

  test('as the settings make it, it is open for less than a minute, and long enough to be told', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url });
    const { settings } = loadSettings('command', { ALERTMANAGER_URLS: url });
    const nowMs = Date.now();
    await testSinks(
      testSinksOf(settings, () => {}),
      base,
      nowMs,
    );
    const shown = (await (await fetch(`${url}/api/v2/alerts`)).json()) as NotifiedAlert[];
    const openMs = shown.map(({ endsAt }) => Date.parse(endsAt) - nowMs);
    expect(openMs).toEqual([45_000]);
    await until(() => states(recorder).length > 0, { withinMs: 20_000, what: 'the test page' });
  });

  test('A-4: a block after the end is a new page with a new start under the same identity', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url });
    const service = run([url]);
    service.block();
    await stepUntil(() => states(recorder).length === 1);
    service.accept();
    await stepUntil(isOver(recorder));
    service.block();
    await stepUntil(() => states(recorder).length === 3);
    const [first, , third] = told(recorder);
    expect(third).toMatchObject({ status: 'firing', labels: first?.labels });
    expect(Date.parse(third?.startsAt ?? '')).toBeGreaterThan(Date.parse(first?.startsAt ?? ''));
  });

  test('A-2: killed and started again while the alert fires, it tells the end', async () => {
    const recorder = await receiver();
    const instance = await alertmanager({ webhookUrl: recorder.url });
    const service = run([instance.url]);
    service.block();
    await stepUntil(() => states(recorder).length === 1);
    await instance.restart();
    await service.nextPost();
    service.accept();
    await stepUntil(isOver(recorder));
  });

  test('A-2: killed before the end and started again after it, it tells the end', async () => {
    const recorder = await receiver();
    const instance = await alertmanager({ webhookUrl: recorder.url });
    const service = run([instance.url]);
    service.block();
    await stepUntil(() => states(recorder).length === 1);
    await instance.kill();
    service.accept();
    await stepUntil(() => service.store.rows()[0]?.state === 'resolved');
    await instance.restart();
    await stepUntil(isOver(recorder));
  });

  test('A-2: killed with the end already taken but not yet told, it tells the end', async () => {
    const recorder = await receiver();
    const instance = await alertmanager({ webhookUrl: recorder.url, groupIntervalMs: 1_500 });
    const service = run([instance.url]);
    service.block();
    await stepUntil(() => states(recorder).length === 1);
    for (let round = 0; round < 3; round += 1) await service.nextPost();
    service.accept();
    await stepUntil(() => service.store.rows()[0]?.sent.alertmanager?.state === 'resolved');
    await instance.restart();
    await stepUntil(isOver(recorder));
  });

  test('K9: a service that is started anew ends what its predecessor paged', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url });
    const service = run([url]);
    service.block();
    await stepUntil(() => states(recorder).length === 1);
    await service.stop();
    const next = run([url], service.store);
    next.accept();
    await stepUntil(isOver(recorder));
    expect(states(recorder)).toEqual(['firing', 'resolved']);
  });

  test('K9: a page told while the store was away, by a process that was killed before it could save that, ends', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url });
    const service = run([url]);
    // In the first round it takes the lead.
    await stepUntil(() => true);
    service.store.away = true;
    const sinceMs = Date.now() - 60_000;
    service.conditions.push({ name: 'store-unavailable', sinceMs, detail: 'It gives no answer.' });
    await stepUntil(() => states(recorder).length === 1);
    await service.stop();
    service.store.away = false;
    expect(service.store.rows()).toEqual([]);
    run([url], service.store);
    await stepUntil(isOver(recorder));
    expect(told(recorder).map(({ status, labels }) => [status, labels])).toEqual(
      ['firing', 'resolved'].map((status) => [
        status,
        {
          alertname: 'TramlineStoreUnavailable',
          service: 'tramline',
          severity: 'critical',
          owner: 'on-call',
        },
      ]),
    );
  });

  describe('K9: of a process that was killed before it could save what Alertmanager took', () => {
    /** Each severity with what on-call was told of it last. */
    const last = (recorder: NotificationRecorder) =>
      Object.fromEntries(told(recorder).map(({ labels, status }) => [labels.severity, status]));

    /** From now on nothing is saved of what is taken, as if each process were killed in between. */
    function forgetAnswers(service: ReturnType<typeof run>): void {
      const { store } = service;
      const save = store.saveAlerts;
      const isUnanswered = ({ sent, severity }: Alert) =>
        sent.alertmanager?.state === null || sent.alertmanager?.severity !== severity;
      store.saveAlerts = (alerts) => save(alerts.filter(isUnanswered));
    }

    function makeUrgent({ store }: ReturnType<typeof run>): void {
      store.inputs.blocked = store.inputs.blocked.map((one) => ({
        ...one,
        waitsSinceMs: Date.now() - 29 * 86_400_000,
      }));
    }

    test('the severity under which it was first told ends when the next process tells it as urgent', async () => {
      const recorder = await receiver();
      const { url } = await alertmanager({ webhookUrl: recorder.url });
      const service = run([url]);
      forgetAnswers(service);
      service.block();
      await stepUntil(() => last(recorder).warning === 'firing');
      await service.stop();
      makeUrgent(service);
      const next = run([url], service.store);
      await stepUntil(() => last(recorder).critical === 'firing');
      await stepUntil(() => last(recorder).warning === 'resolved');
      next.accept();
      await stepUntil(() => last(recorder).critical === 'resolved');
    });

    test('the severity to which it rose ends when the next process finds all over', async () => {
      const recorder = await receiver();
      const { url } = await alertmanager({ webhookUrl: recorder.url });
      const service = run([url]);
      service.block();
      await service.nextPost();
      forgetAnswers(service);
      makeUrgent(service);
      await stepUntil(() => last(recorder).critical === 'firing');
      await service.stop();
      const next = run([url], service.store);
      next.accept();
      await stepUntil(() => last(recorder).critical === 'resolved');
      await stepUntil(() => last(recorder).warning === 'resolved');
    });
  });

  test('A-11: of two instances with one away, the page comes; the other is told when it is back', async () => {
    const [recorder, late] = [await receiver(), await receiver()];
    const there = await alertmanager({ webhookUrl: recorder.url });
    const away = await alertmanager({ webhookUrl: late.url });
    await away.kill();
    const service = run([away.url, there.url]);
    service.block();
    await stepUntil(() => states(recorder).length === 1);
    expect(states(late)).toEqual([]);
    await away.restart();
    await stepUntil(() => states(late).length === 1);
    service.accept();
    await stepUntil(isOver(recorder));
    await stepUntil(isOver(late));
    expect(told(late)[0]?.startsAt).toBe(told(recorder)[0]?.startsAt);
  });

  test('A-9: two processes that both believe to lead raise one incident, which says nothing of either, and end it', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url });
    // Each has a store that lets it lead, as where one of them lost sight of it.
    const [one, two] = ['process-one', 'process-two'].map((holder) =>
      run([url], makeMemoryAlerts(), 0, holder),
    );
    const blocked = aBlocked({ sinceMs: Date.now() - 60_000 });
    for (const each of [one!, two!]) each.store.inputs.blocked.push(blocked);
    for (const each of [one!, two!, one!, two!]) await each.nextPost();
    await stepUntil(() => told(recorder).length > 0);
    const [first, ...more] = (await (await fetch(`${url}/api/v2/alerts`)).json()) as NotifiedAlert[];
    expect(more).toEqual([]);
    expect(first?.labels).toEqual({
      alertname: 'TramlineTermsRequired',
      service: 'tramline',
      severity: 'warning',
      owner: 'customer-success',
      organization_id: '4711',
    });
    expect(Date.parse(first?.startsAt ?? '')).toBe(blocked.sinceMs);
    // One of them ends first; what the other says then is the end for both.
    await two!.stop();
    one!.accept();
    await stepUntil(isOver(recorder));
    await one!.nextPost();
    expect(states(recorder)).toEqual(['firing', 'resolved']);
    expect(told(recorder).map(({ labels }) => labels)).toEqual([first?.labels, first?.labels]);
    expect(JSON.stringify(recorder.notifications)).not.toContain('process-');
  });

  test('A-8: a state shorter than the time in which it gathers still pages, and ends', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url, groupWaitMs: 400 });
    const service = run([url]);
    service.block(0);
    await stepUntil(() => service.store.rows()[0]?.sent.alertmanager?.state === 'firing');
    service.accept();
    await stepUntil(isOver(recorder));
    expect(states(recorder)).toEqual(['firing', 'resolved']);
  });

  test('F16: what is folded into an incident of many before it was notified is never notified', async () => {
    const recorder = await receiver();
    const { url } = await alertmanager({ webhookUrl: recorder.url, groupWaitMs: 5_000 });
    const service = run([url], makeMemoryAlerts(), 0, 'a', 10_000);
    const block = (index: number) =>
      service.store.inputs.blocked.push(aBlocked({ organizationId: `${index}`, sinceMs: Date.now() }));
    for (let index = 1; index <= 50; index += 1) block(index);
    await stepUntil(() => {
      const rows = service.store.rows();
      return rows.length === 50 && rows.every(({ sent }) => sent.alertmanager?.state === 'firing');
    });
    block(51);
    // Its own wait began after theirs.
    await stepUntil(() => told(recorder).length > 0);
    await service.nextPost();
    expect(told(recorder).map(({ status, labels }) => [status, labels.alertname])).toEqual([
      ['firing', 'TramlineManyOrganizationsBlocked'],
    ]);
  });

  describe('posted once', () => {
    let recorder: NotificationRecorder;
    let sink: AlertSink;

    beforeEach(async () => {
      recorder = await receiver();
      const { url } = await alertmanager({ webhookUrl: recorder.url });
      sink = makeAlertmanagerSink({ urls: [url], openMs: 0, timeoutMs: 50_000 });
    });

    const recent = (of: Partial<Alert>): Alert => anAlert({ startsAtMs: Date.now() - 60_000, ...of });

    test('F15: an alert that it refuses spoils no other', async () => {
      // A start before the year 0 passes the local check and is refused by Alertmanager.
      const bad = recent({ labels: { organization_id: 'bad' }, startsAtMs: -8e15 });
      const good = ['1', '2', '3'].map((id) => recent({ labels: { organization_id: id } }));
      const result = await sink.post([good[0] as Alert, bad, ...good.slice(1)], Date.now());
      expect(result).toMatchObject({
        taken: good.map((alert) => alert.fingerprint),
        failed: [{ fingerprint: bad.fingerprint, retry: false }],
      });
      await stepUntil(() => told(recorder).length === 3);
    });

    test('another severity ends the old label set in the same post', async () => {
      const alert = recent({});
      await sink.post([alert], Date.now());
      await stepUntil(() => told(recorder).length === 1);
      const nowMs = Date.now();
      const sent = {
        state: 'firing',
        severity: 'warning',
        sinceMs: nowMs,
        atMs: nowMs,
        failures: 0,
      } as const;
      await sink.post([{ ...alert, severity: 'critical', sent: { alertmanager: sent } }], nowMs);
      await stepUntil(() => told(recorder).length === 3);
      const changes = told(recorder)
        .slice(1)
        .map(({ status, labels }) => `${labels.severity} ${status}`);
      expect(changes.sort()).toEqual(['critical firing', 'warning resolved']);
    });

    test('A-6: 2,000 alerts are two posts and arrive complete', async () => {
      const alerts = Array.from({ length: 2000 }, (_, id) =>
        recent({ labels: { organization_id: `${id}` } }),
      );
      const { taken } = await sink.post(alerts, Date.now());
      expect(taken).toHaveLength(2000);
      await stepUntil(() => told(recorder).length === 2000);
    });
  });
});
