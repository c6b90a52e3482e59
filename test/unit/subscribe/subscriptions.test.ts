// Subscriptions on a person's behalf: whose they are, what is accepted when, what a refusal leaves behind, and that no
// secret is shown or repeated.
import type { SubscriptionWanted } from '../../../src/model/subscription';
import { listingFaultOf, problemOf } from '../../../src/operations/provider-api';
import { makeSecretBook } from '../../../src/subscribe/secret-book';
import { makeSubscriptionsApi } from '../../../src/subscribe/subscriptions';
import { makeSealer } from '../../../src/tools/secret';
import { faultOf } from '../../support/scripted-calls';
import { type Stage, stageRoom } from './stage';

let stage: Stage;
let api: ReturnType<typeof makeSubscriptionsApi>;
function begin(more: Parameters<typeof stageRoom>[0] = {}): void {
  stage = stageRoom(more);
  api = makeSubscriptionsApi(stage.doors);
}
beforeEach(() => begin());

const wanted = (more: Partial<SubscriptionWanted> = {}): SubscriptionWanted => ({
  eventTypeId: 'equipment',
  filters: [{ key: 'orgId', values: ['4712'] }],
  displayName: null,
  user: null,
  ...more,
});
const tokens = () => stage.book.held('token');
async function listed() {
  const lines = [];
  for await (const line of api.list()) lines.push(line);
  return lines;
}
const lastToken = () => String(stage.calls.written.at(-1)!.body.token);

describe('create', () => {
  test('the token is accepted before the provider is asked, and bound to user, connection and subscription', async () => {
    let acceptedBefore = 0;
    begin({
      spread: async () => {
        acceptedBefore = stage.book.tokens().length;
      },
    });
    const view = await api.create(wanted({ displayName: 'Machines' }));
    expect(view).toMatchObject({ id: 's1', token: '[secret]', displayName: 'Machines', status: 'Active' });
    expect(acceptedBefore).toBe(1);
    expect(tokens()).toMatchObject([
      { state: 'active', user: 'ann', connectionId: 'c1', subscriptionId: 's1' },
    ]);
    expect(lastToken()).toMatch(/^[A-Za-z0-9+/=]{44}$/);
    expect(tokens()[0]!.secret.open()).toBe(lastToken());
    expect(stage.calls.written[0]!.body.targetEndpoint).toEqual({
      targetType: 'https',
      uri: 'https://tramline.example/webhooks',
    });
  });

  test('a user who sees every organization is chosen, or the one who is named', async () => {
    await api.create(wanted({ user: 'bob' }));
    await api.create(wanted({ filters: [{ key: 'orgId', values: ['4711', '4712'] }] }));
    expect(stage.calls.written.map(({ connectionId }) => connectionId)).toEqual(['c2', 'c1']);
    const unseen = wanted({ user: 'bob', filters: [{ key: 'orgId', values: ['4711'] }] });
    await expect(api.create(unseen)).rejects.toMatchObject({ code: 'command.not-found' });
    await expect(api.create(wanted({ filters: [] }))).rejects.toMatchObject({ code: 'command.usage' });
    stage.connections.pop();
    expect(await api.create(wanted({ filters: [] }))).toMatchObject({ id: 's3' });
  });

  test('a refusal drops the token, and does not repeat it', async () => {
    const refusing = stage.calls.create;
    stage.calls.create = async (connectionId, body) => {
      stage.calls.faults.create = faultOf('refused', `no such token ${(body as { token: string }).token}`);
      return refusing(connectionId, body);
    };
    const error = await api.create(wanted()).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ message: 'refused: no such token [secret]' });
    expect(tokens()).toEqual([]);
  });

  test('without an answer the token stays: the subscription may exist', async () => {
    stage.calls.faults.create = faultOf('transient');
    await expect(api.create(wanted())).rejects.toMatchObject({ message: 'transient: transient' });
    expect(tokens()).toMatchObject([{ state: 'offered', subscriptionId: null }]);
  });

  test('an answer that does not say the subscription is looked up by its token', async () => {
    stage.calls.mute = true;
    expect(await api.create(wanted())).toMatchObject({ id: 's1' });
    expect(tokens()).toMatchObject([{ state: 'active', subscriptionId: 's1' }]);
  });

  test('where neither the answer nor the list shows it, whether it was made is not known, and its token stays', async () => {
    begin({ problemOf });
    stage.calls.faults.list = faultOf('transient');
    const address = 'https://provider.example/eventSubscriptions';
    const unknown = 'whether it was made is not known: look with `tramline subscriptions list`';
    const told = (came: string) => ({
      code: 'provider.malformed',
      message: expect.stringContaining(`expected the subscription with its id, got ${came}; ${unknown}`),
    });
    stage.calls.create = async () => ({ value: { body: null, address } });
    const cut = 'an empty answer, and the list could not be read';
    await expect(api.create(wanted())).rejects.toMatchObject(told(cut));
    stage.calls.faults = {};
    stage.calls.create = async () => ({ value: { body: { id: {} }, address } });
    const none = 'an object without it, and none is listed with its token';
    await expect(api.create(wanted())).rejects.toMatchObject(told(none));
    expect(tokens().map(({ state }) => state)).toEqual(['offered', 'offered']);
  });

  test('it is refused where the verification would be, and where deliveries could not go', async () => {
    for (const value of [null, 'Bearer of somebody else']) {
      stage.calls.settings.authorizationHeaderValue = value;
      await expect(api.create(wanted())).rejects.toMatchObject({
        code: 'command.refused',
        message: expect.not.stringContaining('somebody'),
      });
    }
    begin({ needsAuthorization: false });
    stage.calls.settings.authorizationHeaderValue = null;
    expect(await api.create(wanted())).toMatchObject({ id: 's1' });
    begin({ target: null });
    await expect(api.create(wanted())).rejects.toMatchObject({ code: 'settings.invalid' });
    expect(tokens()).toEqual([]);
  });
});

