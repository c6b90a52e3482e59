/**
 * D3: the disk is full in earnest. Deliveries are answered 503 in time and nothing is promised, a person is told, and when
 * there is room again everything goes on by itself, with every delivery that was answered 204. And a store that has
 * grown to the bound that was set for it, which is full as well.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../contract/open-postgres';
import { deliveryOf } from '../contract/store-hand';
import { runCommand } from '../support/command';
import { evidenceOf } from '../support/evidence';
import { checkLedger } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { startService } from '../support/service';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

const [folder, own] = ['embedded', 'database'].map((name) =>
  mkdtempSync(join(tmpdir(), `tramline-disk-${name}-`)),
) as [string, string];
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', folder]).status === 0;

// Also where no test of it ran.
afterAll(() => {
  for (const place of [folder, own]) {
    spawnSync('umount', [place]);
    rmSync(place, { recursive: true });
  }
});

/** Leaves no room at all where this file is. */
function fillUp(ballast: string): void {
  for (const size of [1_048_576, 65_536, 4096, 1]) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(size, 1), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

/** Whoever was called can look: what waits, and who waits for it. */
async function mustShow(story: Story, post: () => Promise<unknown>, alert: unknown): Promise<void> {
  for (let look = 0; look < 10; look += 1) {
    const [tasks, ledger] = await Promise.all([story.tasks(), story.ledger(), post()]);
    expect(tasks).not.toEqual([]);
    expect(ledger).toMatchObject({ lost: 0 });
    const alerts = await story.alerts();
    expect(alerts).toContainEqual(expect.objectContaining({ name: alert, state: 'firing' }));
    expect(alerts.map(({ name }) => name)).not.toContain('TramlineWorkersAbsent');
  }
}

describeWithNeighbour(
  'a small disk',
  mounted ? { available: true } : { available: false, reason: 'nothing may be mounted here' },
  'D3 on a disk of six megabytes',
  () => {
    let story: Story;
    const ballast = join(folder, 'ballast');

    afterAll(() => story?.end());

    test('D3: 503 with Retry-After while it is full, a page, and recovery by itself when there is room', async () => {
      story = await beginStory({
        delivers: false,
        flags: { equipment: 20 },
        settings: { DATABASE_URL: `sqlite:${join(folder, 'tramline.db')}` },
      });
      const { equipment } = await story.simulator.state();
      const statuses: number[] = [];
      let accepted = 0;
      const post = async (index: number) => {
        const began = performance.now();
        const machine = equipment[index % equipment.length]!;
        // Enough in one delivery that the room is soon used up.
        const notifications = Array.from({ length: 100 }, () => notificationOf(machine));
        const answer = await story.post(notifications);
        expect(performance.now() - began).toBeLessThan(5000);
        statuses.push(answer.status);
        if (answer.status === 204) accepted += notifications.length;
        return answer;
      };
      await post(0);
      await story.untilRest();
      fillUp(ballast);
      const refused = await until(async () => {
        const answer = await post(statuses.length);
        return answer.status === 503 ? answer : null;
      }, soon);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      await until(async () => (await fetch(`${story.service.operationsUrl}/readyz`)).status === 503, soon);
      expect((await fetch(`${story.service.operationsUrl}/healthz`)).status).toBe(200);
      const page = await until(
        () =>
          story.service
            .records()
            .find((record) => record.line === 'alert' && record.name === 'TramlineStoreUnavailable') ?? null,
        soon,
      );
      expect(page).toMatchObject({ state: 'firing' });
      await mustShow(story, () => post(statuses.length), page.name);

      rmSync(ballast);
      await until(async () => (await post(statuses.length)).status === 204, soon);
      const ledger = await story.untilRest();
      expect(ledger.accepted).toBeGreaterThanOrEqual(accepted);
      expect(ledger).toMatchObject({ lost: 0, waiting: 0 });
      await until(
        () =>
          story.service
            .records()
            .some(({ line, name, state }) => line === 'alert' && name === page.name && state === 'resolved'),
        soon,
      );
      await story.service.stop();
      const evidence = await evidenceOf(join(folder, 'tramline.db'), accepted, 'embedded');
      expect(checkLedger(evidence)).toEqual([]);
    }, 120_000);
  },
);

const postgres = postgresAvailable();
const isReady =
  mounted &&
  postgres.available &&
  process.env.TEST_DATABASE_URL === undefined &&
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', own]).status === 0;

describeWithNeighbour(
  'a small disk of a database',
  isReady ? { available: true } : { available: false, reason: 'no PostgreSQL of ours, or no mount' },
  'D3 on PostgreSQL',
  () => {
    let server: PostgresServer;
    const ballast = join(own, 'ballast');
    beforeAll(async () => {
      server = await startPostgres();
      const place = join(own, 'space');
      mkdirSync(place);
      chownSync(place, 65_534, 65_534);
      await server.query(`CREATE TABLESPACE small LOCATION '${place}'`);
    });
    afterAll(() => server?.stop());

    test('D3: what finds no room (53100) is unavailable and leaves nothing behind, and is taken when there is room', async () => {
      await server.query('CREATE DATABASE small TABLESPACE small');
      const store = await openPostgres(postgresSettingsFor(server.url('small')), Date.now);
      const put = () => {
        const raw = randomBytes(300_000).toString('base64');
        const element = { line: 'quarantined', reason: 'malformed-notification', path: '', raw } as const;
        return store.put(deliveryOf(Date.now(), [element]));
      };
      await put();
      fillUp(ballast);
      const refused = await until(
        () =>
          put().then(
            () => null,
            (error: unknown) => error,
          ),
        soon,
      );
      expect(refused).toMatchObject({ code: 'store.unavailable', cause: { code: '53100' } });
      const { accepted } = await store.ledger();
      // Also the process beside it, to which nothing was delivered, knows; a minute later nobody does.
      const later = await openPostgres(postgresSettingsFor(server.url('small')), () => Date.now() + 60_000);
      const beside = await openPostgres(postgresSettingsFor(server.url('small')), Date.now);
      await until(
        () =>
          beside.ready().then(
            () => false,
            (error: unknown) => (error as { code?: string }).code === 'store.unavailable',
          ),
        soon,
      );
      await later.ready();
      await Promise.all([later.close(), beside.close()]);

      rmSync(ballast);
      await put();
      expect((await store.ledger()).accepted).toBe(accepted + 1);
      expect(await store.listQuarantine({ limit: 100, after: null })).toHaveLength(accepted + 1);
      await store.close();
    }, 60_000);

    test('D3: while deliveries to a receiver find no room, no process is ready, and a worker tells a person; it ends by itself', async () => {
      await server.query('DROP DATABASE IF EXISTS small');
      await server.query('CREATE DATABASE served TABLESPACE small');
      const settings = { DATABASE_URL: server.url('served'), ROLE: 'worker' };
      const story = await beginStory({ delivers: false, settings });
      const receiver = await startService({ environment: story.settings({ ROLE: 'receiver' }) });
      try {
        const post = () =>
          story.post(
            Array.from({ length: 256 }, (_, at) => ({
              clientKey: 'a',
              links: [],
              eventTypeId: 'of-no-interest',
              metadata: [],
              targetResource: `${story.simulator.catalog}${randomBytes(600).toString('hex')}${at}`,
            })),
            {},
            receiver,
          );
        const processes = [story.service, receiver];
        const readiness = () =>
          Promise.all(
            processes.map(async ({ operationsUrl }) => (await fetch(`${operationsUrl}/readyz`)).status),
          );
        const reachable = () => story.metric('tramline_store_reachable');
        const isReady = async () => (await readiness()).every((status) => status === 200);
        const isRed = async () => (await readiness()).every((status) => status === 503);
        expect((await post()).status).toBe(204);
        expect([await isReady(), await reachable()]).toEqual([true, 1]);
        fillUp(ballast);
        await until(async () => (await post()).status === 503, soon);
        await until(isRed, soon);
        const told = async () => {
          await post();
          return story.service
            .records()
            .some(
              ({ line, name, state }) =>
                line === 'alert' && name === 'TramlineStoreUnavailable' && state === 'firing',
            );
        };
        await until(told, soon);
        expect([await isRed(), await reachable()]).toEqual([true, 0]);
        rmSync(ballast);
        await until(async () => (await post()).status === 204, soon);
        // With the first that is taken, and not only half a minute later.
        await until(isReady, { withinMs: 15_000 });
        expect(await reachable()).toBe(1);
      } finally {
        rmSync(ballast, { force: true });
        await receiver.kill();
        await story.end();
      }
    }, 150_000);
  },
);

/** What no file may grow past, of a process that runs; a quota is told to SQLite's callers in the same way. */
function limitFiles(pid: number, bytes: string): boolean {
  return spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]).status === 0;
}

