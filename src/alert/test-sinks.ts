/**
 * Shows whether a page would arrive: each sink is told one test alert as firing and then its end, at once, and what it
 * answered is said per sink. One that ends alerts by their time is told both in one post. It touches no stored alert.
 */
import type { Alert } from '../model/alert';
import { runbookFileOf, testRow } from './catalogue';
import { fingerprintOf } from './fingerprint';
import type { AlertSink, InstanceResult, PostResult, SinkName } from './sink';

export interface SinkTest {
  sink: SinkName;
  /** Which of several far sides; left out where there is one. */
  instance?: string;
  outcome: InstanceResult['outcome'];
  /** The HTTP status of the answer that tells most; null when there was none. */
  status: number | null;
  /** For a person. */
  detail: string;
}

/**
 * One line for each sink, and for each instance of one that has several. Never rejects; each sink is bounded in time by
 * itself. `runbookBase` is where runbooks are published.
 */
export async function testSinks(sinks: AlertSink[], runbookBase: string, nowMs: number): Promise<SinkTest[]> {
  const runbookUrl = `${runbookBase}/${runbookFileOf(testRow)}`;
  return (await Promise.all(sinks.map((sink) => testSink(sink, runbookUrl, nowMs)))).flat();
}

async function testSink(sink: AlertSink, runbookUrl: string, nowMs: number): Promise<SinkTest[]> {
  const firing = testAlert(runbookUrl, nowMs);
  const told = {
    state: 'firing',
    severity: firing.severity,
    sinceMs: nowMs,
    atMs: nowMs,
    failures: 0,
  } as const;
  const over: Alert = { ...firing, state: 'resolved', resolvedAtMs: nowMs, sent: { [sink.name]: told } };
  // Of two ends that lie ahead the later one counts there: it is told as firing until its near end, and nothing else.
  if (sink.repeats) {
    const took = await offer(sink, over, nowMs);
    return took.map((one) => (one.outcome === 'accepted' ? taken(sink, one) : untaken(sink, one)));
  }
  const began = await offer(sink, firing, nowMs);
  // Also where no answer came, or one that is no success: the page may be open there all the same.
  const ended = await offer(sink, over, nowMs);
  return began.map((one, at) => {
    if (one.outcome !== 'accepted') return untaken(sink, one);
    const end = ended[at] ?? { ...one, outcome: 'unreachable' as const, status: null };
    if (end.outcome === 'accepted') return taken(sink, end);
    return { sink: sink.name, ...end, detail: 'took the test page, but not its end' };
  });
}

type Offered = Pick<SinkTest, 'instance' | 'outcome' | 'status'>;

function taken(sink: AlertSink, one: Offered): SinkTest {
  return { sink: sink.name, ...one, detail: endings[sink.name] };
}

function untaken(sink: AlertSink, one: Offered): SinkTest {
  return {
    sink: sink.name,
    ...one,
    detail: refusalOf(sink.name, one),
  };
}

function refusalOf(sink: SinkName, { outcome, status }: Offered): string {
  if (status === tooMany) return refusals.tooMany;
  if (wantsCredentials(status)) return `${refusals.credentials}: ${credentials[sink]}`;
  if (redirects(status)) return refusals.redirect;
  return refusals[outcome === 'refused' ? 'refused' : 'unreachable'];
}

/** Of a far side that was reached, and asks to be left alone. */
const tooMany = 429;

function wantsCredentials(status: number | null): boolean {
  return status === 401 || status === 403;
}

function redirects(status: number | null): boolean {
  return status !== null && status >= 300 && status < 400;
}

const refusals = {
  refused: 'does not take the test page: look at its credentials and configuration',
  tooMany: 'was reached and takes no more for now: repeat the test in a few minutes',
  credentials: 'was reached and refuses the credentials',
  redirect: 'answers with a redirect, and none is followed: set the address that it leads to',
  unreachable: 'gives no answer, or one that is no success: look at its address and the way to it',
};

/** Where those of each stand, by which it knows us. */
const credentials: Record<SinkName, string> = {
  alertmanager: 'it is sent none, so let it, or the proxy before it, take posts from here without',
  pagerduty: 'look at PAGERDUTY_ROUTING_KEY, and at what stands before PAGERDUTY_URL',
  slack: 'they are part of SLACK_WEBHOOK_URL, so set the one that is valid now',
  log: 'it has none',
};

// What is told to Alertmanager as ended at once notifies nobody, so there the end is set ahead.
const endings: Record<SinkName, string> = {
  alertmanager: 'took the test page; it says within a minute and its `group_interval` that it is over',
  pagerduty: 'opened the test incident and resolved it',
  slack: 'took both messages, the page and its end',
  log: 'wrote both lines, the page and its end',
};

/**
 * What was made of it: one answer, or one of each instance, always in the same order. Who asks for a pause, for credentials
 * or to go elsewhere was reached.
 */
async function offer(sink: AlertSink, alert: Alert, nowMs: number): Promise<Offered[]> {
  const offered = await post(sink, alert, nowMs);
  const refuses = ({ outcome, status }: Offered) =>
    outcome !== 'accepted' && (status === tooMany || wantsCredentials(status) || redirects(status));
  return offered.map((one) => (refuses(one) ? { ...one, outcome: 'refused' } : one));
}

async function post(sink: AlertSink, alert: Alert, nowMs: number): Promise<Offered[]> {
  const nothing: PostResult = { taken: [], failed: [] };
  const { taken, failed, status = null, instances } = await sink.post([alert], nowMs).catch(() => nothing);
  if (instances !== undefined) return instances.map(({ name, ...rest }) => ({ instance: name, ...rest }));
  if (taken.length > 0) return [{ outcome: 'accepted', status }];
  return [{ outcome: failed[0]?.retry === false ? 'refused' : 'unreachable', status }];
}

/** Routed as a real page is. Each test has an identity of its own, so that two of them are two pages. */
export function testAlert(runbookUrl: string, nowMs: number): Alert {
  const labels = { test: String(nowMs) };
  return {
    fingerprint: fingerprintOf(testRow.name, labels),
    name: testRow.name,
    severity: testRow.severity,
    state: 'firing',
    labels,
    annotations: {
      summary: testRow.summary,
      description: 'Somebody ran `tramline alerts test`. Nothing is wrong and nothing is to be done.',
      owner: testRow.owner,
      first_step: testRow.firstStep,
      runbook_url: runbookUrl,
    },
    startsAtMs: nowMs,
    resolvedAtMs: null,
    quietSinceMs: null,
    returns: 0,
    coversUntilMs: null,
    sent: {},
  };
}
