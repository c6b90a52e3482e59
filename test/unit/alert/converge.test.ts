// Goal: on-call sees one incident per state: it begins when the state began, survives flapping, ends after a hold, and
// comes back as a new one under the same identity.
import { converge as convergeGathered } from '../../../src/alert/converge';
import { subjectOf } from '../../../src/alert/fingerprint';
import { toldOf } from '../../../src/alert/held-text';
import { loadSettings } from '../../../src/config';
import type { Alert, Signal } from '../../../src/model/alert';
import { alertingOptions } from '../../../src/wire/options';
import { processorTimeOf } from '../../support/processor-time';
import { anAlert, aSignal, minuteMs, noonMs } from './samples';

const options = { holdMs: 60_000 };
/** Nothing is held back. */
const converge = (passed: Signal[], alerts: Alert[], nowMs: number, { holdMs } = options) =>
  convergeGathered({ passed, held: [] }, alerts, nowMs, { holdMs });
const at = (seconds: number): number => noonMs + seconds * 1000;

function one(alerts: Alert[]): Alert {
  expect(alerts).toHaveLength(1);
  return alerts[0] as Alert;
}

function run(steps: [seconds: number, signals: Signal[]][]): Alert[] {
  return steps.reduce<Alert[]>(
    (alerts, [seconds, signals]) => converge(signals, alerts, at(seconds), options),
    [],
  );
}

test('a new signal fires, and starts when its state began', () => {
  expect(one(converge([aSignal()], [], at(90), options))).toEqual({
    ...anAlert(),
    startsAtMs: noonMs,
    state: 'firing',
    sent: {},
  });
});

test('an alert does not start in the future', () => {
  expect(one(converge([aSignal({ sinceMs: at(100) })], [], at(90), options)).startsAtMs).toBe(at(90));
});

test('a signal that says the same again changes nothing', () => {
  const alert = anAlert();
  expect(converge([aSignal({ sinceMs: at(5) })], [alert], at(90), options)[0]).toBe(alert);
});

test.each([
  { summary: 'Terms, still.', owner: 'customer-success' },
  { summary: 'Terms.' },
  { summary: 'Terms.', owner: 'customer-success', action_url: 'https://provider.example/' },
])('new texts are taken over and the start is kept: %j', (annotations) => {
  const alert = one(converge([aSignal({ annotations, sinceMs: at(5) })], [anAlert()], at(90), options));
  expect(alert).toEqual({ ...anAlert(), annotations });
});

test('a state that ended is held before its alert ends', () => {
  const held = one(
    run([
      [0, [aSignal()]],
      [10, []],
      [69, []],
    ]),
  );
  expect(held).toMatchObject({ state: 'firing', quietSinceMs: at(10), resolvedAtMs: null });
  const ended = one(converge([], [held], at(70), options));
  expect(ended).toMatchObject({
    state: 'resolved',
    quietSinceMs: null,
    resolvedAtMs: at(70),
    startsAtMs: noonMs,
  });
});

test('a state that comes back within the hold is the same incident', () => {
  const alert = one(
    run([
      [0, [aSignal()]],
      [10, []],
      [65, [aSignal({ sinceMs: at(65) })]],
      [69, []],
      [128, []],
    ]),
  );
  expect(alert).toMatchObject({ state: 'firing', startsAtMs: noonMs, quietSinceMs: at(69) });
});

test('a state that comes back after the end starts anew under the same fingerprint', () => {
  const again = aSignal({ sinceMs: at(200) });
  const alert = one(
    run([
      [0, [aSignal()]],
      [10, []],
      [70, []],
      [201, [again]],
    ]),
  );
  expect(alert).toMatchObject({
    fingerprint: anAlert().fingerprint,
    state: 'firing',
    startsAtMs: at(200),
    resolvedAtMs: null,
  });
});

test('a second incident never begins inside the first, and what sinks have is kept', () => {
  const sent = { log: { state: 'resolved', severity: 'warning', sinceMs: 1, atMs: 1, failures: 0 } } as const;
  const ended = anAlert({ state: 'resolved', resolvedAtMs: at(70), sent });
  const alert = one(converge([aSignal()], [ended], at(201), options));
  expect(alert).toMatchObject({ startsAtMs: at(201), sent });
});

test('a resolved alert without a signal stays as it is', () => {
  const ended = anAlert({ state: 'resolved', resolvedAtMs: at(70) });
  expect(converge([], [ended], at(900), options)[0]).toBe(ended);
});

test('another severity is the same incident', () => {
  const alert = one(
    run([
      [0, [aSignal()]],
      [30, [aSignal({ severity: 'critical' })]],
    ]),
  );
  expect(alert).toMatchObject({ severity: 'critical', state: 'firing', startsAtMs: noonMs });
});

