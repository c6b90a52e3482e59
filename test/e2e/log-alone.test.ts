/**
 * A process that lost its KAFKA_BROKERS, on a store whose events went to Kafka: as a worker it is refused with the setting's
 * name before it publishes or takes anything, a receiver needs none, and commands say the same. There is no broker.
 */
import { join } from 'node:path';
import type { AlertView, CheckLine } from '../../src/model/api';
import type { Store } from '../../src/model/store';
import { openStoreHere } from '../../src/store/open-store';
import { openPostgres } from '../../src/store/postgres/open-postgres';
import { postgresSettingsFor } from '../contract/open-postgres';
import { settingsFor } from '../contract/open-sqlite';
import { Hand, sentTo } from '../contract/store-hand';
import { runCommand } from '../support/command';
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { EndedBeforeReady, type Service, startService, temporaryFolder } from '../support/service';
import { until } from '../support/until';

const complete = {
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  PROVIDER_VENDOR: 'acme',
  PROVIDER_URL: 'https://provider.example/platform/',
  PROVIDER_EQUIPMENT_URL: 'https://provider.example/isg',
  PROVIDER_CLIENT_KEY: 'a-client',
  PROVIDER_CLIENT_SECRET: 'of-the-client',
  WEBHOOK_AUTHORIZATION: 'Bearer of-the-provider-0123456789',
};

interface Place {
  url: string;
  open(): Promise<Store>;
}

/** What a worker with brokers leaves: one event with its place on a topic, one that waits. */
async function publishOneOfTwo(store: Store): Promise<void> {
  const none = { advance: () => {}, reopen: async () => store, close: async () => {} };
  const hand = new Hand({ store, nowMs: Date.now, ...none });
  await hand.publish('1', 'a');
  const [row] = await hand.records();
  await store.markSent([sentTo(row!, 0, '0')]);
  await hand.publish('2', 'a');
}

function suite(place: () => Place): void {
  const settings = (more: Record<string, string> = {}) => ({
    ...complete,
    DATABASE_URL: place().url,
    ...more,
  });
  let service: Service | null = null;
  beforeAll(async () => {
    const store = await place().open();
    await publishOneOfTwo(store);
    await store.close();
  });
  afterEach(async () => {
    await service?.kill();
    service = null;
  });

  const unsent = async () => {
    const store = await place().open();
    return store.unsentCount().finally(() => store.close());
  };

  test.each(['worker', 'all'])('with ROLE=%s it ends with 2 and names the setting', async (ROLE) => {
    const ended = await startService({ environment: settings({ ROLE }) }).catch((error: unknown) => error);
    if (!(ended instanceof EndedBeforeReady)) throw ended;
    expect(ended.exit).toEqual({ code: 2, signal: null });
    // What the settings warn of stands before it.
    expect(ended.started.lines().at(-1)).toMatch(
      /^KAFKA_BROKERS must name the brokers: .*tramline\.equipment\.v1.*DATABASE_URL/,
    );
    expect(await unsent()).toBe(1);
  });

  test('a receiver starts without it, and so does a worker with it while Kafka is away', async () => {
    service = await startService({ environment: settings({ ROLE: 'receiver' }) });
    await service.stop();
    service = await startService({ environment: settings({ KAFKA_BROKERS: '127.0.0.1:1' }) });
    await service.stop();
    expect(await unsent()).toBe(1);
  });

  test('a check fails for it, and a sync beside no service is refused', async () => {
    const { code, out } = await runCommand(['check', '--json'], settings());
    const line = (JSON.parse(out) as CheckLine[]).find(({ name }) => name === 'kafka');
    expect([code, line]).toEqual([
      1,
      {
        name: 'kafka',
        state: 'failed',
        detail: expect.stringContaining('this store knows of events in Kafka (tramline.equipment.v1)'),
        next: expect.stringContaining('Set KAFKA_BROKERS'),
      },
    ]);
    const sync = await runCommand(['sync'], settings());
    expect(sync).toMatchObject({ code: 2, error: expect.stringContaining('KAFKA_BROKERS must name') });
    expect(await unsent()).toBe(1);
  });
}

describe('a process without brokers on the embedded store', () => {
  const file = join(temporaryFolder(), 'tramline.db');
  suite(() => ({ url: `sqlite:${file}`, open: async () => openStoreHere(settingsFor(file), Date.now) }));
});

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'a process without brokers on PostgreSQL', () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
    url = server.url(await server.createDatabase());
  });
  afterAll(() => server.stop());

  suite(() => ({ url, open: () => openPostgres(postgresSettingsFor(url), Date.now) }));

  test('one that runs since before others had brokers publishes no more, and on-call is told that nobody does', async () => {
    const own = server.url(await server.createDatabase());
    const short = { LEASE_SECONDS: '4', PROVIDER_TIMEOUT_MS: '3000', SHUTDOWN_SECONDS: '3' };
    const worker = await startService({
      environment: { ...complete, ...short, ROLE: 'worker', DATABASE_URL: own },
    });
    const ask = async <Answer>(path: string) =>
      (await (await fetch(`${worker.operationsUrl}${path}`)).json()) as Answer;
    const store = await openPostgres(postgresSettingsFor(own), Date.now);
    const none = { advance: () => {}, reopen: async () => store, close: async () => {} };
    const hand = new Hand({ store, nowMs: Date.now, ...none });
    // As a worker with brokers that led in between and is gone leaves it.
    const topic = 'tramline.equipment.v1';
    await store.noteFound({ topic, partition: 0, from: null, nextOffset: '1', records: [] });
    const isFree = async () => ((await store.leaseFreeMs('relay-0')) ?? 0) > 0;
    await until(isFree, { what: 'the lead to be given back', withinMs: 20_000 });
    await hand.publish('1', 'a');
    const isTold = async () => {
      const alerts = await ask<AlertView[]>('/api/alerts');
      return alerts.find(({ name, state }) => name === 'TramlineKafkaUnavailable' && state === 'firing');
    };
    const told = await until(isTold, { what: 'the page', withinMs: 40_000 });
    expect(told.annotations).toMatchObject({
      description: expect.stringContaining('KAFKA_BROKERS is not set for this worker'),
      first_step: expect.stringContaining('Set KAFKA_BROKERS'),
    });
    const lines = await ask<CheckLine[]>('/api/check');
    expect(lines.find(({ name }) => name === 'kafka')).toMatchObject({ state: 'failed' });
    expect(await store.unsentCount()).toBe(1);
    await store.close();
    await worker.kill();
  });
});
