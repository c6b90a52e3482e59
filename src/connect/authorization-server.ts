/**
 * The OAuth 2 authorization server as its metadata describe it (RFC 8414): consent address with PKCE (RFC 7636), tokens
 * for a code, for a refresh token, and their revocation (RFC 7009). The metadata are believed only where they name the
 * configured issuer and endpoints of pinned origins. Throws `GrantRefusal` and nothing else.
 */
import type { Grant, TokenCalls, TokenReply } from '../model/consent';
import { shownAddress } from '../model/shown-address';
import type { Clock } from '../tools/clock';
import { Secret } from '../tools/secret';
import { browserAddress } from './browser-address';
import { callAt, GrantRefusal, refusalOf } from './grant-refusal';
import { isPage, objectOf, shapeOf, tokenAnswerOf } from './token-answer';

export interface AuthorizationServerOptions {
  issuer: string;
  /** Further exact origins that endpoints may have. */
  origins: readonly string[];
  clientKey: string;
  clientSecret: Secret;
  scopes: readonly string[];
}

export interface AuthorizationServer {
  /** Where the user's browser is sent. */
  consentAddress(asked: { redirectUri: string; state: string; challenge: string }): Promise<string>;
  redeem(given: { code: string; verifier: Secret; redirectUri: string }): Promise<Grant>;
  /** The grant's `refresh` is null where the former one stays. `mayShow` is asked just before it is written to a connection. */
  refresh(refresh: Secret, mayShow: () => boolean): Promise<Grant>;
  /** An access token of the application itself (RFC 6749 section 4.4). */
  application(): Promise<Secret>;
  /** Reads its metadata anew: null where they are answered and can be used, else a sentence. Shows nothing; never rejects. */
  trouble(): Promise<string | null>;
  /** False when the server has no place for it. */
  revoke(token: Secret, hint: 'refresh_token' | 'access_token'): Promise<boolean>;
}

interface Metadata {
  authorization: string;
  token: string;
  revocation: string | null;
  /** Whether the client may authenticate in the header; RFC 8414: it may where nothing is said. */
  basic: boolean;
}

const metadataLifeMs = 3_600_000;
/** While nobody answers at an endpoint, where it may be now is looked up no more often. */
const lookGapMs = 60_000;
/** They mean nothing without a user. */
const ofUsers: ReadonlySet<string> = new Set(['offline_access', 'openid', 'profile', 'email']);

/**
 * The OAuth 2 server of the configured issuer (RFC 8414): its metadata is read when first needed, kept for a while,
 * and refused when it names another issuer. Its calls reject with `GrantRefusal` and nothing else.
 */
export function makeAuthorizationServer(
  options: AuthorizationServerOptions,
  calls: TokenCalls,
  clock: Clock,
): AuthorizationServer {
  const endpoints = makeEndpoints(options, calls, clock);

  async function grant(form: [string, string][], mayShow?: () => boolean): Promise<Grant> {
    const { reply, url } = (await endpoints.ask('token', form, mayShow))!;
    return tokenAnswerOf(reply, clock.nowMs(), url);
  }

  return {
    async consentAddress({ redirectUri, state, challenge }) {
      // A browser that is sent to a place that is gone tells nobody here.
      const address = new URL((await endpoints.anew()).authorization);
      const parameters: Record<string, string> = {
        response_type: 'code',
        client_id: options.clientKey,
        redirect_uri: redirectUri,
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...(options.scopes.length > 0 && { scope: options.scopes.join(' ') }),
      };
      for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
      return address.href;
    },
    redeem: ({ code, verifier, redirectUri }) =>
      grant([
        ['grant_type', 'authorization_code'],
        ['code', code],
        ['redirect_uri', redirectUri],
        ['code_verifier', verifier.open()],
      ]),
    refresh: (refresh, mayShow) =>
      grant(
        [
          ['grant_type', 'refresh_token'],
          ['refresh_token', refresh.open()],
        ],
        mayShow,
      ),
    async application() {
      const scopes = options.scopes.filter((scope) => !ofUsers.has(scope));
      const scope: [string, string][] = scopes.length > 0 ? [['scope', scopes.join(' ')]] : [];
      return (await grant([['grant_type', 'client_credentials'], ...scope])).token;
    },
    trouble: () =>
      endpoints.anew().then(
        () => null,
        ({ message }: GrantRefusal) => message,
      ),
    async revoke(token, hint) {
      const asked = await endpoints.ask('revocation', [
        ['token', token.open()],
        ['token_type_hint', hint],
      ]);
      if (asked === null) return false;
      const { reply, url } = asked;
      if (reply.status !== 200) throw refusalOf(reply, callAt('the revocation call', url));
      // What its body says means nothing else (RFC 7009 section 2.2).
      return !isPage(reply);
    },
  };
}

