// Subscriptions and delivery settings against recorded answers: found by the catalog's relationships, asked once more
// where they have moved, written once, and every refusal a fault. No other network is there.
import nock from 'nock';
import type { ListedSubscription } from '../../../src/model/subscription';
import { connectionOf, origin, type Staged, stageClient } from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json' };
const api = () => nock(origin);
const list = `${origin}/platform/eventSubscriptions`;
const settings = `${origin}/platform/eventSubscriptionDelivery`;

let staged: Staged;

// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());

beforeEach(() => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  staged = stageClient();
});

afterEach(() => {
  staged.client.close();
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
  nock.enableNetConnect();
});

function catalog(
  links: Record<string, string> = { eventSubscriptions: list, eventSubscriptionDelivery: settings },
) {
  const listed = Object.entries(links).map(([rel, uri]) => ({ '@type': 'Link', rel, uri }));
  api().get('/platform/').reply(200, { links: listed }, axiom);
}

const subscription = (id: string) => ({ id, links: [{ rel: 'self', uri: `${list}/${id}` }] });

async function all(connectionId = 'c1'): Promise<ListedSubscription[]> {
  const lines: ListedSubscription[] = [];
  for await (const line of staged.client.subscriptions.list(connectionId)) lines.push(line);
  return lines;
}

describe('the list', () => {
  test('is read page by page, each subscription with its own address', async () => {
    catalog();
    const links = [{ rel: 'nextPage', uri: `${list}?pageOffset=1&itemLimit=1` }];
    api()
      .get('/platform/eventSubscriptions?itemLimit=100')
      .reply(200, { links, values: [subscription('a')] }, axiom);
    api()
      .get('/platform/eventSubscriptions?pageOffset=1&itemLimit=1')
      .reply(200, { links: [], values: [subscription('b')] }, axiom);
    expect(await all()).toMatchObject([
      { item: { self: `${list}/a`, connectionId: 'c1', body: { id: 'a' } } },
      { item: { self: `${list}/b` } },
    ]);
    expect(staged.calls.map(({ operation }) => operation)).toEqual([
      'catalog',
      'subscriptions',
      'subscriptions',
    ]);
  });

  test('shows one without a link of its own as such: the list’s address is not where it is changed', async () => {
    catalog();
    const bad = { id: 'b', links: [{ rel: 'self', uri: 7 }] };
    api()
      .get('/platform/eventSubscriptions?itemLimit=100')
      .reply(200, { values: [{ id: 'a' }, bad] }, axiom);
    expect(await all()).toMatchObject([{ item: { self: null } }, { item: { self: null } }]);
  });

  test('is found again where it has moved to', async () => {
    catalog();
    api().get('/platform/eventSubscriptions?itemLimit=100').reply(404);
    catalog({ eventSubscriptions: `${origin}/moved/eventSubscriptions` });
    api()
      .get('/moved/eventSubscriptions?itemLimit=100')
      .reply(200, { links: [], values: [subscription('a')] }, axiom);
    expect(await all()).toMatchObject([{ item: { body: { id: 'a' } } }]);
  });

  test('is found again where it moved between two pages', async () => {
    catalog();
    const links = [{ rel: 'nextPage', uri: `${list}?pageOffset=1&itemLimit=1` }];
    api()
      .get('/platform/eventSubscriptions?itemLimit=100')
      .reply(200, { links, values: [subscription('a')] }, axiom);
    api().get('/platform/eventSubscriptions?pageOffset=1&itemLimit=1').reply(404);
    catalog({ eventSubscriptions: `${origin}/moved/eventSubscriptions` });
    api()
      .get('/moved/eventSubscriptions?itemLimit=100')
      .reply(200, { links: [], values: [subscription('a'), subscription('b')] }, axiom);
    const lines = await all();
    expect(lines).toMatchObject([
      { item: { body: { id: 'a' } } },
      { item: { body: { id: 'a' } } },
      { item: { body: { id: 'b' } } },
    ]);
  });

  test('ends with a fault where it is not to be had', async () => {
    catalog();
    api().get('/platform/eventSubscriptions?itemLimit=100').reply(403, { errors: [] }, axiom);
    expect(await all()).toMatchObject([{ fault: { answer: { kind: 'refused-unattributed' } } }]);
  });

  test('is asked for with valid connections only, at an address that the catalog names', async () => {
    expect(await all('c9')).toMatchObject([{ fault: { answer: { kind: 'no-connection' } } }]);
    catalog({});
    catalog({});
    expect(await all()).toMatchObject([
      { fault: { answer: null, detail: 'the catalog: expected a link `eventSubscriptions`, got none' } },
    ]);
  });

  test('is a fault while the catalog is not to be had', async () => {
    api().get('/platform/').reply(500);
    expect(await all()).toMatchObject([{ fault: { answer: { kind: 'transient' } } }]);
  });
});

