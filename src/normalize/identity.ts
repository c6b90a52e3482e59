/**
 * What tells one state of a resource from another: a hash of the facts that are published, and a hash of what the
 * provider sent. Both are taken over canonical text: keys sorted, no white space (after RFC 8785). Writing the wire text
 * is also the one walk that finds out whether the document is plain JSON of bearable depth and size.
 */
import { hash } from 'node:crypto';
import { pointerStep } from '../tools/schema';
import { type Facts, Fault } from './reading';

const depthMax = 64;
const valuesMax = 1_000_000;
/** Quantities that agree in so many digits are equal, so that a metric and an English answer of one fact are. */
const significantDigits = 6;

interface Rules {
  /** Leaves out links, which only address. */
  withoutLinks: boolean;
  /** Writes a quantity as its rounded value and unit, without what it was converted from. */
  roundQuantities: boolean;
}

interface Walk extends Rules {
  trail: (string | number)[];
  values: number;
}

/** SHA-256, hex, of published facts. Equal for facts that differ only in key order or in the units they came in. */
export function contentHashOf(facts: Facts): string {
  return hash('sha256', contentTextOf(facts), 'hex');
}

/** The canonical text of published facts or a part of them: orders entries of a list that have no key of their own. */
export function contentTextOf(facts: unknown): string {
  return write(facts, { withoutLinks: false, roundQuantities: true, trail: [], values: 0 });
}

/**
 * SHA-256, hex, of the provider's document without its links. Throws `Fault` when it is not plain JSON (`wrong-type`), is
 * nested deeper than 64 (`too-deep`) or holds more than a million values (`too-large`).
 */
export function wireHashOf(body: unknown): string {
  return hash(
    'sha256',
    write(body, { withoutLinks: true, roundQuantities: false, trail: [], values: 0 }),
    'hex',
  );
}

function write(value: unknown, walk: Walk): string {
  walk.values += 1;
  if (walk.values > valuesMax) throw fault(walk, 'too-large', `more than ${valuesMax} values`);
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      // JSON.stringify writes infinities as null; 1e999 is an infinity after parsing.
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (walk.trail.length >= depthMax) throw fault(walk, 'too-deep', `nested deeper than ${depthMax}`);
      return Array.isArray(value) ? writeList(value, walk) : writeRecord(value as Facts, walk);
    default:
      throw fault(walk, 'wrong-type', `expected JSON, got ${typeof value}`);
  }
}

function writeList(list: unknown[], walk: Walk): string {
  let written = '';
  for (let index = 0; index < list.length; index += 1) {
    walk.trail.push(index);
    written += (index === 0 ? '' : ',') + write(list[index], walk);
    walk.trail.pop();
  }
  return `[${written}]`;
}

function writeRecord(record: Facts, walk: Walk): string {
  if (walk.roundQuantities && isQuantity(record)) return writeQuantity(record);
  let written = '';
  for (const key of Object.keys(record).sort()) {
    if (walk.withoutLinks && (key === 'links' || key === 'link')) continue;
    walk.trail.push(key);
    written += `${written === '' ? '' : ','}${quoted(key)}:${write(record[key], walk)}`;
    walk.trail.pop();
  }
  return `{${written}}`;
}

/** JSON.stringify of text; most text needs no escape, and finding that out is quicker. */
function quoted(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

interface WrittenQuantity extends Facts {
  value: number;
  unit: string;
}

/** Only quantities have a source beside value and unit. */
function isQuantity(record: Facts): record is WrittenQuantity {
  return typeof record.value === 'number' && typeof record.unit === 'string' && record.source !== undefined;
}

function writeQuantity(quantity: WrittenQuantity): string {
  const edited = quantity.edited === undefined ? '' : `,"edited":${String(quantity.edited)}`;
  return `{"unit":${quoted(quantity.unit)},"value":${roundedText(quantity.value)}${edited}}`;
}

function roundedText(value: number): string {
  const written = String(value);
  // So few characters hold no more digits than are kept.
  if (written.length <= significantDigits) return written;
  // Rounded twice: the first takes away what a conversion and the provider's own rounding add, so that a value on the edge
  // of the second falls the same way whichever unit it came in.
  const settled = Number(value.toPrecision(significantDigits + 1));
  return String(Number(settled.toPrecision(significantDigits)));
}

function fault(walk: Walk, code: 'too-deep' | 'too-large' | 'wrong-type', detail: string): Fault {
  const path = walk.trail.map((step) => `/${pointerStep(String(step))}`).join('');
  return new Fault(path.slice(0, 512), code, detail);
}
