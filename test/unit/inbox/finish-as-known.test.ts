// A read is ended under the name by which the store knows its equipment, drafted anew as often as the store knows better.
import { finishAsKnown } from '../../../src/inbox/finish-as-known';
import type { EquipmentNames, KnownEquipment } from '../../../src/model/equipment-names';
import type { FinishedRead, TakenTask } from '../../../src/model/task';
import { draftOf as draftOfId } from '../../contract/store-hand';

const names: EquipmentNames = {
  side: 'old',
  id: '2',
  organizationId: '4711',
  principalId: null,
  erid: null,
  serialNumber: null,
};
const read = {
  ...{ taskId: 1, fence: 2, generation: 3, revision: 4 },
  ...{ connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 0 },
};
const done = { outcome: 'unchanged', reason: 'same', again: false } as const;
const draftOf = (known: KnownEquipment | null) => draftOfId(known?.id ?? 'unnamed', known?.principalId ?? '');

/** What the store was asked to end, where it knows the equipment as each of these in turn. */
async function ending(of: EquipmentNames | null, resourceId: string | null, ...known: KnownEquipment[]) {
  const asked: FinishedRead[] = [];
  const store = {
    async finish(one: FinishedRead) {
      asked.push(one);
      const next = known.shift();
      return next === undefined ? done : ({ outcome: 'known-otherwise', known: next } as const);
    },
  };
  const resource = resourceId === null ? null : { kind: 'equipment', id: resourceId };
  const task = { resource } as TakenTask;
  const { result, draft } = await finishAsKnown(store, task, read, { names: of, draftOf });
  expect(result).toEqual(done);
  expect(draft).toEqual(asked.at(-1)?.draft);
  return asked;
}

test('equipment is taken for what it calls itself, or for what its task was before', async () => {
  const asIs = { id: '2', principalId: null };
  expect(await ending(names, null)).toEqual([
    { ...read, draft: draftOf(asIs), named: { names, known: asIs } },
  ]);
  const asBefore = { id: '1', principalId: null };
  expect(await ending(names, '1')).toEqual([
    { ...read, draft: draftOf(asBefore), named: { names, known: asBefore } },
  ]);
});

test('equipment that names its principal is taken for that one’s', async () => {
  const principal = { ...names, principalId: '9' };
  const known = { id: '2', principalId: '9' };
  expect(await ending(principal, null)).toEqual([
    { ...read, draft: draftOf(known), named: { names: principal, known } },
  ]);
});

test('what the store knows otherwise is drafted anew under that name, until it says the same', async () => {
  const first = { id: '1', principalId: null };
  const second = { id: '1', principalId: '2' };
  const asked = await ending(names, null, first, second);
  expect(asked.slice(1)).toEqual([
    { ...read, draft: draftOf(first), named: { names, known: first } },
    { ...read, draft: draftOf(second), named: { names, known: second } },
  ]);
});

test('what is no equipment is ended once and says no names', async () => {
  expect(await ending(null, null)).toEqual([{ ...read, draft: draftOf(null) }]);
});
