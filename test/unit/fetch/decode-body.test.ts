import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { decodeBody } from '../../../src/fetch/decode-body';

const decode = async (body: Buffer, encoding: string | undefined, bytesMax = 100_000) =>
  decodeBody(body, encoding, bytesMax);
const small = Buffer.from('{"id":1}');
const large = randomBytes(40_000);

test('a body without encoding is what it is', async () => {
  expect(await decode(small, undefined)).toBe(small);
  expect(await decode(small, 'identity')).toBe(small);
  expect(await decode(small, '')).toBe(small);
});

test('gzip is undone, small and large', async () => {
  expect(await decode(gzipSync(small), 'gzip')).toEqual(small);
  expect(await decode(gzipSync(small), 'x-gzip')).toEqual(small);
  expect(await decode(gzipSync(large), 'gzip')).toEqual(large);
  expect(await decode(Buffer.alloc(0), 'gzip')).toEqual(Buffer.alloc(0));
});

test('gzip that ends early is cut, small and large', async () => {
  for (const body of [small, large]) {
    const whole = gzipSync(body);
    for (const cut of [1, 4, 8, 9]) {
      expect(await decode(whole.subarray(0, whole.length - cut), 'gzip')).toBe('body-cut');
    }
  }
  expect(await decode(small, 'gzip')).toBe('body-cut');
});

test('what expands beyond the cap is stopped, small and large', async () => {
  const bomb = gzipSync(Buffer.alloc(2_000_000));
  expect(bomb.length).toBeLessThan(8192);
  expect(await decode(bomb, 'gzip', 1000)).toBe('body-too-large');
  expect(await decode(gzipSync(large), 'gzip', 1000)).toBe('body-too-large');
});

test.each(['br', 'deflate', 'zstd', 'gzip, gzip', 'identity, gzip'])(
  'encoding %s is refused',
  async (encoding) => {
    expect(await decode(small, encoding)).toBe('encoding-refused');
  },
);
