// Goal: listings that sync after sync leaves unread are one state that a person should know, until a sync has read them.
// Method: a store that says how syncs stand.
import type { SyncStanding, UnreadListing } from '../../../src/model/sync';
import { makeUnreadWatch } from '../../../src/sync/watch-unread';

const nowMs = 1_000_000;
const leftBy = (runs: number, scope = '4711/equipment', sinceMs = 5): UnreadListing => ({
  scope,
  runs,
  sinceMs,
  detail: 'page 2: it failed',
});

const storeOf = (kept: { standing: SyncStanding | null }, run = 1) => ({
  syncStanding: async () => kept.standing && { ...kept.standing, run },
});

function watching() {
  const kept: { standing: SyncStanding | null } = { standing: null };
  const watch = makeUnreadWatch(storeOf(kept), { refused: () => null }, { nowMs: () => nowMs });
  return async (...unread: UnreadListing[]) => {
    kept.standing = { wholeAtMs: null, unread };
    await watch.look();
    return watch.conditions();
  };
}

test('what two runs left unread is nobody’s business yet, what three did is told until it is read', async () => {
  const look = watching();
  expect(await look(leftBy(2))).toEqual([]);
  expect(await look(leftBy(3), leftBy(2, '4712/fields'))).toEqual([
    {
      name: 'listings-unread',
      sinceMs: 5,
      detail: 'Not read to its end: 4711/equipment (3 syncs in a row): page 2: it failed.',
    },
  ]);
  expect(await look()).toEqual([]);
});

test('what the client is refused is told as that alone, from its first run on, with its words where it has any', async () => {
  const look = watching();
  const refusedAt = (sinceMs: number, message: string | null, scope: string): UnreadListing => ({
    ...leftBy(9, scope),
    refused: { sinceMs, message },
  });
  expect(await look(refusedAt(40, null, '4711/equipment'))).toEqual([
    {
      name: 'client-refused',
      sinceMs: 40,
      detail: '4711/equipment: the provider refuses the client key without saying why',
    },
  ]);
  const two = [refusedAt(60, 'no eq1', '4711/equipment'), refusedAt(50, 'no eq1', '4712/equipment')];
  expect(await look(...two, leftBy(3, '4713/fields'))).toMatchObject([
    { name: 'client-refused', sinceMs: 50, detail: '4711/equipment and 1 more: no eq1' },
    { name: 'listings-unread', detail: expect.not.stringContaining('equipment') },
  ]);
  expect(await look(refusedAt(nowMs + 9, 'no eq1', '4711/equipment'))).toMatchObject([{ sinceMs: nowMs }]);
});

test('of more lists that the client is refused than are known, no number is told as all', async () => {
  const look = watching();
  const refused = { sinceMs: 5, message: 'no eq1' };
  const many = Array.from({ length: 100 }, (_, place) => ({ ...leftBy(1, `${place}/equipment`), refused }));
  expect(await look(...many.slice(1))).toMatchObject([{ detail: '1/equipment and 98 more: no eq1' }]);
  expect(await look(...many)).toMatchObject([{ detail: '0/equipment and at least 99 more: no eq1' }]);
});

test('what this process met in a run of its own is told until that run, or a later one, has ended', async () => {
  const listings = new Map([['4711/equipment', { sinceMs: 7, message: 'no eq1' }]]);
  const store = { syncStanding: async () => ({ wholeAtMs: null, unread: [], run: ended }) };
  let ended = 5;
  const watch = makeUnreadWatch(store, { refused: () => ({ run: 6, listings }) }, { nowMs: () => nowMs });
  const told: string[][] = [];
  // A run that was left is gone on with, and ends last.
  for (ended of [5, 6, 5]) {
    await watch.look();
    told.push(watch.conditions().map(({ name }) => name));
  }
  expect(told).toEqual([['client-refused'], [], []]);
});

test('all of them are one state, since the first, of which three are named; none before the first run, none ahead of now', async () => {
  const look = watching();
  const many = ['1', '2', '3', '4', '5'].map((id, place) => leftBy(3 + place, `${id}/fields`, 50 - place));
  const [state, ...others] = await look(...many);
  expect(others).toEqual([]);
  expect(state).toMatchObject({
    sinceMs: 46,
    detail: expect.stringMatching(/^Not read to their end: 1.*; and 2 more\.$/),
  });
  expect(state?.labels).toBeUndefined();
  expect((await look(leftBy(3, '1/fields', nowMs + 9)))[0]).toMatchObject({ sinceMs: nowMs });
  const none = makeUnreadWatch(storeOf({ standing: null }), { refused: () => null }, { nowMs: () => nowMs });
  await none.look();
  expect(none.conditions()).toEqual([]);
});
