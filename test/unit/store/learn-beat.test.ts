// The time between heartbeats: what usually happens is learned at once, what happens once is not.
import { learnBeat } from '../../../src/store/learn-beat';

const learned = (beatMs: number | null, ...gaps: number[]) =>
  gaps.reduce<number | null>((beat, gap) => learnBeat(beat, gap), beatMs);

test('the first gap is believed, and the next ones are followed', () => {
  expect(learned(null, 60_000)).toBe(60_000);
  expect(learned(60_000, 100_000)).toBe(70_000);
  expect(learned(60_000, ...Array<number>(20).fill(30_000))).toBeLessThan(31_000);
});

test('one long silence at most doubles it, a lasting change is learned', () => {
  expect(learned(60_000, 86_400_000)).toBe(120_000);
  expect(learned(1000, ...Array<number>(20).fill(60_000))).toBeGreaterThan(55_000);
});

test('a heartbeat that is sent twice hardly moves it', () => {
  expect(learned(60_000, 3)).toBe(56_250);
  expect(learned(1, 0, 0)).toBe(1);
});
