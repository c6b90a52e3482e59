// Goal: many beginnings close together are one incident, and stay one until the last of them is over.
import { findStorm } from '../../../src/alert/find-storm';

const bounds = { above: 3, withinMs: 100 };

test('as many as the bound are no storm', () => {
  expect(findStorm([1, 2, 3], null, bounds)).toBeNull();
  expect(findStorm([], null, bounds)).toBeNull();
});

test('one more than the bound within the time is a storm, in whatever order they are given', () => {
  expect(findStorm([40, 10, 30, 20], null, bounds)).toEqual({ sinceMs: 10, untilMs: 40 });
  expect(findStorm([0, 100, 50, 50], null, bounds)).toEqual({ sinceMs: 0, untilMs: 100 });
});

test('one more than the bound over a longer time is no storm', () => {
  expect(findStorm([0, 30, 60, 101], null, bounds)).toBeNull();
});

test('what follows closely belongs to it, what comes later does not', () => {
  expect(findStorm([0, 1, 2, 3, 103, 203, 304], null, bounds)).toEqual({ sinceMs: 0, untilMs: 203 });
});

test('what began before it is folded in, but is not its beginning', () => {
  expect(findStorm([-5000, 0, 1, 2, 3], null, bounds)).toEqual({ sinceMs: 0, untilMs: 3 });
});

test('an open one stays one while any of its states lasts', () => {
  expect(findStorm([2], 3, bounds)).toEqual({ sinceMs: 2, untilMs: 3 });
  expect(findStorm([2, 90], 3, bounds)).toEqual({ sinceMs: 2, untilMs: 90 });
});

test('an open one is over when only later states are left', () => {
  expect(findStorm([500], 3, bounds)).toBeNull();
});
