// Every request's credentials are judged: what the provider accepts, and each single thing it refuses.
import { Accounts } from '../../../../src/simulator/auth/accounts';
import { Nonces } from '../../../../src/simulator/auth/nonces';
import { Tokens } from '../../../../src/simulator/auth/tokens';
import { judge } from '../../../../src/simulator/auth/verdict';
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, call, control, get, platformAccept, type Signing, sign, tokenOf } from '../caller';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ auth: 'oauth1' });
});
afterAll(() => simulator.close());

const userToken = (): { key: string; secret: string } => ({
  key: tokenOf(simulator).token,
  secret: tokenOf(simulator).secret,
});

function signedGet(
  url: string,
  signing: Signing = {},
  change: (header: string) => string = (header) => header,
): Promise<Answered> {
  const authorization = change(sign(simulator, url, { token: userToken(), ...signing }));
  return call(url, { Accept: platformAccept(simulator), Authorization: authorization });
}

const organizations = (): string => `${simulator.catalog}organizations`;

async function reasonOf(answer: Promise<Answered>): Promise<string> {
  const { status, body } = await answer;
  expect(status).toBe(401);
  expect(body['@type']).toBe('Errors');
  return body.errors[0].message.replace('Unauthorized: ', '');
}

test('a signed request of a user is accepted, also with awkward query values', async () => {
  expect((await signedGet(organizations())).status).toBe(200);
  const awkward = `${organizations()}?orgName=${encodeURIComponent("a+b =/&'()*!~ü%41")}&itemLimit=2&x=1&x=0&empty=`;
  expect((await signedGet(awkward)).status).toBe(200);
  expect((await signedGet(`${organizations()}?orgName=a+b`)).status).toBe(200);
});

