/**
 * A check before the first start, after an update and while the store is away: it says in its line how the store is, asks
 * all the rest, and leaves everything as it was. The provider is the simulator; there is no service.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { CheckLine } from '../../src/model/api';
import { runCommand } from '../support/command';
import { repositoryRoot } from '../support/repository';
import { temporaryFolder } from '../support/service';
import { type Simulator, startSimulator } from '../support/simulator';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ organizations: 1, equipment: 1, 'heartbeat-ms': 0 });
});
afterAll(() => simulator.kill());

const settingsOf = (databaseUrl: string) => ({
  ...simulator.environment,
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  DATABASE_URL: databaseUrl,
});

async function check(databaseUrl: string, more: Record<string, string> = {}) {
  const { code, out } = await runCommand(['check', '--json'], { ...settingsOf(databaseUrl), ...more });
  const lines = JSON.parse(out) as CheckLine[];
  const lineOf = (wanted: string) => lines.find(({ name }) => name === wanted)!;
  return { code, store: lineOf('store'), provider: lineOf('provider'), clock: lineOf('clock') };
}

test('before the first start the provider is asked, no token is renewed, and no store is made', async () => {
  const folder = join(temporaryFolder(), 'data');
  const file = join(folder, 'tramline.db');
  expect(await check(`sqlite:${file}`)).toMatchObject({
    code: 0,
    store: {
      state: 'warning',
      detail: `${file} is not there yet: it is made by the first start`,
      next: '`tramline migrate` makes it; where another one was meant, set DATABASE_URL.',
    },
    provider: { state: 'ok' },
    clock: { state: 'ok' },
  });
  // A renewed token would be lost with the command, and the old one with it.
  await simulator.expireTokens();
  const refused = await check(`sqlite:${file}`);
  expect(refused).toMatchObject({ code: 1, provider: { state: 'failed' } });
  const asked = (await simulator.requests()) as { path: string }[];
  expect(asked.filter(({ path }) => path.includes('token'))).toEqual([]);
  const past = simulator.environment.PROVIDER_TOKENS!.replace(
    /"expiresAt":"[^"]*"/g,
    '"expiresAt":"2020-01-01T00:00:00Z"',
  );
  expect(await check(`sqlite:${file}`, { PROVIDER_TOKENS: past })).toMatchObject({
    code: 0,
    provider: { state: 'skipped' },
  });
  await runCommand(['alerts', 'test'], settingsOf(`sqlite:${file}`));
  expect(existsSync(folder)).toBe(false);
});

test('a store of an older version is told, left as it is, and checked once it is migrated', async () => {
  const file = join(temporaryFolder(), 'tramline.db');
  const settings = settingsOf(`sqlite:${file}`);
  await runCommand(['migrate'], settings);
  const older = new DatabaseSync(file);
  older.exec(`DROP TABLE lanes; DELETE FROM migrations WHERE name = '0017-half-open'`);
  older.close();
  const before = readFileSync(file);
  expect(await check(settings.DATABASE_URL)).toMatchObject({
    code: 0,
    store: {
      state: 'warning',
      detail: expect.stringContaining(`${file} is of an older version`),
      next: 'Run `tramline migrate`, and check again.',
    },
    provider: { state: 'skipped' },
  });
  const { code, error } = await runCommand(['organizations'], settings);
  expect([code, error]).toEqual([2, expect.stringContaining('`tramline migrate` brings it to this one')]);
  expect(readFileSync(file)).toEqual(before);
  await runCommand(['migrate'], settings);
  expect((await check(settings.DATABASE_URL)).store).toMatchObject({ state: 'ok' });
});

test('a store that cannot be reached fails in its own line, and hides no other', async () => {
  expect(await check('postgres://nobody@127.0.0.1:1/none')).toMatchObject({
    code: 1,
    store: { state: 'failed', next: expect.stringContaining('DATABASE_URL') },
    provider: { state: 'skipped' },
  });
});

test('a place where no store can be made fails in its own line, as the start would', async () => {
  const file = join(temporaryFolder(), 'not-a-folder');
  writeFileSync(file, '');
  expect(await check(`sqlite:${file}/data/tramline.db`)).toMatchObject({
    code: 1,
    store: { state: 'failed', detail: expect.stringMatching(/^DATABASE_URL must name .*ENOTDIR/) },
  });
});

test('a command that cannot go on makes no store, which would say from then on that nothing is to be done', async () => {
  const file = join(temporaryFolder(), 'tramline.db');
  const { ENCRYPTION_KEYS: _, ...settings } = settingsOf(`sqlite:${file}`);
  for (const words of ['subscriptions', 'connect', 'sync', 'equipment list']) {
    const { code, error } = await runCommand(words.split(' '), settings);
    expect([words, code]).toEqual([words, 2]);
    expect(error).toContain('ENCRYPTION_KEYS must be set before a store is made');
  }
  const { code, error } = await runCommand(['alerts'], settings);
  expect([code, existsSync(file)]).toEqual([2, false]);
  expect(error).toContain('TRAMLINE_URL names a service that runs elsewhere');
});

/** `tramline config` where what it writes to one of its two outputs cannot be written. */
function configBesideFull(output: 'stdout' | 'stderr') {
  const full = openSync('/dev/full', 'a');
  const command = [join(repositoryRoot(), 'dist', 'src', 'cli.js'), 'config'];
  const ended = spawnSync(process.execPath, command, {
    env: { PATH: process.env.PATH },
    stdio: output === 'stdout' ? ['ignore', full, 'pipe'] : ['ignore', 'pipe', full],
    encoding: 'utf8',
  });
  closeSync(full);
  return ended;
}

test('a command whose output cannot be written says why it ends', () => {
  const { status, stderr } = configBesideFull('stdout');
  expect([status, stderr]).toEqual([1, 'tramline: standard output cannot be written: ENOSPC\n']);
});

test('a command whose words beside its answer nobody can be told goes on', () => {
  const { status, stdout } = configBesideFull('stderr');
  expect([status, stdout]).toEqual([0, expect.stringContaining('DATABASE_URL')]);
});
