// Addresses come from outside, some of them as long as an answer may be.
import { withoutEndSlashes } from '../../../src/model/without-end-slashes';

test.each([
  ['', ''],
  ['/', ''],
  ['a', 'a'],
  ['https://a.example//', 'https://a.example'],
  ['/a//b///', '/a//b'],
])('%j is %j without the slashes at its end', (given, without) => {
  expect(withoutEndSlashes(given)).toBe(without);
});

test('a million slashes that are not at the end are nothing to wait for', () => {
  const text = `${'/'.repeat(1_000_000)}x`;
  expect(withoutEndSlashes(text)).toBe(text);
});
