/**
 * Equipment: what a machine and an implement become, in either of the provider's forms, and what is refused.
 */
import { normalized, providerDocument, refused, withValue } from './provider-document';

const machine = providerDocument('equipment-machine');
const implement = providerDocument('equipment-implement');

test('a machine is published with its facts, ids as text, times in UTC, without addresses', () => {
  const document = normalized(machine);
  expect(document).toMatchObject({
    kind: 'equipment',
    id: '217001',
    organizationId: '4711',
    modifiedTime: null,
    archived: false,
    unknownFields: [],
  });
  expect(document.facts).toMatchObject({
    category: 'machine',
    name: 'Combine 3',
    principalId: '82001',
    modelYear: '2014',
    serialNumberCertified: true,
    make: { id: '1', name: 'North Plains', certified: true },
    model: { id: '65001', name: 'S680' },
    organizationRole: { type: 'Controlling', effectiveTime: '2023-03-14T09:26:53.589Z' },
    pairingDetails: { associationTime: '2023-03-14T10:00:00.000Z', location: { lat: 41.9876 } },
    icon: { name: 'combine', style: { primaryColor: '#1E7B34' } },
  });
  expect(JSON.stringify(document.facts)).not.toContain('https://');
});

test('what was cleared is null, what was not sent is absent', () => {
  const { facts } = normalized(machine);
  expect(facts.archivedTime).toBeNull();
  const without = normalized(withValue(machine, '/archivedTimestamp', undefined)).facts;
  expect('archivedTime' in without).toBe(false);
});

test('devices that were not asked for are absent, none are an empty list', () => {
  expect('devices' in normalized(withValue(machine, '/devices', undefined)).facts).toBe(false);
  expect(normalized(withValue(machine, '/devices', [])).facts.devices).toEqual([]);
});

test('the order of devices and of identifiers means nothing', () => {
  const reversed = withValue(
    withValue(machine, '/devices', [...(machine.devices as [])].reverse()),
    '/alternateIdentifiers',
    [...(machine.alternateIdentifiers as [])].reverse(),
  );
  expect(normalized(reversed).facts).toEqual(normalized(machine).facts);
});

test('identifiers of one type are in the order of their content', () => {
  const identifiers = ['c', 'a', 'b'].map((value) => ({ type: 'assetTag', value }));
  const { facts } = normalized(withValue(machine, '/alternateIdentifiers', identifiers));
  expect(facts.alternateIdentifiers).toEqual([...identifiers].sort((x, y) => (x.value < y.value ? -1 : 1)));
});

test('entries without any key are kept', () => {
  const devices = [{ pairingStatus: 'PENDING' }, { pairingStatus: 'PAIRED' }, { pairingStatus: 'PAIRED' }];
  const statuses = normalized(withValue(machine, '/devices', devices)).facts.devices;
  expect(statuses).toEqual([
    { pairingStatus: 'PAIRED' },
    { pairingStatus: 'PAIRED' },
    { pairingStatus: 'PENDING' },
  ]);
});

test('make, type, model and organization count the same as objects and alone in a list', () => {
  let wrapped = machine;
  for (const name of ['make', 'type', 'isgType', 'model', 'organization']) {
    wrapped = withValue(wrapped, `/${name}`, [machine[name] ?? null]);
  }
  expect(normalized(wrapped)).toMatchObject({
    facts: normalized(machine).facts,
    contentHash: normalized(machine).contentHash,
    organizationId: '4711',
  });
});

test('an empty list in place of a make means that there is none', () => {
  expect(normalized(withValue(machine, '/make', [])).facts.make).toBeNull();
  expect(normalized(withValue(machine, '/make', [null])).facts.make).toBeNull();
});