describe('list, renew, end', () => {
  const body = (id: string, status: string) => ({ id, status, filters: [], token: 'kept-by-the-provider' });

  test('those of every valid connection are listed once, without tokens', async () => {
    stage.calls.listed.set('c1', [body('a', 'Active')]);
    stage.calls.listed.set('c2', [body('a', 'Active'), { ...body('b', 'Expired'), token: '' }]);
    expect(await listed()).toEqual([
      { item: { id: 'a', status: 'Active', filters: [], token: '[secret]' } },
      { item: { id: 'b', status: 'Expired', filters: [], token: '' } },
    ]);
  });

  test('one that is listed without a link of its own is neither renewed nor ended, and nothing is written', async () => {
    begin({ listingFaultOf, problemOf });
    stage.calls.listed.set('c1', [{ ...body('a', 'Expired'), links: null }]);
    for (const write of [api.renew, api.end]) {
      await expect(write('a')).rejects.toMatchObject({
        code: 'provider.malformed',
        message: expect.stringContaining('subscription a: expected a link `self` to change it at, got none'),
      });
    }
    expect(stage.calls.written).toEqual([]);
  });

  test('an entry without an id that could be used is told, and those beside it are listed, renewed and ended', async () => {
    begin({ listingFaultOf, problemOf });
    const entry =
      'of the list: expected a subscription with an id, got an object without it (malformed-entry)';
    for (const unread of [{ status: 'Active' }, { id: '', status: 'Active' }, { id: { of: 1 } }]) {
      stage.calls.listed.set('c1', [body('a', 'Active'), unread, body('b', 'Expired')]);
      const lines = await listed();
      expect(lines).toMatchObject([
        { item: { id: 'a' } },
        { item: { id: 'b' } },
        { fault: { code: 'provider.malformed', detail: `entry 2 ${entry}`, address: expect.any(String) } },
      ]);
      expect(await api.renew('b')).toMatchObject({ id: 'b', status: 'Active' });
      // It may be that very one.
      await expect(api.renew('x')).rejects.toMatchObject({
        code: 'provider.malformed',
        message: expect.stringContaining(entry),
      });
    }
  });

  test('one user whose listing is refused is told, and the others’ are listed, renewed and ended', async () => {
    begin({ listingFaultOf, problemOf });
    stage.calls.listed.set('c2', [body('b', 'Expired')]);
    const plain = stage.calls.list;
    stage.calls.list = async function* (connectionId) {
      if (connectionId === 'c1') yield { fault: faultOf('reauthorize') };
      else yield* plain(connectionId);
    };
    expect(await listed()).toMatchObject([
      { fault: { code: 'provider.action-required' } },
      { item: { id: 'b' } },
    ]);
    expect(await api.renew('b')).toMatchObject({ id: 'b', status: 'Active' });
    expect(await api.end('b')).toMatchObject({ id: 'b', status: 'Terminated' });
    await expect(api.renew('x')).rejects.toMatchObject({ code: 'provider.action-required' });
  });

  test('a consent that was refused is told, not taken as no subscription', async () => {
    begin({ listingFaultOf, problemOf });
    await api.create(wanted());
    for (const connection of stage.connections) connection.status = 'refused';
    const fault = { code: 'provider.action-required', detail: expect.stringContaining('connection c1') };
    const [first, ...others] = await listed();
    expect([first, others.length]).toMatchObject([{ fault }, 1]);
    await expect(api.renew('s1')).rejects.toMatchObject({ code: 'provider.action-required' });
    // Its token is ours to forget, and no more than that: nobody could ask the provider.
    const writes = stage.calls.written.length;
    const forgotten = { id: 's1', state: 'forgotten', atProvider: false, user: 'ann' };
    expect(await api.end('s1')).toEqual(forgotten);
    expect([tokens(), stage.calls.written.length]).toEqual([[], writes]);
    await expect(api.end('s1')).rejects.toMatchObject({ code: 'provider.action-required' });
  });

  test('whose consent was revoked is forgotten here and not said to have ended, until its user consents again', async () => {
    begin({ needsToken: true });
    await api.create(wanted());
    const [own, other] = stage.connections;
    stage.connections.splice(0, 2, other!);
    expect(await api.end('s1')).toMatchObject({ state: 'forgotten', atProvider: false, user: 'ann' });
    // The same user under another connection: it is there, and what it delivers is known by nothing.
    const anew = { ...own!, connectionId: 'c3' };
    stage.connections.push(anew);
    stage.calls.listed.set('c3', stage.calls.listed.get('c1')!);
    expect(await listed()).toMatchObject([{ item: { id: 's1', status: 'Active', refusedHere: true } }]);
    expect(await api.end('s1')).toMatchObject({ id: 's1', status: 'Terminated' });
    expect((await listed())[0]).toEqual({ item: expect.not.objectContaining({ refusedHere: true }) });
  });

  test('one that its user’s valid consent does not list is gone at the provider, whatever became of the others', async () => {
    await api.create(wanted());
    stage.calls.listed.clear();
    stage.connections[1]!.status = 'refused';
    expect(await api.end('s1')).toEqual({ id: 's1', status: 'Terminated' });
  });

  test('marked is only what delivers here, has not ended and needs a token that is held for nothing', async () => {
    const endpoint = { targetType: 'https', uri: 'https://tramline.example/webhooks' };
    const all = [
      { ...body('shown', 'Active'), targetEndpoint: endpoint },
      { ...body('hidden', 'Expired'), targetEndpoint: endpoint, token: undefined },
      { ...body('ended', 'Terminated'), targetEndpoint: endpoint },
      { ...body('elsewhere', 'Active'), targetEndpoint: { ...endpoint, uri: 'https://other.example/' } },
      body('nowhere', 'Active'),
    ];
    const marked = async () => {
      stage.calls.listed.set('c2', all);
      return (await listed()).flatMap((line) =>
        'item' in line && line.item.refusedHere ? line.item.id : [],
      );
    };
    begin({ needsToken: true });
    expect(await marked()).toEqual(['shown', 'hidden']);
    // Its own is known by its id where the provider does not show it; what is of no known subscription may be its own.
    await api.create(wanted());
    const [own] = tokens();
    await stage.book.bind(own!.id, 'hidden');
    expect(await marked()).toEqual(['shown']);
    await stage.book.bind(own!.id, null);
    expect(await marked()).toEqual(['shown']);
    begin({ needsToken: true, target: null });
    expect(await marked()).toEqual([]);
    begin();
    expect(await marked()).toEqual([]);
  });

  test('renewing sends the whole object back, with a token that the provider does not show', async () => {
    await api.create(wanted());
    const token = lastToken();
    const [created] = stage.calls.listed.get('c1')!;
    stage.calls.listed.set('c1', [{ ...created, status: 'Expired', token: undefined }]);
    expect(await api.renew('s1')).toMatchObject({ id: 's1', status: 'Active', token: '[secret]' });
    expect(stage.calls.written.at(-1)!.body).toMatchObject({
      eventTypeId: 'equipment',
      status: 'Active',
      token,
    });
    stage.calls.faults.change = faultOf('refused', `bad ${token}`);
    await expect(api.renew('s1')).rejects.toMatchObject({ message: 'refused: bad [secret]' });
  });

  test('what has ended is not renewed, what nobody has is not found', async () => {
    stage.calls.listed.set('c1', [body('a', 'Terminated')]);
    await expect(api.renew('a')).rejects.toMatchObject({ code: 'command.refused' });
    for (const verb of ['renew', 'end'] as const) {
      await expect(api[verb]('x'.repeat(80))).rejects.toMatchObject({ code: 'command.not-found' });
    }
  });

  test('ending drops the token; one that is gone at the provider is forgotten', async () => {
    await api.create(wanted());
    expect(await api.end('s1')).toMatchObject({ id: 's1', status: 'Terminated' });
    expect(tokens()).toEqual([]);
    await api.create(wanted());
    stage.calls.listed.clear();
    const writes = stage.calls.written.length;
    expect(await api.end('s3')).toEqual({ id: 's3', status: 'Terminated' });
    expect([tokens(), stage.calls.written.length]).toEqual([[], writes]);
  });

  /** Of a process with another key. */
  async function withoutKey() {
    const book = makeSecretBook({
      store: stage.store,
      sealer: makeSealer([{ id: 'k2', key: Buffer.alloc(32, 2) }]),
      configured: { authorizationValues: [], tokens: [] },
      failed: () => {},
    });
    await book.refresh();
    return makeSubscriptionsApi({ ...stage.doors, book });
  }

  test('renewing loses no token that no key opens: without it nothing is sent, where the provider shows it all is', async () => {
    await api.create(wanted());
    const [created] = stage.calls.listed.get('c1')!;
    stage.calls.listed.set('c1', [{ ...created, status: 'Expired', token: undefined }]);
    const writes = stage.calls.written.length;
    await expect((await withoutKey()).renew('s1')).rejects.toMatchObject({
      code: 'command.refused',
      message: expect.stringMatching(
        /^s1 is not renewed: its token would be lost, .* no encryption key with id k1/,
      ),
    });
    expect(stage.calls.written).toHaveLength(writes);
    stage.calls.listed.set('c1', [{ ...created, status: 'Expired' }]);
    expect(await (await withoutKey()).renew('s1')).toMatchObject({ status: 'Active' });
    expect(stage.calls.written.at(-1)!.body).toMatchObject({ token: created!.token });
  });

  test('ending forgets a token, too, that no key opens', async () => {
    await api.create(wanted());
    expect(await (await withoutKey()).end('s1')).toMatchObject({
      status: 'Terminated',
    });
    expect(stage.store.rows).toEqual([]);
  });
});

