// Goal: a run goes on past what fails, concludes nothing from what it could not read, and stops where it must.
// Method: the real embedded store, a provider whose listings are scripted, a clock that stands still.
import type { Answer } from '../../../src/model/answer';
import { Problem } from '../../../src/model/problem';
import type { ListedPage, ListingRequest, SyncEnd, SyncView } from '../../../src/model/sync';
import type { Item, ItemsPage, PartialEnd, SeenOrganization, SyncDoors } from '../../../src/sync/doors';
import { makeSlots } from '../../../src/sync/slots';
import { makeSync, nextOf } from '../../../src/sync/sync';
import { makeUnreadWatch } from '../../../src/sync/watch-unread';
import { openSqlite } from '../../contract/open-sqlite';
import { draftOf, Hand, type StoreUnderTest } from '../../contract/store-hand';
import { makeHandClock } from '../../support/hand-clock';

let under: StoreUnderTest;
let hand: Hand;
beforeEach(async () => {
  under = await openSqlite();
  hand = new Hand(under);
});
afterEach(() => under.close());

const transient: Answer = {
  kind: 'transient',
  code: 'status-503',
  detail: 'away',
  origin: 'o',
  connectionId: 'c1',
  retryAfterMs: null,
};
const leaseMs = 60_000;
const limit = (retryAfterMs: number): Answer => ({
  kind: 'rate-limited',
  retryAfterMs,
  untilMs: under.nowMs() + retryAfterMs,
});
const partial = (answer: Answer | null, reason = 'call-failed'): PartialEnd => ({
  partial: true,
  reason,
  detail: 'page 1: it failed',
  answer,
});
const item = (id: string, operations: string | null = null): Item => ({
  id,
  address: `https://p/${id}`,
  operations,
  deleted: false,
  body: { id },
});
const pageOf = (
  items: Item[],
  next: string | null = null,
  changeToken: string | null = null,
  total: number | null = null,
): ItemsPage => ({
  partial: false,
  items,
  address: 'https://p',
  mediaType: 'm',
  next,
  total,
  changeToken,
});

type OrganizationsPage = { partial: false; organizations: SeenOrganization[] };
type Script = Record<string, (ItemsPage | OrganizationsPage | PartialEnd)[][]>;
const seenAs = (id: string, rels: Record<string, string> = { fields: 'fields' }): SeenOrganization => ({
  id,
  name: 'North',
  unconnected: false,
  connectUrl: null,
  links: new Map(Object.entries(rels)),
  unread: new Map(),
});
const organizations = (...seen: SeenOrganization[]): OrganizationsPage => ({
  partial: false,
  organizations: seen,
});

/** Each listing answers its turns one after the other, and the last one again and again. */
function stage(script: Script, more: Partial<SyncDoors> = {}, units = 'metric') {
  const asked: string[] = [];
  const tokens: (string | null)[] = [];
  const refused: string[] = [];
  const faults: unknown[] = [];
  const ends: SyncEnd[] = [];
  const served: string[] = [];
  const turns = new Map<string, number>();
  async function* answer(...names: string[]) {
    const name = names.find((one) => script[one] !== undefined) ?? names.at(-1)!;
    asked.push(name);
    const turn = turns.get(name) ?? 0;
    turns.set(name, turn + 1);
    const told = script[name] ?? [[name === 'organizations' ? organizations(seenAs('4711')) : pageOf([])]];
    // Each time as new: a page's items are its reader's own.
    for (const page of told[Math.min(turn, told.length - 1)]!)
      yield ('items' in page ? { ...page, items: [...page.items] } : page) as never;
  }
  const doors: SyncDoors = {
    store: hand.store,
    provider: {
      organizations: (connectionId) => answer(`organizations ${connectionId}`, 'organizations'),
      listing({ of, connectionId, changeToken }) {
        if (of.what === 'field-operations') tokens.push(changeToken);
        const name = of.what === 'equipment' ? 'equipment' : of.address;
        return answer(`${connectionId} ${name}`, name);
      },
      organization: async (id) => ({ organization: seenAs(id) }),
    },
    judge: {
      summaryOf: ({ id }, kind, organizationId) =>
        id === null ? null : { kind, id, organizationId, wireHash: 'a', normalizerVersion: 1 },
      draftOf: ({ id }, { kind }) =>
        id === null ? null : draftOf(id, 'a', { kind, address: `https://p/${id}` }),
      modifiedTimeOf: () => null,
    },
    nameEquipment: async (bodies) => bodies.map(() => null),
    connections: () => ['c1'],
    connectionsOf: () => ['c1'],
    organizationsSeen: () => [],
    closedOrganizations: () => [],
    unconnected: async () => {},
    learned: async () => {},
    refused: async (connectionId, _message, sealedToken) =>
      void refused.push(`${sealedToken} of ${connectionId}`),
    clientServed: () => void served.push('served'),
    coolDownMs: () => 0,
    forbidden: () => null,
    decided: () => {},
    ended: (end) => void ends.push(end),
    due: () => {},
    // Waits are over at once, but for the renewal of the lease: nothing here lasts so long.
    clock: {
      nowMs: under.nowMs,
      steadyMs: under.nowMs,
      wait: (ms) => (ms > 10_000 ? new Promise(() => {}) : Promise.resolve()),
    },
    ...more,
  };
  const options = {
    intervalMs: 0,
    leaseMs,
    holder: 'h',
    requestsAtOnce: 1,
    listingsAtOnce: 2,
    organizationsAtOnce: 2,
    goneShareMax: 0.05,
    repeatsMax: 2,
    backoff: { baseMs: 1, maxMs: 2 },
    units,
    random: () => 0,
  };
  const sync = makeSync(doors, options, (error) => faults.push(error));
  const run = async (organizationId: string | null = null) => {
    sync.begin({ organizationId, full: false });
    return sync.ended();
  };
  return { run, sync, doors, options, asked, tokens, refused, served, faults, ends };
}

/** A record of a topic that the store does not know. */
const stranger = {
  key: '4711/equipment/9',
  sequence: 5,
  offset: '1',
  eventId: 'a',
  bytesHash: '',
  deleted: false,
};

test('a page that fails for a while is asked for again', async () => {
  const { run, asked } = stage({ equipment: [[partial(transient)], [pageOf([item('1')])]] });
  expect(await run()).toMatchObject({ state: 'ended', published: 1, partial: [] });
  expect(asked.filter((name) => name === 'equipment')).toHaveLength(2);
});

