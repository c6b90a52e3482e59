// Webhook subscriptions: the hand-shake, who is told what with which token, renewal, the end, and delivery settings.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import {
  type Answered,
  type Body,
  call,
  control,
  get,
  platformAccept,
  type Receiver,
  startReceiver,
  tokenOf,
} from '../caller';

let simulator: Simulator;
let receiver: Receiver;
beforeEach(async () => {
  simulator = await startSimulator({ organizations: 2, users: 2, overlap: 1, heartbeatMs: 0, retryMs: 1 });
  receiver = await startReceiver();
});
afterEach(async () => {
  await simulator.close();
  await receiver.close();
});

const rel = (links: Body[], name: string): string => links.find((link) => link.rel === name)!.uri;
const collection = async (name = 'eventSubscriptions'): Promise<string> =>
  rel((await get(simulator, simulator.catalog)).body.link, name);
const send = (method: string, url: string, body?: unknown, user = 0): Promise<Answered> =>
  call(
    url,
    {
      Accept: platformAccept(simulator),
      'Content-Type': platformAccept(simulator),
      Authorization: `Bearer ${tokenOf(simulator, user).token}`,
    },
    method,
    body === undefined ? undefined : JSON.stringify(body),
  );
const wish = (change: object = {}): object => ({
  eventTypeId: 'equipment',
  targetEndpoint: { targetType: 'https', uri: receiver.url },
  token: 'dG9rZW4x',
  ...change,
});
const create = async (change: object = {}, user = 0): Promise<Answered> =>
  send('POST', await collection(), wish(change), user);
const changeMachine = (id: number): Promise<Body> =>
  control(simulator, 'PATCH', `equipment/${id}`, { name: `Renamed ${id}` });
async function drained(): Promise<void> {
  while ((await control(simulator, 'GET', 'counts')).notificationsPending > 0);
}
const fieldsOf = ({ body }: Answered): string[] => body.map(({ field }: Body) => field);

test('creating verifies the address with the Authorization header, and answers 201 with the subscription', async () => {
  const answer = await create({ displayName: 'All machines' });
  expect(answer.status).toBe(201);
  const [verification] = receiver.deliveries;
  expect(verification!.headers.authorization).toBe(simulator.environment.WEBHOOK_AUTHORIZATION);
  expect(verification!.notifications[0]).toMatchObject({
    eventTypeId: 'subscriptionVerification',
    token: 'dG9rZW4x',
  });
  const read = (await get(simulator, answer.headers.location!)).body;
  expect(read).toEqual(answer.body);
  expect(read).toMatchObject({
    status: 'Active',
    clientKey: simulator.clientKey,
    displayName: 'All machines',
  });
  expect((await get(simulator, rel(read.links, 'user'))).body.accountName).toBe('harrow-user-1');
  expect((await get(simulator, await collection())).body.values).toEqual([read]);
});

test('an address that does not answer 204 gets no subscription', async () => {
  receiver.answers.push(200);
  const refused = await create();
  expect([refused.status, fieldsOf(refused)]).toEqual([400, ['targetEndpoint.uri']]);
  expect((await get(simulator, await collection())).body.total).toBe(0);
});

test.each<[object, string[]]>([
  [{ eventTypeId: 'weather' }, ['eventTypeId']],
  [{ eventTypeId: 'fieldOperation' }, ['filters']],
  [{ filters: [{ key: 'colour', values: ['green'] }] }, ['filters[0].key']],
  [{ filters: [{ key: 'orgId', values: [] }] }, ['filters[0].values']],
  [
    { targetEndpoint: { targetType: 'http', uri: 'ftp://x' } },
    ['targetEndpoint.targetType', 'targetEndpoint.uri'],
  ],
  [{ targetEndpoint: { targetType: 'https', uri: 'http://receiver.example/' } }, ['targetEndpoint.uri']],
  [{ token: 'not base64!' }, ['token']],
  [{ status: 'Expired', email: 'x' }, ['email', 'status']],
])('the wish %j is refused, every problem named in an array', async (change, fields) => {
  const refused = await create(change);
  expect([refused.status, fieldsOf(refused).sort()]).toEqual([400, fields]);
  expect(refused.body[0]).toHaveProperty('guid');
  expect(receiver.deliveries).toEqual([]);
});

test('events reach the subscriptions whose filters they meet, each with its own token', async () => {
  await create();
  await create({ filters: [{ key: 'orgId', values: ['4724'] }], token: 'dG9rZW4y' });
  await create({ eventTypeId: 'fieldOperation', filters: [{ key: 'orgId', values: ['4711'] }] });
  await changeMachine(217_001);
  await changeMachine(217_007);
  const [operation] = (await control(simulator, 'GET', 'state')).fieldOperations;
  await control(simulator, 'PATCH', `fieldOperations/${operation.id}`, { cropSeason: '2030' });
  await drained();
  const told = receiver.deliveries
    .slice(3)
    .flatMap(({ notifications }) => notifications)
    .map(({ eventTypeId, token, metadata }) => [eventTypeId, metadata[0].value, token]);
  expect(told.sort()).toEqual([
    ['equipment', '4711', 'dG9rZW4x'],
    ['equipment', '4724', 'dG9rZW4x'],
    ['equipment', '4724', 'dG9rZW4y'],
    ['fieldOperation', '4711', 'dG9rZW4x'],
  ]);
});

