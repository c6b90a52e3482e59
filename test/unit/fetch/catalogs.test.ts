// How long a catalog is kept, by a hand-moved clock and answers made up here.
import type { Ask } from '../../../src/fetch/ask';
import { Attempt } from '../../../src/fetch/attempt';
import { makeCatalogs } from '../../../src/fetch/catalogs';
import type { makeGate } from '../../../src/fetch/gate';
import type { Connection } from '../../../src/model/connection';
import { Secret } from '../../../src/tools/secret';

const connection: Connection = {
  connectionId: 'c1',
  user: 'user',
  auth: 'oauth2',
  token: new Secret('a-token'),
  sealedToken: 'sealed',
  tokenSecret: null,
  refresh: null,
  expiresAt: null,
  status: 'valid',
};

function stage(auth: Connection['auth'] = 'oauth2') {
  const own = { ...connection, auth };
  const state = {
    nowMs: 1_000,
    uri: 'https://api.example/first',
    fails: false,
    reads: 0,
    body: null as unknown,
  };
  const ask: Ask = async ({ url, connection: asked }) => {
    if (asked === null)
      return { kind: 'reauthorize', connectionId: '', message: 'Unauthorized', sealedToken: null };
    state.reads += 1;
    if (state.fails)
      return {
        kind: 'transient',
        code: 'status-503',
        detail: '',
        origin: url.origin,
        connectionId: 'c1',
        retryAfterMs: null,
      };
    const body = state.body ?? { links: [{ rel: 'files', uri: state.uri }] };
    return {
      kind: 'ok',
      document: { body, address: url.href, mediaType: 'application/json', connectionId: 'c1' },
    } as never;
  };
  const catalogUrl = new URL('https://api.example/');
  const gate = { refuseAuthorization: () => undefined } as unknown as ReturnType<typeof makeGate>;
  const catalogs = makeCatalogs({
    catalogUrl,
    timeoutMs: 1_000,
    ask,
    gate,
    connections: () => [own],
    nowMs: () => state.nowMs,
  });
  const addressBy = async (read: typeof catalogs.of) => {
    const attempt = new Attempt(1_000);
    const result = await read(own, attempt);
    attempt.end();
    return 'catalog' in result ? result.catalog.links.get('files') : result.answer.kind;
  };
  const address = () => addressBy(catalogs.of);
  const addressAnew = () => addressBy(catalogs.again);
  return { state, catalogs, address, addressAnew };
}

test('a catalog is read once in five minutes, and then what it says now counts', async () => {
  const { state, catalogs, address } = stage();
  expect(await address()).toBe('https://api.example/first');
  state.uri = 'https://api.example/second';
  state.nowMs += 299_999;
  expect(await address()).toBe('https://api.example/first');
  expect(state.reads).toBe(1);
  state.nowMs += 1;
  expect(catalogs.known(connection)).toBeNull();
  expect(await address()).toBe('https://api.example/second');
  expect(state.reads).toBe(2);
});

test('an old one is used on while it cannot be read, and tried once in five minutes', async () => {
  const { state, address } = stage();
  await address();
  state.nowMs += 300_000;
  state.fails = true;
  expect(await address()).toBe('https://api.example/first');
  expect(await address()).toBe('https://api.example/first');
  expect(state.reads).toBe(2);
});

test('without any, the provider’s trouble is the answer', async () => {
  const { state, address } = stage();
  state.fails = true;
  expect(await address()).toBe('transient');
});

test.each([
  [{ links: 5 }, 'expected a list of links, got number'],
  [{ links: 'x', link: null }, 'expected a list of links, got string'],
  [{ links: [null, 3] }, 'expected an object as link, got null'],
  [{ links: [{ rel: 'files', uri: 5 }] }, 'expected an address in the link `files`, got number'],
  [{ error: 'x' }, 'expected a list of links, got an object without it'],
  [[], 'expected a list of links, got a list'],
])('%j is no catalog: it is told in words, and the former one stays', async (body, words) => {
  const { state, catalogs, address, addressAnew } = stage();
  state.body = body;
  const attempt = new Attempt(1_000);
  expect(await catalogs.of(connection, attempt)).toMatchObject({
    answer: { kind: 'transient', code: 'catalog-unavailable', detail: `${words} at https://api.example/` },
  });
  attempt.end();
  state.body = null;
  expect(await address()).toBe('https://api.example/first');
  state.body = body;
  expect(await addressAnew()).toBe('transient');
  expect(await address()).toBe('https://api.example/first');
});

test('a catalog with one link that cannot be read keeps the former one of that name alone', async () => {
  const { state, catalogs, address, addressAnew } = stage();
  const former = [
    { rel: 'files', uri: 'https://api.example/first' },
    { rel: 'organizations', uri: 'https://api.example/organizations' },
  ];
  state.body = { links: former };
  await address();
  state.body = {
    links: [
      { rel: 'files', uri: null },
      { rel: 'more', uri: 'https://api.example/more' },
    ],
  };
  expect(await addressAnew()).toBe('https://api.example/first');
  expect([...catalogs.known(connection)!.links.keys()].toSorted()).toEqual(['files', 'more']);
  state.body = { links: [] };
  expect(await addressAnew()).toBeUndefined();
});

test('an application that is refused concerns no OAuth 2 consent, and refuses no OAuth 1 token', async () => {
  const { state, address, addressAnew } = stage('oauth2');
  expect(await address()).toBe('https://api.example/first');
  state.uri = 'https://api.example/moved';
  expect(await addressAnew()).toBe('https://api.example/moved');
  expect(await stage('oauth1').address()).toBe('client-refused');
});
