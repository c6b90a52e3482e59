/**
 * Reading what nobody has checked yet. A part reads one value of the provider's document and knows the schema of what it
 * makes of it; a shape is a table of parts, so that the document that leaves and its schema are one thing. A value that
 * cannot be trusted is refused with its path; a field that is not in the table is counted. No resource is known here.
 */
import { z } from 'zod';
import { pointerStep } from '../tools/schema';

/** Why a document is refused. Stable: shown, counted and used in quarantine. */
export type FaultCode =
  | 'required'
  | 'wrong-type'
  | 'unknown-type'
  | 'unsafe-integer'
  | 'malformed-id'
  | 'malformed-time'
  | 'out-of-range'
  | 'too-long'
  | 'too-many'
  | 'too-deep'
  | 'too-large'
  | 'unreadable'
  | 'schema-mismatch';

/** Thrown while a document is read and caught where its reading began: it never leaves this room. */
export class Fault extends Error {
  readonly path: string;
  readonly code: FaultCode;

  constructor(path: string, code: FaultCode, detail: string) {
    super(detail);
    this.name = 'Fault';
    this.path = path;
    this.code = code;
  }
}

/** One reading of one document. */
export interface Reading {
  includeOperatorNames: boolean;
  /** Paths of fields, and of unit ids, that are not known; list indices are `*`. At most `unknownMax`. */
  unknown: Set<string>;
}

const unknownMax = 50;

/** Reads one value at a JSON pointer; throws `Fault`. What it returns fits the schema, or is null for "none". */
export interface Part {
  schema: z.ZodType;
  read(value: unknown, path: string, reading: Reading): unknown;
}

export type Facts = Record<string, unknown>;

/** A part that reads an object; throws `Fault` where it is none. */
export interface ShapePart extends Part {
  schema: z.ZodObject;
  read(value: unknown, path: string, reading: Reading): Facts;
}

interface Field {
  wireName: string;
  part: Part;
  required: boolean;
  when: ((reading: Reading) => boolean) | null;
  /** For readers of the schema, where the name does not say it. */
  description: string | null;
}

/** A field that the provider may leave out, or clear with null. */
export function optional(wireName: string, part: Part, description: string | null = null): Field {
  return { wireName, part, required: false, when: null, description };
}

/** A field without which its object means nothing. */
export function required(wireName: string, part: Part): Field {
  return { wireName, part, required: true, when: null, description: null };
}

/** An optional field that is read only if the reading asks for it, otherwise left out as if it had not been sent. */
export function optionalWhen(when: (reading: Reading) => boolean, wireName: string, part: Part): Field {
  return { wireName, part, required: false, when, description: null };
}

/**
 * A part that reads an object by a table: published name → field. A field that was not sent stays absent, one that was
 * cleared is null. `leftOut` names the wire fields that are known and not published. Bounds as `noteUnknown` does.
 */
export function shapeOf(fields: Record<string, Field>, leftOut: RegExp | null = null): ShapePart {
  const table = Object.entries(fields);
  const known = new Set(['@type', 'links', 'link', ...table.map(([, field]) => field.wireName)]);
  const schemas: Record<string, z.ZodType> = {};
  for (const [name, field] of table) {
    const schema = field.required ? field.part.schema : field.part.schema.nullish();
    schemas[name] = field.description === null ? schema : schema.describe(field.description);
  }
  return {
    schema: z.object(schemas),
    read(value, path, reading) {
      const record = asRecord(value, path);
      const facts: Facts = {};
      for (const [name, field] of table) readField(record, path, reading, facts, name, field);
      for (const key of Object.keys(record)) {
        if (!known.has(key) && leftOut?.test(key) !== true)
          noteUnknown(`${path}/${pointerStep(key)}`, reading);
      }
      return facts;
    },
  };
}

/** Gives a shape's schema a name of its own, under which other schemas refer to it. */
export function named(id: string, part: ShapePart): ShapePart {
  return { schema: part.schema.meta({ id }), read: part.read };
}

function readField(
  record: Facts,
  path: string,
  reading: Reading,
  facts: Facts,
  name: string,
  field: Field,
): void {
  if (field.when !== null && !field.when(reading)) return;
  const value = ownValue(record, field.wireName);
  if (value === undefined || value === null) {
    if (field.required)
      throw new Fault(`${path}/${field.wireName}`, 'required', 'expected a value, got none');
    if (value === null) facts[name] = null;
    return;
  }
  facts[name] = field.part.read(value, `${path}/${field.wireName}`, reading);
}

/** The object's own value of a name; undefined when there is none, whatever its prototype says. */
export function ownValue(record: Facts, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Throws `wrong-type` for anything but an object. */
export function asRecord(value: unknown, path: string): Facts {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Facts;
  throw wrongType(value, path, 'an object');
}

export function wrongType(value: unknown, path: string, expected: string): Fault {
  return new Fault(path, 'wrong-type', `expected ${expected}, got ${typeNameOf(value)}`);
}

function typeNameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}

/** Counts a path that is not known, its list indices as `*`. Beyond 50 the set stops growing. */
export function noteUnknown(path: string, reading: Reading): void {
  if (reading.unknown.size < unknownMax) reading.unknown.add(path.replace(/\/\d+(?=\/)/g, '/*'));
}

/** A part that the provider sends as it is or alone in a list; of several it throws `Fault`. An empty list means none. */
export function single(part: Part): Part {
  return {
    schema: part.schema,
    read(value, path, reading) {
      if (!Array.isArray(value)) return part.read(value, path, reading);
      if (value.length > 1) throw new Fault(path, 'wrong-type', 'expected one entry, got several');
      const [only] = value;
      return only === undefined || only === null ? null : part.read(only, `${path}/0`, reading);
    },
  };
}