test('nothing is asked in a pause, by no listing, however long it becomes; the run says until when', async () => {
  const beganMs = under.nowMs();
  let nowMs = beganMs;
  let pausedUntilMs = nowMs;
  const [askedAtMs, saidUntil]: [number[], (string | null)[]] = [[], []];
  const limited = { ...partial(transient), answer: limit(180_000) };
  const many = Array.from({ length: 20 }, (_, place) => item(`f${place}`, `operations of ${place}`));
  const { run, sync, doors } = stage(
    { equipment: [[limited], [pageOf([item('1')])]], fields: [[pageOf(many)]] },
    {
      coolDownMs: () => Math.max(0, pausedUntilMs - nowMs),
      clock: {
        nowMs: () => nowMs,
        steadyMs: () => nowMs,
        async wait(ms) {
          if (ms === leaseMs / 3) return new Promise<void>(() => {});
          saidUntil.push(sync.view().waitsUntil);
          const endMs = nowMs + ms;
          await new Promise(setImmediate);
          // Another process is asked for a longer one.
          pausedUntilMs = beganMs + 780_000;
          nowMs = Math.max(nowMs, endMs);
        },
      },
    },
  );
  const { listing } = doors.provider;
  doors.provider.listing = async function* (request, signal) {
    askedAtMs.push(nowMs);
    if (request.of.what === 'equipment' && askedAtMs.length < 3) pausedUntilMs = nowMs + 180_000;
    yield* listing(request, signal);
  };
  expect(await run()).toMatchObject({ state: 'ended', published: 1, waitsUntil: null, partial: [] });
  const endMs = beganMs + 780_000;
  expect(nowMs).toBe(endMs);
  expect(askedAtMs.filter((at) => at > beganMs && at < endMs)).toEqual([]);
  // What was on its way when the pause began, and the rest after it.
  expect(askedAtMs.filter((at) => at === beganMs).length).toBeLessThanOrEqual(2);
  expect(askedAtMs.filter((at) => at === endMs).length).toBeGreaterThanOrEqual(many.length);
  const saidAt = (ms: number) => new Date(beganMs + ms).toISOString();
  expect(new Set(saidUntil)).toEqual(new Set([saidAt(180_000), saidAt(780_000)]));
});

test('documents are held until their page is judged, and not while it is written', async () => {
  const pages = [pageOf([item('1')], 'https://p?2'), pageOf([item('2')])];
  const { run, doors } = stage({ equipment: [pages] });
  const given: Item[][] = [];
  const { listing } = doors.provider;
  doors.provider.listing = async function* (request, signal) {
    for await (const page of listing(request, signal)) {
      if (!page.partial) given.push(page.items);
      yield page;
    }
  };
  const held: number[] = [];
  const { finishPage } = doors.store;
  const noting: typeof finishPage = (page) => {
    if (page.drafts.length > 0) held.push(given.flat().length);
    return finishPage(page);
  };
  doors.store = Object.create(doors.store, { finishPage: { value: noting } });
  expect(await run()).toMatchObject({ listed: 2, published: 2, partial: [] });
  expect(held).toEqual([0, 0]);
});

describe('how many listings there are', () => {
  const fieldsOf = (from: number, count: number) =>
    Array.from({ length: count }, (_, place) => item(`f${from + place}`, `operations of ${from + place}`));
  const two = {
    organizations: [[organizations(seenAs('4711', { fields: 'a' }), seenAs('4712', { fields: 'b' }))]],
    a: [[pageOf(fieldsOf(1, 2), 'a2', null, 3), pageOf(fieldsOf(3, 1), null, null, 3)]],
    b: [[pageOf(fieldsOf(11, 2), null, null, 2)]],
  };
  /** Each organization with its equipment, its fields, and the operations of each field. */
  const all = 2 * 3 + 3 + 2;

  /** What is shown whenever a listing is asked for. */
  function watched(more: Partial<SyncDoors> = {}, script: Script = two) {
    const staged = stage(script, more);
    const shown: [string, SyncView][] = [];
    const { provider } = staged.doors;
    const { listing } = provider;
    provider.listing = async function* (request, signal) {
      const { of } = request;
      shown.push([of.what === 'equipment' ? 'equipment' : of.address, staged.sync.view()]);
      yield* listing(request, signal);
    };
    const totals = () => shown.map(([, { listings }]) => listings.total);
    return { ...staged, shown, totals };
  }

  test('is not known before each list was met that says so, and then is what it comes to', async () => {
    const { run, shown, totals } = watched({ organizationsSeen: () => ['4711', '4712'] });
    const { listings, organizations: seen } = await run();
    expect(listings).toEqual({ done: all, read: all, known: all, total: all });
    expect(seen).toEqual({ done: 2, known: 2 });
    expect(shown[0]![1].organizations).toEqual({ done: 0, known: 2 });
    // The fields of both were asked for, and say how many they are.
    const told = shown.findLastIndex(([name]) => name === 'a' || name === 'b') + 1;
    expect(totals().slice(0, 3)).toEqual([null, null, null]);
    expect(new Set(totals().slice(told + 2))).toEqual(new Set([all]));
  });

  test('is known from the beginning where a run before it ended', async () => {
    await watched().run();
    const { run, totals } = watched();
    expect((await run()).listings).toEqual({ done: all, read: all, known: all, total: all });
    expect(new Set(totals())).toEqual(new Set([all]));
  });

  test('counts what a former process read as done, and not as read here', async () => {
    const calls = { left: 5 };
    const forbidden = () => {
      calls.left -= 1;
      return calls.left > 0 ? null : 'no calls are left';
    };
    const stopped = await watched({ forbidden }).run();
    expect(stopped).toMatchObject({ state: 'stopped' });
    const { done } = stopped.listings;
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(all);
    const { run, shown } = watched();
    const { listings, resumed } = await run();
    expect(resumed).toBe(true);
    expect(listings).toEqual({ done: all, read: all - done, known: all, total: all });
    expect(shown[0]![1].listings).toMatchObject({ done, read: 0 });
  });

  test('is not counted twice where a list is begun anew, or another user is asked', async () => {
    const gone: Answer = { kind: 'gone', certain: false, connectionId: 'c1', origin: 'o' };
    const refused: Answer = { kind: 'no-access', connectionId: 'c1', message: null };
    const script = {
      'c1 equipment': [[partial(refused)]],
      fields: [[pageOf(fieldsOf(1, 3), null, null, 3)]],
      'operations of 2': [[partial(gone)], [pageOf([])]],
    };
    const both = { connections: () => ['c1', 'c2'], connectionsOf: () => ['c1', 'c2'] };
    const { run, shown } = watched(both, script);
    const view = await run();
    expect(view).toMatchObject({ state: 'ended', partial: [], organizations: { done: 1, known: 1 } });
    expect(view.listings).toEqual({ done: 6, read: 6, known: 6, total: 6 });
    expect(Math.max(...shown.map(([, { listings }]) => listings.known))).toBe(6);
  });

  test('that were not read to their end stay open, and what waits for a customer is none', async () => {
    await hand.store.learn([{ id: '4712', name: null, connectionId: 'c1' }]);
    await hand.observe({ cause: 'not-connected', actionUrl: null, message: null }, '4712');
    const { run } = watched({}, { ...two, equipment: [[partial(transient)]] });
    const view = await run();
    // The equipment and, with it, the organization itself.
    expect(view.listings).toEqual({ done: 4, read: 4, known: 6, total: 6 });
    expect(view.organizations).toEqual({ done: 2, known: 2 });
  });
});

test('a listing that goes on failing is left, and nothing is missed', async () => {
  await stage({ equipment: [[pageOf([item('1'), item('2')])]] }).run();
  const { run } = stage({ equipment: [[partial(transient)]] });
  const view = await run();
  expect(view).toMatchObject({ state: 'ended', partial: [{ scope: '4711/equipment' }] });
  expect(await hand.store.take(10)).toEqual([]);
});

