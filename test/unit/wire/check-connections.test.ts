// Whoever runs a check is told what to do next: where a user has to consent, no setting is to blame.
import type { OrganizationsPage } from '../../../src/fetch/provider-client';
import type { Connection } from '../../../src/model/connection';
import { CheckFailure } from '../../../src/operations/check';
import { checkConnections } from '../../../src/wire/check-connections';
import { connectionOf } from '../../support/provider-client';

const seen: OrganizationsPage = { partial: false, organizations: [] };
const away = { partial: true, reason: 'call-failed', detail: 'no answer', answer: null } as const;

/** What the check says, and through which connections it asked. */
async function check(
  connections: Connection[],
  pageOf: (id: string) => OrganizationsPage = () => seen,
  organizations: Record<string, string[]> = {},
  equipmentTrouble: (id: string) => Promise<string | null> = async () => null,
  issuerTrouble: () => Promise<string | null> = async () => null,
) {
  const asked: string[] = [];
  const client = {
    equipmentTrouble,
    async *organizations(connectionId: string) {
      asked.push(connectionId);
      yield pageOf(connectionId);
    },
  };
  const sees = (connectionId: string) => new Set(organizations[connectionId]);
  const book = { connections: () => connections, sees, refresh: async () => {} };
  const said = await checkConnections(client, book, { issuerTrouble }).catch((error: unknown) => error);
  return { said, asked };
}

test('where nobody has consented, the next step is to ask for consent', async () => {
  const { said } = await check([]);
  expect(said).toBeInstanceOf(CheckFailure);
  expect(said).toMatchObject({
    message: expect.stringContaining('no user has given consent, or each was revoked'),
    next: expect.stringContaining('`tramline connect`'),
  });
});

test('a refused consent is not asked with, and where no other is left the next step is a new one of its user', async () => {
  const { said, asked } = await check([connectionOf({ connectionId: 'c2', user: 'u2', status: 'refused' })]);
  expect(asked).toEqual([]);
  expect(said).toBeInstanceOf(CheckFailure);
  expect(said).toMatchObject({
    message: 'the provider refused the consent of c2',
    next: 'Its user consents anew: `tramline connect --user c2`.',
  });
  const both = ['c2', 'c3'].map((connectionId) => connectionOf({ connectionId, status: 'refused' }));
  expect((await check(both)).said).toMatchObject({
    message: 'the provider refused the consent of c2, c3',
    next: expect.stringContaining('`tramline connect --user NAME`'),
  });
});

test('of a refused OAuth 1 consent the next step names the switch-over beside a consent of the same kind', async () => {
  const refused = (connectionId: string) => connectionOf({ connectionId, auth: 'oauth1', status: 'refused' });
  expect((await check([refused('c2')])).said).toMatchObject({
    next:
      'Its user consents anew: `tramline connect --user c2`, or, where the provider has ended OAuth 1, ' +
      '`tramline connect --auth oauth2 --user c2`.',
  });
  expect((await check([refused('c2'), refused('c3')])).said).toMatchObject({
    next: expect.stringContaining('`tramline connect --auth oauth2 --user NAME`'),
  });
});

test('a refused consent beside one that sees the same is a warning, and says how to be rid of it', async () => {
  const refused = connectionOf({ connectionId: 'c2', user: 'u2', status: 'refused' });
  const { said, asked } = await check([refused, connectionOf()], () => seen, { c1: ['1', '2'], c2: ['2'] });
  expect(asked).toEqual(['c1']);
  expect(said).toEqual({
    detail:
      'answers for 1 connection; the provider refused the consent of c2, whose organizations are seen through others',
    next: 'Its user consents anew: `tramline connect --user c2`, or where it is not needed: `tramline connections revoke c2`.',
  });
});

test('what only a refused consent saw is counted, and others are read on', async () => {
  const refused = connectionOf({ connectionId: 'c2', user: 'u2', status: 'refused' });
  const many = Array.from({ length: 12 }, (_none, id) => `${id}`);
  const { said } = await check([refused, connectionOf()], () => seen, { c1: ['1', '2'], c2: many });
  expect(said).toMatchObject({
    detail:
      'answers for 1 connection; the provider refused the consent of c2, and 10 organizations are seen by nobody else',
    next: 'Its user consents anew: `tramline connect --user c2`.',
  });
});

test('a consent that is only now found refused is one', async () => {
  const answer = { kind: 'reauthorize', connectionId: 'c1', message: null, sealedToken: 's' } as const;
  const { said } = await check([connectionOf()], () => ({ ...away, answer }));
  expect(said).toMatchObject({ message: 'the provider refused the consent of c1', next: expect.any(String) });
  const beside = (id: string) => (id === 'c1' ? { ...away, answer } : seen);
  expect((await check([connectionOf(), connectionOf({ connectionId: 'c2' })], beside)).said).toMatchObject({
    detail: expect.stringContaining('the provider refused the consent of c1'),
  });
});

test('a valid connection without an answer is no matter of consent', async () => {
  const { said } = await check([connectionOf()], () => away);
  expect(said).not.toBeInstanceOf(CheckFailure);
  expect(said).toMatchObject({ message: 'connection c1: no answer' });
});

