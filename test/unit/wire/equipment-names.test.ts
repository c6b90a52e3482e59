// As what equipment is known is asked of the store once, and again while an older record may still be told more.
import type { EquipmentNames, KnownEquipment } from '../../../src/model/equipment-names';
import { makeNameEquipment } from '../../../src/wire/equipment-names';

const newer = (id: number) => ({ '@type': 'Machine', id, principalId: 9, organization: { id: 1 } });
const older = { '@type': 'Machine', id: '9', GUID: 'e', owningOrganization: { id: '1' } };

function naming(principalId: string | null) {
  const asked: string[][] = [];
  const name = makeNameEquipment({
    async nameEquipment(pieces: EquipmentNames[]): Promise<KnownEquipment[]> {
      asked.push(pieces.map(({ id }) => id));
      return pieces.map(({ id }) => ({ id: `known-${id}`, principalId }));
    },
  });
  return { name, asked };
}

test('each record is asked for once, in its place beside what is no equipment', async () => {
  const { name, asked } = naming('9');
  const known = (id: number) => ({ id: `known-${id}`, principalId: '9' });
  expect(await name([newer(1), { '@type': 'FieldOperation' }, newer(2)])).toEqual([known(1), null, known(2)]);
  expect(await name([newer(2), newer(3), older])).toEqual([known(2), known(3), known(9)]);
  expect(await name([newer(1), older])).toEqual([known(1), known(9)]);
  expect(asked).toEqual([
    ['1', '2'],
    ['3', '9'],
  ]);
});

test('an older record whose principal id nobody has said yet is asked for again', async () => {
  const { name, asked } = naming(null);
  await name([older]);
  await name([older]);
  expect(asked).toEqual([['9'], ['9']]);
});

test('what was asked for long ago is forgotten', async () => {
  const { name, asked } = naming('9');
  await name(Array.from({ length: 20_001 }, (_none, place) => newer(place)));
  await name([newer(0), newer(20_000)]);
  expect(asked.slice(1)).toEqual([['0']]);
});
