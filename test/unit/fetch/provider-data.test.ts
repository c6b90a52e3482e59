// What people read and write directly, against recorded answers: each filter in its address, each refusal in its place,
// reference data remembered, a write sent once and read back. No other network is there.
import nock from 'nock';
import type { Connection } from '../../../src/model/connection';
import type { EquipmentFilter, EquipmentWish, RawListed } from '../../../src/model/provider-data';
import {
  connectionOf,
  equipmentOrigin,
  origin,
  type Staged,
  stageClient,
  startMs,
} from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json' };
const json = { 'content-type': 'application/json' };
const api = () => nock(origin);
const equipmentApi = () => nock(equipmentOrigin);
const machine = (id: number, more: object = {}) => ({
  '@type': 'Machine',
  id,
  organization: { id: 4711 },
  ...more,
});
const link = (rel: string, uri: string) => ({ '@type': 'Link', rel, uri });

let staged: Staged;

// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());

beforeEach(() => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  staged = stageClient();
  catalog();
});

afterEach(() => {
  staged.client.close();
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
  nock.enableNetConnect();
});

function catalog(): void {
  const links = [
    link('organizations', `${origin}/platform/organizations`),
    link('files', `${origin}/platform/files`),
  ];
  api().get('/platform/').reply(200, { links }, axiom);
}

function organization(links: object[], id = '4711'): void {
  const values = [{ '@type': 'Organization', id, name: 'North Farm', links }];
  api().get('/platform/organizations?itemLimit=100').reply(200, { links: [], total: 1, values }, axiom);
}

const any: EquipmentFilter = {
  organizationIds: [],
  ids: [],
  serialNumbers: [],
  category: null,
  archived: null,
};
const wish: EquipmentWish = {
  category: 'machine',
  name: 'New',
  serialNumber: null,
  makeId: null,
  typeId: null,
  modelId: '66280',
};

async function allOf(lines: AsyncIterable<RawListed>): Promise<RawListed[]> {
  const all: RawListed[] = [];
  for await (const line of lines) all.push(line);
  return all;
}
const faultsOf = (lines: RawListed[]) => lines.flatMap((line) => ('fault' in line ? [line.fault] : []));
const itemsOf = (lines: RawListed[]) => lines.flatMap((line) => ('item' in line ? [line.item] : []));

