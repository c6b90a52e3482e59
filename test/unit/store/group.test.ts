/**
 * The store as its callers see it: calls leave together, in order, and wait for nobody else's answer.
 */
import { emptyLedger } from '../../../src/model/ledger';
import { Problem } from '../../../src/model/problem';
import { type Executor, groupedStore, type Result } from '../../../src/store/group';
import type { Call } from '../../../src/store/sqlite/engine';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** An executor whose answers are given by the test, in the order of asking. */
function asked() {
  const groups: { calls: Call[]; answer(results: Result[]): void; lose(error: Error): void }[] = [];
  const execute: Executor = (calls) =>
    new Promise((answer, lose) => void groups.push({ calls, answer, lose }));
  return { groups, execute };
}

test('calls of one turn leave together and in order', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const both = Promise.all([store.unsentCount(), store.holdLease('a', 'b', 1)]);
  await turn();
  expect(groups.map(({ calls }) => calls)).toEqual([
    [
      { verb: 'unsentCount', args: [] },
      { verb: 'holdLease', args: ['a', 'b', 1] },
    ],
  ]);
  groups[0]!.answer([{ value: 3 }, { value: true }]);
  expect(await both).toEqual([3, true]);
});

test('a call does not wait for the answer to an earlier one', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const first = store.unsentCount();
  await turn();
  const second = store.unsentCount();
  await turn();
  expect(groups).toHaveLength(2);
  groups[0]!.answer([{ value: 1 }]);
  groups[1]!.answer([{ value: 2 }]);
  expect(await Promise.all([first, second])).toEqual([1, 2]);
});

test('many calls of one turn leave before it ends, those that follow at its end', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const all = Array.from({ length: 27 }, () => store.unsentCount());
  expect(groups.map(({ calls }) => calls.length)).toEqual([25]);
  await turn();
  expect(groups.map(({ calls }) => calls.length)).toEqual([25, 2]);
  for (const { calls, answer } of groups) answer(calls.map(() => ({ value: 1 })));
  expect(await Promise.all(all)).toEqual(all.map(() => 1));
});

test('as many as fill a group leave whatever is away, and fewer wait for the next answer', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const sizes = () => groups.map(({ calls }) => calls.length);
  const full = Array.from({ length: 16 }, () => 25);
  const all = Array.from({ length: 16 * 25 - 1 }, () => store.unsentCount());
  await turn();
  expect(sizes()).toEqual([...full.slice(1), 24]);
  all.push(store.unsentCount());
  await turn();
  expect(sizes()).toEqual([...full.slice(1), 24]);
  all.push(...Array.from({ length: 24 }, () => store.unsentCount()));
  expect(sizes()).toEqual([...full.slice(1), 24, 25]);
  all.push(store.unsentCount());
  await turn();
  for (const { calls, answer } of groups.slice(0, 2)) answer(calls.map(() => ({ value: 1 })));
  // The answers are heard in one turn, and the rest leaves at the end of the next.
  await turn();
  await turn();
  expect(sizes()).toEqual([...full.slice(1), 24, 25, 1]);
  for (const { calls, answer } of groups.slice(2)) answer(calls.map(() => ({ value: 1 })));
  expect(await Promise.all(all)).toHaveLength(16 * 25 + 25);
});

test('what is left of a turn that sent as many messages as may be away waits for an answer, and who closes for it', async () => {
  const { groups, execute } = asked();
  let closed = false;
  const store = groupedStore(execute, async () => {
    closed = true;
  });
  const all = Array.from({ length: 16 * 25 + 1 }, () => store.unsentCount());
  const closing = store.close();
  await turn();
  expect(groups).toHaveLength(16);
  for (let at = 0; at < 17; at += 1) {
    expect(closed).toBe(false);
    groups[at]!.answer(groups[at]!.calls.map(() => ({ value: 1 })));
    await turn();
    await turn();
  }
  expect([groups.length, groups[16]!.calls.length]).toEqual([17, 1]);
  expect(await Promise.all(all)).toHaveLength(16 * 25 + 1);
  await closing;
  expect(closed).toBe(true);
});

test('a store whose calls have left before the end of their turn can be closed', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const all = Array.from({ length: 25 }, () => store.unsentCount());
  groups[0]!.answer(all.map(() => ({ value: 1 })));
  await Promise.all(all);
  await store.close();
  await expect(store.unsentCount()).rejects.toMatchObject({ code: 'store.closed' });
});

test('each call has its own problem', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const calls = [store.unsentCount(), store.unsentCount(), store.unsentCount()];
  const settled = Promise.allSettled(calls);
  await turn();
  groups[0]!.answer([{ value: 1 }, { code: 'store.refused', message: 'no' }]);
  expect(await settled).toEqual([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: new Problem('store.refused', 'no') },
    { status: 'rejected', reason: new Problem('store.unavailable', 'the store gave no answer') },
  ]);
});

test('an executor that is lost fails the calls under way and nothing else', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const lost = store.unsentCount();
  await turn();
  groups[0]!.lose(new Error('the thread ended'));
  await expect(lost).rejects.toMatchObject({ code: 'store.unavailable', message: 'the thread ended' });
  const next = store.unsentCount();
  await turn();
  groups[1]!.answer([{ value: 0 }]);
  expect(await next).toBe(0);
});

