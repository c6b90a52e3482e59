// The front half of OAuth 2: what a browser asks for at the authorization endpoint, the user's answer, and the code.
// Promises that a code is good once, for its client, its redirect address and its challenge (RFC 6749 section 4.1.2,
// RFC 7636), and that a browser is sent nowhere that is not registered. No page is drawn here.
import { randomBytes } from 'node:crypto';
import type { Accounts, User } from './accounts';
import { isChallenge } from './pkce';
import { ALL_SCOPES, readScopes, type Scopes } from './scopes';
import type { Family } from './tokens';

/** How long a code is good. */
const CODE_SECONDS = 300;
const PENDING_MAX = 10_000;
/** The redirect address of an application that has none. */
const OUT_OF_BAND = 'urn:ietf:wg:oauth:2.0:oob';

export interface AuthorizationRequest {
  id: string;
  redirectUri: string;
  state: string;
  challenge: string;
  scopes: Scopes;
}

export interface Code extends AuthorizationRequest {
  user: User;
  expiresAtSeconds: number;
  /** What the code was traded for: undefined until then. */
  family: Family | undefined;
}

/** `request`: a page may be shown. `redirect`: the browser goes back with an error. `page`: it must not go back. */
export type Asked =
  | { request: AuthorizationRequest }
  | { redirect: string; error: string }
  | { page: string };

export class AuthorizationRequests {
  readonly #pending = new Map<string, AuthorizationRequest>();
  readonly #codes = new Map<string, Code>();

  constructor(readonly accounts: Accounts) {}

  /** Reads the query of the authorization endpoint; RFC 6749 section 4.1.2.1 says which mistakes may be sent back. */
  ask(query: URLSearchParams): Asked {
    const one = (name: string): string | undefined => query.get(name) ?? undefined;
    for (const name of query.keys())
      if (query.getAll(name).length > 1) return { page: `${name} is there more than once.` };
    if (one('client_id') !== this.accounts.clientKey) return { page: 'The client is unknown.' };
    const redirectUri = one('redirect_uri');
    if (redirectUri === undefined || !this.accounts.mayReturnTo(redirectUri))
      return { page: 'The redirect address is not registered for this client.' };
    const state = one('state');
    const refuse = (error: string, why: string): Asked => ({
      redirect: appended(redirectUri, { error, error_description: why, ...(state ? { state } : {}) }),
      error: why,
    });
    if (one('response_type') !== 'code')
      return refuse('unsupported_response_type', 'response_type must be code.');
    if (!state) return refuse('invalid_request', 'state is required.');
    const challenge = one('code_challenge');
    if (one('code_challenge_method') !== 'S256' || !isChallenge(challenge))
      return refuse('invalid_request', 'A code_challenge of the method S256 is required.');
    const asked = one('scope');
    const scopes = asked === undefined ? withoutOffline() : readScopes(asked);
    if (!scopes) return refuse('invalid_scope', 'One of the scopes is unknown.');
    for (const scope of scopes)
      if (!this.accounts.client.scopes.has(scope))
        return refuse('invalid_scope', `The client is not licensed for ${scope}.`);
    const request = { id: randomBytes(16).toString('hex'), redirectUri, state, challenge, scopes };
    return { request: keep(this.#pending, request.id, request) };
  }

  /** The user's answer. Returns where the browser goes; undefined for a request that is unknown or was answered. */
  answer(id: string, user: User, approve: boolean, nowSeconds: number): string | undefined {
    const request = this.#pending.get(id);
    if (!request) return undefined;
    this.#pending.delete(id);
    const { redirectUri, state } = request;
    if (!approve)
      return appended(redirectUri, {
        error: 'access_denied',
        error_description: 'The resource owner declined.',
        state,
      });
    const code = randomBytes(24).toString('base64url');
    const expiresAtSeconds = nowSeconds + CODE_SECONDS;
    keep(this.#codes, code, { ...request, user, expiresAtSeconds, family: undefined });
    return appended(redirectUri, { code, state });
  }

  findCode(code: string): Code | undefined {
    return this.#codes.get(code);
  }
}

/** True of that address, whatever is appended to it. */
export function isOutOfBand(address: string): boolean {
  return address.split('?', 1)[0] === OUT_OF_BAND;
}

/** Without a wish for scopes: all of them, but not the one that brings a refresh token. */
function withoutOffline(): Scopes {
  return new Set([...ALL_SCOPES].filter((scope) => scope !== 'offline_access'));
}

/** The address with parameters appended; what its query already holds stays as it was written. */
export function appended(address: string, parameters: Record<string, string>): string {
  const more = new URLSearchParams(parameters).toString();
  return `${address}${address.includes('?') ? '&' : '?'}${more}`;
}

function keep<T>(map: Map<string, T>, key: string, value: T): T {
  const oldest = map.keys().next();
  if (map.size >= PENDING_MAX && !oldest.done) map.delete(oldest.value);
  map.set(key, value);
  return value;
}
