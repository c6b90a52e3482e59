// Consents step by step on a store of their own: what is kept, what opens once, and what a provider that fails, or another
// user, leads to.
import { type ConsentDoors, makeConsents } from '../../../src/connect/consents';
import { GrantRefusal } from '../../../src/connect/grant-refusal';
import { requestToken } from '../../../src/connect/oauth1-grant';
import type { Grant, TokenCall, TokenCalls, TokenReply } from '../../../src/model/consent';
import { declined } from '../../../src/model/consent-error';
import { isProblem } from '../../../src/model/problem';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { openSqlite } from '../../contract/open-sqlite';
import type { StoreUnderTest } from '../../contract/store-hand';

const catalog = new Map([
  ['oauthRequestToken', 'https://provider.test/oauth/request_token'],
  ['oauthAuthorizeRequestToken', 'https://pages.provider.test/consent?oauth_token={token}'],
  ['oauthAccessToken', 'https://provider.test/oauth/access_token'],
]);
const form = (body: string): TokenReply => ({
  status: 200,
  mediaType: 'text/plain',
  body,
  retryAfterMs: null,
});

let under: StoreUnderTest;
let called: TokenCall[];
let reply: (call: TokenCall) => TokenReply;
let userLinks: Map<string, string>;
let document: unknown;
let revoked: number;
/** How often each of these reads is answered so from now on. */
let troubles: { of: 'catalog' | 'currentUser'; times: number; reply: TokenReply } | null;

beforeEach(async () => {
  under = await openSqlite();
  called = [];
  userLinks = new Map();
  document = null;
  revoked = 0;
  troubles = null;
  reply = ({ url }) =>
    form(
      url.endsWith('request_token')
        ? 'oauth_token=request%20token&oauth_token_secret=s%2B/=&oauth_callback_confirmed=true'
        : 'oauth_token=access&oauth_token_secret=a+b/=',
    );
});
afterEach(() => under.close());

function consentsWith(more: Partial<ConsentDoors> = {}) {
  const calls: TokenCalls = {
    catalogAddress: 'https://api.provider.test/platform/',
    async call(call) {
      called.push(call);
      return reply(call);
    },
    async links(token) {
      if (token === null) return { links: catalog };
      return troubleOf('catalog') ?? { links: userLinks };
    },
    read: async () => troubleOf('currentUser') ?? { document },
    close: () => {},
  };
  const grant: Grant = {
    auth: 'oauth2',
    token: new Secret(`h.${Buffer.from('{"sub":"ann"}').toString('base64url')}.s`),
    tokenSecret: null,
    refresh: new Secret('r'),
    expiresAt: null,
  };
  return makeConsents({
    store: under.store,
    sealer: makeSealer([{ id: 'k1', key: Buffer.alloc(32, 1) }]),
    calls,
    server: {
      consentAddress: async ({ state }) => `https://signin.provider.test/authorize?state=${state}`,
      redeem: async () => grant,
      refresh: async () => grant,
      application: async () => grant.token,
      trouble: async () => null,
      revoke: async () => {
        revoked += 1;
        return true;
      },
    },
    auth: 'oauth1',
    publicUrl: 'https://tramline.test/',
    connected: async () => [],
    clock: { nowMs: under.nowMs, steadyMs: under.nowMs, wait: async () => {} },
    ...more,
  });
}

function troubleOf(read: 'catalog' | 'currentUser'): TokenReply | null {
  if (troubles?.of !== read || troubles.times === 0) return null;
  troubles.times -= 1;
  return troubles.reply;
}

const byLink = { auth: null, user: null, callback: null };
const linkOf = (address: string | null) => new URL(address!).searchParams.get('link')!;

