import { addressOf, patternOf } from '../../../src/fetch/address-pattern';

test('what stands before an id is learned and put before another', () => {
  const pattern = patternOf('https://a.test/v2/fieldOperations/a%3D%3D', 'a==');
  expect(pattern).toBe('https://a.test/v2/fieldOperations/');
  expect(addressOf(pattern!, 'b/c')).toBe('https://a.test/v2/fieldOperations/b%2Fc');
});

test('a link that does not end in the id, or names its owner, teaches nothing', () => {
  expect(patternOf('https://a.test/x?id=7', '7')).toBeNull();
  expect(patternOf('https://a.test/17', '7')).toBeNull();
  expect(patternOf(undefined, '7')).toBeNull();
  expect(patternOf('https://a.test/organizations/4711/operations/7', '7', ['4711'])).toBeNull();
  expect(patternOf('https://a.test/organizations/47110/operations/7', '7', ['4711'])).not.toBeNull();
});
