// The client application, the users and every token in circulation, both OAuth 1 and bearer.
// Promises that the same seed gives the same first tokens, so that a simulator started again on the same port is the
// same provider. Tokens live in memory only; who may see which organization is decided here and nowhere else.
import { createHash } from 'node:crypto';

const ACCESS_SECONDS = 43_200;
const YEAR_SECONDS = 31_536_000;
export const SCOPES = 'org1 org2 eq1 eq2 ag1 ag2 ag3 files offline_access';

export interface User {
  readonly index: number;
  readonly name: string;
  readonly connection: string;
}

export interface OAuth1Token {
  token: string;
  secret: string;
  user: User | undefined;
  expiresAtSeconds: number;
}

export interface BearerToken {
  token: string;
  /** Undefined for a token of the application itself. */
  user: User | undefined;
  expiresAtSeconds: number;
}

export class Accounts {
  readonly clientKey: string;
  readonly clientSecret: string;
  readonly users: readonly User[];
  readonly #oauth1 = new Map<string, OAuth1Token>();
  readonly #bearer = new Map<string, BearerToken>();
  /** Refresh token → its user. */
  readonly #refresh = new Map<string, User>();
  #issued = 0;

  constructor(
    readonly vendor: string,
    readonly seed: number,
    userCount: number,
    nowSeconds: number,
  ) {
    this.clientKey = `${vendor}-${this.#secret('client-key').toString('hex').slice(0, 40)}`;
    this.clientSecret = this.#secret('client-secret').toString('hex');
    this.users = Array.from({ length: userCount }, (_, index) => ({
      index,
      name: `${vendor}-user-${index + 1}`,
      connection: `connection-${index + 1}`,
    }));
    for (const user of this.users) {
      this.issueOAuth1(user, nowSeconds);
      this.issueBearer(user, nowSeconds);
      this.issueRefresh(user);
    }
  }

  /** With several users the organizations are dealt to them in turn. */
  sees(user: User, organizationIndex: number): boolean {
    return organizationIndex % this.users.length === user.index;
  }

  findOAuth1(token: string): OAuth1Token | undefined {
    return this.#oauth1.get(token);
  }

  findBearer(token: string): BearerToken | undefined {
    return this.#bearer.get(token);
  }

  userOfRefresh(refresh: string): User | undefined {
    return this.#refresh.get(refresh);
  }

  /** The access token of OAuth 1 for a user; its secret holds `+`, `/` and `=`, as the provider's do. */
  issueOAuth1(user: User, nowSeconds: number): OAuth1Token {
    const hex = this.#secret(`oauth1-token-${this.#issued}`).toString('hex');
    const issued: OAuth1Token = {
      token: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
      secret: this.#awkwardSecret(`oauth1-secret-${this.#issued}`),
      user,
      expiresAtSeconds: nowSeconds + YEAR_SECONDS,
    };
    this.#issued += 1;
    this.#oauth1.set(issued.token, issued);
    return issued;
  }

  /** A bearer token of the size and look of a JWT; valid for 12 hours. `user` undefined: for the application itself. */
  issueBearer(user: User | undefined, nowSeconds: number): BearerToken {
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'simulator' })).toString('base64url');
    const claims = {
      cid: this.clientKey,
      sub: user?.name ?? this.clientKey,
      scp: SCOPES.split(' '),
      n: this.#issued,
    };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const signature = Buffer.concat([0, 1, 2, 3].map((at) => this.#secret(`bearer-${this.#issued}-${at}`)));
    const issued = {
      token: `${header}.${payload}.${signature.toString('base64url')}`,
      user,
      expiresAtSeconds: nowSeconds + ACCESS_SECONDS,
    };
    this.#issued += 1;
    this.#bearer.set(issued.token, issued);
    return issued;
  }

  issueRefresh(user: User): string {
    const refresh = this.#secret(`refresh-${this.#issued}`).toString('base64url');
    this.#issued += 1;
    this.#refresh.set(refresh, user);
    return refresh;
  }

  /** The tokens of a user as they stand: the newest of each kind. */
  tokensOf(user: User): { oauth1: OAuth1Token; bearer: BearerToken; refresh: string } {
    const newest = <T extends { user: User | undefined }>(tokens: Iterable<T>): T =>
      [...tokens].findLast((token) => token.user === user)!;
    const refresh = [...this.#refresh].findLast(([, owner]) => owner === user)!;
    return {
      oauth1: newest(this.#oauth1.values()),
      bearer: newest(this.#bearer.values()),
      refresh: refresh[0],
    };
  }

  /** Ends every access token (of one user, or of all) now; `refresh` ends the refresh tokens too. */
  expire(user: string | undefined, refresh: boolean): void {
    const concerns = (owner: User | undefined): boolean => user === undefined || owner?.name === user;
    for (const token of [...this.#oauth1.values(), ...this.#bearer.values()]) {
      if (concerns(token.user)) token.expiresAtSeconds = 0;
    }
    if (!refresh) return;
    for (const [token, owner] of this.#refresh) if (concerns(owner)) this.#refresh.delete(token);
  }

  /** Makes every ended access token valid again, as if the customer had consented anew. */
  restore(nowSeconds: number): void {
    for (const token of this.#oauth1.values()) token.expiresAtSeconds = nowSeconds + YEAR_SECONDS;
    for (const token of this.#bearer.values()) token.expiresAtSeconds = nowSeconds + ACCESS_SECONDS;
  }

  #secret(purpose: string): Buffer {
    return createHash('sha256').update(`tramline simulator ${this.seed} ${purpose}`).digest();
  }

  #awkwardSecret(purpose: string): string {
    for (let at = 0; ; at += 1) {
      const secret = this.#secret(`${purpose}-${at}`).toString('base64');
      if (secret.includes('+') && secret.includes('/')) return secret;
    }
  }
}