describeWithNeighbour(
  'a limit of files',
  limitFiles(process.pid, 'unlimited')
    ? { available: true }
    : { available: false, reason: 'no prlimit here' },
  'D3 on a disk whose quota is used up',
  () => {
    test('D3: 503 and a page, what is there is still shown, and it goes on by itself when there is room', async () => {
      const story = await beginStory({ delivers: false, flags: { equipment: 20 } });
      try {
        const { equipment } = await story.simulator.state();
        const post = (index = 1) => story.post([notificationOf(equipment[index]!)]);
        expect((await post(0)).status).toBe(204);
        await story.untilRest();
        expect(limitFiles(story.service.pid, '0')).toBe(true);
        await until(async () => (await post()).status === 503, soon);
        const name = 'TramlineStoreUnavailable';
        const told = (state: string) =>
          story.service
            .records()
            .some((record) => record.line === 'alert' && record.name === name && record.state === state);
        await until(() => told('firing'), soon);
        await mustShow(story, post, name);
        expect(limitFiles(story.service.pid, 'unlimited')).toBe(true);
        await until(async () => (await post()).status === 204, soon);
        expect(await story.untilRest()).toMatchObject({ lost: 0, waiting: 0 });
        await until(() => told('resolved'), soon);
      } finally {
        await story.end();
      }
    }, 120_000);
  },
);

