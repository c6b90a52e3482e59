/**
 * Full jitter between one and a bound that doubles up to its maximum.
 */
import { backoffMs } from '../../../src/tools/backoff';

const bounds = { baseMs: 100, maxMs: 1000 };

test('the bound doubles with each attempt and stops at its maximum', () => {
  const nearly = () => 0.999_999;
  expect([0, 1, 2, 3, 4, 99].map((attempts) => backoffMs(attempts, bounds, nearly))).toEqual([
    99, 199, 399, 799, 999, 999,
  ]);
});

test('it is never nothing', () => {
  expect(backoffMs(0, bounds, () => 0)).toBe(1);
});

test('left to itself it is random within its bound', () => {
  for (let attempts = 0; attempts < 50; attempts += 1) {
    const ms = backoffMs(attempts, bounds);
    expect(ms).toBeGreaterThanOrEqual(1);
    expect(ms).toBeLessThanOrEqual(1000);
  }
});
