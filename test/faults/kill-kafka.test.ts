/**
 * kill -9 around the send, on a real Kafka: what was decided is on the topic after the restart, what is there twice is
 * the same bytes, and every record traces to a decision. `tramline migrate` makes the topics.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { evidenceOf, readTopics } from '../support/evidence';
import { type KafkaCluster, kafkaAvailable, startKafka } from '../support/kafka';
import { checkLedger } from '../support/ledger-checker';
import { describeWithNeighbour } from '../support/neighbour';
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
  });
  afterAll(async () => {
    await service.kill();
    await simulator.kill();
    await kafka.stop();
  });

  const environmentFor = (prefix: string, folder: string) => ({
    ...simulator.environment,
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    DATABASE_URL: `sqlite:${join(folder, 'tramline.db')}`,
    KAFKA_BROKERS: kafka.brokers.join(','),
    KAFKA_TOPIC_PREFIX: prefix,
    KAFKA_CLIENT_ID: prefix,
    SETTLE_SECONDS: '0',
    READ_GAP_MS: '0',
    LOG_LEVEL: 'warn',
  });

  async function start(prefix: string, folder: string, failpoint: Failpoint | null): Promise<void> {
    service = await startService({
      dataFolder: folder,
      entry: 'dist/test/support/serve-with-failpoints.js',
      environment: {
        ...environmentFor(prefix, folder),
        ...(failpoint === null ? {} : { FAILPOINT: failpoint }),
      },
    });
    await simulator.deliverTo({ url: `${service.publicUrl}/webhooks`, retryMs: 50, verify: false });
  }

  test.each([
    ['K7', 'S8 decided'],
    ['K8', 'S9 acknowledged'],
    ['K8', 'S10 marked'],
  ] as [string, Failpoint][])('%s on Kafka: killed at %s', async (row, failpoint) => {
    const prefix = `${row}-${failpoint.slice(0, 3).trim()}`.toLowerCase();
    const folder = temporaryFolder();
    const migrated = spawnSync('npx', ['--no-install', 'node', 'dist/src/cli.js', 'migrate', '--json'], {
      cwd: repositoryRoot(),
      encoding: 'utf8',
      env: { ...process.env, ...environmentFor(prefix, folder) },
    });
    expect([migrated.status, migrated.stderr.includes('tramline:')]).toEqual([0, false]);
    const before = (await simulator.counts()).notificationsAccepted;
    await start(prefix, folder, failpoint);
    const { equipment } = await simulator.state();
    for (const { id } of equipment) await simulator.changeEquipment(id, { name: `${row} ${failpoint}` });
    expect((await service.exited).signal).toBe('SIGKILL');
    await start(prefix, folder, null);
    const topics = kinds.map((kind) => `${prefix}.${kind}.v1`);
    await until(async () => {
      const { notificationsPending } = await simulator.counts();
      const response = await fetch(`${service.operationsUrl}/api/ledger`);
      const ledger = (await response.json()) as Record<string, number>;
      const metrics = await (await fetch(`${service.operationsUrl}/metrics`)).text();
      const unsent = /^tramline_outbox_pending(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1];
      return (
        notificationsPending === 0 &&
        ledger.published! >= equipment.length &&
        ledger.waiting === 0 &&
        unsent === '0'
      );
    }, soon);
    const accepted = (await simulator.counts()).notificationsAccepted - before;
    await service.stop();
    const records = await readTopics(kafka.brokers, topics);
    const evidence = await evidenceOf(join(folder, 'tramline.db'), accepted, records);
    expect(checkLedger(evidence)).toEqual([]);
    expect(new Set(records.map(({ key }) => key)).size).toBe(equipment.length);
  });
});
