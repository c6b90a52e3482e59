/**
 * One pass over raw JSON before it is parsed: how deep it nests, how many values it holds, and whether it holds a number
 * that would lose digits. It judges no syntax; the parser does. Pure, without recursion.
 */

export interface JsonBounds {
  depthMax: number;
  /** Commas and colons outside strings: array items and members. */
  valuesMax: number;
}

export interface JsonShape {
  /** Numbers must be read from their source text: one has 16 digits or more, or an exponent. */
  exact: boolean;
  /** Colons outside strings. */
  members: number;
}

export type JsonScan = JsonShape | 'too-deep' | 'too-many-values';

const quote = 0x22;
const backslash = 0x5c;
const exactDigits = 16;

export function scanJson(bytes: Uint8Array, bounds: JsonBounds): JsonScan {
  let depth = 0;
  let values = 0;
  let members = 0;
  let digits = 0;
  let exact = false;
  const length = bytes.length;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quote) {
      at = endOfString(bytes, at);
      digits = 0;
    } else if (byte >= 0x30 && byte <= 0x39) {
      digits += 1;
      if (digits === exactDigits) exact = true;
    } else {
      if (byte === 0x5b || byte === 0x7b) {
        depth += 1;
        if (depth > bounds.depthMax) return 'too-deep';
      } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
      else if (byte === 0x2c || byte === 0x3a) {
        values += 1;
        if (byte === 0x3a) members += 1;
        if (values > bounds.valuesMax) return 'too-many-values';
      } else if ((byte | 0x20) === 0x65 && digits > 0) exact = true;
      digits = 0;
    }
  }
  return { exact, members };
}

/** The position of the closing quote, or the end of the bytes. */
function endOfString(bytes: Uint8Array, opening: number): number {
  let at = opening + 1;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte === quote) return at;
    at += byte === backslash ? 2 : 1;
  }
  return at;
}
