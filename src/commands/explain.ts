/**
 * `tramline explain`: the journey of a delivery, an event or a resource, step by step.
 */

import type { Command } from 'commander';
import type { Api, Journey } from '../model/api';
import { shellWord } from '../model/shell-word';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerExplain(program: Command, action: Action): void {
  program
    .command('explain')
    .argument('<of>', 'a delivery id (d12), an event id, or the address or the key of a resource')
    .description('what became of it, and why')
    .action(action((context, of) => withApi(context, (api) => run(context, api, of ?? ''))));
}

/** A delivery may name one resource many times: what is said again at once is one line. */
function foldRepeats(steps: Journey['steps']): (Journey['steps'][number] & { times: number })[] {
  const folded: (Journey['steps'][number] & { times: number })[] = [];
  for (const step of steps) {
    const last = folded.at(-1);
    if (last?.at === step.at && last.step === step.step && last.text === step.text) last.times += 1;
    else folded.push({ ...step, times: 1 });
  }
  return folded;
}

/** What the last steps leave to do, or where to look on. */
function nextOf({ what, steps }: Journey): string {
  const last = steps.at(-1);
  const said = `${last?.step} ${last?.text}`;
  if (/parked: .* forgotten$/.test(said)) return 'Nobody has to act, unless its organization connects again.';
  if (/parked/.test(said)) return 'See who must act: tramline parked';
  const isGivenUp = last?.entryState === 'discarded';
  if (/quarantined/.test(said) && !isGivenUp) {
    const look =
      typeof last?.entry === 'string'
        ? `tramline quarantine show ${shellWord(last.entry)}`
        : 'tramline quarantine list';
    return `Look at it: ${look}`;
  }
  // What was set aside as it came, or ignored, has made nothing that has a journey.
  const address = steps
    .filter(({ step }) => step !== 'quarantined' && step !== 'ignored')
    .map(({ address }) => address)
    .find((one) => typeof one === 'string');
  if (what === 'resource' || address === undefined) return 'What needs a person: tramline alerts';
  return `Its whole journey: tramline explain ${shellWord(address)}`;
}

async function run({ output }: CommandContext, api: Api, of: string): Promise<number> {
  const journey = await api.explain(of);
  if (output.json) {
    output.value(journey);
    return exitCodes.done;
  }
  output.line(`The ${journey.what} ${journey.of}`);
  const width = Math.max(0, ...journey.steps.map(({ step }) => step.length));
  for (const { at, step, text, times, detail } of foldRepeats(journey.steps)) {
    const why = typeof detail === 'string' ? ` – ${detail}` : '';
    output.prose(`${at}  ${step.padEnd(width)}  `, (times === 1 ? text : `${text}, ${times} times`) + why);
  }
  output.next(nextOf(journey));
  return exitCodes.done;
}
