/**
 * What is kept of a thing that cannot be used: its text without tokens, cut at 8 KiB. A quarantine is read by people and
 * lives in the store, so no current secret, no user info of an address and nothing that is called a token may get there.
 */
import { keptBytesMax } from '../model/notification';
import { withoutUserInfo } from '../model/without-user-info';
import type { Secret } from '../tools/secret';
import { hidden, hideSecrets } from './hide-secrets';

/** Redaction may shorten the text, so a little more is looked at than is kept. */
const sampleBytesMax = 4 * keptBytesMax;
/**
 * Also the last one of a text that was cut in the middle of it. What a backslash stands before may be a line's end: such
 * text is no JSON, and just that is looked at here.
 */
const tokenMember = /("token"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)/gis;

/** What stands between two quotes, or outside of any. */
const unquoted = /[^"]+/g;

/** The element as JSON text: members called `token` left out at any depth, secrets and user info hidden, cut at 8 KiB. */
export function redactElement(element: unknown, secrets: readonly Secret[]): string {
  const text = JSON.stringify(element, (name, value: unknown) => {
    if (name.toLowerCase() === 'token') return undefined;
    if (typeof value !== 'string' || !value.includes('@')) return value;
    // What looks like user info may be a part of a secret.
    return withoutUserInfo(hideSecrets(value, secrets));
  });
  return cutText(hideSecrets(text, secrets));
}

/** A string, a bracket, a comma, a colon, or a number or word, of JSON that was parsed before. */
const pieceOfJson = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

/** The same of an element's JSON text, with all its members, cut at 8 KiB: what those called `token` hold is hidden. */
export function redactElementText(json: string, secrets: readonly Secret[]): string {
  const pieces = json.match(pieceOfJson) ?? [];
  let text = '';
  for (let at = 0; at < pieces.length; at += 1) {
    const piece = pieces[at] as string;
    const value = piece.startsWith('"') ? (JSON.parse(piece) as string) : null;
    const isName = pieces[at + 1] === ':';
    if (value === null) text += piece;
    else if (isName || !value.includes('@')) text += JSON.stringify(value);
    else text += JSON.stringify(withoutUserInfo(hideSecrets(value, secrets)));
    if (!isName || value?.toLowerCase() !== 'token') continue;
    at = endOfValue(pieces, at + 2);
    text += `:"${hidden}"`;
  }
  return cutText(hideSecrets(text, secrets));
}

/** The place of the last piece of the value that begins at a place. */
function endOfValue(pieces: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; ; at += 1) {
    const piece = pieces[at] as string;
    if (piece === '{' || piece === '[') depth += 1;
    else if (piece === '}' || piece === ']') depth -= 1;
    if (depth === 0) return at;
  }
}

/** The first 8 KiB of a body that cannot be read, changed in nothing but its tokens, secrets and user info. */
export function redactBody(body: Buffer, secrets: readonly Secret[]): Buffer {
  // Latin-1 keeps every byte, whatever the body is.
  const text = body.subarray(0, sampleBytesMax).toString('latin1');
  const tokenless = text.replace(tokenMember, `$1"${hidden}"`);
  const clean = hideSecrets(tokenless, secrets).replace(unquoted, withoutUserInfo);
  return Buffer.from(clean, 'latin1').subarray(0, keptBytesMax);
}

/** Cuts at whole characters, so that what is kept is well-formed. */
function cutText(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= keptBytesMax) return text;
  let end = keptBytesMax;
  while (((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
