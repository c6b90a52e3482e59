// What deliveries are known by: everything that was offered at once, what the provider uses before anything older, and
// never again what it has replaced.
import { keepGiven } from '../../../src/subscribe/given-tokens';
import { resealSecrets } from '../../../src/subscribe/reseal-secrets';
import { makeSecretBook, type SecretBook } from '../../../src/subscribe/secret-book';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { type MemorySecrets, makeMemorySecrets } from '../../support/memory-secrets';
import { until } from '../../support/until';

const key = (id: string, byte: number) => ({ id, key: Buffer.alloc(32, byte) });
const sealer = makeSealer([key('k1', 1)]);
const value = { kind: 'authorization', user: null, connectionId: null } as const;
const token = { kind: 'token', user: 'ann', connectionId: 'c1' } as const;

let store: MemorySecrets;
let failures: unknown[];
beforeEach(() => {
  store = makeMemorySecrets();
  failures = [];
});

function bookOf(
  configured: string[] = [],
  tokens: string[] = [],
  own: typeof sealer | null = sealer,
): SecretBook {
  return makeSecretBook({
    store,
    sealer: own,
    configured: {
      authorizationValues: configured.map((text) => new Secret(text)),
      tokens: tokens.map((text) => ({ token: new Secret(text), user: null })),
    },
    failed: (error) => failures.push(error),
  });
}
const accepted = (book: SecretBook) => book.authorizationValues().map((secret) => secret.open());

test('values and tokens of the settings hold from the start, made ones as soon as they are offered', async () => {
  const book = bookOf(['Bearer set'], ['set-token']);
  expect(accepted(book)).toEqual(['Bearer set']);
  await book.offer(new Secret('Bearer made'), value);
  const { id } = await book.offer(new Secret('made-token'), token);
  expect(accepted(book)).toEqual(['Bearer set', 'Bearer made']);
  expect(book.tokens().map((held) => [held.token.open(), held.user, held.id])).toEqual([
    ['set-token', null, null],
    ['made-token', 'ann', id],
  ]);
  expect(JSON.stringify(store.rows)).not.toMatch(/made-token|Bearer made/);
});

test('another process has them after it has looked, and the same one keeps its object', async () => {
  const [one, other] = [bookOf(), bookOf()];
  await one.offer(new Secret('Bearer made'), value);
  await other.refresh();
  expect(accepted(other)).toEqual(['Bearer made']);
  const [before] = other.authorizationValues();
  await other.refresh();
  expect(other.authorizationValues()[0]).toBe(before);
});

test('a value that a delivery used ends those before it, also those of the settings and after a restart', async () => {
  const book = bookOf(['Bearer set']);
  await book.offer(new Secret('Bearer first'), value);
  await book.offer(new Secret('Bearer second'), value);
  await book.offer(new Secret('Bearer third'), value);
  const [, , second] = book.authorizationValues();
  book.used(second!);
  book.used(second!);
  await until(() => accepted(book).length === 2, { withinMs: 10_000, what: 'the confirmation' });
  expect(accepted(book)).toEqual(['Bearer second', 'Bearer third']);
  const restarted = bookOf(['Bearer set', 'Bearer new']);
  await restarted.refresh();
  expect(accepted(restarted)).toEqual(['Bearer new', 'Bearer second', 'Bearer third']);
  expect(failures).toEqual([]);
});

test('what is used and not offered changes nothing', async () => {
  const book = bookOf(['Bearer set']);
  await book.offer(new Secret('Bearer made'), value);
  book.used(book.authorizationValues()[0]!);
  await book.confirm('unknown');
  const { id } = await book.offer(new Secret('made-token'), token);
  await book.confirm(id);
  expect(accepted(book)).toEqual(['Bearer set', 'Bearer made']);
});

