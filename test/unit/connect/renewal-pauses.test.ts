// How long connections are left alone whose tokens cannot be renewed, and when that counts as trouble of the provider.
import { makeRenewalPauses, type RenewalPauses } from '../../../src/connect/renewal-pauses';

const ours = { detail: 'the store failed', isProviders: false };
const theirs = { detail: 'expected 200, got 503', isProviders: true };
const all = () => true;

let pauses: RenewalPauses;
let nowMs: number;
beforeEach(() => {
  pauses = makeRenewalPauses(() => 0.99);
  nowMs = 0;
});

/** The pauses of failures that follow each other as soon as each is over. */
function fail(failure: typeof ours, times: number): number[] {
  return Array.from({ length: times }, () => {
    const pauseMs = pauses.failed('a', failure, null, nowMs);
    nowMs += pauseMs;
    return pauseMs;
  });
}

test('failures of the provider grow to pauses of minutes, failures of ours to seconds', () => {
  const theirPauses = fail(theirs, 20);
  expect([theirPauses[0], theirPauses.at(-1)]).toEqual([1980, 297_000]);
  pauses.ended('a');
  const ourPauses = fail(ours, 20);
  expect([ourPauses[0], ourPauses.at(-1)]).toEqual([1980, 14_850]);
});

test('a pause is as long as the provider asks for where that is longer, and is over then', () => {
  expect(pauses.failed('a', theirs, 60_000, 1000)).toBe(60_000);
  expect(pauses.of('a', 1000)).toEqual({ leftMs: 60_000, detail: theirs.detail });
  expect(pauses.of('a', 60_999)).toEqual({ leftMs: 1, detail: theirs.detail });
  expect(pauses.of('a', 61_000)).toBeNull();
  expect(pauses.of('b', 1000)).toBeNull();
  expect(pauses.failed('b', theirs, 1, 1000)).toBe(1980);
});

test('what the provider has refused for thirty seconds is told, of all connections together', () => {
  pauses.failed('a', theirs, null, 1000);
  expect(pauses.trouble(30_999, all)).toBeNull();
  expect(pauses.trouble(31_000, all)).toMatchObject({ sinceMs: 1000 });
  pauses.failed('b', { ...theirs, detail: 'no answer' }, null, 500);
  expect(pauses.trouble(31_000, all)).toEqual({
    sinceMs: 500,
    detail: 'The tokens of 2 connections cannot be renewed: expected 200, got 503.',
  });
});

test('what ended, or matters no more, is forgotten: it is tried at once, and begins anew', () => {
  for (const forget of [
    () => pauses.ended('a'),
    () => void pauses.trouble(nowMs, (connectionId) => connectionId !== 'a'),
  ]) {
    fail(theirs, 8);
    forget();
    expect([pauses.of('a', 0), pauses.trouble(nowMs, all)]).toEqual([null, null]);
    expect(fail(theirs, 1)).toEqual([1980]);
    pauses.ended('a');
  }
});

test('the first failure of the provider begins anew, however long the store was away before', () => {
  fail(ours, 25);
  const fromMs = nowMs;
  const [first] = fail(theirs, 1);
  expect(first).toBeLessThanOrEqual(2000);
  expect(pauses.trouble(nowMs, all)).toBeNull();
  fail(theirs, 9);
  expect(pauses.trouble(nowMs, all)).toEqual({
    sinceMs: fromMs,
    detail: 'The tokens of one connection cannot be renewed: expected 200, got 503.',
  });
});

test('a failure of ours erases none of the provider’s: neither since when it lasts, nor how often it failed', () => {
  const before = fail(theirs, 8).at(-1)!;
  const [between] = fail(ours, 1);
  expect(between).toBeLessThanOrEqual(2000);
  expect(pauses.trouble(nowMs, all)).toMatchObject({ sinceMs: 0, detail: expect.stringContaining('503') });
  expect(fail(theirs, 1)[0]).toBeGreaterThan(before);
});

test('one failure of the provider is no trouble that lasts because nobody could ask it since', () => {
  fail(theirs, 1);
  fail(ours, 20);
  expect(nowMs).toBeGreaterThan(60_000);
  expect(pauses.trouble(nowMs, all)).toBeNull();
});

test('a provider that gave is in no trouble, though what it gave is not stored', () => {
  // Of one that never failed nothing is over.
  pauses.gave('a');
  fail(theirs, 8);
  pauses.gave('a');
  fail(ours, 1);
  expect(pauses.trouble(nowMs, all)).toBeNull();
  expect(fail(theirs, 1)[0]).toBeLessThanOrEqual(2000);
});

test('what is said of a pause is what caused it', () => {
  fail(theirs, 1);
  pauses.failed('a', ours, null, nowMs);
  expect(pauses.of('a', nowMs)).toMatchObject({ detail: ours.detail });
});
