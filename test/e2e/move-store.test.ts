/**
 * `tramline migrate --from --to` as a process that is interrupted and killed in the middle and repeated: the next goes on where
 * the last was, every row arrives, and the store that was moved refuses to be served. One that is damaged is not begun with.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { openStoreHere } from '../../src/store/open-store';
import { openPostgres } from '../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../contract/open-postgres';
import { settingsFor } from '../contract/open-sqlite';
import { deliveryOf, hintOf } from '../contract/store-hand';
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { endWithRunner } from '../support/reaper';
import { repositoryRoot } from '../support/repository';
import { until } from '../support/until';

const aliases = 60_000;
/** Whoever writes to this table once something stands in it waits until nobody holds the lock. */
const holding = `CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (SELECT 1 FROM aliases) THEN PERFORM pg_advisory_xact_lock(1); END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER held BEFORE INSERT ON aliases FOR EACH STATEMENT EXECUTE FUNCTION waits()`;
const commandLine = join(repositoryRoot(), 'dist', 'src', 'cli.js');

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a move', () => {
  let server: PostgresServer;
  let folder: string;
  beforeAll(async () => {
    server = await startPostgres();
    folder = mkdtempSync(join(tmpdir(), 'tramline-move-'));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const env = { PATH: process.env.PATH };

  /** A store of some pages, and the words that move it to where the second page of one table waits until it is let go. */
  async function held(name: string) {
    const file = join(folder, `${name}.db`);
    const store = openStoreHere(settingsFor(file), Date.now);
    await store.put(deliveryOf(Date.now(), [hintOf('1'), hintOf('2')]));
    await store.close();
    const filling = new DatabaseSync(file);
    filling.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${aliases})
      INSERT INTO aliases SELECT 'https://provider.example/more/' || i, 1 FROM n`);
    filling.close();
    const database = await server.createDatabase();
    await (await openPostgres(postgresSettingsFor(server.url(database)), Date.now)).close();
    const holder = new Client({ connectionString: server.url(database) });
    await holder.connect();
    await holder.query(`${holding}; SELECT pg_advisory_lock(1)`);
    const copied = async (): Promise<number> => {
      const [row] = await server
        .query(`SELECT rows::int AS rows FROM moves WHERE name = 'aliases'`, database)
        .catch(() => []);
      return (row?.rows as number | undefined) ?? 0;
    };
    return {
      file,
      database,
      words: [commandLine, 'migrate', '--from', `sqlite:${file}`, '--to', server.url(database), '--json'],
      copied,
      untilHeld: () => until(async () => (await copied()) > 0, { what: 'a part there', withinMs: 20_000 }),
      async letGo() {
        await holder.query('SELECT pg_advisory_unlock(1); DROP TRIGGER held ON aliases');
        await holder.end();
      },
    };
  }

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'that is ended by %s says where it stopped, ends the page under way, and goes on behind it',
    async (signal) => {
      const { database, words, copied, untilHeld, letGo } = await held(signal);
      // As for a person: what is read by a machine tells of no wait.
      const first = spawn(process.execPath, words.slice(0, -1), { env });
      endWithRunner(first);
      let said = '';
      first.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      const ended = once(first, 'close');
      await untilHeld();
      const before = await copied();
      first.kill(signal);
      await until(() => said.includes('a second interrupt ends it at once'), {
        what: 'the signal to be heard',
        withinMs: 20_000,
      });
      await letGo();
      expect(await ended).toEqual([130, null]);
      const there = await copied();
      expect(there).toBe(2 * before);
      expect(said.replace(/\s+/g, ' ')).toMatch(
        /stopped: \d+ rows of \d+ of \d+ tables are copied, the last in aliases; the same command goes on from there/,
      );
      const second = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
      expect([second.status, second.stderr]).toEqual([0, '']);
      expect(JSON.parse(second.stdout)).toMatchObject({ outcome: 'moved' });
      const [all] = await server.query('SELECT count(*)::int AS count FROM aliases', database);
      expect(all!.count).toBe(aliases + 2);
    },
  );

  test('that is killed goes on where it was, and then neither end serves the old store', async () => {
    const { file, database, words, copied, untilHeld, letGo } = await held('store');
    const first = spawn(process.execPath, words, { env, stdio: 'ignore' });
    endWithRunner(first);
    const ended = once(first, 'exit');
    await untilHeld();
    first.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    await letGo();
    expect(await copied()).toBeLessThan(aliases);

    const second = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
    expect([second.status, second.stderr]).toEqual([0, '']);
    const { outcome, tables } = JSON.parse(second.stdout);
    expect(outcome).toBe('moved');
    const rows = Object.fromEntries(tables.map(({ name, rows: count }: never) => [name, count]));
    expect(rows).toMatchObject({ deliveries: 1, tasks: 2, hints: 2, aliases: aliases + 2 });
    const [there] = await server.query('SELECT count(*)::int AS count FROM aliases', database);
    expect(there!.count).toBe(aliases + 2);

    const opened = spawnSync(process.execPath, [commandLine, 'migrate'], {
      env: { ...env, DATABASE_URL: `sqlite:${file}` },
      encoding: 'utf8',
    });
    expect(opened.status).toBe(2);
    expect(opened.stderr).toContain('was moved to another store: name that one in DATABASE_URL');
  });

  test('from a damaged store names the file and the table, and changes nothing here or there', async () => {
    const file = join(folder, 'damaged.db');
    const store = openStoreHere(settingsFor(file), Date.now);
    await store.put(deliveryOf(Date.now(), [hintOf('1'), hintOf('2')]));
    await store.close();
    const reading = new DatabaseSync(file, { readOnly: true });
    const { rootpage } = reading.prepare(`SELECT rootpage FROM sqlite_master WHERE name = 'hints'`).get()!;
    const { page_size: pageSize } = reading.prepare('PRAGMA page_size').get()!;
    reading.close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, (Number(rootpage) - 1) * Number(pageSize), Number(rootpage) * Number(pageSize));
    writeFileSync(file, bytes);
    const database = await server.createDatabase();
    const to = server.url(database);
    const words = [commandLine, 'migrate', '--from', `sqlite:${file}`, '--to', to];
    const ended = spawnSync(process.execPath, words, { env: { PATH: process.env.PATH }, encoding: 'utf8' });
    expect(ended.status).toBe(1);
    expect(ended.stderr).toContain(`${file} is damaged: its table hints cannot be read`);
    expect(ended.stderr).toContain('nothing was moved or changed');
    expect(readFileSync(file)).toEqual(bytes);
    const made = "SELECT count(*)::int AS count FROM information_schema.tables WHERE table_schema = 'public'";
    expect(await server.query(made, database)).toEqual([{ count: 0 }]);
  });
});
