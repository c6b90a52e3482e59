/**
 * `tramline field-operations`: what was done on the fields, as the provider has it now.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import type { DocumentView } from '../model/provider-data';
import { type Action, type CommandContext, withApiOrNewStore } from './context';
import { exitCodes } from './exit-code';
import { printListing } from './listing';
import type { Column } from './output';
import { documentLines, textOf } from './show-document';

interface Options {
  organization?: string;
  field?: string;
  name?: string;
}

const columns: Column<DocumentView>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'TYPE', of: ({ fieldOperationType }) => textOf(fieldOperationType) },
  { title: 'SEASON', of: ({ cropSeason }) => textOf(cropSeason) },
  { title: 'START', of: ({ startTime }) => textOf(startTime)?.slice(0, 10) ?? null },
  { title: 'WHAT', of: (operation) => whatOf(operation), gives: 'below' },
];

export function registerFieldOperations(program: Command, action: Action<Options>): void {
  const operations = program
    .command('field-operations')
    .description('field operations as the provider has them now');
  operations
    .command('list', { isDefault: true })
    .description('all of them, or those of one organization or field')
    .option('--organization <id>', 'of this organization')
    .option('--field <id>', 'on this field')
    .action(
      action((context, _none, options) => withApiOrNewStore(context, (api) => list(context, api, options))),
    );
  operations
    .command('get')
    .argument('<id>', 'the field operation')
    .description('one of them, with what was measured')
    .option('--organization <id>', 'its organization, which makes it quicker to find')
    .action(
      action((context, id, options) =>
        withApiOrNewStore(context, (api) => get(context, api, id ?? '', options)),
      ),
    );
  operations
    .command('measurements')
    .argument('<id>', 'the field operation')
    .description('its measurement types, read from their own addresses')
    .option('--organization <id>', 'its organization')
    .option('--name <name>', 'only this one, such as HarvestYieldResult')
    .action(
      action((context, id, options) =>
        withApiOrNewStore(context, (api) => measurements(context, api, id ?? '', options)),
      ),
    );
}

function list({ output }: CommandContext, { provider }: Api, options: Options): Promise<number> {
  const { organization, field } = options;
  const listing = provider.fieldOperations({ organizationId: organization ?? null, fieldId: field ?? null });
  return printListing(output, listing, { columns, nothing: 'There are no such field operations.' });
}

async function get(
  { output }: CommandContext,
  { provider }: Api,
  id: string,
  options: Options,
): Promise<number> {
  const operation = await provider.fieldOperation(id, options.organization ?? null);
  if (output.json) output.value(operation);
  else for (const line of documentLines(operation)) output.line(line);
  return exitCodes.done;
}

async function measurements(
  { output }: CommandContext,
  { provider }: Api,
  id: string,
  { organization, name }: Options,
): Promise<number> {
  const found = await provider.measurements(id, organization ?? null, name ?? null);
  if (output.json) output.value(found);
  else if (found.length === 0) output.line('Nothing was measured.');
  else {
    for (const measurement of found) {
      for (const line of documentLines(measurement as Record<string, unknown>)) output.line(line);
      output.line('');
    }
  }
  return exitCodes.done;
}

/** The crop, or what was applied. */
function whatOf({ cropName, products }: DocumentView): string | null {
  if (typeof cropName === 'string') return cropName;
  if (!Array.isArray(products)) return null;
  return products.map(({ name }: { name?: unknown }) => textOf(name) ?? '–').join(', ') || null;
}
