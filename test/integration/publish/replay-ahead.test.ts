/**
 * What a replay has sent again while pages are in hand goes out before what is newer of its key. The store has one connection, so that
 * what is asked of it is done in that order: a mark, a replay, the end of a read, and then the pick that was made before the mark was
 * answered.
 */
import type { Store } from '../../../src/model/store';
import { makeRelay } from '../../../src/publish/relay';
import { relayDefaults } from '../../../src/publish/relay-options';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { address, draftOf, Hand, hintOf } from '../../contract/store-hand';
import { makeHandClock } from '../../support/hand-clock';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { makeScriptedTarget } from '../../support/scripted-target';

const dozenFrom = (first: number) => Array.from({ length: 12 }, (_, at) => String(first + at));

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