test('where the provider answered that it is in trouble, no setting is to be looked at', async () => {
  const from = { origin: 'https://api.example.com', connectionId: 'c1', retryAfterMs: null };
  const troubled = { kind: 'transient', code: 'status-503', detail: 'status 503', ...from } as const;
  const { said } = await check([connectionOf()], () => ({ ...away, answer: troubled }));
  expect(said).toMatchObject({
    message: 'connection c1: no answer',
    next: expect.stringMatching(/^Look at the provider’s status page and wait/),
  });
  const paused = { kind: 'rate-limited', retryAfterMs: 60_000, untilMs: 60_000 } as const;
  expect((await check([connectionOf()], () => ({ ...away, answer: paused }))).said).toMatchObject({
    next: expect.stringMatching(/^Wait/),
  });
  const unrenewed = { ...troubled, code: 'token-unavailable' } as const;
  expect((await check([connectionOf()], () => ({ ...away, answer: unrenewed }))).said).toMatchObject({
    next: expect.stringMatching(
      /^Where it names the store, look there first; where the issuer refused the client, compare PROVIDER_CLIENT_SECRET .*the provider’s status page and wait/,
    ),
  });
  const unreached = { ...troubled, code: 'connection-refused' } as const;
  expect((await check([connectionOf()], () => ({ ...away, answer: unreached }))).said).not.toBeInstanceOf(
    CheckFailure,
  );
});

test('where the client itself is refused, its secret, scopes and licence are looked at, and no status page', async () => {
  const answer = { kind: 'client-refused', connectionId: 'c1', message: 'got invalid_client' } as const;
  const { said } = await check([connectionOf()], () => ({ ...away, answer }));
  expect(said).toBeInstanceOf(CheckFailure);
  expect(said).toMatchObject({
    next: expect.stringMatching(/^Compare PROVIDER_CLIENT_SECRET, PROVIDER_SCOPES/),
  });
});

test('every valid connection is asked', async () => {
  const { said, asked } = await check([connectionOf(), connectionOf({ connectionId: 'c2' })]);
  expect(said).toEqual({ detail: 'answers for 2 connections', next: null });
  expect(asked).toEqual(['c1', 'c2']);
});

test('an equipment API that does not answer beside one that does is a warning, and names the setting of its address', async () => {
  const asked: string[] = [];
  const trouble = async (id: string) => {
    asked.push(id);
    return 'page 1: status 404 at https://api.example.com/isg/equipmentMakes';
  };
  const refused = connectionOf({ connectionId: 'c2', user: 'u2', status: 'refused' });
  const { said } = await check([refused, connectionOf()], () => seen, {}, trouble);
  expect(asked).toEqual(['c1']);
  expect(said).toMatchObject({
    detail: expect.stringMatching(
      /^answers for 1 connection; .*; the equipment API: page 1: status 404 at https:\/\/api.example.com\/isg\/equipmentMakes$/,
    ),
    next: expect.stringMatching(/^Its user consents anew/),
  });
  expect((await check([connectionOf()], () => seen, {}, trouble)).said).toMatchObject({
    next: expect.stringMatching(/^Compare PROVIDER_EQUIPMENT_URL .*status page\.$/),
  });
  expect((await check([refused], () => seen, {}, trouble)).said).toBeInstanceOf(CheckFailure);
  expect(asked).toHaveLength(2);
});

test('an equipment API that says nothing keeps nobody waiting for long', async () => {
  jest.useFakeTimers();
  try {
    const checking = check(
      [connectionOf()],
      () => seen,
      {},
      () => new Promise(() => {}),
    );
    await jest.advanceTimersByTimeAsync(3000);
    expect((await checking).said).toMatchObject({
      detail: 'answers for 1 connection; the equipment API: no answer within 3 s',
    });
  } finally {
    jest.useRealTimers();
  }
});

describe('an issuer whose metadata are not answered', () => {
  const trouble =
    'the issuer’s metadata at https://signin.example.com/.well-known/oauth-authorization-server: expected 200, got 404';
  const answered = async () => null;
  const checkWith = (connections: Connection[], pageOf?: (id: string) => OrganizationsPage) =>
    check(connections, pageOf, {}, answered, async () => trouble);
  const compares = /^Compare PROVIDER_ISSUER with the provider’s documentation, .*status page\.$/;

  test('is a warning while tokens last, and names the setting of its address', async () => {
    expect((await checkWith([connectionOf()])).said).toEqual({
      detail: `answers for 1 connection; no token can be had: ${trouble}`,
      next: expect.stringMatching(compares),
    });
  });

  test('is to be looked at before anybody is asked for a consent', async () => {
    const first = expect.stringMatching(/^Compare PROVIDER_ISSUER .*status page\. `tramline connect` prints/);
    const { said } = await checkWith([]);
    expect(said).toBeInstanceOf(CheckFailure);
    expect(said).toMatchObject({
      message: expect.stringContaining(`; no token can be had: ${trouble}`),
      next: first,
    });
    const refused = connectionOf({ connectionId: 'c2', user: 'u2', status: 'refused' });
    expect((await checkWith([refused])).said).toMatchObject({
      next: expect.stringMatching(/^Compare PROVIDER_ISSUER .*status page\. Its user consents anew/),
    });
  });

  test('is told once where a renewal met it as well', async () => {
    const from = { origin: 'https://api.example.com', connectionId: 'c1', retryAfterMs: null };
    const detail = `the token cannot be renewed now: ${trouble}`;
    const answer = { kind: 'transient', code: 'token-unavailable', detail, ...from } as const;
    expect((await checkWith([connectionOf()], () => ({ ...away, detail, answer }))).said).toMatchObject({
      message: `connection c1: ${detail}`,
      next: expect.stringMatching(compares),
    });
  });

  test('keeps nobody waiting for long', async () => {
    jest.useFakeTimers();
    try {
      const checking = check(
        [connectionOf()],
        () => seen,
        {},
        answered,
        () => new Promise(() => {}),
      );
      await jest.advanceTimersByTimeAsync(3000);
      expect((await checking).said).toMatchObject({
        detail: 'answers for 1 connection; no token can be had: the issuer gives no answer within 3 s',
      });
    } finally {
      jest.useRealTimers();
    }
  });
});
