/**
 * `tramline quarantine release` and `discard`: of one entry, of several by their ids, or of all that wait, for one reason
 * or for any. What is counted first is what is decided: nothing that came meanwhile is among it.
 */

import { type Command, Option } from 'commander';
import { type Api, type DecidedEntry, decidedMax } from '../model/api';
import type { QuarantineView } from '../model/inspection';
import { Problem } from '../model/problem';
import { shellWord } from '../model/shell-word';
import { NobodyListens } from './client';
import { type Action, allPages, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';
import { firstNamed } from './first-named';
import type { Output } from './output';

interface Options {
  reason?: string;
  all?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

type Verb = 'release' | 'discard';

/** How many ids are named of many. */
const namedMax = 10;

export function registerDecisions(quarantine: Command, action: Action<Options>): void {
  const verbs = [
    ['release', 'try it once more, reading afresh'],
    ['discard', 'give it up, on record'],
  ] as const;
  for (const [verb, description] of verbs) {
    const command = quarantine
      .command(verb)
      .argument('[id...]', 'the entries')
      .addOption(new Option('--reason <code>', 'all that wait for this reason').conflicts('all'))
      .option('--all', 'all that wait')
      .option('--dry-run', 'only count what --reason or --all names')
      .description(description)
      .action(action((context, _first, options, ids) => decide(context, verb, ids, options)));
    if (verb === 'discard') command.option('--yes', 'do not ask where many are named at once');
  }
}

/** All that are listed. */
export function allEntries(api: Api): Promise<QuarantineView[]> {
  return allPages<QuarantineView>((page) => api.quarantine(page));
}

/** `12 wait: 10 address-refused, 2 malformed-notification`. */
export function countsOf(waits: QuarantineView[]): string {
  if (waits.length === 0) return 'None waits any more.';
  const counted = [...Map.groupBy(waits, ({ reason }) => reason)].map(
    ([reason, { length }]) => `${length} ${reason}`,
  );
  return `${waits.length} wait${waits.length === 1 ? 's' : ''}: ${counted.join(', ')}`;
}

const neverReleased: ReadonlySet<QuarantineView['reason']> = new Set(['unauthenticated', 'repeated-member']);

/**
 * Of a delivery nothing could be judged again; of what is not authenticated nobody knows that its sender was one, and of
 * what repeats a member which was meant.
 */
export function canBeReleased({ what, reason, raw }: QuarantineView): boolean {
  return what !== 'delivery' && !neverReleased.has(reason) && (what !== 'notification' || isWhole(raw));
}

/** A notification is judged again from its kept bytes alone: nothing that could be mended elsewhere makes them better. */
export function staysAsItIs({ what, reason }: QuarantineView): boolean {
  return what === 'notification' && reason === 'malformed-notification';
}

/** What was longer than what is kept was cut. */
function isWhole(raw: string | null): boolean {
  try {
    JSON.parse(raw ?? '');
    return true;
  } catch {
    return false;
  }
}

/** Where one is told of. */
export function journeyOf({ address, deliveryId }: QuarantineView): string | null {
  const of = address ?? deliveryId;
  return of === null ? null : `tramline explain ${shellWord(of)}`;
}

function decide(context: CommandContext, verb: Verb, ids: string[], options: Options): Promise<number> {
  const { reason, all = false, dryRun = false } = options;
  const byReason = reason !== undefined || all;
  if (byReason === ids.length > 0 || (dryRun && !byReason)) {
    const wanted = 'name entries by their ids, or all with --reason CODE or --all, which --dry-run counts';
    throw new Problem('command.usage', `${wanted}: tramline quarantine list`);
  }
  if (byReason) return decideAll(context, verb, options);
  const [first = ''] = ids;
  if (ids.length > 1) return decideEach(context, verb, ids);
  return withApi(context, (api) => (verb === 'release' ? release : discard)(context, api, first));
}

/** Nothing is given up that was not asked for twice, or once with `--yes`. While somebody types no store is held. */
async function decideAll(context: CommandContext, verb: Verb, options: Options): Promise<number> {
  const { output } = context;
  const { reason, dryRun = false, yes = false } = options;
  const waits = (await withApi(context, allEntries)).filter(({ state }) => state === 'waiting');
  const wanted = reason === undefined ? waits : waits.filter((entry) => entry.reason === reason);
  if (wanted.length === 0 && reason !== undefined)
    throw new Problem('command.not-found', `nothing waits with the reason ${JSON.stringify(reason)}`);
  if (output.json && (dryRun || wanted.length === 0)) output.value(wanted);
  else if (wanted.length === 0) output.line('Nothing waits for an operator.');
  else if (dryRun) {
    output.prose('', countsOf(wanted));
    const named = reason === undefined ? '--all' : `--reason ${shellWord(reason)}`;
    output.next(`Nothing was done. To ${verb} them: tramline quarantine ${shellWord(verb)} ${named}`);
  }
  if (dryRun || wanted.length === 0) return exitCodes.done;
  if (verb === 'discard' && !yes) {
    output.warn(`Discarding gives them up, on record. ${countsOf(wanted)}`);
    if ((await context.ask('Type how many they are to go on: ')).trim() !== String(wanted.length)) {
      output.warn('Nothing was done. Without a terminal: --yes');
      return exitCodes.failed;
    }
  } else output.note(countsOf(wanted));
  const ids = wanted.map(({ id }) => id);
  return decideEach(context, verb, ids, reason);
}

/**
 * In orders of at most 500: what one of them cannot decide is told, the rest goes on, in the store itself where the service
 * ended between two.
 */
async function decideEach(
  context: CommandContext,
  verb: Verb,
  given: string[],
  reason?: string,
): Promise<number> {
  const { output } = context;
  const [ids, strange] = partition([...new Set(given)], (id) => /^q\d{1,15}$/.test(id));
  const decided: DecidedEntry[] = strange.map((id) => ({ id, state: 'not-found' }));
  let from = 0;
  await withApi(context, async (api) => {
    for (; from < ids.length; from += decidedMax) {
      output.progress(`${decided.length} of ${ids.length}`);
      const some = ids.slice(from, from + decidedMax);
      try {
        decided.push(...(await (verb === 'release' ? api.releaseEach(some) : api.discardEach(some))));
      } catch (error) {
        output.progress(null);
        const unknown = error instanceof NobodyListens ? '' : `; of the next ${some.length} it is not known`;
        if (from > 0 || unknown !== '')
          output.warn(`Of ${ids.length} the first ${from} were decided${unknown}.`);
        throw error;
      }
    }
  });
  output.progress(null);
  const of = (wanted: DecidedEntry['state']) =>
    decided.flatMap(({ id, state }) => (state === wanted ? [id] : []));
  const [refused, missing] = [of('refused'), of('not-found')];
  if (output.json) output.value(decided);
  else
    tell(output, verb, { done: decided.length - refused.length - missing.length, refused, missing }, reason);
  if (refused.length > 0) return exitCodes.failed;
  return missing.length > 0 ? exitCodes.notFound : exitCodes.done;
}

function partition(all: string[], holds: (one: string) => boolean): [string[], string[]] {
  return [all.filter(holds), all.filter((one) => !holds(one))];
}

function tell(
  output: Output,
  verb: Verb,
  { done, refused, missing }: { done: number; refused: string[]; missing: string[] },
  reason?: string,
): void {
  const are = done === 1 ? 'is' : 'are';
  output.line(`${done} ${are} ${verb === 'release' ? 'due again' : 'given up, on record'}.`);
  if (missing.length > 0) output.prose('', `Nothing waits under ${firstNamed(missing, namedMax)}.`);
  if (refused.length > 0)
    output.prose(
      '',
      `${refused.length} cannot be released, only discarded: ${firstNamed(refused, namedMax)}.`,
    );
  if (refused.length > 0 && reason !== undefined)
    output.next(`To give them up, on record: tramline quarantine discard --reason ${shellWord(reason)}`);
  const left = verb === 'release' ? 'What waits, or was set aside anew' : 'What else waits';
  output.next(`${left}: tramline quarantine list`);
}

async function release({ output }: CommandContext, api: Api, id: string): Promise<number> {
  // Asked before: what fails after it must not hide that it was done.
  const entry = await api.quarantined(id);
  const released = await api.release(id);
  if (output.json) output.value(released);
  else {
    output.line(`${released.id} is due again.`);
    output.next(`See what becomes of it: ${journeyOf(entry) ?? 'tramline quarantine list'}`);
  }
  return exitCodes.done;
}

/** The unit of the ledger is the notification that was accepted: a body that was refused is not counted. */
const countedAs: Record<QuarantineView['what'], string> = {
  notification: '; the ledger counts it as discarded',
  task: '; the ledger counts the notifications of it as discarded',
  record: '; the ledger counts the notifications of it as discarded',
  delivery: '; it was never accepted, so the ledger does not count it',
};

async function discard({ output }: CommandContext, api: Api, id: string): Promise<number> {
  const { what } = await api.quarantined(id);
  const discarded = await api.discard(id);
  if (output.json) output.value(discarded);
  else {
    output.line(`${discarded.id} is given up${countedAs[what]}.`);
    output.next('What else waits: tramline quarantine list');
  }
  return exitCodes.done;
}