describe('what is told of a run, and kept of the runs', () => {
  const broken: Script = { equipment: [[pageOf([item('1')], 'p2'), partial(null, 'address-refused')]] };
  const customer: Answer = { kind: 'not-connected', actionUrl: null, connectionId: 'c1' };
  const unread = async () => (await hand.store.syncStanding())?.unread;

  test('a listing that is not read to its end is told and counted in runs, until one reads it', async () => {
    const { run, ends } = stage(broken);
    await run();
    const sinceMs = under.nowMs();
    const left = { scope: '4711/equipment', detail: 'page 1: it failed' };
    expect(ends).toMatchObject([{ outcome: 'partial', partial: 1, named: [left], listed: 1, reason: null }]);
    under.advance(5000);
    await run();
    expect(await hand.store.syncStanding()).toEqual({
      run: 2,
      wholeAtMs: null,
      unread: [{ ...left, runs: 2, sinceMs }],
    });
    const whole = stage({ equipment: [[pageOf([item('1')])]] });
    await whole.run();
    expect(whole.ends).toMatchObject([{ outcome: 'whole', partial: 0, named: [] }]);
    expect(await hand.store.syncStanding()).toEqual({ run: 3, wholeAtMs: under.nowMs(), unread: [] });
    const wholeAtMs = under.nowMs();
    under.advance(5000);
    await run();
    expect(await hand.store.syncStanding()).toMatchObject({ wholeAtMs, unread: [{ runs: 1 }] });
  });

  test('a run that did not come to a listing says nothing of it', async () => {
    await stage(broken).run();
    await stage({ organizations: [[partial(null, 'malformed-page')]] }).run();
    expect(await unread()).toMatchObject([
      { scope: '4711/equipment', runs: 1 },
      { scope: 'organizations', runs: 1 },
    ]);
    // Of one organization alone: the others stay as they were, and so does when all were read.
    await stage({}).run('4711');
    expect(await hand.store.syncStanding()).toMatchObject({
      wholeAtMs: null,
      unread: [{ scope: 'organizations', runs: 1 }],
    });
  });

  test('a listing that is read is over though the list of organizations breaks off; one of whom that list ends before is not', async () => {
    const breaksOff = (...ids: string[]) => ({
      organizations: [[organizations(...ids.map((id) => seenAs(id))), partial(null, 'malformed-entry')]],
    });
    await stage({ ...broken, ...breaksOff('4711', '4724') }).run();
    const { run } = stage(breaksOff('4711'));
    await run();
    expect(await unread()).toMatchObject([
      { scope: 'organizations', runs: 2 },
      { scope: '4724/equipment', runs: 1 },
    ]);
  });

  test('what waits for a customer, and what a user is not shown, is no listing that is left unread', async () => {
    const { run, ends } = stage({ equipment: [[partial(customer)]] });
    await run();
    expect(ends).toMatchObject([{ outcome: 'whole', partial: 1 }]);
    expect(await unread()).toEqual([]);
  });

  test('at most five listings are named, and a run that stops is told with its reason', async () => {
    const seen = Array.from({ length: 7 }, (_, place) => seenAs(String(place + 1)));
    const many = stage({ ...broken, organizations: [[organizations(...seen)]] });
    await many.run();
    expect(many.ends[0]).toMatchObject({ partial: 7, named: { length: 5 } });
    const { run, ends } = stage({}, { forbidden: () => 'no calls are left' });
    await run();
    expect(ends).toMatchObject([{ outcome: 'stopped', reason: 'no calls are left' }]);
    expect(await unread()).toHaveLength(7);
  });
});

describe('what the client is refused', () => {
  const missing = partial({ kind: 'client-refused', connectionId: 'c1', message: 'scope eq1 is missing' });
  const failing = partial(null, 'address-refused');
  const noAnswer = partial(transient);
  const readable = pageOf([item('1')]);

  /** A process on the store, what it has taken down of it, and the names of what it tells. */
  function processOf(script: Script, more: Partial<SyncDoors> = {}) {
    const staged = stage(script, more);
    const watch = makeUnreadWatch(hand.store, staged.sync, { nowMs: under.nowMs });
    const told = () => watch.conditions().map(({ name }) => name);
    const look = async () => {
      await watch.look();
      return told();
    };
    /** What it tells before what its first connection sees is listed, and once that is done. */
    const heard: unknown[] = [];
    staged.doors.connections = () => ['c1', 'c2'];
    const { organizations: listed } = staged.doors.provider;
    staged.doors.provider.organizations = async function* (connectionId, signal) {
      heard.push(told());
      yield* listed(connectionId, signal);
    };
    return { ...staged, watch, told, look, heard };
  }
  const equipment = (...pages: (ItemsPage | PartialEnd)[]): Script => ({ equipment: [pages] });

  test('is told before the run ends, and by every process once it has', async () => {
    const other = processOf({});
    const own = processOf({ ...equipment(missing), fields: [[failing]] });
    await own.run();
    expect([own.heard, own.told()]).toEqual([[[], ['client-refused']], ['client-refused']]);
    expect(await other.look()).toEqual(['client-refused']);
    const state = {
      name: 'client-refused',
      sinceMs: under.nowMs(),
      detail: '4711/equipment: scope eq1 is missing',
    };
    expect([other.watch.conditions(), own.watch.conditions()]).toEqual([[state], [state]]);
  });

  test('is over for all when another process has read it, though another list of the organization fails for good', async () => {
    const first = processOf({ ...equipment(missing), fields: [[failing]] });
    const second = processOf({ ...equipment(readable), fields: [[failing]] });
    await first.run();
    expect([await first.look(), await second.look()]).toEqual([['client-refused'], ['client-refused']]);
    await second.run();
    expect([second.told(), second.served]).toEqual([[], ['served']]);
    expect([await first.look(), await second.look()]).toEqual([[], []]);
  });

  test('stands while it is not answered, in later runs and other processes, and over a start', async () => {
    await processOf(equipment(missing)).run();
    const sinceMs = under.nowMs();
    for (const script of [equipment(noAnswer), { organizations: [[failing]] } as Script]) {
      under.advance(1000);
      const next = processOf(script);
      await next.run();
      expect([next.told(), await next.look(), next.served]).toEqual([
        ['client-refused'],
        ['client-refused'],
        [],
      ]);
      expect(next.watch.conditions()).toMatchObject([{ sinceMs, detail: expect.stringContaining('eq1') }]);
    }
  });

  test.each<[string, (ItemsPage | PartialEnd)[]]>([
    ['fails for another reason', [failing]],
    ['waits for its customer', [partial({ kind: 'not-connected', actionUrl: null, connectionId: 'c1' })]],
    ['is answered, and not to its end', [pageOf([item('1')], 'p2'), noAnswer]],
    ['changes while it is read', [readable, partial(null, 'changed-meanwhile')]],
  ])('is over where it %s', async (_how, pages) => {
    await processOf(equipment(missing)).run();
    const { run, told, look } = processOf(equipment(...pages));
    await run();
    expect([told(), await look()]).toEqual([[], []]);
  });

  test.each([
    [
      'the fields are not shared with any user any more',
      { organizations: [[organizations(seenAs('4711', {}))]] },
    ],
    ['nobody is shown the organization any more', { organizations: [[organizations()]] }],
  ])('below the fields is over where %s', async (_how, script: Script) => {
    await hand.store.learn([{ id: '4711', name: null, connectionId: 'c1' }]);
    const fields = { fields: [[pageOf([item('f1', 'operations')])]], operations: [[missing]] };
    const first = processOf(fields);
    await first.run();
    expect(await first.look()).toEqual(['client-refused']);
    const { run, look } = processOf(script, { organizationsSeen: () => ['4711'] });
    expect(await run()).toMatchObject({ state: 'ended', partial: [{}] });
    expect(await look()).toEqual([]);
  });

  test('is over as soon as it is read, in the process that reads it', async () => {
    await processOf(equipment(missing)).run();
    const next = processOf(equipment(readable));
    await next.look();
    await next.run();
    expect(next.heard).toEqual([['client-refused'], []]);
  });

  test('stands where the run in which it was met was stopped, until that has ended, here or elsewhere', async () => {
    const calls = { left: 3 };
    const forbidden = () => (calls.left-- > 0 ? null : 'no calls are left');
    const first = processOf(equipment(missing), { forbidden });
    expect(await first.run()).toMatchObject({ state: 'stopped' });
    expect([first.told(), await first.look()]).toEqual([['client-refused'], ['client-refused']]);
    expect(await first.run()).toMatchObject({ state: 'stopped', resumed: true });
    expect(await first.look()).toEqual(['client-refused']);
    // Another process has it, and has not come so far.
    await hand.store.holdLease('sync', 'another', leaseMs);
    for (const _try of [1, 2]) expect(await first.run()).toMatchObject({ state: 'stopped', run: null });
    expect(await first.look()).toEqual(['client-refused']);
    under.advance(leaseMs);
    await processOf({}).run();
    expect(await first.look()).toEqual([]);
  });

  test('stands with more organizations than are named, and beside more lists that fail otherwise', async () => {
    const many = Array.from({ length: 150 }, (_, place) => seenAs(String(place + 1), {}));
    const listed = { organizations: [[organizations(...many)]] };
    const first = processOf({ ...listed, ...equipment(missing) });
    await first.run();
    expect(await first.look()).toEqual(['client-refused']);
    expect((await hand.store.syncStanding())?.unread).toHaveLength(100);
    expect(first.sync.refused()?.listings.size).toBe(100);
    // The lists of many others fail in another way, and come before the one that is still refused.
    const next = processOf({ ...listed, ...equipment(failing) });
    const failed = next.doors.provider.listing;
    next.doors.provider.listing = async function* (ask, signal) {
      if (ask.of.what === 'equipment' && ask.of.organizationId === '140') yield missing;
      else yield* failed(ask, signal);
    };
    await next.run();
    expect(await first.look()).toEqual(['client-refused']);
    expect((await hand.store.syncStanding())?.unread[0]).toMatchObject({ scope: '140/equipment' });
  });

  test('is over where it is not met any more, beside more lists than are named', async () => {
    const many = Array.from({ length: 150 }, (_, place) => seenAs(String(place + 1), {}));
    const empty = equipment(pageOf([]));
    const first = processOf({ organizations: [[organizations(...many)]], ...empty });
    const answered = first.doors.provider.listing;
    first.doors.provider.listing = async function* (ask, signal) {
      if (ask.of.what === 'equipment' && ask.of.organizationId === '140') yield missing;
      else yield* answered(ask, signal);
    };
    await first.run();
    expect(await first.look()).toEqual(['client-refused']);
    await processOf({ organizations: [[organizations(...many.slice(0, 130))]], ...empty }).run();
    expect(await first.look()).toEqual([]);
  });
});

