/**
 * What a sender can do wrong, or twice, through the whole service: repeats and reused ids under `hmac`, bursts, late and
 * lagging reads, bad neighbours in a batch, subscriptions that are not ours. Seen at the answer, the ledger, the
 * quarantine, the events and the provider's own log. Rows W4–W7, W13, W24.
 */
import { Webhook } from 'standardwebhooks';
import { beginStory, notificationOf, type Posted, type Resource, type Story, soon } from '../support/story';
import { until } from '../support/until';

let story: Story;
afterEach(() => story.end());

const hmacSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const underHmac = { WEBHOOK_AUTH: 'hmac', WEBHOOK_HMAC_SECRETS: hmacSecret };

/** Posts as a sender that signs, with the package of the Standard Webhooks as its oracle. */
function postSigned(id: string, body: unknown, atMs = Date.now()): Promise<Posted> {
  const text = JSON.stringify(body);
  return story.post(text, {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(atMs / 1000)),
    'webhook-signature': new Webhook(hmacSecret).sign(id, new Date(atMs), text),
  });
}

const nameOf = (event: { data: unknown }) => (event.data as { name: string }).name;

describe('under hmac, whose message id is signed', () => {
  beforeEach(async () => {
    story = await beginStory({ delivers: false, settings: underHmac });
  });

  test('W4: a replay inside the window is answered 204 and has no second effect', async () => {
    const [machine] = await story.equipment();
    const body = [notificationOf(machine!)];
    expect(await postSigned('msg_1', body)).toMatchObject({ status: 204 });
    await story.untilEvents(machine!, 1);

    expect(await postSigned('msg_1', body)).toMatchObject({ status: 204, body: '' });
    // The same bytes as the provider repeats them: signed anew, a little later.
    expect(await postSigned('msg_1', body, Date.now() + 60_000)).toMatchObject({ status: 204 });
    const ledger = await story.untilRest();
    expect(ledger).toMatchObject({ accepted: 1, published: 1, merged: 0, unchanged: 0, lost: 0 });
    expect(await story.readsOf(machine!)).toHaveLength(1);
    expect(await story.events()).toHaveLength(1);
    expect(await story.metric('tramline_duplicate_deliveries_total')).toBe(2);
    await until(() => story.log('delivery').length === 3, soon);
    expect(story.log('delivery').map(({ deliveryId, repeated }) => [deliveryId, repeated])).toEqual([
      ['d1', false],
      ['d1', true],
      ['d1', true],
    ]);
  });

  test('W5: the same id with another body overwrites nothing, is shown to an operator and pages', async () => {
    const [first, second] = await story.equipment();
    expect(await postSigned('msg_1', [notificationOf(first!)])).toMatchObject({ status: 204 });
    await story.untilEvents(first!, 1);
    expect(await postSigned('msg_1', [notificationOf(second!)])).toMatchObject({ status: 204 });
    expect(await postSigned('msg_1', [notificationOf(second!)])).toMatchObject({ status: 204 });

    expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 1, quarantined: 1, lost: 0 });
    expect(await story.readsOf(second!)).toEqual([]);
    expect((await story.explain('d1')).steps.map(({ text }) => text).join(' ')).not.toContain(second!.uri);
    const entries = await story.quarantine();
    expect(entries).toMatchObject([
      {
        what: 'notification',
        reason: 'message-id-reused',
        deliveryId: 'd2',
        raw: expect.stringContaining(second!.uri),
      },
    ]);
    expect(await story.metric('tramline_quarantined_total', { reason: 'message-id-reused' })).toBe(1);
    const rejections = await story.metric('tramline_security_rejections_total', {
      reason: 'message-id-reused',
    });
    expect(rejections).toBe(2);
    const page = await until(async () => (await story.alerts()).at(0), soon);
    expect(page).toMatchObject({
      name: 'TramlineQuarantineNotEmpty',
      labels: { group: 'sender' },
      annotations: { owner: 'on-call', description: expect.stringContaining('1 message-id-reused') },
    });

    // Released, it is what it would have been.
    await story.ask(`/api/quarantine/${entries[0]!.id}/release`, 'POST');
    await story.untilEvents(second!, 1);
    expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 2, quarantined: 0, lost: 0 });
  });

  test('W6: fifty parallel identical deliveries are one row, one read and one event, all answered 204', async () => {
    const [machine] = await story.equipment();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => postSigned('msg_1', [notificationOf(machine!)])),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 204));
    expect(await story.untilRest()).toMatchObject({ accepted: 1, published: 1, merged: 0, lost: 0 });
    expect(await story.readsOf(machine!)).toHaveLength(1);
    expect(await story.metric('tramline_duplicate_deliveries_total')).toBe(49);
  });
});

