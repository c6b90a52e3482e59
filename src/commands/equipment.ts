/**
 * `tramline equipment`: machines and implements as the provider has them now; created and changed there.
 */
import { type Command, Option } from 'commander';
import type { Api } from '../model/api';
import { Problem } from '../model/problem';
import type { AcceptedView, DocumentView, EquipmentWish } from '../model/provider-data';
import { type Action, type CommandContext, withEquipment } from './context';
import { referenceCommands } from './equipment-reference';
import { exitCodes } from './exit-code';
import { printListing } from './listing';
import { collect } from './option-values';
import type { Column } from './output';
import { documentLines, textOf } from './show-document';

interface Filters {
  organization?: string[];
  id?: string[];
  serialNumber?: string[];
  category?: EquipmentWish['category'];
  archived?: 'true' | 'false';
}

interface Wishes {
  organization?: string;
  category?: EquipmentWish['category'];
  name?: string;
  serialNumber?: string;
  make?: string;
  type?: string;
  model?: string;
}

const columns: Column<DocumentView>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'ORGANIZATION', of: ({ organizationId }) => organizationId },
  { title: 'CATEGORY', of: ({ category }) => textOf(category) },
  { title: 'NAME', of: ({ name }) => textOf(name), gives: true },
  { title: 'SERIAL NUMBER', of: ({ serialNumber }) => textOf(serialNumber) },
  { title: 'STATE', of: ({ archived }) => (archived === true ? 'archived' : 'in use') },
];

export function registerEquipment(program: Command, action: Action<Filters & Wishes>): void {
  const equipment = program.command('equipment').description('equipment as the provider has it now');
  const category = () => new Option('--category <category>', 'what it is').choices(['machine', 'implement']);
  equipment
    .command('list', { isDefault: true })
    .description('all of it, or what fits every filter')
    .option('--organization <id>', 'of this organization; may be repeated', collect)
    .option('--id <id>', 'with this id; may be repeated', collect)
    .option('--serial-number <number>', 'with this serial number; may be repeated', collect)
    .addOption(category())
    .addOption(new Option('--archived <truth>', 'archived or not').choices(['true', 'false']))
    .action(
      action((context, _none, options) =>
        withEquipment(context, (api) => list(context, api, options as Filters)),
      ),
    );
  equipment
    .command('get')
    .argument('<id>', 'the equipment')
    .description('one piece of it')
    .option('--organization <id>', 'its organization')
    .action(
      action((context, id, { organization }) =>
        withEquipment(context, async (api) =>
          show(context, await api.provider.equipmentRecord(id ?? '', (organization as string) ?? null)),
        ),
      ),
    );
  const create = equipment.command('create').description('create one in an organization');
  create.requiredOption('--organization <id>', 'the organization');
  withWishes(create, category()).action(
    action((context, _none, options) =>
      withEquipment(context, (api) => createOne(context, api, options as Wishes)),
    ),
  );
  const update = equipment.command('update').argument('<id>', 'the equipment').description('change one');
  update.option('--organization <id>', 'its organization');
  withWishes(update, category()).action(
    action((context, id, options) =>
      withEquipment(context, (api) => updateOne(context, api, id ?? '', options as Wishes)),
    ),
  );
  referenceCommands(equipment, action as Action);
}

function withWishes(command: Command, category: Option): Command {
  return command
    .addOption(category)
    .option('--name <text>', 'its name')
    .option('--serial-number <number>', 'its serial number; not required')
    .option('--make <id>', 'its make, as in `tramline makes`')
    .option('--type <id>', 'its type, as in `tramline types`')
    .option('--model <id>', 'its model, as in `tramline models`');
}

async function list({ output }: CommandContext, { provider }: Api, options: Filters): Promise<number> {
  // Several are asked for in one list, at the provider too, and a comma is what parts them.
  if (options.serialNumber?.some((one) => one.includes(','))) {
    const instead = 'list its organization and look for it there';
    throw new Problem('command.usage', `a serial number with a comma cannot be asked for: ${instead}`);
  }
  const listing = provider.equipment({
    organizationIds: options.organization ?? [],
    ids: options.id ?? [],
    serialNumbers: options.serialNumber ?? [],
    category: options.category ?? null,
    archived: options.archived === undefined ? null : options.archived === 'true',
  });
  return printListing(output, listing, { columns, nothing: 'There is no such equipment.' });
}

async function createOne(context: CommandContext, { provider }: Api, options: Wishes): Promise<number> {
  const wish = wishOf(options);
  if (wish.category === null || wish.name === null) {
    throw new Problem('command.usage', '--category and --name are needed');
  }
  const created = await provider.createEquipment(options.organization ?? '', wish);
  const { output } = context;
  if (created.visible !== false || output.json) return show(context, created);
  const { id } = created;
  output.line(`The provider has accepted it${id === null ? '' : ` as ${id}`}, and does not show it yet.`);
  return exitCodes.done;
}

async function updateOne(
  context: CommandContext,
  { provider }: Api,
  id: string,
  options: Wishes,
): Promise<number> {
  const wish = wishOf(options);
  if (Object.values(wish).every((value) => value === null)) {
    throw new Problem('command.usage', 'nothing is to be changed: name what');
  }
  return show(context, await provider.updateEquipment(id, options.organization ?? null, wish));
}

function wishOf({ category, name, serialNumber, make, type, model }: Wishes): EquipmentWish {
  return {
    category: category ?? null,
    name: name ?? null,
    serialNumber: serialNumber ?? null,
    makeId: make ?? null,
    typeId: type ?? null,
    modelId: model ?? null,
  };
}

function show({ output }: CommandContext, equipment: DocumentView | AcceptedView): number {
  if (output.json) output.value(equipment);
  else for (const line of documentLines({ ...equipment })) output.line(line);
  return exitCodes.done;
}
