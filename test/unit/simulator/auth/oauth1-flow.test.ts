// The three-legged flow on the provider's side, from request token to a signed request of the user.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, call, platformAccept, type Signing, sign } from '../caller';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ auth: 'oauth1' });
});
afterAll(() => simulator.close());

const signed = (url: string, signing: Signing = {}): Promise<Answered> =>
  call(
    url,
    { Accept: platformAccept(simulator), Authorization: sign(simulator, url, signing) },
    signing.method,
  );

async function addresses(): Promise<{ request: string; authorize: string; access: string }> {
  const [request, authorize, access] = (await signed(simulator.catalog)).body.links;
  return { request: request.uri, authorize: authorize.uri, access: access.uri };
}

async function requestToken(callback: string): Promise<{ key: string; secret: string }> {
  const answer = await signed((await addresses()).request, { protocol: { oauth_callback: callback } });
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain;charset=UTF-8']);
  const form = new URLSearchParams(answer.text);
  expect(form.get('oauth_callback_confirmed')).toBe('true');
  return { key: form.get('oauth_token')!, secret: form.get('oauth_token_secret')! };
}

async function approve(token: string): Promise<Answered> {
  const page = (await addresses()).authorize.replace('{token}', token);
  expect((await call(page)).text).toContain('Allow as');
  return call(
    page,
    { 'Content-Type': 'application/x-www-form-urlencoded' },
    'POST',
    `oauth_token=${token}&user=harrow-user-1`,
  );
}

test('request token, consent with a callback, access token, and a signed request with it', async () => {
  const token = await requestToken('http://127.0.0.1:1/connect/callback?state=s1');
  const back = new URL((await approve(token.key)).headers.location!);
  expect([back.searchParams.get('state'), back.searchParams.get('oauth_token')]).toEqual(['s1', token.key]);
  const verifier = back.searchParams.get('oauth_verifier')!;
  const { access } = await addresses();
  const wrong = await signed(access, { token, protocol: { oauth_verifier: 'wrong' } });
  expect(wrong.status).toBe(401);
  const answer = await signed(access, { token, method: 'POST', protocol: { oauth_verifier: verifier } });
  expect(answer.status).toBe(200);
  const form = new URLSearchParams(answer.text);
  const user = { key: form.get('oauth_token')!, secret: form.get('oauth_token_secret')! };
  expect((await signed(simulator.catalog, { token: user })).body).toHaveProperty('link');
  expect((await signed(access, { token, protocol: { oauth_verifier: verifier } })).status).toBe(401);
});

test('with oob, in any letter case, the page shows the verifier', async () => {
  const token = await requestToken('OOB');
  const page = await approve(token.key);
  expect(page.status).toBe(200);
  const [, verifier] = /Verifier <code>([^<]+)/.exec(page.text)!;
  const { access } = await addresses();
  expect((await signed(access, { token, protocol: { oauth_verifier: verifier! } })).status).toBe(200);
});

test('a request token is approved once and is no access token', async () => {
  const token = await requestToken('oob');
  expect((await signed(simulator.catalog, { token })).status).toBe(401);
  expect((await approve(token.key)).status).toBe(200);
  const again = await call(
    simulator.consent,
    { 'Content-Type': 'application/x-www-form-urlencoded' },
    'POST',
    `oauth_token=${token.key}`,
  );
  expect(again.status).toBe(400);
  expect((await call(`${simulator.consent}?oauth_token=unknown`)).status).toBe(400);
});

test('a request token needs a callback that is an address', async () => {
  const { request } = await addresses();
  expect((await signed(request)).status).toBe(401);
  expect((await signed(request, { protocol: { oauth_callback: 'nowhere' } })).status).toBe(400);
});

test('a request token is asked for with key and secret alone: a user’s token beside them is refused', async () => {
  const { request } = await addresses();
  const { token, secret } = JSON.parse(simulator.environment.PROVIDER_TOKENS!)[0];
  const user = { key: token as string, secret: secret as string };
  expect((await signed(request, { protocol: { oauth_callback: 'oob' } })).status).toBe(200);
  const refused = await signed(request, { token: user, protocol: { oauth_callback: 'oob' } });
  expect([refused.status, refused.body.errors[0].message]).toEqual([401, 'Unauthorized: token-misplaced']);
});

test('declining goes back without a verifier and spends the request token', async () => {
  const token = await requestToken('tramline:/back?x=1');
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = `oauth_token=${token.key}&decision=decline`;
  const declined = await call(simulator.consent, form, 'POST', body);
  expect(declined.headers.location).toBe(
    `tramline:/back?x=1&oauth_token=${token.key}&oauth_problem=permission_denied`,
  );
  const { access } = await addresses();
  expect((await signed(access, { token, protocol: { oauth_verifier: 'any' } })).status).toBe(401);
});

test('a body hash is checked where it is sent', async () => {
  const { request } = await addresses();
  const hashed = (hash: string): Promise<Answered> =>
    signed(request, { method: 'POST', protocol: { oauth_callback: 'oob', oauth_body_hash: hash } });
  expect((await hashed('2jmj7l5rSw0yVb/vlWAYkK/YBwk=')).status).toBe(200);
  expect((await hashed('AAAA')).status).toBe(401);
});

test('other methods than GET and POST are refused', async () => {
  const { request } = await addresses();
  expect((await signed(request, { method: 'PUT', protocol: { oauth_callback: 'oob' } })).status).toBe(404);
});