test('a listing whose later page is never found is begun again a few times, and left', async () => {
  const gone: Answer = { kind: 'gone', certain: false, connectionId: 'c1', origin: 'o' };
  const broken = [pageOf([item('1')], 'p2'), partial(gone)];
  const equipment = [...Array.from({ length: 20 }, () => broken), [pageOf([item('1')])]];
  const { run, asked } = stage({ equipment });
  expect(await run()).toMatchObject({
    state: 'ended',
    trouble: 'failed',
    published: 1,
    partial: [{ scope: '4711/equipment', detail: 'page 1: it failed' }],
  });
  expect(asked.filter((name) => name === 'equipment')).toHaveLength(4);
});

test('a listing of organizations that fails for a while is asked for again', async () => {
  const { run } = stage({
    organizations: [[partial(transient)], [organizations(seenAs('4711'))]],
    equipment: [[pageOf([item('1')])]],
  });
  expect(await run()).toMatchObject({ state: 'ended', published: 1, partial: [], trouble: 'none' });
});

test('a full run without a valid connection does not end that the store is behind', async () => {
  await hand.store.noteFound({ topic: 't', partition: 0, from: null, nextOffset: '2', records: [stranger] });
  under.advance(1000);
  const state = { connections: [] as string[] };
  const { sync } = stage({}, { connections: () => state.connections });
  sync.begin({ organizationId: null, full: true });
  expect(await sync.ended()).toMatchObject({ state: 'ended' });
  expect(await hand.store.behindSince()).not.toBeNull();
  state.connections = ['c1'];
  sync.begin({ organizationId: null, full: true });
  await sync.ended();
  expect(await hand.store.behindSince()).toBeNull();
});

test('a listing of organizations that goes on failing ends no run, nor that the store is behind', async () => {
  await hand.store.noteFound({
    topic: 'tramline.equipment.v1',
    partition: 0,
    from: null,
    nextOffset: '1',
    records: [
      { key: '4711/equipment/1', sequence: 1, eventId: 'e', bytesHash: '', deleted: false, offset: '0' },
    ],
  });
  under.advance(1);
  const { sync, asked } = stage({ organizations: [[partial(transient)]] });
  sync.begin({ organizationId: null, full: true });
  expect(await sync.ended()).toMatchObject({ state: 'stopped', reason: expect.stringContaining('page 1') });
  expect(asked).toHaveLength(3);
  expect(await hand.store.lastRun()).toMatchObject({ ended: false });
  expect(await hand.store.behindSince()).not.toBeNull();
  const { sync: later } = stage({ equipment: [[partial(transient)], [partial(transient)], [pageOf([])]] });
  later.begin({ organizationId: null, full: true });
  expect(await later.ended()).toMatchObject({ state: 'ended', resumed: true });
  expect(await hand.store.behindSince()).toBeNull();
});

test.each([
  ['a later page', [organizations(seenAs('4711'))], 'later'],
  ['the first page', [], 'failed'],
] as const)(
  'a full run where %s of the organizations is gone judged anew all who can be, or not',
  async (_which, before, trouble) => {
    await hand.store.noteFound({
      topic: 't',
      partition: 0,
      from: null,
      nextOffset: '2',
      records: [stranger],
    });
    under.advance(1000);
    const gone: Answer = { kind: 'gone', certain: false, connectionId: 'c1', origin: 'o' };
    const { sync } = stage({ organizations: [[...before, partial(gone)]] });
    sync.begin({ organizationId: null, full: true });
    expect(await sync.ended()).toMatchObject({
      state: 'ended',
      trouble,
      partial: [{ scope: 'organizations' }],
    });
    // Whoever stands behind it was not judged anew.
    expect(await hand.store.behindSince()).toEqual(trouble === 'later' ? expect.anything() : null);
  },
);

test('an organization is listed through the connection that it is kept with, and stays with it', async () => {
  const both = { connections: () => ['c1', 'c2'], connectionsOf: () => ['c2', 'c1'] };
  const { run, asked } = stage({ 'c2 equipment': [[pageOf([item('1')])]] }, both);
  expect(await run()).toMatchObject({ published: 1 });
  expect(asked).toEqual(['organizations', 'organizations', 'c2 equipment', 'fields']);
});

