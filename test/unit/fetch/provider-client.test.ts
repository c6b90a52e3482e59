// Recorded answers of the provider, played back by nock; no other network is there.
import nock from 'nock';
import type { ProviderOptions } from '../../../src/fetch/options';
import type { Connection } from '../../../src/model/connection';
import type { DueProbe } from '../../../src/model/organization';
import { Secret } from '../../../src/tools/secret';
import {
  connectionOf,
  equipmentOrigin,
  origin,
  requestFor,
  type Staged,
  stageClient,
  startMs,
} from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json;charset=UTF-8' };
const json = { 'content-type': 'application/json' };
const api = () => nock(origin);
const equipmentApi = () => nock(equipmentOrigin);
const operation = { '@type': 'FieldOperation', id: 'op-1', orgId: 4711, measurementTypes: [], links: [] };
const operationUrl = `${origin}/platform/fieldOperations/op-1`;
const self = (uri: string) => ({ '@type': 'Link', rel: 'self', uri });
const said = (message: string) => ({ errors: [{ message }] });

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

/** The catalog, `times` in a row. */
function catalog(
  links: [rel: string, uri: string][] = [['organizations', `${origin}/platform/organizations`]],
  times = 1,
) {
  api()
    .get('/platform/')
    .times(times)
    .reply(200, { links: links.map(([rel, uri]) => ({ rel, uri })) }, axiom);
}

/** The listing with one organization that has these links. */
function organizations(links: { rel: string; uri: string }[], times = 1, at = '/platform/organizations') {
  const organization = { '@type': 'Organization', id: '4711', name: 'North Farm', links };
  api()
    .get(`${at}?itemLimit=100`)
    .times(times)
    .reply(200, { links: [], total: 1, values: [organization] }, axiom);
}

describe('one call', () => {
  test('a field operation is asked for with its measurement types, by the platform’s media type', async () => {
    catalog();
    api()
      .matchHeader('accept', 'application/vnd.Acme.axiom.v3+json')
      .matchHeader('authorization', 'Bearer canary-token')
      .get('/platform/fieldOperations/op-1?embed=measurementTypes')
      .reply(200, operation, { ...axiom, 'x-acme-elapsed-ms': '12', date: new Date(startMs).toUTCString() });
    const { answer, cost } = await staged.client.read(requestFor(operationUrl));
    expect(answer).toEqual({
      kind: 'ok',
      document: {
        body: operation,
        address: operationUrl,
        mediaType: 'application/vnd.acme.axiom.v3+json',
        connectionId: 'c1',
      },
    });
    expect(cost).toMatchObject({ calls: 1, status: 200, bytes: JSON.stringify(operation).length });
    expect(staged.calls.map(({ operation: name }) => name)).toEqual(['catalog', 'field-operation']);
    expect(staged.calls[1]).toMatchObject({ status: 200, elapsedMs: 12, serverDateMs: startMs });
  });

  test('equipment is asked for with its devices, as plain JSON', async () => {
    catalog();
    equipmentApi()
      .matchHeader('accept', 'application/json')
      .get('/isg/equipment/217001?embed=devices,equipment')
      .reply(200, { id: 217001 }, json);
    const { answer } = await staged.client.read(requestFor(`${equipmentOrigin}/isg/equipment/217001`));
    expect(answer).toMatchObject({ kind: 'ok', document: { body: { id: 217001 } } });
    expect(staged.calls[1]).toMatchObject({ operation: 'equipment', elapsedMs: null });
  });

  test('a Date that is none of HTTP’s says nothing of the provider’s clock', async () => {
    catalog();
    equipmentApi()
      .get('/isg/equipment/217001?embed=devices,equipment')
      .reply(200, { id: 217001 }, { ...json, date: 'Mon, 23 Nov 2026' });
    await staged.client.read(requestFor(`${equipmentOrigin}/isg/equipment/217001`));
    expect(staged.calls[1]).toMatchObject({ operation: 'equipment', serverDateMs: null });
  });

  test('F-14: a 304 where nothing is known yet is neither a read that ended nor a list without anything', async () => {
    catalog();
    equipmentApi().get('/isg/equipment/217001?embed=devices,equipment').reply(304);
    const { answer } = await staged.client.read(requestFor(`${equipmentOrigin}/isg/equipment/217001`));
    expect(answer).toMatchObject({ kind: 'transient', code: 'not-modified-unasked' });
    equipmentApi().get('/isg/equipment').query(true).reply(304);
    const of = { what: 'equipment', organizationId: '4711' } as const;
    const request = { connectionId: 'c1', of, from: null, changeToken: null, unpaged: false };
    const pages = [];
    for await (const page of staged.client.listing(request, new AbortController().signal)) pages.push(page);
    expect(pages).toMatchObject([
      { partial: true, answer: { kind: 'transient', code: 'not-modified-unasked' } },
    ]);
  });

  test('equipment named by a filter is taken out of its collection', async () => {
    catalog();
    equipmentApi()
      .get('/isg/equipment?ids=217001&embed=devices,equipment')
      .reply(200, { links: [], values: [{ id: 217001 }] }, json);
    const { answer } = await staged.client.read(requestFor(`${equipmentOrigin}/isg/equipment?ids=217001`));
    expect(answer).toMatchObject({ kind: 'ok', document: { body: { id: 217001 } } });
  });

  test('a machine of the old endpoints is asked for with what belongs to it by their names', async () => {
    staged = stageClient({ equipmentApi: 'old' });
    catalog();
    api().get('/platform/machines/5').query({ embed: 'terminals' }).reply(200, { id: '5' }, axiom);
    const { answer } = await staged.client.read(requestFor(`${origin}/platform/machines/5`));
    expect(answer).toMatchObject({ kind: 'ok', document: { address: `${origin}/platform/machines/5` } });
  });

  test('an old endpoint that refuses what is asked for beside the record is asked for the record', async () => {
    staged = stageClient({ equipmentApi: 'old' });
    catalog();
    api().get('/platform/implements/5').query({ embed: 'terminals' }).reply(400, {}, axiom);
    api().get('/platform/implements/5').reply(200, { id: '5' }, axiom);
    expect((await staged.client.read(requestFor(`${origin}/platform/implements/5`))).answer.kind).toBe('ok');
  });

  test('an address of the old endpoints leads to the equipment API, and back where that has not got it', async () => {
    catalog();
    api().get('/platform/machines/5').query(true).twice().reply(200, { id: '5' }, axiom);
    const equipmentApi = () => nock(equipmentOrigin).get('/isg/equipment/5').query(true);
    equipmentApi().reply(200, { '@type': 'Machine', id: 5 }, { 'content-type': 'application/json' });
    const asked = requestFor(`${origin}/platform/machines/5`);
    const { answer } = await staged.client.read(asked);
    expect(answer).toMatchObject({ kind: 'ok', document: { address: `${equipmentOrigin}/isg/equipment/5` } });
    equipmentApi().reply(404);
    nock(equipmentOrigin).get('/isg/equipment').query(true).reply(200, { values: [] });
    expect((await staged.client.read(asked)).answer).toMatchObject({
      kind: 'ok',
      document: { address: asked.address },
    });
  });

  test.each<[Partial<ProviderOptions>, Record<string, string>]>([
    [
      { unitSystem: 'metric', yieldPreference: 'volume' },
      { 'accept-uom-system': 'METRIC', 'accept-yield-preference': 'VOLUME' },
    ],
    [{ unitSystem: 'english', yieldPreference: null }, { 'accept-uom-system': 'ENGLISH' }],
    [{ unitSystem: null, yieldPreference: 'mass' }, { 'accept-yield-preference': 'MASS' }],
  ])('units and yields are asked for as set: %j', async (wish, reqheaders) => {
    staged = stageClient(wish);
    catalog();
    const badheaders = ['accept-uom-system', 'accept-yield-preference'].filter((name) => !reqheaders[name]);
    nock(origin, { reqheaders, badheaders })
      .get('/platform/fieldOperations/op-1')
      .query(true)
      .reply(200, operation, axiom);
    expect((await staged.client.read(requestFor(operationUrl))).answer.kind).toBe('ok');
  });

  test('an address is refused without a call', async () => {
    const { answer, cost } = await staged.client.read(requestFor('https://evil.test/fieldOperations/1'));
    expect(answer).toMatchObject({ kind: 'address-refused', code: 'address-refused' });
    expect(cost.calls).toBe(0);
    expect((await staged.client.read(requestFor(`${origin}/platform/{id}`))).answer).toMatchObject({
      code: 'address-template',
    });
    expect(staged.calls).toEqual([]);
  });

  test('nothing is asked for where no connection may read', async () => {
    const { answer } = await staged.client.read(requestFor(operationUrl, { organizationId: '9' }));
    expect(answer).toEqual({ kind: 'no-connection', detail: 'no valid connection sees organization 9' });
    const unknown = await staged.client.read(requestFor(operationUrl, { hintedUser: null }));
    expect(unknown.answer).toEqual({ kind: 'no-connection', detail: 'no owner is known or named' });
    const claimed = { hintedUser: 'nobody', hintedOrganizationId: '4711' };
    const announced = await staged.client.read(requestFor(operationUrl, claimed));
    const detail = 'the user of its subscription has no valid connection';
    expect(announced.answer).toEqual({ kind: 'no-connection', detail });
    expect(staged.calls).toEqual([]);
  });

  test.each([
    [['c1'], '; connection c1: its list is refused'],
    [['ended'], ''],
    [['c1', 'c2', 'c3'], '; connection c1: its list is refused, and so of 2 more'],
  ])(
    'that nobody sees an organization while the lists of %j are refused is told with that',
    async (refused, why) => {
      const connections = [
        connectionOf({ connectionId: 'ended', status: 'refused' }),
        ...['c1', 'c2', 'c3'].map((connectionId) => connectionOf({ connectionId })),
      ];
      const unlisted = (id: string) => (refused.includes(id) ? 'its list is refused' : null);
      staged = stageClient({}, connections, { unlisted });
      const { answer } = await staged.client.read(requestFor(operationUrl, { organizationId: '9' }));
      expect(answer).toEqual({
        kind: 'no-connection',
        detail: `no valid connection sees organization 9${why}`,
      });
    },
  );

  test('a stopping process aborts it before it begins', async () => {
    const stop = new AbortController();
    stop.abort();
    expect((await staged.client.read(requestFor(operationUrl), stop.signal)).answer).toEqual({
      kind: 'aborted',
    });
  });

  test('a closed client answers aborted', async () => {
    staged.client.close();
    expect((await staged.client.read(requestFor(operationUrl))).answer).toEqual({ kind: 'aborted' });
  });

  test('a token that no header can carry fails the call and is not told', async () => {
    staged = stageClient({}, [connectionOf({ token: new Secret('canary\nline') })]);
    const { answer } = await staged.client.read(requestFor(operationUrl));
    expect(answer).toMatchObject({ kind: 'transient', code: 'request-invalid' });
    expect(JSON.stringify(answer)).not.toContain('canary');
  });
});

