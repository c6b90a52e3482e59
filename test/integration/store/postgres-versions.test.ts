/**
 * T7: versions beside each other on one PostgreSQL. The version before the newest step of the schema works, then this one
 * is started and migrates under its feet: both go on, with each other's work, and nothing is lost or doubled. And no step
 * takes away, or begins to refuse, what a version before it writes.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Store } from '../../../src/model/store';
import { migrate } from '../../../src/store/postgres/migrate';
import { type Migration, migrations } from '../../../src/store/postgres/migrations';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { poolConfig } from '../../../src/store/postgres/server/database';
import { lockNumbers } from '../../../src/store/postgres/server/lock-numbers';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, draftOf, heldBy, hintOf, sentTo, sumOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { startPostgresProxy } from '../../support/postgres-proxy';
import { until } from '../../support/until';
import { unpackVersionBefore, versionBeforeAvailable } from '../../support/version-before';

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'versions of the scaled store', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ settings: { max_prepared_transactions: '2' } });
  });
  afterAll(() => server.stop());

  test('D6: whoever waits for its turn to migrate hears of a server that falls silent', async () => {
    const name = await server.createDatabase();
    const proxy = await startPostgresProxy(Number(new URL(server.url(name)).port));
    const migrating = new Client({ connectionString: server.url(name) });
    await migrating.connect();
    await migrating.query(`SELECT pg_advisory_lock(${lockNumbers.migration})`);
    const through = new URL(server.url(name));
    through.port = String(proxy.port);
    const waiting = migrate(poolConfig(postgresSettingsFor(through.href)));
    const refused = expect(waiting).rejects.toMatchObject({ code: 'store.unavailable' });
    const looks = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND query LIKE '%pg_try_advisory_lock%'
      AND pid <> pg_backend_pid()`;
    await until(async () => (await server.query(looks)).length > 0, { withinMs: 20_000 });
    proxy.silence();
    await refused;
    await migrating.end();
    await proxy.close();
  }, 30_000);

  test('a step that waits for a backup names its session, and so does who waits for another process to make the steps', async () => {
    const name = await server.createDatabase();
    const config = poolConfig(postgresSettingsFor(server.url(name)));
    await migrate(config);
    const backup = new Client({ connectionString: server.url(name), application_name: 'pg_dump' });
    await backup.connect();
    await backup.query('BEGIN; LOCK TABLE tasks IN ACCESS SHARE MODE');
    // Locks of this kind are each database's own: whoever migrates another one is waited for by nobody here.
    const elsewhere = new Client({ connectionString: server.url(await server.createDatabase()) });
    await elsewhere.connect();
    await elsewhere.query(`SELECT pg_advisory_lock(${lockNumbers.migration})`);
    const steps: Migration[] = [
      ...migrations,
      { name: '9000-wide', kind: 'expand', sql: 'ALTER TABLE tasks ADD wide INTEGER' },
    ];
    const told: string[][] = [[], []];
    const waits = told.map((words) => ({ tell: (detail: string) => words.push(detail), lookEveryMs: 50 }));
    const first = migrate(config, waits[0], steps);
    await until(async () => told[0]!.length > 0, { withinMs: 20_000 });
    const second = migrate(config, waits[1], steps);
    await until(async () => told[1]!.length > 0, { withinMs: 20_000 });
    await backup.query('COMMIT');
    await Promise.all([backup.end(), elsewhere.end()]);
    await Promise.all([first, second]);
    expect(told).toEqual([
      [expect.stringMatching(/which waits for session \d+ of the database \(pg_dump\)\.$/)],
      [expect.stringMatching(/which waits for session \d+ of the database \(tramline\)\.$/)],
    ]);
  }, 60_000);

  test.each<[string, Migration]>([
    ['a step', { name: '9000-wide', kind: 'expand', sql: 'ALTER TABLE tasks ADD wide INTEGER' }],
    ['an index', { name: '9000-wide', kind: 'expand', indexes: { wide: 'tasks (failed_at)' } }],
  ])(
    '%s that waits for what is prepared to be committed names that alone: it belongs to no session',
    async (_what, step) => {
      const name = await server.createDatabase();
      const config = poolConfig(postgresSettingsFor(server.url(name)));
      await migrate(config);
      const prepare = (table: string, gid: string) =>
        server.query(`BEGIN; LOCK TABLE ${table} IN ROW EXCLUSIVE MODE; PREPARE TRANSACTION '${gid}'`, name);
      await prepare('tasks', 'left');
      await prepare('hints', 'beside');
      const told: string[] = [];
      const waits = { tell: (detail: string) => told.push(detail), lookEveryMs: 50 };
      const migrating = migrate(config, waits, [...migrations, step]);
      await until(async () => told.length > 0, { withinMs: 20_000 });
      for (const gid of ['left', 'beside']) await server.query(`COMMIT PREPARED '${gid}'`, name);
      await migrating;
      expect(told).toEqual([
        expect.stringMatching(/which waits for the prepared transaction 'left' of \w+\.$/),
      ]);
    },
    60_000,
  );

  test('a step takes its time, whatever statements of the database or the role may take', async () => {
    const name = await server.createDatabase();
    await server.query(
      `ALTER DATABASE "${name}" SET statement_timeout = '1min'; ALTER DATABASE "${name}" SET lock_timeout = '1min'`,
    );
    const limits = `current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock`;
    const sql = `CREATE TABLE limits AS SELECT ${limits}`;
    await migrate(poolConfig(postgresSettingsFor(server.url(name))), null, [
      { name: '9000-told', kind: 'expand', sql },
    ]);
    expect(await server.query('SELECT * FROM limits', name)).toEqual([{ statement: '0', lock: '0' }]);
  });

  describeWithNeighbour('history', versionBeforeAvailable, 'the version before, and this one', () => {
    const before = { folder: '', remove: () => {} };
    beforeAll(() => void Object.assign(before, unpackVersionBefore()));
    afterAll(() => before.remove());

    const nowMs = Date.parse('2026-01-01T00:00:00Z');
    const ids = Array.from({ length: 20 }, (_, index) => String(index));
    let accepted = 0;

    /** Accepts a change of each resource, reads what is due, whoever accepted it, and sends what is decided. */
    async function work(store: Store, content: string): Promise<void> {
      for (const id of ids) {
        await store.put(deliveryOf(nowMs, [hintOf(id), hintOf(id, null)]));
        accepted += 2;
        await readAndSend(store, content);
      }
    }

    async function readAndSend(store: Store, content: string): Promise<number> {
      const tasks = await store.take(3);
      await Promise.all(
        tasks.map((task) =>
          store.finish({
            ...heldBy(task),
            draft: draftOf(task.address.split('/').at(-1)!, content),
            ...{ connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 0 },
          }),
        ),
      );
      const rows = await store.pickUnsent(100, 1e9, []);
      await store.markSent(rows.map((record) => sentTo(record, null, null)));
      return tasks.length;
    }

    test('T7: the newest schema is made while the older version works, and both go on with what each other left', async () => {
      const module = join(before.folder, 'src/store/postgres/open-postgres.ts');
      const older = (require(module) as { openPostgres: typeof openPostgres }).openPostgres;
      const name = await server.createDatabase();
      const settings = { ...postgresSettingsFor(server.url(name)), readGapMs: 0 };
      const made = async () => (await server.query('SELECT name FROM migrations ORDER BY name', name)).length;
      const first = await older(settings, () => nowMs);
      expect(await made()).toBeLessThan(migrations.length);
      await work(first, 'before');

      const [newer] = await Promise.all([openPostgres(settings, () => nowMs), work(first, 'meanwhile')]);
      expect(await made()).toBe(migrations.length);
      await Promise.all([work(first, 'older'), work(newer, 'newer')]);
      // As in a rollout that is held: one of the older version is started anew, on the newer schema.
      await first.close();
      const again = await older(settings, () => nowMs);
      await Promise.all([work(again, 'older again'), work(newer, 'newer again')]);
      for (const store of [again, newer]) while ((await readAndSend(store, 'last')) > 0);

      for (const store of [again, newer]) {
        const ledger = await store.ledger();
        expect(ledger).toMatchObject({ accepted, waiting: 0, quarantined: 0 });
        expect(sumOf(ledger)).toBe(accepted);
        const { events } = await store.listEvents({
          ...{ after: 0, limit: 1000, type: null, organizationId: null },
        });
        const byKey = Map.groupBy(events, ({ record }) => record.key);
        expect(byKey.size).toBe(ids.length);
        for (const of of byKey.values()) {
          const sequences = of.map(
            ({ record }) => record.headers.find(([each]) => each === 'ce_sequence')![1],
          );
          expect(sequences.map(Number)).toEqual(of.map((_, index) => index + 1));
        }
      }
      await Promise.all([again.close(), newer.close()]);
    });

    test('T7: what the version before puts off, since this one has read it, this one reads at once', async () => {
      const module = join(before.folder, 'src/store/postgres/open-postgres.ts');
      const older = (require(module) as { openPostgres: typeof openPostgres }).openPostgres;
      const name = await server.createDatabase();
      const settings = { ...postgresSettingsFor(server.url(name)), readGapMs: 0 };
      const newer = await openPostgres(settings, () => nowMs);
      const beside = await older(settings, () => nowMs);
      const read = { connectionId: 'c1', traceparent: null, reconciled: false, settleMs: 0 };
      const draft = (content: string, normalizerVersion: number) =>
        draftOf('1', content, { normalizerVersion });

      await newer.put(deliveryOf(nowMs, [hintOf('1')]));
      const [first] = await newer.take(1);
      await newer.finish({ ...heldBy(first!), ...read, draft: draft('a', 3) });
      await newer.put(deliveryOf(nowMs, [hintOf('1')]));
      const [task] = await beside.take(1);
      expect(await beside.finish({ ...heldBy(task!), ...read, draft: draft('b', 2) })).toMatchObject({
        reason: 'older-normalizer',
      });
      const [again] = await newer.take(1);
      expect(again).toMatchObject({ taskId: task!.taskId });
      expect(await newer.finish({ ...heldBy(again!), ...read, draft: draft('b', 3) })).toMatchObject({
        outcome: 'published',
      });
      await Promise.all([newer.close(), beside.close()]);
    });
  });

  /** Two normalizers of this build on a database of their own. */
  async function openTwoVersions() {
    const name = await server.createDatabase();
    const settings = { ...postgresSettingsFor(server.url(name)), readGapMs: 0 };
    const open = (normalizerVersion: number) =>
      openPostgres({ ...settings, normalizerVersion }, () => Date.now());
    const [older, newer] = await Promise.all([open(1), open(2)]);
    return { name, older, newer };
  }

  test('T7: of two versions beside each other the newer takes at once what the older left to it', async () => {
    const { older, newer } = await openTwoVersions();
    const ids = ['1', '2', '3'];
    const hints = deliveryOf(Date.now(), [...ids.map((id) => hintOf(id)), hintOf('new', '99')]);
    let woken = 0;
    await newer.heed((news) => {
      if (news === 'work') woken += 1;
    });
    const rings = (times: number) => until(async () => woken >= times, { withinMs: 10_000 });
    await newer.put(hints);
    await rings(1);
    for (const task of await newer.take(10)) {
      const id = task.address.split('/').at(-1)!;
      if (id === 'new') continue;
      const draft = draftOf(id, 'a', { normalizerVersion: 2 });
      await newer.finish({
        ...{ ...heldBy(task), draft, connectionId: 'c1', traceparent: null },
        ...{ reconciled: false, settleMs: 0 },
      });
    }
    const heard = woken;
    await older.put(hints);
    await rings(heard + 1);
    expect(await older.take(10)).toEqual([]);
    // Nothing of it is due, so that the older one does not look again and again.
    expect(await older.nextDueInMs('task')).toBeGreaterThan(10_000);
    expect((await newer.take(10)).map((task) => task.address.split('/').at(-1))).toEqual(ids);
    await Promise.all([older.close(), newer.close()]);
  });

  test('T7: neither of two versions undoes what the other did: the newer has back what it takes, in turns, and no more', async () => {
    const { name, older, newer } = await openTwoVersions();
    const many = Array.from({ length: 40 }, (_, index) => hintOf(`many-${index}`));
    await newer.put(deliveryOf(Date.now(), [...many, hintOf('one', '99')]));
    await server.query('UPDATE tasks SET normalizer_version = 2', name);
    const left = async () => {
      const [row] = await server.query(
        `SELECT count(*)::int AS left FROM tasks WHERE code = 'older-normalizer'`,
        name,
      );
      return row!.left;
    };
    const news: string[] = [];
    await newer.heed((each) => news.push(each));

    expect(await older.take(3)).toEqual([]);
    expect(await left()).toBe(41);
    // However many wait in one organization, the other has its turn.
    const owners = (await newer.take(2)).map(({ hintedOrganizationId }) => hintedOrganizationId);
    expect(owners.sort()).toEqual(['4711', '99']);
    expect(await left()).toBe(39);
    for (const still of [36, 33]) {
      expect(await older.take(3)).toEqual([]);
      expect(await newer.take(3)).toHaveLength(3);
      expect(await left()).toBe(still);
    }
    // Word that was sent before is heard before: none of these claims sent any.
    await older.put(deliveryOf(Date.now(), [hintOf('another')]));
    await until(async () => news.length > 0, { withinMs: 10_000 });
    expect(news).toEqual(['work']);
    await Promise.all([older.close(), newer.close()]);
  });

  describe('the schema', () => {
    type Column = { in: string; name: string; type: string; nullable: boolean; given: boolean };
    type Rule = { in: string; says: string };

    /** What a version that was written for it relies on: columns as they are, and what may refuse a row. And all indexes. */
    async function schemaOf(name: string): Promise<{ columns: Column[]; rules: Rule[]; indexes: Rule[] }> {
      const columns = await server.query(
        `SELECT table_name AS in, column_name AS name, data_type AS type, is_nullable = 'YES' AS nullable,
           column_default IS NOT NULL OR is_identity = 'YES' AS given
         FROM information_schema.columns WHERE table_schema = 'public'`,
        name,
      );
      const rules = await server.query(
        `SELECT conrelid::regclass::text AS in, pg_get_constraintdef(oid) AS says FROM pg_constraint WHERE conrelid <> 0 AND contype IN ('c', 'f', 'x')
         UNION ALL SELECT tablename, indexdef FROM pg_indexes JOIN pg_class ON relname = indexname
           JOIN pg_index ON indexrelid = pg_class.oid WHERE schemaname = 'public' AND indisunique
         UNION ALL SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal`,
        name,
      );
      const indexes = await server.query(
        `SELECT tablename AS in, indexdef AS says FROM pg_indexes WHERE schemaname = 'public'`,
        name,
      );
      return { columns: columns as Column[], rules: rules as Rule[], indexes: indexes as Rule[] };
    }

    /** Those of `all` that are not among `others`. */
    function without<Row extends object>(all: Row[], others: Row[]): Row[] {
      const texts = new Set(others.map((row) => JSON.stringify(row)));
      return all.filter((row) => !texts.has(JSON.stringify(row)));
    }

    /** What each step from the one at `first` does to whoever was written for the schema before it. */
    async function harmsOf(steps: Migration[], first: number) {
      const name = await server.createDatabase();
      const config = poolConfig({ url: server.url(name), connections: 1 });
      await migrate(config, null, steps.slice(0, first));
      let before = await schemaOf(name);
      const harms: { step: Migration; lost: Column[]; wanted: Column[]; rules: Rule[]; held: Rule[] }[] = [];
      for (const [index, step] of steps.entries()) {
        if (index < first) continue;
        await migrate(config, null, steps.slice(0, index + 1));
        const after = await schemaOf(name);
        const known = new Set(before.columns.map((column) => column.in));
        const added = without(after.columns, before.columns).filter((column) => known.has(column.in));
        const rules = after.rules.filter((rule) => known.has(rule.in));
        harms.push({
          step,
          lost: without(before.columns, after.columns),
          // Who does not know of it adds rows all the same.
          wanted: added.filter(({ nullable, given }) => !nullable && !given),
          rules: [...without(before.rules, rules), ...without(rules, before.rules)],
          // Whoever writes to the table waits until the index is there.
          held:
            'sql' in step
              ? without(after.indexes, before.indexes).filter((index) => known.has(index.in))
              : [],
        });
        before = after;
      }
      expect(before.columns.length).toBeGreaterThan(100);
      await server.dropDatabase(name);
      return harms;
    }

    test('T7: is left as an older version reads and writes it by every step that expands', async () => {
      for (const { step, held: _held, ...harm } of await harmsOf(migrations, 1))
        if (step.kind === 'expand')
          expect({ step: step.name, ...harm }).toEqual({ step: step.name, lost: [], wanted: [], rules: [] });
    });

    test('T7: is indexed while others write, since tables may be large', async () => {
      const holding = (await harmsOf(migrations, 1)).filter(({ held }) => held.length > 0);
      // These were made before any table was.
      expect(holding.map(({ step }) => step.name)).toEqual([
        '0002-sync',
        '0011-refused',
        '0013-journeys',
        '0014-expired',
        '0015-pending',
      ]);
    });

    test.each([
      ['takes a column away', 'ALTER TABLE tasks DROP COLUMN hinted_user', 'lost'],
      ['names a column otherwise', 'ALTER TABLE tasks RENAME COLUMN hinted_user TO user_name', 'lost'],
      ['makes a column another type', 'ALTER TABLE tasks ALTER COLUMN attempts TYPE TEXT', 'lost'],
      ['takes a default away', 'ALTER TABLE tasks ALTER COLUMN attempts DROP DEFAULT', 'lost'],
      ['takes a table away', 'DROP TABLE provider_calls', 'lost'],
      ['wants what nobody gives', 'ALTER TABLE tasks ADD COLUMN later TEXT NOT NULL', 'wanted'],
      ['refuses a value', 'ALTER TABLE tasks ADD CHECK (attempts < 10)', 'rules'],
      ['refuses a second row', 'CREATE UNIQUE INDEX more ON tasks (address)', 'rules'],
      ['indexes a table and lets nobody write', 'CREATE INDEX more ON tasks (attempts)', 'held'],
      ['takes away what rows are told apart by', 'DROP INDEX tasks_resource', 'rules'],
    ] as const)('is not left so by a step that %s', async (_what, sql, how) => {
      const steps = [...migrations, { name: '9001-bad', kind: 'expand' as const, sql }];
      const [harm] = await harmsOf(steps, migrations.length);
      expect(harm![how].length).toBeGreaterThan(0);
    });

    describeWithNeighbour('history', versionBeforeAvailable, 'and the version before its newest step', () => {
      const before = { folder: '', remove: () => {} };
      beforeAll(() => void Object.assign(before, unpackVersionBefore()));
      afterAll(() => before.remove());

      /** Names that the statements of that version hold; its steps do not count. */
      function usedBefore(lost: Column[]): string[] {
        const folder = join(before.folder, 'src/store/postgres');
        const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
          (file) => file.endsWith('.ts') && !/^migrations|-schema/.test(file),
        );
        const words = new Set(
          files.flatMap((file) => readFileSync(join(folder, file), 'utf8').match(/\w+/g)),
        );
        return lost.map(({ name }) => name).filter((name) => words.has(name));
      }

      test('T7: holds no step that was edited after it had landed', () => {
        const { migrations: older } = require(join(before.folder, 'src/store/postgres/migrations.ts'));
        expect(migrations.slice(0, older.length)).toEqual(older);
        expect(older.length).toBeLessThan(migrations.length);
      });

      test('T7: loses nothing that this version uses by a step that contracts', async () => {
        const drop = {
          name: '9001-bad',
          kind: 'contract' as const,
          sql: 'ALTER TABLE tasks DROP COLUMN hinted_user',
        };
        const [bad] = await harmsOf([...migrations, drop], migrations.length);
        expect(usedBefore(bad!.lost)).toEqual(['hinted_user']);
        const [newest] = await harmsOf(migrations, migrations.length - 1);
        expect(usedBefore(newest!.lost)).toEqual([]);
      });
    });
  });
});
