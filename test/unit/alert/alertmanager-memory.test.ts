// Goal: an end is told to an Alertmanager that can notify of it: one that knows the alert, for long enough.
import { makeAlertmanagerMemory } from '../../../src/alert/alertmanager-memory';
import { anAlert, noonMs } from './samples';

const openMs = 60_000;
const ahead = { firingUntilMs: noonMs + 300_000 };
const ended = { firingUntilMs: null };
const alert = anAlert();
const at = (seconds: number): number => noonMs + seconds * 1000;

/** What the sink took last, since noon unless said. */
const taken = (state: 'firing' | 'resolved', sinceMs = noonMs) => ({
  state,
  sinceMs,
  severity: 'warning' as const,
  atMs: sinceMs,
  failures: 0,
});

function memoryInLife(life: string | null) {
  const memory = makeAlertmanagerMemory(openMs);
  memory.begin(life);
  return memory;
}

test('what it was told long enough ago ends at once', () => {
  const memory = memoryInLife('monday');
  memory.told(alert, ahead, alert.severity, noonMs);
  memory.told(alert, ahead, alert.severity, at(59));
  expect(memory.howToEnd(alert, taken('firing'), at(60))).toEqual(ended);
});

test('what it was told a moment ago ends when it had time to notify', () => {
  const memory = memoryInLife('monday');
  memory.told(alert, ahead, alert.severity, noonMs);
  expect(memory.howToEnd(alert, taken('firing'), at(5))).toEqual({ firingUntilMs: at(60) });
});

test('what this process has not told it is told first, when it may know it from before', () => {
  const memory = memoryInLife('monday');
  expect(memory.howToEnd(alert, taken('firing'), noonMs)).toEqual({ firingUntilMs: at(60) });
  expect(memory.howToEnd(alert, taken('resolved'), noonMs)).toEqual(ended);
});

test('after it was started anew, even an end that it had taken is told again from the beginning', () => {
  const memory = memoryInLife('monday');
  memory.told(alert, ahead, alert.severity, noonMs);
  memory.told(alert, ended, alert.severity, at(60));
  expect(memory.howToEnd(alert, taken('resolved'), at(120))).toEqual(ended);
  memory.begin('tuesday');
  expect(memory.howToEnd(alert, taken('resolved'), at(120))).toEqual({ firingUntilMs: at(180) });
  memory.told(alert, { firingUntilMs: at(180) }, alert.severity, at(120));
  expect(memory.howToEnd(alert, taken('resolved'), at(179))).toEqual({ firingUntilMs: at(180) });
  expect(memory.howToEnd(alert, taken('resolved'), at(180))).toEqual(ended);
});

test('a process that was started anew tells from the beginning what ended before the instance was started', () => {
  const memory = memoryInLife(new Date(noonMs).toISOString());
  const end = (sinceMs: number) => memory.howToEnd(alert, taken('resolved', sinceMs), at(120));
  expect(end(at(-3600))).toEqual({ firingUntilMs: at(180) });
  expect(end(at(10))).toEqual({ firingUntilMs: at(180) });
  expect(end(at(11))).toEqual(ended);
  expect(memory.howToEnd(alert, undefined, at(120))).toEqual(ended);
});

test('one that does not say when it was started is taken for the same', () => {
  const memory = memoryInLife(null);
  memory.told(alert, ahead, alert.severity, noonMs);
  memory.begin(null);
  memory.begin('monday');
  expect(memory.howToEnd(alert, taken('firing'), at(60))).toEqual(ended);
});

test('a second incident has its own time to notify', () => {
  const memory = memoryInLife('monday');
  memory.told(alert, ahead, alert.severity, noonMs);
  memory.told(alert, ended, alert.severity, at(60));
  memory.told(alert, ahead, alert.severity, at(100));
  expect(memory.howToEnd(alert, taken('firing'), at(110))).toEqual({ firingUntilMs: at(160) });
});

test('what was not told for an hour is forgotten, the rest is kept', () => {
  const memory = memoryInLife('monday');
  const other = anAlert({ labels: { organization_id: '2' } });
  memory.told(alert, ahead, alert.severity, noonMs);
  memory.told(other, ahead, other.severity, at(10));
  memory.told(other, ahead, other.severity, at(3600));
  expect(memory.howToEnd(alert, taken('firing'), at(3601))).toEqual({ firingUntilMs: at(3661) });
  expect(memory.howToEnd(other, taken('firing'), at(3601))).toEqual(ended);
});

test('an end that nobody is known to have told opens nothing, also after the instance was started anew', () => {
  const memory = memoryInLife('monday');
  memory.begin('tuesday');
  expect(memory.howToEnd(alert, undefined, noonMs)).toEqual(ended);
});

describe('what goes on as a part of an incident of many', () => {
  const folded = anAlert({
    state: 'resolved',
    resolvedAtMs: at(5),
    annotations: { ...alert.annotations, folded_into: 'TramlineManyOrganizationsBlocked' },
  });

  test('ends at once, before anybody was notified of it', () => {
    const memory = memoryInLife('monday');
    memory.told(alert, ahead, alert.severity, noonMs);
    expect(memory.howToEnd(folded, taken('firing'), at(5))).toEqual(ended);
  });

  test('ends at once also when another process told it', () => {
    const memory = memoryInLife(new Date(at(-3600)).toISOString());
    expect(memory.howToEnd(folded, taken('firing'), at(5))).toEqual(ended);
  });

  test('is told from the beginning to an instance that was started anew, and ends when it had time to notify', () => {
    const memory = memoryInLife(new Date(noonMs).toISOString());
    const until = { firingUntilMs: at(65) };
    expect(memory.howToEnd(folded, taken('firing', at(-3600)), at(5))).toEqual(until);
    memory.told(folded, until, folded.severity, at(5));
    expect(memory.howToEnd(folded, taken('firing', at(-3600)), at(30))).toEqual(until);
    memory.told(folded, until, folded.severity, at(30));
    expect(memory.howToEnd(folded, taken('firing', at(-3600)), at(64))).toEqual(until);
    expect(memory.howToEnd(folded, taken('firing', at(-3600)), at(65))).toEqual(ended);
  });
});
