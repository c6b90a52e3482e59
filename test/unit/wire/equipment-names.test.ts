// As what equipment is known is the store's to say, each time: what it answered may be lost before it is on disk.
import type { EquipmentNames, KnownEquipment } from '../../../src/model/equipment-names';
import { makeNameEquipment } from '../../../src/wire/equipment-names';

const newer = (id: number) => ({ '@type': 'Machine', id, principalId: 9, organization: { id: 1 } });
const older = { '@type': 'Machine', id: '9', GUID: 'e', owningOrganization: { id: '1' } };
const known = (id: number) => ({ id: `known-${id}`, principalId: '9' });

let asked: string[][];
const name = makeNameEquipment({
  async nameEquipment(pieces: EquipmentNames[]): Promise<KnownEquipment[]> {
    asked.push(pieces.map(({ id }) => id));
    return pieces.map(({ id }) => ({ id: `known-${id}`, principalId: '9' }));
  },
});
beforeEach(() => {
  asked = [];
});

test('a record is answered in its place beside what is no equipment, of which nobody asks', async () => {
  expect(await name([newer(1), { '@type': 'FieldOperation' }, older])).toEqual([known(1), null, known(9)]);
  expect(await name([{ '@type': 'FieldOperation' }])).toEqual([null]);
  expect(asked).toEqual([['1', '9']]);
});

test('a record that was named before is asked for again', async () => {
  await name([newer(1)]);
  expect(await name([newer(1)])).toEqual([known(1)]);
  expect(asked).toEqual([['1'], ['1']]);
});