describe('equipment', () => {
  test('each organization that is seen is listed with what belongs to its records', async () => {
    staged.sees.set('c1', new Set(['4711', '4712']));
    for (const organizationIds of ['4711', '4712']) {
      equipmentApi()
        .get('/isg/equipment')
        .query({ organizationIds, embed: 'devices,equipment', itemLimit: '1000' })
        .reply(200, { links: [], values: [machine(Number(organizationIds))] }, json);
    }
    const items = itemsOf(await allOf(staged.client.data.equipment(any)));
    expect(items.map(({ address }) => address)).toEqual([
      `${equipmentOrigin}/isg/equipment/4711`,
      `${equipmentOrigin}/isg/equipment/4712`,
    ]);
    expect(items[0]).toMatchObject({ mediaType: 'application/json', connectionId: 'c1' });
  });

  test('a page that leads back to itself is not asked for again, and is the second that is told', async () => {
    const asked = `${equipmentOrigin}/isg/equipment?organizationIds=4711&embed=devices%2Cequipment&itemLimit=1000`;
    equipmentApi()
      .get('/isg/equipment')
      .query({ organizationIds: '4711', embed: 'devices,equipment', itemLimit: '1000' })
      .reply(200, { links: [link('nextPage', asked)], values: [machine(7)] }, json);
    const lines = await allOf(staged.client.data.equipment(any));
    expect(itemsOf(lines)).toHaveLength(1);
    expect(faultsOf(lines)).toEqual([
      expect.objectContaining({ detail: 'page 2: it is an earlier page again (loop)' }),
    ]);
  });

  const filters = { organizationIds: ['4711'], category: 'implement', archived: false } as const;

  test('every filter stands in the address, by the contract’s names', async () => {
    for (const [name, values] of [
      ['ids', '7,8'],
      ['serialNumbers', 'A%20B'],
    ]) {
      equipmentApi()
        .get(
          `/isg/equipment?organizationIds=4711&category=implement&archived=false&${name}=${values}&embed=devices%2Cequipment&itemLimit=1000`,
        )
        .reply(200, { links: [], values: [machine(7)] }, json);
    }
    const { data } = staged.client;
    const filter: EquipmentFilter = { ...any, ...filters, organizationIds: ['4711'] };
    expect(itemsOf(await allOf(data.equipment({ ...filter, ids: ['7', '8', '7'] })))).toHaveLength(1);
    expect(itemsOf(await allOf(data.equipment({ ...filter, serialNumbers: ['A B'] })))).toHaveLength(1);
  });

  test('what is asked for by id and serial number fits both, and what cannot be read is not hidden', async () => {
    const values = [machine(7, { serialNumber: 'A' }), machine(8, { serialNumber: 'B' }), machine(9), 'text'];
    equipmentApi()
      .get('/isg/equipment')
      .query(({ ids, serialNumbers }) => ids === '7,8,9' && serialNumbers === undefined)
      .reply(200, { links: [], values }, json);
    const filter = { ...any, organizationIds: ['4711'], ids: ['7', '8', '9'], serialNumbers: ['A', 'C'] };
    const items = itemsOf(await allOf(staged.client.data.equipment(filter)));
    expect(items.map(({ body }) => body)).toEqual([values[0], 'text']);
  });

  test('an id that nothing can be read by hides no other record', async () => {
    const values = [{ ...machine(0), id: '\ud800' }, machine(7)];
    equipmentApi().get('/isg/equipment').query(true).reply(200, { links: [], values }, json);
    const lines = await allOf(staged.client.data.equipment({ ...any, organizationIds: ['4711'] }));
    expect(itemsOf(lines).map(({ body }) => body)).toEqual(values);
  });

  test('no record comes twice, also from the pages of one organization', async () => {
    const more = `${equipmentOrigin}/isg/equipment?organizationIds=4711&pageOffset=1`;
    equipmentApi()
      .get('/isg/equipment')
      .query(({ pageOffset }) => pageOffset === undefined)
      .reply(200, { links: [link('nextPage', more)], values: [machine(7), machine(8)] }, json);
    equipmentApi()
      .get('/isg/equipment')
      .query(({ pageOffset }) => pageOffset === '1')
      .reply(200, { links: [], values: [machine(8), machine(9)] }, json);
    const lines = await allOf(staged.client.data.equipment({ ...any, organizationIds: ['4711'] }));
    expect(itemsOf(lines).map(({ body }) => (body as { id: number }).id)).toEqual([7, 8, 9]);
    expect(faultsOf(lines)).toMatchObject([{ detail: expect.stringContaining('changed-meanwhile') }]);
  });

  test('what is asked for by id goes through every connection, and a record that two see is one', async () => {
    staged = stageClient({}, [connectionOf(), connectionOf({ connectionId: 'c2', user: 'bob' })]);
    catalog();
    equipmentApi()
      .get('/isg/equipment')
      .query(true)
      .twice()
      .reply(200, { links: [], values: [machine(7), machine(8), 'text'] }, json);
    const lines = await allOf(staged.client.data.equipment({ ...any, ids: ['7', '8'] }));
    const ids = itemsOf(lines).map(({ body }) => (body as { id?: number }).id);
    expect(ids).toEqual([7, 8, undefined, undefined]);
  });

  test('many ids are asked for in addresses that fit', async () => {
    const ids = Array.from({ length: 41 }, (_none, place) => `id-${place}`);
    equipmentApi().get('/isg/equipment').query(true).twice().reply(200, { links: [], values: [] }, json);
    expect(await allOf(staged.client.data.equipment({ ...any, ids }))).toEqual([]);
  });

  test('an organization that nobody sees, and one whose page is broken, hide no other', async () => {
    equipmentApi().get('/isg/equipment').query(true).reply(200, { values: {} }, json);
    const lines = await allOf(staged.client.data.equipment({ ...any, organizationIds: ['99', '4711'] }));
    expect(faultsOf(lines)).toEqual([
      {
        answer: { kind: 'no-connection', detail: 'no valid connection sees organization 99' },
        detail: 'no valid connection sees organization 99',
        address: null,
        organizationId: '99',
      },
      {
        answer: null,
        detail: 'page 1: expected a list of values, got an object (malformed-page)',
        address: expect.stringContaining('/isg/equipment?organizationIds=4711'),
        organizationId: '4711',
      },
    ]);
  });

  test('a catalog that does not answer is a fault of each organization', async () => {
    nock.cleanAll();
    api().get('/platform/').reply(503);
    const [fault] = faultsOf(await allOf(staged.client.data.equipment(any)));
    expect(fault).toMatchObject({ answer: { kind: 'transient' }, organizationId: '4711' });
  });

  test.each([
    ['there is none', [], { kind: 'no-connection', nobody: true }],
    ['consents are refused', [connectionOf({ status: 'refused' })], { kind: 'reauthorize' }],
  ])('where %s nothing is asked', async (_what, connections, answer) => {
    nock.cleanAll();
    staged = stageClient({}, connections);
    const { data } = staged.client;
    for (const lines of [data.equipment(any), data.equipment({ ...any, ids: ['7'] }), data.files(null)]) {
      expect(faultsOf(await allOf(lines))).toMatchObject([{ answer }]);
    }
    for (const read of [data.reference('makes'), data.file('f'), data.createEquipment('4711', wish)]) {
      expect(await read).toMatchObject({ fault: { answer } });
    }
  });

  test('a refused listing is laid where it belongs: the organization is not connected', async () => {
    equipmentApi()
      .get('/isg/equipment')
      .query(true)
      .reply(403, { errors: [{ message: 'Access Denied' }] }, json);
    organization([link('connections', 'https://connections.test/select')]);
    const [fault] = faultsOf(await allOf(staged.client.data.equipment(any)));
    expect(fault?.answer).toMatchObject({
      kind: 'not-connected',
      actionUrl: 'https://connections.test/select',
    });
  });

  test('one record is read through whichever connection sees it, and the gravest refusal is told', async () => {
    staged = stageClient({}, [connectionOf(), connectionOf({ connectionId: 'c2', user: 'bob' })]);
    catalog();
    const terms = { 'x-acme-terms-location': 'https://terms.test/4711', ...json };
    equipmentApi().get('/isg/equipment/7').query(true).reply(403, {}, terms);
    equipmentApi().get('/isg/equipment/7').query(true).reply(200, machine(7), json);
    expect(await staged.client.data.equipmentRecord('7', null)).toMatchObject({
      value: { connectionId: 'c2' },
    });
    equipmentApi().get('/isg/equipment/7').query(true).reply(403, {}, terms);
    equipmentApi().get('/isg/equipment/7').query(true).reply(404);
    api().get('/platform/').reply(200, { links: [] }, axiom);
    expect(await staged.client.data.equipmentRecord('7', null)).toMatchObject({
      fault: { answer: { kind: 'action-required', actionUrl: 'https://terms.test/4711' } },
    });
  });

  test('an id that no address can hold is not there', async () => {
    expect(await staged.client.data.equipmentRecord('..', null)).toMatchObject({
      fault: { answer: { kind: 'gone' } },
    });
  });
});

