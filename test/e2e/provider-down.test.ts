/**
 * The provider is away for a while: deliveries are accepted, their work is postponed and kept, on-call is told once, and
 * when the provider is back everything is published and the page ends.
 */
import { beginStory, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
afterEach(() => story.end());

async function changeAll(): Promise<number> {
  const { equipment } = await story.simulator.state();
  for (const { id } of equipment) await story.simulator.changeEquipment(id, { name: `Machine ${id}` });
  return equipment.length;
}

test('what is notified while the provider is down is postponed, and published when it is back', async () => {
  story = await beginStory();
  await story.simulator.setFaults([{ match: {}, close: true }]);
  const count = await changeAll();

  await until(async () => (await story.ledger()).accepted === count, soon);
  const postponed = await until(async () => {
    const tasks = await story.tasks('postponed');
    return tasks.length === count ? tasks : null;
  }, soon);
  expect(postponed.every(({ code }) => code !== null)).toBe(true);
  expect(await story.ledger()).toMatchObject({ published: 0, waiting: count, lost: 0 });
  const firing = await until(async () => {
    const alerts = await story.alerts();
    return alerts.length > 0 ? alerts : null;
  }, soon);
  expect(firing).toMatchObject([{ name: 'TramlineProviderUnavailable', state: 'firing' }]);
  expect((await fetch(`${story.service.operationsUrl}/readyz`)).status).toBe(200);

  await story.simulator.setFaults([]);
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ accepted: count, published: count, quarantined: 0, lost: 0 });
  expect(await story.events()).toHaveLength(count);
  await until(async () => (await story.alerts()).every(({ state }) => state === 'resolved'), soon);
  expect(await story.metric('tramline_attempts_total', { outcome: 'postponed' })).toBeGreaterThan(0);
  expect(story.log('fault')).toEqual([]);
});

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
  expect(await story.ledger()).toMatchObject({ accepted: 1, waiting: 1 });
  await story.simulator.setFaults([]);
  await story.untilEvents(machine!, 1);
  expect(await story.untilRest()).toMatchObject({ published: 1, lost: 0 });
});
