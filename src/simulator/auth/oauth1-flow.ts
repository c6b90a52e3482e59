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

interface RequestToken {
  secret: string;
  callback: string;
  verifier: string | undefined;
  user: User | undefined;
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

  /** The user approves: the verifier comes into being. Returns the address to go back to, undefined for `oob`. */
  authorize(
    requestToken: string,
    user: User,
  ): { verifier: string; redirect: string | undefined } | undefined {
    const pending = this.#pending.get(requestToken);
    if (!pending || pending.verifier !== undefined) return undefined;
    pending.verifier = randomBytes(6).toString('base64url');
    pending.user = user;
    if (pending.callback.toLowerCase() === 'oob') return { verifier: pending.verifier, redirect: undefined };
    const back = new URL(pending.callback);
    back.searchParams.set('oauth_token', requestToken);
    back.searchParams.set('oauth_verifier', pending.verifier);
    return { verifier: pending.verifier, redirect: back.href };
  }

  serve(router: Router): void {
    router.all(
      '/oauth/request_token',
      route((exchange) => this.#requestToken(exchange)),
    );
    router.all(
      '/oauth/access_token',
      route((exchange) => this.#accessToken(exchange)),
    );
  }

  #requestToken(exchange: Exchange): Answer {
    const callback = parameter(exchange, 'oauth_callback');
    if (callback.toLowerCase() !== 'oob' && !URL.canParse(callback))
      throw new Refusal(400, 'oauth_callback must be an address or oob');
    const oldest = this.#pending.keys().next();
    if (this.#pending.size >= PENDING_MAX && !oldest.done) this.#pending.delete(oldest.value);
    const token = randomUUID();
    const secret = randomBytes(32).toString('base64');
    this.#pending.set(token, { secret, callback, verifier: undefined, user: undefined });
    this.provider.coverage.count('oauth1-request-token');
    return formAnswer({ oauth_token: token, oauth_token_secret: secret, oauth_callback_confirmed: 'true' });
  }

  #accessToken(exchange: Exchange): Answer {
    const token = parameter(exchange, 'oauth_token');
    const pending = this.#pending.get(token);
    if (!pending?.verifier || !pending.user || parameter(exchange, 'oauth_verifier') !== pending.verifier) {
      throw new Refusal(401, 'Unauthorized: verifier-refused');
    }
    this.#pending.delete(token);
    const issued = this.provider.accounts.issueOAuth1(
      pending.user,
      Math.floor(this.provider.nowMs() / 1_000),
    );
    this.provider.coverage.count('oauth1-access-token');
    return formAnswer({ oauth_token: issued.token, oauth_token_secret: issued.secret });
  }
}

function parameter(exchange: Exchange, name: string): string {
  const read = readAuthorization(exchange.request.headers.authorization);
  return (read.scheme === 'oauth1' ? read.parameters.get(name) : undefined) ?? '';
}

/** The provider answers these two calls as plain text in form encoding. */
function formAnswer(pairs: Record<string, string>): Answer {
  return { text: new URLSearchParams(pairs).toString(), contentType: 'text/plain;charset=UTF-8' };
}
