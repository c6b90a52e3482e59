/**
 * R1 and R2: what a process is given before it starts. Wrong settings end it with 2 and one line each, which never holds a
 * secret; with right ones it needs no root and writes nowhere but into its data.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { CheckLine } from '../../src/model/api';
import { runCommand } from '../support/command';
import { runnerEnvironment } from '../support/node-flags';
import { repositoryRoot } from '../support/repository';
import { startService, temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { Story } from '../support/story';

const canary = 'canary-4f1d9c77e0b24a6f';

/** An ordinary user: the one who runs this, or nobody in the place of root. */
const ordinary = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Serves with this environment alone; one that does not end by itself is killed in the end. */
function serveWith(environment: Record<string, string>, user: { uid?: number; gid?: number } = {}) {
  const ended = spawnSync(process.execPath, [join(repositoryRoot(), 'dist/src/cli.js'), 'serve'], {
    cwd: temporaryFolder(),
    env: { ...runnerEnvironment(), ...environment },
    ...user,
    encoding: 'utf8',
    timeout: 45_000,
    killSignal: 'SIGKILL',
  });
  const lines = ended.stderr.split('\n').filter((line) => line !== '');
  return { status: ended.status, lines, all: `${ended.stdout}${ended.stderr}`, stdout: ended.stdout };
}

const complete = (folder: string): Record<string, string> => ({
  HOST: '127.0.0.1',
  PORT: '0',
  OPERATIONS_PORT: '0',
  DATABASE_URL: `sqlite:${join(folder, 'tramline.db')}`,
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  PROVIDER_VENDOR: 'acme',
  PROVIDER_URL: 'https://provider.example/platform/',
  PROVIDER_EQUIPMENT_URL: 'https://provider.example/isg',
  PROVIDER_CLIENT_KEY: 'a-client',
  PROVIDER_CLIENT_SECRET: canary,
  WEBHOOK_AUTHORIZATION: 'Bearer of-the-provider-0123456789',
});