test('the callback is signed, the template is expanded, and secrets that hold a plus sign stay whole', async () => {
  const consents = consentsWith();
  const { id, address } = await consents.ask({ ...byLink, user: 'ann' });
  expect(address).toMatch(/^https:\/\/tramline\.test\/connect\?link=[\w-]{43}$/);
  const page = await consents.open(linkOf(address), 'browser');
  expect(page?.address).toBe('https://pages.provider.test/consent?oauth_token=request%20token');
  expect(called[0]).toMatchObject({
    method: 'GET',
    sign: { token: null, callback: 'https://tramline.test/connect/callback' },
  });
  const back = { token: 'request token', code: 'a verifier', error: null };
  expect(await consents.returned(back, 'browser')).toMatchObject({ step: 'done', seen: [] });
  const { sign } = called[1]!;
  expect([sign!.verifier, sign!.token!.tokenSecret!.open()]).toEqual(['a verifier', 's+/=']);
  const view = await consents.view(id);
  expect(view.connection).toMatchObject({ user: 'ann', auth: 'oauth1', status: 'valid' });
  expect(await consents.returned(back, 'browser')).toBeNull();
  // At rest nothing of it can be read.
  const rows = JSON.stringify([await under.store.listConnections(), await under.store.findConsent(id)]);
  for (const secret of ['a verifier', 's+/=', 'a+b/=', linkOf(address)]) expect(rows).not.toContain(secret);
});

test('a provider that does not answer leaves the link as it was; one that refuses ends it', async () => {
  const consents = consentsWith();
  const { id, address } = await consents.ask(byLink);
  const good = reply;
  reply = () => ({ status: 503, mediaType: '', body: '', retryAfterMs: null });
  await expect(consents.open(linkOf(address), 'b')).rejects.toBeInstanceOf(GrantRefusal);
  reply = good;
  expect(await consents.open(linkOf(address), 'b')).not.toBeNull();
  expect(await consents.open(linkOf(address), 'b')).toBeNull();
  expect((await consents.view(id)).step).toBe('asked');

  const second = await consents.ask(byLink);
  reply = () => ({ status: 401, mediaType: '', body: 'the secret s+/=', retryAfterMs: null });
  await expect(consents.open(linkOf(second.address), 'b')).rejects.toThrow('got 401');
  const view = await consents.view(second.id);
  expect(view).toMatchObject({
    step: 'failed',
    code: 'consent-refused',
    detail: 'the request token call at https://provider.test/oauth/request_token: expected 200, got 401',
  });
});

test('what comes back in another browser is said to be that, and ends nothing for the one that began', async () => {
  const consents = consentsWith();
  const { id, address } = await consents.ask(byLink);
  await consents.open(linkOf(address), 'browser');
  const back = { token: 'request token', code: 'v', error: null };
  under.advance(60_000);
  for (const other of [back, { ...back, error: declined }]) {
    expect(await consents.returned(other, '')).toMatchObject({
      step: 'asked',
      code: 'consent-other-browser',
    });
  }
  expect(called).toHaveLength(1);
  expect(await consents.view(id)).toMatchObject({ step: 'asked', code: 'consent-other-browser' });
  under.advance(839_000);
  expect(await consents.returned(back, 'browser')).toMatchObject({ step: 'done', code: null });
  expect(await consents.view(id)).toMatchObject({ step: 'done', code: null, detail: null });
});

test('a link that opens once more does so for as long as it would have', async () => {
  const consents = consentsWith();
  const good = reply;
  for (const [laterMs, opens] of [
    [299_999, true],
    [300_000, false],
  ] as const) {
    const { address } = await consents.ask(byLink);
    reply = () => ({ status: 503, mediaType: '', body: '', retryAfterMs: null });
    under.advance(600_000);
    await expect(consents.open(linkOf(address), 'b')).rejects.toBeInstanceOf(GrantRefusal);
    reply = good;
    under.advance(laterMs);
    expect((await consents.open(linkOf(address), 'b')) !== null).toBe(opens);
  }
});

test('what came back in another browser once is waited for no longer than before', async () => {
  const consents = consentsWith();
  const { address } = await consents.ask(byLink);
  await consents.open(linkOf(address), 'browser');
  const back = { token: 'request token', code: 'v', error: null };
  under.advance(60_000);
  await consents.returned(back, 'other');
  under.advance(840_000);
  expect(await consents.returned(back, 'browser')).toBeNull();
});

