/**
 * A task whose ending could not be written is let go: soon when the store was away, for an operator when the store will
 * never take it.
 */
import { letGo } from '../../../src/inbox/let-go';
import { Problem, type ProblemCode } from '../../../src/model/problem';
import type { TakenTask } from '../../../src/model/task';
import { makeHandClock } from '../../support/hand-clock';

const task = { taskId: 7, fence: 3, generation: 2, revision: 40 } as TakenTask;
const held = { taskId: 7, fence: 3, generation: 2, revision: 40 };

function stage(failures: ProblemCode[] = []) {
  const calls: unknown[] = [];
  const clock = makeHandClock(0);
  const verb = (name: string) => async (given: unknown) => {
    calls.push([name, given]);
    const code = failures.shift();
    if (code !== undefined) throw new Problem(code, 'no');
  };
  const store = {
    postpone: verb('postpone'),
    quarantineTask: verb('quarantineTask'),
  };
  const cut = new AbortController();
  const begin = (error: unknown, backMs = 700, takesAgain = () => false) =>
    letGo(task, error, { leaseMs: 5000, backMs, takesAgain }, { store, clock }, cut.signal);
  return { calls, clock, cut, begin };
}

const away = new Problem('store.unavailable', 'away');

const waits = { ...held, dueInMs: 700, own: false, agedMs: 0, code: 'store-away', detail: 'away' };

test('a store that was away has the task back as soon as it answers, for a try a little later', async () => {
  const { calls, clock, begin } = stage(['store.unavailable', 'store.unavailable']);
  const done = begin(away);
  expect(calls).toEqual([]);
  for (let second = 0; second < 3; second += 1) await clock.advance(1000);
  await done;
  expect(calls).toEqual(Array.from({ length: 3 }, () => ['postpone', waits]));
});

test('a store that takes no endings has the provider asked less and less, at least every half minute', async () => {
  const { calls, clock, begin } = stage();
  const done = begin(away, 90_000);
  await clock.advance(1000);
  await done;
  expect(calls).toEqual([['postpone', { ...waits, dueInMs: 30_000 }]]);
});

test('a store that has taken what another read found since then has the task due at once, but for a fault of ours', async () => {
  const { calls, clock, begin } = stage();
  const done = [begin(away, 90_000, () => true), begin(new TypeError('x of undefined'), 90_000, () => true)];
  await clock.advance(1000);
  await Promise.all(done);
  const fault = { ...waits, dueInMs: 90_000, code: 'fault', detail: 'TypeError' };
  expect(calls).toEqual([
    ['postpone', { ...waits, dueInMs: 0 }],
    ['postpone', fault],
  ]);
});

test('it is tried until the lease is over, and no longer', async () => {
  const { calls, clock, begin } = stage(Array.from({ length: 9 }, () => 'store.unavailable' as const));
  const done = begin(away);
  for (let second = 0; second < 9; second += 1) await clock.advance(1000);
  await done;
  expect(calls).toHaveLength(5);
});

test('what the store refuses waits for an operator', async () => {
  const { calls, clock, begin } = stage();
  const done = begin(new Problem('store.refused', 'too strange'));
  await clock.advance(1000);
  await done;
  expect(calls).toEqual([
    ['quarantineTask', { ...held, reason: 'store-refused', path: '', detail: 'too strange', raw: null }],
  ]);
});

test('a fault of ours is tried again later', async () => {
  const { calls, clock, begin } = stage(['store.refused']);
  const done = begin(new TypeError('x of undefined'));
  await clock.advance(1000);
  await done;
  const failure = { dueInMs: 700, own: false, agedMs: 0, code: 'fault', detail: 'TypeError' };
  expect(calls).toEqual([['postpone', { ...held, ...failure }]]);
});

test('what was thrown need not be an error', async () => {
  const { calls, clock, begin } = stage();
  const done = begin('thrown');
  await clock.advance(1000);
  await done;
  expect(calls).toMatchObject([['postpone', { detail: null }]]);
});

test('a stop, or a store that is closed, ends it at once', async () => {
  const { calls, cut, begin } = stage();
  await begin(new Problem('store.closed', 'closed'));
  const done = begin(away);
  cut.abort();
  await done;
  expect(calls).toEqual([]);
});
