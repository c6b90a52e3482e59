// Faults at what programs call for tokens: the authorization server's calls and the two calls of OAuth 1.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Answered, call, control, platformAccept, rawControl, sign, tokenOf } from '../caller';

const ISSUER = '/signin/oauth2/default';
const TOKEN = `${ISSUER}/v1/token`;

let simulator: Simulator;
beforeEach(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.close());

const faults = (...list: object[]) => control(simulator, 'PUT', 'faults', list);
const origin = (): string => new URL(simulator.issuer).origin;
const errorOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => 'none',
    (problem: NodeJS.ErrnoException) => String(problem.code),
  );

function ask(path = TOKEN, form = `grant_type=refresh_token&refresh_token=${tokenOf(simulator).refresh}`) {
  const { PROVIDER_CLIENT_SECRET: secret } = simulator.environment;
  const headers = {
    Authorization: `Basic ${Buffer.from(`${simulator.clientKey}:${secret}`).toString('base64')}`,
    'Content-Type': 'application/x-www-form-urlencoded',
  };
  return call(`${origin()}${path}`, headers, 'POST', form);
}

const refreshes = async (): Promise<number> =>
  (await control(simulator, 'GET', 'coverage/events')).find(
    ({ event }: { event: string }) => event === 'oauth2-refresh',
  ).count;

test('a status and a body answer instead of the token endpoint, as often as the fault says; nothing is traded', async () => {
  await faults({
    match: { method: 'POST', path: TOKEN },
    times: 2,
    status: 503,
    headers: { 'Retry-After': '9', 'X-Rate-Limit-Limit': null },
    body: 'busy',
  });
  const first = await ask();
  expect([first.status, first.headers['retry-after'], first.text]).toEqual([503, '9', 'busy']);
  expect(first.headers['x-rate-limit-limit']).toBeUndefined();
  expect((await ask()).status).toBe(503);
  expect(await refreshes()).toBe(0);
  expect((await control(simulator, 'GET', 'faults'))[0].times).toBe(0);
  expect((await ask()).body).toMatchObject({ token_type: 'Bearer' });
});

test('an answer without the form of one, a delay, and a connection that ends without any', async () => {
  await faults(
    { match: { path: TOKEN }, times: 1, status: 200, body: '{"access_token":' },
    { match: { path: TOKEN }, times: 1, close: true },
    { match: { path: TOKEN }, delayMs: 120 },
  );
  expect(await ask()).toMatchObject({ status: 200, text: '{"access_token":' });
  expect(await errorOf(ask())).toBe('ECONNRESET');
  expect(await refreshes()).toBe(0);
  const from = performance.now();
  expect((await ask()).status).toBe(200);
  expect(performance.now() - from).toBeGreaterThan(110);
});

test('what is held is answered when the faults are set anew', async () => {
  await faults({ match: { path: TOKEN }, times: 1, held: true, status: 503 });
  const held = ask();
  const isKept = async () =>
    ((await control(simulator, 'GET', 'faults')) as { times: number }[])[0]?.times === 0;
  while (!(await isKept())) await new Promise(setImmediate);
  await faults();
  expect((await held).status).toBe(503);
});

test('a real answer that is cut has been given: the refresh token is spent', async () => {
  await faults({ match: { path: TOKEN }, times: 1, truncateAt: 10 });
  expect(await errorOf(ask())).toBe('ECONNRESET');
  expect(await refreshes()).toBe(1);
  expect((await ask()).body.error).toBe('invalid_grant');
});

test('metadata and revocation meet them too', async () => {
  await faults(
    { match: { path: `${ISSUER}/.well-known` }, status: 500 },
    { match: { path: ISSUER }, status: 502 },
  );
  expect((await call(`${simulator.issuer}/.well-known/oauth-authorization-server`)).status).toBe(500);
  expect((await ask(`${ISSUER}/v1/revoke`, 'token=x')).status).toBe(502);
});

test('a fault without a path leaves the authorization server alone: it is another site', async () => {
  await faults({ match: {}, status: 500 }, { match: { method: 'POST' }, close: true });
  expect((await ask()).status).toBe(200);
});

test.each(['request_token', 'access_token'])('the OAuth 1 call /oauth/%s meets them', async (name) => {
  const url = `${simulator.catalog}oauth/${name}`;
  const signed = (): Promise<Answered> =>
    call(url, {
      Accept: platformAccept(simulator),
      Authorization: sign(simulator, url, { protocol: { oauth_callback: 'oob' } }),
    });
  await faults(
    { match: { path: `/oauth/${name}` }, times: 1, status: 503 },
    { match: { path: `/oauth/${name}` }, times: 1, status: 200, body: 'no form' },
    { match: { path: `/platform/oauth/${name}` }, close: true },
  );
  expect((await signed()).status).toBe(503);
  expect((await signed()).text).toBe('no form');
  expect(await errorOf(signed())).toBe('ECONNRESET');
});

test.each<[object, string]>([
  [
    { match: { path: `${ISSUER}/v2/token` } },
    `faults[0].match.path is none of the authorization server’s: ${ISSUER}`,
  ],
  [{ match: { path: `${ISSUER}/v1/authorize` } }, 'is none of the authorization server’s'],
  [{ match: { path: '/consent?oauth_token=x' } }, 'no fault strikes there'],
  [{ match: { path: '/portal/organizations/4711/terms' } }, 'no fault strikes there'],
  [{ match: { path: '/_simulator/faults' } }, 'no fault strikes there'],
  [{ match: { path: 'equipment' } }, 'must begin with / or be a regular expression'],
  [{ match: { path: TOKEN }, lagMs: 5 }, 'the authorization server has neither lagMs nor nextPage'],
  [{ match: { path: TOKEN }, nextPage: 'self' }, 'the authorization server has neither lagMs nor nextPage'],
  [{ match: { path: '/equipment' }, lagMs: 5, status: 500 }, 'status cannot strike beside it'],
  [{ match: { method: 'PUT' }, lagMs: 5 }, 'PUT cannot strike beside it'],
])('the fault %j cannot strike, and is refused', async (fault, message) => {
  const answer = await rawControl(simulator, 'PUT', 'faults', [fault]);
  expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(message)]);
});
