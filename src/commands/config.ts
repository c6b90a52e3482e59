/**
 * `tramline config`: the settings that a process started here would have, where each came from, secrets hidden.
 */
import type { Command } from 'commander';
import type { Origin } from '../config';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerConfig(program: Command, action: Action): void {
  program.command('config').description('settings in force, secrets hidden').action(action(run));
}

async function run(context: CommandContext): Promise<number> {
  const { output, load } = context;
  const { origins, missing, warnings, settings: given } = load();
  const settings = Object.entries(origins);
  const sandbox = given.providerPlan === 'sandbox';
  if (output.json) {
    const views = settings.map(([name, origin]) => [name, viewOf(origin)]);
    output.value(Object.fromEntries(sandbox ? [...views, ['sandbox', await sandboxOf(context)]] : views));
  } else {
    output.table(settings, [
      { title: 'NAME', of: ([name]) => name },
      { title: 'VALUE', of: ([, { shown }]) => textOf(shown), gives: true },
      { title: 'FROM', of: ([, { from }]) => from },
    ]);
  }
  if (sandbox && !output.json) await tellSandbox(context);
  for (const warning of warnings) output.warn(warning);
  for (const { name, text } of missing) output.note(`${name} ${text}`);
  if (missing.length > 0) output.next('serve needs what is missing; `demo` needs none of it');
  return exitCodes.done;
}

/** For machines: what is left, and who said so; null where nobody did. */
async function sandboxOf(context: CommandContext): Promise<object> {
  try {
    return await withApi(context, async (api, via) => ({ value: (await api.sandbox()).limits, from: via }));
  } catch {
    return { value: null, from: 'unset' };
  }
}

/** What is left is known to the service, or to the store; settings are shown without either. */
async function tellSandbox(context: CommandContext): Promise<void> {
  const { output } = context;
  try {
    const { limits } = await withApi(context, (api) => api.sandbox());
    for (const { limit, left, most, detail } of limits)
      output.line(`sandbox: ${left} of ${most} ${limit} left (${detail})`);
  } catch (error) {
    output.note(
      `what the sandbox leaves is not known: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function viewOf({ shown, from, path }: Origin): object {
  return { value: shown, from, ...(path === null ? {} : { path }) };
}

function textOf(shown: unknown): string | null {
  if (shown === null) return null;
  return Array.isArray(shown) ? shown.join(',') : String(shown);
}
