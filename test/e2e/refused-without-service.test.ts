/**
 * Goal: a grant that the provider refuses for good while no service runs is told once and known as refused from then on, to
 * every command and to the service that starts later; nobody shows its refresh token again, and other grants go on.
 * Method: two users who see two organizations each; the tokens of one end at the provider between two commands.
 */
import { join } from 'node:path';
import { runCommand } from '../support/command';
import { temporaryFolder } from '../support/ready-process';
import { type Simulator, startSimulator } from '../support/simulator';
import { Story, soon } from '../support/story';
import { until } from '../support/until';

let simulator: Simulator;
let folder: string;
let settings: Record<string, string>;
beforeAll(async () => {
  folder = temporaryFolder();
  simulator = await startSimulator({ users: 2, organizations: 4, equipment: 2, 'heartbeat-ms': 0 });
  settings = {
    ...simulator.environment,
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    DATABASE_URL: `sqlite:${join(folder, 'tramline.db')}`,
  };
});
afterAll(() => simulator.kill());

type Shown = { id: string; user: string; status: string; organizations: string[] };
const run = (...words: string[]) => runCommand(words, settings);
const connections = async (): Promise<Shown[]> => JSON.parse((await run('connections', '--json')).out);
const listed = (out: string): string[] => [
  ...new Set((JSON.parse(out) as { organizationId: string }[]).map(({ organizationId }) => organizationId)),
];

async function counted(event: string): Promise<number> {
  const response = await fetch(`${simulator.control}coverage/events`);
  const events = (await response.json()) as { event: string; count: number }[];
  return events.find((one) => one.event === event)!.count;
}

let [lost, kept]: Shown[] = [];

/** Of the first organization, and that it is so with the other. */
function expectToldOnce(error: string): void {
  const [one, other] = lost!.organizations;
  expect(error.split('\n').filter((line) => line.includes('must consent again'))).toHaveLength(1);
  expect(error).toContain(`organization ${one}: the provider refuses the token: a user must consent again`);
  expect(error).toContain(`organization ${other}: the same as of organization ${one}`);
}

test('a refused grant is told once, however many organizations it was for, and the others are listed', async () => {
  const first = await run('equipment', 'list', '--json');
  expect([first.code, listed(first.out).length]).toEqual([0, 4]);
  [lost, kept] = await connections();
  await simulator.expireTokens({ user: lost!.user, kinds: ['access', 'refresh'] });
  const { code, out, error } = await run('equipment', 'list', '--json');
  expect([code, listed(out).toSorted()]).toEqual([5, kept!.organizations.toSorted()]);
  expectToldOnce(error);
  expect(await counted('oauth2-refresh-refused')).toBe(1);
});

test('it is known as refused afterwards, with what is to be done, and no command shows it again', async () => {
  expect((await connections()).map(({ id, status }) => [id, status])).toEqual([
    [lost!.id, 'refused'],
    [kept!.id, 'valid'],
  ]);
  const { out } = await run('connections');
  expect(out).toContain(`tramline connect --user ${lost!.user}`);
  const again = await run('equipment', 'list', '--json');
  expect([again.code, listed(again.out).length]).toEqual([5, 2]);
  expectToldOnce(again.error);
  expect((await run('field-operations', 'list', '--organization', lost!.organizations[0]!)).code).toBe(5);
  expect(await counted('oauth2-refresh-refused')).toBe(1);
});

test('the service that starts later pages for it, and asks for no token either', async () => {
  const story = new Story(simulator, { delivers: false }, folder);
  await story.serve({ settings });
  const alerts = await until(async () => {
    const found = await story.alerts();
    return found.length > 0 ? found : null;
  }, soon);
  expect(alerts).toMatchObject([{ name: 'TramlineReauthorize', state: 'firing' }]);
  for (const id of lost!.organizations)
    expect(await story.organization(id)).toMatchObject({ access: 'reauthorize' });
  expect(await counted('oauth2-refresh-refused')).toBe(1);
  await story.service.stop();
});

test('on a new store it is a user who must act, whatever is asked for first', async () => {
  const ended = await startSimulator({ auth: 'oauth1', 'oauth1-ends': '2020-01-01', equipment: 1 });
  try {
    for (const words of [
      ['equipment', 'list'],
      ['equipment', 'get', '217001'],
    ]) {
      const database = { DATABASE_URL: `sqlite:${join(temporaryFolder(), 'tramline.db')}` };
      const { code, error } = await runCommand(words, { ...settings, ...ended.environment, ...database });
      expect([words, code]).toEqual([words, 5]);
      expect(error).toContain('the provider refuses the token: a user must consent again: ');
      expect(error).toContain('PROVIDER_AUTH=oauth2');
    }
  } finally {
    await ended.kill();
  }
});
