// Which records of equipment are one piece: by ids, ERIDs and principal ids, and never by a number that only looks alike.
import type { EquipmentNames } from '../../../src/model/equipment-names';
import { EquipmentShelf } from '../../../src/store/equipment-names';

type More = Partial<EquipmentNames>;
const newer = (id: string, more: More = {}): EquipmentNames => ({
  id,
  side: 'new',
  organizationId: '4711',
  principalId: `9${id}`,
  erid: `e${id}`,
  serialNumber: `s${id}`,
  ...more,
});
/** The record of the machine that the equipment API calls `of`. */
const older = (id: string, of: string, more: More = {}): EquipmentNames => ({
  id,
  side: 'old',
  organizationId: '4711',
  principalId: null,
  erid: `e${of}`,
  serialNumber: `s${of}`,
  ...more,
});

let shelf: EquipmentShelf;
beforeEach(() => {
  shelf = new EquipmentShelf();
});
const choose = (...pieces: EquipmentNames[]) => shelf.choose(pieces);
const knownAs = (...pieces: EquipmentNames[]) => choose(...pieces).known.map(({ id }) => id);

test('a record is known by its own id, again and again, and kept once', () => {
  expect(knownAs(newer('1'), newer('2'), newer('1'))).toEqual(['1', '2', '1']);
  expect(choose(newer('1')).records).toEqual([]);
});

test('one machine is known as it was called first, from the older endpoints to the newer ones and back', () => {
  expect(knownAs(older('91', '1'), newer('1'), older('91', '1'))).toEqual(['91', '91', '91']);
  expect(knownAs(newer('2'), older('92', '2'), newer('2'))).toEqual(['2', '2', '2']);
});

test('what one side leaves out of the principal id, the other has said', () => {
  const [before, , after] = choose(older('91', '1'), newer('1'), older('91', '1')).known;
  expect([before!.principalId, after!.principalId]).toEqual([null, '91']);
});

test('without an ERID it is the principal id, where the serial number does not speak against it', () => {
  const bare = { erid: null };
  expect(knownAs(older('91', '1', bare), newer('1'))).toEqual(['91', '91']);
  expect(knownAs(newer('2', bare), older('92', '2'))).toEqual(['2', '2']);
  expect(knownAs(older('93', '3', { ...bare, serialNumber: null }), newer('3'))).toEqual(['93', '93']);
  expect(knownAs(older('94', '4', { ...bare, serialNumber: 'other' }), newer('4'))).toEqual(['94', '4']);
});

test('where both sides call it by one id, that is enough when nothing speaks against it', () => {
  const bare = { erid: null, principalId: null };
  expect(knownAs(older('1', '1', bare), newer('1', bare))).toEqual(['1', '1']);
  expect(knownAs(older('5', '5'), newer('5', { principalId: '77' }))).toEqual(['5', '5']);
  expect(knownAs(older('6', '6', { erid: 'another' }), newer('6', { principalId: '78' }))).toEqual([
    '6',
    '6',
  ]);
  expect(knownAs(older('7', '7', { ...bare, serialNumber: null }), newer('7'))).toEqual(['7', '7']);
});

test('the same number as the older id of one and the newer id of another is two machines', () => {
  expect(knownAs(older('2', '1'), newer('2'))).toEqual(['2', 'e2']);
  expect(knownAs(newer('1'), older('92', '2'), newer('2'))).toEqual(['2', 'e2', 'e2']);
  const bare = { erid: null };
  expect(knownAs(older('4', '3', bare), newer('4', bare), older('new-4', '8', bare))).toEqual([
    '4',
    'new-4',
    'old-new-4',
  ]);
});

test('a serial number alone makes nothing one, also where two machines share it', () => {
  const shared = { serialNumber: 's', erid: null };
  expect(knownAs(older('91', '1', shared), older('92', '2', shared))).toEqual(['91', '92']);
  expect(knownAs(newer('3', shared), newer('4', shared))).toEqual(['3', '4']);
  expect(knownAs(newer('1', shared), newer('2', shared))).toEqual(['91', '92']);
  expect(knownAs(older('96', '6', shared))).toEqual(['96']);
});

test('two records of one side are never one, whatever they share', () => {
  const twins = { erid: 'e', serialNumber: 's', principalId: '9' };
  expect(knownAs(newer('1', twins), newer('2', twins))).toEqual(['1', '2']);
  expect(knownAs(older('8', '1', { ...twins, principalId: null }))).toEqual(['1']);
  expect(knownAs(older('7', '1', twins), older('6', '1', twins))).toEqual(['2', '6']);
});

test('the same thing in two organizations is two records on either side', () => {
  const shared = { principalId: '99', serialNumber: 's' };
  const there = { ...shared, organizationId: '4712' };
  expect(knownAs(newer('1', shared), newer('2', there))).toEqual(['1', '2']);
  const before = [older('99', '1', { serialNumber: 's' }), older('99', '2', { ...there, principalId: null })];
  expect(knownAs(...before)).toEqual(['1', '2']);
  shelf = new EquipmentShelf();
  expect(knownAs(...before, ...before, newer('1', shared), newer('2', there))).toEqual([
    '99',
    'e2',
    '99',
    'e2',
    '99',
    'e2',
  ]);
});

test('a piece that goes to another organization stays one', () => {
  const moved = { organizationId: '4712' };
  expect(knownAs(newer('1'), newer('1', { ...moved, erid: 'g' }))).toEqual(['1', '1']);
  expect(knownAs(older('5', '5'), older('5', '5', moved))).toEqual(['5', '5']);
});

test('a piece that went to another organization before the other side showed it is one by its ERID alone', () => {
  const moved = { organizationId: '4712' };
  expect(knownAs(older('91', '1'), newer('1', moved))).toEqual(['91', '91']);
  expect(knownAs(newer('2'), older('92', '2', moved))).toEqual(['2', '2']);
  expect(knownAs(older('93', '3'), newer('3', { ...moved, erid: 'other' }))).toEqual(['93', '3']);
  expect(knownAs(older('94', '4'), newer('4', { ...moved, erid: null }))).toEqual(['94', '4']);
  // What its organization of today has goes before.
  const here = older('96', '5', moved);
  expect(knownAs(older('95', '5'), here, newer('5', moved))).toEqual(['95', '96', '96']);
});

test('what a record leaves out is not forgotten, and what changed is kept', () => {
  knownAs(newer('1'));
  expect(choose(newer('1', { erid: null, principalId: null })).records).toEqual([]);
  expect(choose(newer('1', { serialNumber: 'other' })).records).toMatchObject([
    { id: '1', erid: 'e1', serialNumber: 'other', resourceId: '1' },
  ]);
});
