/**
 * What a consent page answers instead of a code (RFC 6749 section 4.1.2.1), as what it means. Only its words are told:
 * another text may hold anything. Pure.
 */
import type { ConsentFailure } from './consent';

export interface ConsentError {
  code: ConsentFailure;
  detail: string;
}

/** OAuth 1.0 has no words of its own for it. */
export const declined: ConsentError = { code: 'consent-declined', detail: 'the user declined' };

const meanings: ReadonlyMap<string, { code: ConsentFailure; hint?: string }> = new Map([
  ['invalid_request', { code: 'consent-refused' }],
  ['invalid_scope', { code: 'consent-refused', hint: 'see PROVIDER_SCOPES' }],
  ['server_error', { code: 'provider-unavailable' }],
  ['temporarily_unavailable', { code: 'provider-unavailable' }],
  ['unauthorized_client', { code: 'consent-refused', hint: 'see PROVIDER_CLIENT_KEY' }],
  ['unsupported_response_type', { code: 'consent-refused' }],
]);

/** `error`: the parameter of that name, as it came. One without a meaning here is refused, and not repeated. */
export function consentErrorOf(error: string): ConsentError {
  if (error === 'access_denied') return declined;
  const meaning = meanings.get(error);
  if (meaning === undefined)
    return { code: 'consent-refused', detail: 'the consent page answered an error of another name' };
  const { code, hint } = meaning;
  return { code, detail: `the consent page answered ${error}${hint === undefined ? '' : `: ${hint}`}` };
}