describe('a record that is refused without a reason', () => {
  const refuse = (id = '7') =>
    equipmentApi()
      .get(`/isg/equipment/${id}`)
      .query(true)
      .reply(403, { errors: [{ message: 'Access Denied' }] }, json);

  test('is laid on a customer who has not connected, where there is one', async () => {
    refuse();
    organization([link('connections', 'https://connections.provider.test/select')]);
    expect(await staged.client.data.equipmentRecord('7', null)).toMatchObject({
      fault: {
        answer: { kind: 'not-connected', actionUrl: 'https://connections.provider.test/select' },
        address: `${equipmentOrigin}/isg/equipment/7`,
      },
    });
  });

  const unconnected = (id: string, place: string) => ({
    '@type': 'Organization',
    id,
    links: [link('connections', `https://connections.provider.test/${place}`)],
  });

  test.each([
    ['leads two of them to one place', 'select', 'https://connections.provider.test/select'],
    ['leads each of them to its own place', 'other', null],
  ])('names a place for several only where it is one for all: it %s', async (_what, place, actionUrl) => {
    refuse();
    const values = [unconnected('1', 'select'), unconnected('2', place)];
    api().get('/platform/organizations?itemLimit=100').reply(200, { links: [], total: 2, values }, axiom);
    const detail = actionUrl === null ? 'the provider does not say which one' : 'not-connected';
    expect(await staged.client.data.equipmentRecord('7', null)).toMatchObject({
      fault: { answer: { kind: 'not-connected', actionUrl }, detail },
    });
  });

  test('names nobody where not all of them were seen', async () => {
    refuse();
    const next = `${origin}/platform/organizations?itemLimit=100&pageOffset=100`;
    const page = { links: [{ rel: 'nextPage', uri: next }], total: 2, values: [unconnected('1', 'select')] };
    api().get('/platform/organizations?itemLimit=100').reply(200, page, axiom);
    api().get('/platform/organizations?itemLimit=100&pageOffset=100').reply(503);
    expect(await staged.client.data.equipmentRecord('7', null)).toMatchObject({
      fault: { answer: { kind: 'not-connected', actionUrl: null } },
    });
  });

  test('stays refused where every customer has connected', async () => {
    refuse();
    organization([]);
    expect(await staged.client.data.equipmentRecord('7', null)).toMatchObject({
      fault: { answer: { kind: 'refused-unattributed' } },
    });
  });
});

