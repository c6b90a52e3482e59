import { withEmbeds } from '../../../src/fetch/embed';

const embedded = (address: string) => withEmbeds(new URL(address), ['devices', 'equipment']).href;

test.each([
  ['https://a.test/equipment/1', 'https://a.test/equipment/1?embed=devices,equipment'],
  ['https://a.test/equipment?ids=1', 'https://a.test/equipment?ids=1&embed=devices,equipment'],
  ['https://a.test/e?embed=devices,equipment', 'https://a.test/e?embed=devices,equipment'],
  [
    'https://a.test/e?embed=devices&embed=equipment&x=%20',
    'https://a.test/e?embed=devices&embed=equipment&x=%20',
  ],
  ['https://a.test/e?embed=icon,devices', 'https://a.test/e?embed=icon%2Cdevices%2Cequipment'],
])('%s is asked as %s', (address, expected) => {
  expect(embedded(address)).toBe(expected);
});