describe('an address that nobody knows yet', () => {
  const at = `${equipmentOrigin}/isg/equipment/2`;
  const path = '/isg/equipment/2?embed=devices,equipment';
  const shows = (...bodies: object[]) => {
    for (const body of bodies) equipmentApi().get(path).reply(200, body, json);
  };

  beforeEach(() => catalog());

  test('is asked once more where it shows another id than it names: one wrong answer binds it to nothing', async () => {
    shows({ id: 1 }, { id: 2 });
    const { answer, cost } = await staged.client.read(requestFor(at));
    expect(answer).toMatchObject({ kind: 'ok', document: { address: at, body: { id: 2 } } });
    expect(cost.calls).toBe(2);
  });

  test('is believed when it shows the same other id twice', async () => {
    shows({ id: 1 }, { id: 1 });
    expect((await staged.client.read(requestFor(at))).answer).toMatchObject({
      document: { body: { id: 1 } },
    });
  });

  test('waits when it shows two others', async () => {
    shows({ id: 1 }, { id: 3 });
    expect((await staged.client.read(requestFor(at))).answer).toMatchObject({
      kind: 'transient',
      code: 'address-unsteady',
      detail: 'it showed id 1, and then id 3',
    });
  });

  test('may be found gone when it is asked once more', async () => {
    shows({ id: 1 });
    equipmentApi().get(path).reply(404);
    catalog();
    expect((await staged.client.read(requestFor(at))).answer).toMatchObject({ kind: 'gone' });
  });

  test('is asked once where it names its resource by its id or its ERID, or which one it is is known', async () => {
    shows({ id: 7, ERID: '2' }, { id: 2 }, { id: 1 });
    await staged.client.read(requestFor(at));
    await staged.client.read(requestFor(at));
    await staged.client.read(requestFor(at, { resource: { kind: 'equipment', id: '2' } }));
    expect(staged.calls.filter(({ operation: name }) => name === 'equipment')).toHaveLength(3);
  });
});

describe('the catalog', () => {
  test('is read once for many reads, and again when the token changes', async () => {
    catalog();
    api().get('/platform/fieldOperations/op-1').query(true).times(4).reply(200, operation, axiom);
    await Promise.all([1, 2, 3].map(() => staged.client.read(requestFor(operationUrl))));
    expect(staged.calls.filter(({ operation: name }) => name === 'catalog')).toHaveLength(1);
    catalog();
    staged.connections[0] = connectionOf({ token: new Secret('canary-token-2') });
    expect((await staged.client.read(requestFor(operationUrl))).answer.kind).toBe('ok');
  });

  test('is forgotten with its connection', async () => {
    catalog();
    api().get('/platform/fieldOperations/op-1').query(true).times(3).reply(200, operation, axiom);
    await staged.client.read(requestFor(operationUrl));
    staged.connections[0] = connectionOf({ connectionId: 'c2' });
    catalog();
    await staged.client.read(requestFor(operationUrl));
    staged.connections[0] = connectionOf();
    catalog();
    expect((await staged.client.read(requestFor(operationUrl))).answer.kind).toBe('ok');
  });

  test('is read for the application too under OAuth 1.0, and names what is no resource', async () => {
    const auth = { auth: 'oauth1', tokenSecret: new Secret('ts') } as const;
    staged = stageClient({}, [connectionOf(auth)]);
    catalog();
    const request = `${origin}/platform/oauth/request_token`;
    catalog([
      ['oauthRequestToken', request],
      ['oauthAuthorizeRequestToken', 'https://consent.test/?oauth_token={token}'],
    ]);
    const { answer } = await staged.client.read(requestFor(request));
    expect(answer).toMatchObject({ kind: 'address-refused', code: 'address-refused' });
    api()
      .get('/platform/fieldOperations/op-1')
      .query(true)
      .matchHeader('authorization', /^OAuth realm="", .*oauth_token="canary-token"/)
      .reply(200, operation, axiom);
    expect((await staged.client.read(requestFor(operationUrl))).answer.kind).toBe('ok');
  });

  test('of the application that fails fails the read in the connection’s name, and is asked for alone next time', async () => {
    const auth = { auth: 'oauth1', tokenSecret: new Secret('ts') } as const;
    staged = stageClient({}, [connectionOf(auth)]);
    catalog();
    api().get('/platform/').reply(503);
    expect((await staged.client.read(requestFor(operationUrl))).answer).toMatchObject({
      kind: 'transient',
      code: 'status-503',
      connectionId: 'c1',
    });
    catalog([]);
    api().get('/platform/fieldOperations/op-1').query(true).reply(200, operation, axiom);
    expect((await staged.client.read(requestFor(operationUrl))).answer.kind).toBe('ok');
  });

  test.each([
    [404, '', { kind: 'transient', code: 'catalog-unavailable' }],
    [410, '', { kind: 'transient', code: 'catalog-unavailable' }],
    [400, '', { kind: 'transient', code: 'catalog-unavailable' }],
    [304, '', { kind: 'transient', code: 'not-modified-unasked' }],
    [
      403,
      said('Access Denied'),
      {
        kind: 'transient',
        code: 'catalog-unavailable',
        detail: `Access Denied (${origin}/platform/)`,
        forbidden: true,
      },
    ],
    [403, '', { kind: 'transient', code: 'catalog-unavailable', forbidden: true }],
    [403, said('missing scope'), { kind: 'client-refused', message: 'missing scope' }],
    [401, said('Unauthorized'), { kind: 'reauthorize' }],
    [429, '', { kind: 'rate-limited' }],
    [500, '', { kind: 'transient', code: 'status-500' }],
  ])('answered %i says nothing about the resource', async (status, body, expected) => {
    // Nothing else is known yet that could show whether the token is refused: the catalog is asked again.
    const times = status === 401 ? 2 : 1;
    api().get('/platform/').times(times).reply(status, body, axiom);
    expect((await staged.client.read(requestFor(operationUrl))).answer).toMatchObject(expected);
  });
});

test.each([
  [
    'the renewed one',
    () => ({ connection: connectionOf({ token: new Secret('t2'), sealedToken: 'new' }) }),
    'new',
  ],
  ['that could not be renewed', () => ({ refused: 'it was revoked' }), 'sealed'],
] as const)('a refusal names the token that was shown last, %s', async (_how, renew, shown) => {
  const told: unknown[] = [];
  const renewal = { current: (known: Connection) => known, renew: async () => renew() };
  const refused = (...refusal: unknown[]) => void told.push(refusal);
  staged = stageClient({}, [connectionOf()], { renewal, refused });
  api().get('/platform/').times(3).optionally().reply(401, said('Unauthorized'), axiom);
  const { answer } = await staged.client.read(requestFor(operationUrl));
  expect(answer).toMatchObject({ kind: 'reauthorize', connectionId: 'c1', sealedToken: shown });
  expect(told.length).toBeGreaterThan(0);
  for (const refusal of told) expect(refusal).toEqual(['c1', expect.any(String), shown]);
});