test('the token secret holds characters that have to be encoded in the key', () => {
  expect(userToken().secret).toMatch(/\+/);
  expect(userToken().secret).toMatch(/\//);
  expect(userToken().secret).toMatch(/=$/);
});

test('a reused nonce is refused', async () => {
  const authorization = sign(simulator, organizations(), { token: userToken() });
  const headers = { Accept: platformAccept(simulator), Authorization: authorization };
  expect((await call(organizations(), headers)).status).toBe(200);
  expect(await reasonOf(call(organizations(), headers))).toBe('nonce-reused');
});

test('a timestamp is accepted within five minutes and refused beyond, both ways', async () => {
  const at = (seconds: number): Signing => ({
    protocol: { oauth_timestamp: String(Math.floor(Date.now() / 1000) + seconds) },
  });
  expect((await signedGet(organizations(), at(-290))).status).toBe(200);
  expect((await signedGet(organizations(), at(290))).status).toBe(200);
  expect(await reasonOf(signedGet(organizations(), at(-310)))).toBe('timestamp-off');
  expect(await reasonOf(signedGet(organizations(), at(310)))).toBe('timestamp-off');
});

test.each([
  [-301, 'timestamp-off'],
  [-300, 'timestamp-off'],
  [-299, 'accepted'],
  [299, 'accepted'],
  [300, 'timestamp-off'],
  [301, 'timestamp-off'],
])('a timestamp %i seconds off, to the second: %s', (secondsOff, said) => {
  const nowSeconds = 1_772_000_000;
  const accounts = new Accounts('vendor', 1, { users: 1, overlap: 0 });
  const tokens = new Tokens(accounts, 1, nowSeconds);
  const { token, secret } = tokens.issueOAuth1(accounts.users[0]!, nowSeconds);
  const environment = {
    PROVIDER_CLIENT_KEY: accounts.clientKey,
    PROVIDER_CLIENT_SECRET: accounts.clientSecret,
  };
  const witness = {
    accounts,
    tokens,
    nonces: new Nonces(),
    oauth1Ended: () => false,
    nowSeconds: () => nowSeconds,
  };
  const verdict = judge(witness, {
    method: 'GET',
    host: 'provider.example',
    url: '/organizations',
    authorization: sign({ environment }, 'http://provider.example/organizations', {
      token: { key: token, secret },
      protocol: { oauth_timestamp: String(nowSeconds + secondsOff) },
    }),
    form: undefined,
    body: undefined,
    purpose: 'resource',
  });
  expect(verdict.valid ? 'accepted' : verdict.reason).toBe(said);
});

test.each<[string, Signing, (header: string) => string]>([
  ['realm-missing', {}, (header) => header.replace('realm="", ', '')],
  ['realm-not-empty', {}, (header) => header.replace('realm=""', 'realm="x"')],
  ['client-unknown', { protocol: { oauth_consumer_key: 'someone-else' } }, (header) => header],
  ['token-unknown', { token: { key: 'nobody', secret: 'x' } }, (header) => header],
  ['signature-mismatch', { clientSecret: 'wrong' }, (header) => header],
  [
    'signature-mismatch',
    { token: { key: '', secret: 'x' } },
    (header) => header.replace('oauth_token=""', 'oauth_more="1"'),
  ],
  ['version-unsupported', { protocol: { oauth_version: '2.0' } }, (header) => header],
  ['signature-method-unsupported', { protocol: { oauth_signature_method: 'PLAINTEXT' } }, (header) => header],
  ['timestamp-malformed', { protocol: { oauth_timestamp: '12.5' } }, (header) => header],
  ['nonce-missing', { protocol: { oauth_nonce: '' } }, (header) => header],
  ['callback-misplaced', { protocol: { oauth_callback: 'oob' } }, (header) => header],
  ['verifier-misplaced', { protocol: { oauth_verifier: 'abc' } }, (header) => header],
  ['parameter-twice', {}, (header) => `${header}, oauth_nonce="again"`],
  ['malformed-parameter', {}, (header) => header.replace('oauth_version="1.0"', 'oauth_version=1.0')],
  ['malformed-encoding', {}, (header) => header.replace('oauth_nonce="', 'oauth_nonce="%zz')],
  ['malformed-encoding', {}, (header) => header.replace(/(?<=oauth_signature=")[^"]*/, decodeURIComponent)],
  ['unknown-scheme', {}, () => 'Basic eDp5'],
])('%s: the request is refused and says so', async (reason, signing, change) => {
  expect(await reasonOf(signedGet(organizations(), signing, change))).toBe(reason);
});

test('a changed path, query, method or host no longer fits the signature', async () => {
  const url = `${organizations()}?itemLimit=5`;
  const send = (to: string, method = 'GET', host?: string): Promise<Answered> =>
    call(
      to,
      {
        Accept: platformAccept(simulator),
        Authorization: sign(simulator, url, { token: userToken() }),
        ...(host ? { Host: host } : {}),
      },
      method,
    );
  expect(await reasonOf(send(`${organizations()}?itemLimit=6`))).toBe('signature-mismatch');
  expect(await reasonOf(send(`${organizations()}/4711?itemLimit=5`))).toBe('signature-mismatch');
  expect(await reasonOf(send(url, 'DELETE'))).toBe('signature-mismatch');
  expect(await reasonOf(send(url, 'GET', 'elsewhere.example'))).toBe('signature-mismatch');
});

test('a form body is part of the signature, a JSON body is not', async () => {
  const post = (type: string, signing: Signing, body: string): Promise<Answered> => {
    const authorization = sign(simulator, organizations(), {
      token: userToken(),
      method: 'POST',
      ...signing,
    });
    return call(
      organizations(),
      { Accept: platformAccept(simulator), Authorization: authorization, 'Content-Type': type },
      'POST',
      body,
    );
  };
  const form = 'application/x-www-form-urlencoded';
  expect((await post(form, { form: [['a', '1 2']] }, 'a=1+2')).status).toBe(404);
  expect(await reasonOf(post(form, {}, 'a=1+2'))).toBe('signature-mismatch');
  expect((await post('application/json', {}, '{"a":1}')).status).toBe(404);
});

test('protocol parameters belong into the header', async () => {
  const url = `${organizations()}?oauth_nonce=other`;
  expect(await reasonOf(signedGet(url))).toBe('parameter-outside-header');
});

test('the application alone reads the catalog and no data', async () => {
  const signed = (url: string): Promise<Answered> => signedGet(url, { token: undefined });
  expect((await signed(simulator.catalog)).status).toBe(200);
  const refused = await signed(organizations());
  expect(refused.status).toBe(401);
});

test('a bearer token is accepted and an unknown one is refused', async () => {
  const other = await startSimulator({ auth: 'oauth2' });
  expect((await get(other, other.catalog)).status).toBe(200);
  const unknown = await get(other, other.catalog, { Authorization: 'Bearer nonsense' });
  expect([unknown.status, unknown.headers['www-authenticate']]).toEqual([
    401,
    'Bearer error="invalid_token"',
  ]);
  await other.close();
});

test('every request is on record with the verdict on its signature', async () => {
  await control(simulator, 'DELETE', 'requests');
  await signedGet(organizations());
  await signedGet(organizations(), { clientSecret: 'wrong' });
  const records = await control(simulator, 'GET', 'requests');
  expect(
    records.map(({ status, verdict }: { status: number; verdict: object }) => [status, verdict]),
  ).toEqual([
    [200, { scheme: 'oauth1', valid: true, user: tokenOf(simulator).user }],
    [401, { scheme: 'oauth1', valid: false, reason: 'signature-mismatch' }],
  ]);
  expect(JSON.stringify(records)).not.toContain(userToken().key);
});

test('a token whose time has run out and one that was invalidated are told apart', async () => {
  const other = await startSimulator({ auth: 'oauth1' });
  const { token, secret } = tokenOf(other);
  const signed = (): Promise<Answered> =>
    call(other.catalog, {
      Accept: platformAccept(other),
      Authorization: sign(other, other.catalog, { token: { key: token, secret } }),
    });
  await control(other, 'POST', 'tokens/expire', { inSeconds: -1 });
  expect(await reasonOf(signed())).toBe('token-expired');
  await control(other, 'POST', 'tokens/expire');
  expect(await reasonOf(signed())).toBe('token-invalidated');
  await other.close();
});

test.each([
  ['2021-07-01', '2021-06-30', '2021-07-02'],
  ['2022-05-01', '2022-04-30', '2022-05-02'],
])('OAuth 1 ends on %s, not on %s, and has ended on %s', async (oauth1Ends, before, after) => {
  const ending = await startSimulator({ auth: 'oauth1', oauth1Ends, today: before });
  const signed = (): Promise<Answered> => {
    const { token, secret } = tokenOf(ending);
    return call(ending.catalog, {
      Accept: platformAccept(ending),
      Authorization: sign(ending, ending.catalog, { token: { key: token, secret } }),
    });
  };
  expect((await signed()).status).toBe(200);
  for (const today of [oauth1Ends, after]) {
    await control(ending, 'PUT', 'today', { today });
    expect(await reasonOf(signed())).toBe('oauth1-ended');
  }
  await ending.close();
});

test('a nonce is remembered for at least ten minutes and forgotten after twenty', () => {
  const nonces = new Nonces();
  expect(nonces.use('a', 1_000)).toBe(true);
  expect(nonces.use('a', 1_599)).toBe(false);
  expect(nonces.use('b', 1_600)).toBe(true);
  expect(nonces.use('a', 2_199)).toBe(false);
  expect(nonces.use('a', 3_500)).toBe(true);
});
