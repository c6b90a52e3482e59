/**
 * Where tokens are given: what goes to the API there keeps to the pause of the client key and may meet one; what goes to a
 * token endpoint does neither, and the reads that an answered consent needs are not held.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import nock from 'nock';
import { accessToken, requestToken } from '../../../src/connect/oauth1-grant';
import { makeTokenCalls } from '../../../src/fetch/token-calls';
import { Secret } from '../../../src/tools/secret';
import { connectionOf, optionsOf, origin, stillClock } from '../../support/provider-client';

const catalog = (status: number) =>
  nock(origin)
    .get('/platform/')
    .reply(status, {}, { 'retry-after': '120', 'content-type': 'application/json' });
const tokens = (status: number) => nock(origin).post('/token').reply(status, {}, { 'retry-after': '120' });

const pause = { leftMs: () => leftMs, asked: (forMs: number) => void told.push(forMs) };
let leftMs: number;
let told: number[];
let counted: number;
let booking: Promise<void> | null;
let calls: ReturnType<typeof makeTokenCalls>;
// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());
beforeEach(() => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  [leftMs, told, counted, booking] = [0, [], 0, null];
  const called = () => {
    counted += 1;
    return booking;
  };
  const options = { ...optionsOf(), called };
  calls = makeTokenCalls(options, pause, stillClock());
});
afterEach(() => {
  calls.close();
  nock.cleanAll();
  nock.enableNetConnect();
});

test('a 429 of the API is heard, one of a token endpoint is not', async () => {
  catalog(429);
  tokens(429);
  expect(await calls.links(null)).toMatchObject({ status: 429, retryAfterMs: 120_000 });
  expect(told).toEqual([120_000]);
  expect(await calls.call({ method: 'POST', url: `${origin}/token`, form: [] })).toMatchObject({
    status: 429,
  });
  expect(told).toEqual([120_000]);
});

test('in a pause the API is not asked for what can be asked again; tokens and whose they are are', async () => {
  leftMs = 1000;
  const held = { status: null, code: 'rate-limited' };
  expect(await calls.links(null)).toEqual(held);
  const url = `${origin}/platform/organizations/1/connections`;
  expect(await calls.call({ method: 'DELETE', url, ofApi: true })).toEqual(held);
  expect(counted).toBe(0);
  catalog(200);
  tokens(200);
  expect(await calls.links(connectionOf())).toHaveProperty('links');
  expect(await calls.call({ method: 'POST', url: `${origin}/token`, form: [] })).toMatchObject({
    status: 200,
  });
  expect(counted).toBe(2);
});

test('in a pause an OAuth 1 consent that was answered is redeemed, and none is begun', async () => {
  leftMs = 1000;
  await expect(requestToken(calls, 'oob')).rejects.toMatchObject({ fault: 'unavailable' });
  expect(counted).toBe(0);
  const links = [{ rel: 'oauthAccessToken', uri: `${origin}/platform/oauth/access_token` }];
  nock(origin)
    .get('/platform/')
    .reply(200, { links }, { 'content-type': 'application/json' })
    .get('/platform/oauth/access_token')
    .reply(200, 'oauth_token=access&oauth_token_secret=given');
  const pending = { token: 'request', secret: new Secret('pending') };
  const grant = await accessToken(calls, pending, 'a verifier', stillClock());
  expect([grant.token.open(), grant.tokenSecret?.open()]).toEqual(['access', 'given']);
  expect(counted).toBe(2);
});

test('a listing is read page by page with the token, and what ends it before its end comes last', async () => {
  const page = (values: unknown[], links: object[] = []) => ({ values, links });
  const json = { 'content-type': 'application/json' };
  const own = { id: '1', links: [{ rel: 'self', uri: `${origin}/platform/c/1` }] };
  const next = { rel: 'nextPage', uri: `${origin}/platform/connections?pageOffset=1` };
  nock(origin, { reqheaders: { authorization: 'Bearer canary-token' } })
    .get('/platform/connections?itemLimit=100')
    .reply(200, page([own], [next]), json)
    .get('/platform/connections?pageOffset=1')
    .reply(200, page([null]), json)
    .get('/platform/connections?itemLimit=100')
    .reply(503)
    .get('/platform/connections?itemLimit=100')
    .reply(200, { ...page([own]), total: 2 }, json);
  const listed = async (url = `${origin}/platform/connections`) => {
    const lines: unknown[] = [];
    for await (const line of calls.list(url, connectionOf())) lines.push(line);
    return lines;
  };
  expect(await listed()).toEqual([
    { document: own, self: `${origin}/platform/c/1` },
    { document: null, self: null },
  ]);
  expect(await listed()).toEqual([{ partial: expect.stringMatching(/connections – status-503$/) }]);
  // One that says that there is more is not read to its end, though it names no next page.
  expect(await listed()).toMatchObject([
    { document: own },
    { partial: expect.stringMatching(/has 2 .* showed 1$/) },
  ]);
  expect(await listed('https://elsewhere.test/')).toEqual([
    { partial: expect.stringContaining('(address-refused)') },
  ]);
});

test('a call that may not be sent any more once its connection stands is held back', async () => {
  // What stands in for the network has no connection before something is written.
  nock.restore();
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const plain = makeTokenCalls({ ...optionsOf(), issuer: url, called: () => null }, pause, stillClock());
  const call = { method: 'POST', url, form: [] as [string, string][] } as const;
  expect(await plain.call({ ...call, maySend: () => false })).toEqual({ status: null, code: 'held-back' });
  expect(await plain.call({ ...call, maySend: () => true })).toMatchObject({ status: 200 });
  expect(requests).toBe(1);
  plain.close();
  await new Promise((resolve) => server.close(resolve));
});

test('a call for tokens is booked before it is sent', async () => {
  let book = () => {};
  booking = new Promise((resolve) => {
    book = resolve;
  });
  const given = tokens(200);
  const asking = calls.call({ method: 'POST', url: `${origin}/token`, form: [] });
  await new Promise((resolve) => setImmediate(resolve));
  expect([counted, given.isDone()]).toEqual([1, false]);
  book();
  expect(await asking).toMatchObject({ status: 200 });
});
