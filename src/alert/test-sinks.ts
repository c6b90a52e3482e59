/**
 * Shows whether a page would arrive: each sink is told one test alert as firing and then its end, at once, and what it
 * answered is said per sink. It touches no stored alert.
 */
import type { Alert } from '../model/alert';
import { runbookFileOf, testRow } from './catalogue';
import { fingerprintOf } from './fingerprint';
import type { AlertSink, PostResult, SinkName } from './sink';

export interface SinkTest {
  sink: SinkName;
  outcome: 'accepted' | 'refused' | 'unreachable';
  /** The HTTP status of the answer that tells most; null when there was none. */
  status: number | null;
  /** For a person. */
  detail: string;
}

/** Never rejects; each sink is bounded in time by itself. `runbookBase` is where runbooks are published. */
export function testSinks(sinks: AlertSink[], runbookBase: string, nowMs: number): Promise<SinkTest[]> {
  return Promise.all(sinks.map((sink) => testSink(sink, `${runbookBase}/${runbookFileOf(testRow)}`, nowMs)));
}

async function testSink(sink: AlertSink, runbookUrl: string, nowMs: number): Promise<SinkTest> {
  const firing = testAlert(runbookUrl, nowMs);
  const began = await offer(sink, firing, nowMs);
  if (began.outcome !== 'accepted') return { sink: sink.name, ...began, detail: refusals[began.outcome] };
  const told = {
    state: 'firing',
    severity: firing.severity,
    sinceMs: nowMs,
    atMs: nowMs,
    failures: 0,
  } as const;
  const over: Alert = { ...firing, state: 'resolved', resolvedAtMs: nowMs, sent: { [sink.name]: told } };
  const ended = await offer(sink, over, nowMs);
  const detail = ended.outcome === 'accepted' ? endings[sink.name] : 'took the test page, but not its end';
  return { sink: sink.name, ...ended, detail };
}

const refusals = {
  refused: 'does not take the test page: look at its credentials and configuration',
  unreachable: 'gives no answer, or one that is no success: look at its address and the way to it',
};

// What is told to Alertmanager as ended at once notifies nobody, so there the end is set ahead.
const endings: Record<SinkName, string> = {
  alertmanager: 'took the test page; it ends by itself within a minute or two',
  pagerduty: 'opened the test incident and resolved it',
  slack: 'took both messages, the page and its end',
  log: 'wrote both lines, the page and its end',
};

async function offer(
  sink: AlertSink,
  alert: Alert,
  nowMs: number,
): Promise<Pick<SinkTest, 'outcome' | 'status'>> {
  const nothing: PostResult = { taken: [], failed: [] };
  const { taken, failed, status = null } = await sink.post([alert], nowMs).catch(() => nothing);
  if (taken.length > 0) return { outcome: 'accepted', status };
  return { outcome: failed[0]?.retry === false ? 'refused' : 'unreachable', status };
}

/** Routed as a real page is. Each test has an identity of its own, so that two of them are two pages. */
function testAlert(runbookUrl: string, nowMs: number): Alert {
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
