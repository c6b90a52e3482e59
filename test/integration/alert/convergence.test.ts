// Goal: whatever fails in between, on-call's state becomes the true state within two repetitions, with one incident for
// each cause; an end is told once its beginning was open for long enough to be heard.
// Method: a seeded random run of 500 blocks and their acceptances on a store on disk, at ALERT_RESEND_SECONDS=1, some of
// which grow urgent, with hard stops of the process that alerts and of a real Alertmanager, and a PagerDuty and a Slack that
// refuse a fifth of everything for now. On-call's state is what the receiver was told last of each incident, its severity
// included, which incidents PagerDuty has open, and what Slack was told last of each. Intervals are real time, whatever it
// is spent on; only what a busy machine kept one of the processes from running that was ready to does not count.
import type { Cause } from '../../../src/model/organization';
import type { AlertProcessOptions, AlertProgress, Firing, Said } from '../../support/alert-process';
import {
  type Alertmanager,
  alertmanagerAvailable,
  type NotificationRecorder,
  type NotifiedAlert,
  recordNotifications,
  startAlertmanager,
} from '../../support/alertmanager';
import { describeWithNeighbour } from '../../support/neighbour';
import {
  type PagerDutyServer,
  type SlackServer,
  startPagerDuty,
  startSlack,
} from '../../support/pager-server';
import { type ReadyProcess, startProcess, temporaryFolder } from '../../support/ready-process';
import { makeRunningClock } from '../../support/running-clock';
import { until } from '../../support/until';

/** As generated cases elsewhere: the same in every run, others by `TEST_SEED`. What fails prints it. */
const wanted = process.env.TEST_SEED ?? '20260301';
const seed = wanted === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(wanted);
const blocks = 500;
const resendMs = 1000;
const holdMs = 1000;
/** In which Alertmanager, on a machine that is busy with others, has notified of what it was told. It keeps ends back for as long. */
const openMs = 5000;
/** In which Alertmanager gathers what changed in a group. */
const groupIntervalMs = 200;
/** What comes and goes is held for longer each time. */
const holdMsMax = 16 * holdMs;
const names = {
  terms: 'TramlineTermsRequired',
  'required-action': 'TramlineRequiredAction',
  'not-connected': 'TramlineOrganizationNotConnected',
  'refused-grant': 'TramlineReauthorize',
} satisfies Partial<Record<Cause, string>>;
const causes = Object.keys(names) as (keyof typeof names)[];

