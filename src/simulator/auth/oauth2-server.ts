// The OAuth 2 authorization server's addresses: its description, the consent page, the token and revocation endpoints.
// Promises exactly one issuer and no redirect to an address that is not registered, and that what programs call meets
// the faults that name it; pages meet none. A browser stays where the redirect address only says that the answer is
// copied. The grants are judged elsewhere.
import { setTimeout as wait } from 'node:timers/promises';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Fault, Faults } from '../controls/faults';
import { consentPage, formOf, refusedPage } from '../pages/consent';
import { escapeHtml, show } from '../pages/html';
import { ISSUER_CALLS, ISSUER_PATH } from '../provider/addresses';
import { distort, saidInstead } from '../provider/distort';
import type { Provider } from '../provider/provider';
import { AuthorizationRequests, isOutOfBand } from './authorization-requests';
import { ALL_SCOPES, SCOPE_WORDS } from './scopes';
import { revocationAnswer, type TokenAnswer, type TokenCall, tokenAnswer } from './token-endpoint';

const AUTHORIZE_PATH = `${ISSUER_PATH}/v1/authorize`;

export function oauth2Server(provider: Provider, faults: Faults): Router {
  const router = express.Router();
  const requests = new AuthorizationRequests(provider.accounts);
  const describe = answered(faults, () => {
    provider.coverage.count('oauth2-discovery');
    return { status: 200, body: description(provider.addresses.origin) };
  });
  router.get(ISSUER_CALLS.metadata, describe);
  router.get(ISSUER_CALLS.metadataAtOrigin, describe);
  serveAuthorization(router, provider, requests);
  const text = express.text({ type: () => true, limit: '64kb' });
  const token = answered(faults, (request) => tokenAnswer(provider, requests, callOf(request)));
  const revoke = answered(faults, (request) => revocationAnswer(provider, callOf(request)));
  router.post(ISSUER_CALLS.token, text, token);
  router.post(ISSUER_CALLS.revoke, text, revoke);
  return router;
}

function description(origin: string): object {
  return {
    issuer: `${origin}${ISSUER_PATH}`,
    authorization_endpoint: `${origin}${AUTHORIZE_PATH}`,
    token_endpoint: `${origin}${ISSUER_CALLS.token}`,
    revocation_endpoint: `${origin}${ISSUER_CALLS.revoke}`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    scopes_supported: [...ALL_SCOPES],
  };
}

function serveAuthorization(router: Router, provider: Provider, requests: AuthorizationRequests): void {
  const { accounts, coverage, nowMs } = provider;
  const path = AUTHORIZE_PATH;
  const answer = (response: Response, id: string, name: string | undefined, approve: boolean): void => {
    const user = accounts.find(name);
    const back = user && requests.answer(id, user, approve, Math.floor(nowMs() / 1_000));
    if (back === undefined) {
      refusedPage(response, user ? 'This request is unknown or has been answered.' : 'The user is unknown.');
      return;
    }
    coverage.count(approve ? 'oauth2-consent' : 'oauth2-declined');
    goBack(response, back);
  };
  router.get(path, (request, response) => {
    const at = request.originalUrl.indexOf('?');
    const asked = requests.ask(new URLSearchParams(at < 0 ? '' : request.originalUrl.slice(at + 1)));
    if ('page' in asked) return refusedPage(response, asked.page);
    if ('redirect' in asked) return goBack(response, asked.redirect);
    const { consentAnswer } = accounts;
    if (consentAnswer)
      return answer(response, asked.request.id, consentAnswer.user.name, consentAnswer.approve);
    consentPage(response, provider, {
      action: path,
      hidden: { request: asked.request.id },
      wants: [...asked.request.scopes].map((scope) => `${SCOPE_WORDS[scope]} (${scope})`),
      returnsTo: isOutOfBand(asked.request.redirectUri) ? 'oob' : asked.request.redirectUri,
    });
  });
  router.post(path, express.urlencoded({ extended: false, limit: '16kb' }), (request, response) => {
    const form = formOf(request);
    const declined = form.decision === 'decline';
    answer(
      response,
      form.request ?? '',
      form.user ?? (declined ? accounts.users[0]?.name : undefined),
      !declined,
    );
  });
}

/** No browser opens the address that stands for none: what would be in it is shown to be copied. */
function goBack(response: Response, address: string): void {
  if (!isOutOfBand(address)) {
    response.redirect(302, address);
    return;
  }
  const given = new URLSearchParams(address.slice(address.indexOf('?') + 1));
  const code = given.get('code');
  if (code === null) {
    const why = `<p>${escapeHtml(given.get('error_description') ?? '')}</p>`;
    show(response, 'Not allowed', why + shownToCopy('Answer', `error=${given.get('error')}`));
  } else show(response, 'Allowed', shownToCopy('Code', code));
}

function shownToCopy(what: string, value: string): string {
  const shown = `<p>${what} <code>${escapeHtml(value)}</code></p>`;
  return `<div class="card"><p>Copy this into the application.</p>${shown}</div>`;
}

function callOf(request: Request): TokenCall {
  return {
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'],
    text: String(request.body ?? ''),
  };
}

/** A call of a program: delayed, answered otherwise or written otherwise where a fault names its address. */
function answered(faults: Faults, answer: (request: Request) => TokenAnswer): RequestHandler {
  return async (request, response) => {
    const fault = faults.takeNamed(request.method, request.originalUrl);
    if (fault?.held) await new Promise<void>((go) => faults.hold(go));
    else if (fault?.delayMs !== undefined) await wait(fault.delayMs);
    const said = fault && saidInstead(fault);
    if (said === 'nothing') response.destroy();
    else if (said === undefined) write(response, answer(request), fault);
    else write(response, { status: said.status ?? 200, body: said.json, text: said.text }, fault);
  };
}

/** The authorization server names its own limit; the API's answers have none. */
function write(
  response: Response,
  { status, body, text, headers }: TokenAnswer,
  fault: Fault | undefined,
): void {
  if (response.destroyed) return;
  const bytes = Buffer.from(text ?? (body === undefined ? '' : JSON.stringify(body)));
  const all: Record<string, string> = {
    'Cache-Control': 'no-store',
    Pragma: 'no-cache',
    'X-Rate-Limit-Limit': '2000',
    ...headers,
  };
  if (bytes.length > 0 && status !== 204 && status !== 304) {
    all['Content-Type'] = 'application/json;charset=utf-8';
    all['Transfer-Encoding'] = 'chunked';
  }
  if (fault) distort(response, fault, status, all, bytes);
  else response.writeHead(status, all).end(bytes);
}
