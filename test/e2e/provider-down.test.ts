/**
 * The provider is away when the service starts: deliveries are accepted, their work is postponed and kept, and when the
 * provider is back everything is published, at all exits. How an outage goes on is told by row F-1.
 */
import { expectExitsToAgree } from '../support/five-exits';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
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
  expect((await story.post([notificationOf(machine!)])).status).toBe(204);
  const [attempt] = await until(
    () => {
      const attempts = story.log('attempt');
      return attempts.length > 0 ? attempts : null;
    },
    { ...soon, what: 'an attempt to be told of' },
  );
  expect(attempt).toMatchObject({ outcome: 'postponed', code: 'status-503', address: uri, eventIds: [] });
  expect(attempt!.dueInMs).toBeGreaterThan(0);
  // Stored, and nothing published: what waits says why, and for whom. It is tried again and again meanwhile.
  const [task, ...others] = await until(
    async () => {
      const tasks = await story.tasks('postponed');
      return tasks.length > 0 ? tasks : null;
    },
    { ...soon, what: 'the task to wait' },
  );
  expect(others).toEqual([]);
  expect(task).toMatchObject({ organizationId, code: 'status-503' });
  expect(await story.ledger()).toMatchObject({ accepted: 1, waiting: 1, published: 0, lost: 0 });
  expect(await story.events()).toEqual([]);
  // Everything that was asked since was refused, but for what is not answered yet, and metrics tell of it.
  const refused = (await story.requestsOfLife()).flatMap(({ status }) => status ?? []);
  expect(new Set(refused)).toEqual(new Set([503]));
  const told = { http_response_status_code: '503' };
  expect(await story.metric('http_client_request_duration_seconds_count', told)).toBeGreaterThan(0);
  expect(await story.metric('tramline_attempts_total', { outcome: 'postponed' })).toBeGreaterThan(0);
  expect((await fetch(`${story.service.operationsUrl}/readyz`)).status).toBe(200);

  await story.simulator.setFaults([]);
  const [event] = await story.untilEvents(machine!, 1);
  expect(await story.untilRest()).toMatchObject({ accepted: 1, published: 1, waiting: 0, lost: 0 });
  expect(event!.data).toMatchObject({ id: machine!.id, name: machine!.content.name });
  expect(await story.metric('tramline_attempts_total', { outcome: 'published' })).toBe(1);
  await expectExitsToAgree(story);
  expect(story.log('attempt').at(-1)).toMatchObject({ outcome: 'published', eventIds: [event!.id] });
});
