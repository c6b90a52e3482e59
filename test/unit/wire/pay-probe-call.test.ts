// Goal: a further call of a probe waits for the shared budget, and for no longer than it may.
import { payProbeCall } from '../../../src/wire/pay-probe-call';

/** A budget that is free again after so long, and what it was asked. */
function stage(freeInMs: number) {
  const asked: [number, boolean][] = [];
  let nowMs = 0;
  const store = {
    async payProbeCall(anyway: boolean) {
      asked.push([nowMs, anyway]);
      return anyway ? 0 : Math.max(0, freeInMs - nowMs);
    },
  };
  const clock = {
    async wait(forMs: number) {
      nowMs += forMs;
    },
  };
  return { store, clock, asked };
}

test.each([
  [0, [[0, false]]],
  [
    22,
    [
      [0, false],
      [22, false],
    ],
  ],
  [
    60_000,
    [
      [0, false],
      [5000, true],
    ],
  ],
])('a budget that is free in %i ms is asked when it is, and for five seconds', async (freeInMs, expected) => {
  const { store, clock, asked } = stage(freeInMs);
  await payProbeCall(store, clock);
  expect(asked).toEqual(expected);
});

test('a store that cannot be asked holds back no call', async () => {
  const store = { payProbeCall: () => Promise.reject(new Error('away')) };
  await expect(payProbeCall(store, { wait: async () => {} })).resolves.toBeUndefined();
});
