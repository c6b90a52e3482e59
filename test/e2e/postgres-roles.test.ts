/**
 * One receiver and two workers share one PostgreSQL: what the receiver accepts a worker reads and publishes without
 * waiting for a poll; a worker that stops leaves its work to the other, and one that is killed loses nothing.
 */

import { Client } from 'pg';
import { noService, runCommand } from '../support/command';
import { freePort } from '../support/free-port';
import { describeWithNeighbour } from '../support/neighbour';
import { watchOwnDelay } from '../support/own-delay';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { type Service, startService, temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { notificationOf, Story, soon, sumOf } from '../support/story';
import { until } from '../support/until';

const ownDelayMs = watchOwnDelay();
const leaseMs = 4000;
/** Until what is due is taken. */
const takenWithinMs = 2000;
/** And the read itself. */
const readWithinMs = takenWithinMs + 1000;

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'several processes on PostgreSQL', () => {
  let server: PostgresServer;
  let story: Story;
  const workers: Service[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    const url = server.url(await server.createDatabase());
    const world = { organizations: 2, equipment: 12, 'field-operations': 0, 'heartbeat-ms': 0 };
    const simulator = await startSimulator(world);
    const port = await freePort();
    const settings = {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      DATABASE_URL: url,
      ROLE: 'receiver',
      LEASE_SECONDS: String(leaseMs / 1000),
      PROVIDER_TIMEOUT_MS: '3000',
      SHUTDOWN_SECONDS: '3',
    };
    story = new Story(simulator, { delivers: false, settings }, temporaryFolder());
    // All three bring the empty database to their version at once.
    const environment = story.settings({ ROLE: 'worker' });
    const [one, two] = await Promise.all([
      startService({ environment }),
      startService({ environment }),
      story.serve(),
    ]);
    workers.push(one, two);
    await story.untilLearned();
  });

  afterAll(async () => {
    for (const worker of workers) await worker.kill();
    await story.end();
    await server.stop();
  });

  /** The store keeps that nobody asks the provider before two seconds after this. */
  const isPausedSince = async (ms: number) => {
    const client = new Client({ connectionString: story.settings().DATABASE_URL });
    await client.connect();
    try {
      const kept = `SELECT value >= $1 AS lasts FROM meta WHERE name = 'pause-until'`;
      return (await client.query<{ lasts: boolean }>(kept, [ms + 1950])).rows[0]?.lasts === true;
    } finally {
      await client.end();
    }
  };

  const changeAll = async (name: string) => {
    const machines = await story.equipment();
    for (const { id } of machines) await story.simulator.changeEquipment(id, { name, notify: false });
    const answers = await Promise.all(machines.map((machine) => story.post([notificationOf(machine)])));
    expect(answers.every(({ status }) => status === 204)).toBe(true);
    return machines;
  };

  test('K13: what the receiver accepts is read by a worker and published once', async () => {
    const machines = await changeAll('North');
    for (const machine of machines) await story.untilEvents(machine, 1);
    expect(await story.untilRest()).toMatchObject({ accepted: machines.length, published: machines.length });
    // The receiver pages nobody, and tells whether one does who can.
    const metrics = await (await fetch(`${story.service.operationsUrl}/metrics`)).text();
    expect(metrics).toContain('\ntramline_alerts_unattended_seconds 0\n');
  });

  test('a store at its bound has no room for a receiver, and a worker goes on', async () => {
    const more = { STORE_BYTES_MAX: '4194304', PORT: '0', OPERATIONS_PORT: '0' };
    const [receiver, worker] = await Promise.all(
      ['receiver', 'worker'].map((ROLE) => startService({ environment: story.settings({ ...more, ROLE }) })),
    );
    try {
      const statusOf = async (service: Service) => (await fetch(`${service.operationsUrl}/readyz`)).status;
      await until(async () => (await statusOf(receiver!)) === 503, soon);
      expect(await statusOf(worker!)).toBe(200);
    } finally {
      await Promise.all([receiver!.kill(), worker!.kill()]);
    }
  });

  test('a worker that is told to stop leaves everything to the other', async () => {
    const machines = await changeAll('South');
    expect((await workers[0]!.stop()).code).toBe(0);
    for (const machine of machines) await story.untilEvents(machine, 2);
    workers[0] = await startService({ environment: story.settings({ ROLE: 'worker' }) });
  });

  test('what a killed worker had taken is read by another when its lease is over', async () => {
    await workers[1]!.stop();
    await story.simulator.setFaults([{ match: { path: '/equipment/' }, delayMs: 800 }]);
    const machines = await changeAll('West');
    await until(async () => (await story.tasks('taken')).length > 0, soon);
    await story.simulator.setFaults([]);
    const overAtMs = Date.now() + leaseMs;
    await workers[0]!.kill();
    workers[0] = await startService({ environment: story.settings({ ROLE: 'worker' }) });
    // The one that was added takes work within two seconds, and what the dead one led and had when its lease is over.
    const fromMs = Math.max(overAtMs, Date.now());
    await until(
      async () =>
        (await story.tasks('done')).filter(({ generation }) => generation === 3).length === machines.length,
      { ...soon, what: 'every machine to be read again' },
    );
    for (const machine of machines) {
      await story.untilEvents(machine, 3);
      const { steps } = await story.explain(machine.uri);
      const lastMs = (wanted: string) => Date.parse(steps.findLast(({ step }) => step === wanted)!.at);
      expect(lastMs('published') - fromMs).toBeLessThan(readWithinMs);
      expect(lastMs('sent') - fromMs).toBeLessThan(readWithinMs);
    }
  });

  test('a worker that is added beside a busy one takes work within two seconds', async () => {
    const delayMs = 1000;
    await workers[0]!.stop();
    const environment = story.settings({ ROLE: 'worker' });
    workers[0] = await startService({ environment: { ...environment, PROVIDER_CONCURRENCY: '2' } });
    await story.simulator.setFaults([{ match: { path: '/equipment/' }, delayMs }]);
    const machines = await changeAll('East');
    await until(async () => (await story.tasks('taken')).length > 0, soon);
    const added = await startService({ environment });
    workers[1] = added;
    const [readyMs, late] = [performance.now(), ownDelayMs()];
    // However long its start took, the other one has more than it can read meanwhile.
    await story.post(machines.map((machine) => notificationOf(machine)));
    const read = async () =>
      sumOf(await (await fetch(`${added.operationsUrl}/metrics`)).text(), 'tramline_attempts_total') > 0;
    await until(read, { ...soon, everyMs: 20, what: 'the added worker to have read something' });
    const tookMs = performance.now() - readyMs - (ownDelayMs() - late);
    expect(tookMs).toBeLessThan(takenWithinMs + delayMs);
    await story.simulator.setFaults([]);
    for (const machine of machines) await story.untilEvents(machine, 4);
    await story.untilRest();
  });

  test('a pause that one worker was asked for is kept by all', async () => {
    const [limited, ...others] = await story.equipment();
    const match = { path: `/equipment/${limited!.id}` };
    await story.simulator.setFaults([{ match, times: 1, status: 429, headers: { 'retry-after': '2' } }]);
    const from = (await story.requests()).length;
    const since = async () =>
      (await story.requests()).slice(from).filter(({ path }) => path.includes('/equipment/'));
    await story.post([notificationOf(limited!)]);
    const refused = await until(async () => (await since()).find(({ status }) => status === 429), soon);
    // What another worker asks before the answer has come to the one, and from there to the store, no pause can hold.
    await until(() => isPausedSince(Date.parse(refused.at)), {
      ...soon,
      everyMs: 20,
      what: 'the pause to be kept',
    });
    await story.post(others.map((machine) => notificationOf(machine)));
    const asked = await until(async () => {
      const later = (await since()).filter(({ number }) => number > refused.number);
      return later.length > others.length ? later : undefined;
    }, soon);
    for (const { at } of asked) expect(Date.parse(at) - Date.parse(refused.at)).toBeGreaterThanOrEqual(1950);
    await workers[1]!.stop();
  });

  test('a token that has ended is renewed once, though a worker and a command beside it find it so', async () => {
    const renewals = async () => {
      const rows = (await story.simulator.coverage()) as { row: string; count: number }[];
      return rows.find(({ row }) => row === 'oauth2.refresh')!.count;
    };
    const before = await renewals();
    const [machine] = await story.equipment();
    await story.untilRest();
    const published = (await story.eventsOf(machine!)).length;
    const from = (await story.requests()).length;
    // No service answers there: it uses the store, and asks the provider, itself.
    const alone = story.settings({ TRAMLINE_URL: noService });
    await story.simulator.setFaults([{ match: { path: '/organizations' }, delayMs: 700 }]);
    const listed = runCommand(['equipment', 'list', '--json'], alone);
    await until(async () => (await story.requests()).length > from, { ...soon, everyMs: 10 });
    // It holds the token by now, and has not asked for equipment yet.
    await story.simulator.expireTokens();
    await story.simulator.changeEquipment(machine!.id, { name: 'Renewed', notify: false });
    expect((await story.post([notificationOf(machine!)])).status).toBe(204);
    expect(await listed).toMatchObject({ code: 0, error: '' });
    await story.untilEvents(machine!, published + 1);
    await story.simulator.setFaults([]);
    expect((await renewals()) - before).toBe(1);
  });

  test('a token and an Authorization value that a worker makes are accepted by the receiver at once', async () => {
    const environment = story.settings({ TRAMLINE_URL: workers[0]!.operationsUrl });
    const [organization] = (await story.simulator.state()).organizations;
    const rotated = await runCommand(['delivery', 'set', '--rotate-authorization'], environment);
    expect([rotated.error, rotated.code]).toEqual(['', 0]);
    const words = ['subscriptions', 'create', '--event-type', 'field', '--organization', organization!.id];
    const created = await runCommand([...words, '--json'], environment);
    expect([created.error, created.code]).toEqual(['', 0]);
    const { id } = JSON.parse(created.out) as { id: string };
    expect((await runCommand(['subscriptions', 'end', id], environment)).code).toBe(0);
    const refused = async () =>
      (await story.post([notificationOf({ uri: '', organizationId: '' })])).status === 401;
    await until(refused, { ...soon, what: 'the former value to be refused' });
  });

  test('a probe that is asked of the receiver ends with what the worker found', async () => {
    const environment = story.settings({ TRAMLINE_URL: story.service.operationsUrl });
    const { id } = (await story.simulator.state()).organizations[0]!;
    const found: unknown[] = [];
    for (const termsAccepted of [true, false, false, true, true]) {
      await story.simulator.setOrganization(id, { termsAccepted, notify: false });
      const { code, out } = await runCommand(['organizations', 'probe', id, '--json'], environment);
      found.push([code, JSON.parse(out).access]);
    }
    const [active, blocked] = [
      [0, 'active'],
      [5, 'terms-required'],
    ];
    expect(found).toEqual([active, blocked, blocked, active, active]);
  });
});
