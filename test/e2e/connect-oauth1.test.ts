/**
 * A user consents by OAuth 1: through a one-time link in a browser, or by carrying the verifier from the provider's page
 * to the terminal. Afterwards the user's organizations are read. What is spent, wrong or somebody else's opens nothing.
 */
import { beginConnectStory, type ConnectStory } from '../support/connect-story';

let stage: ConnectStory;
beforeAll(async () => {
  stage = await beginConnectStory({ flags: { auth: 'oauth1' } });
});
afterAll(() => stage.story.end());

test('a user consents through the link, and what the user sees is read', async () => {
  const { story } = stage;
  const command = stage.connect('--user', 'harrow-user-1');
  const page = await stage.consent(command, 'harrow-user-1');
  expect([page.status, page.address.split('?')[0]]).toEqual([
    200,
    `${story.service.publicUrl}/connect/callback`,
  ]);
  const { code, out } = await command.ended;
  expect(code).toBe(0);
  const { organizations } = await story.simulator.state();
  const [connection] = await stage.connections();
  expect(connection).toMatchObject({ user: 'harrow-user-1', auth: 'oauth1', status: 'valid', renews: false });
  expect(connection!.organizations).toEqual(organizations.map(({ id }) => id).sort());
  const daysLeft = (Date.parse(connection!.expiresAt!) - Date.now()) / 86_400_000;
  expect([daysLeft > 364, daysLeft <= 365]).toEqual([true, true]);
  for (const { name } of organizations) expect(page.text).toContain(name);
  for (const text of [connection!.id, 'harrow-user-1', ...connection!.organizations])
    expect(out).toContain(text);

  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'Read after consent' });
  const [event] = await story.untilEvents(machine!, 1);
  expect((event!.data as { name: string }).name).toBe('Read after consent');
});