describe('writing equipment', () => {
  const record = { ...machine(7, { name: 'New', model: [{ id: 66280 }] }), links: [] };
  const accepted = (id: string | null) => ({ id, organizationId: '4711', visible: false });

  test('a wish is posted to its organization, without what is not wished, and read back', async () => {
    const body = { '@type': 'Machine', name: 'New', model: { '@type': 'EquipmentModel', id: 66280 } };
    equipmentApi()
      .post('/isg/organizations/4711/equipment', body)
      .matchHeader('content-type', 'application/json')
      .reply(201, '', { location: `${equipmentOrigin}/isg/equipment/7` });
    equipmentApi().get('/isg/equipment/7').query(true).reply(200, record, json);
    expect(await staged.client.data.createEquipment('4711', wish)).toMatchObject({
      value: { body: { id: 7 } },
    });
    expect(staged.calls.at(-2)).toMatchObject({ method: 'POST', operation: 'equipment-write', status: 201 });
  });

  test.each([
    [202, '', {}],
    [201, '', { location: '/' }],
    [201, '', { location: `${equipmentOrigin}/%` }],
    [201, { id: '\ud800' }, {}],
  ])(
    'a %i that does not say which record is accepted, and nothing is read',
    async (status, body, headers) => {
      equipmentApi().post('/isg/organizations/4711/equipment').reply(status, body, headers);
      expect(await staged.client.data.createEquipment('4711', wish)).toEqual({ value: accepted(null) });
    },
  );

  test.each([
    [200, '<html>Please log in</html>', 'text/html', 'html-answer'],
    [201, 'no JSON', 'text/plain', 'unexpected-media-type'],
    [201, '{', 'application/json', 'invalid-json'],
  ])(
    'a %i with %j is no word of the provider: it may have been created',
    async (status, body, type, code) => {
      equipmentApi().post('/isg/organizations/4711/equipment').reply(status, body, { 'content-type': type });
      expect(await staged.client.data.createEquipment('4711', wish)).toMatchObject({
        fault: {
          answer: { kind: 'transient', code },
          detail: expect.stringMatching(
            /got .* at .*\/isg\/organizations\/4711\/equipment; it may have been/,
          ),
        },
      });
    },
  );

  test('a record that is not shown yet is accepted', async () => {
    equipmentApi().post('/isg/organizations/4711/equipment').reply(201, { id: 7 }, json);
    equipmentApi().get('/isg/equipment/7').query(true).reply(404);
    catalog();
    expect(await staged.client.data.createEquipment('4711', wish)).toEqual({ value: accepted('7') });
  });

  test('a record that cannot be read now was created all the same', async () => {
    equipmentApi().post('/isg/organizations/4711/equipment').reply(201, { id: 7 }, json);
    equipmentApi().get('/isg/equipment/7').query(true).reply(503);
    expect(await staged.client.data.createEquipment('4711', wish)).toEqual({ value: accepted('7') });
  });

  test('where no answer comes it may have been created, where nobody was reached it was not', async () => {
    const failed = async (code: string) => {
      equipmentApi()
        .post('/isg/organizations/4711/equipment')
        .replyWithError(Object.assign(new Error(), { code }));
      const created = await staged.client.data.createEquipment('4711', wish);
      return 'fault' in created ? created.fault.detail : null;
    };
    expect(await failed('ECONNRESET')).toBe(
      'no answer: connection-reset; it may have been created all the same: see `tramline equipment list` before it ' +
        'is asked for again',
    );
    expect(await failed('ECONNREFUSED')).toBe('no answer: connection-refused');
    equipmentApi().post('/isg/organizations/4711/equipment').reply(502);
    expect(await staged.client.data.createEquipment('4711', wish)).toMatchObject({
      fault: { detail: expect.stringContaining('may have been created') },
    });
  });

  test.each([
    ['now', { code: 'token-unavailable', detail: 'it cannot be renewed', retryAfterMs: null }, 60_000],
    ['in time', null, 50],
  ])(
    'where the token is not renewed %s nothing was sent, and nothing created',
    async (_how, waits, timeoutMs) => {
      staged.client.close();
      let renews = false;
      const never = new Promise<never>(() => {});
      const renewal = {
        current: (known: Connection) =>
          !renews ? known : waits === null ? never : Promise.resolve({ waits }),
        renew: () => never,
      };
      staged = stageClient({ timeoutMs }, [connectionOf()], { renewal });
      equipmentApi().get('/isg/equipment/7').query(true).reply(200, record, json);
      await staged.client.data.equipmentRecord('7', null);
      renews = true;
      const created = await staged.client.data.createEquipment('4711', wish);
      expect(created).toMatchObject({ fault: { answer: { kind: 'transient' } } });
      expect(JSON.stringify(created)).not.toContain('may have been created');
    },
  );

  test('a refusal is told in the provider’s words', async () => {
    const said = [{ gud: 'g', message: 'serialNumber is not unique', code: 400 }];
    equipmentApi().post('/isg/organizations/4711/equipment').reply(400, said, json);
    expect(await staged.client.data.createEquipment('4711', wish)).toMatchObject({
      fault: {
        answer: { kind: 'refused', code: 'status-400' },
        detail: 'status 400: serialNumber is not unique',
        address: `${equipmentOrigin}/isg/organizations/4711/equipment`,
      },
    });
  });

  test('an organization whose id no address can hold is refused before it is asked', async () => {
    staged.sees.set('c1', new Set(['a/b']));
    expect(await staged.client.data.createEquipment('a/b', wish)).toMatchObject({
      fault: { answer: { kind: 'address-refused' } },
    });
  });

  const unwished: EquipmentWish = { ...wish, category: null, name: null, modelId: null };
  const kept = { name: 'Old', serialNumber: 'S1' };
  const references = { make: [{ id: 33, ERID: 'e-33' }], type: { id: 222 }, model: { id: 65015 } };
  const [make, type, model] = [{ id: 33, ERID: 'e-33' }, { id: 222 }, { id: 65015 }];
  const wished = (kind: string, id: unknown) => ({ '@type': `Equipment${kind}`, id });
  /** Reads what it was, sends the change and reads what it is; the body that was sent. */
  async function change(before: object, changed: Partial<EquipmentWish>, after: object) {
    equipmentApi().get('/isg/equipment/7').query(true).reply(200, machine(7, before), json);
    let sent: unknown;
    equipmentApi()
      .put('/isg/equipment/7', (body) => {
        sent = body;
        return true;
      })
      .reply(204);
    equipmentApi().get('/isg/equipment/7').query(true).reply(200, machine(7, after), json);
    const read = await staged.client.data.updateEquipment('7', null, { ...unwished, ...changed });
    return { sent, read };
  }

  test.each<[string, Partial<EquipmentWish>, object]>([
    [
      'a name: all the rest',
      { name: 'New', serialNumber: 'S2' },
      { name: 'New', serialNumber: 'S2', make, type, model },
    ],
    ['another make: no model', { makeId: '1' }, { ...kept, make: wished('Make', 1), type }],
    ['another type: no model', { typeId: '219' }, { ...kept, make, type: wished('Type', 219) }],
    ['the make that it has', { makeId: 'e-33' }, { ...kept, make: wished('Make', 'e-33'), type, model }],
    [
      'another model: neither make nor type',
      { modelId: '65014' },
      { ...kept, model: wished('Model', 65014) },
    ],
    [
      'model and make: both of them',
      { modelId: '65014', makeId: '1' },
      { ...kept, make: wished('Make', 1), model: wished('Model', 65014) },
    ],
  ])('with %s is sent as it stands', async (_what, changed, expected) => {
    const { name, serialNumber, makeId, typeId, modelId } = { ...unwished, ...changed };
    const after = {
      name,
      serialNumber,
      make: { id: makeId, ERID: 'e' },
      type: [{ id: Number(typeId) }],
      model: { id: 1, ERID: modelId },
    };
    const { sent, read } = await change({ ...kept, ...references }, changed, after);
    expect(sent).toEqual({ '@type': 'Machine', id: '7', ...expected });
    expect(read).toMatchObject({ value: { body: { id: 7 } } });
  });

  test.each<[Partial<EquipmentWish>, string]>([
    [{ makeId: '1' }, 'make 33 instead of 1'],
    [
      { category: 'implement', modelId: '5' },
      'category machine instead of implement, model 65015 instead of 5',
    ],
    [{ name: 'New', serialNumber: 'S2' }, 'name "Old" instead of "New", no serial number instead of "S2"'],
  ])('a change to %j that the record does not show afterwards is no success', async (changed, words) => {
    const { read } = await change({ ...kept, ...references }, changed, { name: 'Old', ...references });
    expect(read).toMatchObject({
      fault: {
        answer: { kind: 'refused', code: 'not-as-wished' },
        detail: `the provider took it without a refusal, but shows ${words}`,
        address: expect.stringContaining('/isg/equipment/7'),
      },
    });
  });

  test.each([{ organization: { id: 4712 } }, { organization: null, owningOrganization: [{ id: 4712 }] }])(
    'a record of another organization than the named one is not changed: %j',
    async (owner) => {
      equipmentApi().get('/isg/equipment/7').query(true).reply(200, machine(7, owner), json);
      expect(await staged.client.data.updateEquipment('7', '4711', wish)).toMatchObject({
        fault: { answer: { kind: 'gone' }, detail: 'it is in organization 4712, not in 4711' },
      });
      expect(staged.calls.filter(({ method }) => method === 'PUT')).toEqual([]);
    },
  );

  test('what was created otherwise than wished is told', async () => {
    equipmentApi().post('/isg/organizations/4711/equipment').reply(201, { id: 7 }, json);
    equipmentApi()
      .get('/isg/equipment/7')
      .query(true)
      .reply(200, machine(7, { name: 'New' }), json);
    expect(await staged.client.data.createEquipment('4711', wish)).toMatchObject({
      fault: { detail: expect.stringMatching(/shows no model instead of 66280$/) },
    });
  });

  test('what is not there is not changed, and a refused change is not read back', async () => {
    equipmentApi().get('/isg/equipment/8').query(true).reply(404);
    catalog();
    const { data } = staged.client;
    expect(await data.updateEquipment('8', null, wish)).toMatchObject({
      fault: { answer: { kind: 'gone' } },
    });
    equipmentApi()
      .get('/isg/equipment/7')
      .query(true)
      .reply(200, { ...record, organization: null }, json);
    equipmentApi().put('/isg/equipment/7').reply(429, '', { 'retry-after': '3' });
    expect(await data.updateEquipment('7', null, { ...wish, category: 'implement' })).toMatchObject({
      fault: { answer: { kind: 'rate-limited', retryAfterMs: 3000 } },
    });
  });
});

