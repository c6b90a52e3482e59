/**
 * Commands through a service that has just started: until it has learned what each connection sees, whoever asks waits for
 * that, and is not told that nobody sees the organization.
 */
import { runCommand } from '../support/command';
import { startService, temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { Story } from '../support/story';

test('what connections see is waited for by whoever asks before it was learned', async () => {
  const simulator = await startSimulator({ organizations: 2, equipment: 4, 'heartbeat-ms': 0 });
  const story = new Story(simulator, { delivers: false }, temporaryFolder());
  const { organizations } = await simulator.state();
  const { id } = organizations[0]!;
  await simulator.setFaults([{ match: { path: '/platform/organizations' }, times: 1, delayMs: 3000 }]);
  const service = await startService({
    environment: story.settings({ PUBLIC_URL: 'http://127.0.0.1:1/hooks' }),
  });
  try {
    const environment = { ...story.settings(), TRAMLINE_URL: service.operationsUrl };
    const [listed, created] = await Promise.all(
      [
        ['equipment', 'list', '--organization', id, '--json'],
        ['subscriptions', 'create', '--event-type', 'equipment', '--organization', id, '--json'],
      ].map((words) => runCommand(words, environment)),
    );
    expect({ code: listed!.code, error: listed!.error }).toEqual({ code: 0, error: '' });
    // The address is nobody's: the provider refuses it, which is not that nobody may ask.
    expect(created!.error).not.toContain('no valid connection');
    expect(created!.code).not.toBe(3);
  } finally {
    await service.kill();
    await simulator.kill();
  }
});
