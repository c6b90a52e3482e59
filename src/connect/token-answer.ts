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

/** RFC 6749 section 5.2, and what some servers borrow from section 4.1.2.1. Another text may hold anything: it is not told. */
const errorCodes = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'temporarily_unavailable',
] as const;

/** `address` is where it came from. Throws `GrantRefusal`. A life is cut at 10 years. */
export function tokenAnswerOf(reply: TokenReply, nowMs: number, address: string): Grant {
  const call = callAt('the token call', address);
  if (reply.status !== 200) throw refused(reply, call);
  const answer = objectOf(reply);
  if (answer === null)
    throw new GrantRefusal('unavailable', `${call}: expected a JSON object, got ${shapeOf(reply)}`);
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

/** The error's code says whose fault it is, whatever status it comes with. */
function refused(reply: TokenReply, call: string): GrantRefusal {
  if (reply.status !== 400 && reply.status !== 401 && reply.status !== 403) return refusalOf(reply, call);
  const error = objectOf(reply)?.error;
  const named = errorCodes.find((code) => code === error);
  const got = named ?? `${reply.status} without a known error code, ${shapeOf(reply)}`;
  const said = `${call}: expected a token, got ${got}`;
  switch (named) {
    case 'invalid_grant':
      return new GrantRefusal('refused', said);
    case 'invalid_client':
    case 'unauthorized_client':
      return new GrantRefusal('client-refused', said);
    case 'temporarily_unavailable':
      return new GrantRefusal('unavailable', said);
    default:
      // Without the word for it no consent is over: a gateway refuses requests in JSON too.
      return new GrantRefusal(reply.status === 401 ? 'client-refused' : 'unusable', said);
  }
}

/** What came, without its text. */
export function shapeOf({ mediaType, body }: { mediaType: string; body: string }): string {
  return `${mediaType || 'no media type'}, ${body.length} characters`;
}

/** Written for a person by something on the way: whatever its status, it says nothing of the provider. */
export function isPage({ body }: { body: string }): boolean {
  return /^\s*</.test(body);
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
