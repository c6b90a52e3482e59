// Every token in circulation: OAuth 1 access tokens, bearer tokens, refresh tokens and the families they form.
// Promises that the first tokens of a seed are always the same, that a rotated refresh token is good once, and a bound:
// of each kind the oldest gives way after 50,000. Tokens live in memory only; who asks for one is not judged here.
import type { Accounts, User } from './accounts';
import { ALL_SCOPES, type Scopes, writeScopes } from './scopes';
import { awkwardSecretFor, secretFor } from './secrets';

const YEAR_SECONDS = 31_536_000;
const KEPT_MAX = 50_000;

export interface OAuth1Token {
  token: string;
  secret: string;
  user: User;
  expiresAtSeconds: number;
}

/** What one consent led to: revoked as a whole. */
export interface Family {
  user: User;
  scopes: Scopes;
  revoked: boolean;
}

export interface BearerToken {
  token: string;
  /** Undefined for a token of the application itself. */
  family: Family | undefined;
  scopes: Scopes;
  expiresAtSeconds: number;
}

export interface RefreshToken {
  token: string;
  family: Family;
  /** A year after its last use. */
  expiresAtSeconds: number;
  /** Another one was given for it: showing it again is theft or a mistake. */
  rotated: boolean;
}

export type TokenKind = 'oauth1' | 'access' | 'refresh';

export class Tokens {
  readonly #oauth1 = new Map<string, OAuth1Token>();
  readonly #bearer = new Map<string, BearerToken>();
  readonly #refresh = new Map<string, RefreshToken>();
  /** True from the moment a client was given an access token until it reads the catalog again. */
  given = false;
  #issued = 0;

  /** The first tokens of every user are there from the start. */
  constructor(
    readonly accounts: Accounts,
    readonly seed: number,
    nowSeconds: number,
  ) {
    for (const user of accounts.users) {
      this.issueOAuth1(user, nowSeconds);
      const family = { user, scopes: ALL_SCOPES, revoked: false };
      this.issueBearer(family, ALL_SCOPES, nowSeconds);
      this.issueRefresh(family, nowSeconds);
    }
  }

  findOAuth1(token: string): OAuth1Token | undefined {
    return this.#oauth1.get(token);
  }

  findBearer(token: string): BearerToken | undefined {
    return this.#bearer.get(token);
  }

  findRefresh(token: string): RefreshToken | undefined {
    return this.#refresh.get(token);
  }

  /** Valid for a year. */
  issueOAuth1(user: User, nowSeconds: number): OAuth1Token {
    const hex = secretFor(this.seed, `oauth1-token-${this.#issued}`).toString('hex');
    const issued: OAuth1Token = {
      token: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
      secret: awkwardSecretFor(this.seed, `oauth1-secret-${this.#issued}`),
      user,
      expiresAtSeconds: nowSeconds + YEAR_SECONDS,
    };
    this.#issued += 1;
    return keep(this.#oauth1, issued);
  }

  /** A bearer token of the size and look of a JWT. `family` undefined: for the application itself. */
  issueBearer(family: Family | undefined, scopes: Scopes, nowSeconds: number): BearerToken {
    const { clientKey, client } = this.accounts;
    const header = base64url({ alg: 'RS256', kid: 'simulator' });
    const subject = family?.user.name ?? clientKey;
    const payload = base64url({ cid: clientKey, sub: subject, scp: writeScopes(scopes), n: this.#issued });
    const signature = [0, 1, 2, 3].map((at) => secretFor(this.seed, `bearer-${this.#issued}-${at}`));
    this.#issued += 1;
    return keep(this.#bearer, {
      token: `${header}.${payload}.${Buffer.concat(signature).toString('base64url')}`,
      family,
      scopes,
      expiresAtSeconds: nowSeconds + client.accessSeconds,
    });
  }

  /** Valid for a year after its last use. */
  issueRefresh(family: Family, nowSeconds: number): RefreshToken {
    const token = secretFor(this.seed, `refresh-${this.#issued}`).toString('base64url');
    this.#issued += 1;
    return keep(this.#refresh, {
      token,
      family,
      expiresAtSeconds: nowSeconds + YEAR_SECONDS,
      rotated: false,
    });
  }

  /** The refresh token to go on with: a new one where tokens rotate, and the one shown is spent. */
  refreshed(shown: RefreshToken, nowSeconds: number): RefreshToken {
    shown.expiresAtSeconds = nowSeconds + YEAR_SECONDS;
    if (!this.accounts.client.rotation) return shown;
    shown.rotated = true;
    return this.issueRefresh(shown.family, nowSeconds);
  }

  /** The tokens of a user as they stand: the newest of each kind. */
  tokensOf(user: User): { oauth1: OAuth1Token; bearer: BearerToken; refresh: RefreshToken } {
    return {
      oauth1: [...this.#oauth1.values()].findLast((token) => token.user === user)!,
      bearer: [...this.#bearer.values()].findLast(({ family }) => family?.user === user)!,
      refresh: [...this.#refresh.values()].findLast(({ family }) => family.user === user)!,
    };
  }

  /** Lets the tokens of these kinds (of one user, or of all) end at `atSeconds`, if they would not end before. */
  expire(kinds: ReadonlySet<TokenKind>, user: string | undefined, atSeconds: number): void {
    const end = (token: { expiresAtSeconds: number }, owner: User | undefined): void => {
      if (user === undefined || owner?.name === user)
        token.expiresAtSeconds = Math.min(token.expiresAtSeconds, atSeconds);
    };
    if (kinds.has('oauth1')) for (const token of this.#oauth1.values()) end(token, token.user);
    if (kinds.has('access')) for (const token of this.#bearer.values()) end(token, token.family?.user);
    if (kinds.has('refresh')) for (const token of this.#refresh.values()) end(token, token.family.user);
  }

  /** Makes every ended access token valid again, as if the customer had consented anew. Revoked families stay so. */
  restore(nowSeconds: number): void {
    for (const token of this.#oauth1.values()) token.expiresAtSeconds = nowSeconds + YEAR_SECONDS;
    for (const token of this.#bearer.values())
      token.expiresAtSeconds = nowSeconds + this.accounts.client.accessSeconds;
  }
}

function keep<T extends { token: string }>(tokens: Map<string, T>, issued: T): T {
  const oldest = tokens.keys().next();
  if (tokens.size >= KEPT_MAX && !oldest.done) tokens.delete(oldest.value);
  tokens.set(issued.token, issued);
  return issued;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
