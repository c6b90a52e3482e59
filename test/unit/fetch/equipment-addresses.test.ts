import { makeEquipmentAddresses } from '../../../src/fetch/equipment-addresses';

test.each(['https://e.test/isg', 'https://e.test/isg/'])(
  'addresses below %s belong to the equipment API',
  (base) => {
    const equipment = makeEquipmentAddresses(base);
    expect(equipment.holds(new URL('https://e.test/isg/equipment/1'))).toBe(true);
    expect(equipment.holds(new URL('https://e.test/isg'))).toBe(true);
    expect(equipment.holds(new URL('https://e.test/isg2/equipment'))).toBe(false);
    expect(equipment.holds(new URL('https://api.test/isg/equipment'))).toBe(false);
    expect(equipment.record('a/b')).toBe('https://e.test/isg/equipment/a%2Fb');
  },
);

test('a base at the root holds the whole origin', () => {
  expect(makeEquipmentAddresses('https://e.test').holds(new URL('https://e.test/equipment'))).toBe(true);
});