/** Where the server has what, as its metadata say, and calls there. */
function makeEndpoints(options: AuthorizationServerOptions, calls: TokenCalls, clock: Clock) {
  let known: { metadata: Promise<Metadata>; untilMs: number } | null = null;
  let mayLookAtMs = Number.NEGATIVE_INFINITY;

  function metadata(): Promise<Metadata> {
    if (known !== null && known.untilMs > clock.nowMs()) return known.metadata;
    const read = readMetadata(options, calls);
    known = { metadata: read, untilMs: clock.nowMs() + metadataLifeMs };
    // What failed is asked for anew by whoever comes next.
    read.catch(() => {
      known = null;
    });
    return read;
  }

  /** The client authenticates in the header where it may, else in the body (RFC 6749 section 2.3.1). */
  async function post(
    url: string,
    basic: boolean,
    form: [string, string][],
    maySend: (() => boolean) | undefined,
  ): Promise<TokenReply> {
    const { clientKey, clientSecret } = options;
    const call = { method: 'POST', url, ...(maySend && { maySend }) } as const;
    if (basic) {
      const pair = [clientKey, clientSecret.open()].map(formEncoded).join(':');
      const authorization = new Secret(`Basic ${Buffer.from(pair).toString('base64')}`);
      return calls.call({ ...call, form, authorization });
    }
    const client: [string, string][] = [
      ['client_id', clientKey],
      ['client_secret', clientSecret.open()],
    ];
    return calls.call({ ...call, form: [...form, ...client] });
  }

  /** While they are read, and where they cannot be, whoever asks goes by what was known. */
  async function anew(): Promise<Metadata> {
    const read = readMetadata(options, calls);
    const untilMs = clock.nowMs() + metadataLifeMs;
    await read;
    known = { metadata: read, untilMs };
    return read;
  }

  /**
   * A host that is gone answers nothing. For whoever asks next: what was shown may have been taken, so that it is not shown at
   * another place at once, and an issuer that is slow too holds nobody up.
   */
  function lookBeside(): void {
    if (clock.steadyMs() < mayLookAtMs) return;
    mayLookAtMs = clock.steadyMs() + lookGapMs;
    anew().catch(() => {});
  }

  /** What an endpoint answers; where it is gone, what it answers where the metadata, read anew, have it now. */
  async function ask(
    endpoint: 'token' | 'revocation',
    form: [string, string][],
    mayShow?: () => boolean,
  ): Promise<{ reply: TokenReply; url: string } | null> {
    const read = metadata();
    const { [endpoint]: url, basic } = await read;
    if (url === null) return null;
    const reply = await post(url, basic, form, mayShow);
    if (reply.status === null && reply.code !== 'held-back') lookBeside();
    if (reply.status !== 404 && reply.status !== 410) return { reply, url };
    if (known?.metadata === read) known = null;
    const now = await metadata();
    const moved = now[endpoint];
    if (moved === null || moved === url) return { reply, url };
    return { reply: await post(moved, now.basic, form, mayShow), url: moved };
  }

  return { ask, anew };
}

async function readMetadata(options: AuthorizationServerOptions, calls: TokenCalls): Promise<Metadata> {
  const issuer = options.issuer.replace(/\/$/, '');
  const { origin, pathname } = new URL(issuer);
  const wellKnown = '/.well-known/oauth-authorization-server';
  let url = `${issuer}${wellKnown}`;
  let reply = await calls.call({ method: 'GET', url });
  // Where RFC 8414 section 3.1 has it, for an issuer with a path.
  if (reply.status === 404 && pathname !== '/') {
    url = `${origin}${wellKnown}${pathname}`;
    reply = await calls.call({ method: 'GET', url });
  }
  const call = callAt('the issuer’s metadata', url);
  if (reply.status !== 200) {
    const { fault, message, retryAfterMs, timedOut } = refusalOf(reply, call);
    // Nobody's grant is in it, so that no consent is over.
    throw new GrantRefusal(fault === 'refused' ? 'unusable' : fault, message, retryAfterMs, timedOut);
  }
  const document = objectOf(reply);
  if (document === null)
    throw new GrantRefusal('unavailable', `${call}: expected a JSON object, got ${shapeOf(reply)}`);
  const named = typeof document.issuer === 'string' ? document.issuer : null;
  if (named?.replace(/\/$/, '') !== issuer) {
    const got = named === null ? 'none' : (shownAddress(named) ?? 'what is no address');
    throw new GrantRefusal('unusable', `${call}: expected PROVIDER_ISSUER as issuer, got ${got}`);
  }
  const pinned = new Set([origin, ...options.origins]);
  const endpoint = (name: string): string => {
    const said = typeof document[name] === 'string' ? document[name] : '';
    const address = browserAddress(said);
    if (address === null) {
      const got = shownAddress(said);
      const expected = got?.startsWith('http://') ? 'an https address' : 'an address that can be asked';
      throw new GrantRefusal('unusable', `${call}: expected ${expected} as ${name}, got ${got ?? 'none'}`);
    }
    if (!pinned.has(new URL(address).origin)) {
      const got = shownAddress(address) ?? 'another';
      throw new GrantRefusal(
        'unusable',
        `${call}: expected ${name} at an origin that PROVIDER_ORIGINS names, got ${got}`,
      );
    }
    return address;
  };
  const methods = document.token_endpoint_auth_methods_supported;
  return {
    authorization: endpoint('authorization_endpoint'),
    token: endpoint('token_endpoint'),
    revocation: document.revocation_endpoint === undefined ? null : endpoint('revocation_endpoint'),
    basic: !Array.isArray(methods) || methods.includes('client_secret_basic'),
  };
}

/** As RFC 6749 section 2.3.1 asks for it, before the two are joined. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
