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

/** Of an address, or of its end alone, with the page’s word for it or without. */
function queryOf(text: string): string | null {
  const at = text.indexOf('?');
  if (at >= 0) return text.slice(at + 1).replace(/#.*$/s, '');
  const pairs = text.replace(/^answer:?\s+/i, '');
  return /(^|&)(code|oauth_verifier|error|oauth_problem)=/.test(pairs) ? pairs : null;
}

/** What a page writes before a value that it shows, copied with it. */
function labelOf(word: string | undefined): 'code' | 'token' | null {
  if (word === undefined) return null;
  if (/^(?:oauth_)?(?:code|verifier):?$/i.test(word)) return 'code';
  return /^(?:oauth_)?(?:token|state):?$/i.test(word) ? 'token' : null;
}

/** Words that a page may put before such a label: no value. */
const beforeLabel =
  /(?<!\S)(?:(?:your|the|oauth|access|request|verification|authori[sz]ation|confirmation|security)\s+)+(?=(?:oauth_)?(?:code|verifier|token|state):?\s)/gi;

/**
 * The token and what was shown for it, or the latter alone; each with the page's words for it or without. A label that is
 * not known is no token: a consent would be spent on it.
 */
function valuesOf(text: string): Carried | null {
  const labelled: { code?: string; token?: string } = {};
  const bare: string[] = [];
  const words = text.replace(beforeLabel, '').split(/[\s,]+/);
  for (let at = 0; at < words.length; at += 1) {
    const label = labelOf(words[at]);
    const value = words[at + 1];
    if (label === null && value !== undefined && words[at]?.endsWith(':')) return null;
    if (label === null || value === undefined || labelOf(value) !== null) bare.push(words[at] as string);
    else {
      labelled[label] ??= value;
      at += 1;
    }
  }
  const code = labelled.code ?? bare.pop();
  const token = labelled.token ?? bare.pop() ?? null;
  return code === undefined || bare.length > 0 ? null : { code, token };
}
