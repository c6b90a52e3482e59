/**
 * When a token is renewed for a 401: not again and again for one that it is not to blame for.
 */
import type { Line, Request } from '../../../src/fetch/ask';
import { Attempt } from '../../../src/fetch/attempt';
import type { Verdict } from '../../../src/fetch/classify';
import type { Exchange } from '../../../src/fetch/client';
import { makeRenewingLine } from '../../../src/fetch/renewing-line';
import type { Connection } from '../../../src/model/connection';
import { Secret } from '../../../src/tools/secret';

let nowMs = 0;
let held: Connection;
let renewals = 0;
/** Which tokens are refused, by what is asked. */
let refuses: (path: string, token: string) => boolean;

let line: Line;

/** What was shown elsewhere. */
let shown: string[] = [];

const verdictOf = (isRefused: boolean): Verdict =>
  isRefused
    ? { kind: 'reauthorize', connectionId: 'c1', message: null, sealedToken: '' }
    : { kind: 'not-modified', connectionId: 'c1' };

const makeLine = () =>
  makeRenewingLine(
    {
      exchange: async ({ url, connection }: Request): Promise<Exchange> => {
        const status = refuses(url.pathname, connection!.token.open()) ? 401 : 200;
        return { status, headers: {}, body: Buffer.from(''), wireBytes: 0 };
      },
      verdictOf: ({ status }: Exchange) => verdictOf(status === 401),
    },
    {
      current: () => held,
      renew: async () => {
        renewals += 1;
        held = { ...held, token: new Secret(`token-${renewals}`) };
        return { connection: held };
      },
    },
    async ({ token }, refusedAt) => {
      shown.push(`${token.open()}, refused at ${refusedAt?.pathname}`);
      return verdictOf(refuses('/catalog', token.open()));
    },
    { steadyMs: () => nowMs },
  );

async function ask(path: string): Promise<number | null> {
  const attempt = new Attempt(5000);
  const url = new URL(path, 'https://provider.example');
  const { status } = await line.exchange({ url, operation: 'equipment', connection: held }, attempt);
  attempt.end();
  return status;
}

beforeEach(() => {
  line = makeLine();
  nowMs = 1_000_000;
  renewals = 0;
  shown = [];
  held = { connectionId: 'c1', token: new Secret('token-0') } as Connection;
  refuses = (path) => path === '/unlicensed';
});

test('a 401 that the renewed token meets as well is renewed for once a minute', async () => {
  for (let times = 0; times < 3; times += 1) expect(await ask('/unlicensed')).toBe(401);
  expect(renewals).toBe(1);
  expect(shown).toEqual(Array.from({ length: 2 }, () => 'token-1, refused at /unlicensed'));
  // Elsewhere it is good.
  expect(await ask('/equipment')).toBe(200);
  nowMs += 59_999;
  await ask('/unlicensed');
  expect(renewals).toBe(1);
  nowMs += 1;
  await ask('/unlicensed');
  expect(renewals).toBe(2);
});

test('a token that was renewed in vain and has ended since is renewed at once', async () => {
  await ask('/unlicensed');
  refuses = (path, token) => path === '/unlicensed' || token === 'token-1';
  expect(await ask('/equipment')).toBe(200);
  expect(renewals).toBe(2);
  expect(shown).toEqual(['token-1, refused at /equipment']);
});

test('another token than the one that was renewed in vain is renewed at once', async () => {
  await ask('/unlicensed');
  held = { ...held, token: new Secret('of another process') };
  refuses = (_path, token) => token === 'of another process';
  expect(await ask('/equipment')).toBe(200);
  expect(renewals).toBe(2);
});

test('what a renewal cured is renewed for again when it is refused again', async () => {
  refuses = (_path, token) => token === 'token-0';
  expect(await ask('/equipment')).toBe(200);
  refuses = (_path, token) => token === 'token-1';
  expect(await ask('/equipment')).toBe(200);
  expect(renewals).toBe(2);
});
