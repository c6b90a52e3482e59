import type { Observation } from '../../../src/model/organization';
import { laterMs, nextProbe, type ProbeBefore } from '../../../src/store/next-probe';

const times = { nowMs: 100_000, probeMs: 15_000, probeMsMax: 50_000 };
const before: ProbeBefore = { atMs: 110_000, intervalMs: 30_000, askedAtMs: null, dueAtMs: null };
const active = { access: 'active', changed: true } as const;
const blocked = { access: 'terms-required', changed: false } as const;

const said = (by: Observation['by']) => ({ organizationId: '4711', epoch: 1, by }) as Observation;
const answered = (next: Parameters<typeof nextProbe>[1], more: Partial<ProbeBefore> = {}) =>
  nextProbe(said('probe'), next, { ...before, ...more }, times);

test('one that may be read is probed when that was asked for, or when its customer is to act, else not', () => {
  expect(answered(active)).toEqual({ atMs: null, intervalMs: null, askedBy: null });
  const due = { dueAtMs: 200_000 };
  expect(answered(active, due)).toEqual({ atMs: 200_000, intervalMs: null, askedBy: 'schedule' });
  expect(answered(active, { ...due, askedAtMs: 100_001 })).toMatchObject({ atMs: 100_001, askedBy: null });
});

test('one that is blocked is probed later and later, by what probes answer, and from the beginning once it is blocked otherwise', () => {
  expect(answered(blocked)).toEqual({ atMs: 150_000, intervalMs: 50_000, askedBy: 'schedule' });
  expect(answered(blocked, { intervalMs: null })).toMatchObject({ atMs: 115_000, intervalMs: 15_000 });
  expect(answered({ ...blocked, changed: true })).toMatchObject({ atMs: 115_000, intervalMs: 15_000 });
  expect([null, 15_000, 30_000].map((interval) => laterMs(times, interval))).toEqual([
    15_000, 30_000, 50_000,
  ]);
});

test('what was asked for meanwhile is asked first, where it is not later', () => {
  expect(answered(blocked, { askedAtMs: 101_000 })).toEqual({
    atMs: 101_000,
    intervalMs: 50_000,
    askedBy: null,
  });
  expect(answered(blocked, { askedAtMs: 150_001 })).toMatchObject({ atMs: 150_000, askedBy: 'schedule' });
});

test('what others say moves no probe that is to come, and begins one where there is none', () => {
  const byGrant = (atMs: number | null) => nextProbe(said('grant'), blocked, { ...before, atMs }, times);
  expect(byGrant(110_000)).toBeNull();
  expect(byGrant(null)).toMatchObject({ atMs: 150_000 });
});
