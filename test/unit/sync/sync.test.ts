// Goal: a run goes on past what fails, concludes nothing from what it could not read, and stops where it must.
// Method: the real embedded store, a provider whose listings are scripted, a clock that stands still.
import type { Answer } from '../../../src/model/answer';
import type { Item, ItemsPage, PartialEnd, SyncDoors } from '../../../src/sync/doors';
import { makeSlots } from '../../../src/sync/slots';
import { makeSync, nextOf } from '../../../src/sync/sync';
import { openSqlite } from '../../contract/open-sqlite';
import { draftOf, Hand, type StoreUnderTest } from '../../contract/store-hand';

let under: StoreUnderTest;
let hand: Hand;
beforeEach(async () => {
  under = await openSqlite();
  hand = new Hand(under);
});
afterEach(() => under.close());

const transient: Answer = {
  ...{ kind: 'transient', code: 'status-503', detail: 'away', origin: 'o', connectionId: 'c1' },
  retryAfterMs: null,
};
const partial = (answer: Answer | null, reason = 'call-failed'): PartialEnd => ({
  ...{ partial: true, reason, detail: 'page 1: it failed', answer },
});
const item = (id: string, operations: string | null = null): Item => ({
  ...{ id, address: `https://p/${id}`, operations, deleted: false, body: { id } },
});
const pageOf = (items: Item[], next: string | null = null): ItemsPage => ({
  ...{ partial: false, items, address: 'https://p', mediaType: 'm', next, changeToken: null },
});

type Script = Record<string, (ItemsPage | PartialEnd)[][]>;

/** Each listing answers its turns one after the other, and the last one again and again. */
function stage(script: Script, more: Partial<SyncDoors> = {}) {
  const asked: string[] = [];
  const refused: string[] = [];
  const faults: unknown[] = [];
  const turns = new Map<string, number>();
  async function* answer(name: string) {
    asked.push(name);
    const turn = turns.get(name) ?? 0;
    turns.set(name, turn + 1);
    const told = script[name] ?? [[pageOf([])]];
    yield* told[Math.min(turn, told.length - 1)]!;
  }
  const links = new Map([['fields', 'fields']]);
  const organization = { id: '4711', name: 'North', unconnected: false, connectUrl: null, links };
  const doors: SyncDoors = {
    store: hand.store,
    provider: {
      async *organizations() {
        yield { partial: false, organizations: [organization] };
      },
      listing: ({ of }) => answer(of.what === 'equipment' ? 'equipment' : of.address),
      organization: async () => organization,
    },
    judge: {
      summaryOf: ({ id }, kind, organizationId) =>
        id === null ? null : { kind, id, organizationId, wireHash: 'a', normalizerVersion: 1 },
      draftOf: ({ id }, { kind }) =>
        id === null ? null : draftOf(id, 'a', { kind, address: `https://p/${id}` }),
      modifiedTimeOf: () => null,
    },
    connections: () => ['c1'],
    unconnected: async () => {},
    learned: async () => {},
    refused: async (connectionId) => void refused.push(connectionId),
    coolDownMs: () => 0,
    forbidden: () => null,
    decided: () => {},
    due: () => {},
    // Waits are over at once, but for the renewal of the lease: nothing here lasts so long.
    clock: { nowMs: under.nowMs, wait: (ms) => (ms > 10_000 ? new Promise(() => {}) : Promise.resolve()) },
    ...more,
  };
  const options = {
    ...{ intervalMs: 0, leaseMs: 60_000, holder: 'h', listingsAtOnce: 2, organizationsAtOnce: 2 },
    ...{ goneShareMax: 0.05, repeatsMax: 2, backoff: { baseMs: 1, maxMs: 2 }, random: () => 0 },
  };
  const sync = makeSync(doors, options, (error) => faults.push(error));
  const run = async (organizationId: string | null = null) => {
    sync.begin({ organizationId, full: false });
    return sync.ended();
  };
  return { run, sync, asked, refused, faults };
}

test('a page that fails for a while is asked for again', async () => {
  const { run, asked } = stage({ equipment: [[partial(transient)], [pageOf([item('1')])]] });
  expect(await run()).toMatchObject({ state: 'ended', published: 1, partial: [] });
  expect(asked.filter((name) => name === 'equipment')).toHaveLength(2);
});

test('a listing that goes on failing is left, and nothing is missed', async () => {
  await stage({ equipment: [[pageOf([item('1'), item('2')])]] }).run();
  const { run } = stage({ equipment: [[partial(transient)]] });
  const view = await run();
  expect(view).toMatchObject({ state: 'ended', partial: [{ scope: '4711/equipment' }] });
  expect(await hand.store.take(10)).toEqual([]);
});

