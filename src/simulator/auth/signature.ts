// The HMAC-SHA1 signature of RFC 5849, written from the RFC: parameters, base string, key.
// Promises to be pure and to share nothing with any client, so that a mistake cannot hide on both sides.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { percentEncode } from './percent-encoding';

export interface SignedRequest {
  method: string;
  scheme: 'http' | 'https';
  /** The Host header, port included. */
  host: string;
  /** The path as sent, still percent-encoded, without the query. */
  path: string;
  /** Query, form body and protocol parameters, decoded; neither `realm` nor `oauth_signature`. */
  parameters: readonly (readonly [name: string, value: string])[];
}

/** RFC 5849 section 3.4.1.1. */
export function signatureBaseString(request: SignedRequest): string {
  const base = `${request.scheme}://${authority(request)}${request.path === '' ? '/' : request.path}`;
  return [request.method.toUpperCase(), base, normalizeParameters(request.parameters)]
    .map(percentEncode)
    .join('&');
}

/** RFC 5849 section 3.4.1.2: lower case, and the port only where it is not the scheme's own. */
function authority({ host, scheme }: SignedRequest): string {
  const lower = host.toLowerCase();
  const own = scheme === 'http' ? ':80' : ':443';
  return lower.endsWith(own) ? lower.slice(0, -own.length) : lower;
}

/** RFC 5849 section 3.4.1.3.2: encoded first, then sorted by name and value as bytes. */
export function normalizeParameters(parameters: readonly (readonly [name: string, value: string])[]): string {
  return parameters
    .map(([name, value]) => [percentEncode(name), percentEncode(value)] as const)
    .sort(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Encoded text is ASCII, so comparing code units compares bytes. */
function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** RFC 5849 section 3.4.2, as base64. */
export function hmacSha1(baseString: string, clientSecret: string, tokenSecret: string): string {
  return createHmac('sha1', `${percentEncode(clientSecret)}&${percentEncode(tokenSecret)}`)
    .update(baseString)
    .digest('base64');
}

/** Constant time for signatures of equal length. */
export function sameSignature(given: string, expected: string): boolean {
  const left = Buffer.from(given);
  const right = Buffer.from(expected);
  return left.length === right.length && timingSafeEqual(left, right);
}
