/**
 * `tramline check`: settings, store, provider, Kafka, sinks, alerts, clock; a line each, and what to do where one is not well.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import { type Action, type CommandContext, withApiAsIs } from './context';
import { exitCodes } from './exit-code';

export function registerCheck(program: Command, action: Action): void {
  program
    .command('check')
    .description('what the service stands on, one line each')
    .action(action((context) => withApiAsIs(context, (api) => run(context, api))));
}

async function run({ output }: CommandContext, api: Api): Promise<number> {
  const lines = await api.check();
  if (output.json) output.value(lines);
  else {
    for (const { name, state, detail } of lines) {
      output.prose(`${name.padEnd(9)} ${state.padEnd(8)} `, detail);
    }
    const unwell = lines.filter(({ next }) => next !== null);
    for (const { name, next } of unwell) output.next(`${name}: ${next}`);
    if (unwell.length === 0) output.next('What needs a person: tramline alerts');
  }
  return lines.some(({ state }) => state === 'failed') ? exitCodes.failed : exitCodes.done;
}
