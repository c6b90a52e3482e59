/**
 * `tramline explain`: the journey of a delivery, an event or a resource, step by step.
 */

import type { Command } from 'commander';
import type { Api, Journey } from '../model/api';
import { shellWord } from '../model/shell-word';
import { asCopied } from './as-copied';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

export function registerExplain(program: Command, action: Action): void {
  program
    .command('explain')
    .argument('<of>', 'a delivery id (d12), an event id, or the address of a resource or the key of a record')
    .description('what became of it, and why')
    .action(action((context, of) => withApi(context, (api) => run(context, api, asCopied(of ?? '')))));
}

interface Line {
  step: Journey['steps'][number];
  times: number;
  /** Of a delivery's notifications those that it tells of, by their numbers; none where its text says what it is of. */
  notifications: number[];
  /** What it says of them: of one the text names its number. */
  said: string;
}

/** `notification 3 (equipment) …`, as the first lines of a delivery begin. */
const ownNumber = /^notification \d+ /;

/**
 * A delivery may name a few resources many times, in turns: what is said of several notifications is one line, at the first
 * of them, and anything else that is said again at once is one as well.
 */
function foldRepeats(steps: Journey['steps']): Line[] {
  const folded: Line[] = [];
  const ofNotifications = new Map<string, Line>();
  for (const step of steps) {
    const isOfOne = typeof step.notification === 'number' && ownNumber.test(step.text);
    const said = isOfOne ? step.text.replace(ownNumber, '') : step.text;
    const notifications = isOfOne ? [step.notification as number] : numbersOf(step);
    const same = isOfOne ? ofNotifications.get(JSON.stringify([step.at, step.step, said])) : folded.at(-1);
    if (same?.step.at === step.at && same.step.step === step.step && same.said === said) {
      same.times += 1;
      same.notifications.push(...notifications);
      continue;
    }
    const line = { step, times: 1, notifications, said };
    folded.push(line);
    if (isOfOne) ofNotifications.set(JSON.stringify([step.at, step.step, said]), line);
  }
  return folded;
}

function numbersOf({ ofNotifications }: Journey['steps'][number]): number[] {
  return Array.isArray(ofNotifications) ? [...ofNotifications] : [];
}

/** A resource may be named by hundreds of them: numbers that follow each other are told by the first and the last. */
function notificationsText(numbers: number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of numbers.toSorted((left, right) => left - right)) {
    const run = runs.at(-1);
    if (run !== undefined && number <= run[1] + 1) run[1] = number;
    else runs.push([number, number]);
  }
  const told = runs.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ');
  return `notification${numbers.length === 1 ? '' : 's'} ${told}`;
}

function lineText({ step: { text, detail }, times, notifications, said }: Line): string {
  const why = typeof detail === 'string' ? ` – ${detail}` : '';
  if (said !== text) return (times === 1 ? text : `${notificationsText(notifications)} ${said}`) + why;
  if (notifications.length > 0) return `${notificationsText(notifications)}: ${text}${why}`;
  return (times === 1 ? text : `${text}, ${times} times`) + why;
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
  for (const line of foldRepeats(journey.steps)) {
    const { at, step } = line.step;
    output.prose(`${at}  ${step.padEnd(width)}  `, lineText(line));
  }
  output.next(nextOf(journey));
  return exitCodes.done;
}
