// The public routes of a consent as a browser, a link preview or a stranger meets them.
import express from 'express';
import request from 'supertest';
import type { BrowserAnswer, Consents, Ended } from '../../../src/connect/consents';
import { GrantRefusal } from '../../../src/connect/grant-refusal';
import { makeConnectRoutes } from '../../../src/connect/routes';
import { oauth1Ending } from '../../../src/model/connection';
import { declined } from '../../../src/model/consent-error';

const consentPage = 'https://signin.provider.test/consent?oauth_token=t';
const cookieOf = ({ headers }: { headers: Record<string, unknown> }) =>
  String(headers['set-cookie']).split(';')[0]!;
const ended = (more: Partial<Ended> = {}): Ended => ({
  id: 'one',
  auth: 'oauth1',
  step: 'done',
  address: null,
  expiresAt: '2026-03-01T00:00:00.000Z',
  code: null,
  detail: null,
  connection: null,
  unseen: [],
  seen: [],
  ...more,
});

function stage(
  more: Partial<Pick<Consents, 'open' | 'returned'>> = {},
  secure = false,
  ready = async () => {},
) {
  const heard = {
    opened: [] as string[],
    returned: [] as [BrowserAnswer, string][],
    failed: [] as unknown[],
    refused: [] as string[],
  };
  const consents: Pick<Consents, 'open' | 'returned'> = {
    async open(link) {
      heard.opened.push(link);
      return link.startsWith('good') ? { address: consentPage, token: `known${link.slice(4)}` } : null;
    },
    async returned(answer, browser) {
      heard.returned.push([answer, browser]);
      return answer.token === 'known' ? ended() : null;
    },
    ...more,
  };
  const app = express();
  app.set('query parser', 'simple');
  const failed = (error: unknown) => heard.failed.push(error);
  const refused = (code: string, detail: string) => heard.refused.push(`${code}: ${detail}`);
  app.use('/connect', makeConnectRoutes({ consents, ready, secure, failed, refused }));
  return { app, heard };
}

test('who only looks at a link gets a page with a button, which does not hold it and uses nothing up', async () => {
  const { app, heard } = stage();
  for (const headers of [{}, { 'Sec-Purpose': 'prefetch' }]) {
    const answer = await request(app).get('/connect?link=good').set(headers);
    expect([answer.status, answer.headers['set-cookie']]).toEqual([200, undefined]);
    expect(answer.text).toContain('<form method="post"><button>');
    expect(answer.text).not.toContain('good');
    // Browsers hold the redirect after a form against this too.
    expect(answer.headers['content-security-policy']).toBe(
      "default-src 'none'; base-uri 'none'; form-action 'self' https: http://127.0.0.1:* http://localhost:*; " +
        "frame-ancestors 'none'",
    );
  }
  expect(heard.opened).toEqual([]);
});

test('the button leads to the provider and leaves a cookie that no script reads', async () => {
  const { app } = stage();
  const answer = await request(app).post('/connect?link=good');
  expect([answer.status, answer.headers.location]).toEqual([303, consentPage]);
  expect(String(answer.headers['set-cookie'])).toMatch(
    /^tramline-connect-[0-9a-f]{16}=[\w-]{43}; Max-Age=900; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
  );
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy':
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  });
});

test('through https the cookie is bound to this host and to https', async () => {
  const { app } = stage({}, true);
  const answer = await request(app).post('/connect?link=good');
  expect(String(answer.headers['set-cookie'])).toMatch(/^__Host-tramline-connect-[0-9a-f]{16}=.*; Secure; /);
});

test('the way back knows the browser by its cookie, whose words are passed on, and forgets it', async () => {
  const { app, heard } = stage();
  const own = cookieOf(await request(app).post('/connect?link=good'));
  const answer = await request(app)
    .get('/connect/callback?oauth_token=known&oauth_verifier=v')
    .set('Cookie', `other=1; ${own}`);
  expect(answer.status).toBe(200);
  const [name, value] = own.split('=');
  expect(cookieOf(answer)).toBe(`${name}=`);
  expect(heard.returned).toEqual([[{ token: 'known', code: 'v', error: null }, value]]);
});

test('two consents in one browser keep a cookie each, and the one that comes back leaves the other its own', async () => {
  const { app, heard } = stage();
  const first = cookieOf(await request(app).post('/connect?link=good'));
  const second = cookieOf(await request(app).post('/connect?link=good-too').set('Cookie', first));
  const both = `${first}; ${second}`;
  const back = await request(app).get('/connect/callback?state=known-too&code=c').set('Cookie', both);
  expect(back.headers['set-cookie']).toHaveLength(1);
  expect(cookieOf(back).split('=')[0]).toBe(second.split('=')[0]);
  await request(app).get('/connect/callback?state=known&code=c').set('Cookie', both);
  expect(heard.returned.map(([, browser]) => browser)).toEqual([second.split('=')[1], first.split('=')[1]]);
});

test('a browser keeps the cookies of twenty consents; the earliest is given up for one more', async () => {
  const { app } = stage();
  const held = Array.from({ length: 20 }, (_, index) => `tramline-connect-${index}=b`);
  const answer = await request(app)
    .post('/connect?link=good')
    .set('Cookie', `other=1; ${held.join('; ')}`);
  const [given, own] = [answer.headers['set-cookie']].flat();
  expect([given, own]).toEqual([
    expect.stringMatching(/^tramline-connect-0=;/),
    expect.stringMatching(/^tramline-connect-[0-9a-f]{16}=[\w-]{43};/),
  ]);
});

