// Goal: a command beside no service keeps to the pause that any process was asked for, and leaves the one that it is
// asked for itself to the others. Method: the real embedded store, and a provider that nock stands for.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import nock from 'nock';
import request from 'supertest';
import { conditionRows } from '../../../src/alert/catalogue';
import { loadSettings } from '../../../src/config';
import { sealTokens } from '../../../src/connect/token-vault';
import type { SealedConnection } from '../../../src/model/connection';
import type { Grant } from '../../../src/model/consent';
import { isProblem, Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { checkProvider } from '../../../src/wire/check-provider';
import { makeOwnProvider, type OwnProvider } from '../../../src/wire/provider';
import { openSqlite } from '../../contract/open-sqlite';
import type { StoreUnderTest } from '../../contract/store-hand';

const origin = 'http://127.0.0.1:9100';
const token = { connection: 'c1', user: 'ann', auth: 'oauth2', token: 'canary-token' };
const given = {
  PROVIDER_VENDOR: 'acme',
  PROVIDER_URL: `${origin}/platform/`,
  PROVIDER_EQUIPMENT_URL: `${origin}/isg`,
  PROVIDER_CLIENT_KEY: 'key',
  PROVIDER_CLIENT_SECRET: 'canary-secret',
  PROVIDER_AUTH: 'oauth2',
  PROVIDER_ISSUER: origin,
  PROVIDER_TOKENS: JSON.stringify([token]),
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  PUBLIC_URL: 'http://127.0.0.1:8080',
};
const { settings } = loadSettings('command', given);
const json = { 'content-type': 'application/vnd.acme.axiom.v3+json' };

let under: StoreUnderTest;
let own: OwnProvider;
// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());
beforeEach(async () => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  under = await openSqlite();
  own = makeOwnProvider(settings, under.store);
});
afterEach(async () => {
  await own.close();
  await under.close();
  nock.cleanAll();
  nock.enableNetConnect();
});

/** What a person is told who asks for a machine. */
async function told(): Promise<string> {
  const error = await own.api.equipmentRecord('7', null).catch((thrown: unknown) => thrown);
  return isProblem(error, 'provider.unavailable') ? error.message : `not that: ${error}`;
}

const catalog = () =>
  nock(origin)
    .get('/platform/')
    .reply(200, { links: [{ rel: 'organizations', uri: `${origin}/platform/organizations` }] }, json);
const limited = () =>
  nock(origin).get('/platform/organizations').query(true).reply(429, {}, { 'retry-after': '600' });

test('in a pause that another process was asked for nothing is sent, and whoever asks is told until when', async () => {
  await under.store.pauseReading(600_000);
  const [fromMs, words] = [
    Date.now(),
    /^the provider asks for fewer calls: nothing is asked of it before (\S+Z)/,
  ];
  const [, until = ''] = words.exec(await told()) ?? [];
  expect(Date.parse(until) - fromMs).toBeGreaterThan(500_000);
  expect(Date.parse(until) - fromMs).toBeLessThan(700_000);
  expect(await own.end('4711')).toBe(false);
  await expect(own.check()).rejects.toThrow('nothing is asked of it before');
  expect(nock.isDone()).toBe(true);
});

test('connections that no key opens are listed and can be revoked, and a check says that the key is missing', async () => {
  await expect(own.connections.list({ limit: 9, after: null })).resolves.toMatchObject([{ id: 'c1' }]);
  await own.close();
  const ENCRYPTION_KEYS = `k2:${Buffer.alloc(32, 8).toString('base64')}`;
  const { PROVIDER_TOKENS: _named, ...rest } = given;
  own = makeOwnProvider(loadSettings('command', { ...rest, ENCRYPTION_KEYS }).settings, under.store);
  const missing = 'no encryption key with id k1 is configured';
  await expect(checkProvider(own.check, async () => [])).rejects.toMatchObject({
    message: `stored tokens cannot be opened: ${missing}`,
    next: conditionRows['decryption-failed'].firstStep,
  });
  const wanted = { auth: 'oauth2', user: 'ann', callback: null } as const;
  await expect(own.connections.ask(wanted)).rejects.toThrow(missing);
  await expect(own.connections.list({ limit: 9, after: null })).resolves.toMatchObject([
    { id: 'c1', user: 'ann', unlisted: `its tokens cannot be opened: ${missing}` },
  ]);
  await expect(own.connections.revoke('c1')).resolves.toEqual({
    id: 'c1',
    state: 'revoked',
    atProvider: false,
    subscriptions: [],
  });
  await expect(own.connections.ask(wanted)).resolves.toMatchObject({ address: expect.any(String) });
});

