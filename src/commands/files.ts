/**
 * `tramline files`: what the provider keeps for its users; looked at, and fetched to a file of this machine.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import type { FileView } from '../model/provider-data';
import { type Action, type CommandContext, withApiOrNewStore } from './context';
import { downloadFile } from './download-file';
import { exitCodes } from './exit-code';
import { printListing } from './listing';
import { wholeNumber } from './option-values';
import type { Column } from './output';
import { documentLines } from './show-document';

interface Options {
  organization?: string;
  output?: string;
  bytesMax?: number;
}

const checks = {
  digest: 'It agrees with the provider’s digest.',
  length: 'Its length was checked.',
  none: 'The provider names neither a digest nor a length to check it by.',
};

const bytesMaxDefault = 4 * 1024 ** 3;

const columns: Column<FileView>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'TYPE', of: ({ type }) => type },
  { title: 'BYTES', of: ({ bytes }) => bytes },
  { title: 'MODIFIED', of: ({ modifiedTime }) => modifiedTime?.slice(0, 10) ?? null },
  { title: 'NAME', of: ({ name }) => name, gives: true },
];

export function registerFiles(program: Command, action: Action<Options>): void {
  const files = program.command('files').description('files as the provider lists them');
  files
    .command('list', { isDefault: true })
    .description('those of one organization, or of every connection')
    .option('--organization <id>', 'of this organization')
    .action(
      action(({ output, ...context }, _none, { organization }) =>
        withApiOrNewStore({ output, ...context }, ({ provider }) =>
          printListing(output, provider.files(organization ?? null), {
            columns,
            nothing: 'There are no files.',
          }),
        ),
      ),
    );
  files
    .command('get')
    .argument('<id>', 'the file')
    .description('its record, or with --output its bytes')
    .option(
      '--output <file>',
      'write it here, once it is complete and checked; a file that is here is replaced then',
    )
    .option('--bytes-max <number>', 'refuse a larger file', wholeNumber, bytesMaxDefault)
    .action(
      action((context, id, options) =>
        withApiOrNewStore(context, (api) => get(context, api, id ?? '', options)),
      ),
    );
}

async function get(
  context: CommandContext,
  { provider }: Api,
  id: string,
  options: Options,
): Promise<number> {
  const { output } = context;
  const { output: path, bytesMax = bytesMaxDefault } = options;
  if (path === undefined) {
    const file = await provider.file(id);
    if (output.json) output.value(file);
    else for (const line of documentLines({ ...file })) output.line(line);
    return exitCodes.done;
  }
  const signal = context.interrupted();
  const wanted = { id, path, bytesMax, signal };
  const downloaded = await downloadFile(wanted, provider, output, context.clock);
  if (downloaded === null) return exitCodes.interrupted;
  if (output.json) output.value(downloaded);
  else {
    const { bytes, sha256, checkedBy } = downloaded;
    output.line(`${path}: ${bytes} bytes, SHA-256 ${sha256}`);
    output.line(checks[checkedBy ?? 'none']);
  }
  return exitCodes.done;
}
