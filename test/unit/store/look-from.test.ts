// Where a claim begins to look: after claims that came to their end, and after those that did not.
import { lookFrom, noteBegun, noteLook, nothingLooked } from '../../../src/store/postgres/look-from';

const minute = 60_000;
const looked = nothingLooked();
beforeEach(() => Object.assign(looked, nothingLooked()));

/** A claim that fails where it is not `committed`. */
function claim(nowMs: number, committed = true, areLeft = false) {
  const from = lookFrom(looked, nowMs);
  noteBegun(looked, from, nowMs);
  if (committed) noteLook(looked, from, nowMs, areLeft);
  return from;
}

const fromLast = (lastMs: number) => ({ isWhole: false, leasesMs: lastMs - 10_000 });
const whole = { isWhole: true, leasesMs: 0 };

test('the first looks at all, as does one each minute', () => {
  expect(claim(10 * minute)).toEqual(whole);
  expect(claim(10 * minute + 1000)).toEqual(fromLast(10 * minute));
  expect(claim(11 * minute - 1)).toEqual(fromLast(10 * minute + 1000));
  expect(claim(11 * minute)).toEqual(whole);
});

test('a look at all that fails is tried again a minute later, and others go on from the last one', () => {
  claim(10 * minute);
  expect(claim(11 * minute, false)).toEqual(whole);
  expect(claim(11 * minute + 1000, false)).toEqual(fromLast(10 * minute));
  expect(claim(11 * minute + 2000)).toEqual(fromLast(10 * minute));
  expect(claim(11 * minute + 3000)).toEqual(fromLast(11 * minute + 2000));
  expect(claim(12 * minute)).toEqual(whole);
});

test.each([
  ['the first one', () => {}],
  ['the first one since the clock was set back', () => void claim(20 * minute)],
])('where %s fails, the next look for leases from then on', (_which, before) => {
  before();
  expect(claim(10 * minute, false)).toEqual(whole);
  expect(claim(10 * minute + 3000)).toEqual(fromLast(10 * minute));
  expect(claim(11 * minute)).toEqual(whole);
});

test('while leases are left the next one looks at them again', () => {
  expect(claim(10 * minute, true, true)).toEqual(whole);
  expect(claim(10 * minute + 1000)).toEqual(whole);
  expect(claim(10 * minute + 2000, true, true)).toEqual(fromLast(10 * minute + 1000));
  expect(claim(10 * minute + 3000)).toEqual(fromLast(10 * minute + 1000));
});
