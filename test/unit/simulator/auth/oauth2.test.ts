// OAuth 2 on the provider's side: discovery, consent with PKCE, codes, refresh tokens that rotate, revocation, scopes.
import { createHash, randomBytes } from 'node:crypto';
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, type Body, call, control, get, tokenOf } from '../caller';

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator({ users: 2, organizations: 4, overlap: 1 });
});
afterEach(() => simulator.close());

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const REDIRECT = 'http://127.0.0.1:9/connect/callback';
const verifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');

const form = (fields: object): string => new URLSearchParams({ ...fields }).toString();
const metadata = async (): Promise<Body> =>
  (await call(`${simulator.issuer}/.well-known/oauth-authorization-server`)).body;
const basic = (secret = simulator.environment.PROVIDER_CLIENT_SECRET!): string =>
  `Basic ${Buffer.from(`${simulator.clientKey}:${secret}`).toString('base64')}`;

async function authorize(change: Record<string, string | undefined> = {}): Promise<Answered> {
  const asked = {
    response_type: 'code',
    client_id: simulator.clientKey,
    redirect_uri: REDIRECT,
    state: 'a b',
    scope: 'eq1 ag2 offline_access',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...change,
  };
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  const { authorization_endpoint: page } = await metadata();
  return call(`${page}?${form(Object.fromEntries(given))}`);
}

async function answer(page: Answered, fields: object): Promise<Answered> {
  const [, request] = /name="request" value="([^"]+)"/.exec(page.text)!;
  return call((await metadata()).authorization_endpoint, FORM, 'POST', form({ request, ...fields }));
}

async function codeFor(user: string, change: Record<string, string | undefined> = {}): Promise<string> {
  const back = new URL((await answer(await authorize(change), { user })).headers.location!);
  return back.searchParams.get('code')!;
}

async function token(
  fields: object,
  headers: Record<string, string> = { Authorization: basic() },
): Promise<Answered> {
  return call((await metadata()).token_endpoint, { ...FORM, ...headers }, 'POST', form(fields));
}

const trade = (code: string, change: object = {}): Promise<Answered> =>
  token({
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT,
    code_verifier: verifier,
    ...change,
  });
const refresh = (refreshToken: string): Promise<Answered> =>
  token({ grant_type: 'refresh_token', refresh_token: refreshToken });
const catalogWith = async (bearer: string): Promise<number> =>
  (await get(simulator, simulator.catalog, { Authorization: `Bearer ${bearer}` })).status;

test('the description names the issuer, S256 and both ways of client authentication, at both addresses', async () => {
  const described = await metadata();
  expect(described).toMatchObject({
    issuer: simulator.issuer,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  });
  const { origin, pathname } = new URL(simulator.issuer);
  expect((await call(`${origin}/.well-known/oauth-authorization-server${pathname}`)).body).toEqual(described);
});

test('approving as one of several users gives a code, the code tokens, and the tokens that user’s data', async () => {
  const page = await authorize();
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  for (const shown of ['Allow as harrow-user-1', 'Allow as harrow-user-2', 'Decline', 'ag2'])
    expect(page.text).toContain(shown);
  const back = new URL((await answer(page, { user: 'harrow-user-2' })).headers.location!);
  expect([back.origin + back.pathname, back.searchParams.get('state')]).toEqual([REDIRECT, 'a b']);
  const { status, headers, body } = await trade(back.searchParams.get('code')!);
  expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 43_200, scope: 'eq1 ag2 offline_access' });
  const bearer = { Authorization: `Bearer ${body.access_token}` };
  expect((await get(simulator, `${simulator.equipment}/equipment?organizationIds=4711`, bearer)).status).toBe(
    200,
  );
});

test('declining sends the browser back with access_denied, and the request cannot be answered again', async () => {
  const page = await authorize();
  const back = new URL((await answer(page, { decision: 'decline' })).headers.location!);
  expect(Object.fromEntries(back.searchParams)).toMatchObject({ error: 'access_denied', state: 'a b' });
  expect((await answer(page, { user: 'harrow-user-1' })).status).toBe(400);
});

