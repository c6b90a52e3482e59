// The shared budget of probes: what any minute sees at most, and what it gives to who waits.
import { probeBudgetOf } from '../../../src/store/probe-budget';

const beganMs = Date.parse('2026-01-01T00:00:00Z');
const minuteMs = 60_000;

/** When each probe began for who takes what is free, as soon as it is, until `forMs` have passed. */
function takeGreedily(perMinute: number, forMs: number, restMs: (round: number) => number): number[] {
  const budget = probeBudgetOf(perMinute);
  const begun: number[] = [];
  let paidUntil = 0;
  let nowMs = beganMs;
  for (let round = 0; nowMs < beganMs + forMs; round += 1) {
    const free = budget.free(paidUntil, nowMs);
    paidUntil = budget.spend(paidUntil, nowMs, free);
    for (let index = 0; index < free; index += 1) begun.push(nowMs);
    const freeAtMs = budget.freeAtMs(paidUntil, nowMs);
    if (freeAtMs <= nowMs) throw new Error(`free again at once, after ${begun.length}`);
    nowMs = freeAtMs + restMs(round);
  }
  return begun;
}

test.each([
  [1, 1, 0],
  [7, 7, 0],
  [600, 600, 0],
  [3000, 3000, 0],
  [600, 600, 35],
  [3000, 3000, 7001],
])('%i a minute: no minute sees more', (perMinute, most, restsMs) => {
  const begun = takeGreedily(perMinute, 4 * minuteMs, (round) => (round % 5 === 0 ? restsMs : 0));
  let end = 0;
  const inMinute = begun.map((at, index) => {
    while (end < begun.length && begun[end]! < at + minuteMs) end += 1;
    return end - index;
  });
  expect(Math.max(...inMinute)).toBeLessThanOrEqual(most);
  // It gives nearly all of it to who takes what there is.
  if (restsMs === 0) expect(Math.max(...inMinute)).toBeGreaterThan(most * 0.95);
});

test.each([600, 3000])(
  '%i a minute: in every minute nearly all go to who takes what there is',
  (perMinute) => {
    // A worker that is up to a second late for what is free.
    const begun = takeGreedily(perMinute, 4 * minuteMs, (round) => (round * 389) % 1000);
    for (const minute of [0, 1, 2, 3]) {
      const from = beganMs + minute * minuteMs;
      const { length } = begun.filter((at) => at >= from && at < from + minuteMs);
      expect([minute, length > perMinute * 0.9]).toEqual([minute, true]);
    }
  },
);

test('one that was not used for a while gives a twentieth of a minute at once, and then one after the other', () => {
  const budget = probeBudgetOf(600);
  expect(budget.free(0, beganMs)).toBe(30);
  const paidUntil = budget.spend(0, beganMs, 30);
  expect(budget.free(paidUntil, beganMs)).toBe(0);
  expect(budget.freeAtMs(paidUntil, beganMs)).toBe(beganMs + 106);
  expect(budget.free(paidUntil, beganMs + 105)).toBe(0);
  expect(budget.free(paidUntil, beganMs + 106)).toBe(1);
  expect(budget.free(paidUntil, beganMs + 3_600_000)).toBe(30);
});

test.each([1, 60, 600, 3000])(
  '%i a minute: a clock that is set back far opens it at once, and it is then spent as ever',
  (perMinute) => {
    const budget = probeBudgetOf(perMinute);
    const aheadMs = beganMs + 3_600_000;
    const spent = budget.spend(0, aheadMs, budget.free(0, aheadMs));
    const full = budget.free(0, beganMs);
    for (const afterMs of [0, 1000, minuteMs, 10 * minuteMs]) {
      const nowMs = beganMs + afterMs;
      expect([afterMs, budget.free(spent, nowMs), budget.freeAtMs(spent, nowMs)]).toEqual([
        afterMs,
        full,
        nowMs,
      ]);
      expect(budget.free(budget.spend(spent, nowMs, full), nowMs)).toBe(0);
    }
  },
);

test.each([1, 5, 10])(
  'a clock that is set back by %i s gives nothing anew, and says when it does',
  (seconds) => {
    const budget = probeBudgetOf(60);
    const spent = budget.spend(0, beganMs, budget.free(0, beganMs));
    const nowMs = beganMs - seconds * 1000;
    expect(budget.free(spent, nowMs)).toBe(0);
    const freeAtMs = budget.freeAtMs(spent, nowMs);
    expect(freeAtMs).toBe(budget.freeAtMs(spent, beganMs));
    expect([budget.free(spent, freeAtMs - 1), budget.free(spent, freeAtMs)]).toEqual([0, 1]);
  },
);

test.each([1, 60, 600])('%i a minute: calls that are made anyway do not open it', (perMinute) => {
  const budget = probeBudgetOf(perMinute);
  let spent = 0;
  for (let call = 0; call < 2 * perMinute; call += 1) spent = budget.spend(spent, beganMs, 1);
  expect(budget.free(spent, beganMs)).toBe(0);
  expect(budget.free(spent, beganMs - 10_000)).toBe(0);
  expect(budget.freeAtMs(spent, beganMs)).toBeLessThanOrEqual(beganMs + 2 * minuteMs);
});
