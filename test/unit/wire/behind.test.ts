// Goal: a store behind its topics pages until a full sync has ended, and that sync begins by itself.
// Method: a store and a sync that say what the test wants.

import { idleView } from '../../../src/sync/progress';
import { makeBehindWatch } from '../../../src/wire/behind';
import { makeHandClock } from '../../support/hand-clock';

function watching({ mayList = true, state = 'idle' as 'idle' | 'running' } = {}) {
  const begun: unknown[] = [];
  const clock = makeHandClock(1_000_000);
  const store = { since: null as number | null, readingOn: false };
  const view = () => ({ ...idleView(), state });
  const sync = {
    view,
    begin(wanted: unknown) {
      begun.push(wanted);
      return view();
    },
  };
  const watch = makeBehindWatch(
    { behindSince: async () => store.since, readingOn: async () => store.readingOn },
    sync,
    () => mayList,
    clock,
  );
  return { watch, store, begun, clock };
}

test('it pages while it lasts, begins a full sync of all, and ends', async () => {
  const { watch, store, begun } = watching();
  await watch.look();
  expect([watch.conditions(), begun]).toEqual([[], []]);
  store.since = 5;
  await watch.look();
  expect(watch.conditions()).toMatchObject([{ name: 'store-behind-topics', sinceMs: 5 }]);
  expect(begun).toEqual([{ organizationId: null, full: true }]);
  store.since = null;
  await watch.look();
  expect(watch.conditions()).toEqual([]);
});

test('no sync begins before all is found, and it pages since the first', async () => {
  const { watch, store, begun } = watching();
  Object.assign(store, { since: 5, readingOn: true });
  await watch.look();
  store.since = 9;
  await watch.look();
  expect([watch.conditions()[0]?.sinceMs, begun]).toEqual([5, []]);
  store.readingOn = false;
  await watch.look();
  expect(begun).toHaveLength(1);
});

test('a sync that left something unread is begun again after a minute, not at once', async () => {
  const { watch, store, begun, clock } = watching();
  store.since = 5;
  for (let looks = 0; looks < 5; looks += 1) await watch.look();
  expect(begun).toHaveLength(1);
  await clock.advance(60_000);
  await watch.look();
  expect(begun).toHaveLength(2);
});

test('a clock that is set back keeps no sync away, and it pages since no later than now', async () => {
  const { watch, store, begun, clock } = watching();
  store.since = 1_000_000;
  await watch.look();
  clock.setBack(900_000);
  await clock.advance(60_000);
  await watch.look();
  expect(begun).toHaveLength(2);
  expect(watch.conditions()).toMatchObject([{ sinceMs: clock.nowMs() }]);
});

test.each([
  ['a sync is under way', { state: 'running' as const }],
  ['nothing may be listed', { mayList: false }],
])('no sync begins while %s, but it pages', async (_name, state) => {
  const { watch, store, begun } = watching(state);
  store.since = 5;
  await watch.look();
  expect([watch.conditions().length, begun]).toEqual([1, []]);
});