test('an archived implement is archived, and knows its machine', () => {
  const document = normalized(implement);
  expect(document.archived).toBe(true);
  expect(document.facts).toMatchObject({
    category: 'implement',
    serialNumber: null,
    archivedTime: '2025-02-03T04:05:06.789Z',
    pairedEquipment: [{ id: '217001', category: 'machine', name: 'Combine 3' }],
  });
});

test('paired equipment is a list of both sides, null when it was cleared, absent when it was not asked for', () => {
  const paired = (body: typeof machine) => normalized(body).facts.pairedEquipment;
  expect(paired(machine)).toMatchObject([{ id: '317002', category: 'implement' }]);
  expect(paired(withValue(machine, '/implements', []))).toEqual([]);
  expect(paired(withValue(machine, '/implements', null))).toBeNull();
  expect(paired(withValue(implement, '/machine', null))).toBeNull();
  expect(paired(withValue(implement, '/machine', undefined))).toBeUndefined();
  expect(paired(withValue(implement, '/implements', null))).toHaveLength(1);
});

test('moving every link changes neither the content nor the wire hash', () => {
  const moved = withValue(machine, '/links', [{ rel: 'self', uri: 'https://elsewhere.example/e/1' }]);
  const { contentHash, wireHash } = normalized(machine);
  expect(normalized(moved)).toMatchObject({ contentHash, wireHash });
});

test('fields that are not known are counted by path and not published', () => {
  const body = withValue(
    withValue(machine, '/devices/0/firmware', { version: 3 }),
    '/a~b/c'.replace('/c', ''),
    1,
  );
  const document = normalized(withValue(body, '/make/country', 'XX'));
  expect([...document.unknownFields].sort()).toEqual(['/a~0b', '/devices/*/firmware', '/make/country']);
  expect(document.contentHash).toBe(normalized(machine).contentHash);
  expect(document.wireHash).not.toBe(normalized(machine).wireHash);
});

test('the list of unknown fields is bounded', () => {
  const body = { ...machine };
  for (let index = 0; index < 1000; index += 1) body[`field${index}${'x'.repeat(1000)}`] = index;
  const { unknownFields } = normalized(body);
  expect(unknownFields).toHaveLength(50);
  expect(Math.max(...unknownFields.map((path) => path.length))).toBe(65);
});

test.each([
  ['/id', undefined, 'required /id'],
  ['/id', null, 'required /id'],
  ['/id', 2 ** 53, 'unsafe-integer /id'],
  ['/organization', undefined, 'required /organization'],
  ['/organization', [], 'required /organization'],
  ['/organization', [{ id: 1 }, { id: 2 }], 'wrong-type /organization'],
  ['/organization', 4711, 'wrong-type /organization'],
  ['/organization', [4711], 'wrong-type /organization/0'],
  ['/organization/id', undefined, 'required /organization/id'],
  ['/@type', undefined, 'required /@type'],
  ['/@type', 5, 'wrong-type /@type'],
  ['/@type', 'Farm', 'unknown-type /@type'],
  ['/@type', '__proto__', 'unknown-type /@type'],
  ['/name', 5, 'wrong-type /name'],
  ['/name', 'x'.repeat(5000), 'too-long /name'],
  ['/archived', 'false', 'wrong-type /archived'],
  ['/make', [{ id: 1 }, { id: 2 }], 'wrong-type /make'],
  ['/make/id', 2 ** 60, 'unsafe-integer /make/id'],
  ['/devices', 'none', 'wrong-type /devices'],
  ['/devices/1/archived', 1, 'wrong-type /devices/1/archived'],
  ['/devices', Array.from({ length: 10_001 }, () => ({})), 'too-many /devices'],
  ['/archivedTimestamp', 'yesterday', 'malformed-time /archivedTimestamp'],
  ['/pairingDetails/location/lat', 'north', 'wrong-type /pairingDetails/location/lat'],
])('equipment with another value at %s is refused (%#)', (pointer, value, refusal) => {
  expect(refused(withValue(machine, pointer, value))).toBe(refusal);
});
