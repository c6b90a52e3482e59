/**
 * The documented ways back: the folder of an embedded store, copied while nobody serves it, and a dump of a database that
 * was taken while it was served. What is restored has every delivery that was answered and goes on in its sequences.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/model/store';
import { openStoreHere } from '../../../src/store/open-store';
import { openPostgres } from '../../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../../contract/open-postgres';
import { settingsFor } from '../../contract/open-sqlite';
import { Hand, header, hintOf } from '../../contract/store-hand';
import { describeWithNeighbour } from '../../support/neighbour';
import { installedPostgresAvailable, type PostgresServer, startPostgres } from '../../support/postgres';
import { dumpDatabase, restoreDatabase } from '../../support/postgres-backup';
import { temporaryFolder } from '../../support/service';

let nowMs = Date.parse('2026-01-01T00:00:00Z');
const clock = () => nowMs;

function handOn(store: Store): Hand {
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return new Hand({ store, advance, nowMs: clock, reopen: async () => store, close: () => store.close() });
}

async function fill(store: Store): Promise<void> {
  const hand = handOn(store);
  for (const content of ['a', 'b']) await hand.publish('1', content);
  await hand.sendAll();
  await hand.publish('2', 'a');
  await hand.put([hintOf('1'), hintOf('3')]);
}

/** As it was left, and fit to go on. */
async function expectWhole(store: Store): Promise<void> {
  const hand = handOn(store);
  expect(await store.ledger()).toMatchObject({ accepted: 5, published: 2, waiting: 3 });
  expect(await hand.events()).toEqual(['4711 1 created']);
  nowMs += 61_000;
  await hand.publish('1', 'c');
  const last = (await hand.records()).at(-1)!;
  expect([last.key, last.sequence]).toEqual(['4711/equipment/1', 3]);
  await hand.sendAll();
  const { events } = await store.listEvents({ after: 0, limit: 10, type: null, organizationId: null });
  expect(events.map(({ position }) => position)).toEqual([1, 2, 3, 4]);
  expect(new Set(events.map(({ record }) => header(record, 'ce_id'))).size).toBe(4);
}

describe('restoring an embedded store', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-restore-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => settingsFor(join(folder, name, 'store.db'));

  test('from its folder, copied after the service was stopped', async () => {
    const served = openStoreHere(at('data'), clock);
    await fill(served);
    await served.close();
    cpSync(join(folder, 'data'), join(folder, 'restored'), { recursive: true });
    const restored = openStoreHere(at('restored'), clock);
    await expectWhole(restored);
    await restored.close();
  });

  test('from its folder, copied after the service was killed: the log beside the file is part of it', async () => {
    const killed = openStoreHere(at('data'), clock);
    await fill(killed);
    cpSync(join(folder, 'data'), join(folder, 'restored'), { recursive: true });
    await killed.close();
    const restored = openStoreHere(at('restored'), clock);
    await expectWhole(restored);
    await restored.close();
  });
});

describeWithNeighbour('pg_dump', installedPostgresAvailable(), 'restoring a database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ installed: true });
  });
  afterAll(() => server.stop());

  test('from a dump by pg_dump, taken while a process had work in its hands', async () => {
    const database = await server.createDatabase();
    const store = await openPostgres(postgresSettingsFor(server.url(database)), clock);
    await fill(store);
    await store.take(1);
    const file = join(temporaryFolder(), 'backup.dump');
    dumpDatabase(server.url(database), file);
    // What came after the backup is not in it.
    await handOn(store).put([hintOf('4')]);
    await store.close();
    await server.dropDatabase(database);
    const empty = await server.createDatabase();
    restoreDatabase(file, server.url(empty));
    const restored = await openPostgres(postgresSettingsFor(server.url(empty)), clock);
    await expectWhole(restored);
    await restored.close();
  });
});
