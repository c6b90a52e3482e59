/**
 * An embedded store is moved into a scaled one whole: interrupted anywhere it goes on, what was moved is the same to
 * everybody who asks, and neither the moved nor the half-moved store serves.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Store } from '../../../src/model/store';
import { type Moved, moveStore } from '../../../src/store/move/move-store';
import { openStoreHere } from '../../../src/store/open-store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { lockNumbers } from '../../../src/store/postgres/server/lock-numbers';
import { asApp, grants, postgresSettingsFor } from '../../contract/open-postgres';
import { settingsFor } from '../../contract/open-sqlite';
import { aliasHintOf, draftOf, goneBy, Hand, hintOf, sentTo, terms } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../../support/postgres';
import { until } from '../../support/until';

/** Not at once: of many calls the last would wait for a connection longer than a call may. */
async function inTurn<Given, Answer>(
  given: Given[],
  ask: (one: Given) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const one of given) answers.push(await ask(one));
  return answers;
}

/** What everybody can see of a store. */
async function seenOf(store: Store) {
  const page = { limit: 1000, after: 0 };
  const events = await store.listEvents({ ...page, type: null, organizationId: null });
  const tasks = await store.listTasks({ ...page, state: null });
  return {
    ledger: await store.ledger(),
    counts: await store.counts(),
    organizations: await store.listOrganizations({ limit: 1000, after: null }),
    access: await store.access('99'),
    epochs: [...(await store.epochs())].sort(),
    connections: await store.listConnections(),
    quarantine: await store.listQuarantine({ limit: 1000, after: null }),
    alerts: await store.listAlerts(),
    consent: await store.findConsent('one'),
    events,
    tasks,
    unsent: await store.pickUnsent(1000, 1e9, []),
    behind: [await store.behindSince(), await store.readingOn(), await store.topicEnds()],
    pause: await store.readingPause(),
    journeys: await inTurn(
      ['d1', 'd2', 'd3', events.events[0]!.record.eventId, ...tasks.map(({ address }) => address)],
      (of) => store.explain(of),
    ),
  };
}

/** Something of everything: published, joined, moved, gone, parked, set aside, discarded, unsent, and a taken task. */
async function fill(hand: Hand): Promise<void> {
  const { store } = hand;
  const connection = { user: 'u', auth: 'oauth2', sealedToken: 's', sealedTokenSecret: null } as const;
  const rest = { sealedRefresh: null, expiresAt: null, status: 'valid', importHash: 'h' } as const;
  await store.importConnections([{ ...connection, ...rest, connectionId: 'c1', organizations: [] }]);
  await store.learn([
    { id: '4711', name: 'Größe "One"', connectionId: 'c1' },
    { id: '99', name: null, connectionId: 'c1' },
  ]);
  for (let id = 0; id < 30; id += 1) await hand.publish(String(id), 'a');
  await hand.sendAll();
  await hand.publish('1', 'b', { organizationId: '99' });
  await hand.put([aliasHintOf('2')]);
  await hand.finish(await hand.take(), draftOf('2', 'c'));
  await hand.put([{ line: 'quarantined', reason: 'malformed-notification', path: '/x', raw: 'a\0b\ud800c' }]);
  await hand.put([hintOf('3'), hintOf('4'), hintOf('5'), hintOf('40', '98')]);
  hand.under.advance(2000);
  for (const task of (await store.take(2)).slice(0, 1)) await hand.quarantine(task);
  await hand.observe(terms, '99');
  await hand.put([hintOf('1', '99')]);
  await store.saveConsent({ consentId: 'one', key: 'k', body: '{}' }, 1000);
  const { run } = await store.beginRun({ organizationId: null, full: true });
  const names = [{ scope: '4711/equipment', organizationId: '4711' }];
  await store.openListings(run, names);
  await store.countCalls('2026-01', 12);
  const [sent] = await hand.records();
  await store.markSent([sentTo(sent!, 0, '6')]);
  const { replay } = await store.beginReplay('kind');
  await store.resendNewest({ replay, from: 0, after: 1, counts: { selected: 1, keys: 1, replayed: 0 } }, [
    sent!.row,
  ]);
  await store.endReplay(replay);
  await store.pauseReading(60_000);
  const stranger = {
    key: '4711/equipment/80',
    sequence: 5,
    offset: '7',
    eventId: 'another',
    bytesHash: '',
    deleted: false,
  };
  await store.noteFound({
    topic: 'tramline.equipment.v1',
    partition: 0,
    from: null,
    nextOffset: '8',
    records: [stranger],
  });
}

