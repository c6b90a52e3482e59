import type { Ending } from '../../../src/model/task';
import { afterGapOf, givenBack, keptPlace, restOf } from '../../../src/store/at-rest';

const ending: Ending = { taskId: 1, fence: 1, generation: 3, revision: 9 };
const task = { generation: 3, settling: 0, crowded: 0, read_at: 9_000 };
const times = { nowMs: 10_000, readGapMs: 5_000 };
const settled = { settleMs: 0, found: true };

test('a task that was hinted since is due once the gap after its last read is over', () => {
  const hinted = { ...task, generation: 4 };
  expect(restOf(hinted, ending, { settleMs: 60_000, found: true }, times)).toEqual({
    state: 'due',
    dueAt: 14_000,
    crowded: false,
  });
});

test('a read earns one that settles it, and that one earns no other, with numbers as with booleans', () => {
  const said = { settleMs: 60_000, found: true };
  expect(restOf(task, ending, said, times)).toMatchObject({ state: 'settling', dueAt: 70_000 });
  for (const settling of [1, true])
    expect(restOf({ ...task, settling }, ending, said, times)).toMatchObject({ state: 'done', dueAt: null });
  expect(restOf(task, ending, settled, times)).toMatchObject({ state: 'done', dueAt: null });
});

test('a read that settles in vain leaves its change to find', () => {
  const vain = { settleMs: 60_000, found: false };
  expect(restOf(task, ending, vain, times).crowded).toBe(true);
  expect(restOf({ ...task, settling: 1, crowded: 1 }, ending, vain, times).crowded).toBe(true);
});

test('no read begins before the gap, and what waits for its organization keeps its place', () => {
  expect([afterGapOf(task, 11_000, times), afterGapOf(task, 20_000, times)]).toEqual([14_000, 20_000]);
  expect(afterGapOf({ ...task, read_at: null }, 0, times)).toBe(10_000);
  expect([keptPlace(task, 12_000), keptPlace(task, 4_000)]).toEqual([8_999, 4_000]);
});

test('a task that is given back waits alone, for its organization, or goes again at once where its refusal is stale', () => {
  const back = { dueInMs: 20_000, dueAtMs: 4_000 };
  expect(givenBack(task, back, { alone: true, stale: false }, times)).toEqual({
    state: 'postponed',
    dueAt: 30_000,
    waits: true,
  });
  const now = { ...back, dueInMs: 0 };
  expect(givenBack(task, now, { alone: true, stale: false }, times)).toMatchObject({
    dueAt: 14_000,
    waits: false,
  });
  const forProbe = { state: 'due', waits: false };
  expect(givenBack(task, back, { alone: false, stale: false }, times)).toEqual({ ...forProbe, dueAt: 4_000 });
  expect(givenBack(task, back, { alone: false, stale: true }, times)).toEqual({ ...forProbe, dueAt: 14_000 });
});
