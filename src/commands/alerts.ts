/**
 * `tramline alerts`: what on-call is told, each in full, worst first, and what was lately resolved. `tramline alerts test`: pages each sink once.
 */
import type { Command } from 'commander';
import type { AlertView, Api } from '../model/api';
import { agedTime } from './age';
import { type Action, type CommandContext, withApi, withApiAsIs } from './context';
import { exitCodes } from './exit-code';

export function registerAlerts(program: Command, action: Action): void {
  const alerts = program
    .command('alerts')
    .description('alerts, firing and lately resolved')
    .action(action((context) => withApi(context, (api) => run(context, api))));
  alerts
    .command('test')
    .description('page each sink once, end the page, and say what each made of it')
    .action(action((context) => withApiAsIs(context, (api) => test(context, api))));
}

async function run({ output, clock }: CommandContext, api: Api): Promise<number> {
  const alerts = (await api.alerts()).toSorted(compareAlerts);
  if (output.json) {
    output.value(alerts);
    return exitCodes.done;
  }
  const firing = alerts.filter(({ state }) => state === 'firing');
  const ended = alerts.slice(firing.length);
  const nowMs = clock.nowMs();
  if (firing.length === 0) output.line(`No alert fires.${ended.length > 0 ? ' Lately resolved:' : ''}`);
  const named = new Set<string>();
  for (const [place, alert] of firing.slice(0, shownMax).entries()) {
    if (place > 0) output.line('');
    // Of one alone the next step follows at once; of several of one name the page is told with the first.
    tell(output, alert, { step: firing.length > 1, page: !named.has(alert.name) }, nowMs);
    named.add(alert.name);
  }
  if (firing.length > shownMax) {
    output.line('');
    output.line(`… and ${firing.length - shownMax} more: tramline alerts --json`);
  }
  if (ended.length > 0) {
    for (const line of firing.length > 0 ? ['', 'Lately resolved:'] : []) output.line(line);
    showEnded(output, ended.slice(0, shownMax), nowMs);
    const missing = new Set(ended.flatMap(({ notTold }) => notTold ?? []));
    // Who reads there sees pages open that are over.
    if (missing.size > 0) output.prose('  told   ', toldText([...missing]));
    if (ended.length > shownMax) output.line(`… and ${ended.length - shownMax} more: tramline alerts --json`);
  }
  const step = firing.find((alert) => !isOver(alert))?.annotations.first_step;
  output.next(step ?? whereElse);
  return exitCodes.done;
}

/** As many as somebody scrolls through; machines get all. */
const shownMax = 50;

/** All that is known of one, a fact a line: what it is, whom it concerns, and what to do about it. */
function tell(
  output: CommandContext['output'],
  alert: AlertView,
  shown: { step: boolean; page: boolean },
  nowMs: number,
): void {
  const { severity, name, since, labels, annotations } = alert;
  const { description, summary, owner, until_when: until, first_step: step, action_url: where } = annotations;
  output.prose('', `${severity}  ${name}  since ${agedTime(since, nowMs)}`);
  if (isOver(alert)) {
    const subject = subjectOf(labels);
    if (subject !== null) output.prose('  of     ', subject);
    output.prose('  ', overText(annotations, nowMs));
    if (alert.notTold !== undefined) output.prose('  told   ', toldText(alert.notTold));
    return;
  }
  const facts: [head: string, text: string | null | undefined][] = [
    ['of', subjectOf(labels)],
    ['', description ?? summary],
    ['owner', owner],
    ['until', until === undefined ? 'not known' : timed(until, nowMs)],
    ['told', alert.notTold === undefined ? null : toldText(alert.notTold)],
    ['where', where],
    ['next', shown.step ? step : null],
    ['read', shown.page ? annotations.runbook_url : null],
  ];
  for (const [head, text] of facts) {
    if (text !== null && text !== undefined && text !== '')
      output.prose(head === '' ? '  ' : `  ${head.padEnd(7)}`, text);
  }
}

/** What it told of has ended: it is only held, in case that comes back. */
function isOver({ annotations }: AlertView): boolean {
  return annotations.closes_at !== undefined;
}

function overText(annotations: AlertView['annotations'], nowMs: number): string {
  const { over_since: since, closes_at: until = '', goes_on_as: as, when_over: left } = annotations;
  const ended = since === undefined ? '' : ` since ${agedTime(since, nowMs)}`;
  const what = as === undefined ? 'It is over' : `It goes on as ${as}`;
  const act = left === undefined ? ': nobody has to act.' : `. ${left}`;
  return `${what}${ended}${act} It closes at ${until} unless it comes back.`;
}

/** Whoever reads there does not know of it. */
function toldText(notTold: string[]): string {
  return `not yet to ${notTold.join(', ')}: \`tramline check\` says whether that fails`;
}

/** A time with how far it is, ahead or ago; words as they are. */
function timed(until: string, nowMs: number): string {
  const untilMs = Date.parse(until);
  if (Number.isNaN(untilMs)) return until;
  return `${agedTime(until, nowMs)}${untilMs <= nowMs ? ' ago' : ''}`;
}

function showEnded(output: CommandContext['output'], ended: AlertView[], nowMs: number): void {
  output.table<AlertView>(ended, [
    { title: 'NAME', of: ({ name }) => name },
    { title: 'RESOLVED', of: ({ resolvedAt }) => (resolvedAt === null ? null : agedTime(resolvedAt, nowMs)) },
    { title: 'OF', of: ({ labels }) => subjectOf(labels), gives: 'below' },
  ]);
}

const whereElse = 'What the service stands on: tramline check';

/** The next step of a list that holds nothing: alerts, where one fires that has not ended. */
export async function afterNothing(api: Api): Promise<string> {
  const needed = (await api.alerts()).some((alert) => alert.state === 'firing' && !isOver(alert));
  return needed ? 'What needs a person: tramline alerts' : whereElse;
}

const urgency = { critical: 0, warning: 1, info: 2 };

/** Worst first: what fires and still holds, by severity, then by what is lost soonest, then the oldest; the last ended of those that ended. */
function compareAlerts(left: AlertView, right: AlertView): number {
  if (left.state !== right.state) return left.state === 'firing' ? -1 : 1;
  if (left.state === 'resolved') return compareTimes(right.resolvedAt, left.resolvedAt);
  if (isOver(left) !== isOver(right)) return isOver(left) ? 1 : -1;
  return (
    urgency[left.severity] - urgency[right.severity] ||
    compareTimes(lossOf(left), lossOf(right)) ||
    compareTimes(left.since, right.since)
  );
}

/** Until when nothing is lost; null where no time is known. */
function lossOf({ annotations: { until_when: until } }: AlertView): string | null {
  return until === undefined || Number.isNaN(Date.parse(until)) ? null : until;
}

/** ISO times in UTC; what has none comes last. */
function compareTimes(left: string | null, right: string | null): number {
  if (left === right) return 0;
  if (left === null || right === null) return left === null ? 1 : -1;
  return left < right ? -1 : 1;
}

async function test({ output }: CommandContext, api: Api): Promise<number> {
  const tests = await api.testAlerts();
  if (output.json) output.value(tests);
  else if (tests.length === 0) {
    output.line('No sink is named: alerts are log lines of the running service.');
    output.next('To page somebody, set ALERTMANAGER_URLS, PAGERDUTY_ROUTING_KEY or SLACK_WEBHOOK_URL.');
  } else {
    for (const { sink, instance, outcome, status, detail } of tests) {
      output.line(`${sink.padEnd(13)} ${outcome}${status === null ? '' : ` (${status})`}`);
      if (instance !== undefined) output.line(`  ${instance}`);
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