test.each([
  ['client_id', 'someone', undefined],
  ['redirect_uri', 'http://elsewhere.example/back', undefined],
  ['redirect_uri', 'javascript:alert(1)', undefined],
  ['redirect_uri', undefined, undefined],
  ['response_type', 'token', 'unsupported_response_type'],
  ['state', undefined, 'invalid_request'],
  ['code_challenge', undefined, 'invalid_request'],
  ['code_challenge', 'short', 'invalid_request'],
  ['code_challenge_method', 'plain', 'invalid_request'],
  ['scope', 'eq1 everything', 'invalid_scope'],
])('a request whose %s is %s is refused: %s', async (name, value, error) => {
  const refused = await authorize({ [name]: value });
  if (error === undefined) expect([refused.status, refused.headers.location]).toEqual([400, undefined]);
  else expect(new URL(refused.headers.location!).searchParams.get('error')).toBe(error);
});

test('registered redirect addresses are compared exactly, an application’s own scheme among them', async () => {
  await control(simulator, 'PATCH', 'client', { redirectUris: [REDIRECT, 'tramline:/back?x=1'] });
  expect((await authorize({ redirect_uri: `${REDIRECT}/` })).status).toBe(400);
  expect((await authorize()).status).toBe(200);
  const own = await answer(await authorize({ redirect_uri: 'tramline:/back?x=1' }), {
    user: 'harrow-user-1',
  });
  expect(own.headers.location).toMatch(/^tramline:\/back\?x=1&code=/);
});

test('an application without an address is given code and errors on a page, and trades the code all the same', async () => {
  const redirect_uri = 'urn:ietf:wg:oauth:2.0:oob';
  const shown = await answer(await authorize({ redirect_uri }), { user: 'harrow-user-1' });
  expect([shown.status, shown.headers.location]).toEqual([200, undefined]);
  const [, code = ''] = /Code <code>([^<]+)<\/code>/.exec(shown.text) ?? [];
  expect((await trade(code)).status).toBe(400);
  expect((await trade(code, { redirect_uri })).status).toBe(200);
  const declined = await answer(await authorize({ redirect_uri }), { decision: 'decline' });
  expect(declined.text).toContain('Answer <code>error=access_denied</code>');
  const wrong = await authorize({ redirect_uri, scope: 'bogus' });
  expect(wrong.text).toContain('Answer <code>error=invalid_scope</code>');
});

test('a code is good once; using it again revokes what it led to', async () => {
  const code = await codeFor('harrow-user-1');
  const { body } = await trade(code);
  expect(await catalogWith(body.access_token)).toBe(200);
  expect((await trade(code)).body.error).toBe('invalid_grant');
  expect(await catalogWith(body.access_token)).toBe(401);
  expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant');
});

test.each([
  ['redirect_uri', `${REDIRECT}?x=1`],
  ['code_verifier', 'x'.repeat(43)],
  ['code_verifier', challenge.slice(1)],
  ['code', 'unknown'],
])('a code with another %s is refused', async (name, value) => {
  const refused = await trade(await codeFor('harrow-user-1'), { [name]: value });
  expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
});

test('without offline_access there is no refresh token', async () => {
  const { body } = await trade(await codeFor('harrow-user-1', { scope: 'eq1' }));
  expect([body.scope, body.refresh_token]).toEqual(['eq1', undefined]);
  const unasked = await trade(await codeFor('harrow-user-1', { scope: undefined }));
  expect([unasked.body.scope.includes('ag3'), unasked.body.refresh_token]).toEqual([true, undefined]);
});

test('a refresh token rotates: the old one is refused, and showing it revokes the whole family', async () => {
  const first = (await trade(await codeFor('harrow-user-1'))).body;
  const second = (await refresh(first.refresh_token)).body;
  expect(second.refresh_token).not.toBe(first.refresh_token);
  expect(await catalogWith(second.access_token)).toBe(200);
  expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant');
  expect(await catalogWith(second.access_token)).toBe(401);
  expect((await refresh(second.refresh_token)).status).toBe(400);
});

test('rotation can be switched off, and access tokens can be short', async () => {
  await control(simulator, 'PATCH', 'client', { rotation: false, accessSeconds: 5 });
  const first = (await trade(await codeFor('harrow-user-1'))).body;
  expect(first.expires_in).toBe(5);
  expect((await refresh(first.refresh_token)).body.refresh_token).toBe(first.refresh_token);
});

