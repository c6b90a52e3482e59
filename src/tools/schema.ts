/**
 * What rooms do with zod schemas beside parsing: name the first fault of a value, and write JSON Schema (draft 2020-12).
 * What is written is checked in and compared, so nothing here may depend on time, machine or order of loading.
 */
import { z } from 'zod';

export interface SchemaFault {
  /** JSON pointer (RFC 6901) of the value at fault, '' for the whole; names in it are cut at 64 characters. */
  path: string;
  /** What was expected. */
  detail: string;
}

/** The first fault of a value, null when it fits. Never throws, provided that reading the value does not. */
export function schemaFaultOf(schema: z.ZodType, value: unknown): SchemaFault | null {
  const result = schema.safeParse(value);
  if (result.success) return null;
  const [issue] = result.error.issues;
  const path = (issue?.path ?? []).map((step) => `/${pointerStep(String(step))}`).join('');
  return { path, detail: issue?.message ?? 'does not fit' };
}

const stepCharsMax = 64;

/** One step of a JSON pointer (RFC 6901 §4), cut at 64 characters because names come from outside. */
export function pointerStep(name: string): string {
  return name.slice(0, stepCharsMax).replaceAll('~', '~0').replaceAll('/', '~1');
}

const lineWidth = 110;

/**
 * The text of a schema file, published under `id`: two spaces, a final line feed, short lists on one line. Objects stay
 * open, because readers of a document must let fields be added. Throws what zod throws for types that JSON cannot say
 * (dates, transforms).
 */
export function writeJsonSchema(schema: z.ZodType, id: string): string {
  const { $schema, title, description, ...written } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'throw',
    // A definition's name is its key; draft 2020-12 knows no `id`.
    override: ({ jsonSchema }) => {
      delete jsonSchema.id;
    },
  });
  return `${print({ $schema, $id: id, title, description, ...written }, '', 0)}\n`;
}

/** JSON as the formatter of this repository leaves it: `used` is what already stands on the line. */
function print(value: unknown, indent: string, used: number): string {
  if (Array.isArray(value)) return printList(value, indent, used);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const lines = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => {
      const start = `${inner}${JSON.stringify(name)}: `;
      return start + print(member, inner, start.length);
    });
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`;
}

function printList(list: unknown[], indent: string, used: number): string {
  const inner = `${indent}  `;
  const items = list.map((item) => print(item, inner, inner.length));
  const line = `[${items.join(', ')}]`;
  // One more for the comma that may follow.
  if (!line.includes('\n') && used + line.length + 1 <= lineWidth) return line;
  return `[\n${items.map((item) => inner + item).join(',\n')}\n${indent}]`;
}
