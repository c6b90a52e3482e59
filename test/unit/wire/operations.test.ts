// Whether somebody evaluates alerts is told alike by the API and by the metric that Prometheus pages for.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadSettings } from '../../../src/config';
import type { Alert } from '../../../src/model/alert';
import type { CheckName } from '../../../src/model/api';
import { Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import type { Worker } from '../../../src/wire';
import { checkConnections } from '../../../src/wire/check-connections';
import { kafkaSettings } from '../../../src/wire/kafka-settings';
import { apiOf } from '../../../src/wire/operations';
import { makeOwnProvider, type OwnProvider } from '../../../src/wire/provider';
import { anAlert } from '../alert/samples';

afterEach(() => void jest.restoreAllMocks());

const settings = loadSettings('command', {});
const writeAlert = () => {};
/** What answers where no worker is. */
const alone = {
  own: {
    check: async () => ({ detail: 'answers', next: null }),
    clockOffsetMs: () => null,
    subscribing: { book: {} },
  } as unknown as OwnProvider,
  sync: null,
  replay: null,
  standIn: null,
};

/** What is listed and checked where the lease of whoever evaluates is free for so long, by a process that runs for a minute. */
async function told(freeMs: number | null, write: typeof writeAlert | null) {
  jest.spyOn(performance, 'now').mockReturnValue(60_000);
  const beganMs = Date.now() - 60_000;
  const store = { leaseFreeMs: async () => freeMs, listAlerts: async () => [], ready: async () => {} };
  const api = apiOf(settings, store as unknown as Store, alone, write);
  const checked = (await api.check()).find(({ name }) => name === 'alerts');
  const alerts = (await api.alerts()).map(({ name, since }) => [
    name,
    Math.abs(Date.parse(since) - beganMs) < 5000,
  ]);
  return [alerts, checked?.state];
}

test('of a store that can be read and takes no writes nobody is known to be missing: it is what fires', async () => {
  const away = async () => {
    throw new Problem('store.unavailable', 'database or disk is full');
  };
  const store = { leaseFreeMs: async () => 60_000, listAlerts: async () => [anAlert()], ready: away };
  const api = apiOf(settings, store as unknown as Store, alone, writeAlert);
  const description = expect.stringMatching(/^The store takes no writes\. .* was saved before that\.$/);
  expect(await api.alerts()).toMatchObject([
    { name: 'TramlineStoreUnavailable', state: 'firing', annotations: { description } },
    { name: anAlert().name, state: 'firing' },
  ]);
  const checked = (await api.check()).filter(({ name }) => ['store', 'alerts'].includes(name));
  expect(checked).toMatchObject([
    { state: 'failed', detail: 'database or disk is full' },
    { state: 'skipped', detail: 'not known while the store fails' },
  ]);
});

test('what answers is made without a report of the process, which waits for what the store is at', () => {
  const reported = jest.spyOn(process.report, 'getReport');
  apiOf(settings, {} as Store, alone);
  expect(reported).not.toHaveBeenCalled();
});

test('a store that has grown to its bound is told in a sentence, with the setting to raise', async () => {
  const ok = async () => {};
  const store = {
    ready: ok,
    storeBytes: async () => 2_000_000_000,
    listAlerts: async () => [],
    leaseFreeMs: ok,
  };
  const bounded = loadSettings('command', { STORE_BYTES_MAX: '1073741824' });
  const lines = await apiOf(bounded, store as unknown as Store, alone).check();
  expect(lines.find(({ name }) => name === 'store')).toMatchObject({
    state: 'failed',
    detail: 'it has grown to the 1073741824 bytes of STORE_BYTES_MAX: deliveries are answered 503',
    next: expect.stringContaining('Raise STORE_BYTES_MAX'),
  });
});

test('a store that hangs fails in its own line alone: what only it knows is left out, and all else is asked', async () => {
  const never = () => new Promise<never>(() => {});
  const store = { leaseFreeMs: never, listAlerts: never, ready: never } as unknown as Store;
  const book = { connections: () => [], sees: () => new Set<string>(), refresh: never };
  const client = { organizations: never } as unknown as Parameters<typeof checkConnections>[0];
  const checkProvider = () => checkConnections(client, book, { issuerTrouble: never });
  const receiver = createServer((_request, response) =>
    response.end('{"uptime":"2026-01-01T00:00:00Z","versionInfo":{}}'),
  );
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const alertmanager = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const named = loadSettings('command', { KAFKA_BROKERS: '127.0.0.1:1', ALERTMANAGER_URLS: alertmanager });
  const worker = {
    checkProvider,
    clockOffsetMs: () => null,
    connecting: {},
    kafka: kafkaSettings(named.settings),
    subscribing: { book: {} },
  } as unknown as Worker;
  // A command beside no service reads the connections first, and without brokers asks what the store knows of Kafka.
  const keyed = loadSettings('command', { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}` });
  const mute = new Proxy({} as Store, { get: () => never });
  const own = makeOwnProvider(keyed.settings, mute);
  const [ofWorker, ofCommand] = await Promise.all(
    [apiOf(named, store, worker), apiOf(keyed, mute, { ...alone, own })].map(async (api) => {
      const lines = await api.check();
      return new Map(lines.map(({ name, state, detail }) => [name, `${state}: ${detail}`]));
    }),
  );
  receiver.close();
  const hanging = 'failed: no answer within 5 s';
  const unknown = 'skipped: not known while the store fails';
  expect([ofWorker!.get('store'), ofWorker!.get('provider')]).toEqual([hanging, unknown]);
  expect(ofWorker!.get('sinks')).toBe(
    'warning: 1 Alertmanager answers; what was taken is not known: the store does not answer',
  );
  expect(ofWorker!.get('kafka')).toMatch(/^failed: .*127\.0\.0\.1:1/);
  expect(['store', 'provider', 'kafka', 'alerts'].map((name) => ofCommand!.get(name as CheckName))).toEqual([
    hanging,
    unknown,
    unknown,
    unknown,
  ]);
});

test('a worker whose alerts could not be written tells what it remembers', async () => {
  const store = { leaseFreeMs: async () => 0, listAlerts: async () => [], ready: async () => {} };
  const alerting = { isBehind: () => true, remembered: () => [anAlert({ labels: { alertname: 'A' } })] };
  const worker = {
    alerting,
    conditions: () => [],
    connecting: {},
    kafka: null,
    subscribing: { book: {} },
  } as unknown as Worker;
  const names = (await apiOf(settings, store as unknown as Store, worker).alerts()).map(({ name }) => name);
  expect(names).toEqual(['TramlineStoreUnavailable', anAlert().name]);
});

test('a check asks a store for all of its work, and is told what deliveries do without', async () => {
  const store = {
    ready: async (of?: string) => {
      if (of === 'all') throw new Problem('store.unavailable', 'another session locks the table outbox');
    },
    listAlerts: async () => [],
    leaseFreeMs: async () => 0,
  };
  const lines = await apiOf(settings, store as unknown as Store, alone).check();
  expect(lines.find(({ name }) => name === 'store')).toMatchObject({
    state: 'failed',
    detail: 'another session locks the table outbox',
  });
});

test('a receiver that no worker ever stood beside says so as long as it runs', async () => {
  expect(await told(null, writeAlert)).toEqual([[['TramlineWorkersAbsent', true]], 'warning']);
  expect(await told(0, writeAlert)).toEqual([[], 'ok']);
});

test('beside no service nothing was ever told, and nobody is missed', async () => {
  expect(await told(null, null)).toEqual([[], 'ok']);
});

test('what a receiver cannot do it refuses with who can', async () => {
  const api = apiOf(settings, {} as Store, alone, writeAlert);
  const asked = [
    () => api.sync(null),
    () => api.startSync({ organizationId: null, full: true }),
    () => api.replay(null),
  ];
  for (const ask of asked) await expect(ask()).rejects.toThrow(/: TRAMLINE_URL must name a worker$/);
});

test('where events and pages go a receiver that was not told leaves to a worker, and it pages nobody in its place', async () => {
  const apiWith = (more: Record<string, string>) => {
    const store = {
      leaseFreeMs: async () => 0,
      listAlerts: async () => [],
      ready: async () => {},
      topicEnds: async () => [],
    };
    return apiOf(loadSettings('command', more), store as unknown as Store, alone, writeAlert);
  };
  const saidBy = async (more: Record<string, string>) =>
    (await apiWith(more).check()).filter(({ name }) => ['kafka', 'sinks'].includes(name));
  const asWorkers = { state: 'skipped', detail: expect.stringContaining('ask a worker') };
  expect(await saidBy({ ROLE: 'receiver' })).toMatchObject([asWorkers, asWorkers]);
  expect(await saidBy({})).toMatchObject([
    { detail: 'KAFKA_BROKERS is not set: events go to the embedded log' },
    { detail: 'none set: alerts are log lines' },
  ]);
  await expect(apiWith({ ROLE: 'receiver' }).testAlerts()).rejects.toThrow(
    /: TRAMLINE_URL must name a worker$/,
  );
  // One that knows a sink asks it; a process that does all writes to the log.
  const away = { ROLE: 'receiver', ALERTMANAGER_URLS: 'http://127.0.0.1:1' };
  expect(await apiWith(away).testAlerts()).toMatchObject([{ sink: 'alertmanager', outcome: 'unreachable' }]);
  expect(await apiWith({}).testAlerts()).toMatchObject([{ sink: 'log', outcome: 'accepted' }]);
});

describe('while the store does not answer', () => {
  const away = async () => Promise.reject(new Problem('store.unavailable', 'canary'));
  const store = { leaseFreeMs: away, listAlerts: away } as unknown as Store;
  const storesOwn = 'TramlineStoreUnavailable';
  /** Of a process that knows since then that the store is away; null: it does not lead. */
  const workerOf = (remembered: Alert[] | null, sinceMs: number, isBehind = false) =>
    ({
      conditions: () => [{ name: 'store-unavailable', sinceMs, detail: 'canary' }],
      alerting: { remembered: () => remembered, isBehind: () => isBehind },
      checkProvider: away,
      clockOffsetMs: () => null,
      connecting: {},
      kafka: null,
      subscribing: { book: {} },
    }) as unknown as Worker;
  const listed = (worker: Worker | null) => apiOf(settings, store, worker ?? alone, writeAlert).alerts();

  test('the alert that pages for it is listed by every process, with what to do', async () => {
    const begunMs = Date.now() - 60_000;
    for (const worker of [null, workerOf(null, begunMs)]) {
      const [alert, ...others] = await listed(worker);
      expect(others).toEqual([]);
      expect(alert).toMatchObject({
        name: storesOwn,
        severity: 'critical',
        state: 'firing',
        annotations: {
          description: expect.stringMatching(
            /^The store does not answer\. .* cannot be shown before it answers\.$/,
          ),
          first_step: expect.stringContaining('`tramline check`'),
        },
      });
      if (worker !== null) expect(alert!.since).toBe(new Date(begunMs).toISOString());
      expect([alert!.notTold, JSON.stringify(alert)]).toEqual([
        undefined,
        expect.not.stringContaining('canary'),
      ]);
    }
  });

  test('a check warns where it is not known what the sinks took, and names what would tell', async () => {
    const paging = loadSettings('command', { PAGERDUTY_ROUTING_KEY: 'R'.repeat(32) });
    const ready = { ...store, ready: away } as unknown as Store;
    const lines = await apiOf(paging, ready, alone, writeAlert).check();
    expect(lines.find(({ name }) => name === 'sinks')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(
        /^PagerDuty is set .*; what was taken is not known: the store does not answer$/,
      ),
      next: expect.stringContaining('`tramline alerts test`'),
    });
  });

  test.each([true, false])(
    'a check tells from the memory of who pages that a sink did not take it, where the store can be read: %s',
    async (reads) => {
      const paging = loadSettings('command', { PAGERDUTY_ROUTING_KEY: 'R'.repeat(32) });
      const sent = { state: null, severity: 'critical', sinceMs: 0, atMs: 0, failures: 2 } as const;
      const leads = workerOf([anAlert({ sent: { pagerduty: sent } })], 0, reads);
      const saved = async () => (reads ? [anAlert()] : away());
      const ready = { ...store, ready: away, listAlerts: saved } as unknown as Store;
      const lines = await apiOf(paging, ready, leads, writeAlert).check();
      expect(lines.find(({ name }) => name === 'sinks')).toMatchObject({
        state: 'failed',
        detail: expect.stringMatching(/^PagerDuty did not take /),
      });
    },
  );

  test('who leads lists what it remembers beside it, and says that this is from memory', async () => {
    const [own, other] = await listed(workerOf([anAlert()], 0));
    expect([own!.name, other!.name]).toEqual([storesOwn, anAlert().name]);
    expect(own!.annotations.description).toMatch(/ What else stands here is what this process remembers\.$/);
    const { name, labels, annotations } = own!;
    const told = anAlert({ name, labels, annotations: { ...annotations, description: 'As it was told.' } });
    const again = await listed(workerOf([anAlert(), told], 0));
    expect(again.map((alert) => alert.name)).toEqual([storesOwn, anAlert().name]);
    expect(again[0]!.annotations.description).toMatch(/^As it was told\. What else/);
    // Away again while its end is held: it is not over.
    const held = { ...told, quietSinceMs: 1, annotations: { ...told.annotations, closes_at: 'soon' } };
    const [anew] = await listed(workerOf([held], 0));
    expect(anew!.annotations).toMatchObject({ description: expect.stringMatching(/^The store does not/) });
    expect(anew!.annotations).not.toHaveProperty('closes_at');
  });
});

test('a check of the provider tells a client key that is refused and reads without an answer, whatever a list is answered', async () => {
  const answer = { detail: 'answers for 1 connection', next: null };
  const clockOffsetMs = () => 0;
  const worker = {
    checkProvider: async () => answer,
    clockOffsetMs,
    connecting: {},
    kafka: null,
    subscribing: { book: {} },
  } as unknown as Worker;
  const lineOf = async (...alerts: Alert[]) => {
    const store = { leaseFreeMs: async () => 0, listAlerts: async () => alerts, ready: async () => {} };
    const lines = await apiOf(settings, store as unknown as Store, worker, writeAlert).check();
    expect(lines.find(({ name }) => name === 'clock')).toMatchObject({ state: 'ok' });
    return lines.find(({ name }) => name === 'provider');
  };
  const name = 'TramlineClientRefused';
  const refused = anAlert({ name, annotations: { description: 'Scopes needed: eq1.' } });
  expect(await lineOf(anAlert(), refused)).toEqual({
    name: 'provider',
    state: 'failed',
    detail: 'answers for 1 connection; TramlineClientRefused: Scopes needed: eq1.',
    next: expect.stringContaining('PROVIDER_SCOPES'),
  });
  for (const over of [{ quietSinceMs: 1 }, { state: 'resolved' as const }])
    expect(await lineOf({ ...refused, ...over })).toMatchObject({ state: 'ok', detail: answer.detail });
  // The list is of the platform; what is read of the equipment API may be away alone.
  const away = anAlert({
    name: 'TramlineProviderUnavailable',
    annotations: { description: 'At B: answers 503.' },
  });
  expect(await lineOf(away)).toEqual({
    name: 'provider',
    state: 'warning',
    detail: 'answers for 1 connection; TramlineProviderUnavailable: At B: answers 503.',
    next: expect.stringContaining('status page'),
  });
  expect(await lineOf(away, refused)).toMatchObject({ state: 'failed' });
  expect(await lineOf({ ...away, quietSinceMs: 1 })).toMatchObject({ state: 'ok' });
});

test('a check of a receiver that has nothing to ask the provider with leaves that to a worker', async () => {
  const checkOf = async (more: Record<string, string>) => {
    const loaded = loadSettings('command', { ROLE: 'receiver', ...more });
    const check = () => Promise.reject(new Error('was asked'));
    const own = { ...alone.own, check };
    const store = { leaseFreeMs: async () => 0, listAlerts: async () => [], ready: async () => {} };
    const lines = await apiOf(loaded, store as unknown as Store, { ...alone, own }, writeAlert).check();
    return lines.find(({ name }) => name === 'provider');
  };
  expect(await checkOf({})).toMatchObject({ state: 'skipped', detail: expect.stringContaining('a worker') });
  const reads = {
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    PROVIDER_VENDOR: 'vendor',
    PROVIDER_URL: 'https://api.example/platform',
    PROVIDER_EQUIPMENT_URL: 'https://api.example/equipment',
    PROVIDER_CLIENT_KEY: 'client',
    PROVIDER_CLIENT_SECRET: 'canary',
  };
  expect(await checkOf(reads)).toMatchObject({ state: 'failed', detail: 'was asked' });
});
