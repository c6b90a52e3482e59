/**
 * A consent that is refused and for which no organization is blocked is one alert of its own, and the same one that tells
 * of what is blocked for it, before and after.
 */
import { converge } from '../../../src/alert/converge';
import { evaluate, openOf } from '../../../src/alert/evaluate';
import type { Blocked } from '../../../src/alert/evaluate-organizations';
import { type RefusedOptions, refusedSignals } from '../../../src/alert/evaluate-refused';
import { type Alert, type AlertInputs, noInputs } from '../../../src/model/alert';
import { oauth1Ending } from '../../../src/model/connection';
import { aBlocked, anAlert, minuteMs, noonMs } from './samples';

type Refused = AlertInputs['refusedConnections'][number];

const labels = { connection_id: 'c1' };
const one: Refused = { connectionId: 'c1', message: 'The token abc is unknown.', sees: 0, alone: 0 };
const options: RefusedOptions = { groupAbove: 2, startsAtMs: new Map(), nowMs: noonMs };
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...one, connectionId: `c${index + 1}` }));
const openFor = (...alerts: Alert[]) => ({ ...options, ...openOf(alerts) });
const told = (refusedConnections: Refused[], given = options, blocked: Blocked[] = []) =>
  refusedSignals({ refusedConnections, blocked }, given);

test('it is told with the connection, what ends it and what to do, and without the provider’s words', () => {
  const [signal, ...more] = told([one]);
  expect(more).toEqual([]);
  expect(signal).toEqual({
    name: 'TramlineReauthorize',
    severity: 'warning',
    labels,
    annotations: {
      summary: 'A consent was refused by the provider: it expired or was revoked.',
      description:
        'The provider refuses the consent of connection c1, seen so since 2026-03-01T12:00:00Z: no organization was seen ' +
        'with it yet. What was subscribed with it is renewed only where another connection lists it. What ends it: the user of the connection ' +
        'gives consent anew, or, where it is not needed, `tramline connections revoke ID`. A refusal by mistake ends by itself: it is shown to the provider again at each start, ' +
        'and at last once a day.',
      owner: 'customer-success',
      first_step:
        'Find c1 in `tramline connections list`; then send its user the link of `tramline connect --user NAME`.',
      until_when: 'nothing waits for it alone',
    },
    sinceMs: noonMs,
    covers: { names: ['TramlineReauthorize'], subjects: [expect.any(String)], untilMs: null },
  });
});

test('it says what becomes of what the consent saw', () => {
  const said = (sees: number, alone: number) => told([{ ...one, sees, alone }])[0]?.annotations.description;
  expect(said(3, 0)).toContain('12:00:00Z: its organizations are read through others. What was subscribed');
  expect(said(3, 2)).toContain(
    ': 2 of the 3 organizations that it saw are seen with no valid consent any more.',
  );
});

test('it goes on since its alert began', () => {
  const open = anAlert({ name: 'TramlineReauthorize', labels, startsAtMs: noonMs - minuteMs });
  expect(told([one], openFor(open))).toMatchObject([{ labels, sinceMs: noonMs - minuteMs }]);
});

test('a refused OAuth 1 token tells of the switch-over; an address in an id is not told', () => {
  const [signal] = told([{ ...one, connectionId: 'jo@example.org', message: oauth1Ending }]);
  expect(signal?.annotations.description).toContain(oauth1Ending);
  expect(JSON.stringify(signal)).not.toContain('jo@');
});

test('more than are told one by one are one incident, until none is left', () => {
  expect(told(many(2))).toHaveLength(2);
  const [signal, ...more] = told(many(30));
  expect(more).toEqual([]);
  expect(signal).toMatchObject({
    labels: { scope: 'many' },
    annotations: { description: expect.stringMatching(/ 30 consents \(connections c1, .*c20 and 10 more\)/) },
    covers: { names: ['TramlineReauthorize'], untilMs: noonMs },
  });
  expect(signal?.annotations.description).toContain(
    'What was subscribed with them is renewed only where another connection lists it. What ends it: the user of each',
  );
  expect(signal?.covers?.subjects).toHaveLength(30);
  const open = anAlert({ name: 'TramlineReauthorize', labels: { scope: 'many' } });
  expect(told(many(1), openFor(open))).toMatchObject([{ labels: { scope: 'many' } }]);
  expect(told([], openFor(open))).toEqual([]);
});

test('what is told with the organizations that are blocked for it is not told twice', () => {
  const refused = { cause: 'refused-grant', connectionId: 'c1' } as const;
  expect(told([one], options, [aBlocked(refused)])).toEqual([]);
  expect(told([one], options, [aBlocked({ ...refused, connectionId: 'c2' })])).toHaveLength(1);
  expect(told([one], options, [aBlocked({ connectionId: 'c1' })])).toHaveLength(1);
  expect(told([one], options, [aBlocked({ ...refused, concerns: false })])).toHaveLength(1);
});

describe('as what it saw is handed over and blocked', () => {
  const spare = { ...one, sees: 2 };
  const blocked = aBlocked({ cause: 'refused-grant', connectionId: 'c1', parked: 0, waitsSinceMs: null });

  /** The alerts after each of these states, a minute apart. */
  function alertsThrough(...states: Partial<AlertInputs>[]): Alert[][] {
    let alerts: Alert[] = [];
    return states.map((state, index) => {
      const nowMs = noonMs + index * minuteMs;
      const passed = evaluate(
        { ...noInputs, ...state, conditions: [], nowMs },
        { ...openOf(alerts), groupAbove: 50, runbookBase: 'runbooks', journalMs: 86_400_000, ownNames: [] },
      );
      alerts = converge({ passed, held: [] }, alerts, nowMs, { holdMs: minuteMs });
      return alerts;
    });
  }

  test('one alert goes on from the spare to what is blocked and back, and ends with the refusal', () => {
    const rounds = alertsThrough(
      { refusedConnections: [spare] },
      { refusedConnections: [{ ...spare, alone: 1 }], blocked: [blocked] },
      { refusedConnections: [spare] },
      {},
      {},
    );
    expect(rounds.map(([alert, ...more]) => [alert?.state, alert?.startsAtMs, more.length])).toEqual([
      ...Array(4).fill(['firing', noonMs, 0]),
      ['resolved', noonMs, 0],
    ]);
    expect(
      rounds.map(
        ([alert]) => / blocked since|read through others/.exec(alert!.annotations.description!)?.[0],
      ),
    ).toEqual(['read through others', ' blocked since', ...Array(3).fill('read through others')]);
  });

  test('of two that saw the same the first goes on beside the second, which tells what is blocked', () => {
    const second = { ...spare, connectionId: 'c2' };
    const rounds = alertsThrough(
      { refusedConnections: [spare] },
      {
        refusedConnections: [spare, second].map((refused) => ({ ...refused, alone: 2 })),
        blocked: [{ ...blocked, connectionId: 'c2' }],
      },
    );
    const shown = rounds.map((alerts) => alerts.map(({ labels, state }) => [labels.connection_id, state]));
    expect(shown).toEqual([
      [['c1', 'firing']],
      [
        ['c2', 'firing'],
        ['c1', 'firing'],
      ],
    ]);
  });
});
