/**
 * PostgreSQL in trouble under real processes: two that do everything and two that receive what is signed share one
 * database. While it lasts a delivery is answered 503 with `Retry-After` in time and never 204, liveness holds, and it ends
 * by itself with every delivery that was answered 204. Rows D1, D2, D4–D6, D8–D10; K12, K13, T7 and W6 on this store.
 */
import { Client } from 'pg';
import { Webhook } from 'standardwebhooks';
import { migrate } from '../../src/store/postgres/migrate';
import { migrations } from '../../src/store/postgres/migrations';
import { poolConfig } from '../../src/store/postgres/server/database';
import { buildFailingFlush } from '../support/failing-flush';
import { describeWithNeighbour } from '../support/neighbour';
import { delayMsOf, watchOwnDelay } from '../support/own-delay';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy';
import { type Service, startService, temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { notificationOf, type Posted, post, type Resource, Story, soon } from '../support/story';
import { until } from '../support/until';

const ours = process.env.TEST_DATABASE_URL === undefined;
const availability = ours
  ? postgresAvailable()
  : ({ available: false, reason: 'the server of TEST_DATABASE_URL is not ours to stop' } as const);
const gcc = buildFailingFlush();
const hmacSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const ownDelayMs = watchOwnDelay();
/** A sender waits so long. What it or the service was late itself, since others had the processors, is none of it. */
const answeredWithinMs = 4000;
const leaseMs = 4000;

describeWithNeighbour('PostgreSQL', availability, 'processes whose PostgreSQL is in trouble', () => {
  let server: PostgresServer;
  let proxy: PostgresProxy;
  let database = '';
  let story: Story;
  let other: Service;
  let signed: Service[];
  let machines: Resource[];
  /** Notifications of deliveries that were answered 204. */
  let accepted = 0;

  const endSessions = () =>
    server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);

  beforeAll(async () => {
    server = await startPostgres(gcc.flush === undefined ? {} : { environment: gcc.flush.environment });
    database = await server.createDatabase();
    proxy = await startPostgresProxy(Number(new URL(server.url(database)).port));
    const simulator = await startSimulator({
      organizations: 1,
      equipment: 12,
      'field-operations': 0,
      'heartbeat-ms': 0,
    });
    const settings = { LEASE_SECONDS: '4', PROVIDER_TIMEOUT_MS: '3000', SHUTDOWN_SECONDS: '3' };
    story = new Story(simulator, { delivers: false, settings }, temporaryFolder());
    const environmentOf = (name: string, more: Record<string, string>) => {
      const url = new URL(server.url(database));
      if (name !== 'other') url.port = String(proxy.port);
      url.searchParams.set('application_name', name);
      return { DATABASE_URL: url.href, ...more };
    };
    const receives = { ROLE: 'receiver', WEBHOOK_AUTH: 'hmac', WEBHOOK_HMAC_SECRETS: hmacSecret };
    // All bring the empty database to their version at once.
    const started = await Promise.all([
      startService({ environment: story.settings(environmentOf('other', {})) }),
      startService({ environment: story.settings(environmentOf('signed', receives)) }),
      startService({ environment: story.settings(environmentOf('signed', receives)) }),
      story.serve({ settings: environmentOf('first', {}) }),
    ]);
    other = started[0];
    signed = [started[1], started[2]];
    await story.untilLearned();
    machines = await story.equipment();
  });
  afterAll(async () => {
    for (const service of [other, ...(signed ?? [])]) await service?.kill();
    await story?.end();
    await proxy?.close();
    await server?.stop();
  });

  const all = () => [story.service, other, ...signed];
  const statusOf = async (service: Service, path: string): Promise<number> =>
    (await fetch(`${service.operationsUrl}${path}`)).status;

  /** Posts, and looks whether the answer comes in time and is one of the two that there may be. */
  async function postTo(service: Service, machine: Resource, id?: string): Promise<Posted> {
    const text = JSON.stringify([notificationOf(machine)]);
    const sentAt = new Date();
    const headers: Record<string, string> =
      id === undefined
        ? { authorization: story.simulator.environment.WEBHOOK_AUTHORIZATION! }
        : {
            'webhook-id': id,
            'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
            'webhook-signature': new Webhook(hmacSecret).sign(id, sentAt, text),
          };
    const delayMs = () => ownDelayMs() + delayMsOf(service.pid);
    const [beganMs, delayed] = [performance.now(), delayMs()];
    const answer = await post(`${service.publicUrl}/webhooks`, Buffer.from(text), headers);
    expect(performance.now() - beganMs - (delayMs() - delayed)).toBeLessThan(answeredWithinMs);
    if (answer.status === 204) return answer;
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.stringMatching(/^[1-9]/) },
    });
    return answer;
  }

  /** A machine that was changed, so that it has something to tell. */
  let used = 0;
  async function nextMachine(): Promise<Resource> {
    used += 1;
    const machine = machines[used % machines.length]!;
    await story.simulator.changeEquipment(machine.id, { name: `Name ${used}`, notify: false });
    return machine;
  }

  /** Several at once to each of the two that do everything; none is accepted. */
  async function expectRefused(count = 3): Promise<void> {
    const machine = machines[0]!;
    const asked = [story.service, other].flatMap((service) =>
      Array.from({ length: count }, () => postTo(service, machine)),
    );
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([503]));
  }

  async function expectAlive(): Promise<void> {
    const statuses = await Promise.all(all().map((service) => statusOf(service, '/healthz')));
    expect(statuses).toEqual([200, 200, 200, 200]);
  }

  /** By itself, at both; and what was accepted before and after is all there is. */
  async function expectRecovery(): Promise<void> {
    for (const service of [story.service, other]) {
      const machine = await nextMachine();
      await until(async () => (await postTo(service, machine)).status === 204, soon);
      accepted += 1;
      await until(async () => (await statusOf(service, '/readyz')) === 200, soon);
    }
    const ledger = await story.untilRest();
    // What was answered 503 may have been kept all the same: it is one more hint.
    expect(ledger.accepted).toBeGreaterThanOrEqual(accepted);
    expect(ledger).toMatchObject({ lost: 0, waiting: 0, quarantined: 0 });
  }

  /** Another session holds the tables until the work is done. */
  async function whileLocked(tables: string, work: () => Promise<void>) {
    const holder = new Client({ connectionString: server.url(database) });
    // It may end with the server.
    holder.on('error', () => {});
    await holder.connect();
    try {
      await holder.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`);
      await work();
    } finally {
      await holder.end().catch(() => {});
    }
  }

  async function untilWaiting(count: number): Promise<void> {
    await until(
      async () => {
        const [row] = await server.query('SELECT count(*) FROM pg_locks WHERE NOT granted', database);
        return Number(row!.count) >= count;
      },
      { ...soon, what: `${count} calls to wait for the lock` },
    );
  }

  test('K13: four processes started at once on the empty database, and all are ready', async () => {
    expect(await Promise.all(all().map((service) => statusOf(service, '/readyz')))).toEqual(
      Array.from({ length: 4 }, () => 200),
    );
    const rows = await server.query('SELECT name FROM migrations ORDER BY at', database);
    expect(rows.map(({ name }) => name)).toEqual(migrations.map(({ name }) => name));
  });

  test('W6: fifty equal deliveries at once to two processes are fifty notifications of one task', async () => {
    const machine = await nextMachine();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => postTo([story.service, other][index % 2]!, machine)),
    );
    expect(answers.every(({ status }) => status === 204)).toBe(true);
    accepted += 50;
    expect(await story.untilRest()).toMatchObject({ accepted, lost: 0, waiting: 0 });
    const tasks = (await story.tasks()).filter(({ resourceId }) => resourceId === machine.id);
    expect(tasks).toMatchObject([{ state: 'done', generation: 50 }]);
    expect(await story.eventsOf(machine)).toHaveLength(1);
  });

  test('W6: under hmac fifty equal deliveries at once to two processes are one', async () => {
    const machine = await nextMachine();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => postTo(signed[index % 2]!, machine, 'msg_burst')),
    );
    expect(answers.every(({ status }) => status === 204)).toBe(true);
    accepted += 1;
    await story.untilEvents(machine, 1);
    expect(await story.untilRest()).toMatchObject({ accepted, lost: 0, waiting: 0 });
    expect(await story.readsOf(machine)).toHaveLength(1);
  });

  describe('D5: the answer to a commit that succeeded is lost', () => {
    const loseCommit = () => proxy.loseCommitOf(/INSERT INTO deliveries|accept_1/);

    test('D5: under hmac the repeat is the same delivery', async () => {
      const machine = await nextMachine();
      const lost = loseCommit();
      expect((await postTo(signed[0]!, machine, 'msg_lost')).status).toBe(503);
      await lost;
      for (const service of signed) expect((await postTo(service, machine, 'msg_lost')).status).toBe(204);
      accepted += 1;
      await story.untilEvents(machine, 1);
      expect(await story.untilRest()).toMatchObject({ accepted, lost: 0, waiting: 0 });
      expect(await story.eventsOf(machine)).toHaveLength(1);
    });

    test('D5: without a message id the repeat is one more hint and no second event', async () => {
      const machine = await nextMachine();
      const lost = loseCommit();
      expect((await postTo(story.service, machine)).status).toBe(503);
      await lost;
      expect((await postTo(story.service, machine)).status).toBe(204);
      accepted += 2;
      await story.untilEvents(machine, 1);
      expect(await story.untilRest()).toMatchObject({ accepted, lost: 0, waiting: 0 });
      expect(await story.eventsOf(machine)).toHaveLength(1);
    });
  });

  test('T7: the schema is expanded by a newer version while older processes work, and they go on', async () => {
    const config = poolConfig({ url: server.url(database), connections: 1 });
    const expand = 'ALTER TABLE tasks ADD COLUMN later TEXT; ALTER TABLE outbox ADD COLUMN later TEXT';
    await migrate(config, null, [...migrations, { name: '9001-later', kind: 'expand', sql: expand }]);
    for (const service of [story.service, other]) {
      const machine = await nextMachine();
      expect((await postTo(service, machine)).status).toBe(204);
      accepted += 1;
      await story.untilEvents(machine, 1);
    }
    expect(await story.untilRest()).toMatchObject({ accepted, lost: 0, waiting: 0 });
  });

  test('D2: locked tables are given up in time, and probes still answer', async () => {
    await whileLocked('deliveries, tasks', async () => {
      const refused = expectRefused(20);
      await untilWaiting(3);
      for (let times = 0; times < 3; times += 1) {
        await expectAlive();
        // What needs neither of the tables finds a connection at once.
        await until(async () => (await statusOf(story.service, '/api/events?after=0&limit=1')) === 200, soon);
      }
      await refused;
      for (const service of [story.service, other]) {
        await until(async () => (await statusOf(service, '/readyz')) === 503, soon);
      }
    });
    await expectRecovery();
  });

  test('D9: with every connection in use deliveries are answered 503, counted, and accepted again afterwards', async () => {
    // A store that gives no connection in two seconds is told of, unless the answer was due before that on a busy machine.
    const counted = async () => {
      const outcomes = ['store-unavailable', 'late'];
      const counts = outcomes.map((outcome) => story.metric('tramline_deliveries_total', { outcome }));
      return (await Promise.all(counts)).reduce((sum, count) => sum + count);
    };
    const before = await counted();
    await whileLocked('outbox', async () => {
      const asked = Array.from({ length: 40 }, () => statusOf(story.service, '/api/events?after=0&limit=1'));
      const refused = await until(async () => {
        const answers = await Promise.all(
          Array.from({ length: 5 }, () => postTo(story.service, machines[0]!)),
        );
        accepted += answers.filter(({ status }) => status === 204).length;
        return answers.filter(({ status }) => status === 503).length;
      }, soon);
      await expectAlive();
      expect(new Set(await Promise.all(asked))).toEqual(new Set([503]));
      expect((await counted()) - before).toBeGreaterThanOrEqual(refused);
    });
    await expectRecovery();
  });

  test('D1, D4: a database killed with calls under way, and down: every delivery is answered 503 until it is back', async () => {
    await whileLocked('tasks', async () => {
      const underWay = expectRefused();
      await untilWaiting(2);
      await server.kill();
      await underWay;
    });
    await until(async () => (await statusOf(other, '/readyz')) === 503, soon);
    await expectAlive();
    await expectRefused();
    await server.restart();
    await expectRecovery();
  });

  test('D8: a database that became read-only is away until it may be written again', async () => {
    const become = (readOnly: boolean) =>
      server.query(`ALTER DATABASE ${database} SET default_transaction_read_only = ${readOnly}`);
    await become(true);
    await endSessions();
    await until(async () => (await statusOf(story.service, '/readyz')) === 503, soon);
    await expectRefused();
    await expectAlive();
    // Nobody ends the sessions that were made meanwhile: each may only read for as long as it lasts.
    await become(false);
    await expectRecovery();
  });

  const away: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
    [
      'a database that lets nobody in',
      async () => {
        await server.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
        await endSessions();
      },
      () => server.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`),
    ],
    [
      'a table that is not there',
      () => server.query('ALTER TABLE hints RENAME TO hints_elsewhere', database),
      () => server.query('ALTER TABLE hints_elsewhere RENAME TO hints', database),
    ],
  ];
  test.each(away)(
    'D8: %s refuses deliveries for a while, and sets none of them aside',
    async (_what, leave, comeBack) => {
      await leave();
      try {
        await expectRefused();
        await until(async () => (await statusOf(other, '/readyz')) === 503, soon);
        await expectAlive();
      } finally {
        await comeBack();
      }
      await expectRecovery();
      expect(await story.quarantine()).toEqual([]);
    },
  );

  test('D8: a database that gives tasks out and takes no ending has the provider asked less and less', async () => {
    await server.query('ALTER TABLE outbox RENAME TO outbox_elsewhere', database);
    try {
      const machine = await nextMachine();
      expect((await postTo(story.service, machine)).status).toBe(204);
      accepted += 1;
      const backedOff = "SELECT 1 FROM tasks WHERE code = 'store-away' AND due_at - failed_at > 1000";
      await until(async () => (await server.query(backedOff, database)).length > 0, soon);
      await expectAlive();
    } finally {
      await server.query('ALTER TABLE outbox_elsewhere RENAME TO outbox', database);
    }
    await expectRecovery();
    expect(await story.quarantine()).toEqual([]);
  });

  test('D6: a database that says nothing is given up in time, and liveness holds', async () => {
    server.pause();
    try {
      const refused = expectRefused();
      await until(async () => (await statusOf(other, '/readyz')) === 503, soon);
      await expectAlive();
      await refused;
      // Now there is no connection left, and none can be had.
      await expectRefused();
      await expectAlive();
    } finally {
      server.resume();
    }
    await expectRecovery();
  });

  test('D10: rows that make no sense are set aside or told of, and the rest goes on', async () => {
    const [damaged, whole] = [await nextMachine(), await nextMachine()];
    for (const machine of [damaged, whole]) expect((await postTo(other, machine)).status).toBe(204);
    accepted += 2;
    await story.untilRest();
    await server.query(
      `UPDATE tasks SET address = 'nowhere' WHERE resource_id = '${damaged.id}';
       INSERT INTO webhook_secrets (id, kind, state, sealed, made_at)
         VALUES ('damaged', 'authorization', 'offered', 'k1.nothing', 0)`,
      database,
    );
    for (const machine of [damaged, whole]) {
      await story.simulator.changeEquipment(machine.id, { name: 'After the damage', notify: false });
      expect((await postTo(other, machine)).status).toBe(204);
      accepted += 1;
    }
    const entries = await until(async () => {
      const found = await story.quarantine();
      return found.length > 0 ? found : null;
    }, soon);
    expect(entries).toMatchObject([{ what: 'task', reason: 'address-refused' }]);
    const named = (event: { data: unknown }) => (event.data as { name: string }).name;
    await until(async () => named((await story.eventsOf(whole)).at(-1)!) === 'After the damage', soon);
    const told = () =>
      [...story.log('trouble'), ...story.log('fault')].some(({ place }) => place === 'webhook');
    await until(told, { ...soon, what: 'the secret that cannot be opened to be told of' });
    expect((await postTo(story.service, whole)).status).toBe(204);
    accepted += 1;
    await server.query(
      `UPDATE tasks SET address = '${damaged.uri}' WHERE resource_id = '${damaged.id}';
       DELETE FROM webhook_secrets WHERE id = 'damaged'`,
      database,
    );
    await story.ask(`/api/quarantine/${entries[0]!.id}/release`, 'POST');
    await until(async () => named((await story.eventsOf(damaged)).at(-1)!) === 'After the damage', soon);
  });

  describeWithNeighbour('a C compiler', gcc, 'a disk that fails', () => {
    test('D10: a log that cannot be flushed ends the database, which starts anew and is waited for', async () => {
      const startedAt = async () =>
        (await server.query('SELECT pg_postmaster_start_time() AS at'))[0]!.at as Date;
      const before = await startedAt();
      gcc.flush!.failNext();
      const machine = await nextMachine();
      await until(async () => (await postTo(other, machine)).status === 503, soon);
      await expectAlive();
      await expectRecovery();
      // The same server: its processes ended and were started again.
      expect(await startedAt()).toEqual(before);
    });
  });

  test('K12: a process that is stopped in the middle of a claim keeps others from claiming for less than a lease', async () => {
    const holders = async () =>
      server.query(
        `SELECT a.application_name AS name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
         WHERE l.locktype = 'advisory' AND l.granted AND l.objid = 7126002 AND a.datname = '${database}'`,
      );
    let stopped: Service | undefined;
    try {
      let going: Service | undefined;
      await whileLocked('tasks', async () => {
        const [holder] = await until(async () => {
          const rows = await holders();
          return rows.length > 0 ? rows : null;
        }, soon);
        [stopped, going] = holder!.name === 'other' ? [other, story.service] : [story.service, other];
        process.kill(stopped.pid, 'SIGSTOP');
      });
      expect(await holders()).toHaveLength(1);
      const machine = await nextMachine();
      const count = (await story.simulator.counts()).requests;
      expect((await postTo(going!, machine)).status).toBe(204);
      accepted += 1;
      const readBy = async () => (await story.simulator.counts()).requests > count;
      await until(readBy, { withinMs: 2 * leaseMs, what: 'the other to read what it accepted' });
    } finally {
      if (stopped !== undefined) process.kill(stopped.pid, 'SIGCONT');
    }
    await expectRecovery();
  });
});
