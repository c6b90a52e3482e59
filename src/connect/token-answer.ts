/**
 * The answer of a token endpoint (RFC 6749 sections 5.1 and 5.2), read strictly where it gives a token and leniently
 * where it refuses. Pure.
 */
import type { Grant, TokenReply } from '../model/consent';
import { Secret } from '../tools/secret';
import { callAt, GrantRefusal, refusalOf } from './grant-refusal';

/** Visible characters only: it goes into a header. */
const tokenText = /^[\x21-\x7e]{1,16384}$/;
const secondsMax = 10 * 365 * 86_400;

/** `address` is where it came from. Throws `GrantRefusal`. A life is cut at 10 years. */
export function tokenAnswerOf(reply: TokenReply, nowMs: number, address: string): Grant {
  const call = callAt('the token call', address);
  if (reply.status !== 200) throw refused(reply, call);
  const answer = objectOf(reply);
  if (answer === null) {
    const got = `${reply.mediaType || 'no media type'}, ${reply.body.length} characters`;
    throw new GrantRefusal('unavailable', `${call}: expected a JSON object, got ${got}`);
  }
  const { token_type: type, access_token: token, refresh_token: refresh, expires_in: seconds } = answer;
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw new GrantRefusal('unusable', `${call}: expected token_type Bearer, got ${kindOf(type)}`);
  const unsendable = isToken(token) ? 'another refresh_token' : `${kindOf(token)} as access_token`;
  if (!isToken(token) || (refresh !== undefined && refresh !== null && !isToken(refresh)))
    throw new GrantRefusal('unusable', `${call}: expected tokens of visible characters, got ${unsendable}`);
  return {
    auth: 'oauth2',
    token: new Secret(token),
    tokenSecret: null,
    refresh: isToken(refresh) ? new Secret(refresh) : null,
    expiresAt: expiryOf(seconds, nowMs),
  };
}

/** The JSON object of an answer; null when it is none. */
export function objectOf(reply: TokenReply): Record<string, unknown> | null {
  if (reply.status === null) return null;
  try {
    const value: unknown = JSON.parse(reply.body);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    // Its text may hold anything, so nothing of it is told.
    return null;
  }
}

/** The error's code says whose fault it is; some servers say `invalid_client` with 400. */
function refused(reply: TokenReply, call: string): GrantRefusal {
  const error = reply.status === 400 || reply.status === 401 ? objectOf(reply)?.error : undefined;
  if (error === 'invalid_grant')
    return new GrantRefusal('refused', `${call}: expected a token, got invalid_grant`);
  if (error === 'invalid_client' || error === 'unauthorized_client')
    return new GrantRefusal('client-refused', `${call}: expected a token, got ${error}`);
  if (error === 'temporarily_unavailable')
    return new GrantRefusal('unavailable', `${call}: expected a token, got ${error}`);
  if (reply.status === 401) return new GrantRefusal('client-refused', `${call}: expected a token, got 401`);
  // A bare 400 in JSON is how the provider refuses a refresh token; one of a proxy must not end a consent.
  if (reply.status === 400 && error === undefined && objectOf(reply) !== null)
    return new GrantRefusal('refused', `${call}: expected a token, got 400`);
  if (reply.status === 400 || reply.status === 403)
    return new GrantRefusal(
      'unusable',
      `${call}: expected a token, got ${reply.status} without invalid_grant`,
    );
  return refusalOf(reply, call);
}

/** Without its text: it may be what nobody should read. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'string' ? 'another text' : `a value of type ${typeof value}`;
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && tokenText.test(value);
}

function expiryOf(seconds: unknown, nowMs: number): string | null {
  const count = typeof seconds === 'string' ? Number(seconds) : seconds;
  if (typeof count !== 'number' || !(count > 0)) return null;
  return new Date(nowMs + Math.min(count, secondsMax) * 1000).toISOString();
}
