// R11: the encryption key is turned. Everything is sealed with the first key, once, however often it is broken off; a key
// that is missing is named, and its rows are kept.
import { resealTokens } from '../../../src/connect/reseal-tokens';
import { sealTokens, unsealConnection } from '../../../src/connect/token-vault';
import type { SealedConnection, SealedTokens } from '../../../src/model/connection';
import { isProblem } from '../../../src/model/problem';
import { makeSealer, Secret } from '../../../src/tools/secret';

const key = (id: string, fill: number) => ({ id, key: Buffer.alloc(32, fill) });
const [former, next] = [key('k1', 1), key('k2', 2)];
const both = makeSealer([next, former]);

function stage(count: number) {
  const rows = new Map<string, SealedConnection>();
  for (let place = 0; place < count; place += 1) {
    const connectionId = `c${place}`;
    const grant = {
      token: new Secret(`token-${place}`),
      tokenSecret: new Secret('s/+='),
      refresh: place % 2 === 0 ? null : new Secret('r'),
      expiresAt: null,
    };
    const tokens = sealTokens(connectionId, grant, makeSealer([former]));
    rows.set(connectionId, {
      ...tokens,
      connectionId,
      user: 'u',
      auth: 'oauth1',
      status: 'valid',
      organizations: [],
    });
  }
  let replaced = 0;
  const store = {
    listConnections: async () => [...rows.values()],
    findConnection: async (id: string) => rows.get(id) ?? null,
    async replaceTokens(id: string, replaces: string, tokens: SealedTokens) {
      const row = rows.get(id)!;
      if (row.sealedToken !== replaces) return false;
      rows.set(id, { ...row, ...tokens });
      replaced += 1;
      return true;
    },
  };
  return { rows, store, replaced: () => replaced };
}

test('R11: every token is sealed with the first key and says the same, and then the former key can go', async () => {
  const { rows, store } = stage(5);
  expect(await resealTokens(store, both, 'k2')).toEqual({ resealed: 5, kept: 0 });
  const alone = makeSealer([next]);
  for (const [place, row] of [...rows.values()].entries()) {
    expect(unsealConnection(row, alone).token.open()).toBe(`token-${place}`);
    expect([row.sealedToken, row.sealedTokenSecret!].every((text) => text.startsWith('k2.'))).toBe(true);
  }
});

test('R11: broken off and begun again, it goes on where it was', async () => {
  const { store, replaced } = stage(5);
  const { replaceTokens } = store;
  store.replaceTokens = async (...given) => {
    if (replaced() === 2) throw new Error('the store is away');
    return replaceTokens(...given);
  };
  await expect(resealTokens(store, both, 'k2')).rejects.toThrow('away');
  store.replaceTokens = replaceTokens;
  expect(await resealTokens(store, both, 'k2')).toEqual({ resealed: 3, kept: 2 });
});

test('R11: what a running process renews meanwhile is not written over', async () => {
  const { rows, store } = stage(1);
  const { replaceTokens } = store;
  store.replaceTokens = async (id, replaces, tokens) => {
    store.replaceTokens = replaceTokens;
    const renewed = { token: new Secret('renewed'), tokenSecret: null, refresh: null, expiresAt: null };
    rows.set(id, { ...rows.get(id)!, ...sealTokens(id, renewed, makeSealer([former])) });
    return replaceTokens(id, replaces, tokens);
  };
  expect(await resealTokens(store, both, 'k2')).toEqual({ resealed: 1, kept: 0 });
  expect(unsealConnection(rows.get('c0')!, makeSealer([next])).token.open()).toBe('renewed');
});

test('R11: a key that is missing is named, and the row is kept as it is', async () => {
  const { rows, store } = stage(1);
  const before = rows.get('c0');
  const error = await resealTokens(store, makeSealer([next]), 'k2').catch((thrown: unknown) => thrown);
  expect(isProblem(error, 'store.key-missing')).toBe(true);
  expect((error as Error).message).toContain('k1');
  expect(rows.get('c0')).toEqual(before);
});
