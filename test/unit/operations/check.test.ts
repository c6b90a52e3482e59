// A check walks the whole installation; the value lies in a part that fails being named, alone, and in time.
import { Problem } from '../../../src/model/problem';
import { type CheckDoors, CheckFailure, runCheck, StoreFailure } from '../../../src/operations/check';
import { attendance, unattendedAlert } from '../../../src/operations/unattended';

const healthy: CheckDoors = {
  settings: { missing: [], warnings: [] },
  receives: false,
  store: async () => 'sqlite',
  provider: async () => ({ detail: 'https://api.example answered 200', next: null }),
  kafka: async () => '3 topics',
  sinks: async () => 'alertmanager answers',
  alerts: async () => ({ detail: 'a worker evaluates them', next: null }),
  clockOffsetMs: () => 1000,
  nowMs: () => 0,
  timeoutMs: 30,
};

const states = async (doors: Partial<CheckDoors>) =>
  Object.fromEntries((await runCheck({ ...healthy, ...doors })).map(({ name, state }) => [name, state]));

test('a healthy installation is seven lines that are ok', async () => {
  expect(await states({})).toEqual({
    settings: 'ok',
    store: 'ok',
    provider: 'ok',
    kafka: 'ok',
    sinks: 'ok',
    alerts: 'ok',
    clock: 'ok',
  });
});

test('what fails or hangs is told in its own line, with what to do', async () => {
  const lines = await runCheck({
    ...healthy,
    kafka: () => Promise.reject(new Error('no broker answers')),
    sinks: () => new Promise(() => {}),
  });
  expect(lines.filter(({ state }) => state === 'failed')).toEqual([
    { name: 'kafka', state: 'failed', detail: 'no broker answers', next: 'Look at KAFKA_BROKERS.' },
    { name: 'sinks', state: 'failed', detail: 'no answer within 0.03 s', next: expect.any(String) },
  ]);
});

test('a part that knows what mends it says so', async () => {
  const provider = () => Promise.reject(new CheckFailure('nobody consented', 'tramline connect'));
  const lines = await runCheck({ ...healthy, provider });
  expect(lines.filter(({ state }) => state === 'failed')).toEqual([
    { name: 'provider', state: 'failed', detail: 'nobody consented', next: 'tramline connect' },
  ]);
});

test('why the store fails is told once: what only it could say of others is not known, and no failure of theirs', async () => {
  const away = new Problem('store.unavailable', 'canary');
  const lines = await runCheck({
    ...healthy,
    store: () => Promise.reject(away),
    provider: () => Promise.reject(new StoreFailure('not asked, since its tokens cannot be read: canary')),
    kafka: () => Promise.reject(away),
    sinks: () => Promise.reject(new Error('of their own')),
    alerts: () => new Promise(() => {}),
  });
  const skipped = { state: 'skipped', detail: 'not known while the store fails', next: null };
  expect(lines.slice(1, 6)).toEqual([
    { name: 'store', state: 'failed', detail: 'canary', next: expect.stringContaining('DATABASE_URL') },
    { name: 'provider', ...skipped },
    { name: 'kafka', ...skipped },
    { name: 'sinks', state: 'failed', detail: 'of their own', next: expect.any(String) },
    { name: 'alerts', ...skipped },
  ]);
});

test('a part that hangs fails in its own line, whatever the store says, and however late that says it', async () => {
  const hangs = () => new Promise<never>(() => {});
  const full = () => Promise.reject(new Problem('store.unavailable', 'database or disk is full'));
  const grown = () => Promise.reject(new CheckFailure('it has grown to its bound', 'Raise STORE_BYTES_MAX.'));
  for (const store of [full, grown, hangs]) {
    const lines = await runCheck({ ...healthy, store, provider: hangs, kafka: hangs, sinks: hangs });
    const failed = lines.filter(({ state }) => state === 'failed');
    expect(failed.map(({ name }) => name)).toEqual(['store', 'provider', 'kafka', 'sinks']);
    const said = failed.slice(1).map(({ detail }) => detail);
    expect(new Set(said)).toEqual(new Set(['no answer within 0.03 s']));
  }
});

test('what the store did not say while it is well again fails, and leads there', async () => {
  const alerts = () => Promise.reject(new Problem('store.unavailable', 'canary'));
  const lines = await runCheck({ ...healthy, alerts });
  expect(lines.filter(({ state }) => state !== 'ok')).toEqual([
    { name: 'alerts', state: 'failed', detail: 'canary', next: 'Look at the store first.' },
  ]);
});

