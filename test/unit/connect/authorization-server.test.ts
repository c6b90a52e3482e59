// The authorization server as its metadata describe it: which metadata are believed, what is sent, and what an answer is
// taken for. The provider is a table of answers; every call is recorded.
import { makeAuthorizationServer } from '../../../src/connect/authorization-server';
import { GrantRefusal } from '../../../src/connect/grant-refusal';
import type { TokenCall, TokenCalls, TokenReply } from '../../../src/model/consent';
import { Secret } from '../../../src/tools/secret';
import { type HandClock, makeHandClock } from '../../support/hand-clock';

const issuer = 'https://signin.provider.test/oauth2/one';
const wellKnown = `${issuer}/.well-known/oauth-authorization-server`;
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/v1/authorize`,
  token_endpoint: `${issuer}/v1/token`,
  revocation_endpoint: `${issuer}/v1/revoke`,
};
const token = {
  token_type: 'Bearer',
  access_token: 'an-access-token',
  refresh_token: 'a-refresh-token',
  expires_in: 60,
};
let clock: HandClock;
beforeEach(() => {
  clock = makeHandClock(Date.parse('2026-03-01T00:00:00Z'));
});

const json = (body: unknown, status = 200, more: Partial<TokenReply> = {}): TokenReply =>
  ({
    status,
    mediaType: 'application/json',
    body: JSON.stringify(body),
    retryAfterMs: null,
    ...more,
  }) as TokenReply;

function stage(answers: Record<string, TokenReply>, origins: string[] = []) {
  const called: TokenCall[] = [];
  const calls: TokenCalls = {
    catalogAddress: 'https://api.provider.test/platform/',
    async call(call) {
      called.push(call);
      return answers[call.url] ?? json({}, 404);
    },
    links: async () => ({ links: new Map() }),
    read: async () => ({ document: null }),
    close: () => {},
  };
  const options = {
    issuer,
    origins,
    clientKey: 'key:&',
    clientSecret: new Secret('s+/='),
    scopes: ['ag1', 'offline_access'],
  };
  return { server: makeAuthorizationServer(options, calls, clock), called };
}

const described = (more: object = {}) => ({ [wellKnown]: json({ ...metadata, ...more }) });
const refresh = (server: ReturnType<typeof stage>['server']) =>
  server.refresh(new Secret('former'), () => true);
const faultOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof GrantRefusal ? error.fault : error),
  );

test('the consent address carries PKCE, state, scopes and the redirect address', async () => {
  const { server } = stage(described());
  const asked = {
    redirectUri: 'https://tramline.test/connect/callback',
    state: 'a-state',
    challenge: 'a-challenge',
  };
  const address = new URL(await server.consentAddress(asked));
  expect(`${address.origin}${address.pathname}`).toBe(metadata.authorization_endpoint);
  expect(Object.fromEntries(address.searchParams)).toEqual({
    response_type: 'code',
    client_id: 'key:&',
    redirect_uri: asked.redirectUri,
    state: 'a-state',
    code_challenge: 'a-challenge',
    code_challenge_method: 'S256',
    scope: 'ag1 offline_access',
  });
});

test('what keeps it from giving tokens is told as it is now, and nobody’s token is shown for it', async () => {
  const answers = described();
  const { server, called } = stage(answers);
  expect(await server.trouble()).toBeNull();
  answers[wellKnown] = json({}, 404);
  expect(await server.trouble()).toBe(
    'the issuer’s metadata at https://signin.provider.test/.well-known/oauth-authorization-server/oauth2/one: ' +
      'expected 200, got 404',
  );
  answers[wellKnown] = json({ ...metadata, issuer: 'https://signin.provider.test/oauth2/two' });
  expect(await server.trouble()).toContain('expected PROVIDER_ISSUER as issuer');
  expect(called.every(({ method, authorization }) => method === 'GET' && authorization === undefined)).toBe(
    true,
  );
});

describe('S15: metadata', () => {
  test.each(['authorization_endpoint', 'token_endpoint', 'revocation_endpoint'])(
    'with a %s of another origin are refused, and nothing is sent there',
    async (name) => {
      const { server, called } = stage(described({ [name]: 'https://elsewhere.test/v1/token' }));
      expect(await faultOf(refresh(server))).toBe('unusable');
      expect(called.map(({ url }) => url)).toEqual([wellKnown]);
    },
  );

  test('may name another origin that the operator named', async () => {
    const other = 'https://tokens.provider.test/token';
    const answers = { ...described({ token_endpoint: other }), [other]: json(token) };
    expect(await faultOf(refresh(stage(answers, ['https://tokens.provider.test']).server))).toBeNull();
  });

  test.each([
    ['another issuer', json({ ...metadata, issuer: 'https://signin.provider.test/oauth2/two' }), 'unusable'],
    ['no issuer', json({ ...metadata, issuer: undefined }), 'unusable'],
    [
      'a plain http endpoint',
      json({ ...metadata, token_endpoint: 'http://signin.provider.test/t' }),
      'unusable',
    ],
    ['a page instead', { ...json(''), body: '<html>' } as TokenReply, 'unavailable'],
    ['an outage', json({}, 503), 'unavailable'],
    // Nobody's refresh token was shown: no consent is over.
    ['a 400', json({}, 400), 'unusable'],
    ['a 401', json({}, 401), 'unusable'],
    ['a 403', json({}, 403), 'unusable'],
  ])('with %s are not used', async (_what, reply, fault) => {
    const error = await refresh(stage({ [wellKnown]: reply }).server).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ fault });
    expect((error as GrantRefusal).message).toMatch(/^the issuer’s metadata at (\S+): expected .+, got \S/);
    expect((error as GrantRefusal).message).toContain(wellKnown);
  });

  test('are looked for at the place of RFC 8414 too, and read once', async () => {
    const place = 'https://signin.provider.test/.well-known/oauth-authorization-server/oauth2/one';
    const { server, called } = stage({ [place]: json(metadata), [metadata.token_endpoint]: json(token) });
    await Promise.all([refresh(server), refresh(server)]);
    expect(called.map(({ url }) => url)).toEqual([
      wellKnown,
      place,
      ...Array(2).fill(metadata.token_endpoint),
    ]);
  });
});

describe('a place that the metadata no longer have', () => {
  const moved = `${issuer}/v2/here`;

  test.each(['token_endpoint', 'revocation_endpoint'] as const)(
    'is looked for anew in them: %s',
    async (name) => {
      const answers: Record<string, TokenReply> = { ...described(), [metadata[name]]: json(token) };
      const { server, called } = stage(answers);
      const use = async () => {
        if (name === 'token_endpoint') return (await refresh(server)).token.open();
        return server.revoke(new Secret('r'), 'refresh_token');
      };
      const before = await use();
      Object.assign(answers, described({ [name]: moved }), {
        [metadata[name]]: json({}, 410),
        [moved]: json(token),
      });
      called.length = 0;
      expect(await use()).toEqual(before);
      expect(called.map(({ url }) => url)).toEqual([metadata[name], wellKnown, moved]);
      expect(called.at(-1)).toEqual({ ...called[0], url: moved });
    },
  );

  test('is no place to which a user is sent', async () => {
    const answers = described();
    const { server } = stage(answers);
    const asked = { redirectUri: 'https://t.test/', state: 's', challenge: 'c' };
    await server.consentAddress(asked);
    Object.assign(answers, described({ authorization_endpoint: moved }));
    expect(await server.consentAddress(asked)).toMatch(`${moved}?`);
  });

  test('ends no renewal while nobody can be told where it is', async () => {
    const answers = { ...described(), [metadata.token_endpoint]: json(token) };
    const { server, called } = stage(answers);
    await refresh(server);
    Object.assign(answers, { [wellKnown]: json({}, 503) });
    const asked = { redirectUri: 'https://t.test/', state: 's', challenge: 'c' };
    expect(await faultOf(server.consentAddress(asked))).toBe('unavailable');
    await refresh(server);
    expect(called.map(({ url }) => url)).toEqual([
      wellKnown,
      metadata.token_endpoint,
      wellKnown,
      metadata.token_endpoint,
    ]);
  });

  test('is looked for anew where nobody answers there, once a minute however many ask, for whoever asks next', async () => {
    const away = { status: null, code: 'name-not-resolved' } as TokenReply;
    const answers = { ...described(), [metadata.token_endpoint]: away };
    const { server, called } = stage(answers);
    const looks = () => called.filter(({ url }) => url === wellKnown).length;
    const ask = async () => {
      const fault = await faultOf(refresh(server));
      // What is looked for beside it has come then.
      await new Promise(setImmediate);
      return fault;
    };
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(Array(3).fill('unavailable'));
    expect(looks()).toBe(2);
    // The issuer is away too: what is known stays, and it is left in peace.
    Object.assign(answers, { [wellKnown]: away });
    await clock.advance(60_000);
    expect([await ask(), await ask(), looks()]).toEqual(['unavailable', 'unavailable', 3]);
    Object.assign(answers, described({ token_endpoint: moved }), { [moved]: json(token) });
    await clock.advance(60_000);
    expect([await ask(), await ask()]).toEqual(['unavailable', null]);
    expect(called.slice(-3).map(({ url }) => url)).toEqual([metadata.token_endpoint, wellKnown, moved]);
  });

  test('is shown a refresh token only where it may be shown, at its former place and at its new one', async () => {
    const mayShow = () => false;
    const answers = { ...described(), [metadata.token_endpoint]: json({}, 404), [moved]: json(token) };
    const { server, called } = stage(answers);
    const shown = server.refresh(new Secret('former'), mayShow);
    Object.assign(answers, described({ token_endpoint: moved }));
    await shown;
    const posts = called.filter(({ method }) => method === 'POST');
    expect(posts.map(({ url }) => url)).toEqual([metadata.token_endpoint, moved]);
    for (const { maySend } of posts) expect(maySend).toBe(mayShow);
  });

  test('is not looked for anew where the call was held back, and it is told why', async () => {
    const held = { status: null, code: 'held-back' } as TokenReply;
    const { server, called } = stage({ ...described(), [metadata.token_endpoint]: held });
    await expect(refresh(server)).rejects.toThrow('another process may make it');
    await new Promise(setImmediate);
    expect(called.map(({ url }) => url)).toEqual([wellKnown, metadata.token_endpoint]);
  });

  test('is not asked again where it has not moved, and is told', async () => {
    const { server, called } = stage({ ...described(), [metadata.token_endpoint]: json({}, 404) });
    await expect(refresh(server)).rejects.toThrow(
      `the token call at ${metadata.token_endpoint}: expected 200, got 404`,
    );
    expect(called.map(({ url }) => url)).toEqual([wellKnown, metadata.token_endpoint, wellKnown]);
  });
});

describe('the client', () => {
  const authOf = async (methods: string[] | undefined) => {
    const answers = {
      ...described({ token_endpoint_auth_methods_supported: methods }),
      [metadata.token_endpoint]: json(token),
    };
    const { server, called } = stage(answers);
    await server.redeem({ code: 'c', verifier: new Secret('v'), redirectUri: 'https://t.test/' });
    return called.at(-1)!;
  };

  test('authenticates in the header, each part form-encoded', async () => {
    for (const methods of [undefined, ['client_secret_post', 'client_secret_basic']]) {
      const call = await authOf(methods);
      const pair = Buffer.from(call.authorization!.open().slice('Basic '.length), 'base64').toString();
      expect(pair).toBe('key%3A%26:s%2B%2F%3D');
      expect(call.form!.map(([name]) => name)).toEqual([
        'grant_type',
        'code',
        'redirect_uri',
        'code_verifier',
      ]);
    }
  });

  test('authenticates in the body where the server only takes that', async () => {
    const call = await authOf(['client_secret_post']);
    expect(call.authorization).toBeUndefined();
    expect(Object.fromEntries(call.form!)).toMatchObject({ client_id: 'key:&', client_secret: 's+/=' });
  });
});

describe('an answer of the token endpoint', () => {
  const answered = (reply: TokenReply) =>
    stage({ ...described(), [metadata.token_endpoint]: reply }).server.refresh(
      new Secret('former'),
      () => true,
    );

  test('is a grant with its end', async () => {
    const grant = await answered(json(token));
    expect([grant.token.open(), grant.refresh!.open(), grant.expiresAt]).toEqual([
      'an-access-token',
      'a-refresh-token',
      '2026-03-01T00:01:00.000Z',
    ]);
    const bare = await answered(json({ token_type: 'bearer', access_token: 't' }));
    expect([bare.refresh, bare.expiresAt]).toEqual([null, null]);
  });

  test.each([
    ['invalid_grant', json({ error: 'invalid_grant', error_description: 'former' }, 400), 'refused'],
    ['a 400 in JSON without an error code', json({ message: 'former' }, 400), 'unusable'],
    ['a 400 of a proxy', { ...json(''), status: 400, body: '<html>' } as TokenReply, 'unusable'],
    ['invalid_request', json({ error: 'invalid_request' }, 400), 'unusable'],
    ['an error code that nobody knows', json({ error: 'former' }, 400), 'unusable'],
    ['invalid_grant with 403', json({ error: 'invalid_grant' }, 403), 'refused'],
    ['403', json({ message: 'former' }, 403), 'unusable'],
    ['invalid_client', json({ error: 'invalid_client' }, 401), 'client-refused'],
    ['invalid_client with 400', json({ error: 'invalid_client' }, 400), 'client-refused'],
    ['429', json({}, 429, { retryAfterMs: 7000 }), 'unavailable'],
    ['503', json({}, 503), 'unavailable'],
    ['a redirect', json({}, 302), 'unusable'],
    ['a page', { ...json(''), body: '<html>former</html>' } as TokenReply, 'unavailable'],
    ['no answer', { status: null, code: 'connection-reset' } as TokenReply, 'unavailable'],
    ['another kind of token', json({ ...token, token_type: 'mac' }), 'unusable'],
    ['a token that cannot be a header', json({ ...token, access_token: 'a\r\nb' }), 'unusable'],
    ['no token', json({ token_type: 'Bearer' }), 'unusable'],
  ])('that is %s is told apart, and nothing of it is repeated', async (_what, reply, fault) => {
    const error = await answered(reply).catch((thrown: unknown) => thrown as GrantRefusal);
    expect(error).toMatchObject({ fault, retryAfterMs: reply.status === 429 ? 7000 : null });
    const { message } = error as GrantRefusal;
    expect(message).not.toMatch(/former|<html|a\r/);
    expect(message).toContain(`the token call at ${metadata.token_endpoint}: expected `);
    expect(message).toMatch(/, got \S/);
  });

  test.each([
    ['{"error":"invalid_scope"}', 'invalid_scope'],
    ['{"message":"no"}', '400 without a known error code, application/json, 16 characters'],
    ['{"error":"of their own"}', '400 without a known error code, application/json, 24 characters'],
  ])('%s is not called invalid_grant: what came is told', async (body, got) => {
    const refused = answered({ ...json({}, 400), body } as TokenReply);
    await expect(refused).rejects.toThrow(new RegExp(`: expected a token, got ${got}$`));
  });
});

test('a page in the place of a revocation takes nothing back', async () => {
  const page = { ...json(''), mediaType: 'text/html', body: ' <html>Please log in</html>' } as TokenReply;
  const { server } = stage({ ...described(), [metadata.revocation_endpoint]: page });
  expect(await server.revoke(new Secret('r'), 'refresh_token')).toBe(false);
});

test('a token is revoked where the server has a place for it', async () => {
  const { server, called } = stage({ ...described(), [metadata.revocation_endpoint]: json('') });
  expect(await server.revoke(new Secret('r'), 'refresh_token')).toBe(true);
  expect(called.at(-1)!.form).toEqual([
    ['token', 'r'],
    ['token_type_hint', 'refresh_token'],
  ]);
  expect(
    await stage(described({ revocation_endpoint: undefined })).server.revoke(new Secret('r'), 'access_token'),
  ).toBe(false);
});
