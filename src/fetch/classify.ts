/**
 * The one classification: status, headers and body of an exchange become an answer. Pure. A 403 without a customer
 * action is the one thing that it cannot tell alone: it is handed back as `forbidden`, for the organization to be
 * looked at. The provider names no status besides 200, so anything else is read leniently.
 */
import type { Answer } from '../model/answer';
import type { ConnectionAuth } from '../model/connection';
import { pageAddress } from '../model/page-address';
import { shownAddress } from '../model/shown-address';
import type { Exchange, ReceivedHeaders } from './client';
import { errorMessageOf, isForeign, isPage, shown } from './error-message';
import { httpDateMs } from './http-date';
import { mediaTypeOf, type ParseFault, parseDocument } from './parse-document';

/** Refused for a reason that only the organization can tell; `client` when the words name a scope or licence. */
export interface Forbidden {
  kind: 'forbidden';
  connectionId: string;
  message: string | null;
  client: boolean;
}

export type Verdict = Answer | Forbidden;

export interface Classification {
  connectionId: string;
  /** The token that was shown, as stored; null for none. */
  sealedToken: string | null;
  origin: string;
  /** Where the document counts as read. */
  address: string;
  vendor: string;
  /** Asked was for what changed since something that is known. */
  changesOnly: boolean;
  /** How the request was signed. */
  auth: ConnectionAuth;
  /** Signed by the client alone: no user's token was shown. */
  byClient: boolean;
  depthMax: number;
  nowMs: number;
}

const retryAfterMsMax = 3_600_000;
/** Where the provider does not say for how long. */
export const retryAfterMsDefault = 30_000;
/** An answer came, and could not be taken whole. */
const unreadAnswers: Record<string, string> = {
  'body-cut': 'the answer was cut, or is no whole gzip stream',
  'body-too-large': 'the answer is larger than PROVIDER_BODY_BYTES_MAX',
  'encoding-refused': 'the answer is packed otherwise than by gzip',
};
/** Where the media type is the one that was expected. */
const noDocuments: Partial<Record<ParseFault, string>> = {
  'invalid-json': ' that are no JSON',
  'invalid-text': ' that are no UTF-8',
};
const passing = new Set([408, 409, 421, 423, 425]);

/** A pause that is asked for is cut at 1 h. */
export function classify(exchange: Exchange, about: Classification): Verdict {
  if (exchange.status === null) {
    if (exchange.code === 'aborted') return { kind: 'aborted' };
    const { code, wireBytes } = exchange;
    const came = wireBytes === 0 ? 'no answer' : 'only a part of the answer came';
    return transient(code, `${unreadAnswers[code] ?? came}: ${code}`, about);
  }
  const { status, headers, body } = exchange;
  if (status === 200) return classifyDocument(headers, body, about);
  if (status === 304) return classifyNotModified(about);
  if (status < 300) return transient('empty-answer', `status ${status} carries no document`, about);
  if (status < 400) return transient('redirected', `status ${status}; redirects are not followed`, about);
  if (status >= 500) {
    const retryAfterMs = retryAfterOf(headers, about.nowMs);
    return { ...transient(`status-${status}`, describe(status, headers, body), about), retryAfterMs };
  }
  return classifyRefusal(status, headers, body, about);
}

/** Where nothing is known that could be unchanged, the document itself was asked for, and did not come. */
function classifyNotModified(about: Classification): Answer {
  if (about.changesOnly) return { kind: 'not-modified', connectionId: about.connectionId };
  return transient('not-modified-unasked', 'status 304, where not only changes were asked for', about);
}

function classifyDocument(headers: ReceivedHeaders, body: Buffer, about: Classification): Answer {
  const { address, connectionId, depthMax } = about;
  const mediaType = mediaTypeOf(headers['content-type']);
  const parsed = parseDocument(body, mediaType, depthMax);
  if ('code' in parsed) {
    const got = `${mediaType || 'no media type'}, ${body.length} bytes`;
    const but =
      parsed.code === 'too-deep' ? ` nested deeper than ${depthMax}` : (noDocuments[parsed.code] ?? '');
    const where = shownAddress(address) ?? about.origin;
    return transient(parsed.code, `expected a JSON document, got ${got}${but} at ${where}`, about);
  }
  return { kind: 'ok', document: { body: parsed.document, address, mediaType, connectionId } };
}

function classifyRefusal(
  status: number,
  headers: ReceivedHeaders,
  body: Buffer,
  about: Classification,
): Verdict {
  const { connectionId, origin } = about;
  if (status === 404 || status === 410)
    return { kind: 'gone', certain: status === 410, connectionId, origin };
  if (status === 429) {
    const retryAfterMs = retryAfterOf(headers, about.nowMs) ?? retryAfterMsDefault;
    return { kind: 'rate-limited', retryAfterMs, untilMs: about.nowMs + retryAfterMs };
  }
  const mediaType = mediaTypeOf(headers['content-type']);
  const message = errorMessageOf(body, mediaType);
  // A gateway's page, or one under maintenance: it says nothing of what was asked, nor of who asked.
  // Errors of 403 have no documented shape.
  const isOthers = status === 403 ? isPage(body, mediaType) : isForeign(body, mediaType);
  const foreign = isOthers ? transient(`status-${status}`, describe(status, headers, body), about) : null;
  if (status === 401) return classifyUnauthorized(message, headers, foreign, about);
  const action = requiredActionOf(status, headers, message, about);
  if (action !== null) return action;
  if (foreign !== null) return foreign;
  if (status === 403) return { kind: 'forbidden', connectionId, message, client: namesClient(message) };
  if (passing.has(status)) return transient(`status-${status}`, describe(status, headers, body), about);
  return {
    kind: 'refused',
    code: `status-${status}`,
    detail: describe(status, headers, body),
    origin,
    connectionId,
  };
}

