// RFC 5849 once more, as a server would check it: from the request as it goes over the wire, with its own decoding,
// encoding and sorting. An oracle for signatures; shares nothing with the client, the simulator or the library.
import { createHmac } from 'node:crypto';

export interface SentRequest {
  method: string;
  /** Absolute, exactly as sent: scheme, authority, path, query. */
  address: string;
  /** Form body, exactly as sent; absent for any other body. */
  form?: string;
  authorization: string;
}

type Pair = [name: string, value: string];

const [percent, plus, space] = Buffer.from('%+ ') as unknown as [number, number, number];

/** By byte, made once: property tests encode some millions. */
const encodedBytes = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9\-._~]/.test(character)
    ? character
    : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/** Section 3.6: bytes of UTF-8, everything but unreserved characters encoded, hexadecimal digits in upper case. */
export function encode(text: string): string {
  let encoded = '';
  for (const byte of Buffer.from(text, 'utf8')) encoded += encodedBytes[byte];
  return encoded;
}

function decode(text: string, plusIsSpace: boolean): string {
  const sent = Buffer.from(text, 'utf8');
  const bytes = Buffer.alloc(sent.length);
  let length = 0;
  for (let at = 0; at < sent.length; at += 1) {
    let byte = sent[at] as number;
    if (byte === percent) {
      byte = Number.parseInt(sent.toString('latin1', at + 1, at + 3), 16);
      at += 2;
    } else if (byte === plus && plusIsSpace) byte = space;
    bytes[length++] = byte;
  }
  return bytes.toString('utf8', 0, length);
}

function pairsOf(encoded: string): Pair[] {
  return encoded
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=');
      const [name, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
      return [decode(name, true), decode(value, true)];
    });
}

/** Section 3.5.1: the parameters of the header, realm included. */
export function headerPairs(authorization: string): Pair[] {
  if (!/^OAuth /i.test(authorization)) throw new Error('not an OAuth header');
  return authorization
    .slice(6)
    .split(',')
    .map((part) => {
      const found = /^\s*([^=\s]+)="([^"]*)"\s*$/.exec(part);
      if (found === null) throw new Error(`not a parameter: ${part}`);
      return [decode(found[1] as string, false), decode(found[2] as string, false)];
    });
}

/** Section 3.4.1: the signature base string. */
export function baseStringOf(request: SentRequest): string {
  const found = /^(https?):\/\/([^/?#]+)([^?#]*)(?:\?([^#]*))?$/.exec(request.address);
  if (found === null) throw new Error('not an absolute address');
  const [, scheme, authority, path, query] = found as unknown as [string, string, string, string, string?];
  const host = authority.toLowerCase().replace(scheme === 'https' ? /:443$/ : /:80$/, '');
  const pairs = [...pairsOf(query ?? ''), ...pairsOf(request.form ?? '')];
  for (const [name, value] of headerPairs(request.authorization)) {
    if (name !== 'realm' && name !== 'oauth_signature') pairs.push([name, value]);
  }
  const sorted = pairs
    .map(([name, value]): Pair => [encode(name), encode(value)])
    .sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return `${request.method.toUpperCase()}&${encode(`${scheme}://${host}${path === '' ? '/' : path}`)}&${encode(sorted)}`;
}

/** Section 3.4.2: HMAC-SHA1. */
export function signatureOf(request: SentRequest, clientSecret: string, tokenSecret: string): string {
  return createHmac('sha1', `${encode(clientSecret)}&${encode(tokenSecret)}`)
    .update(baseStringOf(request))
    .digest('base64');
}
