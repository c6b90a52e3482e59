// What was given and is not stored: whose it is, what it becomes in the store, and what is told of it where it is lost.
import { leftBehindWords, makeGivenGrants } from '../../../src/connect/given-grants';
import { sealTokens, unsealConnection } from '../../../src/connect/token-vault';
import type { SealedConnection } from '../../../src/model/connection';
import type { Grant, Renewed } from '../../../src/model/consent';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { makeHandClock } from '../../support/hand-clock';

const sealer = makeSealer([{ id: 'k1', key: Buffer.alloc(32, 1) }]);
const grantOf = (token: string): Grant => ({
  auth: 'oauth2',
  token: new Secret(token),
  tokenSecret: null,
  refresh: new Secret(`refresh of ${token}`),
  expiresAt: null,
});
const rowOf = (token: string): SealedConnection => ({
  ...sealTokens('c1', grantOf(token), sealer),
  connectionId: 'c1',
  user: 'u',
  auth: 'oauth2',
  status: 'valid',
  organizations: [],
});
const former = new Secret('former');
const turn = () => new Promise((resolve) => setImmediate(resolve));

let row: SealedConnection | null;
/** What the store is asked for, and what the process is told, in order. */
let done: string[];
let isAway: boolean;
beforeEach(() => {
  row = rowOf('former');
  done = [];
  isAway = false;
});

function makeGiven() {
  return makeGivenGrants({
    store: {
      async holdLease(_name, _holder, leaseMs) {
        await turn();
        done.push(leaseMs > 0 ? 'take' : 'give back');
        return true;
      },
      findConnection: async () => row,
      async replaceTokens(_connectionId, replaces, tokens) {
        if (isAway) throw new Error('away');
        if (row?.sealedToken !== replaces) return false;
        done.push('replace');
        row = { ...row, ...tokens };
        return true;
      },
    },
    sealer,
    clock: makeHandClock(0),
    holder: 'a',
    callMsMax: 1000,
    async changed() {
      await turn();
      done.push('changed');
    },
    async accepted() {
      await turn();
      await turn();
      done.push('accepted');
    },
  });
}

/** The token that is gone by, and the refresh token with it. */
function goneBy(renewed: Renewed): (string | undefined)[] {
  if (!('connection' in renewed)) throw new Error(JSON.stringify(renewed));
  return [renewed.connection.token.open(), renewed.connection.refresh?.open()];
}

test('a grant that waits for the store is that of the token which it replaces, and of no newer one', async () => {
  isAway = true;
  const given = makeGiven();
  await expect(given.keep(row!, former, grantOf('next'))).rejects.toThrow('away');
  expect(given.connections()).toEqual(['c1']);
  expect(given.of('c1', former)!.token.open()).toBe('next');
  expect(given.of('c1', new Secret('of a new consent'))).toBeNull();
});

test('a grant is stored, and used once the process knows of it; then nothing waits', async () => {
  const given = makeGiven();
  expect(goneBy(await given.keep(row!, former, grantOf('next')))).toEqual(['next', 'refresh of next']);
  expect(done).toEqual(['replace', 'changed']);
  expect([given.connections(), given.of('c1', former)]).toEqual([[], null]);
});

test('with a grant that brings no refresh token the former one goes on', async () => {
  const kept = await makeGiven().keep(row!, former, { ...grantOf('next'), refresh: null });
  expect(goneBy(kept)).toEqual(['next', 'refresh of former']);
});

test('what was sealed anew meanwhile is replaced all the same; a new consent is not, and is gone by', async () => {
  const given = makeGiven();
  const before = row!;
  row = rowOf('former');
  expect(row.sealedToken).not.toBe(before.sealedToken);
  expect(goneBy(await given.keep(before, former, grantOf('next')))).toEqual(['next', 'refresh of next']);
  row = rowOf('consented');
  expect(goneBy(await given.keep(before, former, grantOf('late')))).toEqual([
    'consented',
    'refresh of consented',
  ]);
  expect(unsealConnection(row, sealer).token.open()).toBe('consented');
  expect(given.connections()).toEqual([]);
});

test('a connection that is gone, or whose other tokens were refused, goes by nothing that was given', async () => {
  const given = makeGiven();
  const before = row!;
  row = { ...rowOf('consented'), status: 'refused' };
  expect(await given.keep(before, former, grantOf('next'))).toEqual({ refused: null });
  expect(done).toEqual(['changed']);
  row = null;
  expect(await given.keep(before, former, grantOf('next'))).toEqual({ refused: null });
  expect(given.connections()).toEqual([]);
});

test('what is stored is good, whoever was refused for the token before it', async () => {
  const given = makeGiven();
  row = { ...row!, status: 'refused' };
  expect(goneBy(await given.keep(row, former, grantOf('next')))).toEqual(['next', 'refresh of next']);
  expect(done).toEqual(['replace', 'accepted', 'changed']);
});

test('what waits is stored under the lease, by whatever stands there by then', async () => {
  const given = makeGiven();
  for (const token of ['former', 'consented', 'next', null]) {
    isAway = true;
    row = rowOf('former');
    await expect(given.keep(row, former, grantOf('next'))).rejects.toThrow('away');
    [isAway, done] = [false, []];
    row = token === null ? null : rowOf(token);
    const stored = await given.store('c1');
    if (token === null) expect(stored).toEqual({ refused: null });
    else expect(goneBy(stored)[0]).toBe(token === 'former' ? 'next' : token);
    const between = { former: ['replace', 'changed'], consented: ['changed'], next: ['changed'] };
    expect(done).toEqual(['take', ...(token === null ? [] : between[token as 'next']), 'give back']);
    expect(given.connections()).toEqual([]);
  }
});

test('those whose consents a process leaves in doubt are named, eight of a kind at most', () => {
  expect(leftBehindWords({ unstored: [], unanswered: [] })).toEqual([]);
  expect(leftBehindWords({ unstored: ['c1'], unanswered: ['c2'] })).toEqual([
    'the store did not confirm the new tokens of connection c1 before the process ended: its user may have to consent anew',
    'the provider did not answer the renewal of connection c2 before the process ended: if it refuses the next one, its user must consent anew',
  ]);
  const ids = Array.from({ length: 10 }, (_, nth) => `c${nth}`);
  const named = 'the new tokens of connections c0, c1, c2, c3, c4, c5, c6, c7';
  for (const [count, more] of [
    [8, ''],
    [9, ' and 1 more'],
    [10, ' and 2 more'],
  ] as const) {
    expect(leftBehindWords({ unstored: ids.slice(0, count), unanswered: [] })).toEqual([
      `the store did not confirm ${named}${more} before the process ended: their users may have to consent anew`,
    ]);
  }
});