test('the client authenticates by Basic or in the body, never both, never with a wrong secret', async () => {
  const grant = { grant_type: 'client_credentials' };
  const secret = simulator.environment.PROVIDER_CLIENT_SECRET!;
  const posted = { client_id: simulator.clientKey, client_secret: secret };
  expect((await token(grant)).status).toBe(200);
  expect((await token({ ...grant, ...posted }, {})).status).toBe(200);
  expect((await token({ ...grant, ...posted })).status).toBe(401);
  expect((await token(grant, { Authorization: basic('wrong') })).body.error).toBe('invalid_client');
  expect((await token(grant, {})).status).toBe(401);
  expect((await token(grant, { Authorization: basic(), 'Content-Type': 'application/json' })).status).toBe(
    400,
  );
  expect((await token({ grant_type: 'password' })).body.error).toBe('unsupported_grant_type');
});

test('a revoked refresh token ends its family, a revoked access token only itself', async () => {
  const { body } = await trade(await codeFor('harrow-user-1'));
  const revoke = async (revoked: string): Promise<number> =>
    (
      await call(
        (
          await metadata()
        ).revocation_endpoint,
        { ...FORM, Authorization: basic() },
        'POST',
        form({ token: revoked }),
      )
    ).status;
  expect(await revoke(body.access_token)).toBe(200);
  expect(await catalogWith(body.access_token)).toBe(401);
  const again = (await refresh(body.refresh_token)).body;
  expect(await catalogWith(again.access_token)).toBe(200);
  expect(await revoke(again.refresh_token)).toBe(200);
  expect(await catalogWith(again.access_token)).toBe(401);
  expect(await revoke('unknown')).toBe(200);
});

test('a missing scope or licence is a 403 that names the client and the scope', async () => {
  const { body } = await trade(await codeFor('harrow-user-1', { scope: 'eq1' }));
  const bearer = { Authorization: `Bearer ${body.access_token}` };
  const refused = await get(simulator, `${simulator.catalog}organizations`, bearer);
  expect(refused.status).toBe(403);
  expect(refused.body.errors[0].message).toBe(
    `The client does not have a proper access for this API. Client: ${simulator.clientKey}, licence: org, scopes needed: org1`,
  );
  await control(simulator, 'PATCH', 'client', { scopes: 'org1' });
  expect((await get(simulator, `${simulator.equipment}/equipmentMakes`)).status).toBe(403);
  expect((await get(simulator, `${simulator.catalog}organizations`)).status).toBe(200);
});

test('with every connection removed a refresh is refused for good', async () => {
  const { refresh: shown } = tokenOf(simulator);
  for (const { id } of (await control(simulator, 'GET', 'state')).organizations)
    await control(simulator, 'PATCH', `organizations/${id}`, { connected: false });
  expect((await refresh(shown)).body.error).toBe('invalid_grant');
  await control(simulator, 'PATCH', 'organizations/4711', { connected: true });
  expect((await refresh(shown)).status).toBe(400);
});

test('a control answers consent pages at once, and another chooses what a user sees', async () => {
  await control(simulator, 'PUT', 'consent', { user: 'harrow-user-2' });
  expect((await authorize()).headers.location).toMatch(/code=/);
  await control(simulator, 'PUT', 'consent', { approve: false });
  expect((await authorize()).headers.location).toMatch(/error=access_denied/);
  await control(simulator, 'PUT', 'consent', { user: null });
  expect((await authorize()).status).toBe(200);
  const [first] = await control(simulator, 'GET', 'users');
  expect(first).toEqual({
    name: 'harrow-user-1',
    connection: 'connection-1',
    sees: ['4711', '4724', '4737', '4750'],
  });
  await control(simulator, 'PATCH', 'users/harrow-user-1', { sees: ['4724'] });
  const listed = await get(simulator, `${simulator.catalog}organizations`);
  expect(listed.body.values.map(({ id }: Body) => id)).toEqual(['4724']);
});

test('tokens end by kind, by user, and after a while', async () => {
  const statusOf = async (user: number): Promise<number> => catalogWith(tokenOf(simulator, user).token);
  await control(simulator, 'POST', 'tokens/expire', { kinds: ['oauth1', 'refresh'] });
  expect([await statusOf(0), (await refresh(tokenOf(simulator).refresh)).status]).toEqual([200, 400]);
  await control(simulator, 'POST', 'tokens/expire', { kinds: ['access'], user: 'harrow-user-1' });
  expect([await statusOf(0), await statusOf(1)]).toEqual([401, 200]);
  await control(simulator, 'POST', 'tokens/expire', { inSeconds: 60 });
  expect(await statusOf(1)).toBe(200);
});
