/**
 * R11 beside a running service: the store's keys are turned while a token is being renewed. The process that renews stands
 * still between the provider's answer and the store, and everything is sealed anew meanwhile.
 */

import { runCommand } from '../support/command';
import { describeWithNeighbour } from '../support/neighbour';
import { type PostgresServer, postgresAvailable, startPostgres } from '../support/postgres';
import { beginStory, type Story, soon } from '../support/story';
import { until } from '../support/until';

const key = (id: string, fill: number) => `${id}:${Buffer.alloc(32, fill).toString('base64')}`;
const [former, next] = [key('k1', 7), key('k2', 9)];
const both = `${next},${former}`;

describeWithNeighbour('PostgreSQL', postgresAvailable(), 'keys that are turned beside a service', () => {
  let server: PostgresServer;
  let story: Story;

  beforeAll(async () => {
    server = await startPostgres();
    const DATABASE_URL = server.url(await server.createDatabase());
    const flags = { organizations: 1, 'field-operations': 0 };
    story = await beginStory({ flags, settings: { DATABASE_URL, ENCRYPTION_KEYS: former } });
  });

  afterAll(async () => {
    await story.end();
    await server.stop();
  });

  test('R11: a token that is renewed while all are sealed anew is stored all the same, and then the former key can go', async () => {
    const [machine] = await story.equipment();
    await story.service.stop();
    await story.serve({
      entry: 'dist/test/support/serve-with-failpoints.js',
      settings: { ENCRYPTION_KEYS: both, FAILPOINT: 'S6 renewed', FAILPOINT_SIGNAL: 'SIGSTOP' },
    });
    const { service } = story;
    process.kill(service.pid, 'SIGUSR2');
    await story.simulator.expireTokens();
    await story.simulator.changeEquipment(machine!.id, { name: 'While the keys are turned' });
    try {
      await until(() => service.lines().some((line) => line.includes('"failpoint"')), {
        ...soon,
        what: 'the token to be renewed',
      });
      const alone = story.settings({ ENCRYPTION_KEYS: both });
      const { code, out } = await runCommand(['migrate', '--reencrypt', '--json'], alone);
      expect([code, JSON.parse(out)]).toMatchObject([0, { kept: 0 }]);
    } finally {
      process.kill(service.pid, 'SIGCONT');
    }
    await story.untilEvents(machine!, 1);

    await service.stop();
    await story.serve({ settings: { ENCRYPTION_KEYS: next } });
    await story.simulator.expireTokens();
    await story.simulator.changeEquipment(machine!.id, { name: 'Under the next key' });
    await story.untilEvents(machine!, 2);
    const rows = (await story.simulator.coverage()) as { row: string; count: number }[];
    const countOf = (name: string) => rows.find(({ row }) => row === name)?.count;
    expect([countOf('oauth2.refresh'), countOf('oauth2.refresh-reused')]).toEqual([2, 0]);
    expect(await story.untilRest()).toMatchObject({ published: 2, lost: 0 });
  });
});