test.each([
  ['ENCRYPTION_KEYS', 'ENCRYPTION_KEYS holds no key'],
  ['PROVIDER_VENDOR', 'PROVIDER_VENDOR, _URL, _EQUIPMENT_URL, _CLIENT_KEY and _CLIENT_SECRET are needed'],
] as const)('a check of the provider that lacks %s leads to the settings', async (name, message) => {
  const { PROVIDER_TOKENS: _named, ...rest } = given;
  await own.close();
  own = makeOwnProvider(loadSettings('command', { ...rest, [name]: undefined }).settings, under.store);
  await expect(checkProvider(own.check, async () => [])).rejects.toMatchObject({
    message,
    next: expect.stringContaining('Set what it names'),
  });
});

test('a receiver without keys names who can be asked instead', async () => {
  const { PROVIDER_TOKENS: _named, ENCRYPTION_KEYS: _keys, ...rest } = given;
  const receiver = { ...rest, ROLE: 'receiver', DATABASE_URL: 'postgres://db/tramline' };
  await own.close();
  own = makeOwnProvider(loadSettings('command', receiver).settings, under.store);
  const text = 'this receiver has no ENCRYPTION_KEYS: TRAMLINE_URL must name a worker';
  const refused = expect.objectContaining({ code: 'settings.invalid', message: text });
  await expect(own.connections.list({ limit: 9, after: null })).rejects.toEqual(refused);
  await expect(own.end('4711')).rejects.toEqual(refused);
  await expect(own.subscribing.api.delivery()).rejects.toEqual(refused);
});

test('of a connection whose subscriptions cannot be told now nothing is erased', async () => {
  const unread = () => Promise.reject(new Error('away'));
  const store = new Proxy({} as Store, {
    get: (_, name) => (name === 'listWebhookSecrets' ? unread : Reflect.get(under.store, name)),
  });
  const other = makeOwnProvider(settings, store);
  await expect(other.connections.revoke('c1')).rejects.toThrow('away');
  await other.close();
  await expect(own.connections.list({ limit: 9, after: null })).resolves.toMatchObject([{ id: 'c1' }]);
});

test('a check reads the connections anew: a token that was opened before and cannot be any more fails it', async () => {
  await expect(own.connections.list({ limit: 9, after: null })).resolves.toHaveLength(1);
  const [{ connectionId, sealedToken, ...row }] = (await under.store.listConnections()) as [SealedConnection];
  const tokens = { sealedTokenSecret: null, sealedRefresh: null, expiresAt: row.expiresAt };
  await under.store.replaceTokens(connectionId, sealedToken, {
    ...tokens,
    sealedToken: `k3${sealedToken.slice(2)}`,
  });
  await expect(checkProvider(own.check, async () => [])).rejects.toThrow(
    'stored tokens cannot be opened: no encryption key with id k3 is configured',
  );
});

test('a check gives the store one time for all that is read of it first', async () => {
  const { PROVIDER_TOKENS: _named, ...rest } = given;
  const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  let reads = 0;
  const slow = {
    listConnections: async () => {
      reads += 1;
      await after(reads === 1 ? 2000 : 10_000);
      return [];
    },
    connectionsMark: async () => 0,
    readingPause: async () => null,
  } as unknown as Store;
  jest.useFakeTimers();
  try {
    const other = makeOwnProvider(loadSettings('command', rest).settings, slow);
    const checked = other.check().catch(({ message }) => message);
    await jest.advanceTimersByTimeAsync(3000);
    expect(await Promise.race([checked, 'not yet'])).toBe('the store gives no answer within 3 s');
    expect(reads).toBe(2);
  } finally {
    jest.useRealTimers();
  }
});

test('a check of the provider that lacks the store leads to the store', async () => {
  const full = async () => {
    throw new Problem('store.unavailable', 'database or disk is full');
  };
  await expect(checkProvider(full, full)).rejects.toMatchObject({
    message: 'not asked, since its tokens cannot be read: database or disk is full',
    next: 'Look at the store first.',
  });
});

test('a check that the provider refuses compares its clock all the same, and with nothing that was heard before', async () => {
  const fromMs = Date.now();
  const date = new Date(fromMs - 600_000).toUTCString();
  nock(origin).get('/platform/').reply(500, {}, { date });
  await expect(own.check()).rejects.toThrow();
  expect(own.clockOffsetMs(fromMs)! / 1000).toBeCloseTo(-600, -1);
  expect(own.clockOffsetMs(Date.now() + 1000)).toBeNull();
});

test('a check asks the issuer too, and says where its metadata were sought in vain', async () => {
  catalog();
  nock(origin).get('/platform/organizations').query(true).reply(200, { links: [], values: [] }, json);
  nock(origin).get('/isg/equipmentMakes').query(true).reply(200, { links: [], values: [] }, json);
  nock(origin).get('/.well-known/oauth-authorization-server').reply(404);
  await expect(own.check()).resolves.toEqual({
    detail:
      `answers for 1 connection; no token can be had: the issuer’s metadata at ${origin}/.well-known/` +
      'oauth-authorization-server: expected 200, got 404',
    next: expect.stringContaining('Compare PROVIDER_ISSUER'),
  });
  expect(nock.isDone()).toBe(true);
});