const movedElsewhere = expect.stringContaining(
  'was moved to another store: name that one in DATABASE_URL, or repeat the move into it if it was interrupted',
);
/** The last that is copied. */
const lastTable = 'unclaimed';

/** Nothing that can be written in less. */
function longText(characters: number): string {
  const hash = createHash('sha512').update('long').digest();
  const bytes = Buffer.alloc(2 * characters);
  for (let at = 0; at < characters; at += 1)
    bytes.writeUInt16LE(0x4e00 + ((hash.readUInt16LE(at % 62) * (at + 7)) % 20_000), 2 * at);
  return bytes.toString('utf16le');
}

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'moving a store to PostgreSQL', () => {
  let server: PostgresServer;
  let folder: string;
  let file: string;
  let url: string;
  let nowMs: number;
  const databases: string[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-move-'));
    file = join(folder, 'store.db');
    const name = await server.createDatabase();
    databases.push(name);
    url = server.url(name);
    nowMs = Date.parse('2026-01-01T00:00:00Z');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const openSource = () => openStoreHere(settingsFor(file), () => nowMs);
  const openTarget = () => openPostgres(postgresSettingsFor(url), () => nowMs);
  const handOn = (store: Store) =>
    new Hand({
      store,
      advance: (ms) => {
        nowMs += ms;
      },
      nowMs: () => nowMs,
      reopen: async () => store,
      close: () => store.close(),
    });
  const filled = async () => {
    const store = openSource();
    await fill(handOn(store));
    await store.close();
    // As the next who opens it would find it: what was taken is due.
    const again = openSource();
    const seen = await seenOf(again);
    await again.close();
    return seen;
  };
  const page = { rows: 7, bytes: 20_000 };
  const move = (paged: (table: string, rows: number) => void = () => {}): Promise<Moved> =>
    moveStore({ file, url, paged, page });
  /** Ends the move after so many pages, as a kill would: between two transactions. */
  const moveUntil = (pages: number): Promise<Moved> => {
    let left = pages;
    return move(() => {
      left -= 1;
      if (left === 0) throw new Error('killed');
    });
  };

  /** What the target meets there is a full disk, until it is mended. */
  const failAt = async (when: string, how: string) => {
    await migrateTarget();
    const constraint = how === '' ? '' : 'CONSTRAINT';
    await server.query(
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'no space is left' USING ERRCODE = '53100'; END $$;
       CREATE ${constraint} TRIGGER full_disk ${when} ${how} EXECUTE FUNCTION full_disk()`,
      new URL(url).pathname.slice(1),
    );
  };
  const failAtCommit = () =>
    failAt(
      'AFTER INSERT ON meta',
      `DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.name = 'moved-from')`,
    );
  const mend = (table: string) =>
    server.query(`DROP TRIGGER full_disk ON ${table}`, new URL(url).pathname.slice(1));
  const migrateTarget = async () => (await openTarget()).close();

  test('what was moved is the same to everybody who asks, wherever the move was interrupted', async () => {
    const before = await filled();
    for (const pages of [1, 3, 12]) await expect(moveUntil(pages)).rejects.toThrow('killed');
    const { outcome, tables } = await move();
    expect(outcome).toBe('moved');
    expect(tables.find(({ name }) => name === 'tasks')!.rows).toBeGreaterThan(30);
    const store = await openTarget();
    const after = await seenOf(store);
    // PostgreSQL keeps no NUL in a text, and no half of a pair of surrogates.
    const kept = JSON.parse(
      JSON.stringify(before).replaceAll('\\u0000', '\uFFFD').replaceAll('\\ud800', '\uFFFD'),
    );
    expect(JSON.parse(JSON.stringify(after))).toEqual(kept);
    await store.close();
    expect(await move()).toMatchObject({ outcome: 'already', tables: [] });
  });

  test('one that is interrupted begins no further page, says how far it is, and goes on from there', async () => {
    await filled();
    /** Interrupted as soon as a page of that table is there. */
    const interruptedIn = async (table: string) => {
      const interrupt = new AbortController();
      const paged: string[] = [];
      const moved = await moveStore({
        file,
        url,
        page,
        interrupted: () => interrupt.signal,
        paged(name) {
          paged.push(name);
          if (name === table) interrupt.abort();
        },
      });
      return { ...moved, paged };
    };
    const inTasks = await interruptedIn('tasks');
    expect(inTasks).toMatchObject({ outcome: 'stopped', of: expect.any(Number) });
    expect(inTasks.tables.at(-1)).toMatchObject({ name: 'tasks', rows: page.rows });
    expect(inTasks.tables.length).toBeLessThan(inTasks.of);
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
    // Of what was there already nothing is copied again, and all of it is counted.
    const atTheEnd = await interruptedIn(lastTable);
    expect(atTheEnd.paged).not.toContain('deliveries');
    expect([atTheEnd.outcome, atTheEnd.tables.length]).toEqual(['stopped', atTheEnd.of]);
    // Interrupted in its last table, it does not know that this page was the last.
    expect(atTheEnd.isCopied).toBe(false);
    const { outcome, tables } = await move();
    expect([outcome, tables]).toEqual(['moved', atTheEnd.tables]);
    await (await openTarget()).close();
  });

  /** What is read back of each table, until so many rows of one were. */
  const readUntil = async (table: string, rows: number) => {
    const read: [string, number][] = [];
    const reading = moveStore({
      ...{ file, url, page, paged() {} },
      readBack(name, count) {
        read.push([name, count]);
        if (name === table && count >= rows) throw new Error('killed');
      },
    });
    await expect(reading).rejects.toThrow('killed');
    return read;
  };

  test('what was read back is not read again by the next, which begins behind it', async () => {
    const before = await filled();
    expect((await readUntil('tasks', 14)).slice(0, 2)).toEqual([
      ['deliveries', 7],
      ['deliveries', 14],
    ]);
    expect((await readUntil('tasks', 28))[0]).toEqual(['tasks', 21]);
    const interrupt = new AbortController();
    const last = await moveStore({
      ...{ file, url, page, paged() {}, interrupted: () => interrupt.signal },
      readBack: (name) => name === 'reads' && interrupt.abort(),
    });
    expect(last).toMatchObject({ outcome: 'stopped', isCopied: true });
    expect(await move()).toMatchObject({ outcome: 'moved', tables: last.tables });
    const store = await openTarget();
    expect((await seenOf(store)).tasks).toEqual(before.tasks);
    await store.close();
  });

  test('what is found changed behind the place that was read back to is read anew once it is mended', async () => {
    await filled();
    const inTarget = (sql: string) => server.query(sql, new URL(url).pathname.slice(1));
    await readUntil('tasks', 14);
    await inTarget('UPDATE tasks SET generation = generation + 1 WHERE id = 20');
    for (const _time of [1, 2]) await expect(move()).rejects.toThrow(/tasks is not what was copied/);
    await inTarget('UPDATE tasks SET generation = generation - 1 WHERE id = 20');
    expect(await move()).toMatchObject({ outcome: 'moved' });
  });

  test('says whom the target waits for before its tables can be brought to this version', async () => {
    await filled();
    const other = new Client({ connectionString: url, application_name: 'another' });
    await other.connect();
    await other.query(`SELECT pg_advisory_lock(${lockNumbers.migration})`);
    const told: string[] = [];
    const waits = { tell: (detail: string) => told.push(detail), lookEveryMs: 50 };
    const moving = moveStore({ file, url, page, paged() {}, waits });
    await until(async () => told.length > 0, { withinMs: 20_000 });
    await other.end();
    expect(await moving).toMatchObject({ outcome: 'moved' });
    expect(told).toEqual([expect.stringMatching(/waits for session \d+ of the database \(another\)\.$/)]);
  });

  describe('one that another version began', () => {
    const told: string[] = [];
    beforeEach(() => void told.splice(0));
    const moveHere = () => moveStore({ file, url, page, paged() {}, begunAnew: () => told.push('anew') });
    const inTarget = (sql: string) => server.query(sql, new URL(url).pathname.slice(1));
    /** As one would leave it that copies a column less, and keeps nothing of what it began with. */
    const asBefore = async () => {
      await inTarget("DELETE FROM moves WHERE name = 'plan'; UPDATE tasks SET shown_by = NULL");
      await inTarget("UPDATE moves SET hash = 'of fewer columns' WHERE name = 'tasks'");
    };
    const isWhole = async (before: Awaited<ReturnType<typeof filled>>) => {
      const store = await openTarget();
      const { ledger, tasks } = await seenOf(store);
      expect([ledger, tasks]).toEqual([before.ledger, before.tasks]);
      await store.close();
    };

    test('is begun anew by itself, and says so once', async () => {
      const before = await filled();
      await expect(moveUntil(20)).rejects.toThrow('killed');
      await asBefore();
      let pages = 0;
      const interrupted = moveStore({
        ...{ file, url, page, begunAnew: () => told.push('anew') },
        paged() {
          pages += 1;
          if (pages === 3) throw new Error('killed');
        },
      });
      await expect(interrupted).rejects.toThrow('killed');
      expect(told).toEqual(['anew']);
      expect(await moveHere()).toMatchObject({ outcome: 'moved' });
      expect(told).toEqual(['anew']);
      await isWhole(before);
    });

    test('is begun anew where only the schema has one step more', async () => {
      const before = await filled();
      await expect(moveUntil(20)).rejects.toThrow('killed');
      await inTarget(`INSERT INTO migrations (name, kind) VALUES ('9001-later', 'expand')`);
      expect(await moveHere()).toMatchObject({ outcome: 'moved' });
      expect(told).toEqual(['anew']);
      await isWhole(before);
    });

    test('is begun anew where its last commit failed, wherever that is interrupted', async () => {
      const before = await filled();
      await failAtCommit();
      await expect(move()).rejects.toMatchObject({ code: 'store.unavailable' });
      await mend('meta');
      await asBefore();
      await expect(moveUntil(3)).rejects.toThrow('killed');
      expect(await moveHere()).toMatchObject({ outcome: 'moved' });
      expect(openSource).toThrow(expect.objectContaining({ code: 'store.moved' }));
      await isWhole(before);
    });
  });

  test('work goes on in the target where it was: sequences, positions, revisions, deliveries and what is due', async () => {
    const before = await filled();
    await move();
    const store = await openTarget();
    const hand = handOn(store);
    nowMs += 60_000;
    expect(await store.take(100)).toEqual([]);
    await store.allFound();
    const due = await store.take(100);
    expect(due.map(({ address }) => address).sort()).toEqual(
      before.tasks
        .filter(({ state }) => state === 'due')
        .map(({ address }) => address)
        .sort(),
    );
    for (const task of due) await hand.finish(task, draftOf(task.address.split('/').at(-1)!, 'z'));
    await hand.sendAll();
    const { events } = await store.listEvents({ after: 0, limit: 1000, type: null, organizationId: null });
    expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1));
    const { deliveryId } = await hand.put([hintOf('50')]);
    expect(Number(deliveryId.slice(1))).toBeGreaterThan(30);
    expect((await hand.take()).revision).toBeGreaterThan(30);
    await hand.observe({ cause: null }, '99');
    expect(await store.take(100)).toHaveLength(1);
    const { replay } = await store.beginReplay('another');
    const step = { replay, from: 0, after: 1, counts: { selected: 1, keys: 1, replayed: 0 } };
    await hand.publish('60', 'a');
    const last = (await hand.records()).at(-1)!;
    await store.markSent([sentTo(last, 0, '70')]);
    expect(await store.resendNewest(step, [last.row])).toBe(1);
    await store.close();
  });

  test('what is due is due also where the clock of the target is behind', async () => {
    const source = openSource();
    await handOn(source).put([hintOf('1'), hintOf('2')]);
    while ((await source.sweep()).more);
    await source.close();
    nowMs -= 3_600_000;
    await move();
    const target = await openTarget();
    while ((await target.sweep()).more);
    nowMs += 1000;
    expect(await target.take(10)).toHaveLength(2);
    await target.close();
  });

  test('an organization that lost many goes on as one that did', async () => {
    const source = openSource();
    const ids = Array.from({ length: 22 }, (_, index) => String(index));
    for (const id of ids) await handOn(source).publish(id, 'a');
    const goneNow = async (store: Store, wanted: string[]) => {
      await handOn(store).put(wanted.map((id) => hintOf(id)));
      const outcomes: string[] = [];
      for (const task of await store.take(100)) outcomes.push((await store.finishGone(goneBy(task))).outcome);
      return outcomes;
    };
    expect(new Set(await goneNow(source, ids.slice(0, 20)))).toEqual(new Set(['gone']));
    expect(await goneNow(source, ['20'])).toEqual(['refused']);
    await source.close();
    await move();
    const target = await openTarget();
    expect(await goneNow(target, ['21'])).toEqual(['refused']);
    await target.close();
  });

  test('an organization that is half-open stays as wide as it was', async () => {
    const source = openSource();
    const hand = handOn(source);
    await hand.put([0, 1, 2, 3, 4, 5].map((id) => hintOf(String(id))));
    await hand.observe(terms);
    await hand.observe({ cause: null });
    await hand.finish(await hand.take(), draftOf('0', 'a'));
    await source.close();
    await move();
    const store = await openTarget();
    expect(await store.take(100)).toHaveLength(2);
    await store.close();
  });

  test('an address that is too long for an index of the target is left out; what waits at it is not', async () => {
    const source = openSource();
    const hand = handOn(source);
    const address = `https://api.acme.test/${longText(1500)}`;
    await hand.put([{ ...hintOf('1'), address }, hintOf('2')]);
    await hand.quarantine(await hand.take());
    await source.close();
    const { outcome, tables } = await move();
    expect(outcome).toBe('moved');
    expect(tables.find(({ name }) => name === 'aliases')).toMatchObject({ rows: 1 });
    const store = await openTarget();
    const tasks = await store.listTasks({ limit: 10, after: 0, state: null });
    expect(tasks.map((task) => [task.address, task.state])).toEqual([
      [address, 'quarantined'],
      [hintOf('2').address, 'due'],
    ]);
    expect(await store.listQuarantine({ limit: 10, after: null })).toMatchObject([{ address }]);
    await store.close();
  });

  test('neither the moved nor the half-moved store serves, and the moved one moves nowhere else', async () => {
    await filled();
    await expect(moveUntil(2)).rejects.toThrow('killed');
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
    await move();
    expect(openSource).toThrow(expect.objectContaining({ code: 'store.moved' }));
    url = server.url(await server.createDatabase());
    await expect(move()).rejects.toMatchObject({ code: 'store.moved' });
  });

  test('a store of which another target holds a part is moved whole into one of them, and the other is refused', async () => {
    const before = await filled();
    const first = url;
    await expect(moveUntil(12)).rejects.toThrow('killed');
    const second = server.url(await server.createDatabase());
    url = second;
    await expect(moveUntil(3)).rejects.toThrow('killed');
    url = first;
    await expect(moveUntil(3)).rejects.toThrow('killed');
    url = second;
    expect(await move()).toMatchObject({ outcome: 'moved' });
    const store = await openTarget();
    expect((await seenOf(store)).ledger).toEqual(before.ledger);
    await store.close();

    url = first;
    await expect(move()).rejects.toMatchObject({ code: 'store.moved', message: movedElsewhere });
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
    url = second;
    expect(await move()).toMatchObject({ outcome: 'already' });
  });

  test('a last step that failed is done by the repeat, which copies nothing again', async () => {
    await filled();
    await failAt('BEFORE INSERT ON lanes', '');
    await expect(move()).rejects.toMatchObject({ code: 'store.unavailable' });
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
    await mend('lanes');
    await expect(moveUntil(1)).resolves.toMatchObject({ outcome: 'moved' });
    expect(openSource).toThrow(expect.objectContaining({ code: 'store.moved' }));
  });

  test('a source whose target failed in the last step serves, and is moved elsewhere with what it did', async () => {
    await filled();
    const lost = url;
    await failAt('BEFORE INSERT ON lanes', '');
    await expect(move()).rejects.toMatchObject({ code: 'store.unavailable' });
    const source = openSource();
    await handOn(source).put([hintOf('77')]);
    const seen = await seenOf(source);
    await source.close();
    url = server.url(await server.createDatabase());
    await move();
    const store = await openTarget();
    expect((await seenOf(store)).ledger).toEqual(seen.ledger);
    await store.close();
    url = lost;
    await mend('lanes');
    await expect(move()).rejects.toMatchObject({ code: 'store.moved', message: movedElsewhere });
  });

  test('where only the commit of the last step failed neither serves, and the repeat into that target completes', async () => {
    const before = await filled();
    const first = url;
    await failAtCommit();
    await expect(move()).rejects.toMatchObject({
      code: 'store.unavailable',
      message: expect.stringContaining('repeat the command'),
    });
    expect(openSource).toThrow(expect.objectContaining({ code: 'store.moved' }));
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
    url = server.url(await server.createDatabase());
    await expect(move()).rejects.toMatchObject({ code: 'store.moved', message: movedElsewhere });
    url = first;
    await mend('meta');
    expect(await move()).toMatchObject({ outcome: 'moved' });
    const store = await openTarget();
    expect((await seenOf(store)).ledger).toEqual(before.ledger);
    await store.close();
  });

  test('where the target was lost at that commit, a copy of the stopped store is moved', async () => {
    const before = await filled();
    const copy = join(folder, 'copy.db');
    copyFileSync(file, copy);
    await failAtCommit();
    await expect(move()).rejects.toMatchObject({ code: 'store.unavailable' });
    file = copy;
    url = server.url(await server.createDatabase());
    expect(await move()).toMatchObject({ outcome: 'moved' });
    const store = await openTarget();
    expect((await seenOf(store)).ledger).toEqual(before.ledger);
    await store.close();
  });

  test('a move whose target another has begun to fill is not completed, and its source serves', async () => {
    await filled();
    const take = `(async () => { const client = new (require('pg').Client)('${url}'); await client.connect();
      await client.query("UPDATE meta SET value = value + 1 WHERE name = 'moving'"); await client.end() })()`;
    const moving = moveStore({
      file,
      url,
      paged(table) {
        if (table !== lastTable) return;
        // After all of its pages.
        expect(spawnSync(process.execPath, ['-e', take]).status).toBe(0);
      },
    });
    await expect(moving).rejects.toMatchObject({
      code: 'store.refused',
      message: expect.stringContaining('another move into this store'),
    });
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
    await openSource().close();
  });

  test('one that lost its connection says that it is to be repeated, and then goes on', async () => {
    await filled();
    const endAll = `(async () => { const client = new (require('pg').Client)('${url}'); await client.connect();
      await client.query('SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()');
      await client.end() })()`;
    let pages = 0;
    const broken = move(() => {
      pages += 1;
      // Nothing is heard of the end meanwhile.
      if (pages === 3) expect(spawnSync(process.execPath, ['-e', endAll]).status).toBe(0);
    });
    await expect(broken).rejects.toMatchObject({
      code: 'store.unavailable',
      message: expect.stringMatching(/; the move is not complete: repeat the command, and it goes on/),
    });
    expect(await move()).toMatchObject({ outcome: 'moved' });
  });

  test('a process that had the target open before is not ready and accepts nothing until the move is complete', async () => {
    await filled();
    const serving = await openTarget();
    await serving.ready();
    const hand = handOn(serving);
    const refused = { code: 'store.unavailable', message: expect.stringContaining('is not complete') };
    const accepted: unknown[] = [];
    // Ids of what it would accept are free now, and are those of rows that come later.
    await expect(moveUntil(1)).rejects.toThrow('killed');
    await expect(serving.ready()).rejects.toMatchObject(refused);
    await expect(hand.put([hintOf('900')])).rejects.toMatchObject(refused);
    await expect(hand.put([hintOf('901')])).rejects.toMatchObject(refused);
    await expect(serving.take(10)).rejects.toMatchObject(refused);
    await openSource().close();
    const trying: Promise<unknown>[] = [];
    await move(() => {
      trying.push(
        hand.put([hintOf('902')]).then(
          (answer) => accepted.push(answer),
          (error) => error,
        ),
      );
    });
    for (const problem of await Promise.all(trying)) expect(problem).toMatchObject(refused);
    expect(accepted).toEqual([]);

    await serving.ready();
    await hand.put([hintOf('903')]);
    const tasks = await serving.listTasks({ limit: 1000, after: 0, state: null });
    const addresses = tasks.map(({ address }) => address);
    expect(addresses.some((address) => address.endsWith('/903'))).toBe(true);
    expect(addresses.some((address) => /\/90[012]$/.test(address))).toBe(false);
    await serving.close();
  });

  test('what a process had begun to accept when a move begins makes the target one in use', async () => {
    await filled();
    const serving = await openTarget();
    const name = new URL(url).pathname.slice(1);
    // Holds the acceptance up in the middle of its transaction, for as long as this lock is held.
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock(4711)');
    await server.query(
      `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
       CREATE TRIGGER hold BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION hold()`,
      name,
    );
    const accepting = handOn(serving).put([hintOf('1')]);
    const waiting = (count: number) =>
      until(
        async () => (await server.query('SELECT 1 FROM pg_locks WHERE NOT granted', name)).length === count,
        { withinMs: 10_000, everyMs: 5 },
      );
    await waiting(1);
    const moving = expect(move()).rejects.toMatchObject({ code: 'store.refused' });
    // It waits for what was begun before it looks.
    await waiting(2);
    await holder.query('SELECT pg_advisory_unlock(4711)');
    await moving;
    await holder.end();
    await accepting;
    expect(await serving.ledger()).toMatchObject({ accepted: 1 });
    await serving.close();
  });

  test('a source that served in between is moved anew, with what it did', async () => {
    await filled();
    await expect(moveUntil(12)).rejects.toThrow('killed');
    const source = openSource();
    await handOn(source).put([hintOf('77')]);
    const seen = await seenOf(source);
    await source.close();
    await move();
    const store = await openTarget();
    expect((await seenOf(store)).ledger).toEqual(seen.ledger);
    await store.close();
  });

  test('a move that ended after the last word to its source is completed', async () => {
    const before = await filled();
    await expect(moveUntil(12)).rejects.toThrow('killed');
    const marks = new DatabaseSync(file);
    marks.exec(`INSERT INTO meta SELECT 'moved', value FROM meta WHERE name = 'moving'`);
    marks.close();
    expect(await move()).toMatchObject({ outcome: 'moved' });
    const store = await openTarget();
    expect((await seenOf(store)).ledger).toEqual(before.ledger);
    await store.close();
  });

  test('a role that does not own the tables of the target is told so, and what it was to move serves', async () => {
    await filled();
    await migrateTarget();
    await server.query(
      `CREATE ROLE app LOGIN; ${grants}; GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO app`,
      new URL(url).pathname.slice(1),
    );
    url = asApp(url);
    await expect(move()).rejects.toMatchObject({
      code: 'settings.invalid',
      message: expect.stringMatching(
        /^whoever moves into a store must own its tables, .*: nothing was moved$/,
      ),
    });
    await openSource().close();
  });

  test('a target that stands in a later schema of the search path is filled there', async () => {
    const before = await filled();
    await migrateTarget();
    await server.query('CREATE SCHEMA own', new URL(url).pathname.slice(1));
    url += '?options=-csearch_path%3Down,public';
    expect(await move()).toMatchObject({ outcome: 'moved' });
    const store = await openTarget();
    expect((await seenOf(store)).ledger).toEqual(before.ledger);
    const { deliveryId } = await handOn(store).put([hintOf('50')]);
    expect(Number(deliveryId.slice(1))).toBeGreaterThan(30);
    await store.close();
  });

  test('a target that is in use is left alone', async () => {
    await filled();
    const used = await openTarget();
    await handOn(used).put([hintOf('1')]);
    await used.close();
    await expect(move()).rejects.toMatchObject({ code: 'store.refused' });
  });

  test('a row that did not arrive as it was is found, and nothing serves', async () => {
    await filled();
    await expect(moveUntil(1)).rejects.toThrow('killed');
    const change = `CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.sequence := NEW.sequence + (NEW.id = 5)::int; RETURN NEW; END $$;
      CREATE TRIGGER spoil BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION spoil()`;
    await server.query(change, new URL(url).pathname.slice(1));
    await expect(move()).rejects.toThrow(/outbox is not what was copied/);
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
    await openSource().close();
  });

  test('rows of the source that were passed over are missed', async () => {
    await filled();
    await expect(moveUntil(1)).rejects.toThrow('killed');
    await server.query(
      `UPDATE moves SET after = '[20]'; DELETE FROM deliveries`,
      new URL(url).pathname.slice(1),
    );
    await expect(move()).rejects.toThrow(/deliveries is not what was copied/);
    await expect(openTarget()).rejects.toMatchObject({ code: 'store.moved' });
  });

  test('what is no store is not moved: its path is named, nothing is made or changed, here or there', async () => {
    const absent = join(folder, 'none', 'tramlime.db');
    const empty = join(folder, 'empty.db');
    writeFileSync(empty, '');
    const text = join(folder, 'text.db');
    writeFileSync(text, 'a farm '.repeat(2000));
    const another = join(folder, 'another.db');
    const strange = new DatabaseSync(another);
    strange.exec('CREATE TABLE meta (name TEXT, value INTEGER); CREATE TABLE migrations (version INTEGER)');
    strange.close();
    const directory = join(folder, 'directory.db');
    mkdirSync(directory);
    const before = readdirSync(folder, { recursive: true }).sort();
    const bytes = readFileSync(another);
    for (const path of [absent, empty, text, another, directory]) {
      file = path;
      const refused = expect.objectContaining({
        code: 'settings.invalid',
        message: expect.stringContaining(path),
      });
      await expect(move()).rejects.toEqual(refused);
    }
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(before);
    expect(readFileSync(another)).toEqual(bytes);
    const made = "SELECT count(*)::int AS count FROM information_schema.tables WHERE table_schema = 'public'";
    expect(await server.query(made, databases.at(-1)!)).toEqual([{ count: 0 }]);
  });

  test('a store that is served cannot be moved', async () => {
    await filled();
    const serving = openSource();
    await expect(move()).rejects.toMatchObject({ code: 'store.locked' });
    await serving.close();
  });
});
