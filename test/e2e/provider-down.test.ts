/**
 * The provider is away when the service starts: deliveries are accepted, their work is postponed and kept, and when the
 * provider is back everything is published. How an outage goes on is told by row F-1.
 */
import { beginStory, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
afterEach(() => story.end());

test('a service that starts while the provider is down accepts at once and publishes later', async () => {
  story = await beginStory({ delivers: false });
  await story.service.kill();
  const [machine] = await story.equipment();
  await story.simulator.setFaults([{ match: {}, status: 503 }]);
  await story.serve();
  const { uri, organizationId } = machine!;
  const body = [
    { eventTypeId: 'equipment', targetResource: uri, metadata: [{ key: 'orgId', value: organizationId }] },
  ];
  expect((await story.post(body)).status).toBe(204);
  const postponed = await until(
    async () => (await story.tasks()).find(({ state }) => state === 'postponed') ?? null,
    { ...soon, what: 'the work to be postponed' },
  );
  expect(postponed).toMatchObject({ organizationId, code: 'status-503' });
  expect((await story.requests()).filter(({ status }) => status === 503)).not.toEqual([]);
  expect(await story.ledger()).toMatchObject({ accepted: 1, waiting: 1 });
  await story.simulator.setFaults([]);
  await story.untilEvents(machine!, 1);
  expect(await story.untilRest()).toMatchObject({ published: 1, lost: 0 });
});
