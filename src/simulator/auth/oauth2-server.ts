// The OAuth 2 authorization server's addresses: its description, the consent page, the token and revocation endpoints.
// Promises exactly one issuer and no redirect to an address that is not registered. The grants are judged elsewhere.
import express, { type Request, type Response, type Router } from 'express';
import { consentPage, formOf, refusedPage } from '../pages/consent';
import type { Provider } from '../provider/provider';
import { AuthorizationRequests } from './authorization-requests';
import { ALL_SCOPES, SCOPE_WORDS } from './scopes';
import { revocationAnswer, type TokenAnswer, type TokenCall, tokenAnswer } from './token-endpoint';

/** The issuer's path; its discovery document lies below it. */
export const ISSUER_PATH = '/signin/oauth2/default';

export function oauth2Server(provider: Provider): Router {
  const router = express.Router();
  const requests = new AuthorizationRequests(provider.accounts);
  const describe = (_request: Request, response: Response): void => {
    provider.coverage.count('oauth2-discovery');
    response.json(description(`${provider.addresses.origin}${ISSUER_PATH}`));
  };
  router.get(`${ISSUER_PATH}/.well-known/oauth-authorization-server`, describe);
  router.get(`/.well-known/oauth-authorization-server${ISSUER_PATH}`, describe);
  serveAuthorization(router, provider, requests);
  const text = express.text({ type: () => true, limit: '64kb' });
  router.post(`${ISSUER_PATH}/v1/token`, text, (request, response) =>
    write(response, tokenAnswer(provider, requests, callOf(request))),
  );
  router.post(`${ISSUER_PATH}/v1/revoke`, text, (request, response) =>
    write(response, revocationAnswer(provider, callOf(request))),
  );
  return router;
}

function description(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/v1/authorize`,
    token_endpoint: `${issuer}/v1/token`,
    revocation_endpoint: `${issuer}/v1/revoke`,
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
  const path = `${ISSUER_PATH}/v1/authorize`;
  const answer = (response: Response, id: string, name: string | undefined, approve: boolean): void => {
    const user = accounts.find(name);
    const back = user && requests.answer(id, user, approve, Math.floor(nowMs() / 1_000));
    if (back === undefined) {
      refusedPage(response, user ? 'This request is unknown or has been answered.' : 'The user is unknown.');
      return;
    }
    coverage.count(approve ? 'oauth2-consent' : 'oauth2-declined');
    response.redirect(302, back);
  };
  router.get(path, (request, response) => {
    const at = request.originalUrl.indexOf('?');
    const asked = requests.ask(new URLSearchParams(at < 0 ? '' : request.originalUrl.slice(at + 1)));
    if ('page' in asked) return refusedPage(response, asked.page);
    if ('redirect' in asked) return response.redirect(302, asked.redirect);
    const { consentAnswer } = accounts;
    if (consentAnswer)
      return answer(response, asked.request.id, consentAnswer.user.name, consentAnswer.approve);
    consentPage(response, provider, {
      action: path,
      hidden: { request: asked.request.id },
      wants: [...asked.request.scopes].map((scope) => `${SCOPE_WORDS[scope]} (${scope})`),
      returnsTo: asked.request.redirectUri,
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

function callOf(request: Request): TokenCall {
  return {
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'],
    text: String(request.body ?? ''),
  };
}

/** The authorization server names its own limit; the API's answers have none. */
function write(response: Response, { status, body, headers }: TokenAnswer): void {
  response
    .status(status)
    .set({ 'Cache-Control': 'no-store', Pragma: 'no-cache', 'X-Rate-Limit-Limit': '2000' });
  if (headers) response.set(headers);
  if (body) response.json(body);
  else response.end();
}
