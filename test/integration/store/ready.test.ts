/**
 * A scaled store is ready when a delivery could be kept: not while one of its tables is locked, missing or not to be written to.
 */
import { Client } from 'pg';
import type { Store } from '../../../src/model/store';
import { hintFunctionNames } from '../../../src/store/postgres/hint-functions';
import { migrate } from '../../../src/store/postgres/migrate';
import { type Migration, migrations } from '../../../src/store/postgres/migrations';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { openDatabase, poolConfig } from '../../../src/store/postgres/server/database';
import { allTables } from '../../../src/store/postgres/tables';
import { asApp, grants, postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

const tables = ['deliveries', 'organizations', 'tasks', 'aliases', 'hints', 'lanes'];

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'readiness of a scaled store', () => {
  let server: PostgresServer;
  let database: string;
  let store: Store;
  let deliveries = 0;
  /** As a role that has been granted what it needs, owns nothing and may create nothing. */
  beforeAll(async () => {
    server = await startPostgres({ settings: { max_prepared_transactions: '1' } });
    database = await server.createDatabase();
    await (await openPostgres(postgresSettingsFor(server.url(database)))).close();
    await server.query(`CREATE ROLE app LOGIN; ${grants}`, database);
    store = await openPostgres(postgresSettingsFor(asApp(server.url(database))));
  }, 60_000);
  afterAll(async () => {
    await store?.close();
    await server.stop();
  });

  test('is there with the rights to read and write, and a delivery is kept', async () => {
    await store.ready();
    expect(await store.put(deliveryOf(1, [hintOf('1')]))).toMatchObject({ due: 1 });
  });

  test('a role that owns nothing is told that the owner is to bring an older schema to this version first', async () => {
    const config = poolConfig(postgresSettingsFor(asApp(server.url(database))));
    const owners: Migration[] = [
      { name: '9999-column', kind: 'expand', sql: 'ALTER TABLE outbox ADD COLUMN more INT' },
      { name: '9999-index', kind: 'expand', indexes: { outbox_more: 'outbox (bytes)' } },
      { name: '9999-table', kind: 'expand', sql: 'CREATE TABLE more (id INT)' },
    ];
    for (const step of owners) {
      const why = step.name.endsWith('table')
        ? 'permission denied for schema public'
        : 'must be owner of table outbox';
      await expect(migrate(config, null, [...migrations, step])).rejects.toMatchObject({
        code: 'settings.invalid',
        message: `the schema is older than this version (${step.name} is to come), which this role may not change (${why}): have its owner run \`tramline migrate\` first`,
      });
    }
    const empty = await server.createDatabase();
    await server.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC', empty);
    const none = poolConfig(postgresSettingsFor(asApp(server.url(empty))));
    await expect(migrate(none)).rejects.toMatchObject({
      code: 'settings.invalid',
      message: expect.stringMatching(/^the schema holds no table yet, .* first$/),
    });
  });

  test('a database that takes no writes is asked all the same, and is not ready', async () => {
    await server.query(`ALTER DATABASE "${database}" SET default_transaction_read_only = on`);
    const asked = await openPostgres(postgresSettingsFor(asApp(server.url(database))));
    await server.query(`ALTER DATABASE "${database}" RESET default_transaction_read_only`);
    expect(await asked.ledger()).toMatchObject({ accepted: 1, waiting: 1 });
    expect(await asked.explain('d1')).toMatchObject({ what: 'delivery' });
    expect(await asked.listQuarantine({ limit: 10, after: null })).toEqual([]);
    await expect(asked.ready()).rejects.toMatchObject({ code: 'store.unavailable' });
    await asked.close();
  });

  test('without the numbers of tasks it is not there, since no new resource is kept', async () => {
    await server.query('REVOKE ALL ON SEQUENCE tasks_id_seq FROM app', database);
    const [put, ready] = await Promise.allSettled([
      store.put(deliveryOf(1, [hintOf('unnumbered')])),
      store.ready(),
    ]);
    await server.query('GRANT USAGE ON SEQUENCE tasks_id_seq TO app', database);
    expect(put).toMatchObject({ reason: { message: expect.stringContaining('permission denied') } });
    expect(ready).toMatchObject({
      reason: { code: 'store.unavailable', message: 'the database grants no USAGE on tasks_id_seq' },
    });
    await store.ready();
  });

  test.each(hintFunctionNames)('without %s it is not there, since no delivery is kept', async (name) => {
    await server.query(`REVOKE EXECUTE ON FUNCTION ${name} FROM PUBLIC`, database);
    const [put, ready] = await Promise.allSettled([store.put(deliveryOf(1, [hintOf(name)])), store.ready()]);
    await server.query(`GRANT EXECUTE ON FUNCTION ${name} TO PUBLIC`, database);
    expect(put).toMatchObject({ reason: { code: 'store.unavailable' } });
    expect(ready).toMatchObject({ reason: { message: `the database grants no EXECUTE on ${name}` } });
    await store.ready();
  });

  test('what row security would hide of a table is refused, and readiness names the table', async () => {
    await server.query('ALTER TABLE connections ENABLE ROW LEVEL SECURITY', database);
    const [listed, ready, all] = await Promise.allSettled([
      store.listConnections(),
      store.ready(),
      store.ready('all'),
    ]);
    await server.query('ALTER TABLE tasks ENABLE ROW LEVEL SECURITY', database);
    const [taken, readyWithout] = await Promise.allSettled([store.take(1), store.ready()]);
    for (const table of ['connections', 'tasks'])
      await server.query(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`, database);
    const refused = (message: string) => ({ reason: { code: 'store.unavailable', message } });
    const hidden = (table: string) => `the database grants no way past the row security of ${table}`;
    expect(ready.status).toBe('fulfilled');
    for (const asked of [listed, taken])
      expect(asked).toMatchObject({ status: 'rejected', reason: { code: 'store.unavailable' } });
    expect([all, readyWithout]).toMatchObject([refused(hidden('connections')), refused(hidden('tasks'))]);
    await store.ready('all');
  });

  test('a session that is refused what it asks for as it connects is used for nothing', async () => {
    const name = await server.createDatabase();
    await (await openPostgres(postgresSettingsFor(server.url(name)))).close();
    await server.query(grants, name);
    const served = await openPostgres(postgresSettingsFor(asApp(server.url(name))));
    // As where somebody cancels that statement: what follows it on the session is not refused.
    const put = () => served.put(deliveryOf(1, [hintOf('1')]));
    await server.query(
      'REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC',
      name,
    );
    await server.query(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      name,
    );
    const refusals: unknown[] = [];
    for (let count = 0; count < 3; count += 1)
      refusals.push(await put().catch((error: Error) => error.message));
    await server.query(
      'GRANT EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) TO PUBLIC',
      name,
    );
    expect(refusals.slice(1)).toEqual(Array(2).fill('permission denied for function set_config'));
    expect(await put()).toMatchObject({ due: 1 });
    await served.close();
    await server.dropDatabase(name);
  });

  test('its owner lets everybody call the functions again where nobody else may, and leaves it where some may', async () => {
    const owners = poolConfig(postgresSettingsFor(server.url(database)));
    const callable = async () =>
      (
        await server.query(
          `SELECT DISTINCT has_function_privilege('app', oid, 'EXECUTE') AS may FROM pg_proc
           WHERE proname = ANY('{${hintFunctionNames.join()}}')`,
          database,
        )
      ).map(({ may }) => may);
    const names = hintFunctionNames.join();
    // As they are where a dump was restored under ALTER DEFAULT PRIVILEGES … REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC.
    await server.query(`REVOKE EXECUTE ON FUNCTION ${names} FROM PUBLIC`, database);
    // As one that serves and owns nothing starts.
    await migrate(poolConfig(postgresSettingsFor(asApp(server.url(database)))));
    expect(await callable()).toEqual([false]);
    await migrate(owners);
    expect(await callable()).toEqual([true]);
    await store.ready();
    await server.query(
      `CREATE ROLE chosen; REVOKE EXECUTE ON FUNCTION ${names} FROM PUBLIC; GRANT EXECUTE ON FUNCTION ${names} TO chosen`,
      database,
    );
    await migrate(owners);
    expect(await callable()).toEqual([false]);
    await server.query(`GRANT EXECUTE ON FUNCTION ${names} TO PUBLIC`, database);
  });

  test.each(
    tables.flatMap((table) => ['INSERT', 'SELECT', 'UPDATE'].map((right) => [right, table] as const)),
  )('without %s on %s it is there just when a delivery is kept all the same', async (right, table) => {
    await server.query(`REVOKE ${right} ON ${table} FROM app`, database);
    deliveries += 1;
    const [put, ready] = await Promise.allSettled([
      // Of a new resource of a new organization, and of one that is known.
      store.put(deliveryOf(1, [hintOf(`new-${deliveries}`, `new-${deliveries}`), hintOf('1')])),
      store.ready(),
    ]);
    await server.query(`GRANT ${right} ON ${table} TO app`, database);
    expect(ready.status).toBe(put.status);
    if (ready.status === 'rejected')
      expect(ready.reason).toMatchObject({
        code: 'store.unavailable',
        message: `the database grants no ${right} on ${table}`,
      });
    await store.ready();
  });

  test('is not there while one of them is locked against writers', async () => {
    for (const table of ['organizations', 'hints']) {
      const holder = new Client({ connectionString: server.url(database) });
      await holder.connect();
      await holder.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
      await expect(store.ready()).rejects.toMatchObject({
        code: 'store.unavailable',
        message: `another session locks the table ${table}`,
      });
      await holder.end();
    }
    await store.ready();
  });

  test.each([
    [
      'LOCK TABLE hints IN SHARE MODE',
      "the prepared transaction 'left' of tramline locks the table hints",
      () => store.ready(),
    ],
    [
      'SELECT FROM tasks FOR UPDATE',
      "another session locks a row of the table tasks, or the prepared transaction 'left' of tramline does",
      () => store.put(deliveryOf(1, [hintOf('1')])),
    ],
  ])(
    'what is prepared to be committed and did %s is named: it belongs to no session',
    async (sql, message, act) => {
      await store.put(deliveryOf(1, [hintOf('1')]));
      await server.query(`BEGIN; ${sql}; PREPARE TRANSACTION 'left'`, database);
      const [told] = await Promise.allSettled([act()]);
      await server.query("ROLLBACK PREPARED 'left'", database);
      expect(told).toMatchObject({ reason: { code: 'store.unavailable', message } });
      await store.ready();
    },
  );

  test('all that it asks for are all of its tables', async () => {
    const made = await server.query(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'`,
      database,
    );
    expect(allTables.toSorted()).toEqual(made.map(({ name }) => name).toSorted());
  });

  describe('where deliveries are taken, and one table that publishing needs cannot be used', () => {
    const takesDeliveries = async () => {
      await store.ready();
      expect(await store.put(deliveryOf(1, [hintOf('1')]))).toMatchObject({ due: expect.any(Number) });
    };

    test('that is locked, whoever asks for all of its work is told which, and so is who meets it', async () => {
      await store.ready('all');
      const holder = new Client({ connectionString: server.url(database) });
      await holder.connect();
      await holder.query('BEGIN; LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE');
      await takesDeliveries();
      const askedMs = performance.now();
      const told = await Promise.allSettled([store.ready('all'), store.unsentCount()]);
      // A check waits for a part for five seconds.
      expect(performance.now() - askedMs).toBeLessThan(4500);
      await holder.end();
      for (const one of told)
        expect(one).toMatchObject({
          reason: { code: 'store.unavailable', message: 'another session locks the table outbox' },
        });
      await store.ready('all');
    });

    test.each([
      ['the right to it is gone', 'REVOKE ALL ON outbox FROM app', 'permission denied for table outbox'],
      ['a right is gone', 'REVOKE DELETE ON outbox FROM app', 'the database grants no DELETE on outbox'],
      ['it is away', 'ALTER TABLE outbox RENAME TO other', 'relation "outbox" does not exist'],
    ])('since %s, whoever asks for all of its work is told so', async (_why, sql, message) => {
      await server.query(sql, database);
      await takesDeliveries();
      const [told] = await Promise.allSettled([store.ready('all')]);
      if (sql.startsWith('ALTER')) await server.query('ALTER TABLE other RENAME TO outbox', database);
      await server.query(grants, database);
      expect(told).toMatchObject({ reason: { code: 'store.unavailable', message } });
      await store.ready('all');
    });
  });

  test('a statement whose time is over is told in the server’s words first: it may wait for nobody', async () => {
    const slowly = openDatabase({ url: asApp(server.url(database)), connections: 1 });
    const slow = () =>
      slowly
        .transact(({ get }) => get('SELECT pg_sleep(2)'), { statementMs: 300 })
        .catch(({ message }) => message);
    const words = 'canceling statement due to statement timeout';
    expect(await slow()).toBe(words);
    const holder = new Client({ connectionString: server.url(database) });
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE');
    expect(await slow()).toBe(`${words}; meanwhile another session locks the table outbox`);
    await holder.end();
    await slowly.close();
  });

  /** What comes of a delivery to each store while another session locks all tasks; each comes when the one before waits for a second. */
  async function putBesideLock(stores: Store[]): Promise<string[]> {
    await store.put(deliveryOf(1, [hintOf('1')]));
    const holder = new Client({ connectionString: server.url(database) });
    await holder.connect();
    await holder.query('BEGIN; SELECT FROM tasks FOR UPDATE');
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND waitstart < clock_timestamp() - interval '1 s'`;
    const puts: Promise<unknown>[] = [];
    for (const one of stores) {
      const waits = async () => (await holder.query(waiting)).rowCount === puts.length;
      await until(waits, { withinMs: 2_500, what: 'each of those before to wait' });
      puts.push(one.put(deliveryOf(1, [hintOf('1')])));
    }
    const told = await Promise.allSettled(puts);
    await holder.end();
    expect(await store.put(deliveryOf(1, [hintOf('1')]))).toMatchObject({ due: expect.any(Number) });
    return told.map((one) => (one.status === 'rejected' ? one.reason.message : 'kept'));
  }
  const aRow = 'another session locks a row of the table tasks';

  test('each of several that wait for a row that another session locked is told of which table', async () => {
    const others = await Promise.all(
      [1, 2].map(() => openPostgres(postgresSettingsFor(asApp(server.url(database))))),
    );
    // Who waits for the row while the others still wait for it names it; the last of them may be left without words.
    const told = await putBesideLock([store, ...others]);
    const named = expect.stringContaining(aRow);
    expect(told.slice(0, 2)).toEqual([named, named]);
    await Promise.all(others.map((one) => one.close()));
  });

  test('who may not look at locks is told of the row by the server’s own error, and keeps its connections', async () => {
    await Promise.all([1, 2, 3].map(() => store.ledger()));
    const sessions = async () => {
      const rows = await server.query(
        `SELECT pid FROM pg_stat_activity WHERE usename = 'app' AND datname = '${database}'`,
      );
      return new Set(rows.map(({ pid }) => pid as number));
    };
    const before = await sessions();
    await server.query('REVOKE ALL ON pg_locks FROM PUBLIC', database);
    expect(await putBesideLock([store])).toEqual([aRow]);
    await server.query('GRANT SELECT ON pg_locks TO PUBLIC', database);
    expect(await sessions()).toEqual(before);
  });

  /** Commits wait for a standby that is not there once the server's checkpointer has heard of it: until one is seen to. */
  async function loseStandby(): Promise<void> {
    await server.query(`ALTER SYSTEM SET synchronous_standby_names = 'gone'`);
    await server.query('SELECT pg_reload_conf()');
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()`;
    let open = 0;
    const commit = async () => {
      open += 1;
      await server.query(`SELECT pg_logical_emit_message(true, '', '')`);
      open -= 1;
    };
    const commits: Promise<void>[] = [];
    const waits = async () => {
      commits.push(commit());
      return (await server.query(cancel)).length > 0;
    };
    await until(waits, { withinMs: 10_000, what: 'a commit to wait for its standby' });
    const ended = async () => (await server.query(cancel)) && open === 0;
    await until(ended, { withinMs: 10_000, what: 'the end of all of them' });
    await Promise.all(commits);
  }

  test('a standby that commits wait for is named by who waits for their locks', async () => {
    await loseStandby();
    // It writes the row that readiness writes, and its commit does not end.
    await expect(store.ready()).rejects.toMatchObject({ code: 'store.unavailable' });
    const [told] = await Promise.allSettled([store.ready('all')]);
    await server.query('ALTER SYSTEM RESET synchronous_standby_names');
    await server.query('SELECT pg_reload_conf()');
    expect(told).toMatchObject({
      reason: { message: 'commits wait for a standby of the database that does not answer' },
    });
    await store.ready('all');
  }, 20_000);

  test('a commit whose wait for its standby is cancelled is no commit: of a delivery, and of what takes several statements', async () => {
    await loseStandby();
    const cancelled = async (work: Promise<unknown>) => {
      const ended = work.catch((error) => error);
      const waits = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = '${database}'`;
      await until(async () => (await server.query(waits)).length > 0, { withinMs: 3000 });
      return ended;
    };
    const put = cancelled(store.put(deliveryOf(1, [hintOf('1')])));
    const named = deliveryOf(1, [hintOf('2')], { messageId: 'm' });
    const told = [
      await put,
      await cancelled(store.holdLease('a', 'b', 1000)),
      await cancelled(store.put(named)),
    ];
    // Whoever repeats it would be told that it is kept.
    told.push(await cancelled(store.put(named)));
    await server.query('ALTER SYSTEM RESET synchronous_standby_names');
    await server.query('SELECT pg_reload_conf()');
    const message = 'somebody cancelled the wait of a commit for its standby: it is on this server alone';
    for (const error of told) expect(error).toMatchObject({ code: 'store.unavailable', message });
    // The next one on the same connection is whole.
    expect(await store.put(deliveryOf(1, [hintOf('1')]))).toMatchObject({ due: 1 });
    expect(await store.put(named)).toMatchObject({ repeated: true });
  }, 20_000);
});