describe('reference data', () => {
  test('is read page by page, remembered for a day, and read once for those who come together', async () => {
    const more = `${equipmentOrigin}/isg/equipmentMakes?pageOffset=1&itemLimit=1000`;
    equipmentApi()
      .get('/isg/equipmentMakes?itemLimit=1000')
      .reply(200, { links: [link('nextPage', more)], values: [{ id: 1 }] }, json);
    equipmentApi()
      .get('/isg/equipmentMakes?pageOffset=1&itemLimit=1000')
      .reply(200, { links: [], values: [{ id: 2 }] }, json);
    const { data } = staged.client;
    const both = await Promise.all([data.reference('makes'), data.reference('makes')]);
    const item = (id: number) => expect.objectContaining({ body: { id } });
    expect(both).toEqual(Array(2).fill({ value: [item(1), item(2)] }));
    staged.clock.set(startMs + 86_399_000);
    expect(await data.reference('makes')).toEqual(both[0]);
    staged.clock.set(startMs + 86_400_000);
    equipmentApi().get('/isg/equipmentMakes?itemLimit=1000').reply(200, { links: [], values: [] }, json);
    expect(await data.reference('makes')).toEqual({ value: [] });
  });

  test('with an entry that has no id, or one that nobody could use, is not remembered', async () => {
    const models = () => equipmentApi().get('/isg/equipmentModels').query(true);
    for (const values of [[{ id: 1 }, { name: 'no id' }], [{ id: 'a\0b' }], [{ id: 1.5 }], [{ id: 1 }]]) {
      models().reply(200, { links: [], values }, json);
      expect(await staged.client.data.reference('models')).toEqual({
        value: values.map((body) => expect.objectContaining({ body })),
      });
    }
    expect(await staged.client.data.reference('models')).toMatchObject({ value: [{ body: { id: 1 } }] });
  });

  test.each([[7], [{ text: 'Harrow' }]])(
    'with the name %j is not remembered, without any it is',
    async (name) => {
      const models = () => equipmentApi().get('/isg/equipmentModels').query(true);
      const right = [{ id: 1, name: 'A' }, { id: 2, name: null }, { id: 3 }];
      for (const values of [[...right, { id: 4, name }], right]) {
        models().reply(200, { links: [], values }, json);
        const item = (body: object) => expect.objectContaining({ body });
        expect(await staged.client.data.reference('models')).toEqual({ value: values.map(item) });
      }
      expect(await staged.client.data.reference('models')).toMatchObject({
        value: right.map((body) => ({ body })),
      });
    },
  );

  test('that breaks off is an error, and not remembered', async () => {
    equipmentApi().get('/isg/equipmentTypes').query(true).reply(503);
    expect(await staged.client.data.reference('types')).toMatchObject({
      fault: { answer: { kind: 'transient' } },
    });
    equipmentApi().get('/isg/equipmentTypes').query(true).reply(200, { links: [], values: [] }, json);
    expect(await staged.client.data.reference('types')).toEqual({ value: [] });
  });
});

