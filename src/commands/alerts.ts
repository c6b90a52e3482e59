/**
 * `tramline alerts`: what on-call is told, worst first, and lately resolved. `tramline alerts test`: pages each sink once.
 */
import type { Command } from 'commander';
import type { AlertView, Api } from '../model/api';
import { agedTime } from './age';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerAlerts(program: Command, action: Action): void {
  const alerts = program
    .command('alerts')
    .description('alerts, firing and lately resolved')
    .action(action((context) => withApi(context, (api) => run(context, api))));
  alerts
    .command('test')
    .description('page each sink once, end the page, and say what each made of it')
    .action(action((context) => withApi(context, (api) => test(context, api))));
}

async function run({ output, clock }: CommandContext, api: Api): Promise<number> {
  const alerts = (await api.alerts()).toSorted(compareAlerts);
  if (output.json) output.value(alerts);
  else if (alerts.length === 0) {
    output.line('No alert fires.');
    output.next(whereElse);
  } else {
    const [worst] = alerts as [AlertView];
    const isFiring = worst.state === 'firing';
    if (!isFiring) output.line('No alert fires. Lately resolved:');
    output.table<AlertView>(alerts, [
      { title: 'STATE', of: ({ state, severity }) => (state === 'firing' ? severity : state) },
      { title: 'NAME', of: ({ name }) => name },
      { title: 'SINCE', of: ({ since }) => agedTime(since, clock.nowMs()) },
      { title: 'OF', of: ({ labels }) => subjectOf(labels), gives: 'below' },
    ]);
    if (isFiring) tell(output, worst, alerts.filter(({ state }) => state === 'firing').length - 1);
    else output.next(whereElse);
  }
  return exitCodes.done;
}

const whereElse = 'What the service stands on: tramline check';

const urgency = { critical: 0, warning: 1, info: 2 };

/** Worst first: what fires, by severity, then by what is lost soonest, then the oldest; the last ended of those that ended. */
function compareAlerts(left: AlertView, right: AlertView): number {
  if (left.state !== right.state) return left.state === 'firing' ? -1 : 1;
  if (left.state === 'resolved') return compareTimes(right.resolvedAt, left.resolvedAt);
  return (
    urgency[left.severity] - urgency[right.severity] ||
    compareTimes(lossOf(left), lossOf(right)) ||
    compareTimes(left.since, right.since)
  );
}

/** Until when nothing is lost; null where that is not known. */
function lossOf({ annotations: { kept_until: kept, consent_ends: ends } }: AlertView): string | null {
  return [kept, ends].filter((time) => time !== undefined).sort()[0] ?? null;
}

/** ISO times in UTC; what has none comes last. */
function compareTimes(left: string | null, right: string | null): number {
  if (left === right) return 0;
  if (left === null || right === null) return left === null ? 1 : -1;
  return left < right ? -1 : 1;
}

/** What the worst is about, and what to do about it; of how many others the same can be read. */
function tell(output: CommandContext['output'], { annotations }: AlertView, others: number): void {
  const { description, summary, first_step: firstStep, action_url: address } = annotations;
  const about = description ?? summary;
  if (about !== undefined) {
    output.line('');
    output.prose('', about);
  }
  if (address !== undefined) output.prose('', `Where a person acts: ${address}`);
  if (firstStep !== undefined) output.next(firstStep);
  if (others > 0)
    output.next(`${others} more ${others === 1 ? 'fires' : 'fire'}, in full: tramline alerts --json`);
}

async function test({ output }: CommandContext, api: Api): Promise<number> {
  const tests = await api.testAlerts();
  if (output.json) output.value(tests);
  else if (tests.length === 0) {
    output.line('No sink is named: alerts are log lines of the running service.');
    output.next('To page somebody, set ALERTMANAGER_URLS, PAGERDUTY_ROUTING_KEY or SLACK_WEBHOOK_URL.');
  } else {
    for (const { sink, outcome, status, detail } of tests) {
      output.line(`${sink.padEnd(13)} ${outcome}${status === null ? '' : ` (${status})`}`);
      output.prose('  ', detail);
    }
    const failed = tests.find(({ outcome }) => outcome !== 'accepted');
    output.next(
      failed === undefined ? 'See whether each page arrived.' : 'The sinks’ settings: tramline config',
    );
  }
  return tests.every(({ outcome }) => outcome === 'accepted') ? exitCodes.done : exitCodes.failed;
}

const everyAlertHas = new Set(['alertname', 'service', 'severity']);

/** What tells it from others of its name. */
function subjectOf(labels: Record<string, string>): string | null {
  const telling = Object.entries(labels).filter(([name]) => !everyAlertHas.has(name));
  return telling.map(([, value]) => value).join(' ') || null;
}
