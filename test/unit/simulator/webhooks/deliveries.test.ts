// Deliveries as the provider makes them: verification first, batches, secrets, 204 or again, concurrency.
import { type Simulator, startSimulator } from '../../../../src/simulator/simulator';
import { type Body, control, type Receiver, rawControl, startReceiver } from '../caller';

let receiver: Receiver;
let simulator: Simulator;
afterEach(async () => {
  await simulator.close();
  await receiver.close();
});

async function start(options: Parameters<typeof startSimulator>[0] = {}): Promise<void> {
  receiver = await startReceiver();
  simulator = await startSimulator({ deliverTo: receiver.url, retryMs: 10, ...options });
  await receiver.came(1);
}

const events = (): Body[] => receiver.deliveries.slice(1).flatMap(({ notifications }) => notifications);

/** Resolves once the simulator's own log says that so many notifications were accepted. */
async function accepted(count: number): Promise<Body> {
  for (;;) {
    const counts = await control(simulator, 'GET', 'counts');
    if (counts.notificationsAccepted >= count && counts.notificationsPending === 0) return counts;
  }
}

test('the first delivery verifies the subscription and carries the Authorization value and the token', async () => {
  await start();
  const [first] = receiver.deliveries;
  expect(first!.headers.authorization).toBe(simulator.environment.WEBHOOK_AUTHORIZATION);
  expect(first!.headers['content-type']).toBe('application/json');
  expect(first!.notifications).toEqual([
    {
      clientKey: simulator.clientKey,
      eventTypeId: 'subscriptionVerification',
      targetResource: expect.stringContaining('/platform/eventSubscriptions/'),
      token: simulator.environment.WEBHOOK_TOKENS,
      metadata: [],
      links: [{ rel: 'subscription', uri: expect.any(String) }],
    },
  ]);
});

test('nothing else is sent before the verification was accepted with 204, and then everything that waited', async () => {
  receiver = await startReceiver();
  receiver.answers.push(500, 200);
  simulator = await startSimulator({ deliverTo: receiver.url });
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'A' });
  await receiver.came(4);
  const kinds = receiver.deliveries.map(({ notifications }) => notifications[0].eventTypeId);
  expect(kinds).toEqual([
    'subscriptionVerification',
    'subscriptionVerification',
    'subscriptionVerification',
    'equipment',
  ]);
});

test('a change is notified with its organization and the filters of its type, and without data', async () => {
  await start();
  const [operation] = (await control(simulator, 'GET', 'state')).fieldOperations;
  await control(simulator, 'PATCH', `fieldOperations/${operation.id}`, { cropSeason: '2026' });
  await control(simulator, 'PATCH', 'equipment/217007', { name: 'B' });
  await accepted(3);
  expect(events().map(({ token: _token, ...rest }) => rest)).toEqual([
    {
      clientKey: simulator.clientKey,
      eventTypeId: 'fieldOperation',
      targetResource: operation.uri,
      metadata: [
        { key: 'orgId', value: '4711' },
        { key: 'fieldOperationType', value: 'application' },
        { key: 'cropSeason', value: '2026' },
        { key: 'fieldId', value: operation.fieldId },
      ],
      links: [],
    },
    {
      clientKey: simulator.clientKey,
      eventTypeId: 'equipment',
      targetResource: `${simulator.equipment}/equipment/217007`,
      metadata: [{ key: 'orgId', value: '4724' }],
      links: [],
    },
  ]);
});

test('notify: false keeps a change quiet', async () => {
  await start();
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'Quiet', notify: false });
  await control(simulator, 'PATCH', 'equipment/217002', { name: 'Loud' });
  await accepted(2);
  expect(events().map(({ targetResource }) => targetResource)).toEqual([
    `${simulator.equipment}/equipment/217002`,
  ]);
});

test('anything but 204 makes the same batch come again until it is accepted', async () => {
  await start();
  receiver.answers.push(500, 200, 401);
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'A' });
  await accepted(2);
  expect(receiver.deliveries.slice(1).map(({ notifications }) => notifications)).toEqual(
    Array(4).fill([events()[0]]),
  );
  const log = await control(simulator, 'GET', 'deliveries');
  expect(log.slice(1).map((entry: Body) => [entry.attempt, entry.status, entry.accepted])).toEqual([
    [1, 500, false],
    [2, 200, false],
    [3, 401, false],
    [4, 204, true],
  ]);
  expect(JSON.stringify(log)).not.toContain(simulator.environment.WEBHOOK_TOKENS);
});

test('no answer in time counts as failed and the batch comes again', async () => {
  await start();
  await control(simulator, 'PUT', 'deliver-to', { answerMs: 50 });
  receiver.answers.push(0);
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'A' });
  await accepted(2);
  const [, late, again] = await control(simulator, 'GET', 'deliveries');
  expect([late.error, late.accepted, again.accepted]).toEqual(['no answer within 50 ms', false, true]);
});