test('a confirmation that is broken off is begun again with the next delivery', async () => {
  const book = bookOf(['Bearer set']);
  await book.offer(new Secret('Bearer made'), value);
  const made = book.authorizationValues()[1]!;
  store.failure = new Error('not now');
  book.used(made);
  await until(() => failures.length === 1, { withinMs: 10_000, what: 'the failure' });
  expect(accepted(book)).toEqual(['Bearer set', 'Bearer made']);
  store.failure = null;
  book.used(made);
  await until(() => accepted(book).length === 1, { withinMs: 10_000, what: 'the confirmation' });
  expect(accepted(book)).toEqual(['Bearer made']);
});

test('a retired value that the settings name no more is forgotten at the next rotation', async () => {
  const book = bookOf(['Bearer set']);
  await book.confirm((await book.offer(new Secret('Bearer made'), value)).id);
  expect(store.rows.map(({ state }) => state).sort()).toEqual(['active', 'retired']);
  const later = bookOf([]);
  await later.refresh();
  await later.confirm((await later.offer(new Secret('Bearer other'), value)).id);
  expect(store.rows.map(({ state }) => state)).toEqual(['active']);
});

test('a token is bound to its subscription, and is gone when it is dropped', async () => {
  const book = bookOf();
  const { id } = await book.offer(new Secret('made-token'), token);
  await book.bind(id, 's1');
  await book.bind('unknown', 's2');
  expect(book.held('token')).toMatchObject([{ id, state: 'active', subscriptionId: 's1', user: 'ann' }]);
  await book.drop(id);
  expect(book.tokens()).toEqual([]);
});

test('without keys nothing is kept, and what no key opens is left out and told', async () => {
  await expect(bookOf([], [], null).offer(new Secret('x'), value)).rejects.toMatchObject({
    code: 'settings.invalid',
  });
  await bookOf().offer(new Secret('Bearer made'), value);
  const keyless = bookOf(['Bearer set'], [], null);
  await keyless.refresh();
  expect([accepted(keyless), failures]).toEqual([['Bearer set'], []]);
  const other = bookOf(['Bearer set'], [], makeSealer([key('k2', 2)]));
  await other.refresh();
  expect(accepted(other)).toEqual(['Bearer set']);
  expect(failures).toMatchObject([{ code: 'store.key-missing' }]);
});

test('what was sealed anew with a key that is not known here is told, and still accepted by who knew it', async () => {
  const [book, other] = [bookOf(), makeSealer([key('k2', 2), key('k1', 1)])];
  await book.offer(new Secret('Bearer made'), value);
  await book.offer(new Secret('made-token'), token);
  expect(book.unopened()).toEqual([]);
  await resealSecrets(store, other, 'k2');
  for (const _round of [1, 2]) {
    await book.refresh();
    expect([accepted(book), book.tokens().map((held) => held.token.open())]).toEqual([
      ['Bearer made'],
      ['made-token'],
    ]);
    expect(book.unopened()).toMatchObject([
      { kind: 'authorization', why: 'no encryption key with id k2 is configured' },
      { kind: 'token', connectionId: 'c1' },
    ]);
  }
  await resealSecrets(store, makeSealer([key('k1', 1), key('k2', 2)]), 'k1');
  await book.refresh();
  expect([accepted(book), book.unopened()]).toEqual([['Bearer made'], []]);
});

test('a value that no key opens ends with the next one that the provider uses, a later one does not', async () => {
  const strange = bookOf([], [], makeSealer([key('k2', 2)]));
  await strange.offer(new Secret('Bearer lost'), value);
  const book = bookOf();
  const { id } = await book.offer(new Secret('Bearer new'), value);
  const later = await strange.offer(new Secret('Bearer later'), value);
  await book.confirm(id);
  expect(store.rows.map((row) => row.id)).toEqual([id, later.id]);
});

