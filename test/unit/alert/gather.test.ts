// Goal: new signals wait a moment for their like, and then go together; what fires already never waits. One organization's
// waits until it is known whether it is one of many.
import { makeGather } from '../../../src/alert/gather';
import type { Alert, Signal } from '../../../src/model/alert';
import { anAlert, aSignal, noonMs } from './samples';

const none = { suspected: 0, refused: 0 };
const refused = (count: number) => ({ suspected: count, refused: count });
const asked = (count: number) => ({ suspected: count, refused: 0 });

/** Which pass. */
function makePassing(gatherMs: number) {
  const gather = makeGather({ gatherMs, groupAbove: 3 });
  return (signals: Signal[], alerts: Alert[], nowMs: number) => gather(signals, none, alerts, nowMs).passed;
}

const signal = (id: string) => aSignal({ labels: { organization_id: id } });
const alert = (id: string) => anAlert({ labels: { organization_id: id } });

test('new signals go together, one second after the first of them', () => {
  const gather = makePassing(1000);
  expect(gather([signal('1')], [], noonMs)).toEqual([]);
  expect(gather([signal('1'), signal('2')], [], noonMs + 999)).toEqual([]);
  expect(gather([signal('1'), signal('2')], [], noonMs + 1000)).toEqual([signal('1'), signal('2')]);
});

test('signals of firing alerts pass while new ones are gathered', () => {
  const gather = makePassing(1000);
  expect(gather([signal('1'), signal('2')], [alert('1')], noonMs)).toEqual([signal('1')]);
});

test('a store that is away waits for no others of its kind, and those that are gathered stay', () => {
  const gather = makePassing(1000);
  const away = aSignal({ name: 'TramlineStoreUnavailable', labels: {} });
  expect(gather([signal('1'), away], [], noonMs)).toEqual([away]);
  expect(gather([signal('1')], [], noonMs + 1000)).toEqual([signal('1')]);
});

test('a signal of a resolved alert is new again', () => {
  const gather = makePassing(1000);
  const ended = { ...alert('1'), state: 'resolved' as const, resolvedAtMs: noonMs };
  expect(gather([signal('1')], [ended], noonMs)).toEqual([]);
});

test('after a moment without new ones the gathering begins anew', () => {
  const gather = makePassing(1000);
  gather([signal('1')], [], noonMs);
  gather([], [], noonMs + 500);
  expect(gather([signal('2')], [], noonMs + 1500)).toEqual([]);
  expect(gather([signal('2')], [], noonMs + 2500)).toEqual([signal('2')]);
  expect(gather([signal('2'), signal('3')], [alert('2')], noonMs + 2600)).toEqual([signal('2')]);
});

test('what does not pass is held, and what is held is known', () => {
  const gather = makeGather({ gatherMs: 1000, groupAbove: 3 });
  expect(gather([signal('1'), signal('2')], none, [alert('1')], noonMs)).toEqual({
    passed: [signal('1')],
    held: [signal('2')],
  });
  expect(gather([signal('1'), signal('2')], none, [alert('1')], noonMs + 1000).held).toEqual([]);
  expect(gather([signal('1')], none, [alert('1')], noonMs + 1001)).toEqual({
    passed: [signal('1')],
    held: [],
  });
});

describe('while many are still to be asked whether they are blocked', () => {
  const covering = (id: string, untilMs: number | null) => ({
    ...signal(id),
    covers: { names: ['TramlineTermsRequired'], subjects: [id], untilMs },
  });
  const lone = (...ids: string[]) => ids.map((id) => covering(id, null));
  const gathering = () => makeGather({ gatherMs: 1000, groupAbove: 3 });

  test('nobody is told of the few that are known, for half a minute at most', () => {
    const gather = gathering();
    expect(gather(lone('1', '2'), refused(2), [], noonMs).passed).toEqual([]);
    expect(gather(lone('1', '2'), refused(2), [], noonMs + 1000)).toEqual({
      passed: [],
      held: lone('1', '2'),
    });
    expect(gather(lone('1', '2'), refused(2), [], noonMs + 29_999).passed).toEqual([]);
    expect(gather(lone('1', '2'), refused(2), [], noonMs + 30_000).passed).toEqual(lone('1', '2'));
  });

  test('they are told of as soon as the others are found open, or as one', () => {
    const open = gathering();
    open(lone('1', '2'), refused(9), [], noonMs);
    expect(open(lone('1', '2'), refused(9), [], noonMs + 1500).passed).toEqual([]);
    expect(open(lone('1', '2'), refused(1), [], noonMs + 1501).passed).toEqual(lone('1', '2'));
    const many = gathering();
    many(lone('1', '2'), refused(9), [], noonMs);
    expect(many([covering('all', noonMs)], refused(5), [], noonMs + 1500).passed).toEqual([
      covering('all', noonMs),
    ]);
  });

  test('many that are no storm wait for the usual moment only when nobody is left to be asked', () => {
    const gather = gathering();
    const known = lone('1', '2', '3', '4');
    expect(gather(known, none, [], noonMs).passed).toEqual([]);
    expect(gather(known, none, [], noonMs + 1000).passed).toEqual(known);
  });

  test('those of another cause make no one a part of many', () => {
    const gather = gathering();
    const other = lone('3', '4').map((signal) => ({ ...signal, name: 'TramlineReauthorize' }));
    gather([...lone('1', '2'), ...other], refused(1), [], noonMs);
    expect(gather([...lone('1', '2'), ...other], refused(1), [], noonMs + 1000).held).toEqual([]);
    const more = gathering();
    more([...lone('1', '2', '5'), ...other], refused(1), [], noonMs);
    expect(more([...lone('1', '2', '5'), ...other], refused(1), [], noonMs + 1000)).toEqual({
      passed: other,
      held: lone('1', '2', '5'),
    });
  });

  test('what is no organization’s waits for the usual moment only', () => {
    const gather = gathering();
    const one = covering('1', null);
    const kafka = aSignal({ name: 'TramlineKafkaUnavailable', labels: {} });
    gather([one, kafka], refused(9), [], noonMs);
    expect(gather([one, kafka], refused(9), [], noonMs + 1000)).toEqual({ passed: [kafka], held: [one] });
  });

  test('one whose like nothing shows is not held for what is asked without a refusal', () => {
    const gather = gathering();
    expect(gather(lone('1'), asked(2500), [], noonMs).passed).toEqual([]);
    expect(gather(lone('1'), asked(2500), [], noonMs + 999).passed).toEqual([]);
    expect(gather(lone('1'), asked(2500), [], noonMs + 1000).passed).toEqual(lone('1'));
  });

  test('what is asked without a refusal counts while one after the other is found blocked', () => {
    const gather = gathering();
    expect(gather(lone('1'), asked(9), [], noonMs).passed).toEqual([]);
    expect(gather(lone('1', '2'), asked(8), [], noonMs + 900).passed).toEqual([]);
    expect(gather(lone('1', '2'), asked(8), [], noonMs + 1500).held).toEqual(lone('1', '2'));
    expect(gather(lone('1', '2', '3'), asked(7), [], noonMs + 1800).held).toEqual(lone('1', '2', '3'));
    expect(gather(lone('1', '2', '3'), asked(7), [], noonMs + 2799).passed).toEqual([]);
    expect(gather(lone('1', '2', '3'), asked(7), [], noonMs + 2800).passed).toEqual(lone('1', '2', '3'));
  });
});