test.each([
  ['state=known&code=c', { token: 'known', code: 'c', error: null }],
  ['state=known&error=access_denied', { token: 'known', code: null, error: declined }],
  [
    'state=known&error=server_error',
    {
      token: 'known',
      code: null,
      error: { code: 'provider-unavailable', detail: 'the consent page answered server_error' },
    },
  ],
  ['state=known', { token: 'known', code: null, error: null }],
  ['oauth_token=known&oauth_problem=permission_denied', { token: 'known', code: null, error: declined }],
  ['denied=known', { token: 'known', code: null, error: declined }],
])('%s is read as what it says', async (query, answer) => {
  const { app, heard } = stage();
  await request(app).get(`/connect/callback?${query}`);
  expect(heard.returned).toEqual([[answer, '']]);
});

test('a consent that comes back with an error is told to the log, and one that is given is not', async () => {
  const failed = ended({
    step: 'failed',
    code: 'consent-refused',
    detail: 'see PROVIDER_SCOPES',
    seen: null,
  });
  const returned = async ({ error }: BrowserAnswer) => (error === null ? ended() : failed);
  const { app, heard } = stage({ returned });
  await request(app).get('/connect/callback?state=known&code=c');
  expect(heard.refused).toEqual([]);
  await request(app).get('/connect/callback?state=known&error=invalid_scope');
  expect(heard.refused).toEqual(['consent-refused: see PROVIDER_SCOPES']);
});

test.each([
  ['get', '/connect'],
  ['get', '/connect?link='],
  ['post', '/connect'],
  ['post', '/connect?link=good&link=good'],
  ['post', `/connect?link=${'x'.repeat(5000)}`],
  ['post', '/connect?link=spent'],
  ['get', '/connect/callback'],
  ['get', '/connect/callback?code=c'],
  ['get', '/connect/callback?state=unknown&code=c'],
] as const)('%s %s opens nothing and says no more than that', async (method, address) => {
  const { app } = stage();
  const answer = await request(app)[method](address);
  expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('This link is not valid')]);
  expect(answer.text).not.toContain('script');
});

test.each([
  ['head', '/connect?link=good', 'GET, POST'],
  ['put', '/connect?link=good', 'GET, POST'],
  ['post', '/connect/callback?state=known&code=c', 'GET'],
] as const)('%s %s is no way in', async (method, address, allowed) => {
  const { app, heard } = stage();
  const answer = await request(app)[method](address);
  expect([answer.status, answer.headers.allow]).toEqual([405, allowed]);
  expect([heard.opened, heard.returned]).toEqual([[], []]);
});

test('what the provider does wrong is a page and a line for the operator; what we do wrong is told to nobody', async () => {
  for (const [error, status] of [
    [new GrantRefusal('unavailable', 'the catalog: timeout'), 503],
    [new GrantRefusal('unusable', 'no address'), 502],
    [new Error('a fault of ours'), 500],
  ] as const) {
    const { app, heard } = stage({ open: () => Promise.reject(error) });
    const answer = await request(app).post('/connect?link=good');
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain(error.message);
    expect(heard.failed).toEqual([error]);
  }
});

test('where a refusal may be the end of OAuth 1, the page says so, and leaves what to set to whoever runs this', async () => {
  const error = new GrantRefusal('client-refused', `the catalog: expected 200, got 401. ${oauth1Ending}`);
  const { app } = stage({ open: () => Promise.reject(error) });
  const { text } = await request(app).post('/connect?link=good');
  const told = 'The provider may have ended this kind of consent';
  expect(text).toContain(told);
  expect(text).not.toMatch(/got 401|PROVIDER_|tramline/);
  const back = stage({ returned: async () => ended({ code: 'consent-refused', detail: error.message }) });
  const page = (await request(back.app).get('/connect/callback?state=s&code=c')).text;
  expect(page).toContain(told);
  expect(page).not.toMatch(/got 401|PROVIDER_|tramline/);
});

test('organizations are named with where to connect them; every word is escaped', async () => {
  const organization = { id: '1', name: '<b>Farm</b>', unconnected: true, connectUrl: null, manageUrl: null };
  const seen = [
    { ...organization, connectUrl: 'https://provider.test/connections?a="b' },
    { ...organization, id: '2', name: null, unconnected: false, manageUrl: 'https://provider.test/manage' },
  ];
  const { app } = stage({ returned: async () => ended({ seen }) });
  const { text } = await request(app).get('/connect/callback?state=known&code=c');
  expect(text).toContain('&#60;b&#62;Farm&#60;/b&#62;');
  expect(text).toContain('href="https://provider.test/connections?a=&#34;b"');
  expect(text).toContain('href="https://provider.test/manage"');
  expect(text).toContain('<li>2');
});

test('what a consent shows no more is counted for the person, and not named', async () => {
  const { app } = stage({ returned: async () => ended({ unseen: ['4711'] }) });
  const { text } = await request(app).get('/connect/callback?state=known&code=c');
  expect(text).toContain('does not show one organization that the consent before it showed');
  expect(text).not.toContain('4711');
});

test('what is learned later is said to be', async () => {
  const { app } = stage({ returned: async () => ended({ seen: null }) });
  expect((await request(app).get('/connect/callback?state=known&code=c')).text).toContain('being learned');
});