test('a fault of ours is no word of the provider: it is thrown, and ends nothing', async () => {
  const fails = () => {
    throw new TypeError('x is undefined');
  };
  const consents = consentsWith({ connected: async () => fails() });
  const carried = await consents.ask({ auth: 'oauth1', user: null, callback: 'oob' });
  const answer = consents.answer(carried.id, { code: 'v', token: null });
  await expect(answer).rejects.toThrow('x is undefined');
  expect(await consents.view(carried.id)).toMatchObject({ step: 'taken', code: null });
  const { id, address } = await consents.ask(byLink);
  reply = fails;
  const asked = consents.ask({ auth: 'oauth1', user: null, callback: 'oob' });
  await expect(asked).rejects.toBeInstanceOf(TypeError);
  await expect(consents.open(linkOf(address), 'b')).rejects.toThrow('x is undefined');
  expect(await consents.view(id)).toMatchObject({ step: 'link', code: null });
});

test('while a code is traded the consent is seen as taken, and holds no secret any more', async () => {
  const seen: unknown[] = [];
  const consents = consentsWith({
    async connected() {
      const { id } = await asked;
      const { body } = (await under.store.findConsent(id))!;
      seen.push((await consents.view(id)).step, (JSON.parse(body) as { sealed: unknown }).sealed);
      return null;
    },
  });
  const asked = consents.ask({ auth: 'oauth1', user: null, callback: 'oob' });
  await consents.answer((await asked).id, { code: 'v', token: null });
  expect(seen).toEqual(['taken', null]);
  under.advance(3_600_000);
  const connection = { auth: 'oauth1', status: 'valid', organizations: [] };
  const done = { step: 'done', code: null, connection, unseen: [] };
  expect(await consents.view((await asked).id)).toMatchObject(done);
});

test.each([
  [{ code: null, error: declined }, 'consent-declined', 'the user declined'],
  [{ code: null, error: null }, 'consent-refused', 'it came back without an answer'],
])('what comes back with %j ends the consent, and nothing is traded', async (back, code, detail) => {
  const consents = consentsWith();
  const { id, address } = await consents.ask(byLink);
  await consents.open(linkOf(address), 'browser');
  const ended = { step: 'failed', code, detail, connection: null, unseen: [] };
  const token = 'request token';
  expect(await consents.returned({ token, ...back }, 'browser')).toMatchObject({ ...ended, seen: null });
  expect(called).toHaveLength(1);
  // Whoever waits for it learns of it for an hour.
  under.advance(3_600_000);
  expect(await consents.view(id)).toMatchObject(ended);
  expect(await consents.returned({ token, code: 'v', error: null }, 'browser')).toBeNull();
});

test('a consent that nobody answers runs out', async () => {
  const consents = consentsWith();
  const { id, address } = await consents.ask(byLink);
  under.advance(899_999);
  const waiting = { step: 'link', code: null, detail: null, connection: null };
  expect(await consents.view(id)).toMatchObject(waiting);
  expect((await consents.view(id)).expiresAt).toBe(new Date(under.nowMs() + 1).toISOString());
  under.advance(1);
  expect(await consents.view(id)).toMatchObject({
    ...{ step: 'failed', code: 'consent-expired', detail: 'nobody answered in time' },
  });
  expect(await consents.open(linkOf(address), 'b')).toBeNull();
});

test('the catalog’s current user names the connection, and the same user keeps it under any method', async () => {
  const consents = consentsWith();
  userLinks = new Map([['currentUser', 'https://provider.test/users/@currentUser']]);
  document = { accountName: 'ann' };
  const ask = async (auth: 'oauth1' | 'oauth2') => {
    const { id } = await consents.ask({ auth, user: null, callback: 'oob' });
    return consents.answer(id, { code: 'v', token: null });
  };
  const first = await ask('oauth1');
  const second = await ask('oauth2');
  expect(first.connection).toMatchObject({ user: 'ann', auth: 'oauth1' });
  expect(second.connection).toEqual({ ...first.connection, auth: 'oauth2', renews: true, expiresAt: null });
});

test('without a name from anybody each consent is a connection of its own', async () => {
  const consents = consentsWith();
  for (let round = 0; round < 2; round += 1) {
    const { id } = await consents.ask({ auth: 'oauth1', user: null, callback: 'oob' });
    await consents.answer(id, { code: 'v', token: null });
  }
  expect(new Set((await under.store.listConnections()).map(({ user }) => user)).size).toBe(2);
});

