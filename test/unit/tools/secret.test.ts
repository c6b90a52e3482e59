/**
 * A secret prints nothing of itself; what is sealed opens only with its key and for its owner.
 */
import { inspect } from 'node:util';
import { equalInConstantTime, makeSealer, Secret } from '../../../src/tools/secret';

const first = { id: 'k1', key: Buffer.alloc(32, 1) };
const second = { id: 'k2', key: Buffer.alloc(32, 2) };

test('a secret shows itself nowhere but where it is opened', () => {
  const secret = new Secret('hush');
  for (const shown of [String(secret), JSON.stringify({ secret }), inspect({ secret }), `${secret}`]) {
    expect(shown).not.toContain('hush');
  }
  expect(secret.open()).toBe('hush');
});

test('comparison is true for equal texts and bytes of any length, and for nothing else', () => {
  expect(equalInConstantTime('a', Buffer.from('a'))).toBe(true);
  expect(equalInConstantTime('a', 'ab')).toBe(false);
  expect(equalInConstantTime('', '')).toBe(true);
});

test('the first key seals, every key opens, so that keys can be rotated', () => {
  const sealed = makeSealer([first]).seal(new Secret('hush'), 'c1/token');
  expect(sealed).not.toContain('hush');
  expect(makeSealer([second, first]).unseal(sealed, 'c1/token').open()).toBe('hush');
  expect(makeSealer([second, first]).seal(new Secret('x'), 'c').startsWith('k2.')).toBe(true);
});

test('the same value is sealed differently each time', () => {
  const sealer = makeSealer([first]);
  expect(sealer.seal(new Secret('hush'), 'c')).not.toBe(sealer.seal(new Secret('hush'), 'c'));
});

const altered = 'a value sealed with key k1 cannot be opened';
const missing = (id: string) => `no encryption key with id ${id} is configured`;
test.each([
  ['another owner', (sealed: string) => [sealed, 'c2/token'] as const, altered],
  ['a changed value', (sealed: string) => [`${sealed.slice(0, -2)}AA`, 'c1/token'] as const, altered],
  ['an unknown key', (sealed: string) => [sealed.replace('k1.', 'k9.'), 'c1/token'] as const, missing('k9')],
  [
    'a cut value',
    (sealed: string) => [sealed.split('.').slice(0, 2).join('.'), 'c1/token'] as const,
    altered,
  ],
  ['nothing but its key', (sealed: string) => [sealed.split('.')[0]!, 'c1/token'] as const, altered],
  ['nothing at all', () => ['', 'c1/token'] as const, missing('(none)')],
])('%s does not open, and it is said whether its key is there', (_what, spoil, message) => {
  const sealer = makeSealer([first]);
  const [sealed, context] = spoil(sealer.seal(new Secret('hush-hush'), 'c1/token'));
  expect(() => sealer.unseal(sealed, context)).toThrow(
    expect.objectContaining({ code: 'store.key-missing', message }),
  );
});

test('there is no sealing without a key', () => {
  expect(() => makeSealer([])).toThrow('ENCRYPTION_KEYS');
});
