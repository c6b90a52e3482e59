/**
 * Subscriptions from the command line: created with a token of their own and verified at once, delivered and published;
 * the Authorization value rotated without a loss; what expired is renewed; silence pages and ends; and the end of one.
 */

import { runCommand } from '../support/command';
import { freePort } from '../support/free-port';
import { beginStory, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
beforeAll(async () => {
  const port = await freePort();
  story = await beginStory({
    delivers: false,
    flags: { 'heartbeat-ms': 250 },
    settings: {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      SUBSCRIPTION_CHECK_SECONDS: '1',
      HEARTBEAT_SILENCE_SECONDS: '2',
    },
  });
});
afterAll(() => story.end());

type Subscription = { id: string; status: string; token: string };

async function tramline<Answer>(
  ...words: string[]
): Promise<{ code: number | null; answer: Answer; error: string }> {
  const settings = story.settings({ TRAMLINE_URL: story.service.operationsUrl });
  const { code, out, error } = await runCommand([...words, '--json'], settings);
  return { code, answer: (out === '' ? null : JSON.parse(out)) as Answer, error };
}

async function subscribed(...more: string[]): Promise<Subscription> {
  const { organizations } = await story.simulator.state();
  const words = organizations.flatMap(({ id }) => ['--organization', id]);
  const created = await tramline<Subscription>('subscriptions', 'create', ...words, ...more);
  expect(created).toMatchObject({ code: 0, answer: { status: 'Active', token: '[secret]' } });
  return created.answer;
}

const statusOf = async (id: string) =>
  (await story.simulator.subscriptions()).find((one) => one.id === id)?.status;
const alertsOf = async (name: string, state = 'firing') =>
  (await story.alerts()).filter((alert) => alert.name === name && alert.state === state);

async function changed(machine: Resource, name: string, count: number): Promise<void> {
  await story.simulator.changeEquipment(machine.id, { name });
  const events = await story.untilEvents(machine, count);
  expect((events.at(-1)!.data as { name: string }).name).toBe(name);
}

const authorization = () => story.simulator.environment.WEBHOOK_AUTHORIZATION ?? '';
const unknownElement = [
  { clientKey: 'a', eventTypeId: 'heartbeat', targetResource: '', metadata: [], links: [] },
];
const statusOfPost = async (value: string) =>
  (await story.post(unknownElement, { authorization: value })).status;

test('a subscription is verified at once, and what it announces is published', async () => {
  const { id } = await subscribed('--event-type', 'equipment', '--name', 'Machines');
  const [machine] = await story.equipment();
  await changed(machine!, 'Announced', 1);
  const listed = await tramline<Subscription[]>('subscriptions', 'list');
  expect(listed.answer).toMatchObject([{ id, status: 'Active', displayName: 'Machines', token: '[secret]' }]);
  const said = [JSON.stringify(listed.answer), ...story.service.lines()].join('\n');
  for (const secret of [authorization()]) expect(said).not.toContain(secret);
  const settings = story.settings({ TRAMLINE_URL: story.service.operationsUrl });
  const { out } = await runCommand(['subscriptions', 'list'], settings);
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test('what the provider refuses, or nobody has, ends with its own exit code', async () => {
  const refused = await tramline('subscriptions', 'create', '--event-type', 'nothing-known');
  expect(refused).toMatchObject({ code: 4, error: expect.stringContaining('eventTypeId') });
  for (const verb of ['renew', 'end']) {
    expect((await tramline('subscriptions', verb, 'unknown')).code).toBe(3);
  }
  expect((await tramline('delivery', 'set')).code).toBe(2);
  expect((await tramline('subscriptions', 'create')).code).toBe(2);
});

test('one that neither the answer nor the list shows, or without an answer, ends with 1: whether it was made is not known', async () => {
  const match = { method: 'POST', path: '/eventSubscriptions$' };
  await story.simulator.setFaults([{ match, times: 1, status: 200, body: {} }]);
  const { code, answer, error } = await tramline('subscriptions', 'create', '--event-type', 'equipment');
  expect([code, answer]).toEqual([1, null]);
  expect(error).toMatch(
    /expected the subscription with its id, got an object without it, and none is listed.*not known: look.*http:\S+\/eventSubscriptions\b/s,
  );
  await story.simulator.setFaults([{ match, times: 1, status: 500 }]);
  const unanswered = await tramline('subscriptions', 'create', '--event-type', 'equipment');
  expect(unanswered).toMatchObject({
    code: 1,
    error: expect.stringMatching(/status 500; it may have been created/),
  });
  await story.simulator.setFaults([]);
});

test('W18: while the Authorization value is rotated both are accepted, nothing is lost, and then the old one is 401', async () => {
  const [, machine] = await story.equipment();
  await story.simulator.changeSettings({ rotationLagMs: 600_000 });
  const old = authorization();
  const set = await tramline<Record<string, unknown>>(
    'delivery',
    'set',
    '--rotate-authorization',
    '--batch-size',
    '7',
  );
  expect(set).toMatchObject({ code: 0, answer: { maxBatchSize: 7, authorizationHeaderValue: '[secret]' } });
  // The provider has it, and goes on with the former one for a while.
  expect(await statusOfPost(old)).toBe(204);
  await changed(machine!, 'In the overlap', 1);
  // The next change is used at once, and that one with it.
  await story.simulator.changeSettings({ rotationLagMs: 0 });
  expect((await tramline('delivery', 'set', '--batch-size', '8')).code).toBe(0);
  await until(async () => (await statusOfPost(old)) === 401, soon);
  await changed(machine!, 'After the overlap', 2);
  const refused = (await story.simulator.deliveries()) as { status: number }[];
  expect(refused.filter(({ status }) => status === 401)).toEqual([]);
  expect((await story.untilRest()).lost).toBe(0);
  expect(story.log('fault')).toEqual([]);
});

test('the rotated value holds after a restart, in spite of the setting', async () => {
  // Heartbeats that fail meanwhile would be sent again one by one, before what is announced afterwards.
  await story.simulator.changeSettings({ heartbeats: false });
  await story.service.stop();
  await story.serve();
  await story.simulator.changeSettings({ heartbeats: true });
  expect(await statusOfPost(authorization())).toBe(401);
  const [, , machine] = await story.equipment();
  await changed(machine!, 'After a restart', 1);
});

test('a subscription that expired is found and renewed, and delivers again', async () => {
  const [own] = (await tramline<Subscription[]>('subscriptions', 'list')).answer;
  await story.simulator.setSubscriptionStatus(own!.id, 'Expired');
  await until(async () => (await statusOf(own!.id)) === 'Active', soon);
  const [, , , machine] = await story.equipment();
  await changed(machine!, 'After the renewal', 1);
  expect(await alertsOf('TramlineSubscriptionExpired')).toEqual([]);
});

test('a renewal that is refused pages, and the page ends when one succeeds', async () => {
  const [own] = (await tramline<Subscription[]>('subscriptions', 'list')).answer;
  const fault = { match: { method: 'PUT', path: 'eventSubscriptions' }, status: 403, body: { errors: [] } };
  await story.simulator.setFaults([{ ...fault, match: { method: 'PUT', path: 'eventSubscriptions/.*$' } }]);
  await story.simulator.setSubscriptionStatus(own!.id, 'Expired');
  const [page] = await until(async () => {
    const pages = await alertsOf('TramlineSubscriptionExpired');
    return pages.length > 0 ? pages : null;
  }, soon);
  expect(page!.labels).toMatchObject({ subscription_id: own!.id });
  await story.simulator.setFaults([]);
  await until(async () => (await statusOf(own!.id)) === 'Active', soon);
  await until(async () => (await alertsOf('TramlineSubscriptionExpired')).length === 0, soon);
});

test('an entry of the list that cannot be read is told with its address, and nobody is paged for what it may be', async () => {
  const [own] = (await tramline<Subscription[]>('subscriptions', 'list')).answer;
  const values = [{ status: 'Active', displayName: 'Machines' }];
  const match = { method: 'GET', path: '/eventSubscriptions' };
  await story.simulator.setFaults([{ match, status: 200, body: { links: [], total: 1, values } }]);
  const said = 'expected a subscription with an id, got an object without it';
  const troubles = () => story.log('trouble').filter(({ detail }) => String(detail).includes(said));
  await until(() => troubles().length > 0, { ...soon, what: 'the entry to be told' });
  expect(troubles()[0]).toMatchObject({
    code: 'provider.malformed',
    detail: expect.stringContaining('/eventSubscriptions'),
  });
  const listed = await tramline<Subscription[]>('subscriptions', 'list');
  expect(listed).toMatchObject({ code: 1, answer: [], error: expect.stringContaining(said) });
  expect((await tramline('subscriptions', 'renew', own!.id)).code).toBe(1);
  await story.simulator.setFaults([]);
  expect(await alertsOf('TramlineSubscriptionEnded')).toEqual([]);
  expect((await tramline<Subscription[]>('subscriptions', 'list')).answer).toMatchObject([{ id: own!.id }]);
});

test('one that is listed without a link of its own is not ended at the address of the list, and is told', async () => {
  const [own] = (await tramline<Subscription[]>('subscriptions', 'list')).answer;
  const { id } = own!;
  const list = await story.provided(`${story.simulator.catalog}eventSubscriptions?itemLimit=100`);
  const values = (list.values as object[]).map((one) => ({ ...one, links: [] }));
  const path = '/eventSubscriptions($|\\?)';
  await story.simulator.setFaults([
    { match: { method: 'GET', path }, status: 200, body: { ...list, values } },
  ]);
  const refused = await tramline('subscriptions', 'end', id);
  expect(refused.code).toBe(1);
  expect(refused.error).toContain(`subscription ${id}: expected a link \`self\` to change it at, got none`);
  const written = (await story.requests()).filter(({ method }) => method === 'PUT');
  expect(written.filter(({ path: at }) => at.endsWith('/eventSubscriptions'))).toEqual([]);
  await story.simulator.setFaults([]);
  expect(await statusOf(id)).toBe('Active');
  expect((await tramline('subscriptions', 'renew', id)).code).toBe(0);
});

test('heartbeats that stay away page, and the page ends when they come again', async () => {
  const [own] = (await tramline<Subscription[]>('subscriptions', 'list')).answer;
  await story.simulator.changeSettings({ heartbeats: false });
  const [page] = await until(async () => {
    const pages = await alertsOf('TramlineSubscriptionSilent');
    return pages.length > 0 ? pages : null;
  }, soon);
  expect(page!.labels).toMatchObject({ subscription_id: own!.id });
  await story.simulator.changeSettings({ heartbeats: true });
  await until(async () => (await alertsOf('TramlineSubscriptionSilent')).length === 0, soon);
});

test('paused, nothing is delivered; active again, what was held comes', async () => {
  const unread = { match: { method: 'GET', path: '/eventSubscriptionDelivery' }, status: 503 };
  await story.simulator.setFaults([unread]);
  const paused = await tramline('delivery', 'set', '--status', 'paused');
  await story.simulator.setFaults([]);
  // It is made, whatever became of the look at it.
  expect(paused).toMatchObject({
    code: 1,
    error: expect.stringMatching(/the provider has taken the change, .* could not be read: .*503/),
  });
  const [, , , machine] = await story.equipment();
  await story.simulator.changeEquipment(machine!.id, { name: 'Held' });
  expect((await tramline('delivery', 'get')).answer).toMatchObject({ status: 'Paused' });
  expect(await story.eventsOf(machine!)).toHaveLength(1);
  expect((await tramline('delivery', 'set', '--status', 'active')).answer).toMatchObject({
    status: 'Active',
  });
  await story.untilEvents(machine!, 2);
});

test('one that another ended pages until that is acknowledged; one that is ended here never does', async () => {
  const [own] = (await tramline<Subscription[]>('subscriptions', 'list')).answer;
  await story.simulator.setSubscriptionStatus(own!.id, 'Terminated');
  await until(async () => (await alertsOf('TramlineSubscriptionEnded')).length > 0, soon);
  expect((await tramline('subscriptions', 'renew', own!.id)).code).toBe(1);
  const second = await subscribed('--event-type', 'equipment');
  expect((await tramline('subscriptions', 'end', own!.id)).code).toBe(0);
  await until(async () => (await alertsOf('TramlineSubscriptionEnded')).length === 0, soon);
  expect((await tramline('subscriptions', 'end', second.id)).answer).toMatchObject({ status: 'Terminated' });
  expect(await statusOf(second.id)).toBe('Terminated');
});

test('a connection that is revoked names what was subscribed with it', async () => {
  const { id } = await subscribed('--event-type', 'equipment');
  const { answer: all } = await tramline<{ id: string }[]>('connections', 'list');
  const revoked = await tramline('connections', 'revoke', all[0]!.id);
  expect(revoked).toMatchObject({ code: 0, answer: { subscriptions: expect.arrayContaining([id]) } });
});
