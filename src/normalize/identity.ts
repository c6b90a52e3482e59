/**
 * What tells one state of a resource from another: a hash of the facts that are published, and a hash of what the
 * provider sent. Both are taken over canonical text: keys sorted, no white space (after RFC 8785). Writing the wire text
 * is also the one walk that finds out whether the document is plain JSON of bearable depth and size.
 */
import { hash } from 'node:crypto';
import { pointerStep } from '../tools/schema';
import { CanonicalRoom } from './canonical-room';
import { type Facts, Fault } from './reading';

const depthMax = 64;
const pathCharsMax = 512;
const valuesMax = 1_000_000;
/** Quantities that agree in so many digits are equal, so that a metric and an English answer of one fact are. */
const significantDigits = 6;

interface Rules {
  /** Leaves out links, which only address. */
  withoutLinks: boolean;
  /** Writes a quantity as its rounded value and unit, without what it was converted from. */
  roundQuantities: boolean;
}

const wireRules: Rules = { withoutLinks: true, roundQuantities: false };
const contentRules: Rules = { withoutLinks: false, roundQuantities: true };

/**
 * SHA-256, hex, of published facts. Equal for facts that differ only in key order or in the units they came in. Throws
 * `Fault` and bounds as `wireHashOf` does.
 */
export function contentHashOf(facts: Facts): string {
  return hash('sha256', writeWhole(facts, contentRules), 'hex');
}

/**
 * The canonical text of published facts or a part of them: orders entries of a list that have no key of their own.
 * Throws `Fault` and bounds as `wireHashOf` does.
 */
export function contentTextOf(facts: unknown): string {
  return writeWhole(facts, contentRules).toString();
}

/**
 * SHA-256, hex, of the provider's document without its links. Throws `Fault` when it is not plain JSON (`wrong-type`),
 * is nested deeper than 64 (`too-deep`) or holds more than a million values (`too-large`). The path of a fault has at
 * most 512 characters. The orders of 1,000 sets of fewer than 100 keys are remembered, at most 20 that begin with one key.
 */
export function wireHashOf(body: unknown): string {
  return hash('sha256', writeWhole(body, wireRules), 'hex');
}

/** Of the text that is being written; a walk is never entered twice, since nothing in it waits. */
const room = new CanonicalRoom();
let values = 0;

/** UTF-8; valid until the next is written. */
function writeWhole(value: unknown, rules: Rules): Buffer {
  values = 0;
  room.begin();
  write(value, rules, 0);
  return room.written();
}

function write(value: unknown, rules: Rules, depth: number): void {
  values += 1;
  if (values > valuesMax) throw new Fault('', 'too-large', `more than ${valuesMax} values`);
  if (typeof value === 'string') room.quoted(value);
  // JSON.stringify writes infinities as null; 1e999 is an infinity after parsing.
  else if (typeof value === 'number') room.plain(String(value));
  else if (typeof value === 'boolean') room.plain(value ? 'true' : 'false');
  else if (value === null) room.plain('null');
  else if (typeof value !== 'object') {
    throw new Fault('', 'wrong-type', `expected JSON, got ${typeof value}`);
  } else if (depth >= depthMax) throw new Fault('', 'too-deep', `nested deeper than ${depthMax}`);
  else if (Array.isArray(value)) writeList(value, rules, depth + 1);
  else writeRecord(value as Facts, rules, depth + 1);
}

function writeList(list: unknown[], rules: Rules, depth: number): void {
  room.plain('[');
  for (let index = 0; index < list.length; index += 1) {
    if (index > 0) room.plain(',');
    try {
      write(list[index], rules, depth);
    } catch (error) {
      throw within(index, error);
    }
  }
  room.plain(']');
}

function writeRecord(record: Facts, rules: Rules, depth: number): void {
  if (rules.roundQuantities && isQuantity(record)) {
    writeQuantity(record);
    return;
  }
  let isFirst = true;
  room.plain('{');
  for (const { key, written } of orderOf(Object.keys(record))) {
    if (rules.withoutLinks && (key === 'links' || key === 'link')) continue;
    if (!isFirst) room.plain(',');
    isFirst = false;
    room.copy(written);
    try {
      write(record[key], rules, depth);
    } catch (error) {
      throw within(key, error);
    }
  }
  room.plain('}');
}

/** The fault with one step more before its path: finding the way only back costs nothing where there is no fault. */
function within(step: string | number, error: unknown): unknown {
  if (!(error instanceof Fault)) return error;
  return new Fault(
    `/${pointerStep(String(step))}${error.path}`.slice(0, pathCharsMax),
    error.code,
    error.message,
  );
}

/** A key as it is written before its value. */
interface WrittenKey {
  key: string;
  written: Uint8Array;
}

interface Order {
  keys: string[];
  sorted: WrittenKey[];
}

const ordersMax = 1000;
/** Of one order, and orders that begin with one key. */
const orderKeysMax = 100;
const ordersOfOneMax = 20;
let ordersKnown = 0;
/**
 * How known sets of keys are sorted, by the first of them: the same few come in every document, and sorting them is most
 * of the writing.
 */
const orders = new Map<string, Order[]>();

function orderOf(keys: string[]): WrittenKey[] {
  const [first = ''] = keys;
  const known = orders.get(first);
  if (known !== undefined) {
    for (const order of known) if (areSame(order.keys, keys)) return order.sorted;
  }
  const sorted = keys.toSorted().map((key) => ({ key, written: Buffer.from(`${JSON.stringify(key)}:`) }));
  if (ordersKnown < ordersMax && keys.length < orderKeysMax) {
    ordersKnown += 1;
    if (known === undefined) orders.set(first, [{ keys, sorted }]);
    else if (known.length < ordersOfOneMax) known.push({ keys, sorted });
  }
  return sorted;
}

function areSame(left: string[], right: string[]): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at += 1) if (left[at] !== right[at]) return false;
  return true;
}

interface WrittenQuantity extends Facts {
  value: number;
  unit: string;
}

/** Only quantities have a source beside value and unit. */
function isQuantity(record: Facts): record is WrittenQuantity {
  return typeof record.value === 'number' && typeof record.unit === 'string' && record.source !== undefined;
}

function writeQuantity(quantity: WrittenQuantity): void {
  room.plain('{"unit":');
  room.quoted(quantity.unit);
  room.plain(`,"value":${roundedText(quantity.value)}`);
  if (quantity.edited !== undefined) room.plain(`,"edited":${String(quantity.edited)}`);
  room.plain('}');
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
