/**
 * The store as the process experiences it: calls pass unchanged, trouble that lasts is told, and alerts do not wait for it.
 */
import { Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import { answersInTime, watchStore } from '../../../src/store/watch-store';
import { type HandClock, makeHandClock } from '../../support/hand-clock';

const away = () => Promise.reject(new Problem('store.unavailable', 'the disk is full'));

function stage(verbs: Record<string, (...args: never[]) => Promise<unknown>>) {
  const clock = makeHandClock(1000);
  const { store, trouble } = watchStore(verbs as unknown as Store, clock);
  return { clock, store, trouble };
}

/** As it passes for a process that runs. */
async function pass(clock: HandClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1000) await clock.advance(Math.min(left, 1000));
}

test('calls pass through with their arguments, answers and problems', async () => {
  const { store, trouble } = stage({
    take: async (limit: number) => [limit],
    put: away,
    close: async () => {},
  });
  expect(await store.take(3)).toEqual([3]);
  expect(store.take).toBe(store.take);
  await expect(store.put({} as never)).rejects.toMatchObject({ code: 'store.unavailable' });
  expect((store as unknown as Record<string, unknown>).then).toBeUndefined();
  expect(trouble()).toBeNull();
});

test('a clock that is set back hides no trouble: neither what fails nor what does not answer', async () => {
  for (const put of [away, () => new Promise<void>(() => {})]) {
    const { clock, store, trouble } = stage({ put });
    const asked = store.put({} as never);
    if (put === away) await asked.catch(() => {});
    clock.setBack(3_600_000);
    await pass(clock, 5000);
    expect(trouble()).toMatchObject({ sinceMs: clock.nowMs() - 5000 });
  }
});

test('what fails for five seconds is told, even while reading goes on', async () => {
  const { clock, store, trouble } = stage({ put: away, unsentCount: async () => 0 });
  for (let second = 0; second < 5; second += 1) {
    await store.put({} as never).catch(() => {});
    await store.unsentCount();
    expect(trouble()).toBeNull();
    await clock.advance(1000);
  }
  await store.put({} as never).catch(() => {});
  expect(trouble()).toEqual({ sinceMs: 1000, detail: 'the disk is full' });
});

test('it is over with the first success of the same verb, or when nobody tried for a minute', async () => {
  let full = true;
  const { clock, store, trouble } = stage({ put: () => (full ? away() : Promise.resolve({})), ready: away });
  await store.put({} as never).catch(() => {});
  await store.ready().catch(() => {});
  await clock.advance(59_999);
  expect(trouble()).not.toBeNull();
  full = false;
  await store.put({} as never);
  expect(trouble()).not.toBeNull();
  await clock.advance(1);
  expect(trouble()).toBeNull();
});

test('what failed once and is not tried again is over when the store was ready after it, and what goes on failing is not', async () => {
  let isAway = true;
  const ready = () => (isAway ? away() : Promise.resolve());
  const { clock, store, trouble } = stage({ put: away, sweep: away, ready });
  const ask = async (...verbs: ('put' | 'sweep' | 'ready')[]) => {
    for (const verb of verbs) await store[verb]({} as never).catch(() => {});
  };
  await ask('ready', 'put', 'sweep');
  await pass(clock, 4000);
  await ask('ready');
  await pass(clock, 4000);
  expect(trouble()).toEqual({ sinceMs: 1000, detail: 'the disk is full' });
  isAway = false;
  await ask('ready');
  expect(trouble()).toBeNull();
  // Nobody sweeps again, but deliveries come.
  await ask('put', 'ready');
  expect(trouble()).toEqual({ sinceMs: 1000, detail: 'the disk is full' });
});

