// Reads an `Authorization` header: `OAuth` with its parameters, or `Bearer`.
// Promises strictness: quotes required, no parameter twice, everything but a realm percent-encoded as RFC 5849 section
// 3.5.1 wants it. Judges no credential.
import { percentDecode } from './percent-encoding';

export type ReadAuthorization =
  | { scheme: 'none' }
  | { scheme: 'unreadable'; reason: string }
  | { scheme: 'bearer'; token: string }
  | { scheme: 'oauth1'; parameters: ReadonlyMap<string, string> };

const PARAMETER = /^\s*([^\s=",]+)="([^"]*)"\s*$/;
/** What RFC 5849 section 3.6 leaves as it is, and what it makes of the rest. */
const ENCODED = /^[A-Za-z0-9\-._~%]*$/;

export function readAuthorization(header: string | undefined): ReadAuthorization {
  if (header === undefined || header === '') return { scheme: 'none' };
  if (/^bearer /i.test(header)) return { scheme: 'bearer', token: header.slice(7).trim() };
  if (!/^oauth\s/i.test(header)) return { scheme: 'unreadable', reason: 'unknown-scheme' };
  const parameters = new Map<string, string>();
  for (const part of header.slice(6).split(',')) {
    const match = PARAMETER.exec(part);
    if (!match) return { scheme: 'unreadable', reason: 'malformed-parameter' };
    const name = percentDecode(match[1]!);
    const value = percentDecode(match[2]!);
    if (name === undefined || value === undefined || (name !== 'realm' && !ENCODED.test(match[2]!)))
      return { scheme: 'unreadable', reason: 'malformed-encoding' };
    if (parameters.has(name)) return { scheme: 'unreadable', reason: 'parameter-twice' };
    parameters.set(name, value);
  }
  return { scheme: 'oauth1', parameters };
}
