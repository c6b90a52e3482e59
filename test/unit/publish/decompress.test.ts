// Goal: what brokers compress is read as it was, whatever its form, and bytes that are not that are refused.
// Method: frames made by hand, of forms that a broker of the tests does not write; real ones are in the integration suite.
import { zstdCompressSync } from 'node:zlib';
import { decompressLz4, decompressSnappy, decompressZstd } from '../../../src/publish/decompress';

const bytes = (...of: (number | string)[]) =>
  Buffer.concat(of.map((one) => (typeof one === 'string' ? Buffer.from(one) : Buffer.from([one]))));
const size = (length: number) => {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(length >>> 0);
  return [...four];
};
const magic = [0x04, 0x22, 0x4d, 0x18];

describe('LZ4', () => {
  /** `flags`, then what they announce, then blocks. */
  const frame = (flags: number, announced: number[], ...blocks: Buffer[]) =>
    Buffer.concat([bytes(...magic, flags, 0x40, ...announced, 0), ...blocks, bytes(...size(0))]);
  const block = (of: Buffer, ...after: number[]) =>
    Buffer.concat([bytes(...size(of.length)), of, bytes(...after)]);

  test('plain bytes, copies that overlap themselves and lengths of several bytes', () => {
    const copied = block(bytes(0x1f, 'a', 1, 0, 255, 10, 0x10, 'z'));
    expect(decompressLz4(frame(0x60, [], copied)).toString()).toBe(`${'a'.repeat(1 + 4 + 15 + 265)}z`);
    const long = 'x'.repeat(15 + 255 + 3);
    expect(decompressLz4(frame(0x60, [], block(bytes(0xf0, 255, 3, long)))).toString()).toBe(long);
  });

  test('blocks that are not compressed, that refer to the one before, and checksums', () => {
    const stored = Buffer.concat([bytes(...size(0x80000000 + 3)), bytes('abc'), bytes(9, 9, 9, 9)]);
    const referring = block(bytes(0x00, 3, 0, 0x10, '!'), 9, 9, 9, 9);
    const all = frame(0x58, [0, 0, 0, 0, 0, 0, 0, 0], stored, referring);
    expect(decompressLz4(all).toString()).toBe('abcabca!');
  });

  test.each([
    ['another form', bytes('nothing of the kind')],
    ['an end that is missing', frame(0x60, []).subarray(0, 7)],
    ['a copy of what is not there', frame(0x60, [], block(bytes(0x10, 'a', 2, 0, 0x10, 'b')))],
  ])('%s is refused', (_name, wrong) => {
    expect(() => decompressLz4(wrong)).toThrow(/no LZ4 frame|out of range|not there/);
  });

  test('what becomes too large is refused', () => {
    const huge = block(
      Buffer.concat([bytes(0x1f, 'a', 1, 0), Buffer.alloc(600_000, 255), bytes(0, 0x10, 'z')]),
    );
    expect(() => decompressLz4(frame(0x60, [], huge))).toThrow('too large');
  });
});

describe('snappy', () => {
  const long = 'y'.repeat(70);

  test.each([
    ['a short text', bytes(3, 2 << 2, 'abc'), 'abc'],
    ['a long text and a length of two bytes', bytes(0xc6, 0x00, 60 << 2, 69, long), long],
    ['a copy from near', bytes(7, 0, 'a', (2 << 2) | 1, 1), 'aaaaaaa'],
    ['a copy from further', bytes(4, 1 << 2, 'ab', (1 << 2) | 2, 2, 0), 'abab'],
    ['a copy from far', bytes(4, 1 << 2, 'ab', (1 << 2) | 3, 2, 0, 0, 0), 'abab'],
  ])('%s', (_name, block, text) => {
    expect(decompressSnappy(block).toString()).toBe(text);
    const header = Buffer.concat([Buffer.from('\x82SNAPPY\0', 'latin1'), Buffer.alloc(8)]);
    const chunk = Buffer.concat([bytes(0, 0, 0, block.length), block]);
    expect(decompressSnappy(Buffer.concat([header, chunk, chunk])).toString()).toBe(text + text);
  });

  test('a copy of what is not there is refused', () => {
    expect(() => decompressSnappy(bytes(4, (0 << 2) | 1, 1))).toThrow(RangeError);
  });
});

test('zstd', async () => {
  const text = Buffer.from('some bytes '.repeat(100));
  expect(await decompressZstd(zstdCompressSync(text))).toEqual(text);
  await expect(decompressZstd(text)).rejects.toThrow();
});