test('where the provider names nobody, what a new token is shown is what is told, and what it misses is named', async () => {
  let shown: string[] | null = [];
  const consents = consentsWith({
    async connected(connectionId) {
      if (shown === null) return null;
      await under.store.learn(shown.map((id) => ({ id, name: null, connectionId })));
      await under.store.keepSights(connectionId, shown);
      return shown.map((id) => ({ id, name: null, unconnected: false, connectUrl: null, manageUrl: null }));
    },
  });
  const consentShown = async (ids: string[] | null) => {
    shown = ids;
    const { id } = await consents.ask({ auth: 'oauth1', user: 'ann', callback: 'oob' });
    await consents.answer(id, { code: 'v', token: null });
    const { connection, unseen } = await consents.view(id);
    return [connection!.organizations, unseen];
  };
  expect(await consentShown(['4711', '4712'])).toEqual([['4711', '4712'], []]);
  expect(await consentShown(['4712', '4724'])).toEqual([['4712', '4724'], ['4711']]);
  expect(await consentShown(['4711', '4712', '4724'])).toEqual([['4711', '4712', '4724'], []]);
  expect(await consentShown(null)).toEqual([[], []]);
});

describe('a consent whose answer a command carries', () => {
  test('tells the address, and is ended by its own answer alone', async () => {
    const consents = consentsWith({ auth: 'oauth2' });
    const ask = () => consents.ask({ auth: null, user: null, callback: 'OOB' });
    const [good, bad] = [await ask(), await ask()];
    const state = (address: string | null) => new URL(address!).searchParams.get('state')!;
    expect([good.step, state(good.address) === state(bad.address)]).toEqual(['asked', false]);
    expect(await consents.answer(bad.id, { code: 'c', token: state(good.address) })).toMatchObject({
      ...{ step: 'failed', code: 'consent-refused', detail: 'the answer belongs to another request' },
    });
    expect(await under.store.listConnections()).toEqual([]);
    expect(await consents.answer(good.id, { code: 'c', token: state(good.address) })).toMatchObject({
      ...{ step: 'done', connection: { user: 'ann' } },
    });
    for (const { id } of [good, bad]) {
      const again = consents.answer(id, { code: 'c', token: null });
      await expect(again).rejects.toMatchObject({ code: 'command.not-found' });
    }
    await expect(consents.view('unknown')).rejects.toMatchObject({ code: 'command.not-found' });
  });

  test('names the way back that was asked for: its own scheme, or none', async () => {
    const redirects: string[] = [];
    const consents = consentsWith({
      server: {
        consentAddress: async ({ redirectUri }) => {
          redirects.push(redirectUri);
          return 'https://signin.provider.test/authorize';
        },
      } as ConsentDoors['server'],
    });
    for (const callback of ['OOB', 'app:/back']) {
      await consents.ask({ auth: 'oauth2', user: null, callback });
      await consents.ask({ auth: 'oauth1', user: null, callback });
    }
    expect(redirects).toEqual(['urn:ietf:wg:oauth:2.0:oob', 'app:/back']);
    expect(called.map(({ sign }) => sign!.callback)).toEqual(['OOB', 'app:/back']);
  });

  test.each([
    [503, '', 'provider.unavailable'],
    [200, 'oauth_token=one', 'provider.malformed'],
    [401, '', 'provider.refused'],
  ])('is not asked for where the provider answers %i %j: %s', async (status, body, code) => {
    reply = () => ({ status, mediaType: '', body, retryAfterMs: null });
    const asked = consentsWith().ask({ auth: 'oauth1', user: null, callback: 'oob' });
    await expect(asked).rejects.toMatchObject({ code });
  });
});

test('another user’s consent is given back', async () => {
  const consents = consentsWith({ auth: 'oauth2' });
  const { id } = await consents.ask({ auth: null, user: 'bob', callback: 'oob' });
  expect(await consents.answer(id, { code: 'c', token: null })).toMatchObject({ code: 'consent-other-user' });
  expect(revoked).toBe(1);
  expect(await under.store.listConnections()).toEqual([]);
});