test.each([
  ['reauthorize', { kind: 'reauthorize', connectionId: 'c1', message: null, sealedToken: 's' }],
  ['no-access', { kind: 'no-access', connectionId: 'c1', message: null }],
] as [string, Answer][])(
  'what is refused to one user as %s is listed through another',
  async (_kind, answer) => {
    const both = { connections: () => ['c1', 'c2'], connectionsOf: () => ['c1', 'c2'] };
    const script = { 'c1 equipment': [[partial(answer)]], 'c2 equipment': [[pageOf([item('1')])]] };
    const { run } = stage(script, both);
    expect(await run()).toMatchObject({ state: 'ended', published: 1, partial: [], trouble: 'none' });
  },
);

test('fields that are not shared with this user are not gone, and are looked for through another', async () => {
  const fields = { fields: [[pageOf([item('f1', 'ops-1')])]], 'ops-1': [[pageOf([item('o1')])]] };
  const first = await stage({ ...fields, equipment: [[pageOf([item('1')])]] }).run();
  expect(first).toMatchObject({ published: 2 });
  const hidden = { organizations: [[organizations(seenAs('4711', {}))]] };
  const view = await stage(hidden).run();
  expect(view).toMatchObject({ state: 'ended', trouble: 'none', partial: [{ scope: '4711/fields' }] });
  // The equipment is missed, the operation is not.
  expect((await hand.store.take(10)).map(({ address }) => address)).toEqual(['https://p/1']);
  const both = { connections: () => ['c1', 'c2'], connectionsOf: () => ['c1', 'c2'] };
  const other = { 'organizations c1': hidden.organizations, equipment: [[pageOf([item('1')])]] };
  expect(await stage({ ...fields, ...other }, both).run()).toMatchObject({ listed: 2, partial: [] });
});

test('fields whose link cannot be read are no fields that are not shared, and no operation counts as missing', async () => {
  const fields = { fields: [[pageOf([item('f1', 'ops-1')])]], 'ops-1': [[pageOf([item('o1')])]] };
  const equipment = [[pageOf([item('1')])]];
  await stage({ ...fields, equipment }).run();
  const broken = { ...seenAs('4711', {}), unread: new Map([['fields', 'expected an address, got number']]) };
  const view = await stage({ organizations: [[organizations(broken)]], equipment }).run();
  const detail = 'its organization: expected an address, got number (malformed-entry)';
  expect(view).toMatchObject({ trouble: 'failed', partial: [{ scope: '4711/fields', detail }] });
  expect(await hand.store.take(10)).toEqual([]);
});

test('where every consent was refused, users must consent; a list that nobody could read says nothing', async () => {
  const refused = { connections: () => [], closedOrganizations: () => ['4711'] };
  expect(await stage({}, refused).run()).toMatchObject({
    state: 'ended',
    trouble: 'customer-must-act',
    skipped: [{ id: '4711', access: 'reauthorize' }],
    partial: [
      { scope: 'organizations', detail: 'there is no connection whose consent is valid: tramline connect' },
    ],
  });
  expect(await stage({}, refused).run('4711')).toMatchObject({ reason: null, trouble: 'customer-must-act' });
});

test('an organization that was forgotten is skipped as that, and nobody has to act; one that is not connected is', async () => {
  await hand.store.learn(['4711', '4724'].map((id) => ({ id, name: null, connectionId: 'c1' })));
  await hand.store.forgetOrganization('4711');
  const listed = { organizations: [[organizations(seenAs('4711'))]] };
  const forgotten = { state: 'ended', trouble: 'none', skipped: [{ id: '4711', access: 'forgotten' }] };
  expect(await stage(listed).run()).toMatchObject(forgotten);
  expect(await stage(listed).run('4711')).toMatchObject({ ...forgotten, reason: null });
  await hand.observe({ cause: 'not-connected', actionUrl: null, message: null }, '4724');
  const both = { organizations: [[organizations(seenAs('4711'), seenAs('4724'))]] };
  expect(await stage(both).run()).toMatchObject({
    trouble: 'customer-must-act',
    skipped: [{ access: 'forgotten' }, { id: '4724', access: 'not-connected' }],
  });
});

const ofForgotten = {
  state: 'ended',
  trouble: 'none',
  skipped: [{ id: '4711', access: 'forgotten' }],
  partial: [],
};

test('nothing more of its lists is asked for of an organization that is forgotten while it is listed', async () => {
  const pages = ['1', '2', '3', '4'].map((id) => pageOf([item(id)], `https://p?${id}`));
  const forgetting = { decided: () => void hand.store.forgetOrganization('4711') };
  const { run } = stage(
    { organizations: [[organizations(seenAs('4711', {}))]], equipment: [pages] },
    forgetting,
  );
  expect(await run()).toMatchObject({ ...ofForgotten, pages: 3, published: 1 });
});

test('nor are the operations of its other fields', async () => {
  const fields = [...'0123456789'].map((nth) => item(`f${nth}`, `operations ${nth}`));
  const lists = Object.fromEntries(
    fields.map(({ operations }) => [operations, [[pageOf([item(`${operations}`)])]]]),
  );
  const forgetting = { decided: () => void hand.store.forgetOrganization('4711') };
  const { run, asked } = stage(
    { fields: [[pageOf(fields, 'https://p?2'), pageOf(fields)]], ...lists },
    forgetting,
  );
  expect(await run()).toMatchObject(ofForgotten);
  expect(asked).not.toContain('operations 4');
});

test('a full run in whose listings a known, active organization is missing is partial, and the store behind', async () => {
  await hand.store.learn(['4711', '4724', '4730'].map((id) => ({ id, name: null, connectionId: 'c1' })));
  await hand.observe({ cause: 'not-connected', actionUrl: null, message: null }, '4730');
  await hand.store.noteFound({ topic: 't', partition: 0, from: null, nextOffset: '2', records: [stranger] });
  under.advance(1000);
  const run = async (...listed: string[]) => {
    const page = organizations(...listed.map((id) => seenAs(id)));
    const { sync } = stage(
      { organizations: [[page]] },
      { organizationsSeen: () => ['4711', '4724', '4730'] },
    );
    sync.begin({ organizationId: null, full: true });
    const view = await sync.ended();
    under.advance(1000);
    return { ...view, behind: (await hand.store.behindSince()) !== null };
  };
  const missing = (scope: string) => ({ scope, detail: 'no connection that sees it lists it' });
  expect(await run()).toMatchObject({
    state: 'ended',
    trouble: 'later',
    partial: [missing('4711'), missing('4724')],
    behind: true,
  });
  expect(await run('4724')).toMatchObject({ trouble: 'later', partial: [missing('4711')], behind: true });
  expect(await run('4711', '4724')).toMatchObject({ trouble: 'none', partial: [], behind: false });
});

test('an organization that a user is not shown any more is named by each run, and is no listing that was left unread', async () => {
  await hand.store.learn([{ id: '4724', name: null, connectionId: 'c1' }]);
  const { run, ends } = stage({}, { organizationsSeen: () => ['4711', '4724'] });
  for (const _run of [1, 2, 3]) {
    under.advance(1000);
    expect(await run()).toMatchObject({ trouble: 'later', partial: [{ scope: '4724' }] });
    expect(await hand.store.syncStanding()).toMatchObject({ wholeAtMs: under.nowMs(), unread: [] });
    expect(ends.at(-1)).toMatchObject({ outcome: 'whole', partial: 1, named: [{ scope: '4724' }] });
  }
});

