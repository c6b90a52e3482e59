/**
 * Times, ids and the other plain values: what is taken, in which form it leaves, and what is refused.
 */
import type { Reading } from '../../../src/normalize/reading';
import { flag, label, plainNumber, readId, text, time, word } from '../../../src/normalize/scalars';

const reading: Reading = { includeOperatorNames: false, unknown: new Set() };

function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test.each([
  ['2025-05-06T18:00:00.123Z', '2025-05-06T18:00:00.123Z'],
  ['2025-05-06T18:00:00Z', '2025-05-06T18:00:00.000Z'],
  ['2025-05-06T18:00:00.123456789Z', '2025-05-06T18:00:00.123Z'],
  ['2025-05-06T20:00:00+02:00', '2025-05-06T18:00:00.000Z'],
  ['2025-05-06T20:00:00.5+0200', '2025-05-06T18:00:00.500Z'],
  ['2024-12-31T23:30:00-01:00', '2025-01-01T00:30:00.000Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
])('the time %s is published as %s', (sent, published) => {
  expect(time.read(sent, '', reading)).toBe(published);
});

test.each([
  ['2025-05-06T18:00:00', 'malformed-time'],
  ['2025-05-06', 'malformed-time'],
  ['2025-02-30T00:00:00Z', 'malformed-time'],
  ['2025-13-01T00:00:00Z', 'malformed-time'],
  ['2025-05-06T25:00:00Z', 'malformed-time'],
  ['2025-05-06T18:00:61Z', 'malformed-time'],
  ['2025-05-06T18:00:00+99:00', 'malformed-time'],
  ['yesterday', 'malformed-time'],
  ['', 'malformed-time'],
  ['0000-01-01T00:00:00+01:00', 'out-of-range'],
  ['9999-12-31T23:59:59-01:00', 'out-of-range'],
  [1746554400, 'wrong-type'],
  [{}, 'wrong-type'],
])('the time %j is refused: %s', (sent, code) => {
  expect(outcome(() => time.read(sent, '', reading))).toBe(code);
});

test.each([
  [4711, '4711'],
  ['4711', '4711'],
  [-1, '-1'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ['MjIzMDMx+/=', 'MjIzMDMx+/='],
  ['9007199254740993', '9007199254740993'],
])('the id %j is published as %s', (sent, published) => {
  expect(readId(sent, '')).toBe(published);
});

test.each([
  [undefined, 'required'],
  [null, 'required'],
  ['', 'malformed-id'],
  ['a\u0000b', 'malformed-id'],
  ['a\nb', 'malformed-id'],
  ['\ud800', 'malformed-id'],
  ['x'.repeat(257), 'malformed-id'],
  [2 ** 53, 'unsafe-integer'],
  [-(2 ** 53), 'unsafe-integer'],
  [1e300, 'unsafe-integer'],
  [1.5, 'wrong-type'],
  [Number.POSITIVE_INFINITY, 'wrong-type'],
  [true, 'wrong-type'],
  [['4711'], 'wrong-type'],
])('the id %j is refused: %s', (sent, code) => {
  expect(outcome(() => readId(sent, ''))).toBe(code);
});

test('labels are text whether they come as text or as integers', () => {
  expect(label.read(2014, '', reading)).toBe('2014');
  expect(label.read('2014', '', reading)).toBe('2014');
  expect(outcome(() => label.read(2 ** 53 + 2, '', reading))).toBe('unsafe-integer');
  expect(outcome(() => label.read(20.5, '', reading))).toBe('wrong-type');
  expect(outcome(() => label.read(false, '', reading))).toBe('wrong-type');
});

test('words are published in lower case', () => {
  expect(word.read('Tillage', '', reading)).toBe('tillage');
});

test('text keeps what it holds up to its bound', () => {
  expect(text.read('\u0000\ud800', '', reading)).toBe('\u0000\ud800');
  expect(text.read('x'.repeat(4096), '', reading)).toHaveLength(4096);
  expect(outcome(() => text.read('x'.repeat(4097), '', reading))).toBe('too-long');
  expect(outcome(() => text.read(5, '', reading))).toBe('wrong-type');
});

test('flags are true or false and nothing that looks like it', () => {
  expect(flag.read(false, '', reading)).toBe(false);
  expect(outcome(() => flag.read('false', '', reading))).toBe('wrong-type');
});

test('plain numbers are finite', () => {
  expect(plainNumber.read(-93.62, '', reading)).toBe(-93.62);
  expect(outcome(() => plainNumber.read(Number.POSITIVE_INFINITY, '', reading))).toBe('out-of-range');
  expect(outcome(() => plainNumber.read('1', '', reading))).toBe('wrong-type');
});
