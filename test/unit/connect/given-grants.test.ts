// What was given and is not stored: whose it is, and what is told of it where it is lost.
import { leftBehindWords, makeGivenGrants } from '../../../src/connect/given-grants';
import { sealTokens } from '../../../src/connect/token-vault';
import type { SealedConnection } from '../../../src/model/connection';
import type { Grant } from '../../../src/model/consent';
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

test('a grant that waits for the store is that of the token which it replaces, and of no newer one', async () => {
  const row: SealedConnection = {
    ...sealTokens('c1', grantOf('former'), sealer),
    connectionId: 'c1',
    user: 'u',
    auth: 'oauth2',
    status: 'valid',
    organizations: [],
  };
  const given = makeGivenGrants({
    store: {
      holdLease: async () => true,
      findConnection: async () => row,
      replaceTokens: async () => {
        throw new Error('away');
      },
    },
    sealer,
    clock: makeHandClock(0),
    holder: 'a',
    callMsMax: 1000,
    changed: async () => {},
    accepted: async () => {},
  });
  const keeping = given.keep(row, new Secret('former'), grantOf('next'));
  await expect(keeping).rejects.toThrow('away');
  expect(given.connections()).toEqual(['c1']);
  expect(given.of('c1', new Secret('former'))!.token.open()).toBe('next');
  expect(given.of('c1', new Secret('of a new consent'))).toBeNull();
});

test('those whose consents a process leaves in doubt are named, eight of a kind at most', () => {
  expect(leftBehindWords({ unstored: [], unanswered: [] })).toEqual([]);
  expect(leftBehindWords({ unstored: ['c1'], unanswered: ['c2'] })).toEqual([
    'the store did not confirm the new tokens of connection c1 before the process ended: its user may have to consent anew',
    'the provider did not answer the renewal of connection c2 before the process ended: if it refuses the next one, its user must consent anew',
  ]);
  const ids = Array.from({ length: 10 }, (_, nth) => `c${nth}`);
  const [many] = leftBehindWords({ unstored: ids, unanswered: [] });
  expect(many).toContain('c7 and 2 more before the process ended: their users may have to consent anew');
});
