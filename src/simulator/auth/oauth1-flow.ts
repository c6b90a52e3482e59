// The three-legged OAuth 1.0 flow on the provider's side: request token, consent, access token.
// Promises one use of each request token and of each verifier. Signatures were judged before a route is reached.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Router } from 'express';
import { route } from '../provider/entry';
import type { Answer, Exchange } from '../provider/exchange';
import type { Provider } from '../provider/provider';
import { Refusal } from '../provider/refusal';
import type { User } from './accounts';
import { readAuthorization } from './authorization-header';
import { appended } from './authorization-requests';

interface RequestToken {
  secret: string;
  callback: string;
  verifier: string | undefined;
  user: User | undefined;
}

/** Where an answered request leads: `verifier` undefined = declined, `redirect` undefined = a page is shown. */
export interface Answered {
  verifier: string | undefined;
  redirect: string | undefined;
}

const PENDING_MAX = 10_000;

export class OAuth1Flow {
  readonly #pending = new Map<string, RequestToken>();

  constructor(readonly provider: Provider) {}

  secretOf(requestToken: string): string | undefined {
    return this.#pending.get(requestToken)?.secret;
  }

  find(requestToken: string): RequestToken | undefined {
    return this.#pending.get(requestToken);
  }

  /** The user approves: the verifier comes into being. `redirect` is where to go back to, undefined for `oob`. */
  authorize(requestToken: string, user: User): Answered | undefined {
    const pending = this.#pending.get(requestToken);
    if (!pending || pending.verifier !== undefined) return undefined;
    const verifier = randomBytes(6).toString('base64url');
    pending.verifier = verifier;
    pending.user = user;
    return { verifier, redirect: back(pending, { oauth_token: requestToken, oauth_verifier: verifier }) };
  }

  /** The user declines: the request token is spent, and the browser goes back without a verifier. */
  decline(requestToken: string): Answered | undefined {
    const pending = this.#pending.get(requestToken);
    if (!pending || pending.verifier !== undefined) return undefined;
    this.#pending.delete(requestToken);
    const told = { oauth_token: requestToken, oauth_problem: 'permission_denied' };
    return { verifier: undefined, redirect: back(pending, told) };
  }

  serve(router: Router): void {
    const requestToken = route((exchange) => this.#requestToken(exchange));
    const accessToken = route((exchange) => this.#accessToken(exchange));
    router.route('/oauth/request_token').get(requestToken).post(requestToken);
    router.route('/oauth/access_token').get(accessToken).post(accessToken);
  }

  #requestToken(exchange: Exchange): Answer {
    const callback = parameter(exchange, 'oauth_callback');
    if (callback.toLowerCase() !== 'oob' && !this.provider.accounts.mayReturnTo(callback))
      throw new Refusal(400, 'oauth_callback must be a registered address or oob');
    const oldest = this.#pending.keys().next();
    if (this.#pending.size >= PENDING_MAX && !oldest.done) this.#pending.delete(oldest.value);
    const token = randomUUID();
    const secret = randomBytes(32).toString('base64');
    this.#pending.set(token, { secret, callback, verifier: undefined, user: undefined });
    this.provider.coverage.count('oauth1-request-token');
    if (/^https?:/i.test(callback)) this.provider.coverage.count('oauth1-callback-uri');
    else if (callback.toLowerCase() !== 'oob') this.provider.coverage.count('oauth1-callback-scheme');
    if (exchange.request.method === 'POST') this.provider.coverage.count('oauth1-flow-post');
    return formAnswer({ oauth_token: token, oauth_token_secret: secret, oauth_callback_confirmed: 'true' });
  }

  #accessToken(exchange: Exchange): Answer {
    const token = parameter(exchange, 'oauth_token');
    const pending = this.#pending.get(token);
    if (!pending?.verifier || !pending.user || parameter(exchange, 'oauth_verifier') !== pending.verifier) {
      this.provider.coverage.count('refused-verifier');
      throw new Refusal(401, 'Unauthorized: verifier-refused');
    }
    this.#pending.delete(token);
    const issued = this.provider.tokens.issueOAuth1(pending.user, Math.floor(this.provider.nowMs() / 1_000));
    this.provider.coverage.count('oauth1-access-token');
    this.provider.tokens.given = true;
    return formAnswer({ oauth_token: issued.token, oauth_token_secret: issued.secret });
  }
}

function back({ callback }: RequestToken, parameters: Record<string, string>): string | undefined {
  return callback.toLowerCase() === 'oob' ? undefined : appended(callback, parameters);
}

function parameter(exchange: Exchange, name: string): string {
  const read = readAuthorization(exchange.request.headers.authorization);
  return (read.scheme === 'oauth1' ? read.parameters.get(name) : undefined) ?? '';
}

/** The provider answers these two calls as plain text in form encoding. */
function formAnswer(pairs: Record<string, string>): Answer {
  return { text: new URLSearchParams(pairs).toString(), contentType: 'text/plain;charset=UTF-8' };
}
