/**
 * A failover to a replica that lacks the last commits, under a process that lives on and remembers what they were: what it
 * does next is not done behind a page that is there no more. The replica is a copy of the database as it was before them.
 */
import type { Store } from '../../../src/model/store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { draftOf, Hand, sentTo } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';

const topic = 'tramline.equipment.v1';
const lease = { name: 'replay', holder: 'me' };

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'what a replica lacks', () => {
  let server: PostgresServer;
  let name: string;
  let store: Store;
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  let replicas = 0;

  const open = () => openPostgres(postgresSettingsFor(server.url(name)), () => nowMs);
  const advance = (ms: number) => {
    nowMs += ms;
  };

  /** Keeps the store as it is; the answer puts that in its place. */
  async function replicate(): Promise<() => Promise<void>> {
    replicas += 1;
    const replica = `replica_${replicas}`;
    await store.close();
    await server.query(`CREATE DATABASE ${replica} TEMPLATE ${name}`);
    store = await open();
    return async () => {
      await store.close();
      name = replica;
      advance(5000);
      store = await open();
    };
  }

  beforeAll(async () => {
    server = await startPostgres();
  });

  afterAll(() => server.stop());

  beforeEach(async () => {
    name = await server.createDatabase();
    store = await open();
  });

  afterEach(() => store.close());

  test('a page of a listing behind one that is lost is refused, and the listing keeps no change token', async () => {
    const organizationId = '4711';
    const { run } = await store.beginRun({ organizationId: null, full: false });
    const wanted = [{ scope: '4711/fields/1', organizationId }];
    const opened = await store.openListings(run, wanted);
    const place = { run, listingId: opened.listings[0]!.id, connectionId: 'c1', from: null, hints: [] };
    const page = (resource: string) => ({ ...place, drafts: [draftOf(resource, 'a')] });
    const { revision } = await store.finishPage({
      ...page('1'),
      revision: opened.revision,
      after: { next: 'page-2' },
    });
    const promote = await replicate();
    await store.finishPage({ ...page('2'), revision, from: 'page-2', after: { next: 'page-3' } });
    await promote();
    const end = { end: true, whole: false, changeToken: { token: 't', asked: 'q' } } as const;
    await expect(
      store.finishPage({ ...page('3'), revision, from: 'page-3', after: end }),
    ).rejects.toMatchObject({ code: 'store.refused' });
    expect((await store.openListings(run, wanted)).listings).toMatchObject([
      { ended: false, nextAddress: 'page-2', changeToken: null },
    ]);
    await store.finishPage({ ...page('2'), revision, from: 'page-2', after: { next: 'page-3' } });
    expect((await store.openListings(run, wanted)).listings).toMatchObject([{ nextAddress: 'page-3' }]);
  });

  test('a step of a replay behind one that is lost is not made', async () => {
    const hand = new Hand({
      store,
      advance,
      nowMs: () => nowMs,
      reopen: async () => store,
      close: async () => {},
    });
    for (const id of ['1', '2', '3']) await hand.publish(id, 'a');
    const rows = await hand.records();
    await store.markSent(rows.map((record) => sentTo(record, 0, String(record.row))));
    const { replay } = await store.beginReplay('x');
    await store.holdLease(lease.name, lease.holder, 60_000);
    const step = (from: number, after: number) => {
      const counts = { selected: after, keys: after, replayed: from };
      return store.resendNewest({ replay, from, after, counts, lease }, [after]);
    };
    expect(await step(0, 1)).toBe(1);
    const promote = await replicate();
    expect(await step(1, 2)).toBe(1);
    await promote();
    expect(await step(2, 3)).toBeNull();
    expect(await step(1, 2)).toBe(1);
  });

  test('a page of a topic behind one that is lost is not noted', async () => {
    const page = (from: number) => {
      const key = `4711/equipment/${from}`;
      const record = {
        key,
        sequence: 5,
        eventId: `e${from}`,
        bytesHash: '',
        deleted: false,
        offset: String(from),
      };
      return { topic, partition: 0, from: String(from), nextOffset: String(from + 1), records: [record] };
    };
    const promote = await replicate();
    await store.noteFound(page(0));
    await promote();
    await expect(store.noteFound(page(1))).rejects.toMatchObject({ code: 'store.unavailable' });
    expect(await store.topicEnds()).toEqual([]);
    await store.noteFound(page(0));
    await store.noteFound(page(1));
    expect(await store.topicEnds()).toMatchObject([{ nextOffset: '2' }]);
  });
});