test('what is not listed any more is read', async () => {
  await stage({ equipment: [[pageOf([item('1'), item('2')])]] }).run();
  await stage({ equipment: [[pageOf([item('1')])]] }).run();
  expect((await hand.store.take(10)).map(({ address }) => address)).toEqual(['https://p/2']);
});

test('operations are listed field by field, and a field whose list is gone is looked for again', async () => {
  const { run, asked } = stage({
    fields: [[pageOf([item('f1', 'ops-1'), item('f2', 'ops-2')])], [pageOf([item('f2', 'ops-2')])]],
    'ops-1': [[partial({ kind: 'gone', certain: false, connectionId: 'c1', origin: 'o' })]],
    'ops-2': [[pageOf([item('o2')])]],
  });
  expect(await run()).toMatchObject({ state: 'ended', published: 1, partial: [] });
  expect(asked.filter((name) => name === 'fields')).toHaveLength(2);
});

test('F-15: a list that changes its length while it is read is asked for once more, at once', async () => {
  const changed = [pageOf([item('1')]), partial(null, 'changed-meanwhile')];
  const { run, asked } = stage({ equipment: [changed, [pageOf([item('1'), item('2')])]] });
  expect(await run()).toMatchObject({ state: 'ended', published: 2, partial: [] });
  expect(asked.filter((name) => name === 'equipment')).toHaveLength(2);
});

test('a refusal asks for a probe and ends the organization for this run', async () => {
  await hand.store.learn([{ id: '4711', name: null, connectionId: 'c1' }]);
  const terms: Answer = {
    ...{ kind: 'action-required', cause: 'terms', actionUrl: null, message: null, connectionId: 'c1' },
  };
  const { run } = stage({ equipment: [[partial(terms)]], fields: [[partial(terms)]] });
  expect((await run()).partial).toHaveLength(2);
  expect(await hand.store.takeProbes(5, 1000)).toHaveLength(1);
});

test('a refused token is told, and a provider that does not answer stops the run', async () => {
  const refusedToken: Answer = { kind: 'reauthorize', connectionId: 'c1', message: null };
  const first = stage({ equipment: [[partial(refusedToken)]] });
  await first.run();
  expect(first.refused).toEqual(['c1']);
  const fields = Array.from({ length: 8 }, (_, at) => item(`f${at}`, `ops-${at}`));
  const away = Object.fromEntries(fields.map(({ operations }) => [operations, [[partial(transient)]]]));
  const { run, faults } = stage({ fields: [[pageOf(fields)]], ...away });
  expect(await run()).toMatchObject({ state: 'stopped', reason: 'the provider does not answer' });
  expect(faults).toEqual([]);
  expect(await hand.store.lastRun()).toMatchObject({ ended: false });
});

test('where no more calls are allowed the run stops, and another process is waited for', async () => {
  const { run, asked } = stage({}, { forbidden: () => 'the calls of the sandbox are used' });
  expect(await run()).toMatchObject({ state: 'stopped', reason: 'the calls of the sandbox are used' });
  expect(asked).toEqual([]);
  await hand.store.holdLease('sync', 'another', 60_000);
  expect(await stage({}).run()).toMatchObject({ state: 'stopped', reason: 'another process is at it' });
});

test('an organization that nobody sees is said so, and a second sync for something else is refused', async () => {
  const { sync, run } = stage({});
  expect(await run('99')).toMatchObject({ state: 'ended', reason: expect.stringContaining('99') });
  sync.begin({ organizationId: null, full: false });
  expect(sync.begin({ organizationId: null, full: false }).state).toBe('running');
  expect(() => sync.begin({ organizationId: null, full: true })).toThrow('another sync');
  await sync.ended();
  await sync.stop();
  expect(() => sync.begin({ organizationId: null, full: false })).toThrow('stops');
});

test('what is due next follows from the last run', () => {
  const at = { startedAtMs: 0, intervalMs: 10_000, nowMs: 4000 };
  const last = { organizationId: '1', full: true, beganAtMs: 1000, ended: true };
  expect(nextOf(null, at)).toEqual({ wanted: null, waitMs: 6000 });
  expect(nextOf(last, at)).toEqual({ wanted: null, waitMs: 7000 });
  expect(nextOf(last, { ...at, nowMs: 11_000 })).toMatchObject({
    wanted: { organizationId: null, full: false },
  });
  expect(nextOf({ ...last, ended: false }, at)).toMatchObject({
    wanted: { organizationId: '1', full: true },
  });
  expect(nextOf(last, { ...at, intervalMs: 0 }).wanted).toBeNull();
});

test('no more work runs at once than there are places', async () => {
  const inSlot = makeSlots(2);
  let running = 0;
  let most = 0;
  const work = async () => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
  };
  await Promise.all(Array.from({ length: 9 }, () => inSlot(work)));
  expect(most).toBe(2);
});