/** Mulberry32: the same run for the same seed. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describeWithNeighbour('Alertmanager', alertmanagerAvailable(), 'a random run', () => {
  let recorder: NotificationRecorder;
  let manager: Alertmanager;
  let pagerDuty: PagerDutyServer;
  let slack: SlackServer;
  let alerting: ReadyProcess;
  const folder = temporaryFolder();
  /** How many notifications there were when Alertmanager was started again after each hard stop. */
  const hardStops: number[] = [];
  /** The true state: what every organization that is blocked is blocked by. */
  const blocked = new Map<string, keyof typeof names>();
  /** How often an organization was blocked by a cause: no more pages than that are of it. */
  const begunOf = new Map<string, number>();
  /** For whom time runs out: what waits for them came long ago, and waits on when they are blocked again. */
  const urgent = new Set<string>();
  /** Of Slack's messages, as far as they were read. */
  const heard = { texts: 0, open: new Map<string, string>(), unsaid: 0 };
  const random = randomFrom(seed);

  beforeAll(async () => {
    recorder = await recordNotifications();
    pagerDuty = await startPagerDuty('key');
    slack = await startSlack('token');
    // As the shipped configuration groups: an incident goes on under another severity.
    const groupBy = ['alertname', 'organization_id', 'connection_id'];
    manager = await startAlertmanager({ webhookUrl: recorder.url, groupBy, groupIntervalMs });
    await startAlerting();
  });
  afterAll(async () => {
    await alerting.kill();
    await manager.stop();
    await recorder.stop();
    await pagerDuty.stop();
    await slack.stop();
  });

  async function startAlerting(): Promise<void> {
    const addresses = { alertmanagerUrl: manager.url, pagerDutyUrl: pagerDuty.url, slackUrl: slack.url };
    const options: AlertProcessOptions = {
      folder,
      ...addresses,
      resendMs,
      holdMs,
      openMs,
      groupAbove: blocks,
    };
    alerting = await startProcess({
      entry: 'dist/test/support/alert-process.js',
      environment: { ALERT_PROCESS: JSON.stringify(options) },
      readyKeys: ['port'],
    });
  }

  async function ask<Answer = AlertProgress>(path = '', said?: Said): Promise<Answer> {
    const request = said === undefined ? {} : { method: 'POST', body: JSON.stringify(said) };
    const response = await fetch(`http://127.0.0.1:${alerting.ready.port}/${path}`, request);
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Answer;
  }

  async function say(organizationId: string, cause: keyof typeof names | null): Promise<void> {
    if (cause === null) blocked.delete(organizationId);
    else {
      blocked.set(organizationId, cause);
      const incident = `${names[cause]} ${organizationId}`;
      begunOf.set(incident, (begunOf.get(incident) ?? 0) + 1);
    }
    await ask('', { organizationId, cause });
  }

  /** Time runs out for it. */
  async function hurry(organizationId: string): Promise<void> {
    urgent.add(organizationId);
    await ask('', { organizationId, waits: true });
  }

  /** Which incidents are open as far as on-call was told, how urgent, and what was told as new while it was open. */
  function told() {
    const open = new Map<string, { urgency: string; life: number }>();
    const again: string[] = [];
    recorder.notifications.forEach(({ alerts }, index) => {
      // Alertmanager itself forgets at a hard stop what it has told.
      const life = hardStops.filter((count) => count <= index).length;
      const [{ labels }] = alerts as [NotifiedAlert];
      const incident = `${labels.alertname} ${labels.organization_id ?? labels.connection_id?.slice(1)}`;
      const firing = alerts.filter(({ status }) => status === 'firing');
      const urgency = firing.map((alert) => alert.labels.severity).join(' and ');
      const before = open.get(incident);
      if (urgency === '') open.delete(incident);
      else {
        // The end of its former severity may come by itself: Alertmanager reads the alerts of a post one by one.
        const isNews = firing.length < alerts.length;
        if (before?.life === life && before.urgency === urgency && !isNews) again.push(incident);
        open.set(incident, { urgency, life });
      }
    });
    // What it was told before and not since, it does not know any more: nobody would hear the end.
    const isKnown = ({ life }: { life: number }) => life === hardStops.length;
    const known = [...open].map(
      ([incident, one]) => `${incident} ${one.urgency}${isKnown(one) ? '' : ' forgotten'}`,
    );
    return { open: known.sort(), again };
  }

  const incidentOf = (key: string) => key.replace(/^tramline (\w+)\{\w+="c?(\d+)"\}$/, '$1 $2');

  const paged = () =>
    [...pagerDuty.incidents]
      .filter(([, incident]) => incident.open)
      .map(([key, { severity }]) => `${incidentOf(key)} ${severity}`)
      .sort();

  /** What PagerDuty was told as new more often than it began. */
  function pagedWrongly(): string[] {
    const pages = new Map([...pagerDuty.incidents].map(([key, one]) => [incidentOf(key), one.pages]));
    const more = [...pages].filter(([incident, count]) => count > (begunOf.get(incident) ?? 0));
    return more.map(([incident, count]) => `${incident}: ${count} pages`);
  }

  /**
   * What Slack's readers take for open: the last word on each, of single messages and of those of many at once. `unsaid`:
   * how many were only counted there.
   */
  function read(): { open: string[]; unsaid: number } {
    for (; heard.texts < slack.texts.length; heard.texts += 1) {
      const text = slack.texts[heard.texts]!;
      const single = /^(FIRING|RESOLVED) (\w+) \((\w+)\)[\s\S]*?Organization (\d+)/.exec(text);
      const many = [...text.matchAll(/^(FIRING|RESOLVED) (\w+) \((\w+)\) c?(\d+)/gm)];
      const counted = /^(\d+) alerts? began and (\d+) ended at once\./.exec(text);
      if (counted !== null) heard.unsaid += Number(counted[1]) + Number(counted[2]) - many.length;
      for (const [, state, name, severity, id] of single === null ? many : [single]) {
        if (state === 'FIRING') heard.open.set(`${name} ${id}`, `${name} ${id} ${severity}`);
        else heard.open.delete(`${name} ${id}`);
      }
    }
    return { open: [...heard.open.values()].sort(), unsaid: heard.unsaid };
  }

  const severityOf = (id: string) => (urgent.has(id) ? 'critical' : 'warning');
  const truth = () => [...blocked].map(([id, cause]) => `${names[cause]} ${id} ${severityOf(id)}`).sort();

  /** The lists, where they differ from the truth in what `counts`; null when all agree with it. */
  function disagreement(counts: (incidents: string[], truth: string[]) => string[]): string | null {
    const { open, unsaid } = read();
    const known = { alertmanager: told().open, pagerDuty: paged(), slack: open };
    const found = Object.entries(known).map(([sink, incidents]) => ({
      sink,
      of: counts(incidents, truth()),
    }));
    const isTrue = found.every(({ sink, of }) => of.length <= (sink === 'slack' ? unsaid : 0));
    return isTrue ? null : JSON.stringify({ found, unsaid });
  }

  const missing = (incidents: string[], wanted: string[]) => wanted.filter((one) => !incidents.includes(one));
  /** A process that was started anew does not know by which severity an incident still fires for its former end: by both until then. */
  const isHeard = (incidents: string[], one: string) => {
    const [, incident, severity] = /^(.*) (\w+)$/.exec(one)!;
    const severities = [severity, `warning and critical`, `critical and warning`];
    return severities.some((told) => incidents.includes(`${incident} ${told}`));
  };
  const unheard = (incidents: string[], wanted: string[]) => wanted.filter((one) => !isHeard(incidents, one));
  const wrong = (incidents: string[], wanted: string[]) => [
    ...missing(incidents, wanted),
    ...missing(wanted, incidents),
  ];

  /** Within two repetitions from now, and what ends are kept back for, on-call has the truth, as far as it `counts`. */
  async function agreed(what: string, counts: typeof wrong): Promise<void> {
    // The way from what is blocked to whoever is told leads through these, this one included.
    const clock = makeRunningClock(() => [alerting.pid, manager.pid, process.pid]);
    const endMs = clock.nowMs() + 2 * resendMs + groupIntervalMs + (counts === wrong ? openMs : 0);
    const isOver = () => clock.nowMs() > endMs || disagreement(counts) === null;
    await until(isOver, { withinMs: 120_000, what: `two repetitions ${what}` });
    expect([what, seed, disagreement(counts)]).toEqual([what, seed, null]);
  }

  async function converged(what: string): Promise<void> {
    await agreed(`after a block: ${what}`, unheard);
    const decided = async () =>
      wrong(
        (await ask<Firing>('firing')).firing.map((one) => one.replace(/ c(?=\d+ )/, ' ')),
        truth(),
      ).length === 0;
    await until(decided, { withinMs: 8 * holdMsMax, what: `the end of all holds ${what}` });
    await agreed(what, wrong);
    expect([what, pagedWrongly()]).toEqual([what, []]);
  }

  /** A hard stop, after which posts reach nobody; every other is over before anybody notices. */
  async function stopAlertmanager(): Promise<void> {
    await manager.kill();
    const { unreachable } = await ask();
    const isNoticed = async () => (await ask()).unreachable > unreachable;
    if (hardStops.length % 2 === 0) await until(isNoticed, { withinMs: 30_000, what: 'a lost post' });
    // What it sent before it ended has arrived.
    await until(() => recorder.isIdle(), { withinMs: 30_000, what: 'the receiver to be idle' });
    hardStops.push(recorder.notifications.length);
    await manager.restart();
    await agreed('after a hard stop', unheard);
  }

  async function blockSome(most: number): Promise<number> {
    let begun = 0;
    for (let count = Math.floor(random() * 12); count > 0 && begun < most; count -= 1) {
      const organizationId = `${Math.floor(random() * 300)}`;
      const cause = causes[Math.floor(random() * causes.length)]!;
      if (blocked.has(organizationId)) continue;
      await say(organizationId, cause);
      begun += 1;
    }
    return begun;
  }

  test('500 blocks, acceptances, restarts and hard stops end in the true state', async () => {
    let begun = 0;
    let restarts = 0;
    while (begun < blocks) {
      begun += await blockSome(blocks - begun);
      for (const id of [...blocked.keys()]) if (random() < 0.03) await say(id, null);
      for (const id of [...blocked.keys()]) if (random() < 0.01 && !urgent.has(id)) await hurry(id);
      pagerDuty.next = random() < 0.2 ? [{ status: 503 }, { status: 429 }] : [];
      // It is told one message after the other: a second failure would be a second pause.
      slack.next = random() < 0.2 ? [{ status: 503 }] : [];
      if (random() < 0.08) {
        await alerting.kill();
        await startAlerting();
        restarts += 1;
      }
      if (random() < 0.06) await stopAlertmanager();
      if (random() < 0.03) await converged(`after ${begun} blocks`);
      const { steps } = await ask();
      await until(async () => (await ask()).steps > steps, { withinMs: 30_000, what: 'a round' });
    }
    for (const sink of [pagerDuty, slack]) sink.next = [];
    expect([restarts > 2, hardStops.length > 2, urgent.size > 20]).toEqual([true, true, true]);
    await converged('at the end');
    for (const id of [...blocked.keys()]) await say(id, null);
    await converged('when all is over');
    expect([told(), paged()]).toEqual([{ open: [], again: [] }, []]);
    expect(begun).toBe(blocks);
  }, 600_000);
});
