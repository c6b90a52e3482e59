// The OAuth 2 authorization server: its description and its token endpoint (refresh and client credentials).
// Promises that a bad refresh token is answered with 400 `invalid_grant`, as the provider does.
import { timingSafeEqual } from 'node:crypto';
import express, { type Request, type Response, type Router } from 'express';
import type { Provider } from '../provider/provider';
import { SCOPES } from './accounts';
import { parseForm, percentDecode } from './percent-encoding';

/** The issuer's path; its discovery document lies below it. */
export const ISSUER_PATH = '/signin/oauth2/default';
const ACCESS_SECONDS = 43_200;

export function oauth2Server(provider: Provider): Router {
  const router = express.Router();
  const issuer = `${provider.addresses.origin}${ISSUER_PATH}`;
  const describe = (_request: Request, response: Response): void => {
    provider.coverage.count('oauth2-discovery');
    response.json({
      issuer,
      authorization_endpoint: `${issuer}/v1/authorize`,
      token_endpoint: `${issuer}/v1/token`,
      revocation_endpoint: `${issuer}/v1/revoke`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      scopes_supported: SCOPES.split(' '),
    });
  };
  router.get(`${ISSUER_PATH}/.well-known/oauth-authorization-server`, describe);
  router.get(`/.well-known/oauth-authorization-server${ISSUER_PATH}`, describe);
  router.post(
    `${ISSUER_PATH}/v1/token`,
    express.text({ type: () => true, limit: '64kb' }),
    (request, response) => {
      const [status, body] = token(provider, request.headers.authorization, String(request.body ?? ''));
      response.status(status).set({ 'Cache-Control': 'no-store', 'X-Rate-Limit-Limit': '2000' }).json(body);
    },
  );
  return router;
}

function token(
  provider: Provider,
  authorization: string | undefined,
  text: string,
): [status: number, body: object] {
  const { accounts, coverage, nowMs } = provider;
  const form = new Map(parseForm(text) ?? []);
  if (!isClient(provider, authorization, form))
    return [401, { error: 'invalid_client', error_description: 'Client authentication failed.' }];
  const nowSeconds = Math.floor(nowMs() / 1_000);
  const grant = form.get('grant_type');
  if (grant === 'client_credentials') {
    coverage.count('oauth2-client-credentials');
    return [200, tokenResponse(accounts.issueBearer(undefined, nowSeconds).token)];
  }
  if (grant !== 'refresh_token')
    return [400, { error: 'unsupported_grant_type', error_description: 'The grant is not supported.' }];
  const refresh = form.get('refresh_token') ?? '';
  const user = accounts.userOfRefresh(refresh);
  if (!user)
    return [400, { error: 'invalid_grant', error_description: 'The refresh token is invalid or expired.' }];
  coverage.count('oauth2-refresh');
  return [200, { ...tokenResponse(accounts.issueBearer(user, nowSeconds).token), refresh_token: refresh }];
}

function tokenResponse(access: string): object {
  return { token_type: 'Bearer', expires_in: ACCESS_SECONDS, access_token: access, scope: SCOPES };
}

/** RFC 6749 section 2.3.1: HTTP Basic with form-encoded parts, or both in the body. */
function isClient(
  { accounts }: Provider,
  authorization: string | undefined,
  form: ReadonlyMap<string, string>,
): boolean {
  let [key, secret] = [form.get('client_id'), form.get('client_secret')];
  if (authorization?.startsWith('Basic ')) {
    const [left, right] = Buffer.from(authorization.slice(6), 'base64').toString().split(':');
    key = percentDecode((left ?? '').replaceAll('+', ' '));
    secret = percentDecode((right ?? '').replaceAll('+', ' '));
  }
  return same(key, accounts.clientKey) && same(secret, accounts.clientSecret);
}

function same(given: string | undefined, expected: string): boolean {
  const [left, right] = [Buffer.from(given ?? ''), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
