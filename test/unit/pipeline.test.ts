// Goal: what the path itself joins. Method: a store and a provider that answer what a case needs, and a clock that is moved.
import type { Answer } from '../../src/model/answer';
import type { Postponed, TakenTask } from '../../src/model/task';
import { makePipeline, type PathDoors, type PathSettings } from '../../src/pipeline';
import { makeHandClock } from '../support/hand-clock';

const origin = 'https://provider.example';
const failed: Answer = {
  kind: 'transient',
  code: 'status-503',
  detail: 'away',
  origin,
  connectionId: 'c1',
  retryAfterMs: null,
};

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
  const doors = {
    store,
    provider: {
      read: async () => ({ answer, cost: { calls: 1 } }),
      sees: () => true,
      isConnected: () => true,
      learnedSince: () => null,
    },
    observer: { startAttempt: () => ({ traceparent: '', end: () => {} }), attempt: () => {} },
    clock,
  } as unknown as PathDoors;
  const ending = { backoff: { baseMs: 1, maxMs: 2 }, retryAgeMs: 86_400_000, random: () => 0.5 };
  const { work } = makePipeline(doors, { concurrency: 1, ending } as PathSettings);
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
