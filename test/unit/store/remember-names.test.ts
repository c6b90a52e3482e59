// As what equipment is known is asked of the scaled store once, and again while an older record may still be told more;
// a read whose draft is of another name is not ended.
import type { EquipmentNames, KnownEquipment } from '../../../src/model/equipment-names';
import type { FinishedRead } from '../../../src/model/task';
import { finishNamed, rememberNames } from '../../../src/store/postgres/remember-names';
import { draftOf } from '../../contract/store-hand';

const piece = { organizationId: '1', principalId: '9', erid: null, serialNumber: null };
const newer = (id: number): EquipmentNames => ({ ...piece, side: 'new', id: String(id) });
const older: EquipmentNames = { ...piece, side: 'old', id: '9', principalId: null };
const known = (id: number) => ({ id: `known-${id}`, principalId: '9' });

function naming(principalId: string | null) {
  const asked: string[][] = [];
  const server = { connected: 1 };
  const name = rememberNames(
    async (pieces: EquipmentNames[]): Promise<KnownEquipment[]> => {
      asked.push(pieces.map(({ id }) => id));
      return pieces.map(({ id }) => ({ id: `known-${id}`, principalId }));
    },
    () => server.connected,
  );
  return { name, asked, server };
}

test('each record is asked for once, and answered in its place', async () => {
  const { name, asked } = naming('9');
  expect(await name([newer(1), newer(2)])).toEqual([known(1), known(2)]);
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

test('what was told before another connection was made, or while it was, is asked for again', async () => {
  const { name, asked, server } = naming('9');
  await name([newer(1)]);
  server.connected += 1;
  const [known] = await name([newer(1)]);
  expect(known).toMatchObject({ id: 'known-1' });
  const meanwhile = name([newer(2)]);
  server.connected += 1;
  await meanwhile;
  await name([newer(2)]);
  await name([newer(2)]);
  expect(asked).toEqual([['1'], ['1'], ['2'], ['2']]);
});

test('what was asked for long ago is forgotten', async () => {
  const { name, asked } = naming('9');
  await name(Array.from({ length: 20_001 }, (_none, place) => newer(place)));
  await name([newer(0), newer(20_000)]);
  expect(asked.slice(1)).toEqual([['0']]);
});

test('a read is ended under the name by which its equipment is known, and under no other', async () => {
  const ended: FinishedRead[] = [];
  const finish = finishNamed(naming('9').name, async (read) => {
    ended.push(read);
    return { outcome: 'unchanged', reason: 'same', again: false };
  });
  const held = { taskId: 1, fence: 1, generation: 1, revision: 1 };
  const read = { ...held, draft: draftOf('1', 'a'), connectionId: 'c', traceparent: null };
  const named = { names: newer(1), known: { id: '1', principalId: '9' } };
  const told = { ...read, reconciled: false, settleMs: 0 };
  expect(await finish({ ...told, named })).toEqual({ outcome: 'known-otherwise', known: known(1) });
  expect(ended).toEqual([]);
  const again = { ...told, named: { ...named, known: known(1) } };
  expect(await finish(again)).toMatchObject({ outcome: 'unchanged' });
  await finish(told);
  expect(ended).toEqual([again, told]);
});