describe('R1: a wrong or missing setting ends the process with 2 and a line that names it', () => {
  test('nothing set: every setting that a worker and a receiver need has its line', () => {
    const { status, lines, stdout } = serveWith({});
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    const named = lines.map((line) => /\b[A-Z][A-Z_]{4,}\b/.exec(line)?.[0]).toSorted();
    expect(named).toEqual([
      'ENCRYPTION_KEYS',
      'PROVIDER_CLIENT_KEY',
      'PROVIDER_CLIENT_SECRET',
      'PROVIDER_EQUIPMENT_URL',
      'PROVIDER_URL',
      'PROVIDER_VENDOR',
      'WEBHOOK_AUTHORIZATION',
    ]);
  });

  test('one that is there under a mistyped name is told with that name, by serve and by a check', async () => {
    const { WEBHOOK_AUTHORIZATION: value, ...rest } = complete(temporaryFolder());
    const mistyped = { ...rest, WEBHOOK_AUTHORISATION: canary + value };
    const told = 'WEBHOOK_AUTHORISATION is not a setting; did you mean WEBHOOK_AUTHORIZATION?';
    const { status, lines, all } = serveWith(mistyped);
    expect({ status, lines }).toEqual({
      status: 2,
      lines: [expect.stringMatching(/^WEBHOOK_AUTHORIZATION is missing/), told],
    });
    expect(all).not.toContain(canary);
    const { out } = await runCommand(['check', '--json'], mistyped);
    expect((JSON.parse(out) as CheckLine[])[0]).toMatchObject({
      name: 'settings',
      state: 'failed',
      detail: `missing: WEBHOOK_AUTHORIZATION; ${told}`,
    });
  });

  test.each([
    ['PORT', '70000'],
    ['ROLE', 'everything'],
    ['READ_GAP_MS', 'soon'],
    ['PROVIDER_URL', 'http://provider.example/platform/'],
    ['PROVIDER_ORIGINS', 'https://user:canary-4f1d9c77e0b24a6f@provider.example'],
    ['ENCRYPTION_KEYS', canary],
    ['PROVIDER_TOKENS', `[{"connection":"c","token":"${canary}"`],
    ['WEBHOOK_HMAC_SECRETS', `whsec_${canary}!`],
    ['DATABASE_URL', `mysql://root:${canary}@db.example/tramline`],
    // Where no folder can be made, and looking for one that can would never end.
    ['DATABASE_URL', 'sqlite:/proc/nothing/tramline.db'],
    ['LEASE_SECONDS', '5'],
    ['NODE_TLS_REJECT_UNAUTHORIZED', '0'],
  ])('a wrong %s is one line without its secret', (name, value) => {
    const { status, lines, all } = serveWith({ ...complete(temporaryFolder()), [name]: value });
    expect(status).toBe(2);
    const about = lines.filter((line) => line.includes(name));
    expect(about).toHaveLength(1);
    expect(lines).toEqual(about);
    expect(all).not.toContain(canary);
  });

  test('several at once are told at once, a line each', () => {
    const wrong = { PORT: 'x', LOG_LEVEL: 'loud', ENCRYPTION_KEYS: canary };
    const { status, lines, all } = serveWith({ ...complete(temporaryFolder()), ...wrong });
    expect(status).toBe(2);
    expect(lines).toHaveLength(3);
    for (const name of Object.keys(wrong))
      expect(lines.filter((line) => line.includes(name))).toHaveLength(1);
    expect(all).not.toContain(canary);
  });

  test('a secret by file that is not there, or given twice, is one line', () => {
    const folder = temporaryFolder();
    const { PROVIDER_CLIENT_SECRET: _, ...rest } = complete(folder);
    const absent = serveWith({ ...rest, PROVIDER_CLIENT_SECRET_FILE: join(folder, canary) });
    expect({ status: absent.status, count: absent.lines.length }).toEqual({ status: 2, count: 1 });
    expect(absent.all).not.toContain(canary);
    writeFileSync(join(folder, 'secret'), canary);
    const twice = serveWith({ ...complete(folder), PROVIDER_CLIENT_SECRET_FILE: join(folder, 'secret') });
    expect({ status: twice.status, count: twice.lines.length }).toEqual({ status: 2, count: 1 });
    expect(twice.all).not.toContain(canary);
  });

  test('tokens at rest under a key that is no longer named end it with 2, and the key is not told', async () => {
    const folder = temporaryFolder();
    const tokens = JSON.stringify([
      { connection: 'c1', user: 'ann', auth: 'oauth2', token: 'a-token-of-ann-0123456789' },
    ]);
    const first = await startService({
      dataFolder: folder,
      environment: { ...complete(folder), PROVIDER_TOKENS: tokens },
    });
    await first.stop();
    const other = Buffer.alloc(32, 9).toString('base64');
    const { status, lines, all } = serveWith({ ...complete(folder), ENCRYPTION_KEYS: `k2:${other}` });
    expect({ status, count: lines.length }).toEqual({ status: 2, count: 1 });
    expect(lines[0]).toContain('k1');
    expect(all).not.toContain(other);
  });

  test('a server that does not answer ends it with 1, for whoever starts it again, and the setting is named', () => {
    const away = { DATABASE_URL: 'postgres://tramline@127.0.0.1:2/tramline' };
    const { status, lines } = serveWith({ ...complete(temporaryFolder()), ...away });
    expect({ status, count: lines.length }).toEqual({ status: 1, count: 1 });
    expect(lines[0]).toContain('the store of DATABASE_URL at 127.0.0.1:2 is not there: connect ECONNREFUSED');
  });

  test('a second process on one store, or at one address, ends with 2 and leaves the first alone', async () => {
    const folder = temporaryFolder();
    const first = await startService({ dataFolder: folder, environment: complete(folder) });
    const { status, lines } = serveWith(complete(folder));
    expect({ status, count: lines.length }).toEqual({ status: 2, count: 1 });
    const { port } = new URL(first.publicUrl);
    const beside = serveWith({ ...complete(temporaryFolder()), PORT: port });
    expect([beside.status, beside.lines, beside.stdout]).toEqual([
      2,
      [`PORT must be a free port: ${port} of 127.0.0.1 is in use`],
      '',
    ]);
    expect((await fetch(`${first.operationsUrl}/readyz`)).status).toBe(200);
    expect(await first.stop()).toEqual({ code: 0, signal: null });
  });
});

