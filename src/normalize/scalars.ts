/**
 * The parts that read one plain value: text, labels, flags, numbers, times, and the ids by which events are keyed. Each is
 * bounded and says what it takes; none knows where it is used.
 */
import { z } from 'zod';
import { idCharactersMax, idText } from '../model/id-text';
import { Fault, type Part, wrongType } from './reading';

const textCharactersMax = 4096;

/** Text up to 4,096 characters. */
export const text: Part = {
  schema: z.string(),
  read(value, path) {
    if (typeof value !== 'string') throw wrongType(value, path, 'text');
    if (value.length > textCharactersMax) {
      throw new Fault(path, 'too-long', `more than ${textCharactersMax} characters`);
    }
    return value;
  },
};

/** Text that the provider spells in changing letter case; published in lower case. */
export const word: Part = {
  schema: z.string(),
  read: (value, path, reading) => (text.read(value, path, reading) as string).toLowerCase(),
};

/** Text that the provider also sends as a number: a year, a reference id. Integers beyond 2^53 are refused. */
export const label: Part = {
  schema: z.string(),
  read: (value, path, reading) =>
    typeof value === 'number' ? integerText(value, path) : text.read(value, path, reading),
};

export const flag: Part = {
  schema: z.boolean(),
  read(value, path) {
    if (typeof value !== 'boolean') throw wrongType(value, path, 'true or false');
    return value;
  },
};

/** A finite number that is no quantity: a coordinate. */
export const plainNumber: Part = {
  schema: z.number(),
  read(value, path) {
    if (typeof value !== 'number') throw wrongType(value, path, 'a number');
    if (!Number.isFinite(value)) throw new Fault(path, 'out-of-range', 'the number is too large');
    return value;
  },
};

/** An id by which events are keyed, as `idText` takes it. Throws `unsafe-integer` where a number has lost digits. */
export function readId(value: unknown, path: string): string {
  if (value === undefined || value === null) throw new Fault(path, 'required', 'expected an id, got none');
  if (typeof value === 'number') return integerText(value, path);
  if (typeof value !== 'string') throw wrongType(value, path, 'an id');
  const id = idText(value);
  if (id !== null) return id;
  throw new Fault(path, 'malformed-id', `expected 1 to ${idCharactersMax} printable characters`);
}

function integerText(value: number, path: string): string {
  if (Number.isSafeInteger(value)) return String(value);
  if (Number.isInteger(value)) {
    throw new Fault(path, 'unsafe-integer', 'the integer is beyond 2^53 and may have lost digits');
  }
  throw wrongType(value, path, 'text or an integer');
}

const utcPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const timePattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-](\d{2}):?(\d{2}))$/;

/** ISO 8601 in UTC with milliseconds: the form of every time that is published. */
export const utcTimeSchema = z.string().regex(utcPattern).meta({ format: 'date-time' });

/** A time with its offset (ISO 8601), published in UTC; digits below a millisecond are dropped. */
export const time: Part = {
  schema: utcTimeSchema,
  read(value, path) {
    if (typeof value !== 'string') throw wrongType(value, path, 'a time');
    if (utcPattern.test(value)) {
      const atMs = Date.parse(value);
      // As it is published already, and a day that exists: another is written as the one after it.
      if (!Number.isNaN(atMs) && new Date(atMs).toISOString() === value) return value;
    }
    const match = timePattern.exec(value);
    const atMs = match === null ? Number.NaN : Date.parse(value.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
    // Date.parse takes the 30th of February for the 1st of March.
    const [, year, month, day] = match ?? [];
    const exists =
      new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
    if (Number.isNaN(atMs) || !exists) {
      throw new Fault(path, 'malformed-time', 'expected an ISO 8601 time with its offset');
    }
    const utc = new Date(atMs).toISOString();
    // At either end of the four-digit years an offset leads to a year that the published form cannot hold.
    if (!utcPattern.test(utc)) throw new Fault(path, 'out-of-range', 'the time is out of range');
    return utc;
  },
};