test('a change that was taken is told as made where nothing can be read after it', async () => {
  await api.create(wanted());
  const { list, change } = stage.calls;
  stage.calls.change = async (...given) => {
    const changed = await change(...given);
    stage.calls.list = async function* () {
      yield { fault: faultOf('transient', 'status 503') };
    };
    return changed;
  };
  for (const verb of ['renew', 'end'] as const) {
    Object.assign(stage.calls, { list });
    await expect(api[verb]('s1')).rejects.toThrow(
      'the provider has taken the change, and what it shows now could not be read: transient: status 503',
    );
  }
  expect(tokens()).toEqual([]);
});

describe('delivery', () => {
  const accepted = () => stage.book.authorizationValues().map((value) => value.open());

  test('its settings are shown without the value, and changed as wished', async () => {
    expect(await api.delivery()).toEqual({ status: 'Active', authorizationHeaderValue: '[secret]' });
    expect(await api.setDelivery({ status: 'Paused', maxBatchSize: 7 })).toMatchObject({
      status: 'Paused',
      maxBatchSize: 7,
    });
    expect(stage.calls.written.at(-1)!.body).toEqual({ status: 'Paused', maxBatchSize: 7 });
    await expect(api.setDelivery({})).rejects.toMatchObject({ code: 'command.usage' });
    stage.calls.faults.changeDelivery = faultOf('refused');
    await expect(api.setDelivery({ maxBatchSize: 1 })).rejects.toMatchObject({ code: 'provider.refused' });
  });

  test('a new value is accepted beside the former one, until the settings show it a minute later', async () => {
    await api.setDelivery({ authorization: { generate: true } });
    const made = String(stage.calls.settings.authorizationHeaderValue);
    expect(made).toMatch(/^Bearer [\w-]{43}$/);
    expect(accepted()).toEqual(['Bearer set', made]);
    await stage.clock.advance(59_000);
    await api.delivery();
    expect(accepted()).toEqual(['Bearer set', made]);
    await stage.clock.advance(2000);
    await api.delivery();
    expect(accepted()).toEqual([made]);
  });

  test('of two values that are made at once the later one is set, and the other is told and not kept', async () => {
    begin({
      async spread() {
        const other = makeSubscriptionsApi({ ...stage.doors, spread: async () => {} });
        await other.setDelivery({ authorization: { value: 'Bearer later' } });
      },
    });
    await expect(api.setDelivery({ authorization: { value: 'Bearer earlier' } })).rejects.toMatchObject({
      code: 'command.refused',
      message: expect.stringContaining('this one is not set; where the command of that one failed'),
    });
    expect(accepted()).toEqual(['Bearer set', 'Bearer later']);
    expect(stage.calls.settings.authorizationHeaderValue).toBe('Bearer later');
  });

  test('a value that is refused is dropped and not repeated; one without an answer stays for a day', async () => {
    stage.calls.faults.changeDelivery = faultOf('refused', 'not Bearer canary-value');
    const given = { authorization: { value: 'Bearer canary-value' } };
    await expect(api.setDelivery(given)).rejects.toMatchObject({ message: 'refused: not [secret]' });
    expect(accepted()).toEqual(['Bearer set']);
    stage.calls.faults.changeDelivery = faultOf('transient');
    await expect(api.setDelivery(given)).rejects.toThrow();
    await stage.clock.advance(3_600_000);
    await api.delivery();
    expect(accepted()).toEqual(['Bearer set', 'Bearer canary-value']);
    await stage.clock.advance(86_400_000);
    await api.delivery();
    expect(accepted()).toEqual(['Bearer set']);
  });

  test('settings that cannot be read are told as that, and nothing follows from them', async () => {
    begin({ problemOf });
    await api.setDelivery({ authorization: { value: 'Bearer canary-value' } });
    await stage.clock.advance(90_000_000);
    const plain = stage.calls.delivery;
    for (const [body, got] of [
      [[1], 'a list'],
      [null, 'null'],
      [{ values: [{ status: 'Active' }] }, 'an object without it'],
    ] as const) {
      stage.calls.delivery = async (connectionId) => ({
        value: { body, address: 'https://provider.example/delivery', mediaType: 'm', connectionId },
      });
      const expected = {
        code: 'provider.malformed',
        message: expect.stringContaining(
          `the delivery settings: expected an object with a status, got ${got} (malformed-document)`,
        ),
      };
      await expect(api.delivery()).rejects.toMatchObject(expected);
      await expect(api.setDelivery({ maxBatchSize: 2 })).rejects.toMatchObject({
        ...expected,
        message: expect.stringMatching(/the provider has taken the change.*got /),
      });
      await expect(api.create(wanted())).rejects.toMatchObject(expected);
    }
    expect(accepted()).toEqual(['Bearer set', 'Bearer canary-value']);
    stage.calls.delivery = plain;
    expect(await api.delivery()).toMatchObject({ maxBatchSize: 2 });
    expect(accepted()).toEqual(['Bearer canary-value']);
  });

  test('another user’s connection is asked where one is the obstacle', async () => {
    const plain = stage.calls.delivery;
    stage.calls.delivery = async (connectionId) =>
      connectionId === 'c1' ? { fault: faultOf('reauthorize') } : plain(connectionId);
    expect(await api.delivery()).toMatchObject({ status: 'Active' });
    stage.connections.splice(0);
    await expect(api.delivery()).rejects.toMatchObject({
      message: 'no-connection: no user’s consent is known here: tramline connect',
    });
  });
});
