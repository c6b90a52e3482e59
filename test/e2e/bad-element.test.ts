/**
 * One bad element among 256 harms nobody else: 255 become events, one waits for an operator with its reason and place,
 * and the sender is told 204, since the delivery is safe.
 */
import { expectExitsToAgree } from '../support/five-exits';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
afterEach(() => story.end());

test('255 elements of a delivery go on and the bad one is quarantined with its reason', async () => {
  story = await beginStory({
    delivers: false,
    flags: { organizations: 3, equipment: 85, 'field-operations': 0 },
  });
  const { equipment } = await story.simulator.state();
  expect(equipment).toHaveLength(255);
  const elements = equipment.map((machine) => notificationOf(machine));
  elements.splice(100, 0, notificationOf(equipment[0]!, { targetResource: 4711, token: 'a-secret-token' }));
  expect(await story.post(elements)).toMatchObject({ status: 204 });

  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ accepted: 256, published: 255, quarantined: 1, lost: 0 });
  const events = await story.events();
  expect(new Set(events.map(({ subject }) => subject)).size).toBe(255);

  const [entry, ...more] = await story.quarantine();
  expect(more).toEqual([]);
  expect(entry).toMatchObject({
    what: 'notification',
    reason: 'malformed-notification',
    path: '/targetResource',
    deliveryId: 'd1',
    state: 'waiting',
  });
  expect(entry!.raw).not.toContain('a-secret-token');
  expect(await story.metric('tramline_quarantined_total', { reason: 'malformed-notification' })).toBe(1);
  // Each machine was read once: the bad one beside them cost no read, and kept none from being made.
  const paths = equipment.map(({ uri }) => new URL(uri).pathname);
  const reads = (await story.requests()).map(({ path }) => path).filter((path) => paths.includes(path));
  expect(reads.toSorted()).toEqual(paths.toSorted());
  await until(() => story.log('delivery').length === 1, soon);
  expect(story.log('delivery')).toMatchObject([
    { hints: 255, quarantined: 1, reasons: ['malformed-notification'] },
  ]);
  const alerts = await until(async () => {
    const found = await story.alerts();
    return found.length > 0 ? found : null;
  }, soon);
  expect(alerts).toMatchObject([{ name: 'TramlineQuarantineNotEmpty', state: 'firing' }]);
  await expectExitsToAgree(story);

  // A body that is no array at all is counted with the sample that is kept of it, however often it comes.
  expect(await story.metric('tramline_quarantined_total', { reason: 'malformed-body' })).toBe(0);
  for (let times = 0; times < 2; times += 1) expect(await story.post('{')).toMatchObject({ status: 400 });
  expect(await story.metric('tramline_quarantined_total', { reason: 'malformed-body' })).toBe(1);
});
