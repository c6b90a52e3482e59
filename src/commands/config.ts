/**
 * `tramline config`: the settings that a process started here would have, where each came from, secrets hidden; and what the
 * sandbox leaves, which the service knows.
 */
import type { Command } from 'commander';
import { configView, type LoadedSettings, separatorOf } from '../config';
import type { Api } from '../model/api';
import type { SandboxUse } from '../model/sandbox';
import { type Action, type CommandContext, serviceOf, type Via, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerConfig(program: Command, action: Action): void {
  program.command('config').description('settings in force, secrets hidden').action(action(run));
}

async function run(context: CommandContext): Promise<number> {
  const { output } = context;
  const loaded = context.load();
  const { origins, missing, warnings } = loaded;
  if (output.json) {
    const left = await leftInSandbox(context, loaded);
    const sandbox = left === null ? {} : { sandbox: { value: left.limits, from: left.from } };
    output.value({ ...configView(loaded), ...sandbox });
  } else {
    output.table(Object.entries(origins), [
      { title: 'NAME', of: ([name]) => name },
      { title: 'VALUE', of: ([name, { shown }]) => textOf(name, shown), gives: true },
      { title: 'FROM', of: ([, { from }]) => from },
    ]);
    tellLeft(output, await leftInSandbox(context, loaded));
  }
  for (const warning of warnings) output.warn(warning);
  for (const { name, text } of missing) output.note(`${name} ${text}`);
  if (missing.length > 0) output.next('serve needs what is missing; `demo` needs none of it');
  return exitCodes.done;
}

interface LeftInSandbox {
  /** null where nobody said so, and why. */
  limits: SandboxUse[] | null;
  from: Via | 'unset';
  why: string | null;
}

/**
 * What the service says, or where none runs the store. A service that runs may be in the sandbox though these settings are
 * not, of which it has its own: then only it is asked. null: it is not, or is not to be asked.
 */
async function leftInSandbox(context: CommandContext, loaded: LoadedSettings): Promise<LeftInSandbox | null> {
  const isHere = loaded.settings.providerPlan === 'sandbox';
  const ask = async (api: Pick<Api, 'sandbox'>, from: Via) => ({ ...(await api.sandbox()), from });
  try {
    const { plan, limits, from } = await (isHere ? withApi(context, ask) : ask(serviceOf(loaded), 'service'));
    return isHere || plan === 'sandbox' ? { limits, from, why: null } : null;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return isHere ? { limits: null, from: 'unset', why } : null;
  }
}

function tellLeft(output: CommandContext['output'], left: LeftInSandbox | null): void {
  for (const { limit, left: count, most, detail } of left?.limits ?? [])
    output.line(`sandbox: ${count} of ${most} ${limit} left (${detail})`);
  if (left !== null && left.why !== null) output.note(`what the sandbox leaves is not known: ${left.why}`);
}

/** A list as the variable is written. */
function textOf(name: string, shown: unknown): string | null {
  if (shown === null) return null;
  return Array.isArray(shown) ? shown.join(separatorOf(name)) : String(shown);
}