/**
 * A refused nonce or timestamp of a signature says nothing about the token, and a missing licence is not the user's to mend.
 * With a token a refused signature may be its secret's, too.
 */
function classifyUnauthorized(
  message: string | null,
  headers: ReceivedHeaders,
  foreign: Answer | null,
  about: Classification,
): Answer {
  const { connectionId, sealedToken, auth, byClient } = about;
  const said = `${message ?? ''} ${headers['www-authenticate'] ?? ''}`;
  if (auth === 'oauth1' && /nonce|timestamp/i.test(said))
    return transient('signature-refused', shown(said) ?? '', about);
  if (/licen[cs]e|consumer[ _-]key|client[ -](?:key )?unknown/i.test(said))
    return { kind: 'client-refused', connectionId, message };
  if (byClient && /signature/i.test(said)) {
    const words = `${message ?? 'Unauthorized'}: signed by the client alone, see PROVIDER_CLIENT_SECRET`;
    return { kind: 'client-refused', connectionId, message: words };
  }
  // RFC 6750 section 3 and OAuth 1.0's problem reporting name the token in the header, whatever the body is.
  if (foreign !== null && !/token|oauth/i.test(headers['www-authenticate'] ?? '')) return foreign;
  return { kind: 'reauthorize', connectionId, message, sealedToken };
}

/** The headers tell it; the body carries no code. What is to be done there is told by the place and by the provider's words. */
function requiredActionOf(
  status: number,
  headers: ReceivedHeaders,
  message: string | null,
  { vendor, connectionId }: Classification,
): Answer | null {
  const terms = headers[`x-${vendor}-terms-location`];
  const warning = headers[`x-${vendor}-warning`];
  if (terms === undefined && (status !== 403 || warning === undefined)) return null;
  const quoted = shown(/"([^"]*)"/.exec(String(warning ?? ''))?.[1] ?? String(warning ?? ''));
  return {
    kind: 'action-required',
    cause: terms !== undefined && isForTerms(String(terms), message, quoted) ? 'terms' : 'required-action',
    actionUrl: pageAddress(terms),
    message: message ?? quoted,
    connectionId,
  };
}

/** The header names a place for every action. Where no words come with it, terms are what its name says. */
function isForTerms(place: string, message: string | null, warning: string | null): boolean {
  if (message === null && warning === null) return true;
  const page = URL.parse(place);
  // A page that a script draws is named by the fragment.
  const where = page === null ? place : `${page.pathname} ${page.hash}`;
  const said = [where, message, warning].filter((words) => words !== null);
  return (
    wordsOfTerms.test(where) || said.some((words) => speaksOfTerms.test(words) || speaksOfState.test(words))
  );
}

/** As a word, or as one of a name in camel case. */
const speaksOfTerms = /(?<![A-Za-z])terms(?![a-z])|Terms(?![a-z])|(?<![A-Za-z])TERMS(?![A-Za-z])/;
/** As a place may write it in small letters, with the words that follow it there. */
const wordsOfTerms = /(?<![a-z])terms(?:of|and)[a-z]/i;
/** The provider's words for an organization whose terms are not accepted. */
const speaksOfState = /restricted state/i;

function namesClient(message: string | null): boolean {
  return message !== null && /\bscopes?\b|\blicen[cs]es?\b|proper access for this API/i.test(message);
}

/** Milliseconds, at least one second and at most one hour; null when the header is missing or cannot be read. */
export function retryAfterOf(headers: ReceivedHeaders, nowMs: number): number | null {
  const said = headers['retry-after']?.trim();
  if (said === undefined) return null;
  const waitMs = /^\d+$/.test(said) ? Number(said) * 1000 : Date.parse(said) - serverNow(headers, nowMs);
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 1000), retryAfterMsMax);
}

/** A date of the provider is measured on the provider's clock where it shows it. */
function serverNow(headers: ReceivedHeaders, nowMs: number): number {
  return httpDateMs(headers.date) ?? nowMs;
}

function describe(status: number, headers: ReceivedHeaders, body: Buffer): string {
  const message = errorMessageOf(body, mediaTypeOf(headers['content-type']));
  return message === null ? `status ${status}` : `status ${status}: ${message}`;
}

function transient(
  code: string,
  detail: string,
  { origin, connectionId }: Classification,
): Extract<Answer, { kind: 'transient' }> {
  return { kind: 'transient', code, detail, origin, connectionId, retryAfterMs: null };
}
