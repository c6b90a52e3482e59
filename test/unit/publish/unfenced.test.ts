// Goal: it is known where a former producer may still write, and whether it did before this one wrote there first.
// Method: ends and answers by hand.
import { makeUnfenced } from '../../../src/publish/unfenced';

const at = (partition: number, nextOffset = '5') => ({ topic: 't', partition, nextOffset });
const answer = (firstOffset: string | null) => ({ sent: true as const, firstOffset });

test.each([
  ['5', true],
  ['6', false],
  ['4', false],
  [null, true],
])('what stands at %s follows what was read up to 5: %s', (firstOffset, follows) => {
  const unfenced = makeUnfenced();
  unfenced.read([at(0)]);
  expect(unfenced.written(at(0), answer(firstOffset))).toBe(follows);
});

test('offsets are compared as numbers', () => {
  const unfenced = makeUnfenced();
  unfenced.read([at(0, '9'), at(1, '10')]);
  expect(unfenced.written(at(0), answer('10'))).toBe(false);
  expect(unfenced.written(at(1), answer('010'))).toBe(true);
});

test('once something was written nobody comes between, whatever is read later', () => {
  const unfenced = makeUnfenced();
  unfenced.read([at(0), at(1)]);
  unfenced.written(at(0), answer('6'));
  unfenced.read([at(0, '7'), at(1)]);
  expect(unfenced.written(at(0), answer('9'))).toBe(true);
  expect(unfenced.isAny()).toBe(true);
  expect([at(0), at(1)].map(unfenced.isFenced)).toEqual([true, false]);
  unfenced.written(at(1), answer('5'));
  expect(unfenced.isAny()).toBe(false);
});

test('what stands before the end that was read keeps nobody out, and so is the next held against it', () => {
  const unfenced = makeUnfenced();
  unfenced.read([at(0)]);
  expect(unfenced.written(at(0), answer('3'))).toBe(false);
  unfenced.read([at(0)]);
  expect(unfenced.isFenced(at(0))).toBe(false);
  expect(unfenced.written(at(0), answer('4'))).toBe(false);
  expect(unfenced.written(at(0), answer('5'))).toBe(true);
  expect(unfenced.isFenced(at(0))).toBe(true);
});

test('what was not read says nothing, and who forgets looks at all of it again', () => {
  const unfenced = makeUnfenced();
  expect([unfenced.isAny(), unfenced.written(at(0), answer('7'))]).toEqual([false, true]);
  unfenced.read([at(0)]);
  expect(unfenced.isAny()).toBe(false);
  unfenced.forget();
  unfenced.read([at(0), at(1)]);
  unfenced.forget();
  expect(unfenced.isAny()).toBe(false);
  unfenced.read([at(0)]);
  expect(unfenced.written(at(0), answer('6'))).toBe(false);
});
