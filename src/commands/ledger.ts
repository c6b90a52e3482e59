/**
 * `tramline ledger`: what became of every notification; each is in exactly one line.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerLedger(program: Command, action: Action): void {
  program
    .command('ledger')
    .description('what became of every notification')
    .action(action((context) => withApi(context, (api) => run(context, api))));
}

/** Fails when something is lost: that must never be. */
async function run({ output }: CommandContext, api: Api): Promise<number> {
  const ledger = await api.ledger();
  if (output.json) output.value(ledger);
  else {
    const width = Math.max(...Object.values(ledger).map((count) => String(count).length));
    for (const [name, count] of Object.entries(ledger)) {
      output.line(`${name.padEnd(12)} ${String(count).padStart(width)}`);
    }
    if (ledger.lost !== 0) output.next('That must never be; what the service says of it: tramline alerts');
    else if (ledger.parked > 0) output.next('See who must act: tramline organizations');
    else if (ledger.quarantined > 0) output.next('See what waits for you: tramline quarantine');
    else output.next('What needs a person: tramline alerts');
  }
  return ledger.lost === 0 ? exitCodes.done : exitCodes.failed;
}
