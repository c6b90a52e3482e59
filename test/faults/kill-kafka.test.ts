/**
 * kill -9 around the send, on a real Kafka: what was decided is on the topic after the restart, what is there twice is
 * the same bytes, and every record traces to a decision. And a store, embedded or not, that was put back to an hour ago,
 * which the topics are ahead of. `tramline migrate` makes the topics.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { evidenceOf, readTopics } from '../support/evidence';
import { type KafkaCluster, kafkaAvailable, kafkaStartsWithinMs, startKafka } from '../support/kafka';
import { checkLedger, repeatsIn } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
import { installedPostgresAvailable, type PostgresServer, startPostgres } from '../support/postgres';
import { dumpDatabase, restoreDatabase } from '../support/postgres-backup';
import { repositoryRoot } from '../support/repository';
import type { Failpoint } from '../support/serve-with-failpoints';
import { type Service, startService, temporaryFolder, until } from '../support/service';
import { type Simulator, startSimulator } from '../support/simulator';

const soon = { withinMs: 30_000 };
const kinds = ['equipment', 'field-operation', 'organization-access'];

describeWithNeighbour('Kafka', kafkaAvailable(), 'killed around the send to a real Kafka', () => {
  let kafka: KafkaCluster;
  let simulator: Simulator;
  let service: Service;

  beforeAll(async () => {
    kafka = await startKafka();
    simulator = await startSimulator({ organizations: 1, equipment: 40, 'heartbeat-ms': 0 });
  }, kafkaStartsWithinMs);
  afterAll(async () => {
    await service.kill();
    await simulator.kill();
    await kafka.stop();
  });

  const embeddedIn = (folder: string) => `sqlite:${join(folder, 'tramline.db')}`;
  const environmentFor = (prefix: string, databaseUrl: string) => ({
    ...simulator.environment,
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    DATABASE_URL: databaseUrl,
    KAFKA_BROKERS: kafka.brokers.join(','),
    KAFKA_TOPIC_PREFIX: prefix,
    KAFKA_CLIENT_ID: prefix,
    SETTLE_SECONDS: '0',
    READ_GAP_MS: '0',
    ALERT_RESEND_SECONDS: '1',
  });

  async function start(prefix: string, databaseUrl: string, failpoint: Failpoint | null): Promise<void> {
    service = await startService({
      environment: {
        ...environmentFor(prefix, databaseUrl),
        ...(failpoint === null ? {} : { FAILPOINT: failpoint }),
      },
      ...(failpoint === null ? {} : { entry: 'dist/test/support/serve-with-failpoints.js' }),
    });
    await simulator.deliverTo({ url: `${service.publicUrl}/webhooks`, retryMs: 50, verify: false });
  }

  /** Until so many are, and nothing is under way. */
  const untilPublished = (count: number) =>
    until(async () => {
      const { notificationsPending } = await simulator.counts();
      const response = await fetch(`${service.operationsUrl}/api/ledger`);
      const ledger = (await response.json()) as Record<string, number>;
      const metrics = await (await fetch(`${service.operationsUrl}/metrics`)).text();
      const unsent = /^tramline_outbox_pending(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1];
      return (
        notificationsPending === 0 && ledger.published! >= count && ledger.waiting === 0 && unsent === '0'
      );
    }, soon);

  /** Makes the topics. */
  function migrate(prefix: string, databaseUrl: string): void {
    const migrated = spawnSync(process.execPath, ['dist/src/cli.js', 'migrate', '--json'], {
      cwd: repositoryRoot(),
      encoding: 'utf8',
      env: { ...process.env, ...environmentFor(prefix, databaseUrl) },
    });
    expect([migrated.status, migrated.stderr.includes('tramline:')]).toEqual([0, false]);
  }

  /** Changes all, is killed at that step, is started again: all is on the topics, once but where it must be twice. */
  async function killAt(failpoint: Failpoint): Promise<void> {
    const prefix = failpoint.replace(' ', '-').toLowerCase();
    const folder = temporaryFolder();
    migrate(prefix, embeddedIn(folder));
    const before = (await simulator.counts()).notificationsAccepted;
    await start(prefix, embeddedIn(folder), failpoint);
    const { equipment } = await simulator.state();
    for (const { id } of equipment) await simulator.changeEquipment(id, { name: failpoint });
    expect((await service.exited).signal).toBe('SIGKILL');
    await start(prefix, embeddedIn(folder), null);
    const topics = kinds.map((kind) => `${prefix}.${kind}.v1`);
    await untilPublished(equipment.length);
    const accepted = (await simulator.counts()).notificationsAccepted - before;
    await service.stop();
    const records = await readTopics(kafka.brokers, topics);
    const evidence = await evidenceOf(join(folder, 'tramline.db'), accepted, records);
    expect(checkLedger(evidence)).toEqual([]);
    expect(new Set(records.map(({ key }) => key)).size).toBe(equipment.length);
    // Whoever leads next reads what stands there and marks it: only a lost answer makes the same relay send again.
    expect(repeatsIn(records) > 0).toBe(failpoint === 'S9 repeated');
  }

  test('K7: killed after the decision, sent to Kafka after the restart', () => killAt('S8 decided'));

  test.each<Failpoint>(['S9 acknowledged', 'S9 repeated', 'S10 marked'])(
    'K8: killed at %s, with records that Kafka has',
    killAt,
  );

  /** What is backed up after it was published, and forgotten: `restored` is where the service finds it as it was then. */
  type Restorable = { databaseUrl: string; backUp(): Promise<void>; restored(): Promise<string> };

  async function restoreBehindTopics(prefix: string, store: Restorable): Promise<void> {
    const { equipment } = await simulator.state();
    const changeAll = async (name: string, notify: boolean) => {
      for (const { id } of equipment) await simulator.changeEquipment(id, { name, notify });
    };
    migrate(prefix, store.databaseUrl);
    await start(prefix, store.databaseUrl, null);
    await changeAll('Backed up', true);
    await untilPublished(equipment.length);
    await store.backUp();
    await changeAll('Forgotten', true);
    await untilPublished(2 * equipment.length);
    await service.stop();

    const databaseUrl = await store.restored();
    // One of them changes while nobody looks: only a full sync can tell.
    const [quiet] = equipment;
    await simulator.changeEquipment(quiet!.id, { name: 'Unnoticed', notify: false });
    await start(prefix, databaseUrl, null);
    const states = () =>
      service
        .records()
        .filter(({ line, name }) => line === 'alert' && name === 'TramlineStoreBehindTopics')
        .map(({ state }) => state);
    await until(() => states().includes('firing'), { ...soon, what: 'the alert' });
    await until(() => states().at(-1) === 'resolved', { ...soon, what: 'the end of the alert' });
    await untilPublished(equipment.length);
    await service.stop();

    const records = await readTopics(
      kafka.brokers,
      kinds.map((kind) => `${prefix}.${kind}.v1`),
    );
    const byKey = Map.groupBy(records, ({ key }) => key);
    for (const { id, organizationId } of equipment) {
      const ofKey = byKey.get(`${organizationId}/equipment/${id}`)!;
      const sequences = ofKey.map(({ headers }) =>
        Number(headers.find(([name]) => name === 'ce_sequence')?.[1]),
      );
      expect(sequences).toEqual([1, 2, 3]);
      const name = id === quiet!.id ? 'Unnoticed' : 'Forgotten';
      expect(JSON.parse(ofKey.at(-1)!.value)).toMatchObject({ name });
    }
  }

  test('D12: a store restored from before numbers above the topics, syncs all, and says so until it has', async () => {
    const [folder, backup] = [temporaryFolder(), join(temporaryFolder(), 'backup')];
    await restoreBehindTopics('d12', {
      databaseUrl: embeddedIn(folder),
      async backUp() {
        await service.stop();
        cpSync(folder, backup, { recursive: true });
        await start('d12', embeddedIn(folder), null);
      },
      async restored() {
        rmSync(folder, { recursive: true });
        cpSync(backup, folder, { recursive: true });
        return embeddedIn(folder);
      },
    });
  });

  describeWithNeighbour('pg_dump', installedPostgresAvailable(), 'with a database', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres({ installed: true });
    });
    afterAll(() => server.stop());

    test('D12: a database restored from a dump of before does the same', async () => {
      const databaseUrl = server.url(await server.createDatabase());
      const backup = join(temporaryFolder(), 'backup.dump');
      await restoreBehindTopics('d12-dump', {
        databaseUrl,
        backUp: async () => dumpDatabase(databaseUrl, backup),
        async restored() {
          const empty = await server.createDatabase();
          restoreDatabase(backup, server.url(empty));
          // A dump holds the leases of whoever led while it was taken; an hour later they have run out.
          await server.query('DELETE FROM leases', empty);
          return server.url(empty);
        },
      });
    });
  });
});