describe('a bare 403', () => {
  const refusedOnce = (message = 'Access Denied') =>
    api().get('/platform/fieldOperations/op-1').query(true).reply(403, said(message), axiom);
  const known = requestFor(operationUrl, { organizationId: '4711' });

  beforeEach(() => catalog());

  test('of an organization with a connections link is not connected', async () => {
    refusedOnce();
    organizations([{ rel: 'connections', uri: 'https://connections.example.test/select' }]);
    const { answer, cost } = await staged.client.read(known);
    expect(answer).toEqual({
      kind: 'not-connected',
      actionUrl: 'https://connections.example.test/select',
      connectionId: 'c1',
    });
    expect(cost.calls).toBe(2);
  });

  test('of a connected organization is this one resource’s', async () => {
    refusedOnce();
    organizations([self(`${origin}/platform/organizations/4711`)]);
    expect((await staged.client.read(known)).answer).toEqual({
      kind: 'no-access',
      connectionId: 'c1',
      message: 'Access Denied',
    });
  });

  test('that names a scope is the client’s', async () => {
    refusedOnce('requires scope ag2');
    organizations([self(`${origin}/platform/organizations/4711`)]);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'client-refused',
      message: 'requires scope ag2',
    });
  });

  test('without a known owner blocks the task alone, or is the client’s', async () => {
    refusedOnce();
    refusedOnce('requires scope ag2');
    expect((await staged.client.read(requestFor(operationUrl))).answer.kind).toBe('refused-unattributed');
    expect((await staged.client.read(requestFor(operationUrl))).answer.kind).toBe('client-refused');
  });

  test('is what a 401 of this address alone is: the same token is taken at the catalog', async () => {
    api().get('/platform/fieldOperations/op-1').query(true).reply(401, said('Unauthorized'), axiom);
    catalog();
    organizations([self(`${origin}/platform/organizations/4711`)]);
    const { answer, cost } = await staged.client.read(known);
    expect(answer).toEqual({ kind: 'no-access', connectionId: 'c1', message: 'Unauthorized' });
    expect(cost).toMatchObject({ calls: 2, status: 200 });
    api().get('/platform/fieldOperations/op-1').query(true).reply(401, said('Unauthorized'), axiom);
    api().get('/platform/').reply(401, said('Unauthorized'), axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'reauthorize' });
  });

  test('with a claimed owner is believed about the connections link only', async () => {
    refusedOnce();
    organizations([{ rel: 'connections', uri: 'javascript:alert(1)' }]);
    const hinted = requestFor(operationUrl, { hintedOrganizationId: '4711' });
    expect((await staged.client.read(hinted)).answer).toEqual({
      kind: 'not-connected',
      actionUrl: null,
      connectionId: 'c1',
    });
    refusedOnce();
    organizations([]);
    expect((await staged.client.read(hinted)).answer.kind).toBe('refused-unattributed');
    refusedOnce();
    const unseen = requestFor(operationUrl, { hintedOrganizationId: '99' });
    expect((await staged.client.read(unseen)).answer.kind).toBe('refused-unattributed');
  });

  test('of an organization that is not listed is not attributed to it', async () => {
    refusedOnce();
    api()
      .get('/platform/organizations?itemLimit=100')
      .reply(200, { values: [{ id: '5' }] }, axiom);
    expect((await staged.client.read(known)).answer.kind).toBe('refused-unattributed');
  });

  test('waits when the organization cannot be looked at', async () => {
    refusedOnce();
    api().get('/platform/organizations?itemLimit=100').reply(500, '', axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'transient', code: 'status-500' });
    refusedOnce();
    api().get('/platform/organizations?itemLimit=100').reply(200, { values: 'x' }, axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'transient',
      code: 'organization-unavailable',
    });
  });

  test('asks for the organization by its own address once that form is learned', async () => {
    refusedOnce();
    organizations([self(`${origin}/platform/organizations/4711`)]);
    await staged.client.read(known);
    const record = (status: number, body: object) =>
      api().get('/platform/organizations/4711').reply(status, body, axiom);
    refusedOnce();
    record(200, { id: '4711', links: [{ rel: 'connections', uri: 'https://c.test/' }] });
    expect((await staged.client.read(known)).answer.kind).toBe('not-connected');
    refusedOnce();
    record(429, {});
    expect((await staged.client.read(known)).answer.kind).toBe('rate-limited');
    for (const [status, body] of [
      [403, said('no')],
      [400, {}],
      [200, { id: '5' }],
      [404, {}],
    ] as const) {
      refusedOnce();
      record(status, body);
      organizations([self(`${origin}/platform/organizations/4711`)]);
      expect((await staged.client.read(known)).answer.kind).toBe('no-access');
    }
  });
});

test('the terms header is the organization’s, whoever asks', async () => {
  catalog();
  api()
    .get('/platform/fieldOperations/op-1')
    .query(true)
    .reply(403, said('restricted'), { ...axiom, 'X-Acme-Terms-Location': 'https://t.test/terms' });
  expect((await staged.client.read(requestFor(operationUrl))).answer).toMatchObject({
    kind: 'action-required',
    cause: 'terms',
    actionUrl: 'https://t.test/terms',
  });
  expect(staged.calls).toHaveLength(2);
});