describe('reference data, where one user is not shown it', () => {
  const types = () => equipmentApi().get('/isg/equipmentTypes').query(true);
  const begin = () => {
    staged.client.close();
    staged = stageClient({}, [connectionOf(), connectionOf({ connectionId: 'c2', user: 'bob' })]);
  };

  test.each<[string, number, object]>([
    ['is refused', 403, { message: 'Access Denied' }],
    ['holds a token that has ended', 401, {}],
    ['is not answered', 503, {}],
  ])('is read through another one when the first %s', async (_what, status, body) => {
    begin();
    types().reply(status, body, json);
    // That is believed only where the catalog says so too.
    if (status === 401) api().get('/platform/').reply(401);
    catalog();
    types().reply(200, { links: [], values: [{ id: 1 }] }, json);
    const read = { value: [expect.objectContaining({ body: { id: 1 }, connectionId: 'c2' })] };
    expect(await staged.client.data.reference('types')).toEqual(read);
    expect(await staged.client.data.reference('types')).toEqual(read);
  });

  test('is what all are refused for, when all are', async () => {
    begin();
    types().reply(503);
    catalog();
    types().reply(401, {}, json);
    api().get('/platform/').reply(401);
    expect(await staged.client.data.reference('types')).toMatchObject({
      fault: { answer: { kind: 'reauthorize', connectionId: 'c2' } },
    });
  });
});

