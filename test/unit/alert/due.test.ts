// Goal: a sink is told of each change once, of what lasts again and again if it needs that, and only of the latest state.
import { offeredTo, pickDue, sentAfter, severitiesOf } from '../../../src/alert/due';
import type { SentState } from '../../../src/model/alert';
import { anAlert, noonMs } from './samples';

const times = { resendMs: 60_000, resolveRepeatMs: 600_000, startedAtMs: noonMs };
const repeating = { name: 'alertmanager', repeats: true, keeps: true } as const;
const once = { name: 'log', repeats: false, keeps: false } as const;
const at = (seconds: number): number => noonMs + seconds * 1000;

function sent(of: Partial<SentState> = {}): SentState {
  return { state: 'firing', severity: 'warning', sinceMs: noonMs, atMs: noonMs, failures: 0, ...of };
}

const told = (of: Partial<SentState> = {}) => ({ sent: { alertmanager: sent(of), log: sent(of) } });

test('a firing alert that a sink was never offered is due', () => {
  expect(pickDue(once, [anAlert()], noonMs, times)).toHaveLength(1);
  expect(pickDue(repeating, [anAlert()], noonMs, times)).toHaveLength(1);
});

test('what ended before a sink was offered it is not due', () => {
  const alert = anAlert({ state: 'resolved', resolvedAtMs: at(1) });
  expect(pickDue(repeating, [alert], at(2), times)).toEqual([]);
});

test('an end is due when the sink has it as firing, or may have it', () => {
  const ended = { state: 'resolved', resolvedAtMs: at(1) } as const;
  expect(pickDue(once, [anAlert({ ...ended, ...told() })], at(2), times)).toHaveLength(1);
  expect(
    pickDue(once, [anAlert({ ...ended, ...told({ state: null, failures: 1 }) })], at(2), times),
  ).toHaveLength(1);
});

test('what is over and only held is not begun at a sink that did not take it, and is news there once it comes back', () => {
  const held = { quietSinceMs: at(1) };
  const pager = { name: 'log', repeats: false, keeps: true } as const;
  for (const state of [undefined, null, 'resolved'] as const) {
    const known = state === undefined ? {} : told({ state, failures: 1 });
    for (const sink of [repeating, once, pager]) {
      expect(pickDue(sink, [anAlert({ ...held, ...known })], at(600), times)).toEqual([]);
      expect(pickDue(sink, [anAlert(known)], at(600), times)).toHaveLength(1);
    }
  }
  // Where it is open, that it is over is told with the next repetition.
  expect(pickDue(repeating, [anAlert({ ...held, ...told() })], at(60), times)).toHaveLength(1);
});

test('another severity is due while firing', () => {
  expect(pickDue(once, [anAlert({ severity: 'critical', ...told() })], at(1), times)).toHaveLength(1);
});

test('what a sink has is sent again only to one that needs it, when its time has come', () => {
  const alert = anAlert(told());
  expect(pickDue(repeating, [alert], at(59), times)).toEqual([]);
  expect(pickDue(repeating, [alert], at(60), times)).toEqual([alert]);
  expect(pickDue(once, [alert], at(6000), times)).toEqual([]);
});

test('where another may end what is open, a sink that keeps it is told it again, and no end and no refusal', () => {
  const pager = { name: 'log', repeats: false, keeps: true } as const;
  const alone = { ...times, openAgainMs: 300_000 };
  const open = anAlert(told());
  const refused = anAlert(
    told({ refused: { state: 'firing', severity: 'warning', atMs: noonMs }, state: null }),
  );
  const ended = anAlert({ state: 'resolved', resolvedAtMs: noonMs, ...told({ state: 'resolved' }) });
  expect(pickDue(pager, [open, refused, ended], at(299), alone)).toEqual([]);
  expect(pickDue(pager, [open, refused, ended], at(300), alone)).toEqual([open]);
  expect(pickDue(pager, [open], at(300), times)).toEqual([]);
  expect(pickDue(once, [open], at(300), alone)).toEqual([]);
});

test('one repetition that is due takes all others along, so that rounds stay few', () => {
  const old = anAlert(told());
  const young = anAlert({ labels: { organization_id: '2' }, ...told({ atMs: at(50) }) });
  const fresh = anAlert({ labels: { organization_id: '3' } });
  expect(pickDue(repeating, [old, young, fresh], at(60), times)).toEqual([fresh, old, young]);
});

test('an end is sent again for ten minutes after the sink first took it, however late that was', () => {
  const ended = { state: 'resolved', resolvedAtMs: noonMs } as const;
  const alert = (seconds: number) =>
    anAlert({ ...ended, ...told({ state: 'resolved', sinceMs: at(3000), atMs: at(seconds) }) });
  expect(pickDue(repeating, [alert(3540)], at(3599), times)).toHaveLength(0);
  expect(pickDue(repeating, [alert(3539)], at(3599), times)).toHaveLength(1);
  expect(pickDue(repeating, [alert(3540)], at(3600), times)).toHaveLength(0);
});

