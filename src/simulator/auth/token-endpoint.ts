// The back half of OAuth 2: codes, refresh tokens and client credentials traded for access tokens, and revocation.
// Promises: a code and a rotated refresh token are good once, showing one again revokes what it led to (RFC 6749
// section 4.1.2, RFC 9700 section 4.14), and every refusal has the body of RFC 6749 section 5.2.
import { timingSafeEqual } from 'node:crypto';
import type { Json } from '../json';
import type { Provider } from '../provider/provider';
import type { AuthorizationRequests } from './authorization-requests';
import { parseForm, percentDecode } from './percent-encoding';
import { answersChallenge } from './pkce';
import { readScopes, type Scopes, writeScopes } from './scopes';
import type { BearerToken, Family, RefreshToken } from './tokens';

export interface TokenAnswer {
  status: number;
  /** Serialized where it is written; `text` goes out as it is. */
  body?: Json | object | undefined;
  text?: string | Buffer | undefined;
  headers?: Record<string, string>;
}

export interface TokenCall {
  authorization: string | undefined;
  contentType: string | undefined;
  text: string;
}

type Form = ReadonlyMap<string, string>;

/** The answer of the token endpoint. */
export function tokenAnswer(
  provider: Provider,
  requests: AuthorizationRequests,
  call: TokenCall,
): TokenAnswer {
  const form = readCall(provider, call);
  if (!(form instanceof Map)) return form as TokenAnswer;
  switch (form.get('grant_type')) {
    case 'authorization_code':
      return codeGrant(provider, requests, form);
    case 'refresh_token':
      return refreshGrant(provider, form);
    case 'client_credentials':
      return clientGrant(provider, form);
    default:
      return refusal('unsupported_grant_type', 'The grant is not supported.');
  }
}

/** RFC 7009: 200 for every authenticated client, whether the token was known or not. */
export function revocationAnswer(provider: Provider, call: TokenCall): TokenAnswer {
  const { coverage, tokens } = provider;
  const form = readCall(provider, call);
  if (!(form instanceof Map)) return form as TokenAnswer;
  const token = form.get('token');
  if (!token) return refusal('invalid_request', 'token is required.');
  const refresh = tokens.findRefresh(token);
  const bearer = tokens.findBearer(token);
  if (refresh) refresh.family.revoked = true;
  if (bearer) bearer.expiresAtSeconds = 0;
  coverage.count('oauth2-revocation');
  return { status: 200 };
}

/** The form of an authenticated client, or what is wrong with the call. */
function readCall(provider: Provider, { authorization, contentType, text }: TokenCall): Form | TokenAnswer {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? ''))
    return refusal('invalid_request', 'The body must be form-encoded.');
  const pairs = parseForm(text);
  if (!pairs || new Set(pairs.map(([name]) => name)).size !== pairs.length)
    return refusal('invalid_request', 'The form is malformed or names a parameter twice.');
  const form = new Map(pairs);
  const method = clientMethod(provider, authorization, form);
  if (method) {
    provider.coverage.count(method === 'basic' ? 'oauth2-client-basic' : 'oauth2-client-post');
    return form;
  }
  return {
    status: 401,
    body: { error: 'invalid_client', error_description: 'Client authentication failed.' },
    ...(authorization === undefined ? {} : { headers: { 'WWW-Authenticate': 'Basic realm="token"' } }),
  };
}

function codeGrant(provider: Provider, requests: AuthorizationRequests, form: Form): TokenAnswer {
  const { coverage, nowMs } = provider;
  const code = requests.findCode(form.get('code') ?? '');
  if (!code) return refusal('invalid_grant', 'The authorization code is unknown.');
  if (code.family) {
    code.family.revoked = true;
    return refusal('invalid_grant', 'The authorization code has been used.');
  }
  const nowSeconds = Math.floor(nowMs() / 1_000);
  if (code.expiresAtSeconds <= nowSeconds)
    return refusal('invalid_grant', 'The authorization code has expired.');
  if (form.get('redirect_uri') !== code.redirectUri)
    return refusal('invalid_grant', 'redirect_uri is not the one of the authorization request.');
  if (!answersChallenge(form.get('code_verifier'), code.challenge))
    return refusal('invalid_grant', 'code_verifier does not answer the challenge.');
  code.family = { user: code.user, scopes: code.scopes, revoked: false };
  coverage.count('oauth2-code');
  return granted(provider, code.family, nowSeconds, undefined);
}