test('a replaced value that no key opens is told once, and refused again from the next one that the provider uses', async () => {
  const strange = bookOf(['Bearer set'], [], makeSealer([key('k2', 2)]));
  await strange.confirm((await strange.offer(new Secret('Bearer made'), value)).id);
  const book = bookOf(['Bearer set']);
  for (const _round of [1, 2]) {
    await book.refresh();
    expect([accepted(book), failures.length]).toEqual([['Bearer set'], 2]);
  }
  await book.confirm((await book.offer(new Secret('Bearer new'), value)).id);
  expect([accepted(book), book.unopened()]).toEqual([['Bearer new'], []]);
  const restarted = bookOf(['Bearer set']);
  await restarted.refresh();
  expect([accepted(restarted), failures.length]).toEqual([['Bearer new'], 2]);
});

test('a token of the settings that no key opens is kept anew, and the former row is gone', async () => {
  await keepGiven(bookOf([], ['set-token'], makeSealer([key('k2', 2)])));
  const book = bookOf([], ['set-token']);
  await book.refresh();
  await keepGiven(book);
  expect(store.rows).toMatchObject([{ state: 'given', sealed: expect.stringMatching(/^k1\./) }]);
  expect([book.givenTokens()[0]?.id, book.unopened()]).toEqual([store.rows[0]?.id, []]);
});

test('what was sealed anew with a key that is not known here is not forgotten by who still knows it', async () => {
  const book = bookOf(['Bearer set'], ['set-token']);
  await book.confirm((await book.offer(new Secret('Bearer made'), value)).id);
  await keepGiven(book);
  await resealSecrets(store, makeSealer([key('k2', 2), key('k1', 1)]), 'k2');
  await book.refresh();
  await keepGiven(book);
  const { id } = await book.offer(new Secret('Bearer new'), value);
  await book.confirm(id);
  expect(store.rows.map(({ state, sealed }) => `${state} ${sealed.slice(0, 2)}`).sort()).toEqual([
    'active k1',
    'given k2',
    'retired k2',
  ]);
  expect(accepted(book)).toEqual(['Bearer new']);
});

test('all are sealed anew with the first key, once', async () => {
  await bookOf().offer(new Secret('Bearer made'), value);
  const turned = makeSealer([key('k2', 2), key('k1', 1)]);
  expect(await resealSecrets(store, turned, 'k2')).toEqual({ resealed: 1, kept: 0 });
  expect(await resealSecrets(store, turned, 'k2')).toEqual({ resealed: 0, kept: 1 });
  const book = bookOf([], [], makeSealer([key('k2', 2)]));
  await book.refresh();
  expect(accepted(book)).toEqual(['Bearer made']);
});

describe('R11: what a running process does while all are sealed anew', () => {
  const both = makeSealer([key('k2', 2), key('k1', 1)]);
  /** Between their being listed and the first that is written. */
  const resealedAfter = async (meanwhile: () => Promise<void>) => {
    const { listWebhookSecrets } = store;
    store.listWebhookSecrets = async () => {
      store.listWebhookSecrets = listWebhookSecrets;
      const rows = await listWebhookSecrets();
      await meanwhile();
      return rows;
    };
    return resealSecrets(store, both, 'k2');
  };

  test('is not taken back, and what it dropped stays away', async () => {
    const book = bookOf();
    const { id } = await book.offer(new Secret('made-token'), token);
    const dropped = await book.offer(new Secret('former-token'), token);
    const counted = await resealedAfter(async () => {
      await book.bind(id, 's1', { user: 'bea' });
      await book.drop(dropped.id);
    });
    expect(counted).toEqual({ resealed: 1, kept: 0 });
    expect(store.rows).toMatchObject([{ id, state: 'active', subscriptionId: 's1', user: 'bea' }]);
    expect(store.rows[0]?.sealed).toMatch(/^k2\./);
  });

  test('leaves what it wrote afterwards sealed with the first key, whatever it had read before', async () => {
    const book = bookOf();
    const { id } = await book.offer(new Secret('made-token'), token);
    await resealSecrets(store, both, 'k2');
    await book.bind(id, 's1');
    expect(store.rows).toMatchObject([
      { state: 'active', subscriptionId: 's1', sealed: expect.stringMatching(/^k2\./) },
    ]);
  });
});