describe('a consent of which OAuth 1 named nobody', () => {
  const consentOf = async (auth: 'oauth1' | 'oauth2', user: string | null) => {
    const consents = consentsWith();
    const { id } = await consents.ask({ auth, user, callback: 'oob' });
    return consents.answer(id, { code: 'v', token: null });
  };
  const all = async () => (await under.store.listConnections()).map(({ user, auth }) => [user, auth]);

  test('is followed by the OAuth 2 one under the same id, which brings the name', async () => {
    const first = (await consentOf('oauth1', null)).connection!;
    const next = await consentOf('oauth2', null);
    expect(next.connection).toMatchObject({ id: first.id, user: 'ann', auth: 'oauth2' });
    expect(await all()).toEqual([['ann', 'oauth2']]);
  });

  test('is followed by the one that is asked for by its id, whichever others there are', async () => {
    const first = (await consentOf('oauth1', null)).connection!;
    const other = (await consentOf('oauth1', null)).connection!;
    expect((await consentOf('oauth1', other.id)).connection).toMatchObject({ id: other.id, user: other.id });
    const next = await consentOf('oauth2', first.id);
    expect(next.connection).toMatchObject({ id: first.id, user: 'ann', auth: 'oauth2' });
    expect(await all()).toHaveLength(2);
    // A name that is known is held to, whichever way it is asked for.
    expect((await consentOf('oauth2', first.id)).connection).toMatchObject({ id: first.id, user: 'ann' });
    expect((await consentOf('oauth1', first.id)).connection).toMatchObject({ id: first.id, user: 'ann' });
  });

  test('is not taken for that of a user who has another connection, nor for one of several', async () => {
    await consentOf('oauth2', null);
    const nameless = (await consentOf('oauth1', null)).connection!;
    const refused = await consentOf('oauth2', nameless.id);
    expect(refused).toMatchObject({ code: 'consent-other-user', connection: null });
    expect(refused.detail).toContain(`tramline connections revoke ${nameless.id}`);
    expect(revoked).toBe(1);
    expect((await consentOf('oauth2', null)).connection).toMatchObject({ user: 'ann' });
    const former = [nameless.id, 'oauth1'];
    expect(await all()).toEqual(expect.arrayContaining([former, ['ann', 'oauth2']]));
  });

  test('is not followed by that of a user who was named, or by the same method', async () => {
    await consentOf('oauth1', null);
    await consentOf('oauth1', null);
    await consentOf('oauth2', 'ann');
    expect(await all()).toHaveLength(3);
  });
});

describe('where the catalog has a current user', () => {
  const busy: TokenReply = { status: 503, mediaType: '', body: '', retryAfterMs: null };
  const always = Number.POSITIVE_INFINITY;
  const consentOf = async (auth: 'oauth1' | 'oauth2', user: string | null) => {
    const consents = consentsWith();
    const { id } = await consents.ask({ auth, user, callback: 'oob' });
    return consents.answer(id, { code: 'v', token: null });
  };
  beforeEach(async () => {
    userLinks = new Map([['currentUser', 'https://provider.test/users/@currentUser']]);
    document = { accountName: 'alice' };
    await consentOf('oauth1', 'alice');
    document = { accountName: 'bob' };
  });

  test.each([
    ['the catalog is not answered', 'catalog', busy, 'provider-unavailable'],
    ['it is not answered', 'currentUser', busy, 'provider-unavailable'],
    ['it breaks off', 'currentUser', { status: null, code: 'invalid-json' }, 'provider-unavailable'],
    ['it is refused', 'currentUser', { ...busy, status: 403 }, 'consent-refused'],
  ] as [string, 'catalog' | 'currentUser', TokenReply, string][])(
    'and %s, nobody is taken for anybody: nothing is stored, nothing is given back',
    async (_what, of, reply, code) => {
      const before = await under.store.listConnections();
      for (const auth of ['oauth1', 'oauth2'] as const) {
        for (const user of ['alice', null]) {
          troubles = { of, times: always, reply };
          const ended = await consentOf(auth, user);
          expect(ended).toMatchObject({ step: 'failed', code, connection: null });
          expect(ended.detail).toContain('https://');
        }
      }
      expect([await under.store.listConnections(), revoked]).toEqual([before, 0]);
    },
  );

  test('what is no object names nobody by mistake', async () => {
    document = 'alice';
    expect(await consentOf('oauth2', null)).toMatchObject({ code: 'provider-answer-unusable' });
  });

  test('a read that fails for the moment is repeated', async () => {
    document = { accountName: 'alice' };
    for (const read of ['catalog', 'currentUser'] as const) {
      troubles = { of: read, times: 2, reply: busy };
      expect(await consentOf('oauth2', 'alice')).toMatchObject({
        step: 'done',
        connection: { user: 'alice' },
      });
    }
    expect(await under.store.listConnections()).toHaveLength(1);
  });
});

