// Goal: new signals wait a moment for their like, and then go together; what fires already never waits.
import { makeGather } from '../../../src/alert/gather';
import { anAlert, aSignal, noonMs } from './samples';

/** Which pass. */
function makePassing(gatherMs: number) {
  const gather = makeGather(gatherMs);
  return (...words: Parameters<typeof gather>) => gather(...words).passed;
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
  const gather = makeGather(1000);
  expect(gather([signal('1'), signal('2')], [alert('1')], noonMs)).toEqual({
    passed: [signal('1')],
    held: [signal('2')],
  });
  expect(gather([signal('1'), signal('2')], [alert('1')], noonMs + 1000).held).toEqual([]);
  expect(gather([signal('1')], [alert('1')], noonMs + 1001)).toEqual({ passed: [signal('1')], held: [] });
});
