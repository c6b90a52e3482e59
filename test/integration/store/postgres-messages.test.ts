/**
 * How often a verb waits for the server's answer: while a storm keeps both processors busy, each time costs a turn of the main
 * thread and one of the server. Seen where messages leave: what is made in one turn is one.
 */
import { Client } from 'pg';
import type { EquipmentNames } from '../../../src/model/equipment-names';
import type { Store } from '../../../src/model/store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { address, deliveryOf, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'messages to the server', () => {
  let server: PostgresServer;
  let url = '';
  let store: Store;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    // By the server's own clock, as a service has it.
    url = server.url(await server.createDatabase());
    store = await openPostgres(postgresSettingsFor(url));
    // The first claim looks at all.
    await store.take(1);
  });
  afterEach(() => store.close());

  const put = (id: string, organization: string) =>
    store.put(deliveryOf(Date.now(), [hintOf(id, organization)]));

  /** How many messages leave until it has its answer. */
  async function messagesOf(act: () => Promise<unknown>): Promise<number> {
    const query = jest.spyOn(Client.prototype, 'query');
    await act();
    // What a connection is asked for as it is made, and what others are told, is no part of it.
    const { length } = query.mock.calls.filter(([asked]) => 'statements' in Object(asked));
    query.mockRestore();
    return length;
  }

  test('a claim waits three times, also where it leaves a lane with nothing due', async () => {
    await put('1', 'quiet');
    expect(await messagesOf(() => store.take(4))).toBe(3);
  });

  test('a claim beside an organization that has more waits once more, for what the other leaves to it', async () => {
    for (let id = 0; id < 10; id += 1) await put(`${id}`, 'storm');
    await put('quiet', 'quiet');
    let taken = 0;
    const claim = async () => {
      taken = (await store.take(4)).length;
    };
    expect(await messagesOf(claim)).toBe(4);
    expect(taken).toBe(4);
  });

  test('a claim that finds nothing waits twice', async () => {
    expect(await messagesOf(() => store.take(4))).toBe(2);
  });

  test('a claim that locks lanes of what a dead process left as well waits for the others before', async () => {
    const hasty = await openPostgres({ ...postgresSettingsFor(url), leaseMs: 1 });
    await hasty.take(1);
    await put('left', 'dead');
    expect(await hasty.take(1)).toHaveLength(1);
    await put('1', 'quiet');
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`UPDATE lanes SET turn = 99 WHERE id = 'dead'`);
    let taken: string[] = [];
    const claim = async () => {
      taken = (await hasty.take(1)).map(({ address }) => address);
    };
    expect(await messagesOf(claim)).toBe(4);
    expect(taken).toEqual([address('1')]);
    const { rows } = await client.query(`SELECT id FROM lanes WHERE next_due_at IS NOT NULL`);
    expect(rows).toEqual([{ id: 'dead' }]);
    await client.end();
    await hasty.close();
  });

  test('a claim that looks at all asks for the clock first: once a minute, and after that was set back', async () => {
    const name = await server.createDatabase();
    // The server's clock, as the search path leads to it.
    await server.query(
      `CREATE SCHEMA moved; CREATE TABLE moved.clock AS SELECT 0 AS ahead_s;
       CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql
         AS 'SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT ahead_s FROM moved.clock))'`,
      name,
    );
    const ahead = (seconds: number) => server.query(`UPDATE moved.clock SET ahead_s = ${seconds}`, name);
    const options = encodeURIComponent('-c search_path=public,moved,pg_catalog');
    const there = `${server.url(name)}?options=${options}`;
    const clocked = await openPostgres({ ...postgresSettingsFor(there), leaseMs: 120_000 });
    await clocked.take(4);
    const claim = () => messagesOf(() => clocked.take(4));
    expect(await claim()).toBe(2);
    await ahead(70);
    // What it had known until then was the time of its last transaction.
    expect([await claim(), await claim(), await claim()]).toEqual([2, 3, 2]);
    await clocked.put(deliveryOf(Date.now(), [hintOf('1', 'quiet')]));
    expect(await clocked.take(4)).toHaveLength(1);
    await ahead(0);
    await server.query('UPDATE tasks SET lease_until = 1', name);
    // By where it looked last this lease ran out long ago.
    expect(await clocked.take(4)).toEqual([]);
    expect(await clocked.take(4)).toHaveLength(1);
    await clocked.close();
  });

  const piece = (id: string): EquipmentNames => ({
    ...{ side: 'new', id, organizationId: '4711' },
    ...{ principalId: null, erid: null, serialNumber: null },
  });

  test('equipment is named in two messages, whether it is new, says more, or is known to another process', async () => {
    const name = (named: EquipmentNames, by = store) => messagesOf(() => by.nameEquipment([named]));
    expect(await name(piece('1'))).toBe(2);
    expect(await name({ ...piece('1'), serialNumber: 's1' })).toBe(2);
    const another = await openPostgres(postgresSettingsFor(url));
    expect(await name(piece('1'), another)).toBe(2);
    await another.close();
  });
});
