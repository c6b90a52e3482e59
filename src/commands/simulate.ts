// `tramline simulate`: starts the provider on a laptop, prints one JSON line when it is ready, and runs until it is told
// to end. Only words from the shell to options and back; the simulator itself lives in its own folder.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { Problem } from '../model/problem';
import type { SimulatorOptions } from '../simulator/options';
import { isDay } from '../simulator/rules';
import { startSimulator } from '../simulator/simulator';

/** Adds the command. Its wrong options are commander's invalid arguments; one that cannot be met, a taken port among them, is `command.usage`. */
export function registerSimulate(program: Command): void {
  program
    .command('simulate')
    .description('the farm-data provider on a laptop')
    .option('--port <number>', 'where it listens on 127.0.0.1; 0 = a free port', whole, 9_100)
    .option('--deliver-to <url>', 'where its webhooks are delivered', address)
    .option('--latency-ms <number>', 'added to every answer', whole)
    .addOption(
      new Option('--auth <kind>', 'the kind of tokens it hands out')
        .choices(['oauth1', 'oauth2'])
        .default('oauth2'),
    )
    .option('--today <date>', 'the day whose rules are in force (default: the real date)', day)
    .option('--oauth1-ends <date>', 'from this day OAuth 1 is refused', day)
    .addOption(
      new Option('--plan <plan>', 'a sandbox limits connections, calls and time').choices([
        'production',
        'sandbox',
      ]),
    )
    .option('--sandbox-since <date>', 'since when the application is in the sandbox (default: today)', day)
    .option(
      '--old-equipment-ends <date>',
      'from this day machines and implements are gone (default: never)',
      day,
    )
    .addOption(
      new Option(
        '--old-equipment-ids <kind>',
        'what machines and implements are called by; equipment: as in the new API',
      ).choices(['equipment', 'principal']),
    )
    .option('--seed <number>', 'the same seed, the same world', whole)
    .option('--organizations <number>', 'how many organizations', whole)
    .option('--equipment <number>', 'pieces of equipment per organization', whole)
    .option('--field-operations <number>', 'field operations per organization', whole)
    .option('--users <number>', 'the organizations are dealt to this many users', whole)
    .option('--overlap <number>', 'each organization is also seen by this many further users', whole)
    .option('--coverage-file <path>', 'at the end the counts of the contract’s rows are appended to it')
    .option('--heartbeat-ms <number>', 'time between two heartbeats; 0 = none', whole)
    .action(run);
}

async function run(options: SimulatorOptions): Promise<void> {
  const { close, ...ready } = await startSimulator(options).catch(asUsage);
  // Whoever reads that line may send a signal at once.
  const told = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
  });
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  await told;
  await close();
}

/** What an option may not say is known to the simulator; to the caller it is a wrong call. */
function asUsage(error: unknown): never {
  if (error instanceof RangeError) throw new Problem('command.usage', error.message);
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
  throw new Problem('command.usage', `--port must be one that can be listened at: ${message}`);
}

function whole(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('a whole number is needed.');
  return Number(text);
}

function day(text: string): string {
  if (!isDay(text)) throw new InvalidArgumentError('a date written YYYY-MM-DD is needed.');
  return text;
}

function address(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('an http or https address is needed.');
  return text;
}
