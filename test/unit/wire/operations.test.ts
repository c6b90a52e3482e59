// Whether somebody evaluates alerts is told alike by the API and by the metric that Prometheus pages for.
import { loadSettings } from '../../../src/config';
import type { Store } from '../../../src/model/store';
import { apiOf } from '../../../src/wire/operations';

afterEach(() => void jest.restoreAllMocks());

const settings = loadSettings('command', {});
const writeAlert = () => {};

/** What is listed and checked where the lease of whoever evaluates is free for so long, by a process that runs for a minute. */
async function told(freeMs: number | null, write: typeof writeAlert | null) {
  jest.spyOn(performance, 'now').mockReturnValue(60_000);
  const beganMs = Date.now() - 60_000;
  const store = { leaseFreeMs: async () => freeMs, listAlerts: async () => [], ready: async () => {} };
  const api = apiOf(settings, store as unknown as Store, null, write);
  const checked = (await api.check()).find(({ name }) => name === 'alerts');
  const alerts = (await api.alerts()).map(({ name, since }) => [
    name,
    Math.abs(Date.parse(since) - beganMs) < 5000,
  ]);
  return [alerts, checked?.state];
}

test('a receiver that no worker ever stood beside says so as long as it runs', async () => {
  expect(await told(null, writeAlert)).toEqual([[['TramlineWorkersAbsent', true]], 'warning']);
  expect(await told(0, writeAlert)).toEqual([[], 'ok']);
});

test('beside no service nothing was ever told, and nobody is missed', async () => {
  expect(await told(null, null)).toEqual([[], 'ok']);
});

test('what a receiver cannot do it refuses with who can', async () => {
  const api = apiOf(settings, {} as Store, null, writeAlert);
  const asked = [
    () => api.sync(),
    () => api.startSync({ organizationId: null, full: true }),
    () => api.replay(),
  ];
  for (const ask of asked) await expect(ask()).rejects.toThrow(/: TRAMLINE_URL must name a worker$/);
});
