import { shownAddress, withAddress } from '../../../src/model/shown-address';

test.each<[string, string | null]>([
  ['https://api.test/files/f1', 'https://api.test/files/f1'],
  ['https://user:canary@api.test:8443/files?token=canary#canary', 'https://api.test:8443/files'],
  [
    'https://api.test/isg/equipment?key=canary&organizationIds=4711&pageOffset=10',
    'https://api.test/isg/equipment?organizationIds=4711&pageOffset=10',
  ],
  ['not an address', null],
  ['', null],
])('%s is shown as %s', (address, shown) => {
  expect(shownAddress(address)).toBe(shown);
});

test('an address without an end is cut', () => {
  expect(shownAddress(`https://api.test/${'x'.repeat(5000)}`)).toHaveLength(301);
});

test('a sentence gets its address once', () => {
  const once = withAddress('expected a list, got text', 'https://api.test/files?token=canary');
  expect(once).toBe('expected a list, got text (https://api.test/files)');
  expect(withAddress(once, 'https://api.test/files')).toBe(once);
  expect(withAddress('expected a list, got text', null)).toBe('expected a list, got text');
});
