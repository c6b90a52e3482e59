// Who does not know of an alert: the value lies in a page that arrived nowhere being told as such, and in nothing else being.
import { notTold } from '../../../src/alert/not-told';
import type { Alert, SentState } from '../../../src/model/alert';
import { anAlert, minuteMs, noonMs } from './samples';

const pagerduty = { name: 'pagerduty', repeats: false } as const;
const alertmanager = { name: 'alertmanager', repeats: true } as const;

const sent: SentState = { state: 'firing', severity: 'warning', sinceMs: noonMs, atMs: noonMs, failures: 0 };
const ended = { state: 'resolved', resolvedAtMs: noonMs + minuteMs } as const;

const toldOf = (state: Partial<SentState> | undefined, of: Partial<Alert> = {}) => {
  const one = state === undefined ? undefined : { ...sent, ...state };
  const alert = anAlert({ ...of, sent: one === undefined ? {} : { pagerduty: one, alertmanager: one } });
  return notTold(alert, [pagerduty]);
};

test('what a sink took as it is, is told', () => {
  expect(toldOf({})).toEqual([]);
  expect(toldOf({ state: 'resolved', failures: 0 }, ended)).toEqual([]);
});

test('what it took never, or under another severity, is not told, and whether that fails is known', () => {
  const missing = { sink: 'pagerduty', sinceMs: noonMs };
  expect(toldOf(undefined)).toEqual([{ ...missing, fails: false }]);
  expect(toldOf({ state: null })).toEqual([{ ...missing, fails: false }]);
  expect(toldOf({ state: null, failures: 3 })).toEqual([{ ...missing, fails: true }]);
  // A second incident under the same key: what was told of the first is no word of it.
  expect(toldOf({ state: null, sinceMs: noonMs - minuteMs, failures: 1 })).toEqual([
    { ...missing, fails: true },
  ]);
  expect(toldOf({ failures: 1, atMs: noonMs + 5 }, { severity: 'critical' })).toEqual([
    { sink: 'pagerduty', sinceMs: noonMs + 5, fails: true },
  ]);
});

test('an end that it did not take is not told; what ended before it was offered is missed by nobody', () => {
  expect(toldOf({ failures: 1 }, ended)).toEqual([
    { sink: 'pagerduty', sinceMs: noonMs + minuteMs, fails: true },
  ]);
  expect(toldOf(undefined, ended)).toEqual([]);
});

test('what is over and only held is missed by nobody who was never offered it; that a sink failed is known all the same', () => {
  const held = { quietSinceMs: noonMs + minuteMs };
  expect(toldOf(undefined, held)).toEqual([]);
  expect(toldOf({ state: null }, held)).toEqual([]);
  expect(toldOf({ state: null, failures: 3 }, held)).toEqual([
    { sink: 'pagerduty', sinceMs: noonMs, fails: true },
  ]);
});

test('a repetition that fails is missed only where what is not repeated is forgotten', () => {
  const alert = anAlert({
    sent: { pagerduty: { ...sent, failures: 1 }, alertmanager: { ...sent, failures: 1 } },
  });
  expect(notTold(alert, [pagerduty, alertmanager])).toEqual([
    { sink: 'alertmanager', sinceMs: noonMs, fails: true },
  ]);
});

test('of a sink that is no longer among the settings nothing is told', () => {
  expect(notTold(anAlert({ sent: { slack: { ...sent, state: null, failures: 9 } } }), [])).toEqual([]);
});
