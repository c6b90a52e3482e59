/**
 * The loop: as much in flight as allowed, asleep when nothing is due, and everything given back on a stop.
 */
import { makeRun, type WorkSource } from '../../../src/inbox/run';
import type { Clock } from '../../../src/tools/clock';

/** A clock whose waits end when the test says so, or when their signal aborts. */
function handClock() {
  const waits: { ms: number; end: () => void }[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    steadyMs: () => 0,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const end = () => resolve();
        if (signal?.aborted) return end();
        signal?.addEventListener('abort', end, { once: true });
        waits.push({ ms, end });
      }),
  };
  return { clock, waits };
}

function source(work: string[], extra: Partial<WorkSource<string>> = {}) {
  const released: string[] = [];
  const failures: unknown[] = [];
  const begun: string[] = [];
  const given: WorkSource<string> = {
    take: async (limit) => work.splice(0, limit),
    attempt: async (item) => void begun.push(item),
    limit: (wanted) => wanted,
    nextDueInMs: async () => null,
    release: async (items) => void released.push(...items),
    failed: (error) => void failures.push(error),
    ...extra,
  };
  return { given, released, failures, begun };
}

const settle = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('a step does one round and waits for it', async () => {
  const { given, begun } = source(['a', 'b', 'c']);
  const run = makeRun(given, 2, handClock().clock);
  expect(await run.step()).toBe('worked');
  expect(begun).toEqual(['a', 'b']);
  expect(await run.step()).toBe('worked');
  expect(await run.step()).toBe('empty');
});

test('a step takes nothing while the provider asked for a pause', async () => {
  const { given, begun } = source(['a'], { limit: () => 0 });
  expect(await makeRun(given, 2, handClock().clock).step()).toBe('empty');
  expect(begun).toEqual([]);
});

test('never more than the concurrency is in flight, and what ends makes room', async () => {
  const ends: (() => void)[] = [];
  const attempt = () => new Promise<void>((resolve) => void ends.push(resolve));
  const { given } = source(['a', 'b', 'c'], { attempt });
  const { clock } = handClock();
  const run = makeRun(given, 2, clock);
  run.start();
  run.start();
  await settle();
  expect(ends).toHaveLength(2);
  ends[0]!();
  await settle();
  expect(ends).toHaveLength(3);
  for (const end of ends) end();
  await run.stop(1000);
});

test('asleep, it waits until the next is due, and a wake ends the sleep', async () => {
  const work: string[] = [];
  const { given, begun } = source(work, { nextDueInMs: async () => 700 });
  const { clock, waits } = handClock();
  const run = makeRun(given, 2, clock);
  run.start();
  await settle();
  expect(waits.at(-1)!.ms).toBe(700);
  work.push('a');
  run.wake();
  await settle();
  expect(begun).toEqual(['a']);
  const stopped = run.stop(1000);
  await stopped;
});

test('with nothing to wait for, the store is asked every second', async () => {
  const { given } = source([]);
  const { clock, waits } = handClock();
  const run = makeRun(given, 1, clock);
  run.start();
  await settle();
  expect(waits.at(-1)!.ms).toBe(1000);
  await run.stop(1000);
});

test.each([
  ['what is due in an hour, since others may make something due', 3_600_000, 2],
  ['what is due now, while nothing may be taken', 0, 0],
])('the store is asked every second beside %s', async (_what, dueInMs, limit) => {
  const { given } = source([], { nextDueInMs: async () => dueInMs, limit: () => limit });
  const { clock, waits } = handClock();
  const run = makeRun(given, 2, clock);
  run.start();
  await settle();
  expect(waits.map(({ ms }) => ms)).toEqual([1000]);
  await run.stop(1000);
});

test('what falls due while the store is asked for the next is not slept over', async () => {
  const work: string[] = [];
  const asked = Promise.withResolvers<number | null>();
  const { given, begun } = source(work, { nextDueInMs: () => asked.promise });
  const run = makeRun(given, 2, handClock().clock);
  run.start();
  await settle();
  work.push('a');
  run.wake();
  asked.resolve(null);
  await settle();
  expect(begun).toEqual(['a']);
  await run.stop(1000);
});

test('a store that is away is told, and tried again after a pause', async () => {
  let away = true;
  const { given, failures, begun } = source([], {
    take: async () => {
      if (away) throw new Error('away');
      return begun.length === 0 ? ['a'] : [];
    },
  });
  const { clock, waits } = handClock();
  const run = makeRun(given, 1, clock);
  run.start();
  await settle();
  expect(failures).toHaveLength(1);
  away = false;
  waits.at(-1)!.end();
  await settle();
  expect(begun).toEqual(['a']);
  await run.stop(1000);
});

test('a stop waits for what is in flight, then cuts it off and gives it back', async () => {
  let cut = false;
  const { given, released } = source(['slow'], {
    attempt: (_item, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          cut = true;
          resolve();
        });
      }),
  });
  const { clock, waits } = handClock();
  const run = makeRun(given, 1, clock);
  run.start();
  await settle();
  const stopped = run.stop(5000);
  await settle();
  expect(cut).toBe(false);
  waits.find((wait) => wait.ms === 5000)!.end();
  await settle();
  for (const wait of waits) wait.end();
  await stopped;
  expect(cut).toBe(true);
  expect(released).toEqual(['slow']);
});

test('what is taken while a stop begins is given back untouched', async () => {
  let give: (items: string[]) => void = () => {};
  const { given, released, begun } = source([], {
    take: () =>
      new Promise((resolve) => {
        give = resolve;
      }),
  });
  const { clock, waits } = handClock();
  const run = makeRun(given, 1, clock);
  run.start();
  await settle();
  const stopped = run.stop(10);
  give(['late']);
  await settle();
  for (const wait of waits) wait.end();
  await stopped;
  expect(released).toEqual(['late']);
  expect(begun).toEqual([]);
});

