/**
 * `tramline quarantine`: what waits for an operator, and the two things an operator can do about it.
 */
import type { Command } from 'commander';
import { type Api, pageRowsMax } from '../model/api';
import type { QuarantineView } from '../model/store';
import { type Action, allPages, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';

/** In characters: ten lines. */
const rawShown = 800;

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

async function list({ output }: CommandContext, api: Api): Promise<number> {
  const entries = await allPages(
    pageRowsMax,
    (after: string | null) => api.quarantine({ limit: pageRowsMax, after }),
    ({ id }) => id,
  );
  if (output.json) output.value(entries);
  else if (entries.length === 0) output.line('Nothing waits for an operator.');
  else {
    output.table<QuarantineView>(entries, [
      { title: 'ID', of: ({ id }) => id },
      { title: 'WHAT', of: ({ what }) => what },
      { title: 'REASON', of: ({ reason }) => reason },
      { title: 'STATE', of: ({ state }) => state },
      { title: 'WHERE', of: ({ address, path, deliveryId }) => address ?? (path || deliveryId), gives: true },
    ]);
    const waiting = entries.find(({ state }) => state === 'waiting');
    if (waiting !== undefined) output.next(`Look at one: tramline quarantine show ${waiting.id}`);
  }
  return exitCodes.done;
}

async function show({ output }: CommandContext, api: Api, id: string): Promise<number> {
  const entry = await api.quarantined(id);
  if (output.json) output.value(entry);
  else {
    const { raw, ...facts } = entry;
    for (const [name, value] of Object.entries(facts)) {
      output.prose(`${name.padEnd(14)} `, String(value ?? '–'));
    }
    if (raw !== null) showRaw(output, raw, `tramline quarantine show ${entry.id} --json`);
    if (entry.state === 'waiting') {
      output.next(`tramline quarantine release ${entry.id}, or: tramline quarantine discard ${entry.id}`);
    }
  }
  return exitCodes.done;
}

/** What arrived, as far as a screen takes it. */
function showRaw(output: CommandContext['output'], raw: string, command: string): void {
  output.line('');
  for (const line of raw.slice(0, rawShown).match(/.{1,80}/gsu) ?? []) output.line(line);
  const left = raw.length - rawShown;
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

async function discard({ output }: CommandContext, api: Api, id: string): Promise<number> {
  const discarded = await api.discard(id);
  if (output.json) output.value(discarded);
  else {
    output.line(`${discarded.id} is given up; the ledger counts it as discarded.`);
    output.next('What else waits: tramline quarantine list');
  }
  return exitCodes.done;
}