describe('a consent that the browser waits for', () => {
  const busy: TokenReply = { status: 503, mediaType: '', body: '', retryAfterMs: null };
  const good: TokenReply = form('oauth_token=access&oauth_token_secret=secret');
  /** The trades are answered so, one after the other, the last one again and again; each takes so long. */
  const tradedWith = (takesMs: number, ...replies: TokenReply[]) => {
    const before = reply;
    reply = (call) => {
      if (!call.url.endsWith('access_token')) return before(call);
      under.advance(takesMs);
      return replies.length > 1 ? replies.shift()! : replies[0]!;
    };
  };
  const answered = async () => {
    const consents = consentsWith();
    const { id } = await consents.ask({ auth: 'oauth1', user: null, callback: 'oob' });
    const { step, code } = await consents.answer(id, { code: 'v', token: null });
    const trades = called.filter(({ url }) => url.endsWith('access_token')).length;
    return [step, code, trades];
  };

  test('is traded up to three times', async () => {
    tradedWith(1000, busy, busy, good);
    expect(await answered()).toEqual(['done', null, 3]);
    called = [];
    tradedWith(1000, busy);
    expect(await answered()).toEqual(['failed', 'provider-unavailable', 3]);
  });

  test('is not traded again once five seconds have passed', async () => {
    tradedWith(3000, busy, busy, good);
    expect(await answered()).toEqual(['failed', 'provider-unavailable', 2]);
  });

  test('is not traded again after a trade that got no answer in its time', async () => {
    tradedWith(1000, { status: null, code: 'deadline' }, good);
    expect(await answered()).toEqual(['failed', 'provider-unavailable', 1]);
  });

  test.each([
    [4000, 'done'],
    [6000, 'failed'],
  ])('has one deadline for the trade and for who consented: after %i ms it is %s', async (takesMs, step) => {
    tradedWith(takesMs, good);
    troubles = { of: 'catalog', times: 1, reply: busy };
    expect((await answered())[0]).toBe(step);
  });
});

test('what is missing to ask for a consent is named', async () => {
  const without = (more: Partial<ConsentDoors>) =>
    consentsWith(more)
      .ask(byLink)
      .catch((error: unknown) => error);
  for (const [more, name] of [
    [{ publicUrl: null }, 'PUBLIC_URL'],
    [{ auth: 'oauth2', server: null }, 'PROVIDER_ISSUER'],
  ] as [Partial<ConsentDoors>, string][]) {
    const error = await without(more);
    expect([isProblem(error, 'settings.invalid'), String(error)]).toEqual([
      true,
      expect.stringContaining(name),
    ]);
  }
  // OAuth 1 needs no issuer.
  expect(await without({ server: null })).toMatchObject({ step: 'link', auth: 'oauth1' });
});

test.each([
  [
    'https://pages.provider.test/consent',
    'expected {token} in the address of oauthAuthorizeRequestToken, got none',
  ],
  [
    'http://pages.provider.test/consent?oauth_token={token}',
    'as oauthAuthorizeRequestToken, got http://pages.provider.test/consent',
  ],
])('an address of the consent page that cannot be one sends nobody there: %s', async (page, said) => {
  const calls: TokenCalls = {
    catalogAddress: 'https://api.provider.test/platform/',
    call: async (call) => reply(call),
    links: async () => ({ links: new Map([...catalog, ['oauthAuthorizeRequestToken', page]]) }),
    read: async () => ({ document }),
    close: () => {},
  };
  const asked = requestToken(calls, 'oob');
  await expect(asked).rejects.toThrow(said);
  await expect(asked).rejects.toMatchObject({ fault: 'unusable' });
});
