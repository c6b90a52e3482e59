// Whether a reader of one version of a JSON Schema can rely on the next. What a reader was promised must stay: fields,
// their types, which of them are always there. Only new optional fields may come, and words about fields may change.
// Records of all versions stand side by side on a compacted topic, so that narrowing breaks a reader as widening does.
// Covers the keywords that our schemas use; any other keyword must stay as it is.
import { isDeepStrictEqual } from 'node:util';

export type JsonSchema = { [keyword: string]: unknown };

const words = new Set(['title', 'description', '$comment', 'examples', 'deprecated', 'default']);
/** Compared by what refers to them. */
const definitions = new Set(['$defs', '$ref']);

interface Side {
  root: JsonSchema;
  schema: JsonSchema;
}

/** What breaks a reader, each as `pointer: what`; empty when nothing does. Throws for a reference that leads nowhere. */
export function breakingChanges(before: JsonSchema, after: JsonSchema): string[] {
  return compare({ root: before, schema: before }, { root: after, schema: after }, '', new Set());
}

function compare(before: Side, after: Side, path: string, open: Set<string>): string[] {
  const left = resolved(before);
  const right = resolved(after);
  const references = `${String(before.schema.$ref)} ${String(after.schema.$ref)}`;
  const refers = before.schema.$ref !== undefined || after.schema.$ref !== undefined;
  // A definition that contains itself is compared once.
  if (refers && open.has(references)) return [];
  const inside = refers ? new Set([...open, references]) : open;
  const keywords = new Set([...Object.keys(left.schema), ...Object.keys(right.schema)]);
  return [...keywords]
    .filter((keyword) => !words.has(keyword) && !definitions.has(keyword))
    .flatMap((keyword) => compareKeyword(keyword, left, right, path, inside));
}

function compareKeyword(
  keyword: string,
  before: Side,
  after: Side,
  path: string,
  open: Set<string>,
): string[] {
  const [was, is] = [before.schema[keyword], after.schema[keyword]];
  switch (keyword) {
    case 'properties':
      return compareProperties(before, after, path, open);
    case 'required':
    case 'enum':
    case 'type':
      return compareSets(keyword, listOf(was), listOf(is), path);
    case 'anyOf':
    case 'oneOf':
      return compareAlternatives(keyword, before, after, path, open);
    default:
      if (isSchema(was) && isSchema(is)) {
        return compare({ ...before, schema: was }, { ...after, schema: is }, `${path}/${keyword}`, open);
      }
      return isDeepStrictEqual(was, is) ? [] : [`${path}: ${keyword} has changed`];
  }
}

function compareProperties(before: Side, after: Side, path: string, open: Set<string>): string[] {
  const was = (before.schema.properties ?? {}) as Record<string, JsonSchema>;
  const is = (after.schema.properties ?? {}) as Record<string, JsonSchema>;
  const added = Object.keys(is).filter((name) => !(name in was));
  const closed = before.schema.additionalProperties === false;
  return [
    ...Object.entries(was).flatMap(([name, schema]) => {
      const now = is[name];
      const at = `${path}/${name}`;
      return now === undefined
        ? [`${at}: was removed`]
        : compare({ ...before, schema }, { ...after, schema: now }, at, open);
    }),
    ...(closed ? added.map((name) => `${path}/${name}: was added where no field may be`) : []),
  ];
}

function compareSets(keyword: string, was: unknown[], is: unknown[], path: string): string[] {
  return [
    ...was
      .filter((value) => !is.includes(value))
      .map((value) => `${path}: ${keyword} has lost ${String(value)}`),
    ...is
      .filter((value) => !was.includes(value))
      .map((value) => `${path}: ${keyword} has gained ${String(value)}`),
  ];
}

/** Each alternative must have its equal on the other side; their order means nothing. */
function compareAlternatives(
  keyword: string,
  before: Side,
  after: Side,
  path: string,
  open: Set<string>,
): string[] {
  const was = listOf(before.schema[keyword]) as JsonSchema[];
  const is = listOf(after.schema[keyword]) as JsonSchema[];
  const fits = (old: JsonSchema, now: JsonSchema): boolean =>
    compare({ ...before, schema: old }, { ...after, schema: now }, path, open).length === 0;
  const kept = was.every((old) => is.some((now) => fits(old, now)));
  const known = is.every((now) => was.some((old) => fits(old, now)));
  return kept && known && was.length === is.length ? [] : [`${path}: ${keyword} has changed`];
}

function resolved(side: Side): Side {
  const reference = side.schema.$ref;
  if (typeof reference !== 'string') return side;
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
  const found =
    name === undefined ? undefined : (side.root.$defs as Record<string, JsonSchema> | undefined)?.[name];
  if (found === undefined) throw new Error(`The reference ${reference} leads nowhere.`);
  const { $ref: _, ...beside } = side.schema;
  return { root: side.root, schema: { ...found, ...beside } };
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
