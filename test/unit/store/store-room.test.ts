// Goal: a store that has grown to its bound takes no more, says so, and takes deliveries again when there is room.
// Method: a store of a size that the test sets, a clock moved by hand.
import { makeStoreRoom } from '../../../src/store/store-room';
import { makeHandClock } from '../../support/hand-clock';

function roomOf(bytesMax: number | null) {
  const clock = makeHandClock(1000);
  const state = { bytes: 0, measures: 0 };
  const storeBytes = async () => {
    state.measures += 1;
    return state.bytes;
  };
  return { room: makeStoreRoom({ storeBytes }, bytesMax, clock), clock, state };
}

test('what fits is admitted, and the store is measured once a second at most', async () => {
  const { room, clock, state } = roomOf(1000);
  for (let n = 0; n < 5; n += 1) await room.admit(10);
  expect(state.measures).toBe(1);
  await clock.advance(1000);
  await room.admit(10);
  expect(state.measures).toBe(2);
  expect(room.conditions()).toEqual([]);
});

test('what came since the last measure counts as well', async () => {
  const { room } = roomOf(100);
  await room.admit(60);
  await room.admit(60);
  await expect(room.admit(60)).rejects.toMatchObject({ code: 'store.unavailable' });
});

test('a full store admits nothing and says since when; with room again it goes on', async () => {
  const { room, clock, state } = roomOf(100);
  state.bytes = 100;
  await expect(room.admit(1)).rejects.toMatchObject({ code: 'store.unavailable' });
  await clock.advance(5000);
  await room.look();
  // Neither the disk nor the database is to blame.
  const firstStep = expect.stringMatching(/^Raise STORE_BYTES_MAX, /);
  expect(room.conditions()).toMatchObject([{ name: 'store-unavailable', sinceMs: 1000, firstStep }]);
  state.bytes = 50;
  await clock.advance(100);
  await room.admit(1);
  expect(room.conditions()).toEqual([]);
});

test('a clock that is set back keeps no store full, and lets none be measured less often', async () => {
  const { room, clock, state } = roomOf(100);
  state.bytes = 100;
  await expect(room.admit(1)).rejects.toMatchObject({ code: 'store.unavailable' });
  state.bytes = 50;
  clock.setBack(3_600_000);
  await clock.advance(100);
  await room.admit(1);
  await clock.advance(1000);
  await room.admit(1);
  expect(state.measures).toBe(3);
});

test('without a bound nothing is measured', async () => {
  const { room, state } = roomOf(null);
  await room.admit(1e12);
  await room.look();
  expect([state.measures, room.conditions()]).toEqual([0, []]);
});
