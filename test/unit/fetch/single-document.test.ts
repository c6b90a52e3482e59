import { isAskedById, singleDocument } from '../../../src/fetch/single-document';

const one = { id: 1 };
const two = { id: '2' };

test('a record is itself, whatever else it holds', () => {
  const record = { id: 1, values: [] };
  expect(singleDocument(record, null)).toBe(record);
  expect(singleDocument(null, null)).toBeNull();
  expect(singleDocument('text', '1')).toBe('text');
  expect(singleDocument({ name: 'x' }, '1')).toEqual({ name: 'x' });
});

test('the record is taken out of its collection', () => {
  expect(singleDocument({ values: [one, two] }, '1')).toBe(one);
  expect(singleDocument({ values: [one, two] }, '2')).toBe(two);
  expect(singleDocument({ values: [two] }, null)).toBe(two);
});

test('an empty collection holds no record', () => {
  expect(singleDocument({ links: [], values: [] }, '1')).toBeUndefined();
});

test('a collection that leaves open which record is meant stays as it is', () => {
  const collection = { values: [one, null] };
  expect(singleDocument(collection, null)).toBe(collection);
  expect(singleDocument(collection, '3')).toBe(collection);
});

test.each([
  ['https://equipment.test/isg/equipment?ids=1&embed=devices', true],
  ['https://equipment.test/isg/equipment?principalIds=1', true],
  ['https://equipment.test/isg/equipment/1?embed=devices', false],
  ['https://equipment.test/isg/equipment/ids', false],
])('an answer without entries says that there is no such record: %s is %s', (address, isAsked) => {
  expect(isAskedById(new URL(address))).toBe(isAsked);
});