describe('writing', () => {
  test('creates with what the caller says, in the media type of the platform', async () => {
    catalog();
    api()
      .post('/platform/eventSubscriptions', { eventTypeId: 'equipment' })
      .matchHeader('content-type', axiom['content-type'])
      .reply(201, subscription('a'), axiom);
    const created = await staged.client.subscriptions.create('c1', { eventTypeId: 'equipment' });
    const address = `${origin}/platform/eventSubscriptions`;
    expect(created).toMatchObject({ value: { body: { id: 'a' }, address } });
    expect(staged.calls.at(-1)).toMatchObject({
      method: 'POST',
      operation: 'subscription-write',
      status: 201,
    });
  });

  test('a creation without an answer may have been made: who is to look, is told', async () => {
    catalog();
    api().post('/platform/eventSubscriptions').reply(500);
    expect(await staged.client.subscriptions.create('c1', {})).toMatchObject({
      fault: {
        answer: { kind: 'transient' },
        detail:
          'status 500; it may have been created all the same: see `tramline subscriptions list` before it is asked for again',
      },
    });
  });

  test('a creation that is accepted without a word says none, one that is refused is a fault', async () => {
    catalog();
    api().post('/platform/eventSubscriptions').reply(202);
    expect(await staged.client.subscriptions.create('c1', {})).toMatchObject({ value: { body: null } });
    api()
      .post('/platform/eventSubscriptions')
      .reply(400, [{ message: 'uri', field: 'targetEndpoint.uri' }], axiom);
    expect(await staged.client.subscriptions.create('c1', {})).toMatchObject({
      fault: { answer: { kind: 'refused', code: 'status-400' } },
    });
  });

  test('changes a subscription where its own link says, once, and nowhere else', async () => {
    catalog();
    api().put('/platform/eventSubscriptions/a', { status: 'Terminated' }).reply(204);
    const { change } = staged.client.subscriptions;
    expect(await change('c1', `${list}/a`, { status: 'Terminated' })).toEqual({ value: null });
    api().put('/platform/eventSubscriptions/a').reply(500);
    expect(await change('c1', `${list}/a`, {})).toMatchObject({ fault: { answer: { kind: 'transient' } } });
    expect(await change('c1', 'https://elsewhere.example/a', {})).toMatchObject({
      fault: { answer: { kind: 'address-refused' } },
    });
    expect(await change('c9', `${list}/a`, {})).toMatchObject({
      fault: { answer: { kind: 'no-connection' } },
    });
  });

  test('changes delivery settings, also where they have moved to', async () => {
    catalog();
    api().patch('/platform/eventSubscriptionDelivery').reply(410);
    catalog({ eventSubscriptionDelivery: `${origin}/moved/delivery` });
    api().patch('/moved/delivery', { maxBatchSize: 7 }).reply(204);
    const { changeDelivery } = staged.client.subscriptions;
    expect(await changeDelivery('c1', { maxBatchSize: 7 })).toEqual({ value: null });
    api()
      .patch('/moved/delivery')
      .reply(400, [{ gud: 'x', message: 'no' }], axiom);
    expect(await changeDelivery('c1', {})).toMatchObject({ fault: { answer: { kind: 'refused' } } });
  });
});

describe('delivery settings', () => {
  test('are read where the catalog says', async () => {
    catalog();
    api().get('/platform/eventSubscriptionDelivery').reply(200, { status: 'Active' }, axiom);
    expect(await staged.client.subscriptions.delivery('c1')).toMatchObject({
      value: { body: { status: 'Active' }, address: settings, connectionId: 'c1' },
    });
  });

  test('are a fault where they are refused, not named, or named elsewhere', async () => {
    const { delivery } = staged.client.subscriptions;
    catalog();
    api().get('/platform/eventSubscriptionDelivery').reply(403, { errors: [] }, axiom);
    expect(await delivery('c1')).toMatchObject({ fault: { answer: { kind: 'refused-unattributed' } } });
    expect(await delivery('c9')).toMatchObject({ fault: { answer: { kind: 'no-connection' } } });
    api().get('/platform/eventSubscriptionDelivery').reply(404);
    catalog({});
    expect(await delivery('c1')).toMatchObject({ fault: { answer: null } });
    catalog({ eventSubscriptionDelivery: 'https://elsewhere.example/delivery' });
    staged.connections.splice(0, 1, connectionOf({ connectionId: 'c2' }));
    expect(await delivery('c2')).toMatchObject({ fault: { answer: { kind: 'address-refused' } } });
  });
});
