/**
 * The schemas of event values: what they take and what they refuse, kind by kind.
 */
import { deletedValue } from '../../../src/model/event';
import { checkFacts } from '../../../src/normalize/event-schemas';
import { checkEventValue } from '../../../src/normalize/normalize';
import { normalized, providerDocument } from './provider-document';

const common = {
  id: '217001',
  organizationId: '4711',
  observedAt: '2025-05-06T18:00:00.000Z',
  source: { address: 'https://provider.example/e/217001', mediaType: 'application/json' },
};
const blocked = {
  ...common,
  id: '4711',
  access: 'terms-required',
  previousAccess: 'active',
  cause: 'terms',
  since: '2025-05-06T18:00:00.000Z',
  actionUrl: 'https://provider.example/terms',
  message: 'Requested Org is in a restricted state.',
};

test('a whole value of each kind fits', () => {
  const machine = normalized(providerDocument('equipment-machine'));
  const harvest = normalized(providerDocument('field-operation-harvest'));
  expect(checkEventValue('equipment', { ...common, ...machine.facts })).toBeNull();
  expect(checkEventValue('field-operation', { ...common, ...harvest.facts })).toBeNull();
  expect(checkEventValue('organization-access', blocked)).toBeNull();
  expect(checkEventValue('organization-access', { ...blocked, name: 'North Farm' })).toBeNull();
});

test('the value of an organization that is active again fits', () => {
  const active = { access: 'active', previousAccess: 'terms-required', cause: null, actionUrl: null };
  expect(checkEventValue('organization-access', { ...blocked, ...active, message: null })).toBeNull();
});

test.each(['equipment', 'field-operation'] as const)('the value of a deleted %s fits', (kind) => {
  const { source, ...identity } = common;
  for (const movedTo of [null, '4712']) {
    expect(checkEventValue(kind, JSON.parse(deletedValue({ ...identity, ...source, movedTo })))).toBeNull();
  }
});

test.each([
  ['id', undefined, '/id'],
  ['organizationId', 4711, '/organizationId'],
  ['observedAt', '2025-05-06T18:00:00Z', '/observedAt'],
  ['source', { address: 'https://provider.example' }, '/source/mediaType'],
  ['category', 'tractor', '/category'],
  ['category', null, '/category'],
  ['make', { name: 5 }, '/make/name'],
  ['devices', [{ id: 5 }], '/devices/0/id'],
])('equipment with another %s does not fit, case %#', (name, value, path) => {
  expect(checkEventValue('equipment', { ...common, [name]: value })?.path).toBe(path);
});

test('an access that nobody knows does not fit', () => {
  expect(checkEventValue('organization-access', { ...blocked, access: 'lost' })).toEqual({
    path: '/access',
    detail: expect.stringContaining('active'),
  });
});

test('facts need what their kind is known by', () => {
  expect(checkFacts('equipment', { name: 'Combine 3' })?.path).toBe('/category');
  expect(checkFacts('field-operation', {})?.path).toBe('/fieldOperationType');
});
