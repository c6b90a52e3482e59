// The time between heartbeats: what usually happens is learned, what happens once is not, and nothing is believed before
// several gaps agree.
import { type Beat, believedBeat, learnBeat } from '../../../src/store/learn-beat';

const nothing: Beat = { beatMs: null, agreed: 0 };
const known = (beatMs: number): Beat => ({ beatMs, agreed: 3 });
const learned = (beat: Beat, ...gaps: number[]) =>
  believedBeat(gaps.reduce((before, gap) => learnBeat(before, gap), beat));
const times = (count: number, gap: number) => Array<number>(count).fill(gap);

test('a beat is believed from the third gap on that agrees', () => {
  expect([learned(nothing), learned(nothing, 60_000), learned(nothing, 60_000, 60_000)]).toEqual([
    null,
    null,
    null,
  ]);
  expect(learned(nothing, 60_000, 55_000, 70_000)).toBe(70_000);
});

test('a first heartbeat that is sent again, even several times, is no beat', () => {
  expect(learned(nothing, 2, 3_600_000)).toBeNull();
  expect(learned(nothing, 2, ...times(3, 3_600_000))).toBe(3_600_000);
  expect(learned(nothing, 1000, 2500, 6000, ...times(3, 3_600_000))).toBe(3_600_000);
  expect(learned(nothing, 60_000, 2, 60_000, 2, 60_000)).toBe(60_000);
});

test('what began with a long silence is learned all the same', () => {
  const beat = learned(nothing, 86_400_000, ...times(14, 60_000));
  expect(beat).toBeGreaterThanOrEqual(60_000);
  expect(beat).toBeLessThan(120_000);
});

test('what is believed follows the usual gap', () => {
  expect(learned(known(60_000), 100_000)).toBe(70_000);
  expect(learned(known(60_000), ...times(20, 30_000))).toBeLessThan(31_000);
});

test('one long silence at most doubles it, a lasting change is learned', () => {
  expect(learned(known(60_000), 86_400_000)).toBe(120_000);
  expect(learned(known(1000), ...times(20, 60_000))).toBeGreaterThan(55_000);
});

test('a heartbeat that is sent twice hardly moves it', () => {
  expect(learned(known(60_000), 3)).toBe(56_250);
  expect(learned(known(1), 0, 0)).toBe(1);
});
