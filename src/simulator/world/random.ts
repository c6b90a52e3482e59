// Seed → numbers and identifiers: the same seed gives the same world on every machine.
// Every value is reached by its keys alone, so that a resource can be made without making those before it.

export interface Random {
  /** 0 ≤ n < 1. */
  next(): number;
  /** A whole number, both ends included. */
  integer(least: number, most: number): number;
  /** A number with `digits` decimals. */
  decimal(least: number, most: number, digits: number): number;
  pick<T>(list: readonly T[]): T;
  hex(length: number): string;
}

/** A generator that starts from the seed and the keys, and from nothing else. */
export function randomFor(seed: number, ...keys: number[]): Random {
  let state = mix(seed ^ 0x51_7c_c1_b7);
  for (const key of keys) state = mix(state ^ mix(key + 0x9e37_79b9));
  const next = (): number => {
    // mulberry32 (public domain): 32 bits of state are plenty for invented farms.
    state = (state + 0x6d2b_79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 4_294_967_296;
  };
  const integer = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    integer,
    decimal: (least, most, digits) => round(least + next() * (most - least), digits),
    pick: (list) => list[Math.floor(next() * list.length)]!,
    hex: (length) => {
      let text = '';
      while (text.length < length) text += integer(0, 0xffff).toString(16).padStart(4, '0');
      return text.slice(0, length);
    },
  };
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function mix(word: number): number {
  let mixed = word | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) | 0;
}

const MULTIPLIER = 0x9e37_79b1;
const INVERSE = invert(MULTIPLIER);

/**
 * The identifier of resource number `index` of the kind `salt`. Its first eight digits are a one-to-one image of
 * the index, so that {@link indexOfUuid} finds the way back without a table of fifty thousand entries.
 */
export function uuidFor(seed: number, salt: number, index: number): string {
  const head = (Math.imul(index, MULTIPLIER) ^ mix(seed ^ salt)) >>> 0;
  const tail = randomFor(seed, salt, index, 7).hex(24);
  const first = head.toString(16).padStart(8, '0');
  return `${first}-${tail.slice(0, 4)}-4${tail.slice(4, 7)}-a${tail.slice(7, 10)}-${tail.slice(10, 22)}`;
}

/** The index behind an identifier of {@link uuidFor}; undefined when it was not made with this seed and salt. */
export function indexOfUuid(seed: number, salt: number, uuid: string): number | undefined {
  if (!/^[0-9a-f]{8}-/.test(uuid)) return undefined;
  const index = Math.imul(Number.parseInt(uuid.slice(0, 8), 16) ^ mix(seed ^ salt), INVERSE) >>> 0;
  return uuidFor(seed, salt, index) === uuid ? index : undefined;
}

/** The inverse of an odd number modulo 2^32, by Newton's iteration. */
function invert(odd: number): number {
  let inverse = odd;
  for (let round = 0; round < 5; round += 1) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}
