// When a clock counts as set back: against what was noted, or against what this process saw, but for a little.
import { isSetBack } from '../../../src/store/set-back';

const never = { furthestMs: Number.NEGATIVE_INFINITY };
const nowMs = 1_000_000;

test.each([
  ['nothing was noted or seen', null, never, false],
  ['it was noted before now, or now', nowMs, never, false],
  ['it was noted later', nowMs + 1, never, true],
  ['what was seen is before now', null, { furthestMs: nowMs - 1 }, false],
  [
    'what was seen is later by as much as transactions are side by side',
    nowMs,
    { furthestMs: nowMs + 10_000 },
    false,
  ],
  ['what was seen is later by more', null, { furthestMs: nowMs + 10_001 }, true],
])('%s: %s', (_what, notedMs, seen, is) => {
  expect(isSetBack(nowMs, notedMs, seen)).toBe(is);
});
