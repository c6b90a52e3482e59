// Goal: that a connection is not shown organizations any more is told until it is known anew, whichever process found it.
// And that a store which answers nothing is paged for soon.
// Method: two processes with connection books of their own on one store; one finds it and is gone, the other listed before.
import { makeAlerting } from '../../../src/alert/alerting';
import { makeConnectionBook, type SightPage } from '../../../src/connect/connection-book';
import type { Condition } from '../../../src/model/alert';
import { Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import { answersInTime, watchStore } from '../../../src/store/watch-store';
import { makeSealer, Secret } from '../../../src/tools/secret';
import { conditionsOf, isSettledBy } from '../../../src/wire/conditions';
import { makeHandClock } from '../../support/hand-clock';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { alertingOptions as options } from '../alert/samples';

const token = {
  connection: 'c1',
  user: 'u1',
  auth: 'oauth1' as const,
  token: new Secret('token'),
  secret: new Secret('secret'),
  refresh: null,
  expiresAt: null,
};

function stage() {
  const clock = makeHandClock(Date.UTC(2026, 2, 1, 12));
  const alerts = makeMemoryAlerts();
  const rows = new Map<string, { connectionId: string; organizations: string[] }>();
  let listed: string[] | null = ['4711', '4712'];
  const connections = {
    async importConnections(given: { connectionId: string; organizations: string[] }[]) {
      for (const one of given) if (!rows.has(one.connectionId)) rows.set(one.connectionId, one);
    },
    listConnections: async () => [...rows.values()],
    connectionsMark: async () => '1',
    epochs: async () => new Map(),
    async learn(seen: { id: string; connectionId: string }[]) {
      for (const { id, connectionId } of seen) {
        const { organizations } = rows.get(connectionId)!;
        if (!organizations.includes(id)) organizations.push(id);
      }
    },
  };
  const process = async (holder: string) => {
    let wanted = 0;
    const book = makeConnectionBook({
      store: connections as never,
      sealer: makeSealer([{ id: 'k1', key: Buffer.alloc(32, 1) }]),
      async *list(): AsyncGenerator<SightPage> {
        if (listed === null) return yield { partial: true, answer: null, reason: 'not-shared', detail: '' };
        const organizations = listed.map((id) => ({
          id,
          name: id,
          unconnected: false,
          connectUrl: null,
          manageUrl: null,
        }));
        yield { partial: false, organizations };
      },
      unconnected: async () => {},
      refused: async () => {},
      keepSights: async () => {},
      wanted: () => {
        wanted += 1;
      },
      clock,
    });
    await book.importTokens([token]);
    await book.learn();
    const alerting = makeAlerting({
      store: alerts,
      holder,
      sinks: [],
      clock,
      conditions: book.conditions,
      isSettled: isSettledBy({ others: [book] }, book),
      options,
    });
    return { book, alerting, wanted: () => wanted };
  };
  const pass = async (minutes: number, { alerting }: { alerting: { step(): Promise<unknown> } }) => {
    for (let second = 0; second < minutes * 60; second += 5) {
      await clock.advance(5000);
      await alerting.step();
    }
  };
  const share = (conditions: Condition[]) => alerts.shareConditions('finder', conditions, 20_000);
  const states = () =>
    alerts.rows().map(({ name, state, quietSinceMs }) => [name, state, quietSinceMs !== null]);
  const list = (...ids: string[]) => {
    listed = ids;
  };
  const refuseLists = () => {
    listed = null;
  };
  return { alerts, process, pass, share, states, list, refuseLists };
}

const open = [['TramlineOrganizationsUnlisted', 'firing', false]];

test('what a process found that died stands until the next one has listed anew, which is asked for', async () => {
  const { alerts, process, pass, share, states, list } = stage();
  const leader = await process('leader');
  await pass(1, leader);
  await leader.book.learn();
  list('4711');
  const finder = await process('finder');
  await share(finder.book.conditions());
  await pass(1, leader);
  expect([states(), leader.wanted()]).toEqual([open, 0]);
  alerts.forget('finder');
  await pass(20, leader);
  expect(states()).toEqual(open);
  expect(leader.wanted()).toBeGreaterThan(0);
  // It finds the same, and tells it until it is shown the organization again.
  await leader.book.learn();
  await pass(20, leader);
  expect(states()).toEqual(open);
  list('4711', '4712');
  await leader.book.learn();
  await pass(1, leader);
  expect(states()).toEqual([['TramlineOrganizationsUnlisted', 'resolved', false]]);
});

test('where the next listing shows it again, it is over then', async () => {
  const { alerts, process, pass, share, states, list } = stage();
  const leader = await process('leader');
  list('4711');
  const finder = await process('finder');
  await share(finder.book.conditions());
  await pass(1, leader);
  alerts.forget('finder');
  list('4711', '4712');
  await pass(20, leader);
  expect(states()).toEqual(open);
  await leader.book.learn();
  await pass(1, leader);
  expect(states()).toEqual([['TramlineOrganizationsUnlisted', 'resolved', false]]);
});

test('a process that takes the lead with a listing of its own goes on with what the former leader found', async () => {
  const { alerts, process, pass, states, list } = stage();
  const next = await process('next');
  list('4711');
  const former = await process('former');
  await pass(1, former);
  expect(states()).toEqual(open);
  await alerts.holdLease('alerts', 'former', 0);
  alerts.forget('former');
  await pass(20, next);
  expect(states()).toEqual(open);
});

test('while lists are refused one is asked for, and no other until the next ones are due anyway', async () => {
  const { alerts, process, pass, share, states, list, refuseLists } = stage();
  const leader = await process('leader');
  list('4711');
  const finder = await process('finder');
  await share(finder.book.conditions());
  await pass(1, leader);
  alerts.forget('finder');
  refuseLists();
  await pass(1, leader);
  expect(leader.wanted()).toBeGreaterThan(0);
  await leader.book.learn();
  const asked = leader.wanted();
  await pass(60, leader);
  expect([states(), leader.wanted()]).toEqual([open, asked]);
  list('4711', '4712');
  await leader.book.learn();
  await pass(1, leader);
  expect(states()).toEqual([['TramlineOrganizationsUnlisted', 'resolved', false]]);
});

test('a leader that tells it itself asks for no list, and takes what the next one shows', async () => {
  const { alerts, process, pass, share, states, list } = stage();
  const [next, former] = [await process('next'), await process('former')];
  list('4711');
  for (const { book } of [next, former]) await book.learn();
  const [found] = former.book.conditions();
  await share([{ ...found!, labels: { connection_id: 'c2' } }]);
  await pass(1, former);
  expect(states()).toEqual([...open, ...open]);
  await alerts.holdLease('alerts', 'former', 0);
  for (const holder of ['former', 'finder']) alerts.forget(holder);
  await pass(20, next);
  expect([states(), next.wanted()]).toEqual([[...open, ...open], 0]);
  await next.book.learn();
  await pass(1, next);
  expect(states().map(([, state]) => state)).toEqual(['firing', 'resolved']);
});

test('a store that answers nothing is paged seven seconds later, although each of its questions waits', async () => {
  const clock = makeHandClock(Date.UTC(2026, 2, 1, 12));
  const kept = makeMemoryAlerts();
  let hangs = false;
  /** Each verb gives up by itself after three seconds, as the client of a server does. */
  const hanging = new Proxy(kept, {
    get:
      (target, verb: keyof typeof kept) =>
      async (...args: never[]) => {
        if (!hangs) return (target[verb] as (...of: never[]) => unknown)(...args);
        await clock.wait(3000);
        throw new Problem('store.unavailable', 'timeout expired');
      },
  });
  const store = watchStore(hanging as unknown as Store, clock);
  const health = { troubles: () => [] } as never;
  const pagedAtMs: number[] = [];
  const alerting = makeAlerting({
    store: answersInTime(store.store, clock),
    holder: 'a',
    sinks: [
      {
        name: 'pagerduty',
        repeats: false,
        keeps: true,
        async post(alerts) {
          if (alerts.some(({ state }) => state === 'firing')) pagedAtMs.push(clock.steadyMs());
          return { taken: alerts.map(({ fingerprint }) => fingerprint), failed: [] };
        },
      },
    ],
    clock,
    conditions: conditionsOf({ store, health, others: [] }, clock),
    options: { ...options, gatherMs: 1000 },
  });
  const stopped = new AbortController();
  const stepping = (async () => {
    while (!stopped.signal.aborted) {
      await alerting.step();
      await clock.wait(250, stopped.signal);
    }
  })();
  const pass = async (seconds: number) => {
    for (let tick = 0; tick < seconds * 20; tick += 1) await clock.advance(50);
  };
  await pass(10);
  hangs = true;
  const beganMs = clock.steadyMs();
  await pass(40);
  expect(pagedAtMs.map((ms) => ms - beganMs <= 7000)).toEqual([true]);
  hangs = false;
  stopped.abort();
  await pass(10);
  await stepping;
});