test('an expired subscription hears nothing until it is renewed, which is verified again', async () => {
  const { body } = await create();
  const self = rel(body.links, 'self');
  await control(simulator, 'PATCH', `subscriptions/${body.id}`, { status: 'Expired' });
  await changeMachine(217_001);
  expect((await get(simulator, self)).body.status).toBe('Expired');
  receiver.answers.push(500);
  expect((await send('PUT', self, { ...body, status: 'Active' })).status).toBe(400);
  expect((await send('PUT', self, { ...body, status: 'Active', token: 'bmV3' })).status).toBe(204);
  await changeMachine(217_002);
  await receiver.came(4);
  const types = receiver.deliveries.flatMap(({ notifications }) =>
    notifications.map((one) => one.eventTypeId),
  );
  expect(types).toEqual([...Array(3).fill('subscriptionVerification'), 'equipment']);
  expect(receiver.deliveries.at(-1)!.notifications[0].token).toBe('bmV3');
});

test('a subscription ends with PUT Terminated, never with DELETE, and does not come back', async () => {
  const { body } = await create();
  const self = rel(body.links, 'self');
  expect((await send('DELETE', self)).status).toBe(403);
  expect((await send('PUT', self, { ...body, eventTypeId: 'field', status: 'Expired' })).status).toBe(400);
  expect((await send('PUT', self, { ...body, status: 'Terminated' })).status).toBe(204);
  expect((await get(simulator, await collection())).body.values[0].status).toBe('Terminated');
  expect(fieldsOf(await send('PUT', self, { ...body, status: 'Active' }))).toEqual(['status']);
  expect((await send('GET', `${self}x`)).status).toBe(404);
});

test('another user does not see the subscription, nor subscribe to what he cannot see', async () => {
  await control(simulator, 'PATCH', 'users/harrow-user-2', { sees: ['4724'] });
  const { headers } = await create();
  expect((await send('GET', headers.location!, undefined, 1)).status).toBe(404);
  expect((await create({ filters: [{ key: 'orgId', values: ['4711'] }] }, 1)).status).toBe(403);
});

test('delivery settings belong to the client, are bounded, and hold for what is sent from then on', async () => {
  const address = await collection('eventSubscriptionDelivery');
  await create();
  expect((await get(simulator, address)).body).toMatchObject({
    status: 'Active',
    concurrentDeliveries: 1,
    maxBatchSize: 10,
  });
  const refused = await send('PATCH', address, { maxBatchSize: 257, concurrentDeliveries: 0, status: 'Off' });
  expect(fieldsOf(refused).sort()).toEqual(['concurrentDeliveries', 'maxBatchSize', 'status']);
  expect(refused.body[0]).toHaveProperty('gud');
  expect(
    (await send('PATCH', address, { authorizationHeaderValue: 'Bearer next', status: 'Paused' })).status,
  ).toBe(204);
  await changeMachine(217_001);
  await changeMachine(217_002);
  expect(await control(simulator, 'GET', 'counts')).toMatchObject({ deliveries: 1, notificationsPending: 2 });
  expect((await send('PATCH', address, { status: 'Active' })).status).toBe(204);
  await receiver.came(2);
  expect(receiver.deliveries[1]!.notifications).toHaveLength(2);
  expect(receiver.deliveries[1]!.headers.authorization).toBe('Bearer next');
  expect((await send('PATCH', address, { authorizationHeaderValue: null })).status).toBe(204);
  await changeMachine(217_001);
  await receiver.came(3);
  expect(receiver.deliveries[2]!.headers).not.toHaveProperty('authorization');
});

test('a receiver that keeps refusing loses its subscription', async () => {
  await control(simulator, 'PATCH', 'settings', { expireAfterFailures: 3 });
  const { body } = await create();
  receiver.answers.push(500, 500, 500);
  await changeMachine(217_001);
  await receiver.came(4);
  let status = 'Active';
  while (status === 'Active') [{ status }] = await control(simulator, 'GET', 'subscriptions');
  expect(status).toBe('Expired');
  expect(JSON.stringify(await control(simulator, 'GET', 'subscriptions'))).not.toContain(body.token);
});

test('a heartbeat goes to every active subscription, unless heartbeats are off', async () => {
  const { body } = await create();
  await control(simulator, 'POST', 'heartbeat');
  await receiver.came(2);
  expect(receiver.deliveries[1]!.notifications[0]).toMatchObject({
    eventTypeId: 'heartbeat',
    targetResource: rel(body.links, 'self'),
    token: 'dG9rZW4x',
  });
  await control(simulator, 'PATCH', 'settings', { heartbeats: false });
  await control(simulator, 'POST', 'heartbeat');
  expect(await control(simulator, 'GET', 'counts')).toMatchObject({ notificationsPending: 0, deliveries: 2 });
});