test('R1: an older Node ends every command with 2 and one line, before anything is loaded that it does not have', () => {
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;
  const { status, lines, stdout } = serveWith({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}`,
  });
  expect([status, stdout, lines.length]).toEqual([2, '', 1]);
  expect(lines[0]).toMatch(/^tramline needs Node 24 or later and this is Node 20\.20\.2: /);
});

test('R2: it starts and works without root, in a folder that it cannot write, and writes into its data only', async () => {
  const isRoot = process.getuid?.() === 0;
  const nobody = { uid: 65_534, gid: 65_534 };
  const simulator = await startSimulator({ organizations: 1, equipment: 2, 'heartbeat-ms': 0 });
  const workingFolder = temporaryFolder();
  chmodSync(workingFolder, 0o555);
  const story = new Story(simulator, {}, temporaryFolder());
  if (isRoot) chownSync(story.dataFolder, nobody.uid, nobody.gid);
  await story.serve({ workingFolder, ...(isRoot ? { identity: nobody } : {}) });
  const [machine] = await story.equipment();
  await simulator.changeEquipment(machine!.id, { name: 'Read by nobody' });
  const [event] = await story.untilEvents(machine!, 1);
  expect(event!.data).toMatchObject({ name: 'Read by nobody' });

  const files = readdirSync(story.dataFolder);
  expect(files).toContain('tramline.db');
  const owners = files.map((name) => statSync(join(story.dataFolder, name)).uid);
  expect(new Set(owners)).toEqual(new Set([isRoot ? nobody.uid : process.getuid?.()]));
  expect(owners).not.toContain(0);
  expect(await story.service.stop()).toEqual({ code: 0, signal: null });
  expect(readdirSync(workingFolder)).toEqual([]);
  await story.end();
});

test('W10: where few files may be open, strangers who hold connections and ask nothing keep out no delivery and no probe', async () => {
  const simulator = await startSimulator({ organizations: 1, equipment: 1 });
  const service = await startService({
    environment: {
      ...simulator.environment,
      ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    },
    under: ['sh', '-c', 'ulimit -n 256 && exec "$0" "$@"'],
  });
  const strangers = [service.publicUrl, service.operationsUrl].flatMap((url) =>
    Array.from({ length: 400 }, () => connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})),
  );
  await Promise.all(strangers.map((stranger) => new Promise((done) => stranger.once('connect', done))));
  for (let count = 0; count < 5; count += 1) {
    // Over a connection of its own each time.
    const headers = { connection: 'close', 'content-type': 'application/json' };
    const answer = await fetch(`${service.publicUrl}/webhooks`, {
      method: 'POST',
      headers: { ...headers, authorization: simulator.environment.WEBHOOK_AUTHORIZATION! },
      body: JSON.stringify([{ eventTypeId: 'heartbeat' }]),
    });
    const probe = await fetch(`${service.operationsUrl}/healthz`, { headers });
    expect([answer.status, probe.status]).toEqual([204, 200]);
  }
  for (const stranger of strangers) stranger.destroy();
});

test('R1: a store that another user made, and that may only be read, names its setting, not its disk', async () => {
  const folder = temporaryFolder();
  const settings = complete(folder);
  await runCommand(['migrate'], settings);
  chmodSync(join(folder, 'tramline.db'), 0o444);
  if (ordinary.uid !== undefined) chownSync(folder, ordinary.uid, ordinary.gid);
  const { status, lines } = serveWith(settings, ordinary);
  expect({ status, lines }).toEqual({
    status: 2,
    lines: [
      expect.stringMatching(/^DATABASE_URL must name a store that can be used: .*tramline\.db.*EACCES/),
    ],
  });
});

/** As it was built, made read-only by its permissions, and shared with a group. */
test.each(['755', '555', '775'])(
  'R2: npm start serves from a built folder that its user cannot write, and changes nothing there: command of mode %s',
  (octal) => {
    const built = ['dist/src/cli.js', 'dist/.tsbuildinfo'].map((path) => join(repositoryRoot(), path));
    const [command] = built;
    const modeBefore = statSync(command!).mode;
    chmodSync(command!, Number.parseInt(octal, 8));
    const changed = () => built.map((path) => statSync(path).ctimeMs);
    const before = changed();
    const { status, stdout, stderr } = spawnSync('npm', ['start', '--silent'], {
      cwd: repositoryRoot(),
      // Without a home, as a user of a service manager has none; npm asks no registry whether it is old.
      env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', npm_config_update_notifier: 'false' },
      encoding: 'utf8',
      timeout: 60_000,
      ...ordinary,
    });
    const after = changed();
    chmodSync(command!, modeBefore);
    // It got as far as to the settings, of which none is given.
    expect([stdout, stderr, status]).toEqual([
      '',
      expect.stringMatching(/^WEBHOOK_AUTHORIZATION is missing: /),
      2,
    ]);
    expect(after).toEqual(before);
  },
);
