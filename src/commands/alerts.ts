/**
 * `tramline alerts`: what on-call is told, firing and lately resolved. `tramline alerts test`: pages each sink once.
 */
import type { Command } from 'commander';
import type { AlertView, Api } from '../model/api';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';
import { shortTime } from './output';

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

async function run({ output }: CommandContext, api: Api): Promise<number> {
  const alerts = await api.alerts();
  if (output.json) output.value(alerts);
  else if (alerts.length === 0) output.line('No alert fires.');
  else {
    output.table<AlertView>(alerts, [
      { title: 'STATE', of: ({ state, severity }) => (state === 'firing' ? severity : state) },
      { title: 'NAME', of: ({ name }) => name },
      { title: 'SINCE', of: ({ since }) => shortTime(since) },
      { title: 'OF', of: ({ labels }) => subjectOf(labels), gives: true },
    ]);
    const firing = alerts.find(({ state }) => state === 'firing');
    if (firing !== undefined) tell(output, firing);
  }
  return exitCodes.done;
}

/** What the first that fires is about, and what to do about it. */
function tell(output: CommandContext['output'], { annotations }: AlertView): void {
  const { description, summary, first_step: firstStep, action_url: address } = annotations;
  const about = description ?? summary;
  if (about !== undefined) {
    output.line('');
    output.prose('', about);
  }
  if (address !== undefined) output.line(`Where a person acts: ${address}`);
  if (firstStep !== undefined) output.next(firstStep);
}

async function test({ output }: CommandContext, api: Api): Promise<number> {
  const tests = await api.testAlerts();
  if (output.json) output.value(tests);
  else if (tests.length === 0) output.line('No sink is named: alerts are log lines of the running service.');
  else {
    for (const { sink, outcome, status, detail } of tests) {
      output.line(`${sink.padEnd(13)} ${outcome}${status === null ? '' : ` (${status})`}`);
      output.line(`  ${detail}`);
    }
    const failed = tests.find(({ outcome }) => outcome !== 'accepted');
    output.next(
      failed === undefined ? 'See whether each page arrived.' : 'tramline config shows the sinks’ settings.',
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
