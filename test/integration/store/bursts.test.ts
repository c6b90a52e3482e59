/**
 * Statements of one turn on a real PostgreSQL: they are one message with one answer, what follows one that failed is not
 * executed, and values arrive as they are. Seen through a socket that counts what is written.
 */
import { Client, types } from 'pg';
import type { Element } from '../../../src/model/notification';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { type Line, makeLine, type Value, writtenValue } from '../../../src/store/postgres/server/burst';
import { openDatabase, type Statements } from '../../../src/store/postgres/server/database';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { deliveryOf, hintOf } from '../../contract/store-hand';
import { type PostgresServer, startPostgres } from '../../support/postgres';

const withinMs = 10_000;

describe('bursts', () => {
  let server: PostgresServer;
  let client: Client;
  let line: Line;
  let writes: number;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.stop());
  beforeEach(async () => {
    client = new Client({
      connectionString: server.url(await server.createDatabase()),
      pipeline: true,
    } as never);
    client.on('error', () => {});
    await client.connect();
    await client.query('CREATE TABLE notes (text TEXT)');
    const names = new Map<string, string>();
    const nameOf = (text: string) => names.get(text) ?? names.set(text, `n${names.size}`).get(text)!;
    line = makeLine(client, nameOf, (type) => types.getTypeParser(type, 'text') as (text: string) => unknown);
    const { stream } = (client as unknown as { connection: { stream: NodeJS.WritableStream } }).connection;
    writes = 0;
    // What is corked leaves as one.
    Object.assign(stream, {
      _writev: ((write) =>
        function (this: unknown, ...args: unknown[]) {
          writes += 1;
          return write.apply(this, args);
        })((stream as unknown as { _writev(...args: unknown[]): void })._writev),
    });
  });
  afterEach(() => client.end());

  const send = (text: string, ...values: Value[]) => line.send(text, values.map(writtenValue), withinMs);
  const note = 'INSERT INTO notes (text) VALUES ($1)';
  const notes = async () => (await send('SELECT text FROM notes ORDER BY text')).rows.map(({ text }) => text);

  test('statements of one turn leave in one write, and each gets its own answer', async () => {
    const answers = await Promise.all([
      send('BEGIN'),
      send(note, 'one'),
      send('SELECT count(*)::int AS count FROM notes'),
      send('UPDATE notes SET text = $1', 'two'),
      send('COMMIT'),
    ]);
    expect(writes).toBe(1);
    expect(answers).toEqual([
      { command: 'BEGIN', rows: [], rowCount: 0 },
      { command: 'INSERT', rows: [], rowCount: 1 },
      { command: 'SELECT', rows: [{ count: 1 }], rowCount: 1 },
      { command: 'UPDATE', rows: [], rowCount: 1 },
      { command: 'COMMIT', rows: [], rowCount: 0 },
    ]);
    expect(await notes()).toEqual(['two']);
  });

  test('what follows one that failed is not executed, though it left with it; what went before is answered', async () => {
    const answers = await Promise.allSettled([
      send(note, 'before'),
      send('SELECT 1 / $1::int', 0),
      send(note, 'after'),
      send('SELECT 2 AS later'),
    ]);
    expect(
      answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.command : answer.reason.code)),
    ).toEqual(['INSERT', '22012', '22012', '22012']);
    // All of them were one transaction of the server's own.
    expect(await notes()).toEqual([]);
  });

  test('a statement that is a transaction by itself is not done where its commit fails', async () => {
    await client.query('CREATE TABLE once (text TEXT UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    await send('INSERT INTO once (text) VALUES ($1)', 'one');
    await expect(send('INSERT INTO once (text) VALUES ($1)', 'one')).rejects.toMatchObject({ code: '23505' });
  });

  test('no statement stands alone where the beginning of its transaction failed', async () => {
    const answers = await Promise.allSettled([
      send('BEGIN ISOLATION LEVEL UNHEARD OF'),
      send(note, 'alone'),
      send('COMMIT'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await notes()).toEqual([]);
  });

  test('a statement that was passed over before the server knew it is told to it again', async () => {
    await Promise.allSettled([send('SELECT 1 / $1::int', 0), send(note, 'first met')]);
    await Promise.all([send(note, 'met again'), send(note, 'and again')]);
    expect(await notes()).toEqual(['and again', 'met again']);
  });

  test('a text that is no statement fails, and what follows is not taken for its answer', async () => {
    const answers = await Promise.allSettled([send('-- nothing'), send(note, 'beside')]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(send('-- nothing')).rejects.toThrow('asked nothing');
  });

  test('a row that cannot be read fails its statement and what follows, and no other burst', async () => {
    const unreadable = makeLine(
      client,
      (text) => `u${text.length}`,
      () => () => {
        throw new TypeError('unreadable');
      },
    );
    const ask = (text: string) => unreadable.send(text, [], withinMs);
    const answers = await Promise.allSettled([ask("SELECT 'a'"), ask('SELECT NULL')]);
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.message)).toEqual([
      'unreadable',
      'unreadable',
    ]);
    expect((await ask('SELECT NULL')).rows).toHaveLength(1);
  });

  test('what has not left when it is dropped never does', async () => {
    const dropped = send(note, 'dropped');
    line.drop(new Error('given up'));
    await expect(dropped).rejects.toThrow('given up');
    await send(note, 'sent');
    expect(await notes()).toEqual(['sent']);
  });

  test('all that wait hear of a connection that is lost', async () => {
    const lost = Promise.allSettled([
      send('SELECT pg_terminate_backend(pg_backend_pid())'),
      send(note, 'never'),
    ]);
    const answers = await lost;
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(send(note, 'later')).rejects.toThrow();
  });

  test('rows keep their columns when a statement is asked again, and nothing is null', async () => {
    const text = 'SELECT $1::text AS given, NULL::int AS none, 7 AS seven, $2::bool AS yes';
    for (const given of ['a', null]) {
      expect((await send(text, given, true)).rows).toEqual([{ given, none: null, seven: 7, yes: true }]);
    }
  });

  test('lists arrive with what is in them, whatever that is', async () => {
    const texts = [
      '',
      'NULL',
      'null',
      'a "quoted" one',
      'back\\slash\\',
      '{braces},',
      ' spaces ',
      'línea\nnext',
      '\u{1F69C}',
      null,
    ];
    const numbers = [0, -1, 2 ** 53 - 1, 0.5, null];
    const [{ rows }] = [
      await send(
        'SELECT $1::text[] AS texts, $2::float8[] AS numbers, $3::bool[] AS bools, $4::text[] AS empty',
        texts,
        numbers,
        [true, false, null],
        [],
      ),
    ];
    expect(rows).toEqual([{ texts, numbers, bools: [true, false, null], empty: [] }]);
  });

  describe('of a transaction', () => {
    const later = async <Answer>(answer: Promise<Answer>): Promise<Answer> => await answer;
    const look = 'SELECT a FROM things';
    const works: [string, (statements: Statements) => Promise<unknown>][] = [
      ['alone', (statements) => statements.all(look)],
      [
        'beside one that hears sooner',
        (statements) => Promise.all([later(later(statements.all(look))), statements.all('SELECT 2')]),
      ],
      [
        'in what leaves with the commit',
        async (statements) => {
          await statements.all('SELECT 2');
          statements.last(look);
        },
      ],
    ];

    test.each(works)(
      'a plan that a schema outdated, %s, costs its connection and not the call',
      async (_where, work) => {
        const name = await server.createDatabase();
        await server.query('CREATE TABLE things (a INT)', name);
        const database = openDatabase({ url: server.url(name), connections: 1 });
        const pid = () => database.transact((statements) => statements.get('SELECT pg_backend_pid() AS of'));
        await database.transact(work);
        const before = await pid();
        await server.query('ALTER TABLE things ALTER a TYPE BIGINT', name);
        await database.transact(work);
        expect(await pid()).not.toEqual(before);
        await database.close();
      },
    );

    test.each([[true], [false]])(
      'which waits for something else first, its statements wait for its beginning: ahead %s',
      async (ahead) => {
        const name = await server.createDatabase();
        await server.query('CREATE TABLE notes (text TEXT)', name);
        const database = openDatabase({ url: server.url(name), connections: 1 });
        const seen: number[] = [];
        await database.transact(
          async (statements, nowMs) => {
            await new Promise((resolve) => setImmediate(resolve));
            await statements.run(note, 'in order');
            seen.push(nowMs());
          },
          { ahead },
        );
        expect(seen[0]).toBeGreaterThan(0);
        const faulty = database.transact(
          async (statements) => {
            await new Promise((resolve) => setImmediate(resolve));
            await statements.run(note, 'alone');
          },
          { ahead, statementMs: -1 },
        );
        await expect(faulty).rejects.toMatchObject({ code: 'store.refused' });
        expect(await server.query('SELECT text FROM notes', name)).toEqual([{ text: 'in order' }]);
        await database.close();
      },
    );
  });

  test.each(['put', 'showQuarantine', 'nothing'])(
    'a store that refused %s since a move had begun still notices that its clock was set back',
    async (what) => {
      const name = await server.createDatabase();
      let nowMs = Date.parse('2026-01-01T00:00:00Z');
      const store = await openPostgres(postgresSettingsFor(server.url(name)), () => nowMs);
      const sweep = async () => {
        while ((await store.sweep()).more);
      };
      await sweep();
      await server.query(`INSERT INTO meta (name, value) VALUES ('moving', 7)`, name);
      const unheard: Element = { line: 'ignored', eventTypeId: 'unheard-of', address: null };
      const asked = {
        put: () => store.put(deliveryOf(nowMs, [unheard])),
        showQuarantine: () => store.showQuarantine('q1'),
        nothing: () => Promise.reject({ code: 'store.unavailable' }),
      };
      await expect(asked[what as keyof typeof asked]()).rejects.toMatchObject({ code: 'store.unavailable' });
      await server.query(`DELETE FROM meta WHERE name = 'moving'`, name);
      nowMs += 3_600_000;
      await store.put(deliveryOf(nowMs, [hintOf('1')]));
      nowMs -= 3_600_000;
      await sweep();
      nowMs += 1000;
      expect(await store.take(1)).toHaveLength(1);
      await store.close();
    },
  );
});
