/**
 * The text of an answer as what was asked for. Whatever else comes (a page, other JSON, nothing) is told with the address
 * that brought it: it says where TRAMLINE_URL leads. Nothing of what came is repeated but its media type.
 */
import { Problem } from '../model/problem';
import { schemaFaultOf } from '../tools/schema';
import type { Shape } from './answer-shapes';

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

/** Throws `store.unavailable` for what is no JSON, or not of this shape; a media type is cut at 60 characters. */
export function readAnswer<Answer>(response: Answered, text: string, shape: Shape<Answer>): Answer {
  const type = mediaTypeOf(response.headers);
  if (!type.startsWith('application/json')) throw strange(response.url, `no JSON (${type})`);
  return readValue(response, text, shape);
}

type Answered = Pick<Response, 'url' | 'headers'>;

/** One line of several, whose media type is known. Throws `store.unavailable` and bounds as `readAnswer` does. */
export function readValue<Answer>({ url, headers }: Answered, text: string, shape: Shape<Answer>): Answer {
  const value = parsed(text);
  if (value === undefined) throw strange(url, `no JSON (${mediaTypeOf(headers)})`);
  const fault = schemaFaultOf(shape, value);
  if (fault === null) return value as Answer;
  const place = fault.path === '' ? '' : `${fault.path}: `;
  throw strange(url, `JSON that is not ours (${place}${fault.detail})`);
}

/** For a person to read; cut at 60 characters. */
export function mediaTypeOf(headers: Headers): string {
  return headers.get('content-type')?.slice(0, mediaTypeCharsMax) ?? 'of no media type';
}

/** The problem of an answer of 200 that no service of ours gives. */
export function strange(url: string, came: string): Problem {
  const { origin, pathname } = new URL(url);
  const who = 'and is not Tramline, or another version of it';
  return new Problem(
    'store.unavailable',
    `the service at ${origin} answered 200 ${who}: ${pathname} brought ${came}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