test('W6: without a message id fifty parallel identical deliveries are fifty notifications of one task', async () => {
  const readGapMs = 1000;
  story = await beginStory({ delivers: false, settings: { READ_GAP_MS: String(readGapMs) } });
  const [machine] = await story.equipment();
  const startedMs = performance.now();
  const answers = await Promise.all(Array.from({ length: 50 }, () => story.post([notificationOf(machine!)])));
  const elapsedMs = performance.now() - startedMs;
  expect(answers.every(({ status }) => status === 204)).toBe(true);
  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({ accepted: 50, published: 1, waiting: 0, lost: 0 });
  expect(ledger.merged + ledger.unchanged).toBe(49);
  expect(await story.tasks()).toMatchObject([{ resourceId: machine!.id, state: 'done', generation: 50 }]);
  // A read at once, one for each gap that began while they came, and the last: within one second, three.
  const readsMax = 1 + Math.ceil(elapsedMs / readGapMs) + 1;
  expect((await story.readsOf(machine!)).length).toBeLessThanOrEqual(readsMax);
  expect(await story.metric('tramline_duplicate_deliveries_total')).toBe(0);
});

describe('W7: newer before older', () => {
  /** The names that the events of this resource carry, in order, and that their sequences rise by one. */
  async function namesPublished(resource: Resource): Promise<string[]> {
    const events = await story.eventsOf(resource);
    expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_event, at) => at + 1));
    return events.map(nameOf);
  }

  test('a slow read of the older state through another address does not win over the newer one', async () => {
    story = await beginStory({ delivers: false });
    const [machine] = await story.equipment();
    const alias = machine!.uri.replace(machine!.id, String(machine!.content.ERID));
    await story.simulator.setFaults([
      {
        match: { path: new URL(alias).pathname },
        times: 1,
        body: { ...machine!.content, name: 'Older' },
        held: true,
      },
    ]);
    await story.post([notificationOf(machine!, { targetResource: alias })]);
    await until(async () => (await story.readsOf({ ...machine!, uri: alias })).length === 1, soon);
    await story.simulator.changeEquipment(machine!.id, { name: 'Newer', notify: false });
    await story.post([notificationOf(machine!)]);
    // Decided, sent or not, while the older one is on its way.
    await until(async () => (await story.ledger()).published === 1, soon);
    expect((await story.readsOf({ ...machine!, uri: alias })).at(0)).not.toHaveProperty('status');
    await story.simulator.setFaults([]);

    const ledger = await story.untilRest();
    expect(await namesPublished(machine!)).toEqual(['Newer']);
    expect(ledger).toMatchObject({ accepted: 2, published: 1, waiting: 0, lost: 0 });
    const outcomes = (await story.untilAttemptsTold()).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'published')).toHaveLength(1);
  });

  test('a read model that lags behind its own notification is read again, and the truth is last', async () => {
    story = await beginStory({ delivers: false, settings: { SETTLE_SECONDS: '1' } });
    const [machine] = await story.equipment();
    await story.post([notificationOf(machine!)]);
    const [created] = await story.untilEvents(machine!, 1);
    await story.simulator.setFaults([{ match: { path: `/equipment/${machine!.id}` }, times: 1, lagMs: 600 }]);
    await story.simulator.changeEquipment(machine!.id, { name: 'The truth', notify: false });
    await story.post([notificationOf(machine!)]);
    await story.untilEvents(machine!, 2);
    await story.untilRest();
    expect(await namesPublished(machine!)).toEqual([nameOf(created!), 'The truth']);
  });

  test('a state older than the published one is not published when a lagging replica shows it', async () => {
    story = await beginStory({ delivers: false });
    const [before] = (await story.simulator.state()).fieldOperations;
    await story.simulator.changeFieldOperation(before!.id, { cropSeason: '2031', notify: false });
    const hint = notificationOf(before!, { eventTypeId: 'fieldOperation' });
    await story.post([hint]);
    await story.untilEvents(before!, 1, 'field-operation');
    await story.simulator.setFaults([
      { match: { path: `/fieldOperations/${before!.id}` }, times: 1, body: before!.content },
    ]);
    await story.post([hint]);
    const ledger = await story.untilRest();
    expect(await story.readsOf(before!)).toHaveLength(2);
    expect(ledger).toMatchObject({ accepted: 2, published: 1, unchanged: 1, lost: 0 });
    const [event, ...more] = await story.eventsOf(before!, 'field-operation');
    expect(more).toEqual([]);
    expect(JSON.stringify(event!.data)).toContain('2031');
  });
});

