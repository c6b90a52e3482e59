/**
 * From raw bytes to the elements of a delivery, within fixed bounds: UTF-8 or nothing, nesting and number of values
 * bounded before anything is built, an array of 1 to 256. Never throws. What the elements say is judged elsewhere.
 */
import { isUtf8 } from 'node:buffer';
import { parseExactly } from './exact-number';
import { membersIn, type RepeatedMember, repeatedMembers } from './repeated-members';
import { scanJson } from './scan-json';

const elementsMax = 256;
const bounds = { depthMax: 64, valuesMax: 100_000 };

/** Why an authenticated body cannot be read. Stable codes. */
export type BodyFault =
  | 'empty'
  | 'not-utf8'
  | 'not-json'
  | 'too-deep'
  | 'too-many-values'
  | 'not-an-array'
  | 'no-elements'
  | 'too-many-elements';

export interface BodyElements {
  elements: unknown[];
  /** By the place of an element: a member of it that came twice. */
  repeated: ReadonlyMap<number, RepeatedMember>;
}

export type BodyReading = BodyElements | { fault: BodyFault };

const none: ReadonlyMap<number, RepeatedMember> = new Map();

/**
 * A byte order mark counts as not JSON (RFC 8259, section 8.1). A member named `__proto__` is a member like any other.
 * Whole numbers that JavaScript cannot hold keep their digits. An array has at most 256 elements.
 */
export function readBody(body: Buffer): BodyReading {
  if (body.length === 0) return { fault: 'empty' };
  if (!isUtf8(body)) return { fault: 'not-utf8' };
  const scan = scanJson(body, bounds);
  if (typeof scan === 'string') return { fault: scan };
  let value: unknown;
  try {
    const text = body.toString('utf8');
    value = scan.exact ? parseExactly(text) : JSON.parse(text);
  } catch {
    return { fault: 'not-json' };
  }
  if (!Array.isArray(value)) return { fault: 'not-an-array' };
  if (value.length === 0) return { fault: 'no-elements' };
  if (value.length > elementsMax) return { fault: 'too-many-elements' };
  return { elements: value, repeated: membersIn(value) === scan.members ? none : repeatedMembers(body) };
}
