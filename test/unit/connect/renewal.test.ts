// Goal: of several connections that are renewed by one process, what one of them meets costs no other its consent.
// Method: a clock that is moved by hand, and a store and a token endpoint that do for each connection what they are told.
import { GrantRefusal } from '../../../src/connect/grant-refusal';
import { makeRenewal } from '../../../src/connect/renewal';
import { sealTokens, unsealConnection } from '../../../src/connect/token-vault';
import type { SealedConnection, SealedTokens } from '../../../src/model/connection';
import type { Grant } from '../../../src/model/consent';
import { Problem } from '../../../src/model/problem';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { makeHandClock } from '../../support/hand-clock';

const sealer = makeSealer([{ id: 'k1', key: Buffer.alloc(32, 1) }]);
const grantOf = (token: string): Grant => ({
  auth: 'oauth2',
  token: new Secret(token),
  tokenSecret: null,
  refresh: new Secret(`refresh of ${token}`),
  expiresAt: '2026-03-01T00:00:00.000Z',
});

const away = async (): Promise<never> => {
  throw new Problem('store.unavailable', 'it is away');
};
const never = () => new Promise<never>(() => {});

/** Connections `a` and `b`, whose access tokens are called like them. */
function setUp() {
  const clock = makeHandClock(0);
  const rows = new Map<string, SealedConnection>();
  for (const id of ['a', 'b']) {
    const of = { connectionId: id, user: id, organizations: [] };
    rows.set(id, { ...sealTokens(id, grantOf(id), sealer), ...of, auth: 'oauth2', status: 'valid' });
  }
  const known = (id: string) => unsealConnection(rows.get(id)!, sealer);
  /** What the provider answers for a connection, and what the store does before it takes its tokens. */
  const answers = new Map<string, () => Promise<Grant>>();
  const takes = new Map<string, () => Promise<void>>();
  const renewal = makeRenewal({
    store: {
      holdLease: async () => true,
      findConnection: async (id: string) => rows.get(id)!,
      replaceTokens: async (id: string, replaces: string, tokens: SealedTokens) => {
        await takes.get(id)?.();
        if (rows.get(id)!.sealedToken !== replaces) return false;
        rows.set(id, { ...rows.get(id)!, ...tokens });
        return true;
      },
    },
    sealer,
    server: {
      refresh: async (refresh, mayShow) => {
        if (!mayShow()) throw new GrantRefusal('unasked', 'held back');
        const id = refresh.open().slice('refresh of '.length);
        return (await answers.get(id)?.()) ?? grantOf(`next ${id}`);
      },
    },
    known,
    changed: async () => {},
    accepted: async () => {},
    refused: async () => {},
    clock,
    holder: 'h',
    callMsMax: 20_000,
    random: () => 0.5,
  });
  return {
    clock,
    answers,
    takes,
    renewal,
    renew: (id: string) => renewal.renew(known(id)),
    token: (id: string) => known(id).token.open(),
  };
}

test('a stop stores what waits at once, and again each second, while the provider does not answer for another', async () => {
  for (const isBack of [true, false]) {
    const { clock, answers, takes, renewal, renew, token } = setUp();
    takes.set('a', away);
    answers.set('b', never);
    await renew('a');
    void renew('b');
    await clock.advance(0);
    if (isBack) takes.clear();
    const ended = renewal.end(13_000);
    await clock.advance(0);
    expect(token('a')).toBe(isBack ? 'next a' : 'a');
    takes.clear();
    await clock.advance(1000);
    expect(token('a')).toBe('next a');
    await clock.advance(12_000);
    expect(await ended).toEqual({ unstored: [], unanswered: ['b'] });
  }
});

test.each(['by itself', 'by a stop'])(
  'while one waits for its row the other is tried again: %s',
  async (how) => {
    const { clock, takes, renewal, renew, token } = setUp();
    takes.set('a', away);
    takes.set('b', away);
    await Promise.all(['a', 'b'].map(renew));
    takes.set('a', never);
    if (how === 'by a stop') void renewal.end(13_000);
    await clock.advance(1000);
    takes.delete('b');
    await clock.advance(1000);
    expect([token('a'), token('b')]).toEqual(['a', 'next b']);
  },
);

test('a stop ends as soon as what was under way is stored', async () => {
  const { clock, answers, renewal, renew, token } = setUp();
  let give = (_grant: Grant) => {};
  answers.set('a', () => new Promise((resolve) => (give = resolve)));
  void renew('a');
  await clock.advance(0);
  const ended = renewal.end(13_000);
  await clock.advance(1500);
  give(grantOf('late'));
  expect(await ended).toEqual({ unstored: [], unanswered: [] });
  expect(token('a')).toBe('late');
});

test('what the store takes only after a stop is over is named as unconfirmed, and stored all the same', async () => {
  const { clock, takes, renewal, renew, token } = setUp();
  takes.set('a', away);
  await renew('a');
  let take = () => {};
  takes.set('a', () => new Promise((resolve) => (take = resolve)));
  const ended = renewal.end(1000);
  await clock.advance(1000);
  expect(await ended).toEqual({ unstored: ['a'], unanswered: [] });
  take();
  await clock.advance(0);
  expect(token('a')).toBe('next a');
});

test('a provider that gives again is in no trouble any more, though the store is away by then', async () => {
  const { clock, answers, takes, renewal, renew } = setUp();
  const fails = async () => {
    throw new GrantRefusal('unavailable', 'expected 200, got 503');
  };
  answers.set('a', fails);
  for (let times = 0; times < 10; times += 1) {
    await renew('a');
    await clock.advance(60_000);
  }
  expect(renewal.trouble()).toMatchObject({ sinceMs: 0 });
  answers.clear();
  takes.set('a', away);
  await clock.advance(300_000);
  await renew('a');
  expect(renewal.trouble()).toBeNull();
});

test('a clock that is set back makes no pause longer, and what lasts is told by the clock of now', async () => {
  const { clock, answers, renewal, renew, token } = setUp();
  answers.set('a', async () => {
    throw new GrantRefusal('unavailable', 'expected 200, got 503');
  });
  for (let times = 0; times < 10; times += 1) {
    await renew('a');
    await clock.advance(60_000);
  }
  clock.setBack(7_200_000);
  expect(renewal.trouble()).toMatchObject({ sinceMs: -7_200_000 });
  answers.clear();
  await clock.advance(300_000);
  await renew('a');
  expect(token('a')).toBe('next a');
});

test.each([
  ['away', new Problem('store.unavailable', 'it is away'), 'the store failed (it is away)'],
  ['refusing', new Problem('store.refused', 'a disk is full'), 'the store failed (a disk is full)'],
  ['sound, and a key missing', new Problem('store.key-missing', 'no key with id k2'), 'no key with id k2'],
  ['sound, and a fault ours', new TypeError('x is undefined'), 'x is undefined'],
])('the store is named as what failed only where it is: %s', async (_how, error, words) => {
  const { takes, renew } = setUp();
  takes.set('a', () => Promise.reject(error));
  const detail = `the token cannot be renewed now: ${words}`;
  expect(await renew('a')).toMatchObject({ waits: { code: 'token-unavailable', detail } });
});
