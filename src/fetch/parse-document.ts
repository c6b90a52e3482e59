/**
 * The JSON body of a successful answer, strictly: JSON by its media type, valid UTF-8, no deeper than the bound. Whole
 * numbers too large for a double become strings, so that an id keeps its digits. Pure.
 */
import { isUtf8 } from 'node:buffer';

export type Parsed = { document: unknown } | { code: ParseFault };

export type ParseFault =
  | 'empty-answer'
  | 'html-answer'
  | 'unexpected-media-type'
  | 'too-deep'
  | 'invalid-text'
  | 'invalid-json';

/** `mediaType` without parameters, in lower case; see `mediaTypeOf`. Never throws. */
export function parseDocument(body: Buffer, mediaType: string, depthMax: number): Parsed {
  if (body.length === 0) return { code: 'empty-answer' };
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml') return { code: 'html-answer' };
  if (mediaType !== 'application/json' && !mediaType.endsWith('+json'))
    return { code: 'unexpected-media-type' };
  const shape = shapeOf(body, depthMax);
  if (shape.tooDeep) return { code: 'too-deep' };
  if (!isUtf8(body)) return { code: 'invalid-text' };
  // RFC 8259 section 8.1 lets a reader skip a byte order mark.
  const start = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  const text = body.toString('utf8', start);
  try {
    return { document: shape.longNumbers ? JSON.parse(text, keepDigits) : JSON.parse(text) };
  } catch {
    return { code: 'invalid-json' };
  }
}

/** The media type of a `Content-Type` header, without parameters; '' when there is none. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType?.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d+$/.test(source) ? source : value;
}

const quote = 0x22;
const backslash = 0x5c;

/** Numbers with so many digits may be larger than a double can tell apart. */
const digitsMin = 16;

/** One walk outside strings, over brackets and digits; what is not JSON is left to the parser. */
function shapeOf(body: Buffer, depthMax: number): { tooDeep: boolean; longNumbers: boolean } {
  let depth = 0;
  let digits = 0;
  let longNumbers = false;
  const { length } = body;
  for (let at = 0; at < length; at += 1) {
    const byte = body[at] as number;
    if (byte === quote) {
      at += 1;
      while (at < length && body[at] !== quote) at += body[at] === backslash ? 2 : 1;
      digits = 0;
    } else if (byte >= 0x30 && byte <= 0x39) {
      digits += 1;
      if (digits >= digitsMin) longNumbers = true;
    } else {
      digits = 0;
      if (byte === 0x7b || byte === 0x5b) {
        depth += 1;
        if (depth > depthMax) return { tooDeep: true, longNumbers };
      } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    }
  }
  return { tooDeep: false, longNumbers };
}