describe('what is not found', () => {
  const missing = (status = 404, at = '/platform/fieldOperations/op-1') =>
    api().get(at).query(true).reply(status, '', axiom);
  const known = requestFor(operationUrl, {
    organizationId: '4711',
    resource: { kind: 'field-operation', id: 'op-1' },
  });
  const fields = (at: string, links: { rel: string; uri: string }[], more: object = {}) =>
    api()
      .get(`${at}?itemLimit=100`)
      .reply(200, { values: [{ id: 'f1', links }], ...more }, axiom);
  const moved = `${origin}/platform/v2`;

  /** The provider after every address has moved, up to the listing of field operations. */
  function movedListings(rel = 'fieldOperations') {
    catalog();
    missing();
    catalog([['organizations', `${moved}/organizations`]]);
    organizations(
      [self(`${moved}/organizations/4711`), { rel: 'fields', uri: `${moved}/organizations/4711/fields` }],
      1,
      '/platform/v2/organizations',
    );
    fields('/platform/v2/organizations/4711/fields', [{ rel, uri: `${moved}/fields/f1/fieldOperations` }]);
  }

  const listed = (values: unknown[]) =>
    api().get('/platform/v2/fields/f1/fieldOperations?itemLimit=100').reply(200, { values }, axiom);

  test('is found where another item shows that addresses have moved', async () => {
    movedListings();
    listed([null, { id: 'other', links: [self(`${moved}/fieldOperations/other`)] }]);
    api().get('/platform/v2/fieldOperations/op-1?embed=measurementTypes').reply(200, operation, axiom);
    const { answer } = await staged.client.read(known);
    expect(answer).toMatchObject({ kind: 'ok', document: { address: `${moved}/fieldOperations/op-1` } });

    // The next one costs the catalog and its own call: the form of the addresses is known.
    missing(404, '/platform/fieldOperations/op-2');
    catalog([['organizations', `${moved}/organizations`]]);
    api().get('/platform/v2/fieldOperations/op-2?embed=measurementTypes').reply(200, { id: 'op-2' }, axiom);
    const next = await staged.client.read(requestFor(`${origin}/platform/fieldOperations/op-2`));
    expect(next.answer).toMatchObject({ kind: 'ok', document: { body: { id: 'op-2' } } });
    expect(next.cost.calls).toBe(2);
  });

  test('is looked for anew when what was learned is a minute old', async () => {
    movedListings('fieldOperation');
    listed([{ id: 'other', links: [self(`${moved}/fieldOperations/other`)] }]);
    api().get('/platform/v2/fieldOperations/op-1').query(true).reply(200, operation, axiom);
    await staged.client.read(known);
    staged.clock.set(startMs + 60_000);
    missing();
    catalog([['organizations', `${moved}/organizations`]]);
    api()
      .get('/platform/v2/organizations/4711')
      .reply(
        200,
        { id: '4711', links: [{ rel: 'fields', uri: `${moved}/organizations/4711/fields` }] },
        axiom,
      );
    fields('/platform/v2/organizations/4711/fields', [
      { rel: 'fieldOperations', uri: `${moved}/fields/f1/fieldOperations` },
    ]);
    listed([{ id: 'op-1', links: [self(`${moved}/fieldOperations/op-1`)] }]);
    api().get('/platform/v2/fieldOperations/op-1').query(true).reply(200, operation, axiom);
    expect((await staged.client.read(known)).answer.kind).toBe('ok');
  });

  test('is found by its id where addresses say nothing', async () => {
    movedListings();
    listed([
      { id: 7, links: [self(`${moved}/x/a`)] },
      { id: 'op-1', links: [self(`${moved}/x/b`)] },
    ]);
    api().get('/platform/v2/x/b?embed=measurementTypes').reply(200, operation, axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'ok',
      document: { address: `${moved}/x/b` },
    });
  });

  test.each<[string, unknown[]]>([
    ['an operation that stands at a foreign origin', [{ id: 'x', links: [self('https://evil.test/ops/x')] }]],
    ['an operation without a link', [{ id: 'x' }]],
    ['an entry that names nothing', [null]],
  ])('is found beside %s, whose link teaches nothing', async (_what, before) => {
    movedListings();
    listed([...before, { id: 'op-1', links: [self(`${moved}/fieldOperations/op-1`)] }]);
    api().get('/platform/v2/fieldOperations/op-1').query(true).reply(200, operation, axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'ok',
      document: { address: `${moved}/fieldOperations/op-1` },
    });
  });

  const op1 = (links?: unknown) => ({ id: 'op-1', links });
  test.each<[string, unknown[], string]>([
    ['without a link', [op1()], 'expected a link `self`, got none'],
    ['with a link that is none', [op1([{ rel: 'self', uri: 7 }])], 'expected an address in the link `self`'],
    [
      'at a foreign origin',
      [op1([self('https://evil.test/op-1')])],
      'the origin https://evil.test is not one',
    ],
    ['perhaps, by an entry that names nothing', [{ links: [] }], 'entry 1 of a page: expected an object'],
  ])('waits while it is listed %s', async (_how, values, detail) => {
    movedListings();
    listed(values);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'transient',
      code: 'relocation-incomplete',
      detail: expect.stringContaining(detail),
    });
  });

  test('is looked for in the other fields too where one of them cannot be read, and waits when none shows it', async () => {
    const fieldsOf = [null, { id: 'f0', links: [{ rel: 'fieldOperations', uri: 'https://evil.test/ops' }] }];
    const open = { id: 'f1', links: [{ rel: 'fieldOperations', uri: `${origin}/platform/f1/ops` }] };
    const shown = (values: unknown[]) => {
      missing();
      catalog();
      organizations([{ rel: 'fields', uri: `${origin}/platform/fields` }]);
      api()
        .get('/platform/fields?itemLimit=100')
        .reply(200, { values: [...fieldsOf, open] }, axiom);
      api().get('/platform/f1/ops?itemLimit=100').reply(200, { values }, axiom);
    };
    catalog();
    shown([]);
    expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'transient' });
    shown([op1([self(`${origin}/platform/x/op-1`)])]);
    api().get('/platform/x/op-1').query(true).reply(200, operation, axiom);
    expect((await staged.client.read(known)).answer.kind).toBe('ok');
  });

  test.each([
    [404, false],
    [410, true],
  ])('with %i is gone when it stands nowhere else', async (status, certain) => {
    catalog([['organizations', `${origin}/platform/organizations`]], 2);
    missing(status);
    organizations([{ rel: 'fields', uri: `${origin}/platform/organizations/4711/fields` }], 2);
    fields('/platform/organizations/4711/fields', [
      { rel: 'fieldOperations', uri: `${origin}/platform/fields/f1/fieldOperations` },
    ]);
    api()
      .get('/platform/fields/f1/fieldOperations?itemLimit=100')
      .reply(200, { values: [{ id: 'x', links: [self(`${origin}/platform/fieldOperations/x`)] }] }, axiom);
    const { answer } = await staged.client.read(known);
    expect(answer).toMatchObject({ kind: 'gone', certain });
    expect(answer).not.toHaveProperty('named');
  });

  describe('that a list shows at the very address that was tried', () => {
    const there = op1([self(operationUrl)]);
    const another = { id: 'x', links: [self(`${origin}/platform/fieldOperations/x`)] };
    const shown = (status: number, values: unknown[], organizationReads: number) => {
      missing(status);
      organizations([{ rel: 'fields', uri: `${origin}/platform/fields` }], organizationReads);
      fields('/platform/fields', [{ rel: 'fieldOperations', uri: `${origin}/platform/f1/ops` }]);
      api().get('/platform/f1/ops?itemLimit=100').reply(200, { values }, axiom);
    };

    test.each([
      ['first', [there]],
      ['behind one whose address shows that none has moved', [another, there]],
    ])('waits, listed %s, also when it is asked again at once', async (_where, values) => {
      catalog(undefined, 3);
      for (let time = 1; time <= 2; time += 1) {
        shown(404, values, 1);
        expect((await staged.client.read(known)).answer).toMatchObject({
          kind: 'transient',
          code: 'relocation-incomplete',
          detail: 'it is listed at the address that answered as if it were gone',
        });
      }
    });

    test('is gone where that address said so for good', async () => {
      catalog(undefined, 2);
      shown(410, [there], 2);
      expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'gone', certain: true });
    });
  });

  test('is gone when no field holds an operation', async () => {
    catalog(undefined, 2);
    missing();
    organizations([{ rel: 'fields', uri: `${origin}/platform/organizations/4711/fields` }], 2);
    api()
      .get('/platform/organizations/4711/fields?itemLimit=100')
      .reply(
        200,
        {
          values: [
            { id: 'f0' },
            { id: 'f1', links: [{ rel: 'fieldOperations', uri: `${origin}/platform/f1/ops` }] },
          ],
        },
        axiom,
      );
    api().get('/platform/f1/ops?itemLimit=100').reply(200, { values: [] }, axiom);
    expect((await staged.client.read(known)).answer.kind).toBe('gone');
  });

  const unshared = {
    kind: 'transient',
    code: 'relocation-incomplete',
    detail: 'organization 4711: expected a link to `fields`, got none: not shared with this user',
  };

  test('waits where its organization shows this user no fields, unless it was said to be gone for good', async () => {
    catalog(undefined, 3);
    missing();
    organizations([], 3);
    expect((await staged.client.read(known)).answer).toMatchObject(unshared);
    missing(410);
    expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'gone', certain: true });
  });

  test('waits where no field of its organization shows any operations, unless it was said to be gone for good', async () => {
    catalog(undefined, 3);
    for (const [status, expected] of [
      [404, { kind: 'transient', code: 'relocation-incomplete', detail: expect.stringContaining('among 1') }],
      [410, { kind: 'gone', certain: true }],
    ] as const) {
      missing(status);
      organizations([{ rel: 'fields', uri: `${origin}/platform/fields` }], status === 410 ? 2 : 1);
      fields('/platform/fields', []);
      expect((await staged.client.read(known)).answer).toMatchObject(expected);
    }
  });

  test.each([
    ['404 waits where the list of fields is refused', 404, 403, { kind: 'transient', forbidden: true }],
    ['410 is gone where the list of fields is refused', 410, 403, { kind: 'gone', certain: true }],
    ['410 waits where the list of fields is not answered', 410, 503, { code: 'status-503' }],
    ['410 waits where the list of fields is no more', 410, 410, { code: 'relocation-incomplete' }],
  ])('with %s', async (_what, status, ofFields, expected) => {
    catalog(undefined, 2);
    missing(status);
    organizations([{ rel: 'fields', uri: `${origin}/platform/fields` }], 'certain' in expected ? 2 : 1);
    api().get('/platform/fields?itemLimit=100').reply(ofFields, said('Access denied'), axiom);
    expect((await staged.client.read(known)).answer).toMatchObject(expected);
  });

  test('with 410 waits where the catalog is refused', async () => {
    catalog();
    missing(410);
    api().get('/platform/').reply(403, said('Access denied'), axiom);
    expect((await staged.client.read(known)).answer.kind).toBe('transient');
  });

  describe('where another organization has shown how addresses have moved', () => {
    const movedTo = `${moved}/fieldOperations/op-1`;
    const listOf = (id: string) => ({ rel: 'fieldOperations', uri: `${moved}/${id}/ops` });
    const opsOf = (id: string, values: unknown[]) =>
      api().get(`/platform/v2/${id}/ops?itemLimit=100`).reply(200, { values }, axiom);
    const listOwn = () =>
      api()
        .get('/platform/v2/organizations?itemLimit=100')
        .reply(200, { values: [own] }, axiom);
    const movedCatalog = () => catalog([['organizations', `${moved}/organizations`]]);
    const own = {
      id: '4711',
      links: [self(`${moved}/organizations/4711`), { rel: 'fields', uri: `${moved}/fields` }],
    };

    beforeEach(async () => {
      catalog();
      missing(404, '/platform/fieldOperations/op-2');
      movedCatalog();
      const there = { id: '1', links: [{ rel: 'fields', uri: `${moved}/1/fields` }] };
      api()
        .get('/platform/v2/organizations?itemLimit=100')
        .reply(200, { values: [there, own] }, axiom);
      fields('/platform/v2/1/fields', [listOf('f0')]);
      opsOf('f0', [{ id: 'x', links: [self(`${moved}/fieldOperations/x`)] }]);
      api().get('/platform/v2/fieldOperations/op-2').query(true).reply(200, { id: 'op-2' }, axiom);
      const unknown = await staged.client.read(requestFor(`${origin}/platform/fieldOperations/op-2`));
      expect(unknown.answer.kind).toBe('ok');

      missing();
      movedCatalog();
      missing(404, '/platform/v2/fieldOperations/op-1');
      movedCatalog();
      listOwn();
    });

    test('waits where no field of its own shows any operations', async () => {
      fields('/platform/v2/fields', []);
      const detail = expect.stringContaining('got none among 1');
      expect((await staged.client.read(known)).answer).toMatchObject({ ...unshared, detail });
    });

    test('is found where its own shows it at another address', async () => {
      fields('/platform/v2/fields', [listOf('f1')]);
      opsOf('f1', [op1([self(`${moved}/x/op-1`)])]);
      api().get('/platform/v2/x/op-1').query(true).reply(200, operation, axiom);
      expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'ok' });
    });

    test('waits where its own shows it there', async () => {
      fields('/platform/v2/fields', [listOf('f1')]);
      opsOf('f1', [op1([self(movedTo)])]);
      expect((await staged.client.read(known)).answer).toMatchObject({ code: 'relocation-incomplete' });
    });

    test('is gone where its own shows others', async () => {
      fields('/platform/v2/fields', [listOf('f1')]);
      opsOf('f1', [{ id: 'y', links: [self(`${moved}/fieldOperations/y`)] }]);
      api().get('/platform/v2/organizations/4711').reply(200, own, axiom);
      expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'gone' });
    });
  });

  describe('where another organization has shown that no address has moved', () => {
    const fieldsLink = { rel: 'fields', uri: `${origin}/platform/fields` };
    const listOf = (id: string) => ({ rel: 'fieldOperations', uri: `${origin}/platform/${id}/ops` });
    const other = { id: 'x', links: [self(`${origin}/platform/fieldOperations/x`)] };
    const opsOf = (id: string, values: unknown[], status = 200) =>
      api().get(`/platform/${id}/ops?itemLimit=100`).reply(status, { values }, axiom);

    beforeEach(async () => {
      catalog(undefined, 2);
      missing(404, '/platform/fieldOperations/op-2');
      const there = { id: '1', links: [{ rel: 'fields', uri: `${origin}/platform/1/fields` }] };
      api()
        .get('/platform/organizations?itemLimit=100')
        .reply(200, { values: [there, { id: '4711', links: [] }] }, axiom);
      fields('/platform/1/fields', [listOf('f0')]);
      opsOf('f0', [other]);
      const unknown = await staged.client.read(requestFor(`${origin}/platform/fieldOperations/op-2`));
      expect(unknown.answer).toMatchObject({ kind: 'gone', named: { kind: 'field-operation', id: 'op-2' } });
      catalog();
      missing();
    });

    test('waits where its own shows no fields', async () => {
      organizations([]);
      expect((await staged.client.read(known)).answer).toMatchObject(unshared);
    });

    test('waits where no field of its own shows any operations', async () => {
      organizations([fieldsLink]);
      fields('/platform/fields', []);
      const detail = expect.stringContaining('got none among 1');
      expect((await staged.client.read(known)).answer).toMatchObject({ ...unshared, detail });
    });

    test('waits where the list of its fields is refused', async () => {
      organizations([fieldsLink]);
      api().get('/platform/fields?itemLimit=100').reply(403, said('Access denied'), axiom);
      const expected = { ...unshared, detail: expect.stringContaining('Access denied'), forbidden: true };
      expect((await staged.client.read(known)).answer).toMatchObject(expected);
    });

    test.each([
      ['an operation', [other]],
      ['that it has none', []],
    ])(
      'is gone where the first field shows %s, which counts for the others for a minute',
      async (_what, values) => {
        const open = [
          { id: 'f1', links: [listOf('f1')] },
          { id: 'f2', links: [listOf('f2')] },
        ];
        organizations([fieldsLink], 2);
        api().get('/platform/fields?itemLimit=100').reply(200, { values: open }, axiom);
        opsOf('f1', values);
        expect((await staged.client.read(known)).answer.kind).toBe('gone');

        catalog();
        missing(404, '/platform/fieldOperations/op-3');
        organizations([fieldsLink]);
        const third = {
          address: `${origin}/platform/fieldOperations/op-3`,
          resource: { ...known.resource!, id: 'op-3' },
        };
        expect((await staged.client.read({ ...known, ...third })).answer.kind).toBe('gone');
      },
    );

    test('goes on to the next field where the first one holds what names nothing, and is found there', async () => {
      organizations([fieldsLink]);
      const values = [
        { id: 'f1', links: [listOf('f1')] },
        { id: 'f2', links: [listOf('f2')] },
      ];
      api().get('/platform/fields?itemLimit=100').reply(200, { values }, axiom);
      opsOf('f1', [null]);
      opsOf('f2', [op1([self(`${origin}/platform/x/op-1`)])]);
      api().get('/platform/x/op-1').query(true).reply(200, operation, axiom);
      expect((await staged.client.read(known)).answer.kind).toBe('ok');
    });
  });

  test('with an unknown owner waits where any organization that is connected shows no fields', async () => {
    const closed = { id: '1', links: [{ rel: 'connections', uri: 'https://c.test/' }] };
    catalog(undefined, 3);
    for (const [values, expected] of [
      [[closed, { id: '4711', links: [] }], unshared],
      [[closed], { kind: 'gone' }],
    ] as const) {
      missing();
      api().get('/platform/organizations?itemLimit=100').reply(200, { values }, axiom);
      expect((await staged.client.read(requestFor(operationUrl))).answer).toMatchObject(expected);
    }
  });

  test('waits where the link to the fields of its organization cannot be read', async () => {
    catalog(undefined, 2);
    missing();
    organizations([{ rel: 'fields', uri: 5 as never }]);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'transient',
      code: 'relocation-incomplete',
      detail:
        'expected an address in the link `fields`, got number at ' +
        `${origin}/platform/organizations?itemLimit=100`,
    });
  });

  test('waits where the list of a field is not found, and is found in that of another', async () => {
    const listOf = (id: string) => ({
      id,
      links: [{ rel: 'fieldOperations', uri: `${origin}/platform/${id}/ops` }],
    });
    catalog();
    for (const values of [[], [op1([self(`${origin}/platform/x/op-1`)])]]) {
      missing();
      catalog();
      organizations([{ rel: 'fields', uri: `${origin}/platform/fields` }]);
      api()
        .get('/platform/fields?itemLimit=100')
        .reply(200, { values: [listOf('f1'), listOf('f2')] }, axiom);
      api().get('/platform/f1/ops?itemLimit=100').reply(404, '', axiom);
      api().get('/platform/f2/ops?itemLimit=100').reply(200, { values }, axiom);
      if (values.length > 0) api().get('/platform/x/op-1').query(true).reply(200, operation, axiom);
      expect((await staged.client.read(known)).answer).toMatchObject(
        values.length > 0 ? { kind: 'ok' } : { kind: 'transient', code: 'relocation-incomplete' },
      );
    }
  });

  test('whose organization may be an entry that names nothing waits', async () => {
    catalog(undefined, 2);
    missing();
    api()
      .get('/platform/organizations?itemLimit=100')
      .reply(200, { values: [{ name: 'Nobody' }] }, axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'transient',
      code: 'organization-unavailable',
      detail: expect.stringContaining('entry 1 of a page: expected an object with an id'),
    });
  });

  test('is not gone while its organization is not listed, or not connected', async () => {
    catalog(undefined, 3);
    missing();
    api().get('/platform/organizations?itemLimit=100').times(2).reply(200, { values: [] }, axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'transient',
      code: 'organization-unlisted',
    });
    missing();
    organizations([{ rel: 'connections', uri: 'https://c.test/' }], 2);
    expect((await staged.client.read(known)).answer.kind).toBe('not-connected');
  });

  describe('through one user', () => {
    const at = `${equipmentOrigin}/isg/equipment/5`;
    const resource = { kind: 'equipment', id: '5' } as const;
    const machine = requestFor(at, { organizationId: '4711', resource, connectionId: 'c1' });
    const asked = (token: string) =>
      equipmentApi()
        .matchHeader('authorization', `Bearer ${token}`)
        .get('/isg/equipment/5?embed=devices,equipment');
    const other = 'other-canary-token';

    beforeEach(() => {
      const connections = [connectionOf(), connectionOf({ connectionId: 'c2', token: new Secret(other) })];
      staged = stageClient({}, connections);
      staged.sees.set('c2', new Set(['4711']));
    });

    /** What the first is answered. */
    function missed() {
      catalog(undefined, 2);
      organizations([]);
      asked('canary-token').reply(404, '', json);
    }

    test('is read through another who sees its organization', async () => {
      missed();
      catalog();
      asked(other).reply(200, { id: 5 }, json);
      const { answer } = await staged.client.read(machine);
      expect(answer).toMatchObject({ kind: 'ok', document: { connectionId: 'c2' } });
    });

    test.each([
      ['not found either', 404, ''],
      ['refused to that one', 403, said('Access Denied')],
    ])('and %s is not found by the first', async (_what, status, body) => {
      missed();
      catalog(undefined, status === 404 ? 2 : 1);
      organizations([]);
      asked(other).reply(status, body, json);
      const { answer } = await staged.client.read(machine);
      expect(answer).toMatchObject({ kind: 'gone', connectionId: 'c1' });
    });

    test('waits while another’s answer is not known', async () => {
      missed();
      catalog();
      asked(other).reply(503, '', json);
      const { answer } = await staged.client.read(machine);
      // Whether others succeed meanwhile shows where the rest is read.
      expect(answer).toMatchObject({ kind: 'transient', code: 'status-503', connectionId: 'c1' });
    });

    test('is gone without asking another where it said so for good, or its owner is only claimed', async () => {
      catalog(undefined, 2);
      organizations([]);
      asked('canary-token').reply(410, '', json);
      expect((await staged.client.read(machine)).answer).toMatchObject({ kind: 'gone', certain: true });
      catalog();
      asked('canary-token').reply(404, '', json);
      const claimed = {
        resource: null,
        organizationId: null,
        hintedOrganizationId: '4711',
        hintedUser: null,
      };
      const { answer } = await staged.client.read({ ...machine, ...claimed });
      expect(answer).toMatchObject({ kind: 'gone', connectionId: 'c1' });
    });
  });

  test('waits when the search cannot be finished', async () => {
    catalog(undefined, 2);
    missing();
    organizations([{ rel: 'fields', uri: `${origin}/platform/fields` }]);
    api().get('/platform/fields?itemLimit=100').reply(400, '', axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'transient',
      code: 'relocation-incomplete',
    });

    catalog();
    missing();
    organizations([{ rel: 'fields', uri: `${origin}/platform/fields` }]);
    fields('/platform/fields', [{ rel: 'fieldOperations', uri: 'https://evil.test/ops' }]);
    expect((await staged.client.read(known)).answer).toMatchObject({
      kind: 'transient',
      code: 'relocation-incomplete',
    });

    catalog();
    missing();
    api().get('/platform/organizations?itemLimit=100').reply(503, '', axiom);
    expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'transient', code: 'status-503' });

    missing();
    api().get('/platform/').reply(500);
    expect((await staged.client.read(known)).answer).toMatchObject({ kind: 'transient', code: 'status-500' });
  });

  test('with an unknown owner is searched in every organization that is open', async () => {
    const unknown = requestFor(operationUrl);
    const closed = { id: '1', links: [{ rel: 'fields', uri: `${origin}/platform/closed` }] };
    const open = { id: '2', links: [{ rel: 'fields', uri: `${origin}/platform/fields` }] };
    const terms = { ...axiom, 'x-acme-terms-location': 'https://t.test/' };
    const listBoth = () => {
      api()
        .get('/platform/organizations?itemLimit=100')
        .reply(200, { values: [closed, open] }, axiom);
      api().get('/platform/closed?itemLimit=100').reply(403, '', terms);
    };
    catalog(undefined, 4);
    missing();
    listBoth();
    api().get('/platform/fields?itemLimit=100').reply(200, { values: [] }, axiom);
    expect((await staged.client.read(unknown)).answer).toMatchObject({
      kind: 'transient',
      code: 'relocation-incomplete',
      detail:
        `organization 1 is closed: page 1: it was not answered with a page (action-required) at ` +
        `${origin}/platform/closed; a customer acts at https://t.test/`,
    });

    missing();
    listBoth();
    api().get('/platform/fields?itemLimit=100').reply(500, '', axiom);
    expect((await staged.client.read(unknown)).answer).toMatchObject({
      kind: 'transient',
      code: 'status-500',
    });

    missing();
    api().get('/platform/organizations?itemLimit=100').reply(429, '', axiom);
    expect((await staged.client.read(unknown)).answer.kind).toBe('rate-limited');
  });

  test.each<[string, (base: nock.Scope) => unknown, unknown, string]>([
    [
      'is refused as closed',
      (base) => base.get('/platform/ops?itemLimit=100').reply(403, said('Access Denied'), axiom),
      `${origin}/platform/ops`,
      'organization 1 is closed: page 1: it was not answered with a page (forbidden) at ' +
        `${origin}/platform/ops – Access Denied`,
    ],
    [
      'is not found as that',
      (base) => base.get('/platform/ops?itemLimit=100').reply(404, '', axiom),
      `${origin}/platform/ops`,
      `organization 1: page 1: it was not answered with a page (gone) at ${origin}/platform/ops`,
    ],
    [
      'is no page as that',
      (base) => base.get('/platform/ops?itemLimit=100').reply(200, { values: 'none' }, axiom),
      `${origin}/platform/ops`,
      `organization 1: page 1: expected a list of values, got string (malformed-page) at ${origin}/platform/ops`,
    ],
    [
      'may not be followed as that',
      () => {},
      'https://evil.test/ops',
      "organization 1: page 1: the origin https://evil.test is not one of the provider's (address-refused) at https://evil.test/ops",
    ],
    [
      'cannot be read as that',
      () => {},
      7,
      'organization 1: a field: expected an address in the link `fieldOperations`, got number',
    ],
  ])('with an unknown owner, a list that %s is told', async (_what, answer, uri, detail) => {
    const open = { id: '1', links: [{ rel: 'fields', uri: `${origin}/platform/fields` }] };
    catalog(undefined, 2);
    missing();
    api()
      .get('/platform/organizations?itemLimit=100')
      .reply(200, { values: [open] }, axiom);
    fields('/platform/fields', [{ rel: 'fieldOperations', uri: uri as string }]);
    answer(api());
    expect((await staged.client.read(requestFor(operationUrl))).answer).toMatchObject({
      kind: 'transient',
      code: 'relocation-incomplete',
      detail: expect.stringContaining(detail),
    });
  });

  test('is judged by a catalog that was read after it was not found, never by one under way before', async () => {
    const equipmentAt = (id: string) => `${equipmentOrigin}/isg/equipment/${id}`;
    const links = [{ rel: 'organizations', uri: `${origin}/platform/organizations` }];
    const [catalogAsked, secondHeard] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const notFound = (id: string, when: Promise<void>) =>
      equipmentApi()
        .get(`/isg/equipment/${id}`)
        .query(true)
        .reply(async () => {
          await when;
          return [404, '', json];
        });
    staged.heard = () => {
      if (staged.calls.filter(({ status }) => status === 404).length === 2) secondHeard.resolve();
    };
    catalog();
    // The second is not found while the catalog is read anew for the first.
    api()
      .get('/platform/')
      .reply(async () => {
        catalogAsked.resolve();
        await secondHeard.promise;
        return [200, { links }, axiom];
      });
    catalog();
    notFound('1', Promise.resolve());
    notFound('2', catalogAsked.promise);
    const answers = await Promise.all(
      ['1', '2'].map((id) => staged.client.read(requestFor(equipmentAt(id)))),
    );
    expect(answers.map(({ answer }) => answer.kind)).toEqual(['gone', 'gone']);
    expect(staged.calls.filter(({ operation: name }) => name === 'catalog')).toHaveLength(3);
  });

  test('is gone without a search when its address names no id', async () => {
    catalog();
    missing(404, '/platform/fieldOperations/');
    expect((await staged.client.read(requestFor(`${origin}/platform/fieldOperations/`))).answer.kind).toBe(
      'gone',
    );
  });

  test('equipment is found below the configured base', async () => {
    catalog(undefined, 2);
    api().get('/platform/old/217001?embed=devices,equipment').reply(404, '', axiom);
    equipmentApi().get('/isg/equipment/217001?embed=devices,equipment').reply(200, { id: 217001 }, json);
    const resource = { kind: 'equipment', id: '217001' } as const;
    const { answer } = await staged.client.read(requestFor(`${origin}/platform/old/217001`, { resource }));
    expect(answer).toMatchObject({
      kind: 'ok',
      document: { address: `${equipmentOrigin}/isg/equipment/217001` },
    });
  });

  test.each([404, 410])(
    '%i at an address of it with a query says nothing of the one without',
    async (status) => {
      catalog(undefined, 2);
      equipmentApi().get('/isg/equipment/5?view=all&embed=devices,equipment').reply(status, '', json);
      equipmentApi().get('/isg/equipment/5?embed=devices,equipment').reply(200, { id: 5 }, json);
      const resource = { kind: 'equipment', id: '5' } as const;
      const machine = requestFor(`${equipmentOrigin}/isg/equipment/5?view=all`, { resource });
      expect((await staged.client.read(machine)).answer).toMatchObject({
        kind: 'ok',
        document: { address: `${equipmentOrigin}/isg/equipment/5` },
      });

      missing(status);
      catalog();
      organizations([
        self(`${origin}/platform/organizations/4711`),
        { rel: 'fields', uri: `${origin}/platform/fields` },
      ]);
      fields('/platform/fields', [{ rel: 'fieldOperations', uri: `${origin}/platform/operations` }]);
      api()
        .get('/platform/operations?itemLimit=100')
        .reply(200, { values: [{ id: 'op-1', links: [self(operationUrl)] }] }, axiom);
      api().get('/platform/fieldOperations/op-1?embed=measurementTypes').reply(200, operation, axiom);
      const viewed = await staged.client.read({ ...known, address: `${operationUrl}?view=all` });
      expect(viewed.answer).toMatchObject({ kind: 'ok', document: { address: operationUrl } });
    },
  );

  test('equipment that a filter does not find is gone', async () => {
    catalog(undefined, 2);
    equipmentApi().get('/isg/equipment?ids=5&embed=devices,equipment').reply(200, { values: [] }, json);
    equipmentApi().get('/isg/equipment/5?embed=devices,equipment').reply(404, '', json);
    const resource = { kind: 'equipment', id: '5' } as const;
    const { answer } = await staged.client.read(
      requestFor(`${equipmentOrigin}/isg/equipment?ids=5`, { resource }),
    );
    expect(answer).toMatchObject({ kind: 'gone', certain: false });
  });
});