test('a stop waits for the take under way and for its release, but not for ever', async () => {
  const taken = Promise.withResolvers<string[]>();
  const { given, released } = source([], { take: () => taken.promise });
  const { clock, waits } = handClock();
  const run = makeRun(given, 1, clock);
  run.start();
  await settle();
  let isOver = false;
  const stopped = run.stop(10).then(() => {
    isOver = true;
  });
  await settle();
  expect(isOver).toBe(false);
  for (const wait of waits) wait.end();
  await stopped;
  const again = run.stop(10);
  taken.resolve(['late']);
  await again;
  expect(released).toEqual(['late']);
});

test('a release that fails on a stop is told', async () => {
  const { given, failures } = source(['slow'], {
    attempt: (_item, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    release: async () => {
      throw new Error('away');
    },
  });
  const { clock, waits } = handClock();
  const run = makeRun(given, 1, clock);
  run.start();
  await settle();
  const stopped = run.stop(5);
  await settle();
  for (const wait of waits) wait.end();
  await stopped;
  expect(failures).toEqual([new Error('away')]);
});

/** Work whose far side is left, and whose ending is written, when the test says so. */
function attempts() {
  const under = new Map<string, { leave(): void; end(): void }>();
  const attempt: WorkSource<string>['attempt'] = (item, _signal, leave) =>
    new Promise((end) => void under.set(item, { leave, end }));
  return { under, attempt };
}

test('what has left the far side makes room before its ending is written', async () => {
  const { under, attempt } = attempts();
  const { given } = source(['a', 'b'], { attempt });
  const run = makeRun(given, 1, handClock().clock);
  run.start();
  await settle();
  expect([...under.keys()]).toEqual(['a']);
  under.get('a')!.leave();
  await settle();
  expect([...under.keys()]).toEqual(['a', 'b']);
  for (const { end } of under.values()) end();
  await run.stop(1000);
});

test('leaving twice makes room once', async () => {
  const { under, attempt } = attempts();
  const { given } = source(['a', 'b', 'c', 'd', 'e'], { attempt });
  const run = makeRun(given, 2, handClock().clock);
  run.start();
  await settle();
  under.get('a')!.leave();
  under.get('a')!.leave();
  await settle();
  expect([...under.keys()]).toEqual(['a', 'b', 'c']);
  under.get('a')!.end();
  await settle();
  expect([...under.keys()]).toEqual(['a', 'b', 'c']);
  const stopped = run.stop(1000);
  for (const { end } of under.values()) end();
  await stopped;
});

test('endings that are not written bound what is taken', async () => {
  const { under, attempt } = attempts();
  const { given } = source(['a', 'b', 'c', 'd', 'e', 'f'], { attempt });
  const run = makeRun(given, 1, handClock().clock);
  run.start();
  for (let turn = 0; turn < 6; turn += 1) {
    await settle();
    for (const { leave } of under.values()) leave();
  }
  expect([...under.keys()]).toEqual(['a', 'b']);
  for (const { end } of under.values()) end();
  await settle();
  for (const { end } of under.values()) end();
  await run.stop(1000);
});

test('as much is taken ahead as left while the last take was answered, and begins in its order', async () => {
  const { under, attempt } = attempts();
  const takes: number[] = [];
  let answer: () => void = () => {};
  const work = ['a', 'b', 'c', 'd', 'e', 'f'];
  const { given, released } = source(work, {
    attempt,
    take: (limit) => {
      takes.push(limit);
      return new Promise((resolve) => {
        answer = () => resolve(work.splice(0, limit));
      });
    },
  });
  const run = makeRun(given, 2, handClock().clock);
  run.start();
  await settle();
  answer();
  await settle();
  for (const item of ['a', 'b']) under.get(item)!.end();
  await settle();
  answer();
  await settle();
  expect(takes.slice(0, 2)).toEqual([2, 4]);
  expect([...under.keys()]).toEqual(['a', 'b', 'c', 'd']);
  under.get('c')!.leave();
  await settle();
  expect([...under.keys()]).toEqual(['a', 'b', 'c', 'd', 'e']);
  const stopped = run.stop(0);
  answer();
  for (const { end } of under.values()) end();
  await stopped;
  expect([...under.keys()]).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(released).toContain('f');
});

test('what was taken ahead is given back when the far side asks for a pause', async () => {
  const { under, attempt } = attempts();
  let paused = false;
  let answer: () => void = () => {};
  const work = ['a', 'b', 'c'];
  const { given, released } = source(work, {
    attempt,
    limit: (wanted) => (paused ? 0 : wanted),
    take: (limit) =>
      new Promise((resolve) => {
        answer = () => resolve(work.splice(0, limit));
      }),
  });
  const { clock, waits } = handClock();
  const run = makeRun(given, 1, clock);
  run.start();
  await settle();
  answer();
  await settle();
  under.get('a')!.end();
  await settle();
  answer();
  await settle();
  expect([...under.keys()]).toEqual(['a', 'b']);
  paused = true;
  under.get('b')!.leave();
  await settle();
  expect(released).toEqual(['c']);
  expect([...under.keys()]).toEqual(['a', 'b']);
  paused = false;
  for (const { end } of under.values()) end();
  await settle();
  answer();
  await settle();
  expect([[...under.keys()], released]).toEqual([['a', 'b'], ['c']]);
  const stopped = run.stop(0);
  await settle();
  for (const wait of waits) wait.end();
  await stopped;
});
