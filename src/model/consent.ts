/**
 * A consent on its way: from a one-time link, or a request made by a command, to a connection. The store keeps it under
 * the hash of what opens its next step and knows nothing of what it holds. Also the calls that bring and renew tokens.
 * Types only.
 */
import type { Secret } from '../tools/secret';
import type { Connection, ConnectionAuth } from './connection';

/** As stored. */
export interface StoredConsent {
  consentId: string;
  /** Hash of the one thing that opens its next step (the link, the state, the request token); null when nothing does. */
  key: string | null;
  /** Milliseconds since the epoch, of the store's clock; what is older is not there any more. */
  expiresAtMs: number;
  /** JSON; whatever is secret in it is sealed. */
  body: string;
}

/** `link`: not opened yet · `asked`: the user is at the provider · `taken`: the answer is being redeemed. */
export type ConsentStep = 'link' | 'asked' | 'taken' | 'done' | 'failed';

/** Why a consent came to nothing. */
export type ConsentFailure =
  /** The user said no. */
  | 'consent-declined'
  /** It was not answered in time. */
  | 'consent-expired'
  /** The provider refuses the verifier, the code or the request itself. */
  | 'consent-refused'
  /** It came back in another browser than it began in; it goes on waiting for that one. */
  | 'consent-other-browser'
  /** Somebody else consented than the one who was asked. */
  | 'consent-other-user'
  /** The provider gives no answer now, or one that cannot be used. */
  | 'provider-unavailable'
  | 'provider-answer-unusable';

/** A connection as people see it: no token, not even a part of one. */
export interface ConnectionView {
  id: string;
  user: string;
  auth: ConnectionAuth;
  status: 'valid' | 'refused';
  /** Of the access token, or of the whole consent where it cannot be renewed; null when the provider names none. */
  expiresAt: string | null;
  /** Whether it is renewed by itself before it ends. */
  renews: boolean;
  /** Ids of organizations, as last learned. */
  organizations: string[];
  /** Why they could not be listed now; left out where they were, or where that is not known. */
  unlisted?: string;
}

/** A consent as people see it. */
export interface ConsentView {
  id: string;
  auth: ConnectionAuth;
  step: ConsentStep;
  /** Where a person goes next: our link, or the provider's page where the command carries the answer; else null. */
  address: string | null;
  expiresAt: string;
  /** Of a consent that still waits: what went wrong on the way and did not end it. */
  code: ConsentFailure | null;
  detail: string | null;
  /** Once it is done; `organizations` are those that its new token was shown, none where that is not known yet. */
  connection: ConnectionView | null;
  /** Ids of organizations that the connection saw before, and that its new token was not shown. */
  unseen: string[];
}

/** A token that signs or is sent, whether a connection's or one on its way to one. */
export interface UserToken {
  auth: ConnectionAuth;
  token: Secret;
  tokenSecret: Secret | null;
}

/** What a consent brought, or a renewal. */
export interface Grant extends UserToken {
  /** null where there is none, or, of a renewal, where the former one stays. */
  refresh: Secret | null;
  /** ISO 8601; null when the provider names none. */
  expiresAt: string | null;
}

/** One call to where tokens are given. Nothing of it may be logged. */
export interface TokenCall {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
  /** Pairs of a form body. */
  form?: [name: string, value: string][];
  /** A header value as it is. */
  authorization?: Secret;
  /** It goes to the API, which wants its media type. */
  ofApi?: true;
  /** Signs by OAuth 1.0, for the application alone where `token` is null. */
  sign?: { token: UserToken | null; callback?: string; verifier?: string };
  /** A user has answered a consent that is lost without it: a pause does not hold it. */
  redeems?: true;
  /** Asked when its connection stands: where it answers no, nothing of the call is written, and the reply's code is `held-back`. */
  maySend?: () => boolean;
}

/** `retryAfterMs` is what the provider asks for, at most an hour. A status of null: no answer came, and why. */
export type TokenReply =
  | { status: number; mediaType: string; body: string; retryAfterMs: number | null }
  | { status: null; code: string };

/** The provider, where tokens are given. Never rejects. */
export interface TokenCalls {
  readonly catalogAddress: string;
  call(call: TokenCall): Promise<TokenReply>;
  /**
   * The catalog in the context of this token, null: of the application alone. Relationship → address. `redeems` as in a
   * call.
   */
  links(
    token: UserToken | null,
    redeems?: true,
  ): Promise<{ links: ReadonlyMap<string, string> } | TokenReply>;
  /** A document of the API as this user sees it. */
  read(url: string, token: UserToken): Promise<{ document: unknown } | TokenReply>;
  close(): void;
}

/** `self`: its own address, as received; null where it names none. `partial`: why the rest was not read. */
export type TokenListed = { document: unknown; self: string | null } | { partial: string };

/** Listings of the API, read with a token that is no connection's. Never rejects. */
export interface TokenListings {
  /** Entry by entry; what ends it before its end comes last. Bounded in pages. */
  list(url: string, token: UserToken): AsyncGenerator<TokenListed, void>;
}

/** What became of a token that was to be renewed. */
export type Renewed =
  | { connection: Connection }
  /** Only a new consent helps. */
  | { refused: string | null }
  /** The client itself is refused. */
  | { clientRefused: string }
  /** Not now. */
  | { waits: { code: string; detail: string; retryAfterMs: number | null } };

/** The token to use now, whoever renewed it. Never rejects. */
export interface TokenRenewal {
  /** At once while the token lasts; it is renewed ahead of its end. */
  current(connection: Connection): Connection | Promise<Renewed>;
  /** The provider refused this token. */
  renew(connection: Connection): Promise<Renewed>;
}

export interface RevokedView {
  id: string;
  state: 'revoked';
  /** Whether the provider took its token back too. */
  atProvider: boolean;
  /** What was subscribed with it here: nobody looks after these, unless another connection lists them. Older services leave it out. */
  subscriptions?: string[];
}

/** What operators can do about connections. Throws as the rest of the API does. */
export interface ConnectionsApi {
  list(page: { limit: number; after: string | null }): Promise<ConnectionView[]>;
  revoke(id: string): Promise<RevokedView>;
  /** A one-time link, or, with a callback of its own (`oob` too), the provider's address and an answer to be carried. */
  ask(wanted: ConsentWanted): Promise<ConsentView>;
  consent(id: string): Promise<ConsentView>;
  answer(id: string, answer: ConsentAnswer): Promise<ConsentView>;
}

export interface ConsentWanted {
  /** null: as the settings have it. */
  auth: ConnectionAuth | null;
  /** Who is to consent, when it is known; the connection of that user is replaced. */
  user: string | null;
  /** null: the public listener's own. */
  callback: string | null;
}

/** What the user carries back: of OAuth 1.0 the verifier, of OAuth 2 the code. */
export interface ConsentAnswer {
  code: string;
  /** The request token or the state, where it was carried too. */
  token: string | null;
}
