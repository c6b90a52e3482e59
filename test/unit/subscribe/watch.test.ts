// Who looks after subscriptions: what has expired is renewed, what cannot be is told until it can, silence is told until
// it ends, and only one process does either.
import { makeSubscriptionsApi } from '../../../src/subscribe/subscriptions';
import { makeSubscriptionWatch, type SubscriptionWatch } from '../../../src/subscribe/watch';
import { faultOf } from '../../support/scripted-calls';
import { type Stage, stageRoom } from './stage';

let stage: Stage;
let watch: SubscriptionWatch;
let holds: boolean;
let confirmations: number;

beforeEach(async () => {
  stage = stageRoom();
  holds = true;
  confirmations = 0;
  watch = makeSubscriptionWatch({
    ...stage.doors,
    store: { holdLease: async () => holds },
    confirm: async () => {
      confirmations += 1;
    },
    holder: 'h',
    leaseMs: 60_000,
    checkMs: 900_000,
    silenceMsMin: 10_000,
  });
  const filters = [{ key: 'orgId', values: ['4712'] }];
  const wanted = { eventTypeId: 'equipment', filters, displayName: null, user: null };
  await makeSubscriptionsApi(stage.doors).create(wanted);
  await watch.step();
});

const own = () => stage.calls.listed.get('c1')![0]!;
const become = (status: string) => stage.calls.listed.set('c1', [{ ...own(), status }]);
const told = () => watch.conditions().map(({ name }) => name);
async function look(): Promise<void> {
  await stage.clock.advance(900_000);
  await watch.step();
}
async function heard(): Promise<void> {
  const [row] = stage.store.rows;
  Object.assign(row!, { heardAtMs: stage.clock.nowMs(), beatMs: 60_000 });
  await stage.book.refresh();
}

test('what has expired is renewed at the next look, and nothing is told', async () => {
  become('Expired');
  await stage.clock.advance(60_000);
  await watch.step();
  expect(own().status).toBe('Expired');
  await look();
  expect([own().status, told()]).toEqual(['Active', []]);
});

test('a refused renewal is told with the provider’s words, tried every minute, and over when it succeeds', async () => {
  become('Expired');
  stage.calls.faults.change = faultOf('refused', 'the address does not answer');
  await look();
  const [condition] = watch.conditions();
  expect(condition).toMatchObject({
    name: 'subscription-expired',
    labels: { subscription_id: 's1' },
    detail: expect.stringContaining('the address does not answer'),
  });
  await stage.clock.advance(60_000);
  await watch.step();
  expect(watch.conditions()[0]!.sinceMs).toBe(condition!.sinceMs);
  stage.calls.faults = {};
  await stage.clock.advance(60_000);
  await watch.step();
  expect([own().status, told()]).toEqual(['Active', []]);
});

test('an end by somebody else, and one that is not listed any more, is told until it is ended here', async () => {
  become('Terminated');
  await look();
  expect(told()).toEqual(['subscription-ended']);
  stage.calls.listed.set('c1', []);
  await look();
  expect(told()).toEqual(['subscription-ended']);
  await makeSubscriptionsApi(stage.doors).end('s1');
  await look();
  expect(told()).toEqual([]);
});

test('a listing that breaks off changes nothing that was found, and proves no absence', async () => {
  stage.calls.listed.set('c1', []);
  stage.calls.faults.list = faultOf('transient');
  await look();
  expect(told()).toEqual([]);
  stage.calls.faults = {};
  await look();
  stage.calls.faults.list = faultOf('transient');
  await look();
  expect(told()).toEqual(['subscription-ended']);
});

test('silence is told, looked into at once, and over with the next heartbeat', async () => {
  await heard();
  await stage.clock.advance(179_000);
  await watch.step();
  expect(told()).toEqual([]);
  become('Expired');
  await stage.clock.advance(1000);
  await watch.step();
  expect([own().status, told()]).toEqual(['Active', ['subscription-silent']]);
  expect(watch.conditions()[0]).toMatchObject({ detail: expect.stringContaining('every 60 s') });
  await heard();
  expect(told()).toEqual([]);
});

test('only who holds the lease looks and tells', async () => {
  become('Terminated');
  await look();
  holds = false;
  become('Expired');
  await look();
  expect([own().status, told()]).toEqual(['Expired', []]);
});

test('a subscription whose creation got no answer is found by its token, one that never was is forgotten', async () => {
  const api = makeSubscriptionsApi(stage.doors);
  stage.calls.faults.create = faultOf('transient');
  const wanted = { eventTypeId: 'field', filters: [{ key: 'orgId', values: ['4711'] }], displayName: null };
  stage.calls.taken = true;
  await api.create({ ...wanted, user: null }).catch(() => {});
  stage.calls.taken = false;
  await api.create({ ...wanted, user: null }).catch(() => {});
  await look();
  expect(stage.book.held('token').map(({ subscriptionId }) => subscriptionId)).toEqual(['s1', 's2', null]);
  await stage.clock.advance(86_400_000);
  await watch.step();
  expect(stage.book.held('token').map(({ subscriptionId }) => subscriptionId)).toEqual(['s1', 's2']);
});

test('while a value is offered the provider’s settings are looked at every minute', async () => {
  await makeSubscriptionsApi(stage.doors).setDelivery({ authorization: { generate: true } });
  await look();
  await stage.clock.advance(60_000);
  await watch.step();
  expect(confirmations).toBe(2);
});