describe('a probe', () => {
  const due: DueProbe = {
    organizationId: '4711',
    epoch: 1,
    refusedAddress: null,
    knownAddress: null,
    connectionId: 'c1',
  };
  const record = (links: { rel: string; uri: string }[]) => organizations(links);

  test('repeats the refused request', async () => {
    catalog();
    api().get('/platform/fieldOperations/op-1').query(true).reply(200, operation, axiom);
    const answer = await staged.client.probe({
      ...due,
      refusedAddress: operationUrl,
      knownAddress: `${origin}/platform/x`,
    });
    expect(answer.kind).toBe('ok');
    expect(staged.calls.at(-1)).toMatchObject({ operation: 'probe' });
  });

  test('believes no refusal that names another organization that the connection sees', async () => {
    catalog();
    const termsOf = (id: string) => ({
      ...axiom,
      'x-acme-terms-location': `https://t.test/organizations/${id}/terms`,
    });
    const asked = { ...due, refusedAddress: `${origin}/platform/moved`, knownAddress: operationUrl };
    const refusedFor = (id: string) => api().get('/platform/moved').query(true).reply(403, '', termsOf(id));
    api().get('/platform/fieldOperations/op-1').query(true).reply(200, operation, axiom);
    staged.sees.get('c1')!.add('4712');
    refusedFor('4712');
    expect((await staged.client.probe(asked)).kind).toBe('ok');
    for (const id of [due.organizationId, 'foreign']) {
      refusedFor(id);
      expect(await staged.client.probe(asked)).toMatchObject({ kind: 'action-required', cause: 'terms' });
    }
  });

  test('goes on to a known resource when the refused address is refused by the gate or of no use', async () => {
    catalog();
    api().get('/platform/fieldOperations/op-1').query(true).times(2).reply(200, operation, axiom);
    api().get('/platform/odd').query(true).reply(400, '', axiom);
    expect(
      (
        await staged.client.probe({
          ...due,
          refusedAddress: 'https://evil.test/',
          knownAddress: operationUrl,
        })
      ).kind,
    ).toBe('ok');
    expect(
      (
        await staged.client.probe({
          ...due,
          refusedAddress: `${origin}/platform/odd`,
          knownAddress: operationUrl,
        })
      ).kind,
    ).toBe('ok');
  });

  test('reads the first page of a relationship where nothing is known', async () => {
    catalog();
    record([
      self(`${origin}/platform/organizations/4711`),
      { rel: 'manage_connections', uri: 'https://c.test/' },
      { rel: 'fields', uri: `${origin}/platform/fields` },
    ]);
    api()
      .get('/platform/fields?itemLimit=1')
      .reply(403, '', { ...axiom, 'x-acme-terms-location': 'https://t.test/' });
    expect(await staged.client.probe(due)).toMatchObject({ kind: 'action-required', cause: 'terms' });
  });

  test('tries other relationships when one leads nowhere', async () => {
    catalog();
    const rels = [
      { rel: 'a', uri: 'https://evil.test/' },
      { rel: 'b', uri: `${origin}/platform/b?itemLimit=5` },
      { rel: 'c', uri: `${origin}/platform/c` },
      { rel: 'd', uri: `${origin}/platform/d` },
    ];
    record(rels.slice(0, 3));
    api().get('/platform/b?itemLimit=5').reply(404, '', axiom);
    api().get('/platform/c?itemLimit=1').reply(403, said('Access Denied'), axiom);
    expect(await staged.client.probe(due)).toMatchObject({ kind: 'no-access', message: 'Access Denied' });
    record(rels.slice(2));
    api().get('/platform/c?itemLimit=1').reply(403, said('missing scope'), axiom);
    api().get('/platform/d?itemLimit=1').reply(405, '', axiom);
    expect(await staged.client.probe(due)).toMatchObject({ kind: 'client-refused' });
  });

  test('of a connected organization that shares nothing finds nothing that blocks it', async () => {
    catalog();
    record([]);
    expect(await staged.client.probe(due)).toEqual({ kind: 'not-modified', connectionId: 'c1' });
  });

  test('goes on where a known operation is not found, and may stand among fields that are not shared', async () => {
    catalog(undefined, 2);
    api().get('/platform/fieldOperations/op-1').query(true).reply(404, '', axiom);
    record([]);
    record([{ rel: 'files', uri: `${origin}/platform/files` }]);
    api().get('/platform/files?itemLimit=1').reply(200, { values: [] }, axiom);
    expect((await staged.client.probe({ ...due, knownAddress: operationUrl })).kind).toBe('ok');
  });

  test('concludes nothing where it may ask nothing that is shared, and goes past what it may not ask', async () => {
    catalog();
    const elsewhere = ['a', 'b', 'c'].map((rel) => ({ rel, uri: `https://moved.test/${rel}` }));
    record(elsewhere);
    expect(await staged.client.probe(due)).toMatchObject({
      kind: 'address-refused',
      detail: expect.stringContaining('https://moved.test'),
    });
    record([...elsewhere, { rel: 'd', uri: `${origin}/platform/d` }]);
    api()
      .get('/platform/d?itemLimit=1')
      .reply(403, '', { ...axiom, 'x-acme-terms-location': 'https://t.test/' });
    expect(await staged.client.probe(due)).toMatchObject({ kind: 'action-required', cause: 'terms' });
    record([...elsewhere, { rel: 'd', uri: `${origin}/platform/d` }]);
    api().get('/platform/d?itemLimit=1').reply(404, '', axiom);
    expect((await staged.client.probe(due)).kind).toBe('address-refused');
  });

  test.each([
    ['before', ['away', 'a', 'b', 'c']],
    ['after', ['a', 'b', 'c', 'away']],
  ])(
    'concludes nothing from what is not found, whether what it may not ask stands %s it',
    async (_where, rels) => {
      catalog();
      record(
        rels.map((rel) => ({
          rel,
          uri: rel === 'away' ? 'https://moved.test/' : `${origin}/platform/${rel}`,
        })),
      );
      for (const rel of ['a', 'b', 'c']) api().get(`/platform/${rel}?itemLimit=1`).reply(404, '', axiom);
      expect((await staged.client.probe(due)).kind).toBe('address-refused');
    },
  );

  test.each([[['missing scope', 'Access Denied']], [['Access Denied', 'missing scope']]])(
    'concludes nothing where the client is refused, in whatever order its relationships say %j',
    async (messages) => {
      catalog();
      record(messages.map((_message, index) => ({ rel: `r${index}`, uri: `${origin}/platform/r${index}` })));
      for (const [index, message] of messages.entries()) {
        api().get(`/platform/r${index}?itemLimit=1`).reply(403, said(message), axiom);
      }
      expect((await staged.client.probe(due)).kind).toBe('client-refused');
    },
  );

  test('sees the connections link', async () => {
    catalog();
    record([{ rel: 'connections', uri: 'https://c.test/' }]);
    expect(await staged.client.probe(due)).toEqual({
      kind: 'not-connected',
      actionUrl: 'https://c.test/',
      connectionId: 'c1',
    });
  });

  test('says nothing about an organization that is not listed or cannot be listed', async () => {
    catalog();
    api().get('/platform/organizations?itemLimit=100').reply(200, { values: [] }, axiom);
    expect((await staged.client.probe(due)).kind).toBe('refused-unattributed');
    api().get('/platform/organizations?itemLimit=100').reply(503, '', axiom);
    expect((await staged.client.probe(due)).kind).toBe('transient');
  });

  test('pays for each call beyond its first before it makes it, whatever it finds; a read pays for none', async () => {
    const callsAt: number[] = [];
    const counted = stageClient({}, undefined, {
      async payProbeCall() {
        callsAt.push(counted.calls.length);
      },
    });
    const calls = async (probe: DueProbe) => {
      const before = counted.calls.length;
      const { kind } = await counted.client.probe({ ...probe });
      const made = counted.calls.slice(before).length;
      const paidBefore = callsAt.splice(0).map((at) => at - before);
      expect([kind, paidBefore]).toEqual([kind, Array.from({ length: made - 1 }, (_, call) => call + 1)]);
      return [kind, made];
    };
    catalog();
    record([{ rel: 'connections', uri: 'https://c.test/' }, self(`${origin}/platform/organizations/4711`)]);
    expect(await calls(due)).toEqual(['not-connected', 2]);
    const refused = { ...due, refusedAddress: `${origin}/platform/refused`, knownAddress: operationUrl };
    const one = { id: '4711', links: [{ rel: 'connections', uri: 'https://c.test/' }] };
    api().get('/platform/refused').query(true).reply(403, said('Access Denied'), axiom);
    api().get('/platform/organizations/4711').reply(200, one, axiom);
    expect(await calls(refused)).toEqual(['not-connected', 2]);
    api().get('/platform/refused').query(true).reply(400, '', axiom);
    api().get('/platform/organizations/4711').reply(200, { id: '4711', links: [] }, axiom);
    api().get('/platform/fieldOperations/op-1').query(true).reply(403, said('Access Denied'), axiom);
    expect(await calls(refused)).toEqual(['no-access', 3]);
    api().get('/platform/fieldOperations/op-1').query(true).reply(401, '', axiom);
    api().get('/platform/').reply(401, '', axiom);
    expect(await calls({ ...due, knownAddress: operationUrl })).toEqual(['reauthorize', 2]);
    api().get('/platform/fieldOperations/op-1').query(true).reply(403, said('Access Denied'), axiom);
    api().get('/platform/organizations/4711').reply(200, one, axiom);
    await counted.client.read(requestFor(operationUrl, { organizationId: '4711' }));
    expect(callsAt).toEqual([]);
    counted.client.close();
  });

  test('that ends without a connection has its first call left, also where a refused token was shown again', async () => {
    const refused = connectionOf({ status: 'refused' });
    let paid = 0;
    const counted = stageClient({}, [refused], {
      async payProbeCall() {
        paid += 1;
      },
    });
    expect((await counted.client.probe({ ...due, organizationId: '9' })).kind).toBe('no-connection');
    expect([counted.calls.length, paid]).toEqual([0, 0]);
    api().get('/platform/').reply(401, '', axiom);
    expect((await counted.client.probe({ ...due })).kind).toBe('no-connection');
    expect([counted.calls.length, paid]).toEqual([1, 1]);
    counted.client.close();
  });

  test('needs a connection and a catalog', async () => {
    expect((await staged.client.probe({ ...due, organizationId: '9' })).kind).toBe('no-connection');
    api().get('/platform/').twice().reply(401, '', axiom);
    expect((await staged.client.probe(due)).kind).toBe('reauthorize');
  });
});

