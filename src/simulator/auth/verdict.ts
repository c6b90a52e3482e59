// Judges the credentials of one request and says why: the witness against which our client is tested.
// Promises a verdict for any input, never an exception, and that a nonce is spent only by a request that was accepted.
import { createHash } from 'node:crypto';
import type { Accounts, User } from './accounts';
import { readAuthorization } from './authorization-header';
import type { Nonces } from './nonces';
import { parseForm } from './percent-encoding';
import type { Scopes } from './scopes';
import { hmacSha1, sameSignature, signatureBaseString } from './signature';
import type { Tokens } from './tokens';

/** RFC 5849 section 3.3 leaves the window to the server; the provider's is five minutes: who is as far off is refused. */
const TIMESTAMP_WINDOW_SECONDS = 300;

export interface Verdict {
  scheme: 'oauth1' | 'bearer' | 'none';
  valid: boolean;
  /** A stable word for what was wrong; absent when valid. */
  reason?: string;
  /** Undefined: the application's own context. */
  user: User | undefined;
  /** What the token allows; undefined: everything, as OAuth 1 has no scopes. */
  scopes?: Scopes;
}

/** What a call is for: a request token, an access token, or anything else. */
export type Purpose = 'request-token' | 'access-token' | 'resource';

export interface Credentials {
  method: string;
  host: string;
  /** Path and query as sent. */
  url: string;
  authorization: string | undefined;
  /** The body, when it is form-encoded. */
  form: string | undefined;
  body: Buffer | undefined;
  purpose: Purpose;
  /** The secret of a request token, for the access token call. */
  requestTokenSecret?: (token: string) => string | undefined;
}

export interface Judge {
  accounts: Accounts;
  tokens: Tokens;
  nonces: Nonces;
  oauth1Ended: () => boolean;
  nowSeconds: () => number;
}

export function judge(judge: Judge, credentials: Credentials): Verdict {
  const read = readAuthorization(credentials.authorization);
  if (read.scheme === 'bearer') return judgeBearer(judge, read.token);
  if (read.scheme === 'oauth1') return judgeOAuth1(judge, credentials, read.parameters);
  return refuse('none', read.scheme === 'none' ? 'no-credentials' : read.reason);
}

function judgeBearer({ tokens, nowSeconds }: Judge, token: string): Verdict {
  const found = tokens.findBearer(token);
  if (!found) return refuse('bearer', 'token-unknown');
  if (found.family?.revoked) return refuse('bearer', 'token-revoked');
  if (found.expiresAtSeconds <= nowSeconds()) return refuse('bearer', ended(found));
  return { scheme: 'bearer', valid: true, user: found.family?.user, scopes: found.scopes };
}

function judgeOAuth1(
  judge: Judge,
  credentials: Credentials,
  parameters: ReadonlyMap<string, string>,
): Verdict {
  const { accounts, nonces, tokens } = judge;
  const nowSeconds = judge.nowSeconds();
  if (judge.oauth1Ended()) return refuse('oauth1', 'oauth1-ended');
  const reason = formFault(parameters, credentials.purpose, nowSeconds);
  if (reason !== undefined) return refuse('oauth1', reason);
  if (parameters.get('oauth_consumer_key') !== accounts.clientKey) return refuse('oauth1', 'client-unknown');
  const token = parameters.get('oauth_token');
  const found = token === undefined ? undefined : tokens.findOAuth1(token);
  const tokenSecret = token === undefined ? '' : (credentials.requestTokenSecret?.(token) ?? found?.secret);
  if (tokenSecret === undefined) return refuse('oauth1', 'token-unknown');
  const parts = signedParts(credentials, parameters);
  if (typeof parts === 'string') return refuse('oauth1', parts);
  const expected = hmacSha1(signatureBaseString(parts), accounts.clientSecret, tokenSecret);
  if (!sameSignature(parameters.get('oauth_signature')!, expected))
    return refuse('oauth1', 'signature-mismatch');
  const bodyHash = parameters.get('oauth_body_hash');
  if (bodyHash !== undefined && bodyHash !== hashOf(credentials.body))
    return refuse('oauth1', 'body-hash-mismatch');
  if (found && found.expiresAtSeconds <= nowSeconds) return refuse('oauth1', ended(found));
  if (!nonces.use(`${token ?? ''} ${parameters.get('oauth_nonce')}`, nowSeconds))
    return refuse('oauth1', 'nonce-reused');
  return { scheme: 'oauth1', valid: true, user: found?.user };
}

/** A token whose end was moved to the beginning of time was invalidated; any other has lived its time. */
function ended({ expiresAtSeconds }: { expiresAtSeconds: number }): string {
  return expiresAtSeconds === 0 ? 'token-invalidated' : 'token-expired';
}

/** The body hash extension of OAuth 1, which some signing libraries add to a JSON body. */
function hashOf(body: Buffer | undefined): string {
  return createHash('sha1')
    .update(body ?? '')
    .digest('base64');
}

/** What is wrong with the protocol parameters themselves; the contract requires realm (empty) and version. */
function formFault(
  parameters: ReadonlyMap<string, string>,
  purpose: Purpose,
  nowSeconds: number,
): string | undefined {
  if (parameters.get('realm') !== '') return parameters.has('realm') ? 'realm-not-empty' : 'realm-missing';
  for (const name of ['oauth_consumer_key', 'oauth_timestamp', 'oauth_nonce', 'oauth_signature'] as const) {
    if (!parameters.get(name)) return `${name.slice(6).replace('_', '-')}-missing`;
  }
  if (parameters.get('oauth_version') !== '1.0') return 'version-unsupported';
  if (parameters.get('oauth_signature_method') !== 'HMAC-SHA1') return 'signature-method-unsupported';
  if (parameters.has('oauth_callback') !== (purpose === 'request-token')) return 'callback-misplaced';
  if (parameters.has('oauth_verifier') !== (purpose === 'access-token')) return 'verifier-misplaced';
  // It is signed with key and secret alone.
  if (parameters.get('oauth_token') && purpose === 'request-token') return 'token-misplaced';
  const timestamp = parameters.get('oauth_timestamp')!;
  if (!/^[1-9]\d*$/.test(timestamp)) return 'timestamp-malformed';
  if (Math.abs(Number(timestamp) - nowSeconds) >= TIMESTAMP_WINDOW_SECONDS) return 'timestamp-off';
  return undefined;
}

/** RFC 5849 section 3.4.1.3.1: query, protocol parameters without realm and signature, form body. A word when unreadable. */
function signedParts(
  credentials: Credentials,
  protocol: ReadonlyMap<string, string>,
): Parameters<typeof signatureBaseString>[0] | string {
  const at = credentials.url.indexOf('?');
  const query = parseForm(at < 0 ? '' : credentials.url.slice(at + 1));
  const form = parseForm(credentials.form ?? '');
  if (!query || !form) return 'malformed-encoding';
  if ([...query, ...form].some(([name]) => name.startsWith('oauth_'))) return 'parameter-outside-header';
  const own = [...protocol].filter(([name]) => name !== 'realm' && name !== 'oauth_signature');
  return {
    method: credentials.method,
    scheme: 'http',
    host: credentials.host,
    path: at < 0 ? credentials.url : credentials.url.slice(0, at),
    parameters: [...query, ...own, ...form],
  };
}

function refuse(scheme: Verdict['scheme'], reason: string): Verdict {
  return { scheme, valid: false, reason, user: undefined };
}
