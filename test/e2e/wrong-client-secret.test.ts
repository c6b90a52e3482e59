/**
 * Under OAuth 1 every request is signed with the client's secret too. A wrong one is the platform's to mend: no user's
 * consent is refused for it, nothing is published of it, and with the right one everything goes on by itself.
 */
import { join } from 'node:path';
import { runCommand } from '../support/command';
import { temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { Story, soon } from '../support/story';
import { until } from '../support/until';

const wrong = { settings: { PROVIDER_CLIENT_SECRET: 'of-another-client' } };

let story: Story;
beforeEach(async () => {
  const flags = { auth: 'oauth1', organizations: 2, equipment: 2, 'field-operations': 1, 'heartbeat-ms': 0 };
  story = new Story(await startSimulator(flags), {}, temporaryFolder());
});
afterEach(() => story.end());

function run(...words: string[]) {
  const DATABASE_URL = `sqlite:${join(story.dataFolder, 'tramline.db')}`;
  const TRAMLINE_URL = story.service.operationsUrl;
  return runCommand(words, story.settings({ DATABASE_URL, TRAMLINE_URL }));
}

async function untilClientRefused(): Promise<void> {
  await until(async () => (await story.alerts()).length > 0, soon);
  const [alert, ...more] = await story.alerts();
  expect(more).toEqual([]);
  expect(alert!.name).toBe('TramlineClientRefused');
  expect(alert!.annotations.description).toMatch(/signature-mismatch.*PROVIDER_CLIENT_SECRET/s);
  const connections = await story.ask<{ status: string }[]>('/api/connections');
  expect(connections.map(({ status }) => status)).toEqual(['valid']);
}

test('of a service that was read with before refuses nobody: what changed meanwhile is read with the right one', async () => {
  await story.serve();
  await story.untilLearned();
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'Before' });
  await story.untilEvents(machine!, 1);
  await story.untilRest();
  const published = (await story.events()).length;

  await story.service.stop();
  await story.serve(wrong);
  await story.simulator.changeEquipment(machine!.id, { name: 'Meanwhile' });
  await untilClientRefused();
  expect((await story.organization(machine!.organizationId)).access).toBe('active');
  const checked = await run('check');
  expect(checked.code).not.toBe(0);
  expect(checked.out + checked.error).toContain('signature-mismatch');
  expect(checked.out + checked.error).not.toContain('refused the consent');
  // What is refused tells the time all the same: under OAuth 1 a clock that is off is one reason.
  expect(checked.out).toMatch(/^clock +ok /m);

  await story.service.stop();
  await story.serve();
  await story.untilEvents(machine!, 2);
  expect(await story.untilRest()).toMatchObject({ parked: 0, lost: 0, quarantined: 0 });
  expect(await story.events()).toHaveLength(published + 1);
});

test('at the first start leaves the consent that the settings name in force', async () => {
  await story.serve(wrong);
  await untilClientRefused();
  const asked = await run('connect', '--oob', '--user', 'harrow-user-1');
  expect(asked.code).toBe(4);
  expect(asked.error).toContain('PROVIDER_CLIENT_SECRET');
  expect(asked.error).not.toContain('ends OAuth 1');

  await story.service.stop();
  await story.serve();
  await story.untilLearned();
});

test('a token that the provider refused by mistake before it showed anything is shown again at a start', async () => {
  await story.simulator.setFaults([{ match: { path: '/platform/' }, status: 401 }]);
  await story.serve();
  const status = async () => (await story.ask<{ status: string }[]>('/api/connections'))[0]?.status;
  await until(async () => (await status()) === 'refused', soon);
  await until(async () => (await story.alerts()).length > 0, soon);
  expect(await story.alerts()).toMatchObject([
    { name: 'TramlineReauthorize', state: 'firing', labels: { connection_id: expect.any(String) } },
  ]);
  await story.simulator.setFaults([]);
  await story.service.stop();
  await story.serve();
  await story.untilLearned();
  expect(await status()).toBe('valid');
  await until(async () => (await story.alerts()).every((alert) => alert.state === 'resolved'), soon);
});