describe('organizations', () => {
  async function listed(connectionId = 'c1') {
    const pages = [];
    for await (const page of staged.client.organizations(connectionId)) pages.push(page);
    return pages;
  }

  test('whose id nobody could use are none, and told', async () => {
    catalog();
    const values = ['1.5', '1e400', '"a\\u0000b"', '"\\ud800"', '4711'].map(
      (id) => `{"id":${id},"links":[]}`,
    );
    api().get('/platform/organizations?itemLimit=100').reply(200, `{"values":[${values}]}`, axiom);
    expect(await listed()).toMatchObject([
      { organizations: [{ id: '4711' }] },
      {
        reason: 'malformed-entry',
        detail: expect.stringContaining('got an object with another, and 3 more'),
      },
    ]);
  });

  test('are listed to the last page', async () => {
    catalog();
    api()
      .get('/platform/organizations?itemLimit=100')
      .reply(
        200,
        {
          links: [{ rel: 'nextPage', uri: `${origin}/platform/organizations?pageOffset=1` }],
          values: [{ id: 1, name: 'A' }],
        },
        axiom,
      );
    api()
      .get('/platform/organizations?pageOffset=1')
      .reply(200, { values: [{ id: '2', links: [{ rel: 'connections', uri: 'https://c.test/' }] }] }, axiom);
    expect(await listed()).toMatchObject([
      { partial: false, organizations: [{ id: '1', name: 'A', unconnected: false, connectUrl: null }] },
      {
        partial: false,
        organizations: [{ id: '2', name: null, unconnected: true, connectUrl: 'https://c.test/' }],
      },
    ]);
  });

  test('whose listing breaks off are told as partial, with the answer behind it', async () => {
    catalog();
    api()
      .get('/platform/organizations?itemLimit=100')
      .reply(
        200,
        { links: [{ rel: 'nextPage', uri: `${origin}/platform/organizations?pageOffset=1` }], values: [] },
        axiom,
      );
    api().get('/platform/organizations?pageOffset=1').reply(429, '', axiom);
    expect(await listed()).toMatchObject([
      { partial: false, organizations: [] },
      { partial: true, reason: 'call-failed', answer: { kind: 'rate-limited' } },
    ]);
    api().get('/platform/organizations?itemLimit=100').reply(403, '', axiom);
    expect(await listed()).toMatchObject([{ partial: true, reason: 'call-failed', answer: null }]);
    const scope = { kind: 'client-refused', message: 'missing scope org1' };
    api().get('/platform/organizations?itemLimit=100').reply(403, said(scope.message), axiom);
    expect(await listed()).toMatchObject([{ partial: true, reason: 'call-failed', answer: scope }]);
  });

  test('are found again when the listing has moved', async () => {
    catalog();
    api().get('/platform/organizations?itemLimit=100').reply(404, '', axiom);
    catalog([['organizations', `${origin}/platform/v2/organizations`]]);
    api()
      .get('/platform/v2/organizations?itemLimit=100')
      .reply(200, { values: [{ id: '1' }] }, axiom);
    expect(await listed()).toMatchObject([{ partial: false, organizations: [{ id: '1' }] }]);
  });

  /** The first page; the second one is nowhere. */
  function halfListed(at: string, id: string): void {
    const links = [{ rel: 'nextPage', uri: `${origin}${at}?pageOffset=1` }];
    api()
      .get(`${at}?itemLimit=100`)
      .reply(200, { links, values: [{ id }] }, axiom);
    api().get(`${at}?pageOffset=1`).reply(404, '', axiom);
  }

  test('are listed from the beginning when the listing moves between two pages, each once', async () => {
    catalog();
    halfListed('/platform/organizations', '1');
    catalog([['organizations', `${origin}/platform/v2/organizations`]]);
    api()
      .get('/platform/v2/organizations?itemLimit=100')
      .reply(200, { values: [{ id: '1' }, { id: '2' }] }, axiom);
    expect(await listed()).toMatchObject([
      { partial: false, organizations: [{ id: '1' }] },
      { partial: false, organizations: [{ id: '2' }] },
    ]);
  });

  test('are partial when a later page is found nowhere, after four times', async () => {
    for (let place = 1; place <= 4; place += 1) {
      catalog([['organizations', `${origin}/platform/v${place}/organizations`]]);
      halfListed(`/platform/v${place}/organizations`, `${place}`);
    }
    const pages = await listed();
    expect(pages).toHaveLength(5);
    expect(pages.at(-1)).toMatchObject({ partial: true, reason: 'call-failed', answer: { kind: 'gone' } });
  });

  test('are partial when the listing is found nowhere', async () => {
    catalog(undefined, 2);
    api().get('/platform/organizations?itemLimit=100').times(2).reply(404, '', axiom);
    expect(await listed()).toMatchObject([
      { partial: true, reason: 'call-failed', answer: { kind: 'gone' } },
    ]);
  });

  test('are partial without a catalog, and where it does not name them', async () => {
    api().get('/platform/').reply(500);
    expect(await listed()).toMatchObject([
      { partial: true, reason: 'call-failed', answer: { kind: 'transient' } },
    ]);
    catalog([], 2);
    expect(await listed()).toMatchObject([{ partial: true, reason: 'no-listing', answer: null }]);
    // One that was kept without it is read anew before that is said.
    catalog();
    api().get('/platform/organizations?itemLimit=100').reply(200, { links: [], values: [] }, axiom);
    expect(await listed()).toMatchObject([{ partial: false, organizations: [] }]);
  });

  test('of an unknown or refused connection are not listed', async () => {
    expect(await listed('nobody')).toMatchObject([{ partial: true, answer: { kind: 'no-connection' } }]);
    staged.connections[0] = connectionOf({ status: 'refused' });
    expect(await listed()).toMatchObject([{ partial: true, answer: { kind: 'no-connection' } }]);
    expect(await staged.client.readOrganization('4711', 'c1')).toMatchObject({
      answer: { kind: 'no-connection' },
    });
  });

  test('are read one by one', async () => {
    catalog();
    organizations([]);
    expect(await staged.client.readOrganization('4711', 'c1')).toMatchObject({
      organization: { id: '4711', name: 'North Farm' },
    });
  });
});

