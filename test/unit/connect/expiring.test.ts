// The end of a consent is one state of its connection from 30 days before, and of those only that cannot be renewed.
// How urgent it is, and so when it is told again, is the alert room's.
import { makeExpiring } from '../../../src/connect/expiring';
import type { Connection } from '../../../src/model/connection';
import { Secret } from '../../../src/tools/secret';

const endsAt = '2027-01-01T00:00:00.000Z';
const dayMs = 86_400_000;
const connection = (more: Partial<Connection> = {}): Connection => ({
  connectionId: 'c1',
  user: 'zoe@example.org',
  auth: 'oauth1',
  token: new Secret('t'),
  sealedToken: 'sealed',
  tokenSecret: new Secret('s'),
  refresh: null,
  expiresAt: endsAt,
  status: 'valid',
  ...more,
});
const daysBefore = (days: number, more: Partial<Connection> = {}) =>
  makeExpiring()([connection(more)], Date.parse(endsAt) - days * dayMs);

test('nothing is said before the thirtieth day', () => {
  expect(daysBefore(30.01)).toEqual([]);
});

test('it is said from 30 days before until after the end, with the end, and as the same alert', () => {
  expect(daysBefore(30)).toEqual([
    {
      name: 'token-expiring',
      sinceMs: Date.parse(endsAt) - 30 * dayMs,
      detail: 'Connection c1 ends at 2027-01-01T00:00:00.000Z at the latest and cannot be renewed.',
      labels: { connection_id: 'c1' },
      endsAtMs: Date.parse(endsAt),
    },
  ]);
  const expiring = makeExpiring();
  const [before, after] = [7, -1].flatMap((days) =>
    expiring([connection()], Date.parse(endsAt) - days * dayMs),
  );
  expect(after).toEqual({ ...before, detail: expect.stringContaining('c1 was to end at') });
});

test('it is so since the consent is known here, where that was given for less than 30 days, and since another one anew', () => {
  const expiring = makeExpiring();
  const sinceOf = (days: number, ...ends: string[]) =>
    expiring(
      ends.map((expiresAt, index) => connection({ connectionId: `c${index}`, expiresAt })),
      Date.parse(endsAt) - days * dayMs,
    ).map(({ sinceMs }) => (Date.parse(endsAt) - sinceMs) / dayMs);
  expect(sinceOf(31, endsAt)).toEqual([]);
  expect(sinceOf(20, endsAt)).toEqual([20]);
  expect(sinceOf(10, endsAt, endsAt)).toEqual([20, 10]);
  const later = new Date(Date.parse(endsAt) + 20 * dayMs).toISOString();
  expect(sinceOf(5, later, endsAt)).toEqual([5, 10]);
});

test('no person is named', () => {
  expect(JSON.stringify(daysBefore(1))).not.toContain('zoe');
});

test.each([
  ['is renewed by itself', { auth: 'oauth2', refresh: new Secret('r') }],
  ['has no end', { expiresAt: null }],
  ['was refused already', { status: 'refused' }],
] as [string, Partial<Connection>][])('nothing is said of one that %s', (_what, more) => {
  expect(daysBefore(1, more)).toEqual([]);
});

test('an OAuth 2 connection that cannot be renewed is announced too', () => {
  expect(daysBefore(1, { auth: 'oauth2' })).toMatchObject([
    {
      detail:
        'Connection c1 ends at 2027-01-01T00:00:00.000Z and cannot be renewed: its consent gave no refresh token, which ' +
        'the scope offline_access in PROVIDER_SCOPES asks for.',
    },
  ]);
});
