/**
 * `tramline explain`: the journey of a delivery, an event or a resource, step by step.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerExplain(program: Command, action: Action): void {
  program
    .command('explain')
    .argument('<of>', 'a delivery id (d12), an event id or the address of a resource')
    .description('what became of it, and why')
    .action(action((context, of) => withApi(context, (api) => run(context, api, of ?? ''))));
}

async function run({ output }: CommandContext, api: Api, of: string): Promise<number> {
  const journey = await api.explain(of);
  if (output.json) {
    output.value(journey);
    return exitCodes.done;
  }
  output.line(`The ${journey.what} ${journey.of}`);
  const width = Math.max(0, ...journey.steps.map(({ step }) => step.length));
  for (const { at, step, text } of journey.steps) output.line(`${at}  ${step.padEnd(width)}  ${text}`);
  return exitCodes.done;
}
