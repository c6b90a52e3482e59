/**
 * `tramline explain`: the journey of a delivery, an event or a resource, step by step.
 */
import type { Command } from 'commander';
import type { Api, Journey } from '../model/api';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerExplain(program: Command, action: Action): void {
  program
    .command('explain')
    .argument('<of>', 'a delivery id (d12), an event id or the address of a resource')
    .description('what became of it, and why')
    .action(action((context, of) => withApi(context, (api) => run(context, api, of ?? ''))));
}

/** What the last steps leave to do; null when nothing is left. */
function nextOf(steps: Journey['steps']): string | null {
  const last = steps.at(-1);
  if (last === undefined) return null;
  if (/parked/.test(`${last.step} ${last.text}`)) return 'See who must act: tramline parked';
  if (/quarantined/.test(`${last.step} ${last.text}`)) return 'Look at it: tramline quarantine list';
  const address = steps.map(({ address }) => address).find((one) => typeof one === 'string');
  return address === undefined ? null : `Its whole journey: tramline explain ${address}`;
}

async function run({ output }: CommandContext, api: Api, of: string): Promise<number> {
  const journey = await api.explain(of);
  if (output.json) {
    output.value(journey);
    return exitCodes.done;
  }
  output.line(`The ${journey.what} ${journey.of}`);
  const width = Math.max(0, ...journey.steps.map(({ step }) => step.length));
  for (const { at, step, text } of journey.steps) {
    output.prose(`${at}  ${step.padEnd(width)}  `, text);
  }
  const next = nextOf(journey.steps);
  if (next !== null) output.next(next);
  return exitCodes.done;
}
