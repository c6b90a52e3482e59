/**
 * The text of an answer as what was asked for. Whatever else comes (a page, other JSON, nothing) is told with the address
 * that brought it: it says where TRAMLINE_URL leads. Nothing of what came is repeated but its media type.
 */
import { Problem } from '../model/problem';
import { schemaFaultOf } from '../tools/schema';
import type { Shape } from './answer-shapes';
import type { AnswerHead } from './http-answer';

const mediaTypeCharsMax = 60;
/** Pages of events are asked for in pieces that fit, see there. */
const answerBytesMax = 256 * 1024 * 1024;

/** Throws for an answer of more than 256 MiB, and what its pieces throw. */
export async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of pieces) {
    bytes += part.byteLength;
    if (bytes > answerBytesMax) throw new Error('the answer is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/**
 * Throws `store.unavailable` for what is no JSON, or not of this shape; a media type is cut at 60 characters. Of an answer to
 * what `acts` it says that it was not asked in vain.
 */
export function readAnswer<Answer>(
  response: AnswerHead,
  text: string,
  shape: Shape<Answer>,
  acts: boolean,
): Answer {
  const type = mediaTypeOf(response.headers);
  if (!type.startsWith('application/json')) throw strange(response.url, `no JSON (${type})`, acts);
  return readValue(response, text, shape, acts);
}

/** One line of several, whose media type is known. Throws `store.unavailable` and bounds as `readAnswer` does. */
export function readValue<Answer>(
  { url, headers }: AnswerHead,
  text: string,
  shape: Shape<Answer>,
  acts = false,
): Answer {
  const value = parsed(text);
  if (value === undefined) throw strange(url, `no JSON (${mediaTypeOf(headers)})`, acts);
  const read = shape.safeParse(value);
  if (read.success) return filled(value, read.data) as Answer;
  const fault = schemaFaultOf(shape, value);
  const place = fault === null || fault.path === '' ? '' : `${fault.path}: `;
  throw strange(url, `JSON that is not ours (${place}${fault?.detail})`, acts);
}

/** As it came, in its order, with what it does not say and its shape knows; `read`: as the shape has it, which copies what it names. */
function filled(value: unknown, read: unknown): unknown {
  if (value === read || typeof value !== 'object' || value === null) return value;
  const said = value as Record<string, unknown>;
  for (const [name, known] of Object.entries(read as object))
    said[name] = Object.hasOwn(said, name) ? filled(said[name], known) : known;
  return said;
}

/** For a person to read; cut at 60 characters. */
export function mediaTypeOf(headers: AnswerHead['headers']): string {
  return headers.get('content-type')?.slice(0, mediaTypeCharsMax) ?? 'of no media type';
}

/** The problem of an answer of 200 that no service of ours gives. Another version has done what it was told to by then. */
export function strange(url: string, came: string, acts = false): Problem {
  const { origin, pathname } = new URL(url);
  const who = 'and is not Tramline, or another version of it';
  return new Problem(
    'store.unavailable',
    `the service at ${origin} answered 200 ${who}: ${pathname} brought ${came}${acts ? done : ''}`,
  );
}

const done =
  '; another version has carried out what it was asked for, or is at it: look before you ask for it again';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