describe('field operations', () => {
  const fields = `${origin}/platform/organizations/4711/fields`;
  const operations = (field: string) => `${fields}/${field}/fieldOperations`;
  const page = (values: unknown[]) => ({ links: [], total: values.length, values });

  test('are listed field by field with what was measured; a field that shares none has none', async () => {
    organization([link('fields', fields)]);
    const listed = [
      { id: 'f1', links: [link('fieldOperations', operations('f1'))] },
      { id: 'f2', links: [] },
    ];
    api().get('/platform/organizations/4711/fields?itemLimit=100').reply(200, page(listed), axiom);
    const operation = {
      '@type': 'FieldOperation',
      id: 'op-1',
      links: [link('self', `${origin}/platform/fieldOperations/op-1`)],
    };
    api()
      .get('/platform/organizations/4711/fields/f1/fieldOperations')
      .query({ itemLimit: '100', embed: 'measurementTypes' })
      .reply(200, page([operation]), axiom);
    const lines = await allOf(staged.client.data.fieldOperations({ organizationId: null, fieldId: null }));
    expect(itemsOf(lines)).toMatchObject([
      { address: `${origin}/platform/fieldOperations/op-1`, mediaType: 'application/vnd.acme.axiom.v3+json' },
    ]);
  });

  test('come once, from a list of fields that leads back into itself, and from one of operations that shifts', async () => {
    organization([link('fields', fields)]);
    const values = [{ id: 'f1', links: [link('fieldOperations', operations('f1'))] }];
    const links = [link('nextPage', `${fields}?pageOffset=1&itemLimit=100`)];
    api().get('/platform/organizations/4711/fields?itemLimit=100').reply(200, { links, values }, axiom);
    api()
      .get('/platform/organizations/4711/fields?pageOffset=1&itemLimit=100')
      .reply(200, { links, values }, axiom);
    const operation = { '@type': 'FieldOperation', id: 'op-1', links: [] };
    api()
      .get('/platform/organizations/4711/fields/f1/fieldOperations')
      .query({ itemLimit: '100', embed: 'measurementTypes' })
      .reply(200, page([operation, operation]), axiom);
    const lines = await allOf(staged.client.data.fieldOperations({ organizationId: null, fieldId: null }));
    expect(itemsOf(lines)).toMatchObject([{ body: { id: 'op-1' } }]);
    expect(faultsOf(lines)).toMatchObject([{ detail: expect.stringContaining('earlier page') }]);
  });

  /** What an organization shows whose two fields have an operation each; `null`: that list is not there. */
  function shown(at: string, ofFields: Record<string, string | null>): void {
    organization([link('fields', `${origin}${at}/fields`)]);
    const listed = Object.keys(ofFields).map((id) => ({
      id,
      links: [link('fieldOperations', `${origin}${at}/${id}`)],
    }));
    api().get(`${at}/fields?itemLimit=100`).reply(200, page(listed), axiom);
    for (const [id, operation] of Object.entries(ofFields)) {
      const asked = api().get(`${at}/${id}`).query({ itemLimit: '100', embed: 'measurementTypes' });
      if (operation === null) asked.reply(404, '', axiom);
      else asked.reply(200, page([{ id: operation, links: [] }]), axiom);
    }
  }
  const ofAll = () => allOf(staged.client.data.fieldOperations({ organizationId: '4711', fieldId: null }));

  test('whose lists move meanwhile are listed from the organization of today, each once', async () => {
    shown('/platform/before', { f1: 'op-1', f2: null });
    shown('/platform/after', { f1: 'op-1', f2: 'op-2' });
    const lines = await ofAll();
    expect(itemsOf(lines)).toMatchObject([{ body: { id: 'op-1' } }, { body: { id: 'op-2' } }]);
    expect(faultsOf(lines)).toEqual([]);
  });

  test('of which one list is not there where it is said to be are listed but for that one', async () => {
    shown('/platform/same', { f1: null });
    shown('/platform/same', { f1: null, f2: 'op-2' });
    const lines = await ofAll();
    expect(itemsOf(lines)).toMatchObject([{ body: { id: 'op-2' } }]);
    expect(faultsOf(lines)).toMatchObject([{ answer: { kind: 'gone' } }]);
  });

  test('are told once each of several lists that are not there, however often the fields were begun anew', async () => {
    shown('/platform/same', { f1: null });
    shown('/platform/same', { f1: null, f2: null });
    shown('/platform/same', { f1: null, f2: null, f3: 'op-3' });
    const lines = await ofAll();
    expect(itemsOf(lines)).toMatchObject([{ body: { id: 'op-3' } }]);
    const address = (field: string) => expect.stringContaining(`/platform/same/${field}?`);
    expect(faultsOf(lines)).toMatchObject([{ address: address('f1') }, { address: address('f2') }]);
  });

  test('of a field that is not there are not found', async () => {
    organization([link('fields', fields)]);
    api()
      .get('/platform/organizations/4711/fields?itemLimit=100')
      .reply(200, page([{ id: 'f1' }]), axiom);
    const lines = await allOf(staged.client.data.fieldOperations({ organizationId: '4711', fieldId: 'f9' }));
    expect(faultsOf(lines)).toMatchObject([{ detail: 'no organization that is looked at has a field f9' }]);
  });

  test('of a field that is not there are not found either where another organization cannot be looked at', async () => {
    staged.sees.set('c1', new Set(['4711', '4712']));
    organization([link('fields', fields)]);
    api()
      .get('/platform/organizations?itemLimit=100')
      .reply(200, page([{ id: '4711', links: [] }]), axiom);
    api()
      .get('/platform/organizations/4711/fields?itemLimit=100')
      .reply(200, page([{ id: 'f1' }]), axiom);
    const lines = await allOf(staged.client.data.fieldOperations({ organizationId: null, fieldId: 'f9' }));
    expect(faultsOf(lines)).toMatchObject([
      { organizationId: '4712', detail: 'organization 4712 is not listed to this user' },
      { organizationId: null, detail: 'no organization that could be looked at to its end has a field f9' },
    ]);
  });

  test.each([[null], ['f9']])(
    'behind a field that names nothing are told of, also where field %s is wanted',
    async (fieldId) => {
      organization([link('fields', fields)]);
      api()
        .get('/platform/organizations/4711/fields?itemLimit=100')
        .reply(200, page([{ id: 'f1' }, null]), axiom);
      const lines = await allOf(staged.client.data.fieldOperations({ organizationId: '4711', fieldId }));
      expect(faultsOf(lines)).toMatchObject([
        {
          answer: null,
          detail: 'a field: expected an object with an id, got null (malformed-entry)',
          organizationId: '4711',
        },
      ]);
    },
  );

  test('of organizations that are closed, not listed or share no fields are told apart', async () => {
    staged.sees.set('c1', new Set(['4711', '4712', '4713']));
    const values = [
      { id: '4711', links: [link('connections', 'https://connections.test/')] },
      { id: '4713', links: [] },
    ];
    api().get('/platform/organizations?itemLimit=100').thrice().reply(200, page(values), axiom);
    const lines = await allOf(staged.client.data.fieldOperations({ organizationId: null, fieldId: null }));
    expect(faultsOf(lines).map(({ answer, organizationId }) => [organizationId, answer?.kind])).toEqual([
      ['4711', 'not-connected'],
      ['4712', 'no-connection'],
      ['4713', 'no-access'],
    ]);
    const unseen = await allOf(staged.client.data.fieldOperations({ organizationId: '99', fieldId: null }));
    expect(faultsOf(unseen)).toMatchObject([{ organizationId: '99' }]);
  });

  test('of fields that are not shared, or whose links cannot be read, are not said to be none', async () => {
    organization([]);
    const unshared = await allOf(
      staged.client.data.fieldOperations({ organizationId: '4711', fieldId: 'f1' }),
    );
    const message = 'there is no relationship `fields`: none are shared';
    expect(unshared).toMatchObject([{ fault: { answer: { kind: 'no-access', message } } }]);
    organization([{ rel: 'fields', uri: 5 } as never]);
    const broken = await allOf(staged.client.data.fieldOperations({ organizationId: '4711', fieldId: null }));
    const detail =
      'expected an address in the link `fields`, got number at ' +
      `${origin}/platform/organizations?itemLimit=100 (malformed-entry)`;
    expect(broken).toMatchObject([{ fault: { answer: null, detail } }]);
    organization([link('fields', fields)]);
    const listed = [{ id: 'f1', links: [{ rel: 'fieldOperation', uri: null }] }];
    api().get('/platform/organizations/4711/fields?itemLimit=100').reply(200, page(listed), axiom);
    const field = await allOf(staged.client.data.fieldOperations({ organizationId: '4711', fieldId: null }));
    expect(faultsOf(field)).toMatchObject([
      { detail: 'expected an address in the link `fieldOperation`, got null (malformed-entry)' },
    ]);
  });

  test('fields that break off are a fault with their address', async () => {
    organization([link('fields', fields)]);
    api().get('/platform/organizations/4711/fields?itemLimit=100').reply(500, '', axiom);
    const lines = await allOf(staged.client.data.fieldOperations({ organizationId: '4711', fieldId: null }));
    expect(faultsOf(lines)).toMatchObject([{ address: `${fields}?itemLimit=100` }]);
  });

  /** From the catalog to the operation by its relationships. */
  function walkTo(operation: object): void {
    catalog();
    organization([link('fields', fields)]);
    const field = { id: 'f1', links: [link('fieldOperations', operations('f1'))] };
    api()
      .get('/platform/organizations/4711/fields?itemLimit=100')
      .reply(200, page([field]), axiom);
    const other = { id: 'op-0', links: [link('self', `${origin}/platform/fieldOperations/op-0`)] };
    api()
      .get('/platform/organizations/4711/fields/f1/fieldOperations?itemLimit=100')
      .reply(200, page([other]), axiom);
    api()
      .get('/platform/fieldOperations/op-1')
      .query({ embed: 'measurementTypes' })
      .reply(200, operation, axiom);
  }
  const measurementTypes = `${origin}/platform/fieldOperations/op-1/measurementTypes`;

  test('are found by their id, and their measurement types read at their own addresses', async () => {
    const operation = {
      '@type': 'FieldOperation',
      id: 'op-1',
      orgId: 4711,
      links: [link('measurementTypes', measurementTypes)],
    };
    walkTo(operation);
    api()
      .get('/platform/fieldOperations/op-1/measurementTypes?itemLimit=100')
      .reply(200, page([{ measurementName: 'A' }]), axiom);
    expect(await staged.client.data.measurements('op-1', '4711', null)).toMatchObject({
      value: { operation: { body: operation }, values: [{ measurementName: 'A' }] },
    });
    for (const [status, expected] of [
      [200, { value: { values: [{ measurementName: 'B c' }] } }],
      [403, { fault: { answer: { kind: 'no-access' } } }],
      [404, { fault: { answer: { kind: 'gone' } } }],
    ] as const) {
      catalog();
      api().get('/platform/fieldOperations/op-1').query(true).reply(200, operation, axiom);
      const entry = { measurementName: 'B c', links: [link('self', `${origin}/platform/elsewhere/b-c`)] };
      api()
        .get('/platform/fieldOperations/op-1/measurementTypes?itemLimit=100')
        .reply(200, page([null, { measurementName: 'A' }, entry]), axiom);
      api().get('/platform/elsewhere/b-c').reply(status, { measurementName: 'B c' }, axiom);
      expect(await staged.client.data.measurements('op-1', '4711', 'B c')).toMatchObject(expected);
    }
  });

  test('one measurement type is the one that is listed by its name, and gone where none is', async () => {
    const operation = {
      '@type': 'FieldOperation',
      id: 'op-1',
      orgId: 4711,
      links: [link('measurementTypes', `${measurementTypes}?kind=all`)],
    };
    walkTo(operation);
    const listed = page([{ measurementName: 'A' }]);
    for (const [name, expected] of [
      ['A', { value: { values: [{ measurementName: 'A' }] } }],
      ['B', { fault: { answer: { kind: 'gone' } } }],
    ] as const) {
      if (name === 'B') {
        catalog();
        api().get('/platform/fieldOperations/op-1').query(true).reply(200, operation, axiom);
      }
      api()
        .get('/platform/fieldOperations/op-1/measurementTypes')
        .query({ kind: 'all', itemLimit: '100' })
        .reply(200, listed, axiom);
      expect(await staged.client.data.measurements('op-1', '4711', name)).toMatchObject(expected);
    }
  });

  test('without the relationship have no measurement types of their own; what is not found has none either', async () => {
    walkTo({ '@type': 'FieldOperation', id: 'op-1', links: [] });
    expect(await staged.client.data.measurements('op-1', '4711', null)).toMatchObject({
      fault: { answer: { kind: 'no-access' } },
    });
    catalog();
    api()
      .get('/platform/fieldOperations/op-1')
      .query(true)
      .reply(200, { id: 'op-1', links: [link('measurementTypes', 'https://evil.test/')] }, axiom);
    expect(await staged.client.data.measurements('op-1', '4711', 'B')).toMatchObject({
      fault: { answer: null, detail: expect.stringContaining('(address-refused)') },
    });
    catalog();
    api()
      .get('/platform/fieldOperations/op-1')
      .query(true)
      .reply(200, { id: 'op-1', links: [link('measurementTypes', measurementTypes)] }, axiom);
    api().get('/platform/fieldOperations/op-1/measurementTypes').query(true).reply(500);
    expect(await staged.client.data.measurements('op-1', '4711', null)).toMatchObject({
      fault: { answer: { kind: 'transient' } },
    });
    expect(await staged.client.data.fieldOperation('op-1', '99')).toMatchObject({
      fault: { answer: { kind: 'no-connection' } },
    });
  });

  test('that no listing holds are not there; of those that are not shared nothing is known', async () => {
    catalog();
    organization([link('fields', fields)]);
    api().get('/platform/organizations/4711/fields?itemLimit=100').reply(200, page([]), axiom);
    expect(await staged.client.data.fieldOperation('op-1', '4711')).toMatchObject({
      fault: { answer: { kind: 'gone' } },
    });
    catalog();
    organization([]);
    const detail = 'organization 4711: expected a link to `fields`, got none: not shared with this user';
    expect(await staged.client.data.fieldOperation('op-1', '4711')).toMatchObject({
      fault: { answer: { kind: 'transient', forbidden: true }, detail },
    });
  });
});
