// What a replay has sent again while pages are in hand goes out before what is newer of its key.
import { Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import type { Batch } from '../../../src/publish/target';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { openSqlite } from '../../contract/open-sqlite';
import { address, draftOf, Hand, hintOf } from '../../contract/store-hand';
import { makeHandClock } from '../../support/hand-clock';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { makeScriptedTarget } from '../../support/scripted-target';

const dozenFrom = (first: number) => Array.from({ length: 12 }, (_, at) => String(first + at));

/** The topic was made anew: its offsets begin again. */
function makeAnew() {
  const log: { key: string; sequence: number }[] = [];
  const write = (batches: Batch[]) => ({
    outcomes: batches.map(({ rows }) => {
      const firstOffset = String(log.length);
      log.push(...rows);
      return { sent: true as const, firstOffset };
    }),
    spent: false,
  });
  return {
    write,
    sequencesOf: (of: string) => log.flatMap(({ key, sequence }) => (key === of ? sequence : [])),
  };
}

test('after a topic was made anew, a page of a replay whose mark is lost does not go out behind the page after it', async () => {
  const under = await openSqlite();
  const hand = new Hand(under);
  const clock = makeHandClock(1_000_000);
  const target = makeScriptedTarget();
  const state = { away: false };
  const markSent: Store['markSent'] = async (...told) => {
    if (!state.away) return under.store.markSent(...told);
    state.away = false;
    throw new Problem('store.unavailable', 'the store is away');
  };
  const outbox = Object.assign(Object.create(under.store) as Store, { markSent });
  const relay = makeRelay(outbox, target, { ...relayDefaults, clock, holder: 'me' });
  for (const id of dozenFrom(1)) await hand.publish(id, 'a');
  const records = await hand.records();
  while ((await relay.step()) !== 'empty');
  const { replay, counts } = await under.store.beginReplay('x');
  const rows = records.map(({ row }) => row);
  expect(await under.store.resendNewest({ replay, from: 0, after: 99, counts }, rows)).toBe(12);
  const anew = makeAnew();
  const writes = async (batches: Batch[]) => anew.write(batches);
  target.script = [
    async (batches) => {
      await hand.publish('1', 'b');
      for (const id of dozenFrom(13)) await hand.publish(id, 'a');
      await clock.advance(10);
      state.away = true;
      return anew.write(batches);
    },
    ...Array.from({ length: 4 }, () => writes),
  ];
  await expect(relay.step()).rejects.toThrow('the store is away');
  while ((await relay.step()) !== 'empty');
  expect(anew.sequencesOf(records[0]!.key)).toEqual([1, 2]);
  await relay.close();
  await under.close();
});

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a replay while pages are in hand', () => {
  let server: PostgresServer;
  let store: Store;
  let hand: Hand;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    let nowMs = Date.UTC(2026);
    const advance = (ms: number) => {
      nowMs += ms;
    };
    const url = server.url(await server.createDatabase());
    store = await openPostgres({ ...postgresSettingsFor(url), connections: 1 }, () => nowMs);
    const close = () => store.close();
    hand = new Hand({ store, advance, nowMs: () => nowMs, reopen: async () => store, close });
  });
  afterEach(() => store.close());

  // With one connection what is asked of the store is done in that order: a mark, a replay, the end of a read, and then the pick
  // that was begun before the mark was answered.
  test('the last record of a key is its newest', async () => {
    const clock = makeHandClock(1_000_000);
    const target = makeScriptedTarget();
    const relay = makeRelay(store, target, { ...relayDefaults, clock, holder: 'me' });
    for (const id of dozenFrom(1)) await hand.publish(id, 'a');
    const [first] = await hand.records();
    const { replay, counts } = await store.beginReplay('x');
    await hand.put([hintOf('1')]);
    const task = await hand.takeAt(address('1'));
    target.script = [
      async (batches) => {
        for (const id of dozenFrom(13)) await hand.publish(id, 'a');
        await clock.advance(10);
        return { outcomes: target.write(batches), spent: false };
      },
      async (batches) => {
        // The first page is being marked.
        const resent = store.resendNewest({ replay, from: 0, after: 9, counts }, [first!.row]);
        const finished = hand.finish(task, draftOf('1', 'b'));
        await new Promise(setImmediate);
        await clock.advance(10);
        expect(await resent).toBe(1);
        expect(await finished).toMatchObject({ outcome: 'published' });
        return { outcomes: target.write(batches), spent: false };
      },
    ];
    while ((await relay.step()) !== 'empty');
    const sent = target.written.filter(({ key }) => key === first!.key).map(({ sequence }) => sequence);
    expect(sent).toEqual([1, 1, 2]);
    await relay.close();
  });
});
