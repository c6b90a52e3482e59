/**
 * The table of settings as people and machines read it: the README's table and the JSON Schema of an environment, such
 * as the data of a ConfigMap. Generated, so that neither can differ from what the service accepts.
 */
import { z } from 'zod';
import type { Row } from './row';
import { table } from './table';

export const rows: [name: string, row: Row<unknown>][] = Object.entries(table);

/** Markdown: one line for each setting, in the table's order. */
export function settingsTable(): string {
  const lines = rows.map(([name, row]) => {
    const fallback = row.fallback === null ? '–' : `\`${row.fallback}\``;
    const accepted = row.kind.accepts.replaceAll('|', '\\|');
    return `| \`${name}\`${row.secret ? ' (secret)' : ''} | ${fallback} | ${row.meaning} | ${accepted} |`;
  });
  return ['| name | default | meaning | accepted |', '|---|---|---|---|', ...lines, ''].join('\n');
}

/** JSON Schema 2020-12 of an object that holds every variable as text. */
export function settingsSchema(): Record<string, unknown> {
  const properties: Record<string, unknown> = {};
  for (const [name, row] of rows) {
    const described = {
      description: `${row.meaning} Accepted: ${row.kind.accepts}.`,
      ...(row.fallback === null ? {} : { default: row.fallback }),
      ...(row.secret ? { writeOnly: true } : {}),
    };
    // A file's path has no form of its own: the kind describes what the file holds.
    const form = row.file ? { type: 'string' } : formOf(row);
    properties[name] = { ...form, ...described };
    if (canBeFile(row))
      properties[`${name}_FILE`] = { type: 'string', description: `Path of a file that holds ${name}.` };
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://schemas.tramline.io/config.schema.json',
    title: 'Settings of Tramline',
    description: 'The environment of a process, every value as text. Names that are no settings are ignored.',
    type: 'object',
    properties,
  };
}

/** Where a variable names a file itself, there is no second one. */
export function canBeFile(row: Row<unknown>): boolean {
  return !row.file;
}

/** What stands between the values of a setting that is a list. */
export function separatorOf(name: string): string {
  return rows.find(([known]) => known === name)?.[1].kind.separator ?? ',';
}

function formOf(row: Row<unknown>): Record<string, unknown> {
  const { $schema: _dialect, ...form } = z.toJSONSchema(row.kind.schema, { io: 'input' });
  return form;
}