test('what a listing that could not be read to its end does not hold is not called missing', async () => {
  await hand.store.learn([{ id: '4724', name: null, connectionId: 'c1' }]);
  const page = organizations(seenAs('4711'));
  const { run } = stage(
    { organizations: [[page, partial(null, 'malformed-entry')]] },
    { organizationsSeen: () => ['4711', '4724'] },
  );
  expect(await run()).toMatchObject({ trouble: 'failed', partial: [{ scope: 'organizations' }] });
});

test('what is not listed any more is read', async () => {
  await stage({ equipment: [[pageOf([item('1'), item('2')])]] }).run();
  await stage({ equipment: [[pageOf([item('1')])]] }).run();
  expect((await hand.store.take(10)).map(({ address }) => address)).toEqual(['https://p/2']);
});

test('what equipment is not listed any more is read, also where a list of operations cannot be read', async () => {
  const fields = { fields: [[pageOf([item('f1', 'ops-1')])]] };
  const equipment = [[pageOf([item('1'), item('2')])]];
  await stage({ ...fields, equipment, 'ops-1': [[pageOf([item('o1')])]] }).run();
  const refused = { ...fields, 'ops-1': [[partial(null, 'malformed-entry')]] };
  const run = async (listed: Item[]) =>
    (await stage({ ...refused, equipment: [[pageOf(listed)]] }).run()).partial;
  expect(await run([item('1')])).toMatchObject([{ scope: '4711/fields/f1' }]);
  // The operation is not missed.
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

test('a field that stands twice on a page has its operations listed once, by one', async () => {
  const { run, asked } = stage({
    fields: [[pageOf([item('f1', 'ops-1'), item('f1', 'ops-1')])]],
    'ops-1': [[pageOf([item('o1')], 'p2'), pageOf([item('o2')])]],
  });
  expect(await run()).toMatchObject({ state: 'ended', listed: 2, published: 2, partial: [] });
  expect(asked.filter((name) => name === 'ops-1')).toHaveLength(1);
});

test('what else a run reads is cut when it stops, so that whoever goes on with it reads alone', async () => {
  const read: AbortSignal[] = [];
  const script = { equipment: [[pageOf([item('1')])]], fields: [[pageOf([item('f1', 'ops-1')])]] };
  const { doors, options } = stage(script);
  const { provider, store } = doors;
  const listing: SyncDoors['provider']['listing'] = (request, signal) => {
    read.push(signal);
    return provider.listing(request, signal);
  };
  const away = new Problem('store.unavailable', 'the server has ended');
  const broken = Object.assign(Object.create(store), { finishPage: () => Promise.reject(away) });
  const faults: unknown[] = [];
  const parts = { ...doors, store: broken, provider: { ...provider, listing } };
  const sync = makeSync(parts, options, (error) => faults.push(error));
  sync.begin({ organizationId: null, full: false });
  expect(await sync.ended()).toMatchObject({ state: 'stopped' });
  expect(faults).toEqual([away]);
  expect(read.map(({ aborted }) => aborted)).toEqual(read.map(() => true));
});

describe('operations whose list is not found, and fields of which one is not', () => {
  const gone: Answer = { kind: 'gone', certain: false, connectionId: 'c1', origin: 'o' };
  const nowhere = [[partial(gone)]];
  const numbered = (...numbers: number[]) => numbers.map((place) => item(`f${place}`, `ops-${place}`));
  const read = (...numbers: number[]): Script =>
    Object.fromEntries(numbers.map((place) => [`ops-${place}`, [[pageOf([item(`o${place}`)])]]]));

  test('are left and named where their address is still the same, and all others are read', async () => {
    const fields = [[pageOf(numbered(1, 2, 3, 4, 5), 'p2'), pageOf(numbered(6, 7))]];
    const { run, asked } = stage({ fields, 'ops-2': nowhere, ...read(1, 3, 4, 5, 6, 7) });
    expect(await run()).toMatchObject({
      state: 'ended',
      trouble: 'failed',
      published: 6,
      partial: [{ scope: '4711/fields/f2', detail: 'page 1: it failed' }],
    });
    expect(asked.filter((name) => name === 'ops-2')).toHaveLength(2);
    expect(asked.filter((name) => name === 'fields')).toHaveLength(2);
  });

  test('are each named where many are, and no list is left unasked for them', async () => {
    const pages = [pageOf(numbered(1, 2, 3), 'p2'), pageOf(numbered(4, 5, 6), 'p3'), pageOf(numbered(7, 8))];
    const dead = Object.fromEntries([1, 2, 4, 7].map((place) => [`ops-${place}`, nowhere]));
    const view = await stage({ fields: [pages], ...dead, ...read(3, 5, 6, 8) }).run();
    expect(view).toMatchObject({ state: 'ended', trouble: 'failed', published: 4 });
    expect(view.partial.map(({ scope }) => scope).sort()).toEqual(
      [1, 2, 4, 7].map((place) => `4711/fields/f${place}`),
    );
  });

  test('are read where they moved twice, and what was left of the fields before that is not named', async () => {
    const first = [item('f1', 'ops-1'), item('f2', 'old-2')];
    const second = [item('f1', 'ops-1'), item('f2', 'older-2')];
    const { run } = stage({
      fields: [[pageOf(first)], [pageOf(second)], [pageOf(numbered(1, 2))]],
      'ops-1': [[partial(null, 'malformed-page')], [pageOf([item('o1')])]],
      'old-2': nowhere,
      'older-2': nowhere,
      ...read(2),
    });
    expect(await run()).toMatchObject({ trouble: 'none', published: 2, partial: [] });
  });

  test('leave the fields named with the page that was not found', async () => {
    const { run } = stage({ fields: [[pageOf(numbered(1), 'p2'), partial(gone)]], ...read(1) });
    expect(await run()).toMatchObject({
      trouble: 'failed',
      published: 1,
      partial: [{ scope: '4711/fields', detail: 'page 1: it failed' }],
    });
  });
});

test('F-15: a list that changes its length while it is read is asked for once more, at once', async () => {
  const changed = [pageOf([item('1')]), partial(null, 'changed-meanwhile')];
  const { run, asked } = stage({ equipment: [changed, [pageOf([item('1'), item('2')])]] });
  expect(await run()).toMatchObject({ state: 'ended', published: 2, partial: [] });
  expect(asked.filter((name) => name === 'equipment')).toHaveLength(2);
});

test('a list that changes again and again is partial, however long it is, and misses nothing', async () => {
  const many = Array.from({ length: 1001 }, (_, at) => item(`m${at}`));
  await stage({ equipment: [[pageOf([item('gone'), ...many])]] }).run();
  for (const items of [many, many.slice(0, 10)]) {
    const { run, asked } = stage({ equipment: [[pageOf(items), partial(null, 'changed-meanwhile')]] });
    const view = await run();
    expect(view).toMatchObject({ state: 'ended', trouble: 'later', partial: [{ scope: '4711/equipment' }] });
    expect(asked.filter((name) => name === 'equipment')).toHaveLength(2);
    expect(await hand.store.take(10)).toEqual([]);
  }
});

const operationsOf = (...turns: (ItemsPage | PartialEnd)[][]): Script => ({
  fields: [[pageOf([item('f1', 'ops-1')])]],
  'ops-1': turns,
});

test.each(['malformed-entry', 'changed-meanwhile'])(
  'changes whose list is partial at its end (%s) are asked for again by the token from before',
  async (reason) => {
    await stage(operationsOf([pageOf([item('o1')], null, 't1')])).run();
    const changes = stage(operationsOf([pageOf([item('o2')], null, 't2'), partial(null, reason)]));
    expect(await changes.run()).toMatchObject({ published: 1, partial: [{ scope: '4711/fields/f1' }] });
    const next = stage(operationsOf([pageOf([item('o3')], null, 't3')]));
    expect(await next.run()).toMatchObject({ published: 1, partial: [] });
    const last = stage(operationsOf([pageOf([])]));
    await last.run();
    expect([changes.tokens[0], next.tokens, last.tokens]).toEqual(['t1', ['t1'], ['t3']]);
  },
);

test("what was given with the first page is kept: what comes with a later one is that page's", async () => {
  const [first, second] = [pageOf([item('o1')], 'p2', 't1'), pageOf([item('o2')], null, 't2')];
  await stage(operationsOf([first, second])).run();
  const interrupted = stage(operationsOf([first, partial(transient)], [second]));
  await interrupted.run();
  const { run, tokens } = stage(operationsOf([pageOf([])]));
  await run();
  expect([interrupted.tokens[0], tokens]).toEqual(['t1', ['t1']]);
});

describe('what was given for changes and is not taken any more', () => {
  const refusal: Answer = {
    kind: 'refused',
    code: 'status-400',
    detail: 'status 400',
    origin: 'o',
    connectionId: 'c1',
  };
  const gone: Answer = { kind: 'gone', certain: true, connectionId: 'c1', origin: 'o' };
  const tooLarge: Answer = { ...transient, code: 'body-too-large' } as Answer;
  const whole = [pageOf([item('o1'), item('o2')], null, 't2')];

  test.each([
    ['refused', refusal, ''],
    ['gone', gone, ''],
    ['answered with more than can be read', tooLarge, null],
  ] as [string, Answer, string | null][])(
    'is not asked with again where it is %s',
    async (_how, answer, then) => {
      await stage(operationsOf([pageOf([item('o1')], null, 't1')])).run();
      const { run, tokens } = stage(operationsOf([partial(answer)], whole));
      expect(await run()).toMatchObject({ published: 1, partial: [], trouble: 'none' });
      expect(tokens).toEqual(['t1', then]);
    },
  );

  test('is done without where none can be asked for', async () => {
    const { run, tokens } = stage(operationsOf([partial(refusal)], [pageOf([item('o1')])]));
    expect(await run()).toMatchObject({ published: 1, partial: [] });
    expect(tokens).toEqual(['', null]);
  });

  test('says nothing of a list that is refused in any case', async () => {
    const { run, tokens } = stage(operationsOf([partial(refusal)]));
    expect(await run()).toMatchObject({ trouble: 'failed', partial: [{ scope: '4711/fields/f1' }] });
    expect(tokens).toEqual(['', null]);
  });
});

test('an operation that stands nowhere leaves its list partial, with the token from before', async () => {
  await stage(operationsOf([pageOf([item('o1')], null, 't1')])).run();
  const nowhere = { ...item('o2'), address: null };
  const judge = { ...stage({}).doors.judge, draftOf: () => null };
  const { run } = stage(operationsOf([pageOf([nowhere, item('o3')], 'p2', 't2'), pageOf([])]), { judge });
  const detail = 'https://p/: entry o2 cannot be judged, and no link says where it is read (malformed-entry)';
  expect(await run()).toMatchObject({
    left: 2,
    trouble: 'failed',
    partial: [{ scope: '4711/fields/f1', detail }],
  });
  expect((await hand.store.take(9)).map(({ address }) => address)).toEqual(['https://p/o3']);
  const { run: later, tokens } = stage(operationsOf([pageOf([])]));
  await later();
  expect(tokens).toEqual(['t1']);
});

test('a full run reads also what its pages only name in the state that is known', async () => {
  const modifiedTime = '2026-01-02T00:00:00.000Z';
  await hand.publish('1', 'a', { modifiedTime });
  const judge = { summaryOf: () => null, draftOf: () => null, modifiedTimeOf: () => modifiedTime };
  const { run, sync } = stage({ equipment: [[pageOf([item('1')])]] }, { judge });
  expect(await run()).toMatchObject({ left: 1, partial: [] });
  expect(await hand.store.take(9)).toEqual([]);
  sync.begin({ organizationId: null, full: true });
  await sync.ended();
  expect((await hand.take()).resource).toEqual({ kind: 'equipment', id: '1' });
});

test('what was given for changes is for the units that were asked for', async () => {
  const asked = async (units: string) => {
    const { run, tokens } = stage(operationsOf([pageOf([item('o1')], null, `t of ${units}`)]), {}, units);
    await run();
    return tokens;
  };
  expect(await asked('metric')).toEqual(['']);
  expect(await asked('metric')).toEqual(['t of metric']);
  expect(await asked('english')).toEqual(['']);
  expect(await asked('english')).toEqual(['t of english']);
});

test('a first list that is partial at its end gives no token, and is no list that was read', async () => {
  const forbidden = () => (stopped.asked.includes('ops-1') ? 'no more calls' : null);
  const unreadable = partial(null, 'malformed-entry');
  const stopped: ReturnType<typeof stage> = stage(
    operationsOf([pageOf([item('o1')], null, 't1'), unreadable]),
    { forbidden },
  );
  expect(await stopped.run()).toMatchObject({ state: 'stopped' });
  const { run, tokens } = stage(operationsOf([pageOf([item('o1')], null, 't2'), unreadable]));
  expect(await run()).toMatchObject({
    resumed: true,
    trouble: 'failed',
    partial: [{ scope: '4711/fields/f1' }],
  });
  const { run: later, tokens: asked } = stage(operationsOf([pageOf([])]));
  await later();
  expect([tokens, asked]).toEqual([[''], ['']]);
});

test('changes that a stopped run left half read are asked for again by the token from before', async () => {
  await stage(operationsOf([pageOf([item('o1')], null, 't1')])).run();
  const forbidden = () => (stopped.asked.includes('ops-1') ? 'no more calls' : null);
  const stopped: ReturnType<typeof stage> = stage(
    operationsOf([pageOf([item('o2')], '2', 't2'), pageOf([])]),
    {
      forbidden,
    },
  );
  expect(await stopped.run()).toMatchObject({ state: 'stopped' });
  expect(await stage(operationsOf([pageOf([], null, 't2')])).run()).toMatchObject({
    resumed: true,
    partial: [],
  });
  const { run, tokens } = stage(operationsOf([pageOf([])]));
  await run();
  expect(tokens).toEqual(['t1']);
});

test('a listing that a stopped run left says nothing of what it does not hold', async () => {
  await stage({ equipment: [[pageOf([item('1')], '2'), pageOf([item('2')])]] }).run();
  const forbidden = () => (stopped.asked.includes('equipment') ? 'no more calls' : null);
  const stopped: ReturnType<typeof stage> = stage(
    { equipment: [[pageOf([item('2')], '2'), pageOf([])]] },
    { forbidden },
  );
  expect(await stopped.run()).toMatchObject({ state: 'stopped' });
  const { run } = stage({ equipment: [[pageOf([])]] });
  expect(await run()).toMatchObject({ state: 'ended', resumed: true, partial: [] });
  expect(await hand.store.take(10)).toEqual([]);
  await stage({ equipment: [[pageOf([item('2')])]] }).run();
  expect((await hand.store.take(10)).map(({ address }) => address)).toEqual(['https://p/1']);
});

test('a refusal asks for a probe and ends the organization for this run', async () => {
  await hand.store.learn([{ id: '4711', name: null, connectionId: 'c1' }]);
  const terms: Answer = {
    kind: 'action-required',
    cause: 'terms',
    actionUrl: null,
    message: null,
    connectionId: 'c1',
  };
  const { run } = stage({ equipment: [[partial(terms)]], fields: [[partial(terms)]] });
  expect((await run()).partial).toHaveLength(2);
  expect(await hand.store.takeProbes(5, 1000)).toHaveLength(1);
});

test('a refused token is told, and a provider that does not answer stops the run', async () => {
  const refusedToken: Answer = { kind: 'reauthorize', connectionId: 'c1', message: null, sealedToken: 's' };
  const first = stage({ equipment: [[partial(refusedToken)]] });
  await first.run();
  expect(first.refused).toEqual(['s of c1']);
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
  const reason = 'another process is at it: run 1, begun 0 s ago, has read 0 listings to their end';
  expect(await stage({}).run()).toMatchObject({ state: 'stopped', reason });
});

test('while another process is at a run, whoever asks for one hears how far that has come', async () => {
  await stage({ equipment: [[pageOf([item('1')])]] }).run();
  const { run } = await hand.store.beginRun({ organizationId: null, full: true });
  await hand.store.holdLease('sync', 'another', 60_000);
  under.advance(9000);
  const names = [{ scope: '4711/equipment', organizationId: '4711' }];
  const { listings, revision } = await hand.store.openListings(run, names);
  const end = { end: true, whole: true, changeToken: null } as const;
  const nothing = { connectionId: 'c1', from: null, drafts: [], hints: [], after: end };
  await hand.store.finishPage({ run, revision, listingId: listings[0]!.id, ...nothing });
  const { reason } = await stage({}).run();
  expect(reason).toContain(`run ${run}, a full one, begun 9 s ago, has read 1 of about`);
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

test('a run is told of by when it began, also after the next has begun', async () => {
  const { sync, run } = stage({ equipment: [[pageOf([item('1')])], [pageOf([item('1'), item('2')])]] });
  const { startedAt } = await run('4711');
  under.advance(1000);
  const next = sync.begin({ organizationId: null, full: false });
  expect(sync.view(startedAt)).toMatchObject({
    startedAt,
    state: 'ended',
    organizationId: '4711',
    listed: 1,
  });
  expect(sync.view(next.startedAt)).toMatchObject({ state: 'running', organizationId: null });
  expect(sync.view()).toMatchObject({ startedAt: next.startedAt });
  expect(sync.view('1999-01-01T00:00:00.000Z')).toMatchObject({ startedAt: next.startedAt });
  await sync.ended();
});

test('what is due next follows from the last run', () => {
  const at = { sinceMs: 1000, intervalMs: 10_000, nowMs: 4000 };
  const listings = { read: 0, last: null };
  const last = {
    run: 1,
    organizationId: '1',
    full: true,
    agoMs: 3000,
    ended: true,
    listings,
    endedFull: null,
  };
  expect(nextOf(null, at)).toEqual({ wanted: null, waitMs: 7000 });
  expect(nextOf(last, at)).toEqual({ wanted: null, waitMs: 7000 });
  expect(nextOf(last, { ...at, nowMs: 11_000 })).toMatchObject({
    wanted: { organizationId: null, full: false },
  });
  expect(nextOf({ ...last, ended: false }, at)).toMatchObject({
    wanted: { organizationId: '1', full: true },
  });
  expect(nextOf(last, { ...at, intervalMs: 0 }).wanted).toBeNull();
});

test('a clock that is set back holds up no sync for longer than the interval, before a start and after it', async () => {
  const [dayMs, intervalMs] = [86_400_000, 10_000];
  const begun = async () => (await hand.store.lastRun())?.run ?? 0;
  const { doors, options } = stage({});
  const clock = makeHandClock(under.nowMs());
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      under.advance(500);
      await clock.advance(500);
      for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
    }
  };
  const start = () => {
    const sync = makeSync({ ...doors, clock }, { ...options, intervalMs }, () => {});
    sync.start();
    return sync;
  };
  const before = start();
  await pass(intervalMs + 2000);
  expect(await begun()).toBe(1);
  clock.setBack(dayMs);
  under.advance(-dayMs);
  await pass(intervalMs + 2000);
  expect(await begun()).toBe(2);
  await before.stop();
  clock.setBack(dayMs);
  under.advance(-dayMs);
  const after = start();
  await pass(intervalMs + 2000);
  expect(await begun()).toBe(3);
  await after.stop();
});

test('what a process was at that died is gone on with within five seconds of the end of its lease, and not before', async () => {
  const { run: left } = await hand.store.beginRun({ organizationId: null, full: true });
  await hand.store.holdLease('sync', 'another', leaseMs);
  const { doors, options, ends } = stage({});
  const clock = makeHandClock(under.nowMs());
  const sync = makeSync({ ...doors, clock }, options, () => {});
  sync.start();
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      under.advance(500);
      await clock.advance(500);
      for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
    }
  };
  await pass(leaseMs / 2);
  await hand.store.holdLease('sync', 'another', leaseMs);
  await pass(leaseMs - 1000);
  expect([ends, sync.view().state]).toEqual([[], 'stopped']);
  await pass(7000);
  expect([ends, sync.view()]).toMatchObject([[{ run: left }], { state: 'ended', resumed: true }]);
  await sync.stop();
});

test('while a page is written another one is asked for, and one at a time', async () => {
  const operations = ['o1', 'o2', 'o3'];
  const fields = [pageOf(operations.map((address, place) => item(`f${place}`, address)))];
  let asking = 0;
  const told = { asked: 0, asking: 0 };
  let secondAsked = () => {};
  const isSecondAsked = new Promise<void>((resolve) => {
    secondAsked = resolve;
  });
  async function* pages({ of }: ListingRequest) {
    if (of.what === 'fields') return yield* fields;
    asking += 1;
    told.asking = Math.max(told.asking, asking);
    await new Promise(setImmediate);
    asking -= 1;
    if (of.what === 'field-operations') told.asked += 1;
    if (told.asked === 2) secondAsked();
    yield pageOf([]);
  }
  const store: SyncDoors['store'] = Object.assign(Object.create(hand.store), {
    async finishPage(page: ListedPage) {
      if (told.asked > 0) await isSecondAsked;
      return hand.store.finishPage(page);
    },
  });
  const { provider } = stage({}).doors;
  const { run } = stage({}, { store, provider: { ...provider, listing: pages } });
  expect(await run()).toMatchObject({ state: 'ended', partial: [] });
  expect(told).toMatchObject({ asked: 3, asking: 1 });
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