test('W13: each bad element of a batch is set aside with its place, each good one goes on', async () => {
  story = await beginStory({ delivers: false });
  const machines = await story.equipment();
  const [first] = machines;
  const bad: [element: unknown, path: string][] = [
    [null, ''],
    ['text', ''],
    [[], ''],
    [{}, '/eventTypeId'],
    [notificationOf(first!, { eventTypeId: 7 }), '/eventTypeId'],
    [notificationOf(first!, { targetResource: null }), '/targetResource'],
    [notificationOf(first!, { targetResource: `${first!.uri}\u0000` }), '/targetResource'],
    [notificationOf(first!, { targetResource: `${first!.uri}?${'a'.repeat(2048)}` }), '/targetResource'],
    [notificationOf(first!, { metadata: [{ key: 'orgId', value: {} }] }), '/metadata/0/value'],
    [notificationOf(first!, { metadata: 'orgId' }), '/metadata'],
  ];
  const elements = bad.flatMap(([element], at) =>
    at < machines.length ? [element, notificationOf(machines[at]!)] : [element],
  );
  expect(await story.post(elements)).toMatchObject({ status: 204, body: '' });

  const ledger = await story.untilRest();
  expect(ledger).toMatchObject({
    accepted: elements.length,
    published: machines.length,
    quarantined: bad.length,
    lost: 0,
  });
  const entries = await story.quarantine();
  expect(entries.map(({ reason, path }) => ({ reason, path }))).toEqual(
    bad.map(([, path]) => ({ reason: 'malformed-notification', path })),
  );
  expect((await story.events()).map(({ subject }) => subject).sort()).toEqual(
    machines.map(({ id, organizationId }) => `${organizationId}/equipment/${id}`),
  );
  const page = await until(async () => (await story.alerts()).at(0), soon);
  expect(page).toMatchObject({ name: 'TramlineQuarantineNotEmpty', labels: { group: 'delivery' } });
  expect(story.log('fault')).toEqual([]);
});