describe('a signal that covers others', () => {
  const about = (...ids: string[]) => ids.map((id) => subjectOf({ organization_id: id }));
  const names = ['TramlineTermsRequired', 'TramlineRequiredAction'];
  const storm = aSignal({
    name: 'TramlineManyOrganizationsBlocked',
    labels: { cause: 'terms' },
    covers: { names, subjects: about('4711', 'back'), untilMs: at(4) },
  });
  const stateOf = ({ labels, state, annotations }: Alert) =>
    [labels.organization_id, state, annotations.folded_into ?? 'over'].join(' ');

  test('and stands for many ends the single ones of those at once, and nothing else', () => {
    const late = aSignal({ labels: { organization_id: 'late' } });
    const other = anAlert({ name: 'TramlineKafkaUnavailable' });
    const back = anAlert({ labels: { organization_id: 'back' }, quietSinceMs: at(1) });
    const accepted = anAlert({ labels: { organization_id: 'accepted' } });
    const past = anAlert({ labels: { organization_id: 'past' }, state: 'resolved', resolvedAtMs: at(1) });
    const alerts = converge([storm, late], [anAlert(), other, back, accepted, past], at(5), options);
    expect(alerts).toMatchObject([
      { name: 'TramlineManyOrganizationsBlocked', state: 'firing', coversUntilMs: at(4) },
      { labels: { organization_id: 'late' }, state: 'firing', coversUntilMs: null },
      { name: 'TramlineTermsRequired', state: 'resolved', resolvedAtMs: at(5) },
      { name: 'TramlineKafkaUnavailable', state: 'firing', quietSinceMs: at(5) },
      { labels: { organization_id: 'back' }, state: 'resolved', resolvedAtMs: at(5) },
      { labels: { organization_id: 'accepted' }, state: 'firing', quietSinceMs: at(5) },
      past,
    ]);
    expect([alerts[2], alerts[4]].map((alert) => alert?.annotations.folded_into)).toEqual([
      storm.name,
      storm.name,
    ]);
    const grown = { ...storm, covers: { names, subjects: about('4711'), untilMs: at(6) } };
    expect(converge([grown], alerts, at(7), options)[0]).toMatchObject({ coversUntilMs: at(6) });
  });

  test('and is held back keeps what it covers from being over', () => {
    const alerts = [anAlert(), anAlert({ labels: { organization_id: 'accepted' } })];
    const waiting = convergeGathered({ passed: [], held: [storm] }, alerts, at(5), options);
    expect(waiting[0]).toBe(alerts[0]);
    expect(waiting[1]).toMatchObject({ quietSinceMs: at(5) });
    expect(converge([storm], waiting, at(6), options).map(stateOf)).toEqual([
      ' firing over',
      '4711 resolved TramlineManyOrganizationsBlocked',
      'accepted firing over',
    ]);
  });

  test('because the cause is another one now says so when the former alert ends, after its hold', () => {
    const covers = { names, subjects: about('4711'), untilMs: null };
    const reauthorize = aSignal({ name: 'TramlineReauthorize', labels: { connection_id: 'c1' }, covers });
    const held = converge([reauthorize], [anAlert()], at(5), options);
    expect(held.map(stateOf)).toEqual([' firing over', '4711 firing over']);
    expect(toldOf(held[1]!).annotations.summary).toBe(
      'It goes on as TramlineReauthorize since 2026-03-01T12:00:05Z; ' +
        'this alert closes at 2026-03-01T12:01:05Z unless it comes back.',
    );
    expect(converge([reauthorize], held, at(65), options).map(stateOf)).toEqual([
      ' firing over',
      '4711 resolved TramlineReauthorize',
    ]);
  });
});

test('5,000 alerts converge in well under a second', () => {
  const signals = Array.from({ length: 5000 }, (_, id) => aSignal({ labels: { organization_id: `${id}` } }));
  const alerts = converge(signals, [], noonMs, options);
  const took = processorTimeOf(() => {
    expect(converge(signals, alerts, noonMs + minuteMs, options)).toHaveLength(5000);
  });
  expect(took).toBeLessThan(1_000_000);
});

describe('F-11: with the hold that is shipped', () => {
  const { holdMs } = alertingOptions(loadSettings('command', {}).settings);
  /** The states of one alert, in two hours of a block of `onSeconds` in every `onSeconds + offSeconds`. */
  function statesOf(onSeconds: number, offSeconds: number): string[] {
    let alerts: Alert[] = [];
    const states: string[] = [];
    for (let second = 0; second < 7200; second += 1) {
      const isBlocked = second % (onSeconds + offSeconds) < onSeconds;
      alerts = converge(isBlocked ? [aSignal()] : [], alerts, noonMs + second * 1000, { holdMs });
      const [state] = alerts.map((alert) => alert.state);
      if (state !== undefined && state !== states.at(-1)) states.push(state);
    }
    return states;
  }

  test.each([
    [60, 60],
    [60, 63],
    [5, 70],
    [30, 45],
  ])('what is blocked for %d s and then read for %d s is one incident', (on, off) => {
    expect(statesOf(on, off)).toEqual(['firing']);
  });

  test('what stays away for longer than it pages once more, and is then held for twice as long', () => {
    expect(statesOf(60, 120)).toEqual(['firing', 'resolved', 'firing']);
  });
});

test('what is over for long begins anew with the shortest hold', () => {
  const over = anAlert({ state: 'resolved', resolvedAtMs: noonMs, returns: 3 });
  const [soon] = converge([aSignal()], [over], noonMs + 60_000, { holdMs: 30_000 });
  expect(soon?.returns).toBe(4);
  const [late] = converge([aSignal()], [over], noonMs + 16 * 30_000, { holdMs: 30_000 });
  expect(late?.returns).toBe(0);
});
