/**
 * A resource moves to an organization that only another user sees. A notification says nothing that could be believed of
 * the new owner; its listing does.
 */
import { runCommand } from '../support/command';
import { beginConnectStory, type ConnectStory } from '../support/connect-story';
import type { Resource } from '../support/story';

let stage: ConnectStory;
afterEach(() => stage.story.end());

async function beginWithTwoUsers(): Promise<void> {
  stage = await beginConnectStory({ flags: { users: 2 } });
  for (const user of ['harrow-user-1', 'harrow-user-2']) {
    const command = stage.connect('--user', user);
    await stage.consent(command, user);
    expect((await command.ended).code).toBe(0);
  }
}

/** Of the machine under this owner. */
const changes = async (machine: Resource, organizationId: string): Promise<string[]> =>
  (await stage.story.events())
    .filter(({ subject }) => subject === `${organizationId}/equipment/${machine.id}`)
    .map(({ type }) => type.split('.').at(-2)!);

async function sync(): Promise<void> {
  const { story } = stage;
  const { code } = await runCommand(['sync'], { TRAMLINE_URL: story.service.operationsUrl });
  expect(code).toBe(0);
  await story.untilRest();
}

test.each([true, false])(
  'what moved to an organization of another user is published as its own once a sync has shown it there, notified before: %s',
  async (notified) => {
    await beginWithTwoUsers();
    const { story } = stage;
    const [machine] = await story.equipment();
    const from = machine!.organizationId;
    const connections = await stage.connections();
    const other = connections.find(({ organizations }) => !organizations.includes(from))!;
    const to = other.organizations[0]!;
    await story.simulator.changeEquipment(machine!.id, { name: 'Here' });
    await story.untilEvents(machine!, 1);
    await story.untilRest();

    await story.simulator.changeEquipment(machine!.id, {
      organization: { id: Number(to) },
      notify: notified,
    });
    const { quarantined } = await story.untilRest();
    // Whose it was is asked, and is not shown it any more.
    expect(quarantined).toBe(notified ? 1 : 0);
    await sync();
    expect(await changes(machine!, from)).toEqual(['created', 'deleted']);
    expect(await changes(machine!, to)).toEqual(['created']);
    expect(await story.quarantine()).toEqual([]);
    const { steps } = await story.explain(machine!.uri);
    expect(steps).toContainEqual(expect.objectContaining({ step: 'connection-switched', to: other.id }));
  },
);