describe('W24: a subscription that is unknown, or of another tenant', () => {
  /** The third is of a subscription whose user is not known, the fourth of one whose user has no connection. */
  const tokens = ['token-of-user-one', 'token-of-user-two', 'token-of-nobody', 'token-of-user-three'];

  beforeEach(async () => {
    story = await beginStory({
      delivers: false,
      flags: { users: 2 },
      settings: {
        WEBHOOK_AUTH: 'authorization,token',
        WEBHOOK_TOKENS: `${tokens[0]} harrow-user-1\n${tokens[1]} harrow-user-2\n${tokens[2]}\n${tokens[3]} harrow-user-3`,
      },
    });
  });

  /** Equipment of the organization that only this user sees. */
  const equipmentOf = async (user: 0 | 1) => (await story.equipment(user)).at(0)!;

  test('a delivery of an unknown subscription alone is a 401, and nothing is stored or fetched', async () => {
    const machine = await equipmentOf(0);
    const answer = await story.post([notificationOf(machine, { token: 'token-of-a-stranger' })]);
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'webhook.unauthenticated' });
    expect(answer.body).not.toContain('stranger');
    expect(await story.ledger()).toMatchObject({ accepted: 0 });
    expect(await story.tasks()).toEqual([]);
    expect(await story.metric('tramline_security_rejections_total', { reason: 'token-wrong' })).toBe(1);
    expect(await story.readsOf(machine)).toEqual([]);
  });

  test('an element of an unknown subscription is set aside and never fetched, its neighbour goes on', async () => {
    const [mine, other] = await story.equipment(0);
    const elements = [
      notificationOf(mine!, { token: tokens[0] }),
      notificationOf(other!, { token: 'token-of-a-stranger' }),
    ];
    expect(await story.post(elements)).toMatchObject({ status: 204 });
    expect(await story.untilRest()).toMatchObject({ accepted: 2, published: 1, quarantined: 1, lost: 0 });
    const [entry] = await story.quarantine();
    expect(entry).toMatchObject({ what: 'notification', reason: 'unauthenticated', path: '/token' });
    expect(entry!.raw).not.toContain('stranger');
    expect(await story.readsOf(other!)).toEqual([]);
    expect(await story.metric('tramline_security_rejections_total', { reason: 'unauthenticated' })).toBe(1);
  });

  test('a resource of another tenant is asked for with the subscriber’s own token only, and not published', async () => {
    const [mine, foreign] = [await equipmentOf(0), await equipmentOf(1)];
    const elements = [foreign, mine].map((machine) => notificationOf(machine, { token: tokens[0] }));
    expect(await story.post(elements)).toMatchObject({ status: 204 });
    await story.untilEvents(mine, 1);
    await until(async () => (await story.readsOf(foreign)).some(({ status }) => status === 403), soon);
    for (const { verdict } of await story.readsOf(foreign)) {
      expect(verdict).toMatchObject({ valid: true, user: 'harrow-user-1' });
    }
    expect((await story.events()).map(({ subject }) => subject)).toEqual([
      `${mine.organizationId}/equipment/${mine.id}`,
    ]);
    expect(await story.organization(foreign.organizationId)).toMatchObject({ access: 'active' });
    const [task] = await until(async () => {
      const waiting = await story.tasks('postponed');
      return waiting.some(({ attempts }) => attempts > 0) ? waiting : undefined;
    }, soon);
    expect(task).toMatchObject({ address: foreign.uri, code: 'refused-unattributed' });
    expect(await story.ledger()).toMatchObject({ accepted: 2, published: 1, lost: 0 });
  });

  test('what is announced to a user without a connection is set aside without a fetch, whatever organization it names', async () => {
    const machine = await equipmentOf(0);
    expect(await story.post([notificationOf(machine, { token: tokens[3] })])).toMatchObject({ status: 204 });
    expect(await story.untilRest()).toMatchObject({ accepted: 1, quarantined: 1, published: 0, lost: 0 });
    expect(await story.quarantine()).toMatchObject([
      { what: 'task', reason: 'no-connection', address: machine.uri },
    ]);
    expect(await story.readsOf(machine)).toEqual([]);
  });

  test('an organization that no connection sees is set aside without a fetch', async () => {
    const machine = await equipmentOf(0);
    const metadata = [{ key: 'orgId', value: '999999' }];
    expect(await story.post([notificationOf(machine, { token: tokens[2], metadata })])).toMatchObject({
      status: 204,
    });
    expect(await story.untilRest()).toMatchObject({ accepted: 1, quarantined: 1, published: 0, lost: 0 });
    expect(await story.quarantine()).toMatchObject([
      { what: 'task', reason: 'no-connection', address: machine.uri },
    ]);
    expect(await story.readsOf(machine)).toEqual([]);
    expect(await story.metric('tramline_quarantined_total', { reason: 'no-connection' })).toBe(1);
  });
});