test('batches hold 10 by default and up to the size that is set, with never more open than allowed', async () => {
  await start();
  receiver.hold();
  /** Once so many have come, and whatever else would come beside them, they are answered. */
  const answerWhenCame = async (...counts: number[]) => {
    for (const count of counts) {
      await receiver.came(count);
      await control(simulator, 'GET', 'counts');
      receiver.release();
    }
  };
  const notification = {
    eventTypeId: 'equipment',
    targetResource: `${simulator.equipment}/equipment/217001`,
  };
  await control(simulator, 'POST', 'notify', { notification, times: 25 });
  await answerWhenCame(2, 3, 4);
  await accepted(26);
  expect(receiver.deliveries.slice(1).map(({ notifications }) => notifications.length)).toEqual([10, 10, 5]);
  expect(receiver.openMax).toBe(1);
  await control(simulator, 'PUT', 'deliver-to', { maxBatchSize: 256, concurrentDeliveries: 3 });
  await control(simulator, 'POST', 'notify', { notification, times: 1024 });
  await answerWhenCame(7, 8);
  await accepted(1050);
  expect(receiver.deliveries.slice(4).map(({ notifications }) => notifications.length)).toEqual([
    256, 256, 256, 256,
  ]);
  expect(receiver.openMax).toBe(3);
});

test('any notification can be sent, filled in where it says nothing and left alone where told so', async () => {
  await start();
  await control(simulator, 'POST', 'notify', [{ eventTypeId: 'strange', token: 'other' }, 7, null]);
  await control(simulator, 'POST', 'notify', { notification: { eventTypeId: 'bare' }, fill: false });
  await accepted(5);
  expect(events()).toEqual([
    { clientKey: simulator.clientKey, eventTypeId: 'strange', token: 'other', metadata: [], links: [] },
    7,
    null,
    { eventTypeId: 'bare' },
  ]);
});

test('a required action is notified only when asked for', async () => {
  await start();
  await control(simulator, 'PATCH', 'organizations/4724', { termsAccepted: false });
  await control(simulator, 'PATCH', 'organizations/4711', { termsAccepted: false, notify: true });
  await accepted(2);
  expect(events()).toMatchObject([
    { eventTypeId: 'requiredCustomerAction', metadata: [{ key: 'orgId', value: '4711' }] },
  ]);
});

test('heartbeats come by themselves', async () => {
  await start({ heartbeatMs: 20 });
  await receiver.came(3);
  expect(events()[0].eventTypeId).toBe('heartbeat');
  await accepted(3);
  const rows = await control(simulator, 'GET', 'coverage');
  expect(rows.find(({ row }: Body) => row === 'webhook.heartbeat').count).toBeGreaterThan(0);
});

test('another receiver can be set, with other secrets or none, and is verified first', async () => {
  await start();
  const other = await startReceiver();
  const shown = await control(simulator, 'PUT', 'deliver-to', {
    url: other.url,
    authorization: 'Basic eDp5',
    token: null,
  });
  expect(shown).toEqual({
    url: other.url,
    maxBatchSize: 10,
    concurrentDeliveries: 1,
    retryMs: 10,
    answerMs: 5_000,
  });
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'A' });
  await other.came(2);
  expect(other.deliveries.map(({ headers }) => headers.authorization)).toEqual(['Basic eDp5', 'Basic eDp5']);
  expect(other.deliveries[1]!.notifications[0]).not.toHaveProperty('token');
  expect(receiver.deliveries).toHaveLength(1);
  await control(simulator, 'PUT', 'deliver-to', { authorization: null, verify: false });
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'B' });
  await other.came(3);
  expect(other.deliveries[2]!.headers.authorization).toBeUndefined();
  await other.close();
});

test('misspelt and impossible settings of the receiver are refused', async () => {
  await start();
  for (const body of [
    { urll: 'x' },
    { url: 'ftp://x' },
    { maxBatchSize: 257 },
    { concurrentDeliveries: 11 },
    { token: 5 },
  ]) {
    expect((await rawControl(simulator, 'PUT', 'deliver-to', body)).status).toBe(400);
  }
  expect((await rawControl(simulator, 'POST', 'notify', { notification: {}, times: 0 })).status).toBe(400);
});

test('without a receiver nothing can be notified and changes are kept to themselves', async () => {
  receiver = await startReceiver();
  simulator = await startSimulator();
  expect((await rawControl(simulator, 'POST', 'notify', {})).status).toBe(400);
  await control(simulator, 'PATCH', 'equipment/217001', { name: 'A' });
  expect(await control(simulator, 'GET', 'counts')).toMatchObject({ deliveries: 0, notificationsPending: 0 });
  expect((await rawControl(simulator, 'PUT', 'deliver-to', {})).status).toBe(400);
});
