/**
 * T3 with a store that fails: SIGTERM while PostgreSQL is dead, or says nothing, like the collector, with a read in
 * flight, while the embedded store finds no room, and while a start waits. The process ends within its grace with 0, and loses
 * nothing that was answered 204; one that served says that it could not end in order, and whose consents that leaves in doubt.
 */
import { spawnSync } from 'node:child_process';
import { Client } from 'pg';
import { lockNumbers } from '../../src/store/postgres/server/lock-numbers';
import { startCollector, tracedTo } from '../support/collector';
import { startCommand } from '../support/command';
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { type Service, startService } from '../support/service';
import { beginStory, notificationOf, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

const graceMs = 10_000;
const ready = { code: 0, signal: null };

let story: Story;
afterEach(() => story?.end());

/** Sends SIGTERM, and holds what is seen of the end against what was promised. */
async function expectEnd(service: Service): Promise<void> {
  // At the end of its grace, by its own clock, it ends by itself with 1.
  expect(await service.stop('SIGTERM', 2 * graceMs)).toEqual(ready);
  const told = service.records();
  expect(told.filter(({ line }) => line === 'fault')).toEqual([]);
  const stopped = told.filter(({ line }) => line === 'stopped');
  expect(stopped).toMatchObject([{ clean: false }]);
  expect(stopped[0]!.tookMs).toBeLessThan(graceMs);
}

/** The provider is asked for it, and says nothing for a minute. */
async function holdRead(machine: Resource): Promise<void> {
  const { pathname } = new URL(machine.uri);
  await story.simulator.setFaults([{ match: { path: pathname }, delayMs: 60_000, times: 1 }]);
  expect((await story.post([notificationOf(machine)])).status).toBe(204);
  await until(async () => (await story.readsOf(machine)).length > 0, soon);
}

const ours = process.env.TEST_DATABASE_URL === undefined;
const availability = ours
  ? postgresAvailable()
  : ({ available: false, reason: 'the server of TEST_DATABASE_URL is not ours to stop' } as const);

describeWithNeighbour('PostgreSQL', availability, 'a stop while PostgreSQL is away', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  async function begin(settings: Record<string, string> = {}): Promise<void> {
    const database = await server.createDatabase();
    // What is held by a process that could not give it back is free after its lease.
    const times = {
      SHUTDOWN_SECONDS: String(graceMs / 1000),
      LEASE_SECONDS: '11',
      PROVIDER_TIMEOUT_MS: '9000',
    };
    story = await beginStory({
      delivers: false,
      settings: { DATABASE_URL: server.url(database), ...times, ...settings },
    });
  }

  test('T3: SIGTERM while PostgreSQL and the collector say nothing and a read is in flight ends it with 0 within its grace', async () => {
    const silent = await startCollector({ answers: false });
    await begin(tracedTo(silent.url));
    const [machine] = await story.equipment();
    await holdRead(machine!);
    server.pause();
    try {
      await expectEnd(story.service);
    } finally {
      server.resume();
      await silent.close();
    }
    await story.serve();
    expect(await story.untilRest()).toMatchObject({ accepted: 1, published: 1, lost: 0 });
  }, 90_000);

  test('T3: SIGTERM while PostgreSQL is dead ends each role with 0, and nothing is lost', async () => {
    await begin();
    const [machine] = await story.equipment();
    const roles = ['worker', 'receiver'];
    const others = await Promise.all(
      roles.map((ROLE) => startService({ environment: story.settings({ ROLE }) })),
    );
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    await story.untilEvents(machine!, 1);
    await server.kill();
    const [worker, receiver] = others as [Service, Service];
    await Promise.all([expectEnd(story.service), expectEnd(worker)]);
    expect(await receiver.stop('SIGTERM', 2 * graceMs)).toEqual(ready);
    await server.restart();
    await story.serve();
    expect(await story.untilRest()).toMatchObject({ accepted: 1, published: 1, lost: 0 });
  }, 90_000);

  test('T3: a receiver that ends while its new tokens cannot be stored tells whose they are, and not in order', async () => {
    await begin({ SHUTDOWN_SECONDS: '5', SYNC_INTERVAL_SECONDS: '0' });
    await story.service.stop();
    const receiver = await startService({ environment: story.settings({ ROLE: 'receiver' }) });
    const locking = new Client({ connectionString: story.settings().DATABASE_URL });
    await locking.connect();
    try {
      await locking.query('BEGIN; SELECT 1 FROM connections FOR UPDATE');
      await story.simulator.expireTokens({ kinds: ['access'] });
      const command = startCommand(['makes'], story.settings({ TRAMLINE_URL: receiver.operationsUrl }));
      const turned = async () => {
        const rows = (await story.simulator.coverage()) as { row: string; count: number }[];
        return rows.some(({ row, count }) => row === 'oauth2.refresh' && count > 0);
      };
      await until(turned, { ...soon, what: 'the provider to turn a token' });

      expect(await receiver.stop('SIGTERM', 2 * graceMs)).toEqual(ready);
      const told = receiver.records();
      const lost = told.filter(({ code }) => code === 'grant-lost');
      expect(lost).toMatchObject([
        { place: 'connections', detail: expect.stringContaining('did not confirm') },
      ]);
      const stopped = told.filter(({ line }) => line === 'stopped');
      expect(stopped).toMatchObject([{ clean: false }]);
      expect(stopped[0]!.tookMs).toBeLessThan(5000);
      await command.ended;
    } finally {
      await locking.end();
    }
  }, 90_000);

  test('T3: SIGTERM while a start waits for another process that migrates ends it with 0', async () => {
    await begin();
    const name = await server.createDatabase();
    const environment = story.settings({
      DATABASE_URL: server.url(name),
      ...{ HOST: '127.0.0.1', PORT: '0', OPERATIONS_HOST: '127.0.0.1', OPERATIONS_PORT: '0' },
    });
    const nothing = { code: 0, out: '', error: '' };
    const migrating = new Client({ connectionString: server.url(name) });
    await migrating.connect();
    await migrating.query(`SELECT pg_advisory_lock(${lockNumbers.migration})`);
    const waiting = startCommand(['serve'], environment);
    const looks = `SELECT 1 FROM pg_stat_activity WHERE datname = '${name}' AND query LIKE '%pg_try_advisory_lock%'
      AND pid <> pg_backend_pid()`;
    await until(async () => (await server.query(looks)).length > 0, soon);
    waiting.signal('SIGTERM');
    expect(await waiting.ended).toEqual(nothing);
    await migrating.end();

    const next = startCommand(['serve'], environment);
    await next.untilPrinted(/"operations"/);
    next.interrupt();
    expect(await next.ended).toMatchObject({ code: 0 });
  }, 90_000);
});

const limits = spawnSync('prlimit', ['--version']).status === 0;

describeWithNeighbour(
  'prlimit',
  limits ? { available: true } : { available: false, reason: 'its program is not installed' },
  'a stop while the embedded store cannot be written',
  () => {
    test('T3: SIGTERM while the embedded store finds no room ends it with 0, and nothing is lost', async () => {
      story = await beginStory({ delivers: false, settings: { SHUTDOWN_SECONDS: String(graceMs / 1000) } });
      const [machine, other] = await story.equipment();
      expect((await story.post([notificationOf(machine!)])).status).toBe(204);
      await story.untilEvents(machine!, 1);
      await holdRead(other!);
      expect(spawnSync('prlimit', [`--pid=${story.service.pid}`, '--fsize=0']).status).toBe(0);
      await until(async () => (await fetch(`${story.service.operationsUrl}/readyz`)).status === 503, soon);
      await expectEnd(story.service);
      await story.serve();
      expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 2, lost: 0 });
    }, 90_000);
  },
);
