// Goal: a store behind its topics pages until a full sync has ended, and that sync begins by itself.
// Method: a store and a sync that say what the test wants.

import type { LastRun } from '../../../src/model/sync';
import { idleView } from '../../../src/sync/progress';
import { makeBehindWatch } from '../../../src/wire/behind';
import { makeHandClock } from '../../support/hand-clock';

function watching({ mayList = true, state = 'idle' as 'idle' | 'running' } = {}) {
  const begun: unknown[] = [];
  const clock = makeHandClock(1_000_000);
  const store = { since: null as number | null, readingOn: false, last: null as LastRun | null };
  const view = () => ({ ...idleView(), state });
  const sync = {
    view,
    begin(wanted: unknown) {
      begun.push(wanted);
      return view();
    },
  };
  const watch = makeBehindWatch(
    {
      behindSince: async () => store.since,
      readingOn: async () => store.readingOn,
      lastRun: async () => store.last,
    },
    sync,
    () => mayList,
    clock,
  );
  /** As the store has the run that was begun last: an ended full one of all, unless it is said otherwise. */
  const endRun = (run: number, otherwise: Partial<LastRun> = {}) => {
    const listings = { read: 0, last: null };
    const last = { run, organizationId: null, full: true, agoMs: 0, ended: true, listings, ...otherwise };
    const isFull = last.ended && last.full && last.organizationId === null;
    store.last = { ...last, endedFull: isFull ? run : (store.last?.endedFull ?? null) };
  };
  /** Minutes until the next sync is begun, looked at each second. */
  const minutesToNext = async () => {
    const before = begun.length;
    let seconds = 0;
    for (await watch.look(); begun.length === before && seconds < 8000; seconds += 1) {
      await clock.advance(1000);
      await watch.look();
    }
    return seconds / 60;
  };
  return { watch, store, begun, clock, endRun, minutesToNext };
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

test('each full sync that ended and left something unread makes the next pause twice as long, up to an hour', async () => {
  const { watch, store, endRun, minutesToNext } = watching();
  store.since = 5;
  await watch.look();
  const pauses: number[] = [];
  for (let run = 1; run <= 8; run += 1) {
    endRun(run);
    pauses.push(await minutesToNext());
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

test.each([
  ['has not come to its end', { ended: false }],
  ['was of one organization', { organizationId: '4711' }],
  ['took what had changed alone', { full: false }],
])('a sync that %s makes no pause longer', async (_which, otherwise) => {
  const { watch, store, endRun, minutesToNext } = watching();
  store.since = 5;
  await watch.look();
  for (let run = 1; run <= 3; run += 1) {
    endRun(run, otherwise);
    expect(await minutesToNext()).toBe(1);
  }
});

test('a full sync that another process is at counts once it has ended, also where this one began to look meanwhile', async () => {
  const { store, endRun, minutesToNext } = watching();
  store.since = 5;
  endRun(7, { ended: false });
  expect(await minutesToNext()).toBe(0);
  endRun(7);
  expect(await minutesToNext()).toBe(1);
  endRun(8);
  expect(await minutesToNext()).toBe(2);
});

test('a full sync that ended counts also where one of changes began before anybody looked', async () => {
  const { watch, store, endRun, minutesToNext } = watching();
  store.since = 5;
  await watch.look();
  const pauses: number[] = [];
  for (let run = 1; run <= 7; run += 2) {
    endRun(run);
    endRun(run + 1, { full: false, ended: false });
    pauses.push(await minutesToNext());
  }
  expect(pauses).toEqual([1, 2, 4, 8]);
});

test.each([
  ['ended, and began anew', [null, 9]],
  ['was found anew', [9]],
])('the pauses begin anew where the state %s', async (_what, found) => {
  const { watch, store, endRun, minutesToNext } = watching();
  store.since = 5;
  await watch.look();
  for (let run = 1; run <= 5; run += 1) {
    endRun(run);
    await minutesToNext();
  }
  endRun(6);
  for (const since of found) {
    store.since = since;
    await watch.look();
  }
  expect(await minutesToNext()).toBe(1);
  endRun(7);
  expect(await minutesToNext()).toBe(1);
});

test('a process that starts begins one at once, whatever ended before, and then with the first pause', async () => {
  const { store, endRun, minutesToNext } = watching();
  store.since = 5;
  endRun(12);
  expect(await minutesToNext()).toBe(0);
  endRun(13);
  expect(await minutesToNext()).toBe(1);
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
