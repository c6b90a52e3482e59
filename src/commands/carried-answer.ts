/**
 * What a person pastes after a consent, as what it means: the address that the browser was sent to, or the values that
 * the provider's page showed. Pure.
 */
import type { ConsentAnswer } from '../model/consent';
import { type ConsentError, consentErrorOf, declined } from '../model/consent-error';

export type Carried = ConsentAnswer | { error: ConsentError };

const charsMax = 4096;

/** null when it cannot be an answer, as what is longer than 4,096 characters cannot. */
export function carriedAnswer(line: string): Carried | null {
  const text = line.trim();
  if (text === '' || text.length > charsMax) return null;
  const query = queryOf(text);
  if (query === null) return valuesOf(text);
  const given = new URLSearchParams(query);
  const error = given.get('error') ?? '';
  if (error !== '') return { error: consentErrorOf(error) };
  if (given.has('oauth_problem') || given.has('denied')) return { error: declined };
  const code = given.get('code') ?? given.get('oauth_verifier');
  const token = given.get('state') ?? given.get('oauth_token');
  return code === null || code === '' ? null : { code, token };
}

/** Of an address, or of its end alone. */
function queryOf(text: string): string | null {
  const at = text.indexOf('?');
  if (at >= 0) return text.slice(at + 1).replace(/#.*$/s, '');
  return /(^|&)(code|oauth_verifier|error|oauth_problem)=/.test(text) ? text : null;
}

/** The token and what was shown for it, or the latter alone. */
function valuesOf(text: string): Carried | null {
  const [first = '', second, ...more] = text.split(/[\s,]+/);
  if (more.length > 0) return null;
  return second === undefined ? { code: first, token: null } : { code: second, token: first };
}
