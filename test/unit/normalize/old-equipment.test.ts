/**
 * The machine and implement endpoints before the equipment API: the same facts in their shape are the same document, so
 * that a switch from one to the other publishes nothing.
 */
import { type JsonObject, normalized, providerDocument, refused, withValue } from './provider-document';

const machine = providerDocument('equipment-machine');
const old = providerDocument('old-machine');

/** The old shape of a record of the equipment API, as the simulator knows it too. */
function oldShapeOf(record: JsonObject): JsonObject {
  const { id, ERID, serialNumber, make, type, isgType, model, organization, devices, ...rest } = record;
  // What is undefined is not sent.
  return JSON.parse(
    JSON.stringify({
      ...rest,
      id: String(id),
      GUID: ERID,
      vin: serialNumber,
      equipmentMake: make,
      equipmentType: Array.isArray(type) ? type : [type],
      equipmentISGType: isgType,
      equipmentModel: model,
      owningOrganization: organization,
      terminals: devices,
    }),
  ) as JsonObject;
}

test.each(['equipment-machine', 'equipment-implement'])(
  '%s in the old shape is the same document',
  (name) => {
    const now = normalized(providerDocument(name));
    const before = normalized(oldShapeOf(providerDocument(name)));
    expect(before.facts).toEqual(now.facts);
    expect(before).toMatchObject({ id: now.id, organizationId: now.organizationId, archived: now.archived });
    expect(before.contentHash).toBe(now.contentHash);
    expect(before.unknownFields).toEqual([]);
  },
);

test('a machine in the old shape alone is read with its identity and its facts', () => {
  const document = normalized(old);
  expect(document).toMatchObject({
    kind: 'equipment',
    id: '217001',
    organizationId: '4711',
    unknownFields: [],
  });
  expect(document.facts).toMatchObject({
    erid: '5f0b7c1e-2a9d-4f7e-8a35-91d6c6f7a001',
    serialNumber: '1X0S680ABCD780123',
    make: { id: '1', name: 'North Plains' },
    type: { id: '222', name: 'Combine' },
    model: { id: '65001', name: 'S680' },
    devices: [],
    pairedEquipment: [],
  });
});

test('where make, model and type stand among the categories only, they are taken from there', () => {
  const { equipmentMake: _make, equipmentModel: _model, equipmentType: _type, ...bare } = old;
  const { facts } = normalized(bare);
  expect(facts).toMatchObject({ make: { id: '1', name: 'North Plains' }, model: { name: 'S680' } });
  expect(facts).toEqual(normalized(old).facts);
});

test('the newer name wins where both are sent, whatever the older one says', () => {
  const both = { ...machine, GUID: 'older', vin: 'older', equipmentMake: { id: 9, name: 'older' } };
  expect(normalized(both).facts).toEqual(normalized(machine).facts);
});

test.each([
  ['/equipmentMake', 'text', 'wrong-type /equipmentMake'],
  ['/vin', 7.5, 'wrong-type /vin'],
  ['/machineCategories', 'text', 'wrong-type /machineCategories'],
  ['/machineCategories/machineCategories', [7], 'wrong-type /machineCategories/machineCategories/0'],
  ['/owningOrganization/id', '', 'malformed-id /owningOrganization/id'],
  ['/owningOrganization', undefined, 'required /organization'],
] as const)('%s as %j is refused at its own name', (pointer, value, refusal) => {
  expect(refused(withValue(old, pointer, value as never))).toBe(refusal);
});
