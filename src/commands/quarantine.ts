/**
 * `tramline quarantine`: what waits for an operator, and the two things an operator can do about it.
 */

import type { Command } from 'commander';
import { type Api, pageRowsMax } from '../model/api';
import type { QuarantineView } from '../model/inspection';
import { shellWord } from '../model/shell-word';
import { agedTime } from './age';
import { type Action, allPages, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';
import { firstRows } from './listing';
import { type Column, widthMax } from './output';
import { beginningOf } from './text-width';

const rawLinesShown = 10;
/** In characters: marks that take no column of their own would make a line endless. */
const rawLineCharsMax = 4 * widthMax;

export function registerQuarantine(program: Command, action: Action): void {
  const quarantine = program.command('quarantine').description('what waits for an operator');
  quarantine
    .command('list', { isDefault: true })
    .description('all of it')
    .action(action((context) => withApi(context, (api) => list(context, api))));
  const verbs = [
    ['show', 'one entry in full', show],
    ['release', 'try it once more, reading afresh', release],
    ['discard', 'give it up, on record', discard],
  ] as const;
  for (const [verb, description, run] of verbs) {
    quarantine
      .command(verb)
      .argument('<id>', 'the entry')
      .description(description)
      .action(action((context, id) => withApi(context, (api) => run(context, api, id ?? ''))));
  }
}

async function list({ output, clock }: CommandContext, api: Api): Promise<number> {
  const entries = await allPages(
    pageRowsMax,
    (after: string | null) => api.quarantine({ limit: pageRowsMax, after }),
    ({ id }) => id,
  );
  if (output.json) output.value(entries);
  else if (entries.length === 0) {
    output.line('Nothing waits for an operator.');
    output.next('What needs a person: tramline alerts');
  } else {
    const waits = entries.filter(({ state }) => state === 'waiting').toSorted(compareTimes);
    const rows = [...waits, ...entries.filter(({ state }) => state !== 'waiting')];
    const columns: Column<QuarantineView>[] = [
      { title: 'ID', of: ({ id }) => id },
      { title: 'REASON', of: ({ reason }) => reason },
      { title: 'STATE', of: ({ state }) => state },
      { title: 'SINCE', of: ({ at }) => agedTime(at, clock.nowMs()) },
      {
        title: 'WHERE',
        of: ({ address, path, deliveryId }) => address ?? (path || deliveryId),
        gives: 'below',
      },
    ];
    firstRows(output, rows, columns, 'tramline quarantine --json');
    output.line('');
    output.prose('', countsOf(waits));
    const [first] = waits;
    output.next(
      first === undefined
        ? 'What needs a person: tramline alerts'
        : `Look at one: tramline quarantine show ${shellWord(first.id)}`,
    );
  }
  return exitCodes.done;
}

const compareTimes = (left: QuarantineView, right: QuarantineView) =>
  Date.parse(left.at) - Date.parse(right.at);

/** `12 wait: 10 address-refused, 2 malformed-notification`. */
function countsOf(waits: QuarantineView[]): string {
  if (waits.length === 0) return 'None waits any more.';
  const counted = [...Map.groupBy(waits, ({ reason }) => reason)].map(
    ([reason, { length }]) => `${length} ${reason}`,
  );
  return `${waits.length} wait${waits.length === 1 ? 's' : ''}: ${counted.join(', ')}`;
}

async function show({ output, clock }: CommandContext, api: Api, id: string): Promise<number> {
  const entry = await api.quarantined(id);
  if (output.json) output.value(entry);
  else {
    const { raw, ...facts } = entry;
    for (const [name, value] of Object.entries({ ...facts, at: agedTime(facts.at, clock.nowMs()) })) {
      output.prose(`${name.padEnd(14)} `, value || '–');
    }
    if (raw !== null) showRaw(output, raw, `tramline quarantine show --json ${shellWord(entry.id)}`);
    for (const step of stepsOf(entry)) output.next(step);
  }
  return exitCodes.done;
}

/** What can be done about one that waits, or where to read on about one that has ended. */
function stepsOf({ id, what, reason, state, address, deliveryId }: QuarantineView): string[] {
  if (state === 'waiting') {
    const discard = `To give it up, on record: tramline quarantine discard ${shellWord(id)}`;
    // Nothing in it could be judged again, or nobody knows that its sender was one.
    const isForGood = what === 'delivery' || reason === 'unauthenticated';
    if (isForGood) return [`It cannot be released. ${discard}`];
    return [`Once its cause is mended: tramline quarantine release ${shellWord(id)}`, discard];
  }
  const of = address ?? deliveryId;
  return [
    of === null
      ? 'What still waits: tramline quarantine list'
      : `What became of it: tramline explain ${shellWord(of)}`,
  ];
}

/** What arrived, as far as a screen takes it. */
function showRaw(output: CommandContext['output'], raw: string, command: string): void {
  output.line('');
  let shown = 0;
  for (let lines = 0; lines < rawLinesShown && shown < raw.length; lines += 1) {
    const line = beginningOf(raw.slice(shown, shown + rawLineCharsMax), widthMax);
    output.line(line);
    shown += line.length;
  }
  const left = raw.length - shown;
  if (left > 0) output.line(`… and ${left} characters more: ${command}`);
}

async function release({ output }: CommandContext, api: Api, id: string): Promise<number> {
  const released = await api.release(id);
  if (output.json) output.value(released);
  else {
    output.line(`${released.id} is due again.`);
    output.next('See what becomes of it: tramline quarantine list');
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
