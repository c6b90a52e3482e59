/**
 * `tramline quarantine`: what waits for an operator, shown; the two things an operator can do about it are next door.
 */

import type { Command } from 'commander';
import type { Api } from '../model/api';
import type { QuarantineView } from '../model/inspection';
import { shellWord } from '../model/shell-word';
import { agedTime } from './age';
import { afterNothing } from './alerts';
import { type Action, type CommandContext, withApi } from './context';
import {
  allEntries,
  canBeReleased,
  countsOf,
  journeyOf,
  registerDecisions,
  staysAsItIs,
} from './decide-quarantined';
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
  quarantine
    .command('show')
    .argument('<id>', 'the entry')
    .description('one entry in full')
    .action(action((context, id) => withApi(context, (api) => show(context, api, id ?? ''))));
  registerDecisions(quarantine, action);
}

async function list({ output, clock }: CommandContext, api: Api): Promise<number> {
  const entries = await allEntries(api);
  if (output.json) output.value(entries);
  else if (entries.length === 0) {
    output.line('Nothing waits for an operator.');
    output.next(await afterNothing(api));
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
        ? await afterNothing(api)
        : `Look at one: tramline quarantine show ${shellWord(first.id)}`,
    );
    const ofMany = stepOfMany(waits);
    if (ofMany !== null) output.next(ofMany);
  }
  return exitCodes.done;
}

const compareTimes = (left: QuarantineView, right: QuarantineView) =>
  Date.parse(left.at) - Date.parse(right.at);

/** Of what many wait for, the one step that needs no ids. */
function stepOfMany(waits: QuarantineView[]): string | null {
  const groups = [...Map.groupBy(waits, ({ reason }) => reason)].toSorted(
    ([, left], [, right]) => right.length - left.length,
  );
  const [[reason, entries] = ['', []]] = groups;
  if (entries.length < 2) return null;
  return entries.some((entry) => canBeReleased(entry) && !staysAsItIs(entry))
    ? `All of one reason, once its cause is mended: tramline quarantine release --reason ${shellWord(reason)}`
    : `To give up all of one reason, on record: tramline quarantine discard --reason ${shellWord(reason)}`;
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
function stepsOf(entry: QuarantineView): string[] {
  const { id, state, reason } = entry;
  if (state === 'waiting') {
    const discard = `To give it up, on record: tramline quarantine discard ${shellWord(id)}`;
    if (reason === 'repeated-member')
      return ['Which was meant nobody knows; what changed is found by: tramline sync', discard];
    if (!canBeReleased(entry)) return [`It cannot be released. ${discard}`];
    if (staysAsItIs(entry))
      return [`It is refused again, unless event types or version were changed since. ${discard}`];
    return [`Once its cause is mended: tramline quarantine release ${shellWord(id)}`, discard];
  }
  const journey = journeyOf(entry);
  return [journey === null ? 'What still waits: tramline quarantine list' : `What became of it: ${journey}`];
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
