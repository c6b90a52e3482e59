/**
 * `tramline makes`, `types` and `models`, also below `equipment`: the provider's reference data, at most a day old.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import type { ReferenceKind, ReferenceView } from '../model/provider-data';
import { type Action, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';
import type { Column } from './output';

interface Options {
  name?: string;
}

const columns: Column<ReferenceView>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name, gives: true },
  { title: 'CATEGORY', of: ({ category }) => (typeof category === 'string' ? category.toLowerCase() : null) },
  { title: 'CERTIFIED', of: ({ certified }) => (typeof certified === 'boolean' ? yesOrNo(certified) : null) },
];

/** For the top of the command line. */
export function registerReference(program: Command, action: Action<Options>): void {
  referenceCommands(program, action);
}

/** The three commands below any other. */
export function referenceCommands(parent: Command, action: Action<Options>): void {
  for (const kind of ['makes', 'types', 'models'] as const) {
    parent
      .command(kind)
      .description(`${kind} of equipment`)
      .option('--name <text>', 'only those whose name holds this text')
      .action(
        action((context, _none, options) => withApi(context, (api) => list(context, api, kind, options))),
      );
  }
}

async function list(
  { output }: CommandContext,
  { provider }: Api,
  kind: ReferenceKind,
  { name }: Options,
): Promise<number> {
  const wanted = name?.toLowerCase() ?? '';
  const entries = (await provider.reference(kind)).filter((entry) =>
    (entry.name ?? '').toLowerCase().includes(wanted),
  );
  if (output.json) output.value(entries);
  else if (entries.length === 0) output.line(`There are no such ${kind}.`);
  else output.table(entries, columns);
  return exitCodes.done;
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