test('a taken alert is recorded with when the sink first and last took it', () => {
  const first = sentAfter(undefined, anAlert(), 'taken', at(1));
  expect(first).toEqual(sent({ sinceMs: at(1), atMs: at(1) }));
  expect(sentAfter(first, anAlert(), 'taken', at(2))).toEqual(sent({ sinceMs: at(1), atMs: at(2) }));
  expect(sentAfter(first, anAlert({ severity: 'critical' }), 'taken', at(2))).toEqual(
    sent({ severity: 'critical', sinceMs: at(2), atMs: at(2) }),
  );
});

test('an end is recorded under the severity that the sink knew', () => {
  const ended = anAlert({ state: 'resolved', severity: 'critical', resolvedAtMs: at(1) });
  expect(sentAfter(sent(), ended, 'taken', at(2))).toMatchObject({ state: 'resolved', severity: 'warning' });
  expect(sentAfter(undefined, ended, 'taken', at(2))).toMatchObject({
    state: 'resolved',
    severity: 'critical',
  });
});

test('what fires is offered to a sink once, and again after its end was told there', () => {
  const first = offeredTo('log', anAlert(), at(1));
  expect(first.sent.log).toEqual(sent({ state: null, sinceMs: at(1), atMs: at(1) }));
  expect(offeredTo('log', first, at(2))).toBe(first);
  const again = anAlert(told({ state: 'resolved', failures: 2 }));
  expect(offeredTo('log', again, at(2)).sent.log).toMatchObject({ state: null, failures: 2 });
  const ended = anAlert({ state: 'resolved', resolvedAtMs: at(1) });
  expect(offeredTo('log', ended, at(2))).toBe(ended);
});

test('each severity under which it was offered is kept until the sink took one, and none of before its end', () => {
  const urgent = anAlert({ severity: 'critical', ...told() });
  const offered = offeredTo('log', urgent, at(1));
  expect(offered.sent.log).toEqual(sent({ offered: ['critical'] }));
  expect(offeredTo('log', offered, at(2))).toBe(offered);
  expect(severitiesOf(offered.sent.log)).toEqual(['warning', 'critical']);
  expect(severitiesOf(sentAfter(offered.sent.log, urgent, 'failed', at(3)))).toEqual(['warning', 'critical']);
  expect(severitiesOf(sentAfter(offered.sent.log, urgent, 'taken', at(3)))).toEqual(['critical']);
  expect(severitiesOf(sent({ state: 'resolved' }))).toEqual([]);
  expect(severitiesOf(undefined)).toEqual([]);
});

test('a failure counts and leaves what the sink has', () => {
  const first = sentAfter(undefined, anAlert(), 'failed', at(1));
  expect(first).toMatchObject({ state: null, failures: 1 });
  expect(sentAfter(first, anAlert(), 'failed', at(2))).toMatchObject({ state: null, failures: 2 });
  expect(sentAfter(sent({ failures: 4 }), anAlert({ state: 'resolved' }), 'failed', at(3))).toEqual(
    sent({ failures: 5 }),
  );
  expect(sentAfter(sent({ failures: 4 }), anAlert(), 'taken', at(3))).toMatchObject({ failures: 0 });
});

test('a refused alert is no news for an hour, until it changes, and to who began after the refusal', () => {
  const refused = sentAfter(undefined, anAlert(), 'refused', at(1));
  expect(refused).toMatchObject({ state: null, failures: 1, refused: { state: 'firing', atMs: at(1) } });
  const alert = anAlert({ sent: { log: refused } });
  expect(pickDue(once, [alert], at(2), times)).toEqual([]);
  expect(pickDue(once, [alert], at(3600), times)).toEqual([]);
  expect(pickDue(once, [alert], at(3601), times)).toEqual([alert]);
  expect(pickDue(once, [alert], at(2), { ...times, startedAtMs: at(2) })).toEqual([alert]);
  for (const changed of [{ severity: 'critical' }, { startsAtMs: at(2) }] as const) {
    expect(pickDue(once, [{ ...alert, ...changed }], at(2), times)).toHaveLength(1);
  }
  const ended = anAlert({ state: 'resolved', resolvedAtMs: at(2), sent: { log: refused } });
  expect(pickDue(once, [ended], at(2), times)).toEqual([ended]);
  expect(sentAfter(refused, anAlert(), 'refused', at(3))).toMatchObject({ failures: 2 });
});

test('a refusal leaves what the sink has, and is forgotten with what it takes', () => {
  const refused = sentAfter(sent(), anAlert({ severity: 'critical' }), 'refused', at(9));
  expect(refused).toMatchObject({ state: 'firing', severity: 'warning', refused: { severity: 'critical' } });
  expect(sentAfter(refused, anAlert(), 'taken', at(10))).toEqual(sent({ atMs: at(10) }));
});

test('what a sink that needs repetitions refused is repeated with the others, and no more often', () => {
  const refused = { alertmanager: sentAfter(undefined, anAlert(), 'refused', at(1)) };
  const alert = anAlert({ sent: refused });
  expect(pickDue(repeating, [alert], at(60), times)).toEqual([]);
  expect(pickDue(repeating, [alert], at(61), times)).toEqual([alert]);
});