test('closing waits for what is under way, and then refuses', async () => {
  const { groups, execute } = asked();
  let closed = false;
  const store = groupedStore(execute, async () => {
    closed = true;
  });
  const last = store.unsentCount();
  const closing = store.close();
  await expect(store.unsentCount()).rejects.toMatchObject({ code: 'store.closed' });
  await turn();
  await turn();
  expect(closed).toBe(false);
  groups[0]!.answer([{ value: 5 }]);
  expect(await last).toBe(5);
  await closing;
  expect(closed).toBe(true);
});

test('a store that is idle is closed once its executor is', async () => {
  const { execute } = asked();
  let closed = false;
  await groupedStore(execute, async () => {
    await turn();
    closed = true;
  }).close();
  expect(closed).toBe(true);
});

test('closing waits for what has not left yet when the last answer comes', async () => {
  const { groups, execute } = asked();
  let closed = false;
  const store = groupedStore(execute, async () => {
    closed = true;
  });
  const first = store.unsentCount();
  await turn();
  const last = store.unsentCount();
  const closing = store.close();
  groups[0]!.answer([{ value: 1 }]);
  expect([await first, closed]).toEqual([1, false]);
  await turn();
  expect(closed).toBe(false);
  groups[1]!.answer([{ value: 2 }]);
  expect(await last).toBe(2);
  await closing;
});

test('what is hastened is asked for page by page, and others have their turn between two', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const asks = () => groups.map(({ calls }) => calls.map(({ verb }) => verb).join());
  const hastened = store.hastenRefused(7);
  await turn();
  const first = { by: 'refusal', beganMs: 1, count: 500, fromMs: 2 };
  groups[0]!.answer([{ value: first }]);
  const counted = store.unsentCount();
  await turn();
  expect(asks()).toEqual(['hastenRefused', 'unsentCount,hastenOn']);
  expect(groups[0]!.calls[0]!.args).toEqual([7]);
  expect(groups[1]!.calls[1]!.args).toEqual([first]);
  groups[1]!.answer([{ value: 3 }, { value: { ...first, count: 20, fromMs: null } }]);
  expect(await Promise.all([hastened, counted])).toEqual([520, 3]);
  expect(groups).toHaveLength(2);
});

test('a store that is closed between two pages of what is hastened leaves the rest', async () => {
  const { groups, execute } = asked();
  const store = groupedStore(execute, async () => {});
  const hastened = store.hasten();
  await turn();
  const closing = store.close();
  groups[0]!.answer([{ value: { by: 'outage', beganMs: 1, count: 500, fromMs: 2 } }]);
  await closing;
  expect(await hastened).toBe(500);
  expect(groups).toHaveLength(1);
});

test('what a call set aside is told with its answer, each with its reason', async () => {
  const { groups, execute } = asked();
  const reasons: string[] = [];
  const store = groupedStore(
    execute,
    async () => {},
    (reason) => void reasons.push(reason),
  );
  const both = Promise.all([store.unsentCount(), store.unsentCount()]);
  await turn();
  groups[0]!.answer([{ value: 1, setAside: ['unauthenticated', 'record-too-large'] }, { value: 2 }]);
  expect([await both, reasons]).toEqual([
    [1, 2],
    ['unauthenticated', 'record-too-large'],
  ]);
});

describe('the ledger', () => {
  const ofDeliveries = { lines: { accepted: 3, acted: 1 }, untilDelivery: 50, after: 40 };
  const ofTasks = { lines: { published: 2 }, folded: 0, after: 7 };
  const last = { lines: { waiting: 2 }, folded: 1, after: null };

  /** Each page is answered at once; the last one of tasks by what the test says of each telling. */
  function telling(lastOf: (time: number) => object) {
    const calls: unknown[][] = [];
    let times = 0;
    const answerOf = ({ verb, args: [after] }: Call) => {
      if (verb === 'ledgerOfDeliveries')
        return after === 0
          ? ofDeliveries
          : { ...ofDeliveries, lines: { accepted: 1, acted: 0 }, after: null };
      if (after === 0) return ofTasks;
      times += 1;
      return lastOf(times);
    };
    const store = groupedStore(
      async (asked) => {
        calls.push(...asked.map(({ verb, args }) => [verb, ...args]));
        return asked.map((call) => ({ value: answerOf(call) }));
      },
      async () => {},
    );
    return { store, calls, told: () => times };
  }

  test('is told page by page, all up to the same delivery', async () => {
    const { store, calls } = telling(() => last);
    expect(await store.ledger()).toEqual({
      ...emptyLedger(),
      ...{ accepted: 5, acted: 1, published: 2, waiting: 2 },
    });
    expect(calls).toEqual([
      ['ledgerOfDeliveries', 0, null],
      ['ledgerOfDeliveries', 40, 50],
      ['ledgerPage', 0, 2000, 50],
      ['ledgerPage', 7, 2000, 50],
    ]);
  });

  test('is told again where it does not add up, four times at most', async () => {
    const [mended, lost] = [
      telling((time) => (time < 3 ? { ...last, lines: {} } : last)),
      telling(() => ({ ...last, lines: { waiting: 1 } })),
    ];
    expect([(await mended.store.ledger()).waiting, mended.told()]).toEqual([2, 3]);
    expect([(await lost.store.ledger()).waiting, lost.told()]).toEqual([1, 4]);
  });
});