test('a check leaves an issuer alone of which nobody has, or is to have, a token', async () => {
  await own.close();
  const PROVIDER_TOKENS = JSON.stringify([{ ...token, auth: 'oauth1', secret: 'canary-token-secret' }]);
  const oauth1 = { ...given, PROVIDER_AUTH: 'oauth1', PROVIDER_TOKENS };
  own = makeOwnProvider(loadSettings('command', oauth1).settings, under.store);
  catalog();
  catalog();
  nock(origin).get('/platform/organizations').query(true).reply(200, { links: [], values: [] }, json);
  nock(origin).get('/isg/equipmentMakes').query(true).reply(200, { links: [], values: [] }, json);
  await expect(own.check()).resolves.toEqual({ detail: 'answers for 1 connection', next: null });
});

test('the pause that the provider asks a command for holds everybody, and is not taken for an absence', async () => {
  catalog();
  limited();
  expect(await told()).toMatch(/nothing is asked of it before/);
  expect(await told()).toMatch(/nothing is asked of it before/);
  expect(nock.isDone()).toBe(true);
  await own.close();
  const pause = await under.store.readingPause();
  expect(pause!.leftMs).toBeGreaterThan(500_000);
});

test('a close waits for the provider no longer than it is given, and tells whose renewal that leaves in doubt', async () => {
  let show = () => {};
  const shown = new Promise<void>((resolve) => (show = resolve));
  // A real one: the token is shown only once a connection stands.
  const server = createServer((incoming, answer) => {
    if (incoming.method === 'POST') return show();
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    answer.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer, ...endpoints }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  nock.enableNetConnect(new URL(issuer).host);
  const { PROVIDER_TOKENS: _named, ...rest } = given;
  const renewing = loadSettings('command', { ...rest, PROVIDER_ISSUER: issuer }).settings;
  const grant: Grant = {
    auth: 'oauth2',
    token: new Secret('former'),
    tokenSecret: null,
    refresh: new Secret('refresh'),
    expiresAt: new Date(Date.now() - 1000).toISOString(),
  };
  const tokens = sealTokens('c1', grant, makeSealer(renewing.encryptionKeys!));
  const row = { connectionId: 'c1', user: 'ann', organizations: [] };
  await under.store.saveConnection({ ...tokens, ...row, auth: 'oauth2', status: 'valid' });

  const lost: string[] = [];
  const other = makeOwnProvider(renewing, under.store, undefined, (detail) => void lost.push(detail));
  const checked = other.check().catch((error: Error) => error);
  await shown;
  expect(await other.close(0)).toBe(false);
  expect(lost).toEqual([expect.stringContaining('did not answer the renewal of connection c1')]);
  await checked;
  server.closeAllConnections();
  server.close();
});

describe('the public routes of a process that reads nothing itself', () => {
  let receiver: OwnProvider;
  const told: unknown[] = [];
  const observer = {
    fault: (_place: unknown, error: unknown) => void told.push(error),
    trouble: ({ code }: { code: string }) => void told.push(code),
  } as unknown as Parameters<OwnProvider['routes']>[0];
  afterEach(() => receiver.close());

  /** A link that another process made is opened at a receiver that has not looked at the store yet. */
  async function pressLink(away = 0) {
    told.length = 0;
    nock.enableNetConnect((host) => host.startsWith('127.0.0.1:') && host !== new URL(origin).host);
    const { address } = await own.connections.ask({ auth: 'oauth1', user: null, callback: null });
    let left = away;
    const readingPause = async () => {
      left -= 1;
      if (left >= 0) throw new Error('the store is away');
      return under.store.readingPause();
    };
    receiver = makeOwnProvider(
      settings,
      Object.create(under.store, { readingPause: { value: readingPause } }),
    );
    const app = express().use('/connect', receiver.routes(observer));
    return () => request(app).post(`/connect${new URL(address!).search}`);
  }
  const beginsConsent = () => {
    const relationships = ['oauthRequestToken', 'oauthAuthorizeRequestToken', 'oauthAccessToken'];
    const links = relationships.map((rel) => ({ rel, uri: `${origin}/platform/${rel}?oauth_token={token}` }));
    links[0]!.uri = `${origin}/platform/request_token`;
    nock(origin).get('/platform/').reply(200, { links }, json);
    const body = 'oauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=true';
    nock(origin).get('/platform/request_token').reply(200, body, { 'content-type': 'text/plain' });
  };

  test('ask nothing in a pause that another process was asked for', async () => {
    const press = await pressLink();
    await under.store.pauseReading(60_000);
    beginsConsent();
    expect((await press()).status).toBe(503);
    expect(told).toEqual(['grant-unavailable']);
    expect(nock.pendingMocks()).toHaveLength(2);
  });

  test('begin a consent where there is none, also after a store that was away', async () => {
    const press = await pressLink(1);
    expect([(await press()).status, told]).toEqual([500, [new Error('the store is away')]]);
    beginsConsent();
    expect((await press()).status).toBe(303);
    expect(nock.isDone()).toBe(true);
  });
});
