// Goal: a consent that is refused before any organization was seen with it is one alert of its own, whatever else fires.
import { openOf } from '../../../src/alert/evaluate';
import { unseenSignals } from '../../../src/alert/evaluate-unseen';
import { oauth1Ending } from '../../../src/model/connection';
import { anAlert, minuteMs, noonMs } from './samples';

const labels = { connection_id: 'c1' };
const one = { connectionId: 'c1', message: 'The token abc is unknown.' };
const options = { groupAbove: 2, startsAtMs: new Map<string, number>(), nowMs: noonMs };
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ connectionId: `c${index + 1}`, message: null }));
const openFor = (...alerts: ReturnType<typeof anAlert>[]) => ({ ...options, ...openOf(alerts) });

test('it is told with the connection, what ends it and what to do, and without the provider’s words', () => {
  const [signal, ...more] = unseenSignals([one], options);
  expect(more).toEqual([]);
  expect(signal).toEqual({
    name: 'TramlineReauthorize',
    severity: 'warning',
    labels,
    annotations: {
      summary: 'A consent was refused by the provider: it expired or was revoked.',
      description:
        'The provider refuses the consent of connection c1, seen so since 2026-03-01T12:00:00Z: no organization was seen ' +
        'with it yet. What ends it: the user of the connection gives consent anew, or it is removed by `tramline ' +
        'connections revoke ID`. A refusal by mistake ends by itself: it is shown to the provider again at each start, ' +
        'and at last once a day.',
      owner: 'customer-success',
      first_step:
        'Find c1 in `tramline connections list`; then send its user the link of `tramline connect --user NAME`.',
      until_when: 'nothing waits yet',
    },
    sinceMs: noonMs,
  });
});

test('it goes on since its alert began', () => {
  const open = anAlert({ name: 'TramlineReauthorize', labels, startsAtMs: noonMs - minuteMs });
  expect(unseenSignals([one], openFor(open))).toMatchObject([{ labels, sinceMs: noonMs - minuteMs }]);
});

test('a refused OAuth 1 token tells of the switch-over; an address in an id is not told', () => {
  const [signal] = unseenSignals([{ connectionId: 'jo@example.org', message: oauth1Ending }], options);
  expect(signal?.annotations.description).toContain(oauth1Ending);
  expect(JSON.stringify(signal)).not.toContain('jo@');
});

test('more than are told one by one are one incident, until none is left', () => {
  expect(unseenSignals(many(2), options)).toHaveLength(2);
  const [signal, ...more] = unseenSignals(many(30), options);
  expect(more).toEqual([]);
  expect(signal).toMatchObject({
    labels: { scope: 'many' },
    annotations: { description: expect.stringMatching(/ 30 consents \(connections c1, .*c20 and 10 more\)/) },
    covers: { names: ['TramlineReauthorize'], untilMs: noonMs },
  });
  expect(signal?.covers?.subjects).toHaveLength(30);
  const open = anAlert({ name: 'TramlineReauthorize', labels: { scope: 'many' } });
  expect(unseenSignals(many(1), openFor(open))).toMatchObject([{ labels: { scope: 'many' } }]);
  expect(unseenSignals([], openFor(open))).toEqual([]);
});
