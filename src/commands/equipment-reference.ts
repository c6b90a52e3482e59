/**
 * `tramline makes`, `types` and `models`, also below `equipment`: the provider's reference data, at most a day old.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import type { Listed, ReferenceKind, ReferenceView } from '../model/provider-data';
import { type Action, type CommandContext, withApiOrNewStore } from './context';
import { printListing } from './listing';
import type { Column } from './output';
import { textOf } from './show-document';

interface Options {
  name?: string;
}

const columns: Column<ReferenceView>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name, gives: true },
  { title: 'CATEGORY', of: ({ category }) => textOf(category) },
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
        action((context, _none, options) =>
          withApiOrNewStore(context, (api) => list(context, api, kind, options)),
        ),
      );
  }
}

async function list(
  { output }: CommandContext,
  { provider }: Api,
  kind: ReferenceKind,
  { name }: Options,
): Promise<number> {
  const entries = named(provider.reference(kind), name?.toLowerCase() ?? '');
  return printListing(output, entries, { columns, nothing: `There are no such ${kind}.` });
}

/** What could not be read is told whatever its name may be. */
async function* named(
  lines: AsyncIterable<Listed<ReferenceView>>,
  wanted: string,
): AsyncGenerator<Listed<ReferenceView>> {
  for await (const line of lines) {
    if ('fault' in line || (line.item.name ?? '').toLowerCase().includes(wanted)) yield line;
  }
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
