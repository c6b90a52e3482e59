// Reads an `Authorization` header: `OAuth` with its parameters, or `Bearer`.
// Promises strictness: quotes required, no parameter twice, percent-encoding well formed. Judges no credential.
import { percentDecode } from './percent-encoding';

export type ReadAuthorization =
  | { scheme: 'none' }
  | { scheme: 'unreadable'; reason: string }
  | { scheme: 'bearer'; token: string }
  | { scheme: 'oauth1'; parameters: ReadonlyMap<string, string> };

const PARAMETER = /^\s*([^\s=",]+)="([^"]*)"\s*$/;

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
    if (name === undefined || value === undefined)
      return { scheme: 'unreadable', reason: 'malformed-encoding' };
    if (parameters.has(name)) return { scheme: 'unreadable', reason: 'parameter-twice' };
    parameters.set(name, value);
  }
  return { scheme: 'oauth1', parameters };
}
