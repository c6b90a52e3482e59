/**
 * An organization for which more than a page waits is forgotten, while other processes claim its work and accept deliveries of it at
 * the same moment. Who holds its lane keeps a claim, or a delivery, in its middle.
 */
import { Client } from 'pg';
import { isProblem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { address, draftOf, Hand, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

const startMs = Date.UTC(2026);
const many = 1200;

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'an organization that is forgotten in pages', () => {
  let server: PostgresServer;
  let name = '';
  let stores: Store[];
  let hand: Hand;
  let holder: Client;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    name = await server.createDatabase();
    const settings = postgresSettingsFor(server.url(name));
    stores = await Promise.all([0, 1].map(() => openPostgres(settings, () => startMs)));
    const [store] = stores as [Store];
    const close = () => store.close();
    hand = new Hand({ store, advance() {}, nowMs: () => startMs, reopen: async () => store, close });
    await hand.put(Array.from({ length: many }, (_, at) => hintOf(`m${at}`)));
    holder = new Client({ connectionString: server.url(name) });
    await holder.connect();
    await holder.query(`BEGIN; SELECT 1 FROM lanes WHERE id = '4711' FOR UPDATE`);
  });
  afterEach(async () => {
    await holder.end();
    await Promise.all(stores.map((store) => store.close()));
    await server.dropDatabase(name);
  });

  const waiting = (count: number) =>
    until(
      async () => (await server.query('SELECT 1 FROM pg_locks WHERE NOT granted', name)).length >= count,
      { withinMs: 20_000 },
    );

  test('ends with its first page what a claim took that saw it open', async () => {
    const last = many - 1;
    await server.query(`UPDATE tasks SET due_at = due_at - 1 WHERE address = '${address(`m${last}`)}'`, name);
    const taking = stores[0]!.take(1);
    await waiting(1);
    const asked = stores[1]!.forgetOrganization('4711').catch((error: unknown) => error);
    await waiting(2);
    // No page follows the first.
    const closed = stores[1]!.close();
    await holder.query('COMMIT');
    const [taken] = await taking;
    expect(taken).toMatchObject({ address: address(`m${last}`) });
    expect(isProblem(await asked, 'store.closed')).toBe(true);
    await closed;
    stores.pop();
    expect((await stores[0]!.findOrganization('4711'))!.parked).toBeGreaterThan(0);
    const ended = await hand.finish(taken!, draftOf(`m${last}`, 'a'));
    expect(ended).toMatchObject({ outcome: 'refused', reason: 'fenced' });
    expect(await stores[0]!.forgetOrganization('4711')).toMatchObject({ discarded: many });
  });

  test('leaves what is named by a delivery that it waits for', async () => {
    const delivered = hand.put([hintOf('m0'), hintOf(`m${many - 1}`), hintOf('new')]);
    await waiting(1);
    const asked = stores[1]!.forgetOrganization('4711');
    await waiting(2);
    await holder.query('COMMIT');
    await delivered;
    expect(await asked).toMatchObject({ discarded: many - 2 });
    expect(await stores[0]!.findOrganization('4711')).toMatchObject({ parked: 3 });
    expect(await stores[0]!.ledger()).toMatchObject({ accepted: many + 3, discarded: many - 2, parked: 5 });
  });
});
