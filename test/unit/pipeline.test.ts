// Goal: what the path itself joins. Method: a store and a provider that answer what a case needs, and a clock that is moved.
import type { Answer } from '../../src/model/answer';
import { Problem } from '../../src/model/problem';
import type { Postponed, TakenTask } from '../../src/model/task';
import { makePipeline, type PathDoors, type PathSettings, type Pipeline } from '../../src/pipeline';
import { type HandClock, makeHandClock } from '../support/hand-clock';

const origin = 'https://provider.example';
const failed: Answer = {
  kind: 'transient',
  code: 'status-503',
  detail: 'away',
  origin,
  connectionId: 'c1',
  retryAfterMs: null,
};

/** One read at a time, which the provider answers so. */
function makePath(store: object, clock: HandClock, answer: () => Answer): Pipeline {
  const doors = {
    store,
    provider: {
      read: async () => ({ answer: answer(), cost: { calls: 1 } }),
      sees: () => true,
      isConnected: () => true,
      learnedSince: () => null,
    },
    observer: {
      startAttempt: () => ({ traceparent: '', end: () => {} }),
      attempt: () => {},
      trouble: () => {},
    },
    clock,
  } as unknown as PathDoors;
  const ending = { backoff: { baseMs: 1, maxMs: 2 }, retryAgeMs: 86_400_000, settleMs: 0, random: () => 0.5 };
  return makePipeline(doors, { concurrency: 1, ending, leaseMs: 60_000 } as PathSettings);
}

test.each([
  ['ahead of', 3_600_000],
  ['behind', -3_600_000],
])('whose a failure is, is told by one clock where the store’s is %s the worker’s', async (_how, aheadMs) => {
  const clock = makeHandClock(Date.parse('2026-03-01T00:00:00Z'));
  const storeMs = () => clock.nowMs() + aheadMs;
  const taken = (machine: number, failedAtMs: number | null) =>
    ({
      taskId: machine,
      address: `${origin}/equipment/${machine}`,
      organizationId: 'A',
      connectionId: 'c1',
      failedAtMs,
      takenAtMs: storeMs(),
      attempts: 1,
      agedMs: 0,
    }) as TakenTask;
  const postponed: Postponed[] = [];
  let due: TakenTask[] = [];
  let answer: Answer = failed;
  const store = {
    take: async () => due,
    quarantineTask: async () => true,
    postpone: async (task: Postponed) => void postponed.push(task),
  };
  const { work } = makePath(store, clock, () => answer);
  const attempt = async (task: TakenTask, said: Answer) => {
    [due, answer] = [[task], said];
    await work.step();
  };

  const failedAtMs = storeMs();
  await clock.advance(1000);
  await attempt(taken(1, failedAtMs), failed);
  await attempt(taken(2, null), { kind: 'no-access', connectionId: 'c1', message: null });
  await attempt(taken(1, failedAtMs), failed);
  await clock.advance(1000);
  await attempt(taken(1, storeMs()), failed);
  expect(postponed.map(({ own }) => own)).toEqual([false, true, false]);
});

test('what waits since the store took no ending is due once it has taken what another read found', async () => {
  const clock = makeHandClock(0);
  const document = {
    body: Buffer.from('{}'),
    address: `${origin}/equipment/1`,
    mediaType: '',
    connectionId: 'c1',
  };
  let answer = { kind: 'ok', document } as unknown as Answer;
  const state = { away: true, hastened: 0 };
  const store = {
    take: async () => [{ taskId: 1, address: document.address, attempts: 0, takenAtMs: 0 } as TakenTask],
    quarantineTask: async () => {
      if (state.away) throw new Problem('store.unavailable', 'no right');
      return true;
    },
    postpone: async () => {},
    hasten: async () => {
      state.hastened += 1;
      return 1;
    },
  };
  const { work } = makePath(store, clock, () => answer);
  const step = async () => {
    const stepped = work.step();
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    await clock.advance(1000);
    await stepped;
    return state.hastened;
  };

  expect(await step()).toBe(0);
  state.away = false;
  // What the provider fails with says nothing of what was read.
  answer = failed;
  expect(await step()).toBe(0);
  answer = { kind: 'ok', document } as unknown as Answer;
  expect([await step(), await step()]).toEqual([1, 1]);
});