test('a part that is not all well warns and says what to do', async () => {
  const store = async () => ({ detail: 'it is not there yet', next: 'tramline migrate' });
  const provider = async () => ({ detail: 'one of two', next: 'tramline connect' });
  const lines = await runCheck({ ...healthy, store, provider });
  expect(lines.filter(({ state }) => state !== 'ok')).toEqual([
    { name: 'store', state: 'warning', detail: 'it is not there yet', next: 'tramline migrate' },
    { name: 'provider', state: 'warning', detail: 'one of two', next: 'tramline connect' },
  ]);
});

test('that nobody evaluates alerts is told once a worker would have followed', async () => {
  const saidOf = async (freeMs: number | null) => {
    const lines = await runCheck({ ...healthy, alerts: async () => attendance(freeMs, 100_000) });
    return lines.find(({ name }) => name === 'alerts');
  };
  expect(await saidOf(60_000)).toMatchObject({
    state: 'warning',
    detail: 'nobody evaluates them since 1970-01-01T00:00:40.000Z: no worker runs',
    next: expect.stringMatching(/^Start a worker/),
  });
  for (const freeMs of [null, 0, 10_000])
    expect(await saidOf(freeMs)).toMatchObject({ state: 'ok', next: null });
  const settings = { runbookBase: 'https://runbooks.test', journalDays: 7 };
  expect(unattendedAlert(10_000, 100_000, settings)).toBeNull();
  expect(unattendedAlert(10_001, 100_000, settings)).toMatchObject({ startsAtMs: 89_999 });
});

test('what is not configured is skipped', async () => {
  expect(
    await states({
      store: null,
      provider: null,
      kafka: null,
      sinks: null,
      alerts: null,
      clockOffsetMs: () => null,
    }),
  ).toEqual({
    settings: 'ok',
    store: 'skipped',
    provider: 'skipped',
    kafka: 'skipped',
    sinks: 'skipped',
    alerts: 'skipped',
    clock: 'skipped',
  });
});

test('settings that miss something fail, and doubtful ones warn', async () => {
  expect(
    (await states({ settings: { missing: ['PROVIDER_URL is missing'], warnings: ['x'] } })).settings,
  ).toBe('failed');
  expect((await states({ settings: { missing: [], warnings: ['x'] } })).settings).toBe('warning');
  const [line] = await runCheck({
    ...healthy,
    settings: { missing: ['PROVIDER_URL is missing'], warnings: ['PROVIDER_ULR is not a setting'] },
  });
  expect(line!.detail).toBe('missing: PROVIDER_URL; PROVIDER_ULR is not a setting');
});

test.each([
  [9_000, 'ok', 'ahead of'],
  [-59_000, 'warning', 'behind'],
  [-60_000, 'failed', 'behind'],
  [600_000, 'failed', '600 s ahead of'],
])('a provider’s clock that is %d ms off is %s, whatever it answered', async (offsetMs, state, words) => {
  const heard = {
    nowMs: () => 5000,
    clockOffsetMs: (sinceMs: number) => (sinceMs === 5000 ? offsetMs : null),
  };
  const refusing = () => Promise.reject(new Error('timestamp-off'));
  for (const provider of [healthy.provider, refusing]) {
    const lines = await runCheck({ ...healthy, ...heard, provider });
    expect(lines.at(-1)).toMatchObject({ name: 'clock', state, detail: expect.stringContaining(words) });
  }
});

test('what is thrown need not be an error', async () => {
  const thrown: unknown = 'broken';
  const lines = await runCheck({ ...healthy, store: () => Promise.reject(thrown) });
  expect(lines[1]).toMatchObject({ state: 'failed', detail: 'broken' });
});

test('a receiver that lacks what the provider is asked with sends to a worker', async () => {
  const skipped = async (receives: boolean) =>
    (await runCheck({ ...healthy, receives, provider: null })).find(({ name }) => name === 'provider');
  expect(await skipped(true)).toMatchObject({
    state: 'skipped',
    detail: 'not asked: a receiver need not have what it takes: ask a worker',
  });
  expect(await skipped(false)).toMatchObject({ detail: expect.stringContaining('a store that can be read') });
});