test('D3: a store that is as large as STORE_BYTES_MAX allows answers 503, tells a person, and stays alive', async () => {
  const story = await beginStory({ delivers: false, settings: { STORE_BYTES_MAX: '4194304' } });
  try {
    const elements = Array.from({ length: 256 }, (_, at) => ({
      clientKey: 'a',
      links: [],
      eventTypeId: 'of-no-interest',
      metadata: [],
      targetResource: `${story.simulator.catalog}${'x'.repeat(1200)}${at}`,
    }));
    const refused = await until(async () => {
      const answer = await story.post(elements);
      return answer.status === 503 ? answer : null;
    }, soon);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await until(
      async () => (await story.alerts()).some(({ name }) => name === 'TramlineStoreUnavailable'),
      soon,
    );
    // It takes all other writes: the page that it holds is counted.
    const metrics = async () => (await fetch(`${story.service.operationsUrl}/metrics`)).text();
    await until(async () => /^tramline_alerts_active\{.*critical.*\} [1-9]/m.test(await metrics()), soon);
    expect(await metrics()).toMatch(/^tramline_store_reachable\b.* 1$/m);
    const check = await runCommand(['check'], { TRAMLINE_URL: story.service.operationsUrl });
    expect(check).toMatchObject({
      code: 1,
      out: expect.stringMatching(/store +failed +[^→]*STORE_BYTES_MAX/),
    });
    expect((await fetch(`${story.service.operationsUrl}/healthz`)).status).toBe(200);
    expect((await fetch(`${story.service.operationsUrl}/readyz`)).status).toBe(503);
    expect((await story.post([])).status).toBe(400);
  } finally {
    await story.end();
  }
}, 60_000);
