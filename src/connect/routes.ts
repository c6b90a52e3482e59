/**
 * The two public routes of a consent: the one-time link, whose page has a button that sends the browser to the provider,
 * and the callback, which brings it back. They take nothing but what they were given before, keep the browser that began
 * apart from others, and are neither cached, framed nor named to the next page.
 */
import { randomBytes } from 'node:crypto';
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import { oauth1Ending } from '../model/connection';
import type { ConsentFailure } from '../model/consent';
import { consentErrorOf, declined } from '../model/consent-error';
import { hashOf } from './consent-record';
import type { BrowserAnswer, Consents } from './consents';
import { GrantRefusal } from './grant-refusal';
import { beginPage, donePage, failedPage, faultPage, type Page, unknownPage } from './pages';

export interface ConnectRoutesDoors {
  consents: Pick<Consents, 'open' | 'returned'>;
  /** Awaited before a consent goes on: nothing is asked of the provider before. */
  ready(): Promise<void>;
  /** True where browsers reach us through https. */
  secure: boolean;
  /** What is not the browser's fault, for the log; it holds no secret. */
  failed(error: unknown): void;
  /** A consent came back and is none, for the log: who asked for it may look nowhere else. It holds no secret. */
  refused(code: ConsentFailure, detail: string): void;
}

/** To be mounted under `/connect`. */
export type ConnectRoutes = Router;

const cookieSeconds = 900;
/** How many consents a browser may have under way; the earliest is given up for one more. */
const cookiesMax = 20;
/** Longer than any link, state, token, verifier or code. */
const valueCharsMax = 4096;
/**
 * Browsers hold the redirect that answers a form against the same list as the form. Where it leads is known only once
 * the provider was asked; it is https, or a provider on this machine.
 */
const whereConsentIs = "'self' https: http://127.0.0.1:* http://localhost:*";

/**
 * The pages a person sees at `/connect`. Every answer forbids caching, framing and passing its address on; what fails
 * is shown as a page with a status, and told to `failed` or `refused`. A browser may have 20 consents under way, and a
 * value of an address 4,096 characters.
 */
export function makeConnectRoutes(doors: ConnectRoutesDoors): ConnectRoutes {
  const { consents, ready, secure, failed, refused } = doors;
  const prefix = secure ? '__Host-tramline-connect-' : 'tramline-connect-';
  const bound = { httpOnly: true, secure, sameSite: 'lax', path: '/' } as const;
  // One for each consent, so that two of them in one browser do not end each other.
  const cookieNameOf = (token: string) => `${prefix}${hashOf('cookie', token).slice(0, 16)}`;
  const router = express.Router({ strict: true, caseSensitive: true });
  router.use((request, response, next) => {
    response.set({
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Content-Security-Policy': policy("'none'"),
      'X-Robots-Tag': 'noindex',
    });
    const allowed = request.path === '/' ? ['GET', 'POST'] : ['GET'];
    if (allowed.includes(request.method)) return next();
    response.status(405).set('Allow', allowed.join(', ')).end();
  });
  // Whoever looks at a link for a person, a preview or a scanner of mail, gets no further than this page.
  router.get('/', (request, response) => {
    if (parameterOf(request, 'link') === null) return show(response, unknownPage());
    response.set('Content-Security-Policy', policy(whereConsentIs));
    show(response, beginPage());
  });
  router.post('/', async (request, response) => {
    const link = parameterOf(request, 'link');
    const browser = randomBytes(32).toString('base64url');
    await ready();
    const opened = link === null ? null : await consents.open(link, browser);
    if (opened === null) return show(response, unknownPage());
    const held = cookiesOf(request).filter(([name]) => name.startsWith(prefix));
    // Browsers name the earliest first (RFC 6265 section 5.4).
    const given = held.slice(0, Math.max(0, held.length + 1 - cookiesMax));
    for (const [name] of given) response.clearCookie(name, bound);
    response.cookie(cookieNameOf(opened.token), browser, { ...bound, maxAge: cookieSeconds * 1000 });
    response.redirect(303, opened.address);
  });
  router.get('/callback', async (request, response) => {
    const answer = answerOf(request);
    if (answer === null) return show(response, unknownPage());
    await ready();
    const own = cookieNameOf(answer.token);
    const browser = cookiesOf(request).find(([name]) => name === own)?.[1] ?? '';
    response.clearCookie(own, bound);
    const ended = await consents.returned(answer, browser);
    if (ended === null) return show(response, unknownPage());
    if (ended.code !== null) refused(ended.code, ended.detail ?? '');
    show(
      response,
      ended.code === null
        ? donePage(ended.seen, ended.unseen.length)
        : failedPage(ended.code, mayHaveEnded(ended.detail) ?? isOver(ended.code) ?? isWrongRequest(answer)),
    );
  });
  const answerError: ErrorRequestHandler = (error, _request, response, _next) => {
    failed(error);
    const isRefusal = error instanceof GrantRefusal;
    if (!isRefusal) return show(response, faultPage());
    show(
      response,
      failedPage(
        error.fault === 'unavailable' ? 'provider-unavailable' : 'provider-answer-unusable',
        mayHaveEnded(error.message),
      ),
    );
  };
  router.use(answerError);
  return router;
}

/** Where a refusal may be the end of OAuth 1, the person is told that; what is to be set, only the operator. */
function mayHaveEnded(detail: string | null): string | null {
  return detail?.includes(oauth1Ending)
    ? 'The provider may have ended this kind of consent. Ask whoever sent you the link for one of the new kind.'
    : null;
}

/** The way back was used up: only a link that was not begun with opens once more. */
function isOver(code: ConsentFailure): string | null {
  return code === 'provider-unavailable' ? 'This consent is over: ask for a new link then.' : null;
}

/** The provider sent the user away before anything was answered: so it would the next one. */
function isWrongRequest({ error }: BrowserAnswer): string | null {
  return error?.code === 'consent-refused'
    ? 'It helps only once whoever runs this service has mended what was asked for.'
    : null;
}

function policy(formAction: string): string {
  return `default-src 'none'; base-uri 'none'; form-action ${formAction}; frame-ancestors 'none'`;
}

function show(response: Response, { status, html }: Page): void {
  response.status(status).type('html').send(html);
}

/** OAuth 2 (RFC 6749 sections 4.1.2 and 4.1.2.1) or OAuth 1.0 (RFC 5849 section 2.2); null when it is neither. */
function answerOf(request: Request): BrowserAnswer | null {
  const state = parameterOf(request, 'state');
  if (state !== null) {
    const error = parameterOf(request, 'error');
    return {
      token: state,
      code: parameterOf(request, 'code'),
      error: error === null ? null : consentErrorOf(error),
    };
  }
  // Providers differ in how they say that the user declined; the protocol leaves it to them.
  const token = parameterOf(request, 'oauth_token') ?? parameterOf(request, 'denied');
  if (token === null) return null;
  const verifier = parameterOf(request, 'oauth_verifier');
  return { token, code: verifier, error: verifier === null ? declined : null };
}

/** A parameter that is given once and is not too long; null otherwise. */
function parameterOf(request: Request, name: string): string | null {
  const value = (request.query as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '' && value.length <= valueCharsMax ? value : null;
}

function cookiesOf(request: Request): [name: string, value: string][] {
  return (request.headers.cookie ?? '').split(';').flatMap((part): [string, string][] => {
    const at = part.indexOf('=');
    return at > 0 ? [[part.slice(0, at).trim(), part.slice(at + 1).trim()]] : [];
  });
}
