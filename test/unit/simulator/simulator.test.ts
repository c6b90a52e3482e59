// Starting and ending: what is printed, sizes, options, and that the simulator shares no module with the rest.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadSettings } from '../../../src/config';
import { checkOptions } from '../../../src/simulator/options';
import { startSimulator } from '../../../src/simulator/simulator';
import { control, get, rawControl, tokenOf } from './caller';

test('the environment holds every setting a service needs, each a string', async () => {
  for (const auth of ['oauth1', 'oauth2'] as const) {
    const simulator = await startSimulator({ auth });
    const { environment } = simulator;
    expect(Object.keys(environment).sort()).toEqual([
      'ENCRYPTION_KEYS',
      'PROVIDER_AUTH',
      'PROVIDER_CLIENT_KEY',
      'PROVIDER_CLIENT_SECRET',
      'PROVIDER_EQUIPMENT_URL',
      'PROVIDER_ISSUER',
      'PROVIDER_SCOPES',
      'PROVIDER_TOKENS',
      'PROVIDER_URL',
      'PROVIDER_VENDOR',
      'WEBHOOK_AUTH',
      'WEBHOOK_AUTHORIZATION',
      'WEBHOOK_TOKENS',
    ]);
    expect(Object.values(environment).every((value) => typeof value === 'string' && value !== '')).toBe(true);
    expect(loadSettings('serve', environment).missing).toEqual([]);
    const kept = auth === 'oauth1' ? ['secret'] : ['refresh'];
    expect(Object.keys(tokenOf(simulator)).sort()).toEqual(
      ['auth', 'connection', 'expiresAt', 'token', 'user', ...kept].sort(),
    );
    expect([environment.PROVIDER_URL, environment.PROVIDER_EQUIPMENT_URL]).toEqual([
      simulator.catalog,
      simulator.equipment,
    ]);
    await simulator.close();
  }
});

test('where it delivers is told as the public address of the service, without the path', async () => {
  const simulator = await startSimulator({ deliverTo: 'http://127.0.0.1:9/webhooks' });
  expect(simulator.environment.PUBLIC_URL).toBe('http://127.0.0.1:9');
  await simulator.close();
});

test('a simulator started again with the same seed on the same port is the same provider', async () => {
  const first = await startSimulator({ seed: 42 });
  const { port } = new URL(first.catalog);
  const state = await control(first, 'GET', 'state');
  await first.close();
  const second = await startSimulator({ seed: 42, port: Number(port) });
  expect(await control(second, 'GET', 'state')).toEqual(state);
  const secrets = ({ PROVIDER_TOKENS, ...rest }: Record<string, string>): object => ({
    ...rest,
    token: JSON.parse(PROVIDER_TOKENS!)[0].token,
  });
  expect(secrets(second.environment)).toEqual(secrets(first.environment));
  expect((await get(first, `${first.equipment}/equipment/217001`)).status).toBe(200);
  await second.close();
});

test('fifty organizations of a thousand, or fifty thousand operations, are ready in under two seconds', async () => {
  const before = process.cpuUsage();
  const wide = await startSimulator({ organizations: 50, equipment: 1_000, fieldOperations: 1_000 });
  const deep = await startSimulator({ organizations: 1, fieldOperations: 50_000 });
  const { user, system } = process.cpuUsage(before);
  expect(user + system).toBeLessThan(2_000_000);
  const fields = await get(deep, `${deep.catalog}organizations/4711/fields?pageOffset=6249`);
  expect([fields.body.total, fields.body.values.length]).toEqual([6_250, 1]);
  expect((await get(wide, `${wide.equipment}/equipment/${217_001 + 49_999}`)).status).toBe(200);
  await Promise.all([wide.close(), deep.close()]);
});

test('a port that is taken is an error, and closing ends every connection', async () => {
  const simulator = await startSimulator();
  const port = Number(new URL(simulator.catalog).port);
  await expect(startSimulator({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await simulator.close();
  await expect(rawControl(simulator, 'GET', 'state')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test.each([
  [{ port: 70_000 }, 'port'],
  [{ organizations: -1 }, 'organizations'],
  [{ latencyMs: 1.5 }, 'latencyMs'],
  [{ today: '2024-13-01' }, 'today'],
  [{ oauth1Ends: 'soon' }, 'oauth1Ends'],
  [{ deliverTo: 'somewhere' }, 'deliverTo'],
])('the options %j are refused by name', (options, name) => {
  expect(() => checkOptions(options)).toThrow(new RegExp(`^${name} must be`));
});

test('OAuth 1 never ends where it is asked for, and ended in 2022 where it is not', () => {
  expect(checkOptions({ auth: 'oauth1' }).oauth1Ends).toBeUndefined();
  expect(checkOptions({}).oauth1Ends).toBe('2022-05-01');
});

test('the simulator shares no module with the rest of the project', () => {
  const root = resolve(__dirname, '../../../src/simulator');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  expect(files.length).toBeGreaterThan(30);
  for (const file of files) {
    const from = join(root, file, '..');
    for (const [, target] of readFileSync(join(root, file), 'utf8').matchAll(/from '([^']+)'/g)) {
      if (target!.startsWith('.')) expect(resolve(from, target!).startsWith(root)).toBe(true);
      else expect(target).toMatch(/^(node:.+|express)$/);
    }
  }
});