function refreshGrant(provider: Provider, form: Form): TokenAnswer {
  const { coverage, nowMs, tokens } = provider;
  const nowSeconds = Math.floor(nowMs() / 1_000);
  const shown = tokens.findRefresh(form.get('refresh_token') ?? '');
  const invalid = refusal('invalid_grant', 'The refresh token is invalid or expired.');
  if (!shown || shown.family.revoked || shown.expiresAtSeconds <= nowSeconds) {
    coverage.count('oauth2-refresh-refused');
    return invalid;
  }
  if (shown.rotated || !hasConnection(provider, shown.family)) {
    shown.family.revoked = true;
    coverage.count(shown.rotated ? 'oauth2-refresh-reused' : 'oauth2-refresh-refused');
    return invalid;
  }
  const asked = form.get('scope');
  const scopes = asked === undefined ? shown.family.scopes : readScopes(asked);
  if (!scopes || [...scopes].some((scope) => !shown.family.scopes.has(scope)))
    return refusal('invalid_scope', 'The scopes go beyond what was granted.');
  coverage.count('oauth2-refresh');
  return granted(provider, { ...shown.family, scopes }, nowSeconds, shown);
}

/** With every connection of the user's organizations removed the refresh token is invalid too. */
function hasConnection({ accounts, world }: Provider, { user }: Family): boolean {
  const seen = world.organizations.list.filter(({ index }) => accounts.sees(user, index));
  return seen.length === 0 || seen.some(({ connected }) => connected);
}

function clientGrant({ accounts, coverage, nowMs, tokens }: Provider, form: Form): TokenAnswer {
  const asked = form.get('scope');
  const scopes = asked === undefined ? accounts.client.scopes : readScopes(asked);
  if (!scopes) return refusal('invalid_scope', 'One of the scopes is unknown.');
  coverage.count('oauth2-client-credentials');
  const bearer = tokens.issueBearer(undefined, scopes, Math.floor(nowMs() / 1_000));
  return answer(accounts.client.accessSeconds, bearer, undefined);
}

function granted(
  { accounts, tokens }: Provider,
  family: Family,
  nowSeconds: number,
  shown: RefreshToken | undefined,
): TokenAnswer {
  const owner = shown?.family ?? family;
  const bearer = tokens.issueBearer(owner, family.scopes, nowSeconds);
  tokens.given = true;
  const refresh = shown
    ? tokens.refreshed(shown, nowSeconds)
    : family.scopes.has('offline_access')
      ? tokens.issueRefresh(owner, nowSeconds)
      : undefined;
  return answer(accounts.client.accessSeconds, bearer, refresh);
}

function answer(seconds: number, bearer: BearerToken, refresh: RefreshToken | undefined): TokenAnswer {
  return {
    status: 200,
    body: {
      token_type: 'Bearer',
      expires_in: seconds,
      access_token: bearer.token,
      scope: writeScopes(bearer.scopes as Scopes),
      ...(refresh ? { refresh_token: refresh.token } : {}),
    },
  };
}

function refusal(error: string, why: string): TokenAnswer {
  return { status: 400, body: { error, error_description: why } };
}

/** RFC 6749 section 2.3.1: HTTP Basic with form-encoded parts, or both in the body; not both ways at once. */
function clientMethod(
  { accounts }: Provider,
  authorization: string | undefined,
  form: Form,
): 'basic' | 'post' | undefined {
  const basic = authorization !== undefined;
  let [key, secret] = [form.get('client_id'), form.get('client_secret')];
  if (basic) {
    if (secret !== undefined || !/^basic /i.test(authorization)) return undefined;
    const decoded = Buffer.from(authorization.slice(6), 'base64').toString();
    const colon = decoded.indexOf(':');
    if (colon < 0) return undefined;
    const inBody = key;
    key = percentDecode(decoded.slice(0, colon).replaceAll('+', ' '));
    secret = percentDecode(decoded.slice(colon + 1).replaceAll('+', ' '));
    if (inBody !== undefined && inBody !== key) return undefined;
  }
  if (!same(key, accounts.clientKey) || !same(secret, accounts.clientSecret)) return undefined;
  return basic ? 'basic' : 'post';
}

function same(given: string | undefined, expected: string): boolean {
  const [left, right] = [Buffer.from(given ?? ''), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