test('a lock that is given back before the next probe is no trouble, whatever met it, and one that is kept is', async () => {
  // A process that stands still in a transaction keeps its rows for 4 s; who waits for one gives up after 2.5.
  for (const isKept of [false, true]) {
    const clock = makeHandClock(1000);
    const locked = async () => {
      if (!isKept && clock.nowMs() >= 5000) return;
      await clock.wait(2500);
      if (isKept || clock.nowMs() < 5000) await away();
    };
    const { store, trouble } = watchStore({ ready: locked, sweep: locked } as unknown as Store, clock);
    const swept = store.sweep().catch(() => {});
    const told: unknown[] = [];
    const look = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 500) {
        await clock.advance(500);
        told.push(trouble());
      }
    };
    for (let probe = 0; probe < 3; probe += 1) {
      const ready = store.ready().catch(() => {});
      await look(2500);
      await ready;
      await look(4000);
    }
    await swept;
    expect(told.some((one) => one !== null)).toBe(isKept);
  }
});

test('a full disk is over five seconds after the last that found it full, where the store is ready then, though nobody tries that again', async () => {
  const wordsOf = (detail: string) => () => Promise.reject(new Problem('store.unavailable', detail));
  for (const [detail, told] of [
    ['database or disk is full', null],
    ['another session locks one of the tables', expect.objectContaining({ sinceMs: 1000 })],
  ] as const) {
    const { clock, store, trouble } = stage({ put: wordsOf(detail), ready: async () => {} });
    for (const ms of [6000, 4000]) {
      await store.put({} as never).catch(() => {});
      await pass(clock, ms);
    }
    await store.ready();
    // A log that was moved may take what a probe writes, and not a delivery.
    expect(trouble()).toMatchObject({ sinceMs: 1000, detail });
    await pass(clock, 4000);
    await store.ready();
    expect(trouble()).toEqual(told);
    await store.put({} as never).catch(() => {});
    expect(trouble()).toMatchObject({ sinceMs: 1000, detail });
  }
});

describe('of what verbs failed with', () => {
  const server = (words: string) => problem(words, { code: '28P01' });
  const driver = (words: string) => problem(words, {});
  const problem = (words: string, told: object) =>
    new Problem('store.unavailable', words, Object.assign(new Error(words), told));

  /** Each second the verbs fail with what stands there for them; the words that are told then. */
  async function toldOf(rounds: Record<string, Problem>[]) {
    let now: Record<string, Problem> = {};
    const failing = (verb: string) => () => Promise.reject(now[verb]);
    const verbs = ['put', 'take', 'sweep'] as const;
    const { clock, store, trouble } = stage(Object.fromEntries(verbs.map((verb) => [verb, failing(verb)])));
    const told: (string | undefined)[] = [];
    for (now of rounds) {
      for (const verb of verbs) if (now[verb] !== undefined) await store[verb]({} as never).catch(() => {});
      await clock.advance(1000);
      told.push(trouble()?.detail);
    }
    return told;
  }
  const refused = server('password authentication failed');
  const readOnly = server('cannot execute INSERT in a read-only transaction');
  const full = server('No space left on device');
  const broken = driver('Client has encountered a connection error and is not queryable');
  const times = <Round>(count: number, round: Round) => Array<Round>(count).fill(round);

  test('the server’s words are told before the driver’s, whichever failed first', async () => {
    const told = await toldOf([{ put: broken }, ...times(6, { take: refused, sweep: broken })]);
    expect(told.slice(4)).toEqual(times(3, refused.message));
  });

  test('the driver’s are told where the server says nothing for ten seconds', async () => {
    const told = await toldOf([...times(6, { put: refused }), ...times(11, { put: broken })]);
    expect(told.slice(5)).toEqual([...times(9, refused.message), ...times(3, broken.message)]);
  });

  test('another cause is told a second after it came, also while a verb that met the former is not tried again', async () => {
    const told = await toldOf([...times(6, { sweep: full, put: full }), ...times(3, { put: readOnly })]);
    expect(told.slice(5)).toEqual([full.message, ...times(3, readOnly.message)]);
  });

  test('two causes that take turns are told as one, so that no text is another each time', async () => {
    const turns = [{ put: full }, { put: readOnly, take: readOnly }, { take: full }];
    const told = await toldOf([...turns, ...turns, ...turns, ...turns]);
    expect(new Set(told.slice(6)).size).toBe(1);
  });

  test('who waits for the store hears what it says to others; where nobody does any more, that it does not answer', async () => {
    let isSilent = false;
    const put = () => (isSilent ? new Promise<never>(() => {}) : Promise.reject(full));
    const { clock, store, trouble } = stage({ put, take: () => new Promise<never>(() => {}) });
    void store.take(1);
    for (let second = 0; second < 6; second += 1) {
      await store.put({} as never).catch(() => {});
      await pass(clock, 1000);
    }
    expect(trouble()).toMatchObject({ detail: full.message });
    isSilent = true;
    await pass(clock, 10_000);
    expect(trouble()).toMatchObject({ detail: 'the store does not answer' });
  });
});

