// Goal: the trend by which the bench judges memory sees what grows all the time, and is not moved by what comes once.
// Method: a pure function over readings as they come: flat, with one far off, rising under noise, with one step.
import { trend } from '../../bench/measure';

test('what is flat has none, also where one reading is far off', () => {
  expect(trend([231, 231, 231, 231])).toBe(0);
  expect(trend([231, 231, 290, 231, 231, 231, 231, 231])).toBe(0);
});

test('what grows by as much each time has that, whatever is laid over it', () => {
  expect(trend([10, 11, 12, 13])).toBe(1);
  const noise = [0, 3, -2, 1, -3, 2, 0, -1];
  expect(trend(noise.map((off, at) => 200 + 2 * at + off))).toBeCloseTo(2, 0);
});

test('a step in the middle counts for no less than it is', () => {
  expect(trend([231, 231, 231, 231, 239.1, 239.1, 239.1, 239.1]) * 8).toBeGreaterThan(8);
  expect(trend([231.2, 231.2, 234.5, 234.5, 235.9, 234.1, 234.3, 234.3]) * 8).toBeLessThan(3.4);
});
