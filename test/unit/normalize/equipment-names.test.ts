// What a record of equipment is called by, and the document as what it is known as.
import { equipmentNamesOf } from '../../../src/normalize/equipment-names';
import { documentOf } from '../../../src/normalize/known-as';
import { normalized, providerDocument } from './provider-document';

const newer = providerDocument('equipment-machine');
const older = providerDocument('old-machine');

test('both shapes say by which side they were written, and agree on the rest', () => {
  const names = equipmentNamesOf(newer);
  expect(names).toEqual({
    side: 'new',
    id: '217001',
    organizationId: '4711',
    principalId: '82001',
    erid: '5f0b7c1e-2a9d-4f7e-8a35-91d6c6f7a001',
    serialNumber: '1X0S680ABCD780123',
  });
  expect(equipmentNamesOf(older)).toEqual({ ...names, side: 'old', principalId: null });
});

test.each([
  [null],
  ['text'],
  [{ '@type': 'FieldOperation', id: '1', organization: { id: 1 } }],
  [{ '@type': 'Machine', organization: { id: 1 } }],
  [{ '@type': 'Machine', id: 1.5, organization: { id: 1 } }],
  [{ '@type': 'Machine', id: '1' }],
  [{ '@type': 'Machine', id: '1', organization: [] }],
  [{ '@type': 'Machine', id: '1', organization: 'text' }],
])('%j has no names', (body) => {
  expect(equipmentNamesOf(body)).toBeNull();
});

test('what nothing can be known by is left out', () => {
  const organization = [{ id: 4711 }];
  const odd = { ERID: '', serialNumber: { a: 1 }, principalId: 'a\u0000b' };
  const bare = { side: 'new', id: '1', organizationId: '4711', principalId: null, erid: null };
  expect(equipmentNamesOf({ '@type': 'Implement', id: 1, organization, ...odd })).toEqual({
    ...bare,
    serialNumber: null,
  });
});

test('a document is known by the first id, and gets the principal id that only the other side says', () => {
  const now = normalized(newer);
  expect(documentOf(now, null)).toBe(now);
  expect(documentOf(now, { id: '217001', principalId: '82001' })).toBe(now);
  expect(documentOf(now, { id: '82001', principalId: '82001' })).toEqual({ ...now, id: '82001' });
  const before = documentOf(normalized(older), { id: '82001', principalId: '82001' });
  expect(before).toMatchObject({ id: '82001', facts: { principalId: '82001' } });
  const said = normalized({ ...older, principalId: 82001 });
  expect(before.contentHash).toBe(said.contentHash);
});