describe('the equipment API', () => {
  const asked = () => equipmentApi().get('/isg/equipmentMakes?itemLimit=1');
  const more = { rel: 'nextPage', uri: `${equipmentOrigin}/isg/equipmentMakes?pageOffset=1&itemLimit=1` };

  test('that answers is asked once, without the catalog and without more pages', async () => {
    asked().reply(200, { links: [more], values: [{ id: 1 }] }, json);
    expect(await staged.client.equipmentTrouble('c1')).toBeNull();
  });

  test.each([
    ['the user', 403],
    ['the token', 401],
    ['for a while', 429],
  ])('that refuses %s has answered', async (_whom, status) => {
    // A refused token is shown to the catalog as well.
    if (status === 401) api().get('/platform/').reply(401, said('no'), json);
    asked().reply(status, said('no'), { ...json, 'retry-after': '60' });
    expect(await staged.client.equipmentTrouble('c1')).toBeNull();
  });

  test.each([
    ['is not there', 404, '', 'nothing is found at ADDRESS (status 404)'],
    ['is gone for good', 410, '', 'nothing is found at ADDRESS (status 410)'],
    ['is in trouble', 503, '', 'no list of makes came from ADDRESS: status 503'],
    [
      'is another one',
      200,
      { catalog: 1 },
      'no list of makes came from ADDRESS: expected a list of values, got an object without it',
    ],
    [
      'shows a page',
      200,
      '<html>',
      'no list of makes came: expected a JSON document, got application/json, 6 bytes that are no JSON at ADDRESS',
    ],
  ])('that %s is told with its address, and in no words of a list', async (_how, status, body, words) => {
    asked().reply(status, body, json);
    const trouble = await staged.client.equipmentTrouble('c1');
    const address = `${equipmentOrigin}/isg/equipmentMakes`;
    expect(trouble?.replace(address, 'ADDRESS').replace('?itemLimit=1', '')).toBe(words);
  });

  test('is not asked through a connection that is none, nor where the older endpoints are read', async () => {
    expect(await staged.client.equipmentTrouble('c9')).toBeNull();
    staged.client.close();
    staged = stageClient({ equipmentApi: 'old' });
    expect(await staged.client.equipmentTrouble('c1')).toBeNull();
  });
});
