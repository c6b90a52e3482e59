/**
 * The README's recipe for two terminals, as it stands there: what the simulator prints is turned into settings by the
 * README's own line, in a shell, and with nothing else the commands beside the service work.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { Browser } from '../support/browser';
import { runCommand, startCommand } from '../support/command';
import { freePort } from '../support/free-port';
import { repositoryRoot } from '../support/repository';
import { type Service, startService, temporaryFolder } from '../support/service';
import { type Simulator, startSimulator } from '../support/simulator';

let simulator: Simulator;
let service: Service;
/** Of the second terminal. */
let environment: Record<string, string>;

beforeAll(async () => {
  const block = recipe();
  const port = String(await freePort());
  // Only the port is another, since the usual one may be somebody's.
  const target = /--deliver-to (\S+)/.exec(block)![1]!.replace(':8080/', `:${port}/`);
  simulator = await startSimulator({ 'deliver-to': target, organizations: 2 });
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data/simulator.json'), JSON.stringify(simulator.ready));
  const settings = { ...settingsFrom(block, folder), PORT: port };
  service = await startService({ environment: settings });
  environment = { ...settings, TRAMLINE_URL: service.operationsUrl };
});
afterAll(async () => {
  await service?.kill();
  await simulator?.kill();
});

function recipe(): string {
  const readme = readFileSync(join(repositoryRoot(), 'README.md'), 'utf8');
  return /^```sh\n(.* simulate --deliver-to [\s\S]*?)^```$/m.exec(readme)![1]!;
}

/** What is exported after the recipe's own `eval`. */
function settingsFrom(block: string, folder: string): Record<string, string> {
  const [line] = /^eval "[\s\S]*?\)"/m.exec(block)!;
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const options = { cwd: folder, env: { PATH }, encoding: 'utf8' } as const;
  const exported = execFileSync('sh', ['-c', `${line}\nnode -p 'JSON.stringify(process.env)'`], options);
  const {
    PATH: _path,
    PWD: _folder,
    OLDPWD: _former,
    SHLVL: _level,
    _: _last,
    ...settings
  } = JSON.parse(exported);
  return settings as Record<string, string>;
}

test('a subscription is created, and delivers where the simulator was told to', async () => {
  const { organizations } = await simulator.state();
  const words = ['subscriptions', 'create', '--event-type', 'fieldOperation'];
  const { code, out, error } = await runCommand(
    [...words, '--organization', organizations[0]!.id, '--json'],
    environment,
  );
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(JSON.parse(out)).toMatchObject({ status: 'Active' });
  const [created] = (await simulator.subscriptions()).slice(-1);
  expect(JSON.stringify(created)).toContain(`${service.publicUrl}/webhooks`);
});

test('a user consents by the link that connect prints', async () => {
  const command = startCommand(['connect'], environment);
  const link = await command.untilPrinted(/(http:\/\/127\.0\.0\.1:\d+\/connect\?link=[\w-]+)/);
  const browser = new Browser();
  await browser.answer(await browser.press(link), 'harrow-user-1');
  expect((await command.ended).code).toBe(0);
});
