/**
 * Several processes on one PostgreSQL, each as a store of its own: they meet in the same rows at the same moment, and
 * nothing is lost, doubled or refused for it.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Client } from 'pg';
import { processDoors } from '../../../src/commands/doors';
import { loadSettings } from '../../../src/config';
import { hearAnswer } from '../../../src/inbox/hear-answer';
import { makeProviderHealth } from '../../../src/inbox/provider-health';
import type { Answer } from '../../../src/model/answer';
import type { SealedConnection } from '../../../src/model/connection';
import type { EquipmentNames } from '../../../src/model/equipment-names';
import { bytesHashOf, type OutboxRow } from '../../../src/model/event';
import type { Store } from '../../../src/model/store';
import type { TakenTask } from '../../../src/model/task';
import { migrate, mustBeMigrated } from '../../../src/store/postgres/migrate';
import { migrations } from '../../../src/store/postgres/migrations';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { makeBell } from '../../../src/store/postgres/server/bell';
import { type Database, openDatabase, poolConfig } from '../../../src/store/postgres/server/database';
import { lockNumbers } from '../../../src/store/postgres/server/lock-numbers';
import { heedRefusals } from '../../../src/wire/heed-refusals';
import { postgresSettingsFor } from '../../contract/open-postgres';
import {
  address,
  aliasHintOf,
  deliveryOf,
  draftOf,
  heldBy,
  hintOf,
  listedAs,
  sentTo,
  terms,
} from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { startPostgresProxy } from '../../support/postgres-proxy';
import { until } from '../../support/until';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'several stores on one PostgreSQL', () => {
  let server: PostgresServer;
  let url = '';
  let stores: Store[] = [];
  let nowMs = Date.parse('2026-01-01T00:00:00Z');

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    url = server.url(await server.createDatabase());
    const settings = postgresSettingsFor(url);
    stores = await Promise.all([0, 1, 2].map(() => openPostgres(settings, () => nowMs)));
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });

  const range = (count: number) => Array.from({ length: count }, (_, index) => index);
  const put = (store: Store, ids: string[], organizationId = '4711') =>
    store.put(
      deliveryOf(
        nowMs,
        ids.map((id) => hintOf(id, organizationId)),
      ),
    );
  const finish = (store: Store, task: TakenTask, id: string, content: string) =>
    store.finish({
      ...heldBy(task),
      draft: draftOf(id, content),
      connectionId: 'c1',
      traceparent: null,
      reconciled: false,
      settleMs: 0,
    });
  const migrated = () => server.query('SELECT name FROM migrations', new URL(url).pathname.slice(1));

  test('names that a failover took with it are kept again by a process that had been told them', async () => {
    const [store] = stores as [Store];
    const piece = { organizationId: '4711', erid: 'e1', serialNumber: 's1' };
    const names: EquipmentNames = { ...piece, side: 'new', id: '217001', principalId: '82001' };
    const kept = () => store.equipmentRecords({ id: '217001', as: 'new' });
    for (const _time of range(2)) await store.nameEquipment([names]);
    expect(await kept()).toEqual([names]);
    const name = new URL(url).pathname.slice(1);
    await server.query('DELETE FROM equipment', name);
    const ended = await server.query(
      `SELECT bool_and(pg_terminate_backend(pid, 10000)) AS ended FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      name,
    );
    expect(ended).toEqual([{ ended: true }]);
    await until(() => kept().then(({ length }) => length === 0), { withinMs: 10_000, what: 'the loss' });
    await store.nameEquipment([names]);
    expect(await kept()).toEqual([names]);
  });

  test('connections that are changed after a failover are read by who knows what it lost', async () => {
    const [store, other] = stores as [Store, Store];
    const name = new URL(url).pathname.slice(1);
    const consented: SealedConnection = {
      connectionId: 'c1',
      user: 'u1',
      auth: 'oauth2',
      sealedToken: '',
      sealedTokenSecret: null,
      sealedRefresh: null,
      expiresAt: null,
      status: 'valid',
      organizations: [],
    };
    const save = (by: Store, sealedToken: string) => by.saveConnection({ ...consented, sealedToken });
    await save(store, 'first');
    const [kept] = await server.query("SELECT value FROM meta WHERE name = 'connections'", name);
    await save(store, 'lost');
    const known = await store.connectionsMark();
    await server.query(`UPDATE meta SET value = ${kept!.value} WHERE name = 'connections'`, name);
    nowMs += 5000;
    await save(other, 'second');
    expect(await store.connectionsMark()).not.toBe(known);
  });

  test('a read that was taken in commits that a failover lost cannot end the one that is taken after it', async () => {
    const [before, after] = stores as [Store, Store];
    const name = new URL(url).pathname.slice(1);
    await put(before, ['1']);
    const tables = ['tasks', 'lanes'];
    for (const table of tables) await server.query(`CREATE TABLE replica_${table} AS TABLE ${table}`, name);
    const [lost] = await before.take(1);
    for (const table of tables) {
      await server.query(`DELETE FROM ${table}`, name);
      const copied = `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM replica_${table}`;
      await server.query(copied, name);
    }
    nowMs += 5000;
    const [task] = await after.take(1);
    expect([task!.taskId, task!.generation]).toEqual([lost!.taskId, lost!.generation]);
    expect(await finish(before, lost!, '1', 'as it was')).toMatchObject({ outcome: 'refused' });
    expect(await finish(after, task!, '1', 'as it is')).toMatchObject({ outcome: 'published' });
  });

  test('work that is committed only after a claim left its lane with nothing due is taken by the next one', async () => {
    const [store] = stores as [Store];
    await put(store, ['1']);
    nowMs += 1000;
    const [task] = await store.take(9);
    await put(store, ['2']);
    // As whoever adds work does: it shares the lane until its commit.
    const adding = new Client({ connectionString: url });
    await adding.connect();
    await adding.query(`BEGIN; SELECT 1 FROM lanes WHERE id = '4711' FOR KEY SHARE`);
    await adding.query(
      `UPDATE tasks SET state = 'due', due_at = ${nowMs}, lease_until = NULL, taken_lane = NULL WHERE id = ${task!.taskId}`,
    );
    nowMs += 1000;
    expect(await store.take(9)).toHaveLength(1);
    await adding.query('COMMIT');
    await adding.end();
    expect(await store.nextDueInMs('task')).toBe(0);
    expect((await store.take(9)).map(({ taskId }) => taskId)).toEqual([task!.taskId]);
    // Now that nobody adds to it, it says that it has nothing.
    const [lane] = await server.query(
      `SELECT next_due_at FROM lanes WHERE id = '4711'`,
      new URL(url).pathname.slice(1),
    );
    expect(lane).toEqual({ next_due_at: null });
  });

  test('a journey is told whole by a process that had no part in it', async () => {
    const [first, second, third] = stores as [Store, Store, Store];
    const { deliveryId } = await put(first, ['1']);
    const [task] = await second.take(1);
    await finish(second, task!, '1', 'a');
    const [row] = await first.pickUnsent(1, 1e9, []);
    await first.markSent([sentTo(row!, 0, '7')]);
    const run = await second.beginReplay('x');
    await second.resendNewest({ ...run, from: 0 }, [row!.row]);
    await first.markSent([sentTo(row!, 0, '8')]);
    const expected = ['decided', 'published', 'sent', 'replayed'];
    for (const told of [deliveryId, row!.eventId, address('1')]) {
      const steps = (await third.explain(told))!.steps;
      expect(steps.map(({ step }) => step)).toEqual(expect.arrayContaining(expected));
      expect(steps.find(({ step }) => step === 'sent')).toMatchObject({ partition: 0, offset: '7' });
      expect(steps.find(({ step }) => step === 'replayed')).toMatchObject({ partition: 0, offset: '8' });
    }
  });

  describe('a delivery whose second statement the server refuses, while all were sent at once', () => {
    /** Raised for each insert of a task as long as `condition` holds. */
    const refuseTasks = (sqlState: string, condition: string, constraint = '') =>
      server.query(
        `CREATE SEQUENCE tries;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF ${condition} THEN RAISE EXCEPTION 'refused here' USING errcode = '${sqlState}', constraint = '${constraint}'; END IF;
          RETURN new;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION refuse()`,
        new URL(url).pathname.slice(1),
      );

    // The last is a plan that an expanded schema outdated, which a server says in its own language.
    test.each(['40P01', '40001', '0A000'])(
      'is made once more when it lost against another (%s)',
      async (code) => {
        // Each is lost at its first attempt.
        await refuseTasks(code, `nextval('tries') % 2 = 1`);
        for (const id of range(10)) expect(await put(stores[0]!, [`new-${id}`])).toMatchObject({ due: 1 });
      },
    );

    test('is made five times where others make rows for its resources one after the other', async () => {
      await refuseTasks('23505', `nextval('tries') % 5 <> 0`, 'tasks_resource');
      for (const id of range(3)) expect(await put(stores[0]!, [`new-${id}`])).toMatchObject({ due: 1 });
    });

    test('is refused alone when it is at fault, with the server’s own words', async () => {
      await refuseTasks('23514', `new.address LIKE '%poisoned%'`);
      const problem = { code: 'store.refused', message: expect.stringContaining('refused here') };
      for (const id of range(5)) {
        const group = [`${id}-a`, `${id}-poisoned`, `${id}-b`].map((each) => put(stores[0]!, [each]));
        const [before, poisoned, after] = await Promise.allSettled(group);
        expect([before!.status, after!.status]).toEqual(['fulfilled', 'fulfilled']);
        expect(poisoned).toMatchObject({ status: 'rejected', reason: problem });
      }
    });
  });

  test('what the address says of a session is heard, and takes nothing from what every session needs', async () => {
    const options = encodeURIComponent('-c search_path=elsewhere,public -c enable_seqscan=on');
    for (const theirs of ['', `?options=${options}&application_name=x`]) {
      const client = new Client(poolConfig({ url: server.url('postgres') + theirs, connections: 1 }));
      await client.connect();
      const shown = async (name: string) => (await client.query(`SHOW ${name}`)).rows[0][name];
      expect(await shown('search_path')).toBe(theirs === '' ? '"$user", public' : 'elsewhere,public');
      for (const name of ['enable_seqscan', 'enable_bitmapscan', 'jit'])
        expect(await shown(name)).toBe('off');
      expect(await shown('plan_cache_mode')).toBe('force_generic_plan');
      expect(await shown('synchronous_commit')).toBe('on');
      // A host that vanished is known to have after ten seconds, by the server too.
      expect(await shown('tcp_keepalives_idle')).toBe('4');
      expect(await shown('tcp_keepalives_interval')).toBe('2');
      expect(await shown('tcp_keepalives_count')).toBe('3');
      expect(await shown('tcp_user_timeout')).toBe('10000');
      await client.end();
    }
  });

  test('whatever a database has as its default, a session hears the warnings of its commits', async () => {
    await server.query(`ALTER DATABASE postgres SET client_min_messages = error`);
    const client = new Client(poolConfig({ url: server.url('postgres'), connections: 1 }));
    await client.connect();
    expect((await client.query('SHOW client_min_messages')).rows).toEqual([
      { client_min_messages: 'warning' },
    ]);
    await client.end();
    await server.query('ALTER DATABASE postgres RESET client_min_messages');
  });

  test('whatever a database has as its default, a session waits until its commits are written', async () => {
    for (const theirs of ['off', 'remote_apply']) {
      await server.query(`ALTER DATABASE postgres SET synchronous_commit = ${theirs}`);
      const config = poolConfig({ url: server.url('postgres'), connections: 1 });
      const client = new Client(config);
      await client.connect();
      expect((await client.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'on' }]);
      await client.end();
    }
    await server.query('ALTER DATABASE postgres RESET synchronous_commit');
  });

  test('the limit of a statement holds, whatever the address says of it', async () => {
    for (const theirs of ['', '?statement_timeout=60000', '?statement_timeout=0']) {
      const database = openDatabase({ url: url + theirs, connections: 1 });
      const limit = async (options = {}) =>
        (await database.transact((statements) => statements.get('SHOW statement_timeout'), options))!
          .statement_timeout;
      expect(await limit()).toBe('3s');
      expect(await limit({ statementMs: 60_000 })).toBe('1min');
      expect(await limit()).toBe('3s');
      await database.close();
    }
  });

  test('a server that answers before it has written is refused', async () => {
    // As behind a pooler that drops what a session asks for.
    for (const insisted of ['off', 'local', 'remote_write']) {
      const config = { ...poolConfig({ url, connections: 1 }), options: `-c synchronous_commit=${insisted}` };
      const problem = { code: 'settings.invalid', message: expect.stringContaining(`=${insisted}`) };
      for (const look of [migrate, mustBeMigrated]) await expect(look(config)).rejects.toMatchObject(problem);
    }
  });

  test('a server that answers only when its standbys show what it has written is let in', async () => {
    const config = poolConfig({ url, connections: 1 });
    await mustBeMigrated({ ...config, options: `${config.options} -c synchronous_commit=remote_apply` });
  });

  test('a server that never flushes is refused', async () => {
    const set = async (value: string) => {
      await server.query(`ALTER SYSTEM SET fsync = ${value}`);
      await server.query('SELECT pg_reload_conf()');
      const isSet = async () => (await server.query('SHOW fsync'))[0]!.fsync === value;
      await until(isSet, { what: `fsync=${value}`, withinMs: 10_000 });
    };
    await set('off');
    const config = poolConfig({ url, connections: 1 });
    const problem = { code: 'settings.invalid', message: expect.stringContaining('fsync=off') };
    try {
      for (const look of [migrate, mustBeMigrated]) await expect(look(config)).rejects.toMatchObject(problem);
    } finally {
      await set('on');
    }
    await migrate(config);
  });

  test('a database that cannot hold every text is refused, and nothing is made in it', async () => {
    const name = await server.createDatabase();
    await server.query(`DROP DATABASE ${name}`);
    await server.query(
      `CREATE DATABASE ${name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    );
    const config = poolConfig({ url: server.url(name), connections: 1 });
    const problem = { code: 'settings.invalid', message: expect.stringContaining('LATIN1') };
    for (const look of [migrate, mustBeMigrated]) await expect(look(config)).rejects.toMatchObject(problem);
    expect(await server.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`, name)).toEqual([]);
    await server.dropDatabase(name);
  });

  describe('the schema', () => {
    test('K13: is brought to its version once, however many start at once', async () => {
      expect((await migrated()).map(({ name }) => name)).toEqual(migrations.map(({ name }) => name));
    });

    test('T7: that a newer version expanded serves the older one, one that it contracted refuses it', async () => {
      const config = poolConfig({ url, connections: 1 });
      const expand = {
        name: '9001-more',
        kind: 'expand' as const,
        sql: 'ALTER TABLE tasks ADD COLUMN later TEXT',
      };
      await put(stores[0]!, ['1']);
      await migrate(config, null, [...migrations, expand]);
      await put(stores[0]!, ['2']);
      expect(await stores[0]!.take(10)).toHaveLength(2);
      await migrate(config);
      const contract = { name: '9002-less', kind: 'contract' as const, sql: 'SELECT 1' };
      await migrate(config, null, [...migrations, expand, contract]);
      await expect(migrate(config)).rejects.toMatchObject({ code: 'store.newer' });
      await expect(mustBeMigrated(config)).rejects.toMatchObject({ code: 'store.newer' });
      // A server that is there and has no such database is a wrong setting, not one that is away.
      const elsewhere = poolConfig({ url: server.url('nowhere'), connections: 1 });
      await expect(migrate(elsewhere)).rejects.toMatchObject({ code: 'settings.invalid' });
    });
  });

  describe('a schema that another program has tables in', () => {
    let name = '';
    beforeEach(async () => {
      name = await server.createDatabase();
    });
    afterEach(() => server.dropDatabase(name));
    const config = (search = '') => poolConfig({ url: server.url(name) + search, connections: 1 });
    const tables = () =>
      server.query(
        `SELECT DISTINCT schemaname AS at FROM pg_tables WHERE tablename IN ('migrations', 'organizations') ORDER BY 1`,
        name,
      );

    test('is refused for good where its `migrations` is in the way, with the way out', async () => {
      await server.query(
        'CREATE TABLE migrations (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name varchar NOT NULL)',
        name,
      );
      const said = `another program's table public.migrations is in the way: Tramline needs a schema of its own, which \`?options=-csearch_path=…\` in the address names`;
      const problem = { code: 'settings.invalid', message: said };
      for (const look of [migrate, mustBeMigrated])
        await expect(look(config())).rejects.toMatchObject(problem);
      const settings = {
        DATABASE_URL: server.url(name),
        ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      };
      await expect(
        processDoors.openStore(loadSettings('command', settings), 'migrated'),
      ).rejects.toMatchObject({
        code: 'settings.invalid',
        message: `DATABASE_URL must name a store that can be used: ${said}`,
      });
      await server.query('CREATE SCHEMA own', name);
      for (const path of ['own', 'own,public']) {
        await migrate(config(`?options=-csearch_path%3D${path}`));
        await mustBeMigrated(config(`?options=-csearch_path%3D${path}`));
      }
      expect(await server.query('SELECT count(*)::int AS count FROM own.migrations', name)).toEqual([
        { count: migrations.length },
      ]);
    });

    test('is refused for good where another table of it is in the way, and nothing is made in it', async () => {
      await server.query('CREATE TABLE organizations (id serial PRIMARY KEY)', name);
      const said = /another program's table \(.*organizations.*\) is in the way/;
      await expect(migrate(config())).rejects.toMatchObject({
        code: 'settings.invalid',
        message: expect.stringMatching(said),
      });
      expect(await server.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`, name)).toEqual(
        [{ tablename: 'organizations' }],
      );
    });

    test('keeps nothing from a store in the first schema of the path where it is a later one', async () => {
      await migrate(config());
      await server.query('CREATE SCHEMA own; CREATE SCHEMA another', name);
      // A role that serves the store in public goes on with it, though a schema of its own comes first and is empty.
      await migrate(config('?options=-csearch_path%3Down,public'));
      expect(await tables()).toEqual([{ at: 'public' }]);
      await migrate(config('?options=-csearch_path%3Danother'), null, migrations.slice(0, -3));
      await migrate(config('?options=-csearch_path%3Danother,public'));
      const indexes = (at: string) =>
        server.query(`SELECT indexname AS name FROM pg_indexes WHERE schemaname = '${at}' ORDER BY 1`, name);
      expect(await indexes('another')).toEqual(await indexes('public'));
    });
  });

  test('a process stays with its store where another one comes to be first in the search path', async () => {
    const [store] = stores as [Store];
    const name = new URL(url).pathname.slice(1);
    await put(store, ['1']);
    // As the role is called, which is where a session looks first by default.
    await server.query('CREATE SCHEMA tramline', name);
    await migrate(poolConfig({ url: `${url}?options=-csearch_path%3Dtramline`, connections: 1 }));
    const ended = await server.query(
      `SELECT bool_and(pg_terminate_backend(pid, 10000)) AS ended FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      name,
    );
    expect(ended).toEqual([{ ended: true }]);
    const isBack = () =>
      store.ready().then(
        () => true,
        () => false,
      );
    await until(isBack, { withinMs: 10_000, what: 'new sessions' });
    await put(store, ['2']);
    const kept = (schema: string) =>
      server.query(`SELECT count(*)::int AS count FROM ${schema}.deliveries`, name);
    expect([await kept('public'), await kept('tramline')]).toEqual([[{ count: 2 }], [{ count: 0 }]]);
  });

  test('a database that is not of this version is left as it is by what only asks', async () => {
    const name = await server.createDatabase();
    const config = poolConfig({ url: server.url(name), connections: 1 });
    const tables = () =>
      server.query(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`, name);
    await expect(mustBeMigrated(config)).rejects.toMatchObject({ code: 'store.older' });
    expect(await tables()).toEqual([]);
    await migrate(config, null, migrations.slice(0, -2));
    const before = await tables();
    const settings = {
      DATABASE_URL: server.url(name),
      ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    };
    const open = processDoors.openStore(loadSettings('command', settings), 'kept');
    await expect(open).rejects.toMatchObject({
      code: 'store.older',
      message: expect.stringContaining('`tramline migrate`'),
    });
    expect([await tables(), await server.query('SELECT name FROM migrations', name)]).toEqual([
      before,
      migrations.slice(0, -2).map((step) => ({ name: step.name })),
    ]);
    await migrate(config);
    await mustBeMigrated(config);
    await server.dropDatabase(name);
  });

  describe('acceptance', () => {
    test('of the same addresses in crossed orders by all at once counts every hint', async () => {
      const ids = range(40).map(String);
      const rounds = range(10).flatMap((round) =>
        stores.map((store, index) => put(store, (index + round) % 2 === 0 ? ids : ids.toReversed())),
      );
      await Promise.all(rounds);
      const tasks = await stores[0]!.take(100);
      expect(tasks.map(({ generation }) => generation)).toEqual(ids.map(() => 30));
      expect(await stores[0]!.ledger()).toMatchObject({ accepted: 1200, waiting: 1200 });
    });

    test('of one message id by all at once is one delivery', async () => {
      const named = { messageId: 'm1', bodyHash: 'a' };
      const answers = await Promise.all(
        stores.map((store) => store.put(deliveryOf(nowMs, [hintOf('1')], named))),
      );
      expect(new Set(answers.map(({ deliveryId }) => deliveryId)).size).toBe(1);
      expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
      expect((await stores[1]!.take(1))[0]!.generation).toBe(1);
    });

    test('of a delivery that the database cannot keep costs its neighbours nothing', async () => {
      const answers = await Promise.allSettled([
        put(stores[0]!, ['1']),
        put(stores[0]!, ['2\0']),
        put(stores[0]!, ['3']),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((answers[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'store.refused' });
      expect(await stores[1]!.take(10)).toHaveLength(2);
    });
  });

  describe('claims', () => {
    test('by all at once give each task to one of them', async () => {
      await put(stores[0]!, range(300).map(String));
      const taken = (await Promise.all(stores.map((store) => store.take(200)))).flat();
      expect(taken).toHaveLength(300);
      expect(new Set(taken.map(({ taskId }) => taskId)).size).toBe(300);
    });

    test('while others accept overlook nothing', async () => {
      const wanted = 400;
      let accepted = 0;
      const taken = new Set<number>();
      const accepting = stores.slice(0, 2).map(async (store, index) => {
        for (const id of range(wanted / 2)) {
          await put(store, [`${index}-${id}`], String(id % 5));
          accepted += 1;
        }
      });
      const taking = (async () => {
        while (taken.size < wanted) {
          const tasks = await stores[2]!.take(7);
          for (const { taskId } of tasks) taken.add(taskId);
          if (tasks.length === 0 && accepted === wanted) break;
          await turn();
        }
      })();
      await Promise.all([...accepting, taking]);
      for (const { taskId } of await stores[2]!.take(wanted)) taken.add(taskId);
      expect(taken.size).toBe(wanted);
    });

    test('of a half-open organization let one task through, for all together', async () => {
      await put(stores[0]!, range(20).map(String));
      const observe = async (found: typeof terms | { cause: null }) => {
        const { epoch } = (await stores[0]!.access('4711'))!;
        await stores[0]!.observe({ organizationId: '4711', epoch, found, by: 'probe' });
      };
      await observe(terms);
      await observe({ cause: null });
      const taken = await Promise.all(stores.map((store) => store.take(10)));
      expect(taken.flat()).toHaveLength(1);
    });
  });

  describe('endings', () => {
    test('of two addresses of one new resource at once publish it once', async () => {
      for (const round of range(5)) {
        const id = `r${round}`;
        await stores[0]!.put(deliveryOf(nowMs, [hintOf(id), aliasHintOf(id)]));
        const [one, two] = await stores[0]!.take(10);
        const results = await Promise.all([
          finish(stores[1]!, one!, id, 'a'),
          finish(stores[2]!, two!, id, 'a'),
        ]);
        expect(results.map(({ outcome }) => outcome).sort()).toEqual(['published', 'refused']);
        nowMs += 1000;
        await finish(stores[0]!, (await stores[0]!.take(10))[0]!, id, 'a');
      }
      const rows = await stores[0]!.pickUnsent(100, 1e9, []);
      expect(rows.map(({ key, sequence }) => [key, sequence])).toEqual(
        range(5).map((round) => [`4711/equipment/r${round}`, 1]),
      );
    });

    test('retention locks tasks in the order of all, with those that they were joined to', async () => {
      const [first] = stores as [Store];
      const dayMs = 86_400_000;
      const sweepAll = async () => {
        while ((await first.sweep()).more);
      };
      await put(first, ['1']);
      await finish(first, (await first.take(1))[0]!, '1', 'a');
      nowMs += 2 * dayMs;
      await first.put(deliveryOf(nowMs, [aliasHintOf('1')]));
      const [joined] = await first.take(1);
      await finish(first, joined!, '1', 'a');
      // The delivery of the task that has the resource goes first.
      nowMs += 29 * dayMs;
      await sweepAll();
      nowMs += 2 * dayMs;
      const [holder, other] = [0, 1].map(() => new Client({ connectionString: url })) as [Client, Client];
      await Promise.all([holder.connect(), other.connect()]);
      await holder.query(`BEGIN; SELECT FROM tasks WHERE resource_id = '1' FOR UPDATE`);
      const swept = sweepAll();
      await untilWaiting(holder, 1);
      const { rowCount } = await other.query(
        `SELECT FROM tasks WHERE joined_to IS NOT NULL FOR UPDATE SKIP LOCKED`,
      );
      expect(rowCount).toBe(1);
      await holder.query('COMMIT');
      await swept;
      expect((await other.query('SELECT FROM deliveries')).rowCount).toBe(0);
      await Promise.all([holder.end(), other.end()]);
    });

    test('K12: of a zombie change nothing once another process has the task', async () => {
      await put(stores[0]!, ['1']);
      const [zombie] = await stores[0]!.take(1);
      nowMs += 60_001;
      const [owner] = await stores[1]!.take(1);
      const results = await Promise.all([
        finish(stores[0]!, zombie!, '1', 'old'),
        finish(stores[1]!, owner!, '1', 'new'),
      ]);
      expect(results).toMatchObject([{ outcome: 'refused', reason: 'fenced' }, { outcome: 'published' }]);
    });

    test('of many at once by all keep sequences whole and each key in order', async () => {
      const ids = range(60).map(String);
      for (const content of ['a', 'b', 'c']) {
        await put(stores[0]!, ids);
        const taken = await Promise.all(stores.map((store) => store.take(20)));
        await Promise.all(
          taken.flatMap((tasks, index) =>
            tasks.map((task) => finish(stores[index]!, task, task.address.split('/').at(-1)!, content)),
          ),
        );
        nowMs += 1000;
      }
      const byKey = Map.groupBy(await stores[0]!.pickUnsent(1000, 1e9, []), ({ key }) => key);
      expect(byKey.size).toBe(60);
      for (const rows of byKey.values()) expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    });
  });

  test('positions become visible in their order, whoever gives them', async () => {
    await put(stores[0]!, range(30).map(String));
    for (const task of await stores[0]!.take(30)) {
      await finish(stores[0]!, task, task.address.split('/').at(-1)!, 'a');
    }
    const rows = await stores[0]!.pickUnsent(100, 1e9, []);
    await Promise.all(rows.map((record, index) => stores[index % 3]!.markSent([sentTo(record, null, null)])));
    const { events } = await stores[0]!.listEvents({
      after: 0,
      limit: 100,
      type: null,
      organizationId: null,
    });
    expect(events.map(({ position }) => position)).toEqual(range(30).map((index) => index + 1));
  });

  /** Long values stand in pieces beside their table; the newest such value loses them. Only a table can be changed. */
  async function loseLastPieceOf(table: string): Promise<void> {
    const name = new URL(url).pathname.slice(1);
    const [beside] = await server.query(
      `SELECT reltoastrelid::int AS id, reltoastrelid::regclass::text AS name FROM pg_class WHERE relname = '${table}'`,
      name,
    );
    const become = (kind: string) => `UPDATE pg_class SET relkind = '${kind}' WHERE oid = ${beside!.id}`;
    const lose = `DELETE FROM ${beside!.name} WHERE chunk_id = (SELECT max(chunk_id) FROM ${beside!.name})`;
    await server.query(`SET allow_system_table_mods = on; ${become('r')}; ${lose}; ${become('t')}`, name);
    // Until then the pieces are still found.
    await server.query(`VACUUM ${beside!.name}`, name);
  }

  test('D10: a record whose value the server cannot put together any more is set aside alone', async () => {
    const [store] = stores as [Store];
    await put(store, ['1', '2', '3']);
    for (const task of await store.take(3)) {
      // Too long for its row, and not to be pressed into it.
      const content = randomBytes(6000).toString('base64');
      await finish(store, task, task.address.split('/').at(-1)!, content);
    }
    await loseLastPieceOf('outbox');
    const rows = await store.pickUnsent(10, 1e9, []);
    expect(rows.map(({ key }) => key)).toEqual(['4711/equipment/1', '4711/equipment/2']);
    expect(await store.listQuarantine({ limit: 10, after: null })).toMatchObject([
      { what: 'record', reason: 'record-refused', detail: expect.stringContaining('missing chunk') },
    ]);
    expect(await store.pickUnsent(10, 1e9, [])).toEqual(rows);
  });

  test('of records that are found on a topic, one that cannot be put together here any more is published anew', async () => {
    const [store] = stores as [Store];
    await put(store, ['1', '2']);
    for (const task of await store.take(2)) {
      const content = randomBytes(6000).toString('base64');
      await finish(store, task, task.address.split('/').at(-1)!, content);
    }
    const rows = await store.pickUnsent(10, 1e9, []);
    await loseLastPieceOf('outbox');
    const records = rows.map(({ key, sequence, eventId, headers, value }, at) => ({
      ...{ key, sequence, eventId, offset: String(at) },
      bytesHash: bytesHashOf(JSON.stringify(headers), value),
      deleted: false,
    }));
    const topic = 'tramline.equipment.v1';
    expect(await store.noteFound({ topic, partition: 0, from: null, nextOffset: '2', records })).toBe(1);
    expect(await store.unsentCount()).toBe(0);
    const { events } = await store.listEvents({ after: 0, limit: 9, type: null, organizationId: null });
    expect(events.map(({ record }) => record.key)).toEqual(['4711/equipment/1']);
  });

  /** Until so many wait for a lock. */
  const untilWaiting = (client: Client, count: number) =>
    until(
      async () => {
        const { rows } = await client.query('SELECT 1 FROM pg_locks WHERE NOT granted');
        return rows.length >= count;
      },
      { withinMs: 2000, what: `${count} to wait` },
    );

  test('who finds records of a topic gone waits for who is giving numbers, and whoever comes later gets one above', async () => {
    const [finder, other] = stores as [Store, Store];
    await put(other, ['1', '2']);
    const [one, two] = await other.take(2);
    const giving = new Client({ connectionString: url });
    await giving.connect();
    await giving.query('BEGIN');
    // Above what the clock would say.
    await giving.query(`INSERT INTO sequences (key, sequence) VALUES ('4711/equipment/9', 2000000000001)`);
    const page = {
      topic: 'tramline.equipment.v1',
      partition: 0,
      from: null,
      nextOffset: '20',
      records: [],
      lost: 20,
    };
    const found = finder.noteFound(page);
    await untilWaiting(giving, 1);
    const later = finish(other, one!, '1', 'a');
    await untilWaiting(giving, 2);
    await giving.query('COMMIT');
    await giving.end();
    await Promise.all([found, later]);
    await finder.allFound();
    await finish(other, two!, '2', 'a');
    const rows = await finder.pickUnsent(10, 1e9, []);
    expect(rows.map(({ sequence }) => sequence)).toEqual([2_000_000_000_022, 2_000_000_000_022]);
  });

  test('who finds records gone locks what came to wait meanwhile in the order of everybody, and meets no deadlock', async () => {
    const [finder, other] = stores as [Store, Store];
    // The order of their tasks is another than that of their ids, and than that in which they were read.
    await put(other, ['2', '1']);
    const taken = new Map((await other.take(2)).map((task) => [task.address, task]));
    for (const id of ['1', '2']) await finish(other, taken.get(address(id))!, id, 'a');
    const sent = await other.pickUnsent(10, 1e9, []);
    await other.markSent(sent.map((record, at) => sentTo(record, 0, `${at}`)));
    const [giving, reader] = [0, 1].map(() => new Client({ connectionString: url })) as [Client, Client];
    await Promise.all([giving.connect(), reader.connect()]);
    await giving.query(`BEGIN; INSERT INTO sequences (key, sequence) VALUES ('4711/equipment/9', 1)`);
    await giving.query('UPDATE outbox SET state = 0');
    const page = {
      topic: 'tramline.equipment.v1',
      partition: 0,
      from: null,
      nextOffset: '5',
      records: [],
      lost: 5,
    };
    const found = finder.noteFound(page);
    await untilWaiting(giving, 1);
    const lock = (id: string) =>
      reader.query('SELECT FROM tasks WHERE resource_id = $1 FOR NO KEY UPDATE', [id]);
    await reader.query(`BEGIN; SET LOCAL deadlock_timeout = '10ms'`);
    await lock('2');
    await giving.query('COMMIT');
    await untilWaiting(giving, 1);
    expect((await lock('1')).rowCount).toBe(1);
    await reader.query('COMMIT');
    await Promise.all([found, giving.end(), reader.end()]);
    expect(await finder.pickUnsent(10, 1e9, [])).toEqual([]);
  });

  test('a first read that ends while its key’s records are being noted is published above them', async () => {
    const [finder, other] = stores as [Store, Store];
    await put(other, ['2']);
    const [task] = await other.take(1);
    // Whoever notes a page has looked at its resources, and waits for the number of another key.
    const giving = new Client({ connectionString: url });
    await giving.connect();
    await giving.query(`BEGIN; INSERT INTO sequences (key, sequence) VALUES ('4711/equipment/1', 1)`);
    const records = ['1', '2'].map((id) => ({
      ...{ key: `4711/equipment/${id}`, sequence: 3, offset: id, eventId: `stranger${id}` },
      ...{ bytesHash: '', deleted: false },
    }));
    const topic = 'tramline.equipment.v1';
    const found = finder.noteFound({ topic, partition: 0, from: null, nextOffset: '3', records });
    await untilWaiting(giving, 1);
    await finish(other, task!, '2', 'a');
    await giving.query('COMMIT');
    await giving.end();
    await found;
    await finder.allFound();
    expect(await other.pickUnsent(10, 1e9, [])).toEqual([]);
    nowMs += 2000;
    await put(other, ['2']);
    const [again] = await other.take(1);
    await finish(other, again!, '2', 'a');
    expect(await other.pickUnsent(10, 1e9, [])).toMatchObject([{ key: '4711/equipment/2', sequence: 4 }]);
  });

  describe('what is acknowledged and what is found of one partition is noted in one order, and meets no deadlock', () => {
    const place = { topic: 'tramline.equipment.v1', partition: 0 };
    let rows: OutboxRow[];
    let holder: Client;
    beforeEach(async () => {
      const [store] = stores as [Store];
      for (const id of ['1', '2', '3']) {
        await put(store, [id]);
        const [task] = await store.take(1);
        await finish(store, task!, id, 'a');
      }
      const [first, ...others] = await store.pickUnsent(10, 1e9, []);
      await store.markSent([sentTo(first!, 0, '0')]);
      rows = others;
      holder = new Client({ connectionString: url });
      await holder.connect();
      await holder.query(`BEGIN; SET LOCAL deadlock_timeout = '10ms'`);
    });
    afterEach(() => holder.end());

    const lockRow = ({ row }: OutboxRow) =>
      holder.query('SELECT FROM outbox WHERE id = $1 FOR NO KEY UPDATE', [row]);
    const lockEnd = () => holder.query('SELECT FROM topic_ends FOR NO KEY UPDATE');
    const lockPosition = () => holder.query(`SELECT FROM meta WHERE name = 'position' FOR NO KEY UPDATE`);

    test.each([
      ['found', 0],
      ['overtaken', 1],
    ])('where a row that is %s is being marked', async (_what, nth) => {
      const [known, overtaken] = rows as [OutboxRow, OutboxRow];
      const bytesHash = bytesHashOf(JSON.stringify(known.headers), known.value);
      const records = [
        { ...known, offset: '1', bytesHash, deleted: false },
        { ...overtaken, sequence: 5, offset: '2', eventId: 'stranger', bytesHash: '', deleted: false },
      ];
      await lockRow(rows[nth]!);
      const found = stores[0]!.noteFound({ ...place, from: '1', nextOffset: '3', records });
      await untilWaiting(holder, 1);
      expect((await lockEnd()).rowCount).toBe(1);
      expect((await lockPosition()).rowCount).toBe(1);
      await holder.query('COMMIT');
      expect(await found).toBe(1);
      expect(await stores[0]!.pickUnsent(10, 1e9, [])).toEqual([]);
    });

    test('where the end is being noted', async () => {
      await lockEnd();
      const marked = stores[0]!.markSent([sentTo(rows[0]!, 0, '1')]);
      await untilWaiting(holder, 1);
      expect((await lockPosition()).rowCount).toBe(1);
      await holder.query('COMMIT');
      await marked;
      expect(await stores[0]!.topicEnds()).toMatchObject([{ nextOffset: '2' }]);
    });
  });

  test.each([
    ['a read', async (store: Store) => void (await put(store, ['2']))],
    [
      'a listing',
      async (store: Store) => {
        const { run } = await store.beginRun({ organizationId: null, full: false });
        const { listings, revision } = await store.openListings(run, [
          { scope: '4711', organizationId: '4711' },
        ]);
        const of = { run, revision, listingId: listings[0]!.id, connectionId: 'c1', from: null };
        expect(await store.compareListed(run, of.listingId, [listedAs('2', 'a')], 'c1')).toEqual([0]);
        const after = { end: true, whole: true, changeToken: null } as const;
        await store.finishPage({ ...of, drafts: [draftOf('2', 'a')], hints: [], after });
      },
    ],
  ])(
    'what is published first while the place that it left is being noted leaves that at %s',
    async (_what, shown) => {
      const [finder, other] = stores as [Store, Store];
      await put(other, ['2']);
      const [task] = await other.take(1);
      // The last that an ending waits for.
      const holder = new Client({ connectionString: url });
      await holder.connect();
      await holder.query(`BEGIN; SELECT FROM lanes FOR UPDATE`);
      const ended = finish(other, task!, '2', 'a');
      await untilWaiting(holder, 1);
      const record = { key: '9999/equipment/2', sequence: 3, offset: '0', eventId: 'stranger' };
      const records = [{ ...record, bytesHash: '', deleted: false }];
      await finder.noteFound({
        topic: 'tramline.equipment.v1',
        partition: 0,
        from: null,
        nextOffset: '1',
        records,
      });
      await holder.query('COMMIT');
      await holder.end();
      await ended;
      await finder.allFound();
      const [first] = await other.pickUnsent(10, 1e9, []);
      await other.markSent([sentTo(first!, 0, '1')]);
      nowMs += 2000;
      await shown(other);
      const [again] = await other.take(1);
      await finish(other, again!, '2', 'a');
      expect(await other.pickUnsent(10, 1e9, [])).toMatchObject([
        { key: '9999/equipment/2', sequence: 4 },
        { key: '4711/equipment/2', sequence: 2 },
      ]);
      nowMs += 2000;
      await put(other, ['2']);
      const [third] = await other.take(1);
      expect(await finish(other, third!, '2', 'a')).toMatchObject({ outcome: 'unchanged' });
    },
  );

  /** `act` of another process begins while records are found gone, and has to wait for that. */
  async function besideLost(act: () => Promise<unknown>): Promise<void> {
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE listings IN ACCESS EXCLUSIVE MODE');
    const page = {
      topic: 'tramline.equipment.v1',
      partition: 0,
      from: null,
      nextOffset: '0',
      records: [],
      lost: 5,
    };
    const found = stores[0]!.noteFound(page);
    await untilWaiting(holder, 1);
    const acted = act();
    await untilWaiting(holder, 2);
    await holder.query('COMMIT');
    await holder.end();
    await Promise.all([found, acted]);
  }

  /** An event that waits to be sent. */
  async function decided(store: Store): Promise<OutboxRow> {
    await put(store, ['1']);
    const [one] = await store.take(1);
    await finish(store, one!, '1', 'a');
    const [event] = await store.pickUnsent(10, 1e9, []);
    return event!;
  }

  test('a refused record that is released while records are found gone does not go out below them', async () => {
    const other = stores[1]!;
    const event = await decided(other);
    await other.quarantineRecord(event, 'record-refused', 'x');
    const [entry] = await other.listQuarantine({ limit: 9, after: null });
    await besideLost(() => other.releaseQuarantine(entry!.id));
    expect(await other.pickUnsent(10, 1e9, [])).toEqual([]);
  });

  test('a replay that begins while records are found gone sends nothing again below them', async () => {
    const other = stores[1]!;
    const event = await decided(other);
    await other.markSent([sentTo(event, 0, '0')]);
    await besideLost(async () =>
      other.resendNewest({ ...(await other.beginReplay('x')), from: 0 }, [event.row]),
    );
    expect(await other.pickUnsent(10, 1e9, [])).toEqual([]);
  });

  test('the first success after a refused client key makes the rest due for all, and what others remember of it is over', async () => {
    const [first, second] = (stores as [Store, Store]).map((store) => ({
      store,
      health: makeProviderHealth(),
    }));
    const clock = { nowMs: () => nowMs };
    type Process = NonNullable<typeof first>;
    const hear = async ({ store, health }: Process, task: TakenTask, answer: Answer) => {
      let made: Promise<unknown> = Promise.resolve();
      await hearAnswer(task, answer, {
        health,
        nowMs,
        refuseGrant: async () => {},
        outageEnded: () => {},
        clientServed: (refusedAtMs) => {
          made = store.hastenRefused(refusedAtMs);
        },
      });
      await made;
    };
    await put(first!.store, ['1', '2', '3']);
    for (const task of await first!.store.take(3)) {
      await hear(first!, task, { kind: 'client-refused', connectionId: 'c1', message: 'a scope is missing' });
      const waits = {
        dueInMs: task.taskId * 10_000,
        own: false,
        agedMs: 0,
        code: 'client-refused',
        detail: null,
      };
      await first!.store.postpone({ ...heldBy(task), ...waits });
    }
    nowMs += 10_000;
    const [trial, ...others] = await second!.store.take(3);
    expect(others).toEqual([]);
    const document = { body: {}, address: trial!.address, mediaType: 'application/json', connectionId: 'c1' };
    await hear(second!, trial!, { kind: 'ok', document });
    expect(await first!.store.take(3)).toHaveLength(2);
    expect(first!.health.troubles(nowMs)).toHaveLength(1);
    await heedRefusals(first!, first!, clock);
    expect(first!.health.troubles(nowMs)).toEqual([]);
  });

  test('equipment that calls of one moment name is kept by one transaction, and each gets its own', async () => {
    const pieces = range(20).map((id) => ({
      side: 'new' as const,
      id: String(id),
      organizationId: '4711',
      principalId: null,
      erid: `e${id}`,
      serialNumber: null,
    }));
    const known = await Promise.all(pieces.map((piece) => stores[0]!.nameEquipment([piece])));
    expect(known).toEqual(pieces.map(({ id }) => [{ id, principalId: null }]));
    const sql = 'SELECT DISTINCT xmin::text FROM equipment';
    expect(await server.query(sql, new URL(url).pathname.slice(1))).toHaveLength(1);
  });

  test('equipment that is new waits for who adds some, and what is known for nobody', async () => {
    const name = new URL(url).pathname.slice(1);
    const piece = (id: string): EquipmentNames => ({
      ...{ side: 'new', id, organizationId: '4711', principalId: '82001' },
      ...{ erid: 'e1', serialNumber: 's1' },
    });
    const [known] = await stores[0]!.nameEquipment([piece('217001')]);
    const adding = new Client({ connectionString: url });
    await adding.connect();
    await adding.query(`BEGIN; SELECT pg_advisory_xact_lock(${lockNumbers.equipmentNames})`);
    // Of what was said before, a record may leave out all but its id.
    const bare = { ...piece('217001'), principalId: null, erid: null, serialNumber: null };
    for (const asked of [piece('217001'), bare])
      expect(await stores[1]!.nameEquipment([asked])).toMatchObject([{ id: known!.id }]);
    const naming = stores[2]!.nameEquipment([{ ...piece('217001'), serialNumber: 's2' }]);
    const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND wait_event = 'advisory'`;
    await until(async () => (await server.query(waits)).length === 1, { withinMs: 10_000 });
    await adding.query('COMMIT');
    await adding.end();
    expect(await naming).toEqual([known]);
  });

  test('a piece of equipment that two processes meet at once under two ids is one', async () => {
    const ids = range(20).map((id) => [`${id}-old`, `${id}-new`] as const);
    const known = await Promise.all(
      ids.map(([older, newer]) => {
        const piece = { organizationId: '4711', erid: `e-${older}`, serialNumber: null };
        return Promise.all([
          stores[0]!.nameEquipment([{ ...piece, id: older, side: 'old', principalId: null }]),
          stores[1]!.nameEquipment([{ ...piece, id: newer, side: 'new', principalId: older }]),
        ]);
      }),
    );
    for (const [[one], [two]] of known) expect(one!.id).toBe(two!.id);
  });

  test('a store that accepts rings for one that waits', async () => {
    let hear: (news: string) => void = () => {};
    const heard = new Promise<string>((resolve) => {
      hear = resolve;
    });
    await stores[1]!.heed((news) => hear(news));
    await put(stores[0]!, ['1']);
    expect(await heard).toBe('work');
    expect((await stores[1]!.take(1))[0]!.address).toBe(address('1'));
  });

  test('after connections went silent one call fails, and none of the idle ones fails another', async () => {
    const proxy = await startPostgresProxy(Number(new URL(url).port));
    const behind = new URL(url);
    behind.port = String(proxy.port);
    const database = openDatabase({ url: behind.href, connections: 4 });
    const connected = jest.spyOn(Socket.prototype, 'connect');
    const ask = () => database.transact((statements) => statements.get('SELECT pg_backend_pid() AS of'));
    const askFour = async () =>
      new Set((await Promise.all(range(4).map(ask))).map((row) => row!.of as number));
    try {
      const before = await askFour();
      expect(before.size).toBe(4);
      const ours = connected.mock.contexts.filter(
        (_, nth) => Number(connected.mock.calls[nth]![0]) === proxy.port,
      );
      expect(ours).toHaveLength(4);
      proxy.silence();
      await expect(ask()).rejects.toMatchObject({ code: 'store.unavailable', message: 'Query read timeout' });
      const after = await askFour();
      expect([...after].filter((one) => before.has(one))).toEqual([]);
      // One that waited for a goodbye would keep an ended process alive for minutes.
      expect((ours as Socket[]).map(({ destroyed }) => destroyed)).toEqual([true, true, true, true]);
    } finally {
      connected.mockRestore();
      await proxy.close();
      await database.close();
    }
  });

  describe('a pool of two connections', () => {
    let database: Database;
    beforeEach(async () => {
      database = openDatabase({ url, connections: 2 });
    });
    afterEach(() => database.close());
    /** Which two they are: each is held until both are. */
    const askTwo = async () => {
      const pids = new Set<number>();
      const hold = (): Promise<void> =>
        database.transact(async (statements) => {
          pids.add(Number((await statements.get('SELECT pg_backend_pid() AS of'))!.of));
          await until(() => pids.size === 2, { withinMs: 10_000 });
        });
      await Promise.all([hold(), hold()]);
      return [...pids].sort();
    };

    test('keeps what is lent out while another connection is lost', async () => {
      const [lent, lost] = await askTwo();
      let went = () => {};
      const mayGo = new Promise<void>((go) => {
        went = go;
      });
      const pids: number[] = [];
      const holds = database.transact(async (statements) => {
        pids.push(Number((await statements.get('SELECT pg_backend_pid() AS of'))!.of));
        await mayGo;
      });
      await until(() => pids.length === 1, { withinMs: 10_000 });
      const [held] = pids;
      const other = held === lent ? lost : lent;
      const failed = database.transact((statements) =>
        statements.get('SELECT pg_terminate_backend(pg_backend_pid())'),
      );
      await expect(failed).rejects.toMatchObject({ code: 'store.unavailable' });
      went();
      await holds;
      const after = await askTwo();
      expect([after.includes(held!), after.includes(other!)]).toEqual([true, false]);
    });

    test('writes nothing for what still goes on when a fault of ours has ended its transaction', async () => {
      const note = `INSERT INTO meta (name, value) VALUES ($1, 1)`;
      const faulty = database.transact((statements) =>
        Promise.all([
          statements.run(note, 'of a fault').then(() => statements.run(note, 'after a fault')),
          Promise.reject(new TypeError('a fault')),
        ]),
      );
      await expect(faulty).rejects.toMatchObject({ message: 'a fault' });
      await askTwo();
      const count = `SELECT count(*) AS rows FROM meta WHERE name LIKE '% a fault'`;
      expect((await database.transact((statements) => statements.get(count)))!.rows).toBe(0);
    });

    test('takes back what left with a commit of which one statement failed, and tells that one', async () => {
      const note = `INSERT INTO meta (name, value) VALUES ($1, 1)`;
      const before = await askTwo();
      const failing = database.transact(async (statements) => {
        statements.last(note, 'one of the last');
        statements.last('SELECT 1 / $1::int', 0);
        statements.last(note, 'another of the last');
        await statements.run(note, 'before the last');
      });
      await expect(failing).rejects.toMatchObject({ code: 'store.refused', message: 'division by zero' });
      expect(await askTwo()).toEqual(before);
      const names = `SELECT name FROM meta WHERE name LIKE '% the last' ORDER BY name`;
      expect(await database.transact((statements) => statements.all(names))).toEqual([]);
      await database.transact(async (statements) => {
        statements.last(note, 'one of the last');
        await statements.run(note, 'before the last');
      });
      expect(await database.transact((statements) => statements.all(names))).toEqual([
        { name: 'before the last' },
        { name: 'one of the last' },
      ]);
    });

    test('does not take for committed what the server took back since nobody heard of a failure', async () => {
      const unheard = database.transact(async (statements) => {
        await statements.run('SELECT 1 / $1::int', 0).catch(() => {});
      });
      await expect(unheard).rejects.toMatchObject({ code: 'store.refused', message: 'division by zero' });
    });

    test('outlives a fault of ours, whose transaction is taken back', async () => {
      const before = await askTwo();
      const faulty = database.transact(async (statements) => {
        await statements.run(`INSERT INTO meta (name, value) VALUES ('of a fault', 1)`);
        throw new TypeError('a fault');
      });
      await expect(faulty).rejects.toMatchObject({ code: 'store.refused', message: 'a fault' });
      expect(await askTwo()).toEqual(before);
      const count = `SELECT count(*) AS rows FROM meta WHERE name = 'of a fault'`;
      const left = await database.transact((statements) => statements.get(count));
      expect(left!.rows).toBe(0);
    });
  });

  test('a store whose server says nothing any more ends soon, and no socket of it is left', async () => {
    const proxy = await startPostgresProxy(Number(new URL(url).port));
    const behind = new URL(url);
    behind.port = String(proxy.port);
    const connected = jest.spyOn(Socket.prototype, 'connect');
    let closed: Promise<void> | undefined;
    try {
      const store = await openPostgres(postgresSettingsFor(behind.href), () => nowMs);
      await store.heed(() => {});
      await Promise.all(range(4).map(() => store.ledger()));
      const ours = connected.mock.contexts.filter(
        (_, nth) => Number(connected.mock.calls[nth]![0]) === proxy.port,
      ) as Socket[];
      proxy.silence();
      closed = store.close();
      const open = () => ours.filter(({ destroyed }) => !destroyed).length;
      await until(() => open() === 0, { withinMs: 10_000, what: 'the sockets to be given up' });
    } finally {
      connected.mockRestore();
      await proxy.close();
      await closed;
    }
  });

  test('statements that are written to a connection which the server has ended are no fault of their call', async () => {
    const database = openDatabase({ url, connections: 1 });
    const end = `new (require('pg').Client)('${url}')`;
    try {
      const asked = database.transact(async (statements) => {
        const { of } = (await statements.get('SELECT pg_backend_pid() AS of'))!;
        // Nothing is heard of the end meanwhile.
        const script = `(async () => { const client = ${end}; await client.connect();
          await client.query('SELECT pg_terminate_backend(${of}, 10000)'); await client.end() })()`;
        expect(spawnSync(process.execPath, ['-e', script]).status).toBe(0);
        await Promise.all(range(3).map((at) => statements.get('SELECT $1::int', at)));
      });
      await expect(asked).rejects.toMatchObject({ code: 'store.unavailable' });
    } finally {
      await database.close();
    }
  });

  test('one that waits hears again after its connection went silent without an end', async () => {
    const proxy = await startPostgresProxy(Number(new URL(url).port));
    const behind = new URL(url);
    behind.port = String(proxy.port);
    const ringing = makeBell(postgresSettingsFor(url));
    const waiting = makeBell(postgresSettingsFor(behind.href), 100);
    try {
      let heard = 0;
      await waiting.heed(() => {
        heard += 1;
      });
      const ringUntilHeard = (more: number) =>
        until(
          () => {
            ringing.ring(['work']);
            return heard >= more;
          },
          { withinMs: 30_000, what: 'the bell' },
        );
      await ringUntilHeard(1);
      proxy.silence();
      await ringUntilHeard(heard + 1);
    } finally {
      await Promise.all([ringing.close(), waiting.close()]);
      await proxy.close();
    }
  });
});
