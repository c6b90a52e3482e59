// When silence is too long: three usual distances, not less than the setting, not more than a day.
import { silenceOf } from '../../../src/subscribe/silence';

const bounds = { silenceMsMin: 10_000, listeningSinceMs: 0, othersBeatMs: null, nowMs: 0 };
const madeAtMs = 500;
const since = (heardAtMs: number | null, beatMs: number | null, nowMs: number, more: object = {}) =>
  silenceOf({ heardAtMs, beatMs, madeAtMs }, { ...bounds, nowMs, ...more })?.sinceMs ?? null;

test('three of the usual heartbeats may be missing', () => {
  expect(since(1000, 60_000, 180_999)).toBeNull();
  expect(since(1000, 60_000, 181_000)).toBe(181_000);
});

test('frequent heartbeats may be missing for as long as the setting says', () => {
  expect([since(0, 100, 9999), since(0, 100, 10_000)]).toEqual([null, 10_000]);
});

test('a day is too long for any of them', () => {
  expect([since(0, null, 86_399_999), since(0, null, 86_400_000)]).toEqual([null, 86_400_000]);
  expect(since(0, 80_000_000, 86_400_000)).toBe(86_400_000);
});

test('one that never sent a heartbeat is silent a day after it was made, or as soon as the others would be', () => {
  expect([since(null, null, 86_400_499), since(null, null, 86_400_500)]).toEqual([null, 86_400_500]);
  const like = { othersBeatMs: 60_000 };
  expect([since(null, null, 180_499, like), since(null, null, 180_500, like)]).toEqual([null, 180_500]);
  expect(since(null, null, 180_500, { ...like, listeningSinceMs: 1000 })).toBeNull();
});

test('its own distance counts, not that of the others', () => {
  expect(since(0, 60_000, 180_000, { othersBeatMs: 3_600_000 })).toBe(180_000);
});

test('what came while nobody listened is not missed', () => {
  expect(since(0, 10_000, 1_020_000, { listeningSinceMs: 1_000_000 })).toBeNull();
  expect(since(0, 10_000, 1_030_000, { listeningSinceMs: 1_000_000 })).toBe(1_030_000);
});