test('another problem than the store being away is none of its own', async () => {
  const { clock, store, trouble } = stage({
    put: () => Promise.reject(new Problem('store.refused', 'too strange')),
  });
  await store.put({} as never).catch(() => {});
  await clock.advance(10_000);
  expect(trouble()).toBeNull();
});

test('the time that this process stood still is no time in which the store did not answer', async () => {
  const { clock, store, trouble } = stage({ put: () => new Promise(() => {}) });
  void store.put({} as never);
  await pass(clock, 2000);
  await clock.advance(9000);
  expect(trouble()).toBeNull();
  await pass(clock, 1000);
  expect(trouble()).toBeNull();
  await pass(clock, 1000);
  expect(trouble()).toEqual({ sinceMs: clock.nowMs() - 5000, detail: 'the store does not answer' });
});

test('a question that fails as this process runs again has been asked for no longer than it ran', async () => {
  let lose: (problem: Problem) => void = () => {};
  const { clock, store, trouble } = stage({
    sweep: () =>
      new Promise((_answer, reject) => {
        lose = reject;
      }),
    ready: async () => {},
  });
  const swept = store.sweep();
  await pass(clock, 1000);
  // What lay there is heard before any timer that fell due meanwhile.
  clock.standStill(9000);
  lose(new Problem('store.unavailable', 'the connection was lost'));
  await swept.catch(() => {});
  await clock.advance(1);
  await store.ready();
  expect(trouble()).toBeNull();
  await pass(clock, 5000);
  expect(trouble()).toBeNull();
});

test('a store that does not answer is told as well', async () => {
  let answer: (value: unknown) => void = () => {};
  const { clock, store, trouble } = stage({
    put: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  const put = store.put({} as never);
  await pass(clock, 5000);
  expect(trouble()).toEqual({ sinceMs: 1000, detail: 'the store does not answer' });
  answer({});
  await put;
  expect(trouble()).toBeNull();
});

test('alerts go on without a store that is silent', async () => {
  const clock = makeHandClock(0);
  const silent = () => new Promise<never>(() => {});
  const alerts = answersInTime(
    {
      alertInputs: silent,
      alertMark: silent,
      listAlerts: async () => [],
      saveAlerts: () => Promise.reject(new Error('no')),
      shareConditions: silent,
      holdLease: silent,
    },
    clock,
  );
  expect(await alerts.listAlerts()).toEqual([]);
  await expect(alerts.saveAlerts([])).rejects.toThrow('no');
  const inputs = expect(alerts.alertInputs()).rejects.toMatchObject({ code: 'store.unavailable' });
  await clock.advance(2000);
  await inputs;
});

test('while a question of the alerts is late the next are hardly waited for, until it is answered', async () => {
  const clock = makeHandClock(0);
  let answer = (_mark: string) => {};
  const alerts = answersInTime(
    {
      alertInputs: () => new Promise<never>(() => {}),
      alertMark: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      listAlerts: async () => [],
      saveAlerts: () => clock.wait(1000),
      shareConditions: async () => [],
      holdLease: async () => true,
    },
    clock,
  );
  const refused = { code: 'store.unavailable' };
  const first = expect(alerts.alertMark()).rejects.toMatchObject(refused);
  await clock.advance(2000);
  await first;
  const next = expect(alerts.saveAlerts([])).rejects.toMatchObject(refused);
  await clock.advance(250);
  await next;
  // One that answers soon is heard all the same.
  expect(await alerts.holdLease('alerts', 'a', 1000)).toBe(true);
  answer('mark');
  await clock.advance(1000);
  const saved = alerts.saveAlerts([]);
  await clock.advance(1000);
  await expect(saved).resolves.toBeUndefined();
});
