/**
 * Somebody reads along with `tramline events --follow`, begun before any service runs: what the store holds is shown, a
 * service starts on that store meanwhile, and what it publishes is shown too, over its restarts, each event once.
 */

import { type Command, startCommand } from '../support/command';
import { freePort } from '../support/free-port';
import { beginStory, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
let follower: Command | null = null;
afterEach(async () => {
  follower?.kill();
  await story.end();
});

/** Until it is published as so many events. */
async function rename(name: string, count: number): Promise<void> {
  const [machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name });
  await story.untilEvents(machine!, count);
}

test('a follower that began beside no service holds no store, and goes on through the one that starts', async () => {
  story = await beginStory({ settings: { OPERATIONS_PORT: String(await freePort()) } });
  await rename('First', 1);
  const kept = (await story.events()).length;
  expect(kept).toBeGreaterThan(0);
  await story.service.stop();

  const command = startCommand(['events', '--follow', '--json'], {
    DATABASE_URL: `sqlite:${story.dataFolder}/tramline.db`,
    // It finds the service at the port of its own settings, as whoever starts both in one folder does.
    OPERATIONS_PORT: story.settings().OPERATIONS_PORT,
    TRAMLINE_URL: undefined,
  });
  follower = command;
  await command.untilPrinted(/going on after position (\d+) when it answers/);
  await story.serve();
  await rename('Second', 2);
  await story.service.stop();
  await story.serve();
  await rename('Third', 3);

  const published = (await story.events()).map(({ position, id }) => ({ position, id }));
  expect(published.length).toBe(kept + 2);
  const shown = () =>
    command
      .printed()
      .split('\n')
      .filter((line) => line.startsWith('{'));
  await until(() => shown().length >= published.length, { ...soon, what: 'every event to be shown' });
  command.interrupt();
  const { code, out } = await command.ended;
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { position: number; id: string });
  expect([code, lines.map(({ position, id }) => ({ position, id }))]).toEqual([130, published]);
});
